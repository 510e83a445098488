internal import CAllocationCounter
internal import ICELite
internal import Transport
internal import TransportLine
internal import TransportMedia
internal import TransportRuntime

/// Both ends of a call, whole, with datagrams and the line's bytes handed across at once: no socket, no thread, a clock that
/// jumps from deadline to deadline. Counts the heap allocations of each step.
final class CallPair {
    /// Allocations of steps of one kind.
    struct Tally {
        var steps = 0
        var allocations: Int64 = 0
        var perStep: Double { steps == 0 ? 0 : Double(allocations) / Double(steps) }

        mutating func add(_ count: Int64) {
            steps += 1
            allocations += count
        }
    }

    /// What is counted apart from each other.
    struct Tallies {
        /// An audio packet made: captured, encoded, encrypted.
        var audioOut = Tally()
        /// An audio packet taken: decrypted, put into the jitter buffer.
        var audioIn = Tally()
        /// A wake-up: audio decoded and played, deadlines looked at.
        var wakeUp = Tally()
        /// Asked for a datagram, and there was none.
        var emptyPoll = Tally()
        /// Everything else: reports, checks, the handshake.
        var control = Tally()
    }

    private static let clientAddress = SocketAddress(ip: IPAddress(v4: 0xC000_0202), port: 5_000)
    private static let serverAddress = SocketAddress(ip: IPAddress(v4: 0xC000_0201), port: 4_000)

    private(set) var client: ClientCall
    private(set) var server: ServerCall
    private(set) var tallies = Tallies()
    private(set) var now = Instant.zero
    private let pool = PacketPool(size: 4)
    private let rings = (0..<4).map { _ in PCMRing(minimumCapacity: 48_000) }
    private let voice = (0..<4_800).map { Int16(truncatingIfNeeded: ($0 % 100) * 160 - 8_000) }

    init(wanted: CallTransport) throws {
        var randomness = Randomness.seeded(1)
        var configuration = ClientCallConfiguration(
            url: try CallLineURL("ws://127.0.0.1/call"), key: nil, callID: "call_1")
        configuration.wanted = wanted
        var serverConfiguration = ServerCallConfiguration()
        serverConfiguration.announced = [Self.serverAddress]
        let ssrcs = [SSRC.random(using: &randomness), SSRC.random(using: &randomness)]
        client = ClientCall(
            configuration: configuration, certificate: DTLSCertificate.shared,
            media: CallMedia(
                sender: try AudioSender(ssrc: ssrcs[0], payloadType: .defaultOpus, randomness: &randomness),
                receiver: try AudioReceiver(payloadType: .defaultOpus), capture: rings[0], playout: rings[1]),
            ssrc: ssrcs[0], randomness: randomness.split("client"))
        server = ServerCall(
            configuration: serverConfiguration, certificate: DTLSCertificate.shared,
            media: CallMedia(
                sender: try AudioSender(ssrc: ssrcs[1], payloadType: .defaultOpus, randomness: &randomness),
                receiver: try AudioReceiver(payloadType: .defaultOpus), capture: rings[2], playout: rings[3]),
            ssrc: ssrcs[1], randomness: randomness.split("server"), now: .zero)
        client.start(now: .zero)
        client.lineConnected(localAddresses: [Self.clientAddress], now: .zero)
    }

    /// Both ends are active on `kind`.
    func isActive(on kind: TransportKind) -> Bool {
        client.state == .active && server.state == .active && client.transport == kind && server.transport == kind
    }

    /// Forgets what was counted.
    func clearTallies() { tallies = Tallies() }

    /// Lets `length` of the call's time pass.
    func run(for length: Nanoseconds) {
        let end = now + length
        exchange()
        while true {
            let next = min(client.nextDeadline, server.nextDeadline)
            guard next <= end else { break }
            now = max(now, next)
            speak()
            count(\.wakeUp) {
                client.handleTimeout(now: now)
                server.handleTimeout(now: now)
            }
            exchange()
        }
        now = end
    }

    private func speak() {
        for (capture, playout) in [(0, 1), (2, 3)] {
            _ = rings[playout].discardAll()
            guard rings[capture].availableToRead < voice.count else { continue }
            _ = voice.withUnsafeBufferPointer { rings[capture].write($0) }
        }
    }

    private func exchange() {
        var moved = true
        while moved {
            moved = drainEvents()
            while move(fromClient: true) { moved = true }
            while move(fromClient: false) { moved = true }
            moved = moveLine() || moved
        }
    }

    private func drainEvents() -> Bool {
        var moved = false
        while client.pollEvent() != nil { moved = true }
        while let event = server.pollEvent() {
            moved = true
            if case .upgradeRequested = event { server.accept(now: now) }
            if case .helloReceived(let id) = event { server.welcome(session: id, now: now) }
        }
        return moved
    }

    private func moveLine() -> Bool {
        let up = client.lineOutput(atMost: 16_384)
        if !up.isEmpty { server.receiveLine(up.span.bytes, now: now) }
        let down = server.lineOutput(atMost: 16_384)
        if !down.isEmpty { client.receiveLine(down.span.bytes, now: now) }
        return !up.isEmpty || !down.isEmpty
    }

    private func move(fromClient: Bool) -> Bool {
        guard var packet = pool.take() else { return false }
        let start = allocation_count()
        let polled =
            fromClient
            ? client.pollTransmit(into: &packet, now: now) : server.pollTransmit(into: &packet, now: now)
        let made = allocation_count() - start
        guard let transmit = polled else {
            tallies.emptyPoll.add(made)
            return false
        }
        let isAudio = packet.bytes.unsafeLoad(fromByteOffset: 0, as: UInt8.self) >= 128 && !isRTCP(packet.bytes)
        let path = NetworkPath(local: transmit.path.remote, remote: transmit.path.local)
        let received = allocation_count()
        if fromClient {
            server.receive(&packet, path: path, now: now)
        } else {
            client.receive(&packet, path: path, now: now)
        }
        let taken = allocation_count() - received
        if isAudio {
            tallies.audioOut.add(made)
            tallies.audioIn.add(taken)
        } else {
            tallies.control.add(made + taken)
        }
        return true
    }

    private func count(_ tally: WritableKeyPath<Tallies, Tally>, _ body: () -> Void) {
        let start = allocation_count()
        body()
        let count = allocation_count() - start
        tallies[keyPath: tally].add(count)
    }
}
