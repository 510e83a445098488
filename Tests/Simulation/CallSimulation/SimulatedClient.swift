internal import ICELite
internal import Transport
internal import TransportLine
internal import TransportMedia
internal import TransportRuntime
internal import TransportTestKit

/// The client's end of a simulated call.pointee.
final class SimulatedClient: SimulatedHost {
    private static let firstPort: UInt16 = 5_000

    /// In memory of its own: a property of a class is copied, all of it, when one value of it is read.
    private let call: UnsafeMutablePointer<ClientCall>
    /// The open sockets, most preferred first.
    private var sockets: [SocketAddress] = []
    /// Second ports of the same addresses, while an outage lasts.
    private var freshSockets: [SocketAddress] = []
    private var nextPort = firstPort
    private var checkedPairs: [NetworkPath] = []
    private var refusedPairs: [NetworkPath] = []

    private var seenState = TransportState.idle
    private var seenRecovering = false
    private var seenBridge = false
    private var seenEpoch = 0
    private var seenTransport: TransportKind?
    private(set) var outcome: CallOutcome?
    /// Opens one more line.
    var wantLine: () -> Void = {}

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
            ssrc: ssrc, payloadType: .defaultOpus, randomness: &randomness, standIn: codec,
            firstTimestamp: Self.firstTimestamp(wrappingAfter: scenario.client.wrap))
        let firstSequence = sender.nextSequence.rawValue
        let receiver = try AudioReceiver(payloadType: .defaultOpus, standIn: codec)
        let capture = PCMRing(minimumCapacity: SimulatedHost.captureSamples)
        let playout = PCMRing(minimumCapacity: SimulatedHost.playoutSamples)
        call = .allocate(capacity: 1)
        call.initialize(
            to: ClientCall(
                configuration: configuration, certificate: scenario.client.hasMediaPath ? certificate : nil,
                media: CallMedia(sender: sender, receiver: receiver, capture: capture, playout: playout), ssrc: ssrc,
                randomness: randomness))
        super.init(
            end: .client, simulator: simulator, network: network, observer: observer, codec: codec,
            peerCodec: peerCodec, capture: capture, playout: playout, firstSequence: firstSequence,
            stall: scenario.client.stall)
    }

    deinit {
        call.deinitialize(count: 1)
        call.deallocate()
    }

    // MARK: What happens to it

    func start() {
        perform { [unowned self] now in
            observer.reach(.start)
            call.pointee.start(now: now)
        }
    }

    func hangUp() {
        perform { [unowned self] now in
            guard state != .ended, state != .idle else { return }
            if observer.facts.clientHungUpAt == nil { observer.facts.clientHungUpAt = now }
            call.pointee.hangUp(now: now)
        }
    }

    /// The addresses of the interfaces that are up now; new ones get a socket.
    func addressesChanged(to addresses: [IPAddress], isToldTo tellsCall: Bool) {
        sockets = addresses.map { ip in sockets.first { $0.ip == ip } ?? open(ip) }
        freshSockets.removeAll { !addresses.contains($0.ip) }
        if seenTransport == nil {
            observer.facts.pairsGone = checkedPairs.count { !isOpen($0.local) && !refusedPairs.contains($0) }
        }
        if tellsCall { tellSockets() }
    }

    private func open(_ ip: IPAddress) -> SocketAddress {
        defer { nextPort += 1 }
        return SocketAddress(ip: ip, port: nextPort)
    }

    private var localAddresses: [SocketAddress] { sockets + freshSockets }

    override func isOpen(_ address: SocketAddress) -> Bool {
        sockets.contains(address) || freshSockets.contains(address)
    }

    private func tellSockets() {
        perform { [unowned self] now in call.pointee.networkChanged(to: localAddresses, now: now) }
    }

    /// As the driver does: a second port on each address that has one only.
    private func openFreshSockets(now: Instant) {
        let known = freshSockets.count
        for socket in sockets where !freshSockets.contains(where: { $0.ip == socket.ip }) {
            freshSockets.append(open(socket.ip))
        }
        if freshSockets.count > known { call.pointee.networkChanged(to: localAddresses, now: now) }
    }

    // MARK: The machine

    override var machineDeadline: Instant { call.pointee.nextDeadline }
    override var state: TransportState { call.pointee.state }
    override var suspicionThreshold: Nanoseconds? { call.pointee.suspicionThreshold }
    override func machineTimeout(now: Instant) { call.pointee.handleTimeout(now: now) }
    override func lineOutput(atMost limit: Int) -> [UInt8] { call.pointee.lineOutput(atMost: limit) }
    override func withdrawLineAudio(unwritten: Int) -> Int { call.pointee.withdrawLineAudio(unwritten: unwritten) }
    override var isLineFinished: Bool { call.pointee.isLineFinished && call.pointee.state == .ended }
    override var hasLostLine: Bool { observer.instant(of: .lineOpen) != nil && call.pointee.isLineFinished }
    override func send(message: [UInt8], now: Instant) -> Bool { call.pointee.send(message: message, now: now) }

    override func take(_ input: Input, now: Instant) {
        switch input {
        case .datagram(let bytes, let path):
            guard isOpen(path.local), var packet = pool.take() else { return }
            packet.assign(bytes.span.bytes)
            call.pointee.receive(&packet, path: path, now: now)
        case .refusal(let path):
            noteRefusal(on: path)
            call.pointee.sendFailed(path: path, failure: ICESendFailure(errno: 111, icmpType: 3, icmpCode: 3), now: now)
        case .lineOpened:
            observer.reach(.lineOpen)
            call.pointee.lineConnected(localAddresses: localAddresses, now: now)
        case .bytes(let bytes, _, _): call.pointee.receiveLine(bytes.span.bytes, now: now)
        case .lineClosed(_, let cut):
            if call.pointee.timings.upgraded == nil, cut == .rst {
                call.pointee.lineUnreachable("connection refused", now: now)
            } else {
                call.pointee.lineEnded(now: now)
            }
        case .work(let work): work(now)
        }
    }

    override func sendDatagram(now: Instant) -> Bool {
        guard let (path, bytes) = nextDatagram({ call.pointee.pollTransmit(into: &$0, now: now) }) else { return false }
        guard let hostID, isOpen(path.local) else { return true }
        let isCheck = bytes.count > 1 && bytes[0] == 0 && bytes[1] == 1
        if isCheck, seenTransport == nil, !checkedPairs.contains(path) {
            checkedPairs.append(path)
            observer.facts.pairsChecked += 1
        }
        guard network.send(bytes, from: hostID, on: path) else {
            noteRefusal(on: path)
            call.pointee.sendFailed(path: path, failure: ICESendFailure(errno: 101), now: now)
            return true
        }
        noteSent(bytes, on: path)
        return true
    }

    private func noteRefusal(on path: NetworkPath) {
        guard seenTransport == nil, !refusedPairs.contains(path) else { return }
        refusedPairs.append(path)
        observer.facts.pairsRefused += 1
    }

    override func pollEvents(now: Instant) -> Bool {
        var hasPolled = false
        while let event = call.pointee.pollEvent() {
            hasPolled = true
            switch event {
            case .message(let bytes): noteMessage(bytes)
            case .ended(let outcome):
                self.outcome = outcome
                observer.note(.outcome(.client, outcome))
            case .lineWanted: wantLine()
            case .socketsWanted: openFreshSockets(now: now)
            case .socketsSettled, .stateChanged, .transportChanged, .recoveringChanged, .resolve, .pathClosed: break
            }
        }
        return hasPolled
    }

    override func observe(now: Instant) {
        observeTimings()
        let isRecovering = call.pointee.isRecovering
        if call.pointee.state != seenState || isRecovering != seenRecovering {
            (seenState, seenRecovering) = (call.pointee.state, isRecovering)
            observer.note(.state(.client, seenState, isRecovering: isRecovering))
            if isRecovering { observer.reach(.suspect) }
            if seenState == .active { observer.reach(.active) }
        }
        if call.pointee.epoch != seenEpoch || call.pointee.transport != seenTransport {
            (seenEpoch, seenTransport) = (call.pointee.epoch, call.pointee.transport)
            observer.isChosen = true
            observer.note(.choice(.client, epoch: seenEpoch, seenTransport, call.pointee.fallback))
        }
        let isBridgeAsked = call.pointee.isBridgeAsked
        if isBridgeAsked != seenBridge {
            seenBridge = isBridgeAsked
            if isBridgeAsked { observer.reach(.suspect) } else if seenState == .active { observer.reach(.repaired) }
            observer.note(.bridge(.client, isAsked: isBridgeAsked))
        }
    }

    private func observeTimings() {
        guard seenState != .active, seenState != .ended else { return }
        let timings = call.pointee.timings
        if timings.welcome != nil { observer.reach(.welcome) }
        if timings.firstCheck != nil { observer.reach(.firstCheck) }
        if timings.firstAnswer != nil { observer.reach(.firstAnswer) }
        if timings.secured != nil { observer.reach(.dtlsDone) }
        if timings.firstAudio != nil { observer.reach(.firstAudio) }
    }

    override func noteFigures() {
        figures.ignoredMessages = call.pointee.ignoredMessages
        figures.packetsParked = call.pointee.mostParked
        super.noteFigures()
    }
}
