internal import ICELite
internal import Transport
internal import TransportLine
internal import TransportMedia
internal import TransportRuntime
internal import TransportTestKit

/// The endpoint's end of a simulated call, with what an endpoint does around one: routes, early flights, admission.
final class SimulatedServer: SimulatedHost {
    /// Flights ahead of their check: as the endpoint keeps them.
    private static let earlyFlightsKept: Nanoseconds = .seconds(1)
    private static let earlyFlightsLimit = 4

    /// In memory of its own: a property of a class is copied, all of it, when one value of it is read.
    private let call: UnsafeMutablePointer<ServerCall>
    private let answer: Scenario.ServerPart.Answer
    private let refusal: Int?
    private let make: (Instant) throws -> ServerCall
    /// Its connection is there: from now on it is a call.pointee.
    private var isAccepted = false
    @exclusivity(unchecked) private var routes: [NetworkPath] = []
    private var early: [(bytes: [UInt8], path: NetworkPath, at: Instant)] = []
    private var unconfirmed = UnconfirmedDestinations()
    private var isRewritten = false

    private var seenState = TransportState.idle
    private var seenRecovering = false
    private var seenBridge = false
    private var seenEpoch = 0
    private var seenTransport: TransportKind?
    private(set) var outcome: CallOutcome?

    init(
        scenario: Scenario, certificate: DTLSCertificate, handshake: HandshakeOptions, announced: [SocketAddress],
        simulator: Simulator, network: VirtualNetwork, observer: Observer, codec: FrameCodec, peerCodec: FrameCodec
    ) throws {
        answer = scenario.server.answer
        refusal = scenario.server.refusal
        var configuration = ServerCallConfiguration()
        configuration.handshake = handshake
        configuration.announced = announced
        configuration.isStandard = answer == .standard
        configuration.declineWord = answer == .declined ? "disabled" : nil
        configuration.asksForAdmission = true
        let capture = PCMRing(minimumCapacity: SimulatedHost.captureSamples)
        let playout = PCMRing(minimumCapacity: SimulatedHost.playoutSamples)
        let firstTimestamp = SimulatedHost.firstTimestamp(wrappingAfter: scenario.server.wrap)
        make = { [configuration] now in
            var randomness = simulator.randomness(for: "server")
            let ssrc = SSRC.random(using: &randomness)
            let sender = try AudioSender(
                ssrc: ssrc, payloadType: .defaultOpus, randomness: &randomness, standIn: codec,
                firstTimestamp: firstTimestamp)
            let media = CallMedia(
                sender: sender, receiver: try AudioReceiver(payloadType: .defaultOpus, standIn: codec),
                capture: capture, playout: playout)
            return ServerCall(
                configuration: configuration, certificate: certificate, media: media, ssrc: ssrc,
                randomness: randomness, now: now)
        }
        let first = try make(.zero)
        call = .allocate(capacity: 1)
        call.initialize(to: first)
        var randomness = simulator.randomness(for: "server")
        let ssrc = SSRC.random(using: &randomness)
        let firstSequence = try AudioSender(ssrc: ssrc, payloadType: .defaultOpus, randomness: &randomness)
            .nextSequence.rawValue
        super.init(
            end: .server, simulator: simulator, network: network, observer: observer, codec: codec,
            peerCodec: peerCodec, capture: capture, playout: playout, firstSequence: firstSequence,
            stall: scenario.server.stall)
        seenState = call.pointee.state
    }

    deinit {
        call.deinitialize(count: 1)
        call.deallocate()
    }

    // MARK: What happens to it

    /// The client's hello has come: there is a call.
    private(set) var hasHello = false

    func hangUp() {
        perform { [unowned self] now in
            guard isAccepted, state != .ended else { return }
            if observer.facts.serverHungUpAt == nil { observer.facts.serverHungUpAt = now }
            call.pointee.hangUp(now: now)
        }
    }

    func goAway() {
        perform { [unowned self] now in
            guard isAccepted, state != .ended else { return }
            if observer.facts.drainedAt == nil { observer.facts.drainedAt = now }
            call.pointee.goAway(now: now)
        }
    }

    // MARK: The machine

    override var machineDeadline: Instant { isAccepted ? call.pointee.nextDeadline : .never }
    override var state: TransportState { call.pointee.state }
    override var suspicionThreshold: Nanoseconds? { call.pointee.suspicionThreshold }
    override func machineTimeout(now: Instant) { if isAccepted { call.pointee.handleTimeout(now: now) } }
    override var isLineFinished: Bool { call.pointee.isLineFinished }
    override var hasLostLine: Bool { isAccepted && call.pointee.isLineFinished }
    override func send(message: [UInt8], now: Instant) -> Bool { call.pointee.send(message: message, now: now) }

    override func withdrawLineAudio(unwritten: Int) -> Int { call.pointee.withdrawLineAudio(unwritten: unwritten) }

    override func lineOutput(atMost limit: Int) -> [UInt8] {
        let bytes = call.pointee.lineOutput(atMost: limit)
        switch answer {
        case .actpass, .missing, .wrongCertificate, .noCandidates, .noTrickle, .wrongPassword, .deaf, .alert:
            return rewriteWelcome(bytes)
        case .usable, .declined, .standard, .noProfile: return bytes
        }
    }

    /// An endpoint with another mind: its welcome says something else, in as many bytes.
    private func rewriteWelcome(_ bytes: [UInt8]) -> [UInt8] {
        guard !isRewritten, let start = bytes.firstRange(of: Array("transport.welcome".utf8))?.lowerBound else {
            return bytes
        }
        isRewritten = true
        var bytes = bytes
        for (old, new) in rewrites {
            var from = start
            while let found = bytes[from...].firstRange(of: Array(old.utf8)) {
                bytes.replaceSubrange(found, with: Array(new.utf8))
                from = found.upperBound
                guard answer == .wrongCertificate || answer == .wrongPassword else { continue }
                bytes[from] = bytes[from] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            }
        }
        return bytes
    }

    /// What of the welcome becomes what; behind the last two the next character changes.
    private var rewrites: [(old: String, new: String)] {
        switch answer {
        case .actpass: [("a=setup:passive", "a=setup:actpass")]
        case .missing: [(#""webrtc":{"#, #""webrtx":{"#)]
        case .noCandidates: [(" udp ", " tcp ")]
        case .noTrickle:
            [(" udp ", " tcp "), ("a=ice-lite", "a=ice-lits"), ("a=end-of-candidates", "a=end-of-candidatez")]
        // The handshake does not go by the line then.
        case .deaf, .alert: [(#""dtls":["#, #""dtlx":["#)]
        case .wrongCertificate: [("a=fingerprint:sha-256 ", "a=fingerprint:sha-256 ")]
        case .wrongPassword: [("a=ice-pwd:", "a=ice-pwd:")]
        case .usable, .declined, .standard, .noProfile: []
        }
    }

    override func take(_ input: Input, now: Instant) {
        switch input {
        case .datagram(let bytes, let path): deliver(bytes, path, now: now)
        case .refusal: break
        case .lineOpened:
            // A connection without a hello is nobody's call.
            guard !hasHello, let made = try? make(now) else { return }
            isAccepted = true
            call.pointee = made
        case .bytes(let bytes, _, _): call.pointee.receiveLine(bytes.span.bytes, now: now)
        case .lineClosed: call.pointee.lineEnded(now: now)
        case .work(let work): work(now)
        }
    }

    /// As `EndpointDriver` finds the call of a datagram: checks by their username fragment, which only the call can judge,
    /// all else by its tuple, and media from a new one by its sender.
    private func deliver(_ bytes: [UInt8], _ path: NetworkPath, now: Instant) {
        let isRoute = routes.contains(path)
        if isDeaf, case .handshake = Datagram(bytes) { return refuseHandshake(on: path) }
        switch Datagram(bytes) {
        case .check, .checkAnswer, .checkError: break
        case .handshake where !isRoute:
            early.removeAll { now - $0.at >= Self.earlyFlightsKept }
            if early.count(where: { $0.path == path }) < Self.earlyFlightsLimit { early.append((bytes, path, now)) }
            return
        case .media where !isRoute, .report where !isRoute:
            guard Self.sender(of: bytes) == call.pointee.remoteSSRC else { return }
        case .handshake, .media, .report: break
        case .other: guard isRoute else { return }
        }
        give(bytes, path, now: now)
        guard !isRoute, call.pointee.isAuthenticated(path) else { return }
        routes.append(path)
        let flights = early.filter { $0.path == path && now - $0.at < Self.earlyFlightsKept }
        early.removeAll { $0.path == path }
        for flight in flights { give(flight.bytes, path, now: now) }
    }

    /// Its handshake is somebody else's: nothing of it goes in or out.
    private var isDeaf: Bool { answer == .deaf || answer == .alert }

    /// Says nothing, or a fatal handshake_failure in a record of epoch 0 (RFC 6347 §4.1).
    private func refuseHandshake(on path: NetworkPath) {
        guard answer == .alert, let hostID else { return }
        network.send([21, 254, 253, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 2, 40], from: hostID, on: path)
    }

    private static func sender(of bytes: [UInt8]) -> UInt32? {
        guard case .media = Datagram(bytes), bytes.count >= 12 else {
            guard bytes.count >= 8 else { return nil }
            return bytes[4..<8].reduce(0) { $0 << 8 | UInt32($1) }
        }
        return bytes[8..<12].reduce(0) { $0 << 8 | UInt32($1) }
    }

    private func give(_ bytes: [UInt8], _ path: NetworkPath, now: Instant) {
        guard var packet = pool.take() else { return }
        packet.assign(bytes.span.bytes)
        call.pointee.receive(&packet, path: path, now: now)
        guard let wanted = call.pointee.admissionWanted else { return }
        call.pointee.settleAdmission(of: wanted, isAdmitted: unconfirmed.admit(wanted.remote.ip, now: now))
    }

    override func sendDatagram(now: Instant) -> Bool {
        guard let (path, bytes) = nextDatagram({ call.pointee.pollTransmit(into: &$0, now: now) }) else { return false }
        guard let hostID else { return true }
        if isDeaf, case .handshake = Datagram(bytes) { return true }
        network.send(bytes, from: hostID, on: path)
        noteSent(bytes, on: path)
        return true
    }

    override func pollEvents(now: Instant) -> Bool {
        var hasPolled = false
        while let event = call.pointee.pollEvent() {
            hasPolled = true
            switch event {
            case .upgradeRequested:
                if let refusal {
                    observer.facts.refusedAt = now
                    call.pointee.refuse(LineRefusal(status: refusal, message: "refused"), now: now)
                } else {
                    call.pointee.accept(now: now)
                }
            case .helloReceived:
                hasHello = true
                call.pointee.welcome(session: "s", now: now)
            case .message(let bytes): noteMessage(bytes)
            case .ended(let outcome):
                self.outcome = outcome
                if hasHello { observer.note(.outcome(.server, outcome)) }
            case .stateChanged, .transportChanged, .recoveringChanged, .ufragsChanged: break
            }
        }
        return hasPolled
    }

    override func observe(now: Instant) {
        if observer.facts.refusedAt != nil, observer.facts.refusedCallEndedAt == nil, state == .ended {
            observer.facts.refusedCallEndedAt = now
        }
        guard hasHello else { return }
        let isRecovering = call.pointee.isRecovering
        if call.pointee.state != seenState || isRecovering != seenRecovering {
            (seenState, seenRecovering) = (call.pointee.state, isRecovering)
            observer.note(.state(.server, seenState, isRecovering: isRecovering))
        }
        if call.pointee.epoch != seenEpoch || call.pointee.transport != seenTransport {
            (seenEpoch, seenTransport) = (call.pointee.epoch, call.pointee.transport)
            observer.note(.choice(.server, epoch: seenEpoch, seenTransport, call.pointee.fallback))
        }
        let isBridgeAsked = call.pointee.isBridgeAsked
        if isBridgeAsked != seenBridge {
            seenBridge = isBridgeAsked
            observer.note(.bridge(.server, isAsked: isBridgeAsked))
        }
    }

    override func noteFigures() {
        figures.ignoredMessages = call.pointee.ignoredMessages
        super.noteFigures()
    }
}
