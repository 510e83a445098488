// The names of cases keep their ids.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Glibc
import ICELite
import Testing

@testable import TransportRuntime

/// Candidates that nobody listens at, on real sockets: errors are read, counted and survived, and nothing spins.
@Suite(.timeLimit(.minutes(1)))
struct RefusedCandidateTests {
    /// A full agent on a socket and a lite one on another, on one loop. Confined to it.
    private final class Ends: @unchecked Sendable {
        let loop: EventLoop
        let pool = PacketPool(size: 128)
        let socket: UDPSocket
        let liveAddress: SocketAddress
        var client: ICEFullAgent
        var server: ICELiteAgent
        private var live: UDPSocket?
        private var timer: TimerID?
        private var awaited: (@Sendable (Ends) -> Bool)?
        private let happenings = Happenings<Bool>()

        /// Calls of handlers: what every wake-up has to be for.
        private(set) var calls = 0
        /// Calls that told of an error where the queue had none.
        private(set) var callsForNothing = 0
        private(set) var errors: [DatagramError] = []

        init(loop: EventLoop, timing: ICETiming) throws {
            self.loop = loop
            socket = try UDPSocket.open(bind: SocketAddress(ip: .loopbackV4, port: 0))
            let live = try UDPSocket.open(bind: SocketAddress(ip: .loopbackV4, port: 0))
            liveAddress = live.localAddress
            self.live = live
            var randomness = Randomness.seeded(25)
            let ours = ICECredentials.random(using: &randomness)
            let theirs = ICECredentials.random(using: &randomness)
            client = ICEFullAgent(
                role: .controlling, credentials: ours, randomness: randomness.split("client"), timing: timing)
            server = ICELiteAgent(
                credentials: theirs, peerCredentials: ours, randomness: randomness.split("server"), timing: timing)
        }

        /// Begins with the candidates `remotes`, the first one preferred.
        func start(_ remotes: [SocketAddress]) {
            timer = loop.makeTimer { [unowned self] in
                calls += 1
                client.handleTimeout(now: loop.now)
                drain()
            }
            try? loop.register(socket.fd, interest: .readable) { [unowned self] readiness in
                calls += 1
                if readiness.contains(.error) { readErrors() }
                socket.receive(into: pool) { packet, from, local in
                    _ = client.handle(packet.bytes, path: NetworkPath(local: local, remote: from), now: loop.now)
                }
                drain()
            }
            if let live { register(live) }
            _ = client.addLocalCandidate(socket.localAddress, now: loop.now)
            for (index, remote) in remotes.enumerated() {
                client.addRemoteCandidate(
                    ICECandidate(host: remote, localPreference: 65_535 - UInt16(index)), now: loop.now)
            }
            client.setRemote(
                credentials: server.credentials, isLite: true, supportsRenomination: true, now: loop.now)
            drain()
        }

        func closeLive() {
            guard let live else { return }
            loop.unregister(live.fd)
            live.close()
            self.live = nil
        }

        func reopenLive() throws {
            let socket = try UDPSocket.open(bind: liveAddress)
            live = socket
            register(socket)
        }

        func stop() {
            closeLive()
            if let timer { loop.cancel(timer) }
            loop.unregister(socket.fd)
            socket.close()
        }

        /// Waits until `condition` holds after something that happened.
        func wait(for condition: @escaping @Sendable (Ends) -> Bool) async -> Bool {
            loop.submit { [self] in
                awaited = condition
                tell()
            }
            return await happenings.next() ?? false
        }

        private func register(_ live: UDPSocket) {
            try? loop.register(live.fd, interest: .readable) { [unowned self] _ in
                calls += 1
                live.drainErrors { _ in }
                live.receive(into: pool) { packet, from, local in
                    _ = server.handle(packet.bytes, path: NetworkPath(local: local, remote: from), now: loop.now)
                }
                while var packet = pool.take() {
                    let transmit = packet.write { (out) in server.pollTransmit(into: &out, now: loop.now) }
                    guard let transmit else { break }
                    _ = live.send(packet.bytes, to: transmit.path.remote)
                }
                while server.pollEvent() != nil {}
            }
        }

        private func readErrors() {
            let before = errors.count
            socket.drainErrors { error in
                errors.append(error)
                guard let destination = error.destination else { return }
                client.handleSendFailure(
                    path: NetworkPath(local: socket.localAddress, remote: destination),
                    failure: ICESendFailure(errno: error.errno, icmpType: error.icmpType), now: loop.now)
            }
            if errors.count == before { callsForNothing += 1 }
        }

        private func drain() {
            while var packet = pool.take() {
                let transmit = packet.write { (out) in client.pollTransmit(into: &out, now: loop.now) }
                guard let transmit else { break }
                if case .failed(let errno) = socket.send(packet.bytes, to: transmit.path.remote) {
                    client.handleSendFailure(
                        path: transmit.path, failure: ICESendFailure(errno: errno), now: loop.now)
                }
            }
            while client.pollEvent() != nil {}
            if let timer { loop.arm(timer, at: client.nextDeadline) }
            tell()
        }

        private func tell() {
            guard let awaited, awaited(self) else { return }
            self.awaited = nil
            happenings.add(true)
        }
    }

    @Test
    func `ICE_25 a closed candidate beside a live one is refused, and the call is up, lives on and does not spin`()
        async throws
    {
        // Consent checks in quick succession: a second of this sees what a minute would.
        var timing = ICETiming()
        timing.consentInterval = .milliseconds(40)
        timing.consentRepeat = .milliseconds(10)
        timing.consentRepeatCap = .milliseconds(20)
        timing.refusalBackoff = .milliseconds(5)
        timing.refusalCap = .milliseconds(20)
        let closed = try UDPSocket.open(bind: SocketAddress(ip: .loopbackV4, port: 0)).localAddress
        try await withLoop { loop in
            let ends = try Ends(loop: loop, timing: timing)
            await loop.run { ends.start([closed, ends.liveAddress]) }
            // The closed one is checked first, and refused; the live one connects all the same.
            #expect(await ends.wait { $0.client.selectedPath != nil && !$0.errors.isEmpty })
            await loop.run {
                #expect(ends.client.selectedPath?.remote == ends.liveAddress)
                #expect(ends.errors.first?.destination == closed)
                #expect(ends.errors.first?.errno == ECONNREFUSED)
                #expect(ends.client.counters.sendFailures > 0)
                #expect(ends.client.outcome.everyPairRefused == nil)
            }
            // The peer's port closes: many checks are refused, and none of them fails the pair.
            let first = await loop.run {
                ends.closeLive()
                return ends.errors.count
            }
            #expect(await ends.wait { $0.errors.count >= first + 30 })
            await loop.run {
                #expect(ends.client.selectedPath?.remote == ends.liveAddress)
                #expect(ends.errors[first...].allSatisfy { $0.destination == ends.liveAddress })
                // Errors are an edge: each call about one found it, and the loop woke for nothing else.
                #expect(ends.callsForNothing <= 1)
                #expect(ends.calls <= Int(ends.client.counters.checksSent) * 4 + 8)
                #expect(loop.wakeUps <= ends.calls + 16)
                #expect(ends.socket.counters.failed == 0)
            }
            // It comes back, and the receiving side is alive.
            try await loop.run { Result { try ends.reopenLive() } }.get()
            let heard = await loop.run { ends.client.counters.responsesReceived }
            #expect(await ends.wait { $0.client.counters.responsesReceived >= heard + 3 })
            await loop.run {
                #expect(ends.client.selectedPath?.remote == ends.liveAddress)
                ends.stop()
            }
        }
    }
}
