import Foundation
import Glibc
import ICELite
import Testing
import Transport
import TransportTestKit

/// Set-ups that fail again and again, on real sockets: nothing of them is left. In a process of its own, as other suites have
/// descriptors open, too.
@Suite("Set-ups that fail", .timeLimit(.minutes(10))) struct FailingSetUpTests {
    private static let attempts = 300
    private static let growthLimit = 5 << 20
    /// What a library may open once, whenever it likes.
    private static let allowance = 2

    /// The points at which a set-up fails: those of the case that sockets show by themselves.
    enum Fault: String, CaseIterable, Sendable {
        case bind
        case refused
        case tls
        case acceptKey
        /// One descriptor after the other is missing: of the loop, the network's watch, the UDP sockets, the line.
        case descriptors
        /// The sockets are there and cannot be bound: no interface has the address.
        case address
        /// The UDP sockets are of one family, the endpoint's of the other: the call goes on on the line.
        case noCandidates
        /// Nobody is where the candidates point to: the call goes on on the line.
        case path
        /// No common SRTP profile: the call goes on on the line.
        case handshake
        /// The keys are there and nothing can be protected by them: the call goes on on the line.
        case keys
        /// The task that waits for the outcome is cancelled, and hangs up.
        case cancelled

        /// Why the call is on the line; nil where the set-up does not come as far.
        var reason: TransportFallbackReason? {
            switch self {
            case .noCandidates: .noCandidates
            case .path: .udpBlocked
            case .handshake: .srtpProfileMismatch
            case .keys: .internalError
            case .bind, .refused, .tls, .acceptKey, .descriptors, .address, .cancelled: nil
            }
        }
    }

    @Test(
        "LIFE-05: three hundred attempts that fail leave no descriptor, no thread and no memory behind",
        arguments: Fault.allCases)
    func leavesNothing(fault: Fault) async {
        // A closure for a new process captures nothing but what can be written down: one for each fault.
        switch fault {
        case .bind: await #expect(processExitsWith: .success) { try await Self.fail(.bind) }
        case .refused: await #expect(processExitsWith: .success) { try await Self.fail(.refused) }
        case .tls: await #expect(processExitsWith: .success) { try await Self.fail(.tls) }
        case .acceptKey: await #expect(processExitsWith: .success) { try await Self.fail(.acceptKey) }
        case .descriptors: await #expect(processExitsWith: .success) { try await Self.fail(.descriptors) }
        case .address: await #expect(processExitsWith: .success) { try await Self.fail(.address) }
        case .noCandidates: await #expect(processExitsWith: .success) { try await Self.fail(.noCandidates) }
        case .path: await #expect(processExitsWith: .success) { try await Self.fail(.path) }
        case .handshake: await #expect(processExitsWith: .success) { try await Self.fail(.handshake) }
        case .keys: await #expect(processExitsWith: .success) { try await Self.fail(.keys) }
        case .cancelled: await #expect(processExitsWith: .success) { try await Self.fail(.cancelled) }
        }
    }

    private static func fail(_ fault: Fault) async throws {
        let site = try Site(fault)
        defer { site.close() }
        try await site.prepare()
        for number in 0..<20 { try await site.attempt(number) }
        ProcessFigures.trimHeap()
        let before = ProcessFigures.now()
        for number in 0..<attempts { try await site.attempt(number) }
        let isQuiet = await HangUpCase.comes {
            let now = ProcessFigures.now()
            return now.descriptors <= before.descriptors + allowance && now.ownThreads <= before.ownThreads
        }
        let after = ProcessFigures.now()
        #expect(isQuiet, "\(before) before, \(after) after: \(ProcessFigures.descriptorKinds())")
        ProcessFigures.trimHeap()
        #expect(ProcessFigures.now().residentBytes - before.residentBytes <= growthLimit)
    }

    /// Where the attempts go.
    private struct Site {
        /// An address for documentation (RFC 5737): no interface has it.
        private static let strangeAddress = IPAddress("192.0.2.1")
        /// Descriptors there are for an attempt, at most: one fewer than a call needs whose interface has one family.
        private static let mostDescriptors = 4

        let fault: Fault
        var endpoint: AgentEndpoint?
        var liar: LyingServer?
        /// Descriptors before the first attempt.
        let descriptors: Int
        var url = ""

        init(_ fault: Fault) throws {
            self.fault = fault
            switch fault {
            case .refused, .descriptors, .address: url = "ws://127.0.0.1:1/call"
            case .acceptKey:
                let liar = try LyingServer()
                self.liar = liar
                url = "ws://127.0.0.1:\(liar.port)/call"
            case .bind, .tls, .noCandidates, .path, .handshake, .keys, .cancelled:
                var configuration = EndpointConfiguration()
                if fault == .handshake { configuration.handshake.srtpProfiles = [.aes128CMHMACSHA1_80] }
                endpoint = try AgentEndpoint(configuration: configuration) { call in
                    _ = await call.outcome()
                    // Who drops it before hangs up.
                    withExtendedLifetime(call) {}
                }
            }
            if let endpoint { url = "wss://\(endpoint.address)/call" }
            descriptors = ProcessFigures.now().descriptors
        }

        func close() {
            endpoint?.stop()
            liar?.close()
        }

        /// What libraries open once and cannot do without, Dispatch its timers' descriptors, say, is there before any is missing.
        func prepare() async throws {
            guard fault == .descriptors else { return }
            try await fail()
            try await Task.sleep(for: .milliseconds(100))
        }

        func attempt(_ number: Int) async throws {
            switch fault {
            case .bind: try bindTwice()
            case .refused, .tls, .acceptKey, .address: try await fail()
            case .descriptors: try await runShort(of: number % (Self.mostDescriptors + 1))
            case .noCandidates, .path, .handshake, .keys: try await fallBack(number)
            case .cancelled: try await cancel(number)
            }
        }

        private var configuration: TransportConfiguration {
            var configuration = TransportConfiguration(url: url)
            if endpoint != nil, fault != .tls { configuration.trust = .insecure }
            switch fault {
            case .address: configuration.localAddress = Self.strangeAddress
            case .noCandidates:
                // A detour of the line that is none: what is asked of the local address holds for the path alone.
                configuration.addressFamily = .v6
                let line = SocketAddress(ip: .loopbackV4, port: port)
                configuration.lineDetour = LineDetour(relay: line, target: line)
            case .path: configuration.pathDetour = { _ in SocketAddress(ip: .loopbackV4, port: 9) }
            case .handshake: configuration.handshake.srtpProfiles = [.aeadAES128GCM]
            case .keys: configuration.handshake.refusesKeys = true
            case .bind, .refused, .tls, .acceptKey, .descriptors, .cancelled: break
            }
            return configuration
        }

        private var port: UInt16 {
            endpoint.flatMap { $0.address.split(separator: ":").last }.flatMap { UInt16($0) } ?? 0
        }

        private func fail() async throws {
            let session = try TransportSession(configuration: configuration)
            try session.start()
            let outcome = await session.outcome()
            guard case .failed = outcome else {
                Issue.record("\(fault): \(outcome)")
                return
            }
        }

        /// A call, and an endpoint, with descriptors left for only so many things.
        private func runShort(of room: Int) async throws {
            // What an attempt before this one still closes would be room, too.
            let isQuiet = await HangUpCase.comes { ProcessFigures.now().descriptors <= descriptors + allowance }
            #expect(isQuiet)
            // So many lowest free numbers, and the one that is to be missing.
            let free = (0...room).map { _ in dup(0) }
            for descriptor in free { _ = Glibc.close(descriptor) }
            var limit = rlimit()
            try #require(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            var short = limit
            short.rlim_cur = rlim_t(try #require(free.max()))
            try #require(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &short) == 0)
            defer { setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) }
            let session = try TransportSession(configuration: configuration)
            // Poll set and event counter are the loop's: without them there is no call at all.
            do { try session.start() } catch { #expect(room < 2, "\(error)") }
            let outcome = await session.outcome()
            guard case .failed(let message) = outcome, message.lowercased().contains("too many open files") else {
                Issue.record("with \(room): \(outcome)")
                return
            }
            if room < 2 {
                #expect(throws: TransportError.self) {
                    try AgentEndpoint(configuration: EndpointConfiguration()) { _ in }
                }
            }
        }

        /// The media path fails, and the line carries the call until it is hung up.
        private func fallBack(_ number: Int) async throws {
            var configuration = configuration
            configuration.callTransport = number.isMultiple(of: 2) ? .auto : .webrtc
            let session = try TransportSession(configuration: configuration)
            try session.start()
            let isActive = await HangUpCase.comes { [.active, .ended].contains(session.snapshot.state) }
            let snapshot = session.snapshot
            #expect(
                isActive && snapshot.transport == .websocket && snapshot.fallback?.reason == fault.reason,
                "\(fault): \(snapshot)")
            session.end()
            #expect(await session.outcome() == .ended(.local))
        }

        /// Hangs up by a cancelled task: at once, with the line there, with an answer, and while the call is active.
        private func cancel(_ number: Int) async throws {
            let session = try TransportSession(configuration: configuration)
            let waiting = Task {
                await withTaskCancellationHandler {
                    await session.outcome()
                } onCancel: {
                    session.end()
                }
            }
            try session.start()
            let isThere = await HangUpCase.comes {
                let snapshot = session.snapshot
                guard snapshot.outcome == nil else { return true }
                return switch number % 4 {
                case 0: true
                case 1: snapshot.setup.connected != nil
                case 2: snapshot.setup.welcome != nil
                default: snapshot.state == .active
                }
            }
            #expect(isThere)
            waiting.cancel()
            #expect(await waiting.value == .ended(.local))
        }

        private func bindTwice() throws {
            var configuration = EndpointConfiguration()
            configuration.port = port
            #expect(throws: TransportError.self) { try AgentEndpoint(configuration: configuration) { _ in } }
        }
    }

    /// Answers each upgrade with a key that is not the answer to the request's.
    private final class LyingServer: Sendable {
        let port: UInt16
        private let listener: Int32

        init() throws {
            let accepting = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isBound = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    bind(accepting, address, length) == 0 && listen(accepting, 64) == 0
                        && getsockname(accepting, address, &length) == 0
                }
            }
            try #require(isBound)
            port = UInt16(bigEndian: address.sin_port)
            listener = accepting
            Thread.detachNewThread { Self.serve(accepting) }
        }

        func close() {
            _ = shutdown(listener, Int32(SHUT_RDWR))
            _ = Glibc.close(listener)
        }

        private static func serve(_ listener: Int32) {
            let answer =
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\nSec-WebSocket-Protocol: graine.call.v1\r\n\r\n"
            var room = [UInt8](repeating: 0, count: 4_096)
            while true {
                let stream = accept(listener, nil, nil)
                guard stream >= 0 else { return }
                _ = recv(stream, &room, room.count, 0)
                _ = send(stream, answer, answer.utf8.count, Int32(MSG_NOSIGNAL))
                _ = recv(stream, &room, room.count, 0)
                _ = Glibc.close(stream)
            }
        }
    }
}
