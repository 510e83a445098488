package import ICELite
package import Transport
internal import TransportLine
package import TransportMedia
package import TransportRuntime

/// Both ends of a call, whole, on the virtual network: the machines of the product, no socket, no clock, no thread.
package final class VirtualCall {
    /// The client's address.
    package static let clientIP = IPAddress(v4: 0xC000_0202)
    /// Where the server's media path is reached.
    package static let serverAddress = SocketAddress(ip: IPAddress(v4: 0xC000_0201), port: 4_000)

    /// What drives both ends: run it.
    package let simulator: Simulator
    /// What lies between them.
    package let network: VirtualNetwork
    /// The client's end.
    package let client: ClientHost
    /// The server's end.
    package let server: ServerHost
    /// What the client has sent on the line.
    package var spy: LineSpy { client.spy }

    /// - Parameters:
    ///   - up: what the client's UDP meets on its way out; `down` on its way in.
    ///   - line: what the line meets, each way.
    ///   - handshake: the client's options; `answering` the endpoint's.
    package init(
        seed: UInt64, wanted: CallTransport = .auto, up: LinkModel = LinkModel(delay: .milliseconds(25)),
        down: LinkModel = LinkModel(delay: .milliseconds(25)), line: LinkModel = LinkModel(delay: .milliseconds(25)),
        nat: VirtualNAT? = nil, stunServers: [STUNServer] = [], recovery: RecoveryPolicy = .continueOnWebSocket,
        handshake: HandshakeOptions = HandshakeOptions(), answering: HandshakeOptions = HandshakeOptions()
    ) throws {
        simulator = Simulator(seed: seed)
        network = VirtualNetwork(simulator: simulator)
        client = try ClientHost(
            wanted: wanted, stunServers: stunServers, recovery: recovery, handshake: handshake,
            randomness: simulator.randomness(for: "client"))
        server = try ServerHost(handshake: answering, randomness: simulator.randomness(for: "server"))
        let clientID = network.addHost(client)
        client.hostID = clientID
        let serverID = network.addHost(server)
        server.hostID = serverID
        network.addInterface("client", of: clientID, ip: Self.clientIP, up: up, down: down, nat: nat)
        network.addInterface("server", of: serverID, ip: Self.serverAddress.ip)
        network.perform(on: clientID, at: .zero) { [client] now in client.call.start(now: now) }
        client.line = network.openLine(from: clientID, to: serverID, up: line, down: line)
    }
}

/// What both hosts share: a pool, a line, bytes that the line did not take yet.
package class CallHost {
    /// This host's name on the network.
    package var hostID: HostID?
    /// The call's line.
    package var line: LineID?
    /// Bytes that the line did not take yet.
    package var pending: [UInt8] = []
    /// Its packets.
    package let pool = PacketPool(size: 16)
    /// A second of a tone, in place of a voice.
    package let tone = (0..<48_000).map { Int16(truncatingIfNeeded: ($0 % 100) * 160 - 8_000) }
    /// What is said, 48 kHz mono.
    package let capture: PCMRing
    /// What is heard, 48 kHz mono.
    package let playout: PCMRing
    /// Whether the line is closed for good at this end.
    package var hasLineEnded = false
    /// Datagrams sent so far.
    package private(set) var sent = 0
    /// Which of them are lost, by their number from 0.
    package var losesDatagram: (Int) -> Bool = { _ in false }
    /// Which of them are lost, by their bytes; asked once of each that is not lost by its number.
    package var losesContent: ([UInt8]) -> Bool = { _ in false }

    /// Sends a datagram, unless it is to be lost.
    package func send(_ datagram: [UInt8], on path: NetworkPath, into network: VirtualNetwork) {
        defer { sent += 1 }
        guard let hostID, !losesDatagram(sent), !losesContent(datagram) else { return }
        _ = network.send(datagram, from: hostID, on: path)
    }

    /// A host with its two rings.
    package init(capture: PCMRing, playout: PCMRing) {
        self.capture = capture
        self.playout = playout
    }

    /// Says a second of the tone.
    package func speak() { _ = tone.withUnsafeBufferPointer { capture.write($0) } }

    /// Writes what `next` gives to the line, as far as it takes it; `withdraw` says what of the rest is given up.
    package func flush(
        into network: VirtualNetwork, isFinished: Bool, next: () -> [UInt8], withdraw: (Int) -> Int,
        written: (ArraySlice<UInt8>) -> Void = { _ in }
    ) {
        guard let line, let id = hostID, !hasLineEnded else { return }
        while true {
            if pending.isEmpty { pending = next() }
            if pending.isEmpty { break }
            let accepted = network.write(pending, to: line, from: id)
            written(pending.prefix(accepted))
            pending.removeFirst(accepted)
            guard !pending.isEmpty else { continue }
            return pending.removeLast(withdraw(pending.count))
        }
        if isFinished {
            hasLineEnded = true
            network.close(line, from: id)
        }
    }
}

/// The client of a call on a virtual network.
package final class ClientHost: CallHost, VirtualHost {
    /// The machine.
    package var call: ClientCall
    /// What has happened, in order.
    package var events: [ClientCall.Event] = []
    /// How the call ended; nil while it lasts.
    package var outcome: CallOutcome?
    /// Reads along what it sends on the line.
    package let spy = LineSpy()
    /// STUN servers whose addresses were asked for.
    package var wanted: [STUNServer] = []
    /// What it is told and what it decides.
    package let recorder = FlightRecorder()
    /// The UDP sockets that are open when the line is connected.
    package var addresses = [SocketAddress(ip: VirtualCall.clientIP, port: 5_000)]

    /// A client that wants `wanted`.
    package init(
        wanted: CallTransport, stunServers: [STUNServer] = [], recovery: RecoveryPolicy = .continueOnWebSocket,
        handshake: HandshakeOptions = HandshakeOptions(), randomness: Randomness
    ) throws {
        var randomness = randomness
        var configuration = ClientCallConfiguration(
            url: try CallLineURL("ws://127.0.0.1/call"), key: nil, callID: "call_1")
        configuration.wanted = wanted
        configuration.stunServers = stunServers
        configuration.recovery = recovery
        configuration.handshake = handshake
        configuration.recorder = recorder
        let ssrc = SSRC.random(using: &randomness)
        let capture = PCMRing(minimumCapacity: 96_000)
        let playout = PCMRing(minimumCapacity: 1 << 20)
        let sender = try AudioSender(ssrc: ssrc, payloadType: .defaultOpus, randomness: &randomness)
        call = ClientCall(
            configuration: configuration, certificate: DTLSCertificate.shared,
            media: CallMedia(
                sender: sender, receiver: try AudioReceiver(payloadType: .defaultOpus), capture: capture,
                playout: playout), ssrc: ssrc, randomness: randomness)
        super.init(capture: capture, playout: playout)
    }

    package var nextDeadline: Instant { call.nextDeadline }

    package func handleTimeout(now: Instant) { call.handleTimeout(now: now) }

    package func receive(datagram: [UInt8], path: NetworkPath, now: Instant) {
        guard var packet = pool.take() else { return }
        packet.assign(datagram.span.bytes)
        call.receive(&packet, path: path, now: now)
    }

    package func datagramRejected(path: NetworkPath, now: Instant) {
        call.sendFailed(path: path, failure: ICESendFailure(errno: 111, icmpType: 3, icmpCode: 3), now: now)
    }

    package func lineOpened(_ line: LineID, now: Instant) {
        call.lineConnected(localAddresses: addresses, now: now)
    }

    package func receive(streamBytes: [UInt8], line: LineID, now: Instant) {
        call.receiveLine(streamBytes.span.bytes, now: now)
    }

    package func lineClosed(_ line: LineID, by cut: LineCut, now: Instant) { call.lineEnded(now: now) }

    package func drain(into network: VirtualNetwork, now: Instant) {
        while var packet = pool.take() {
            guard let transmit = call.pollTransmit(into: &packet, now: now) else { break }
            send(packet.copiedBytes, on: transmit.path, into: network)
        }
        flush(into: network, isFinished: call.isLineFinished && call.state == .ended) {
            call.lineOutput(atMost: 4_096)
        } withdraw: {
            call.withdrawLineAudio(unwritten: $0)
        } written: {
            spy.receive(Array($0), now: now)
        }
        while let event = call.pollEvent() {
            if case .stateChanged(.active) = event { speak() }
            if case .ended(let outcome) = event { self.outcome = outcome }
            if case .resolve(let server) = event { wanted.append(server) }
            // A second line finds the server as the first one did: gone.
            if case .lineWanted = event {
                hasLineEnded = true
                call.lineEnded(now: now)
            }
            events.append(event)
        }
    }
}

/// The server of a call on a virtual network.
package final class ServerHost: CallHost, VirtualHost {
    /// The machine.
    package var call: ServerCall
    /// What it is told and what it decides.
    package let recorder = FlightRecorder()
    /// How the call ended; nil while it lasts.
    package var outcome: CallOutcome?
    /// When the call became active here.
    package var activeAt: Instant?

    /// A server that takes every call.
    package init(handshake: HandshakeOptions = HandshakeOptions(), randomness: Randomness) throws {
        var randomness = randomness
        var configuration = ServerCallConfiguration()
        configuration.handshake = handshake
        configuration.announced = [VirtualCall.serverAddress]
        configuration.recorder = recorder
        let ssrc = SSRC.random(using: &randomness)
        let capture = PCMRing(minimumCapacity: 96_000)
        let playout = PCMRing(minimumCapacity: 1 << 20)
        let sender = try AudioSender(ssrc: ssrc, payloadType: .defaultOpus, randomness: &randomness)
        call = ServerCall(
            configuration: configuration, certificate: DTLSCertificate.shared,
            media: CallMedia(
                sender: sender, receiver: try AudioReceiver(payloadType: .defaultOpus), capture: capture,
                playout: playout), ssrc: ssrc, randomness: randomness, now: .zero)
        super.init(capture: capture, playout: playout)
    }

    package var nextDeadline: Instant { call.nextDeadline }

    package func handleTimeout(now: Instant) { call.handleTimeout(now: now) }

    package func receive(datagram: [UInt8], path: NetworkPath, now: Instant) {
        guard var packet = pool.take() else { return }
        packet.assign(datagram.span.bytes)
        call.receive(&packet, path: path, now: now)
    }

    package func lineOpened(_ line: LineID, now: Instant) { self.line = line }

    package func receive(streamBytes: [UInt8], line: LineID, now: Instant) {
        call.receiveLine(streamBytes.span.bytes, now: now)
    }

    package func lineClosed(_ line: LineID, by cut: LineCut, now: Instant) { call.lineEnded(now: now) }

    package func drain(into network: VirtualNetwork, now: Instant) {
        while let event = call.pollEvent() {
            switch event {
            case .upgradeRequested: call.accept(now: now)
            case .helloReceived: call.welcome(session: "s", now: now)
            case .stateChanged(.active):
                activeAt = now
                speak()
            case .ended(let outcome): self.outcome = outcome
            case .stateChanged, .transportChanged, .recoveringChanged, .message, .ufragsChanged: break
            }
        }
        while var packet = pool.take() {
            guard let transmit = call.pollTransmit(into: &packet, now: now) else { break }
            send(packet.copiedBytes, on: transmit.path, into: network)
        }
        flush(into: network, isFinished: call.isLineFinished) {
            call.lineOutput(atMost: 4_096)
        } withdraw: {
            call.withdrawLineAudio(unwritten: $0)
        }
    }
}
