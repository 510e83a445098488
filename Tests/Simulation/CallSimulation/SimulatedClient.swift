internal import ICELite
internal import Transport
internal import TransportLine
internal import TransportMedia
internal import TransportRuntime
internal import TransportTestKit

/// The client's end of a simulated call.
final class SimulatedClient: SimulatedHost {
    private static let firstPort: UInt16 = 5_000

    private var call: ClientCall
    /// The open sockets, most preferred first.
    private(set) var sockets: [SocketAddress] = []
    private var nextPort = firstPort
    private var checkedPairs: [NetworkPath] = []
    private var refusedPairs: [NetworkPath] = []

    private var seenState = TransportState.idle
    private var seenRecovering = false
    private var seenBridge = false
    private var seenEpoch = 0
    private var seenTransport: TransportKind?
    private(set) var outcome: CallOutcome?

    init(
        scenario: Scenario, certificate: DTLSCertificate, handshake: HandshakeOptions, simulator: Simulator,
        network: VirtualNetwork, observer: Observer, codec: FrameCodec, peerCodec: FrameCodec
    ) throws {
        var randomness = simulator.randomness(for: "client")
        var configuration = ClientCallConfiguration(
            url: try CallLineURL("ws://127.0.0.1/call"), key: nil, callID: "call_\(scenario.seed)")
        configuration.wanted = scenario.client.preference
        configuration.isStandard = scenario.client.isStandard
        configuration.recovery = scenario.client.recovery
        configuration.handshake = handshake
        let ssrc = SSRC.random(using: &randomness)
        let sender = try AudioSender(
            ssrc: ssrc, payloadType: .defaultOpus, randomness: &randomness, standIn: codec)
        let firstSequence = sender.nextSequence.rawValue
        let receiver = try AudioReceiver(payloadType: .defaultOpus, standIn: codec)
        let capture = PCMRing(minimumCapacity: SimulatedHost.captureSamples)
        let playout = PCMRing(minimumCapacity: SimulatedHost.playoutSamples)
        call = ClientCall(
            configuration: configuration, certificate: scenario.client.hasMediaPath ? certificate : nil,
            media: CallMedia(sender: sender, receiver: receiver, capture: capture, playout: playout), ssrc: ssrc,
            randomness: randomness)
        super.init(
            end: .client, simulator: simulator, network: network, observer: observer, codec: codec,
            peerCodec: peerCodec, capture: capture, playout: playout, firstSequence: firstSequence,
            stall: scenario.client.stall)
    }

    // MARK: What happens to it

    func start() {
        perform { [unowned self] now in
            observer.reach(.start)
            call.start(now: now)
        }
    }

    func hangUp() {
        perform { [unowned self] now in
            guard state != .ended, state != .idle else { return }
            if observer.facts.clientHungUpAt == nil { observer.facts.clientHungUpAt = now }
            call.hangUp(now: now)
        }
    }

    /// The addresses of the interfaces that are up now; new ones get a socket.
    func addressesChanged(to addresses: [IPAddress], isToldTo tellsCall: Bool) {
        var changed: [SocketAddress] = []
        for ip in addresses {
            if let socket = sockets.first(where: { $0.ip == ip }) {
                changed.append(socket)
            } else {
                changed.append(SocketAddress(ip: ip, port: nextPort))
                nextPort += 1
            }
        }
        sockets = changed
        guard tellsCall else { return }
        perform { [unowned self] now in call.networkChanged(to: sockets, now: now) }
    }

    // MARK: The machine

    override var machineDeadline: Instant { call.nextDeadline }
    override var state: TransportState { call.state }
    override func machineTimeout(now: Instant) { call.handleTimeout(now: now) }
    override func lineOutput(atMost limit: Int) -> [UInt8] { call.lineOutput(atMost: limit) }
    override var isLineFinished: Bool { call.isLineFinished && call.state == .ended }
    override func send(message: [UInt8], now: Instant) -> Bool { call.send(message: message, now: now) }

    override func take(_ input: Input, now: Instant) {
        switch input {
        case .datagram(let bytes, let path):
            // What came to a socket that is closed is nobody's.
            guard sockets.contains(path.local), var packet = pool.take() else { return }
            packet.assign(bytes.span.bytes)
            call.receive(&packet, path: path, now: now)
        case .refusal(let path):
            noteRefusal(on: path)
            call.sendFailed(path: path, failure: ICESendFailure(errno: 111, icmpType: 3, icmpCode: 3), now: now)
        case .lineOpened:
            observer.reach(.lineOpen)
            call.lineConnected(localAddresses: sockets, now: now)
        case .bytes(let bytes, _): call.receiveLine(bytes.span.bytes, now: now)
        case .lineClosed(_, let cut):
            if call.timings.upgraded == nil, cut == .rst {
                call.lineUnreachable("connection refused", now: now)
            } else {
                call.lineEnded(now: now)
            }
        case .work(let work): work(now)
        }
    }

    override func sendDatagram(now: Instant) -> Bool {
        guard var packet = pool.take(), let transmit = call.pollTransmit(into: &packet, now: now) else { return false }
        guard let hostID, sockets.contains(transmit.path.local) else { return true }
        let bytes = packet.copiedBytes
        let isCheck = bytes.count > 1 && bytes[0] == 0 && bytes[1] == 1
        if isCheck, seenTransport == nil, !checkedPairs.contains(transmit.path) {
            checkedPairs.append(transmit.path)
            observer.facts.pairsChecked += 1
        }
        guard network.send(bytes, from: hostID, on: transmit.path) else {
            noteRefusal(on: transmit.path)
            call.sendFailed(path: transmit.path, failure: ICESendFailure(errno: 101), now: now)
            return true
        }
        noteSent(bytes, on: transmit.path)
        return true
    }

    private func noteRefusal(on path: NetworkPath) {
        guard seenTransport == nil, !refusedPairs.contains(path) else { return }
        refusedPairs.append(path)
        observer.facts.pairsRefused += 1
    }

    override func pollEvents(now: Instant) -> Bool {
        var hasPolled = false
        while let event = call.pollEvent() {
            hasPolled = true
            switch event {
            case .message(let bytes): noteMessage(bytes)
            case .ended(let outcome):
                self.outcome = outcome
                observer.note(.outcome(.client, outcome))
            case .stateChanged, .transportChanged, .resolve, .pathClosed: break
            }
        }
        return hasPolled
    }

    override func observe(now: Instant) {
        observeTimings()
        let isRecovering = RecoveryView.isRecovering(call)
        if call.state != seenState || isRecovering != seenRecovering {
            let wasRecovering = seenRecovering
            (seenState, seenRecovering) = (call.state, isRecovering)
            observer.note(.state(.client, seenState, isRecovering: isRecovering))
            if isRecovering { observer.reach(.suspect) }
            if wasRecovering, !isRecovering, seenState == .active { observer.reach(.repaired) }
            if seenState == .active { observer.reach(.active) }
        }
        if call.epoch != seenEpoch || call.transport != seenTransport {
            (seenEpoch, seenTransport) = (call.epoch, call.transport)
            observer.note(.choice(.client, epoch: seenEpoch, seenTransport, call.fallback))
        }
        let isBridgeAsked = RecoveryView.isBridgeAsked(call)
        if isBridgeAsked != seenBridge {
            seenBridge = isBridgeAsked
            observer.note(.bridge(.client, isAsked: isBridgeAsked))
        }
    }

    private func observeTimings() {
        guard seenState != .active, seenState != .ended else { return }
        let timings = call.timings
        if timings.welcome != nil { observer.reach(.welcome) }
        if timings.firstCheck != nil { observer.reach(.firstCheck) }
        if timings.firstAnswer != nil { observer.reach(.firstAnswer) }
        if timings.secured != nil { observer.reach(.dtlsDone) }
        if timings.firstAudio != nil { observer.reach(.firstAudio) }
    }

    override func noteFigures() {
        figures.ignoredMessages = call.ignoredMessages
        super.noteFigures()
    }
}
