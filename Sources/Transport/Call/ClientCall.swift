package import ICELite
package import TransportLine
package import TransportMedia
package import TransportRuntime

/// What a client's call is made of, in the types of the machines.
package struct ClientCallConfiguration: Sendable {
    package var url: CallLineURL
    package var key: String?
    package var callID: String
    package var wanted = CallTransport.auto
    /// The agent's call audio is known to be Standard beforehand.
    package var isStandard = false
    package var recovery = RecoveryPolicy.continueOnWebSocket
    package var limits = TransportLimits()
    package var handshake = HandshakeOptions()
    /// STUN servers to ask beside those of welcome.
    package var stunServers: [STUNServer] = []
    /// Where the call's decisions are kept; nil keeps none.
    package var recorder: FlightRecorder?

    package init(url: CallLineURL, key: String?, callID: String) {
        self.url = url
        self.key = key
        self.callID = callID
    }
}

/// The client's end of a call, whole and without I/O: the line's bytes and the path's datagrams go in and come out.
///
/// The owner connects the byte stream (TCP, TLS), opens the UDP sockets and drives this machine: one input, then
/// `pollTransmit`, `lineOutput` and `pollEvent` until there is nothing more, then `nextDeadline`.
package struct ClientCall: ~Copyable {
    package enum Event: Sendable {
        case stateChanged(TransportState)
        /// The carriage was chosen, or changed.
        case transportChanged(TransportKind, TransportFallback?)
        /// An application's message: one JSON object, byte for byte.
        case message([UInt8])
        /// The line closed before anything was answered: one more byte stream to the server is wanted.
        case lineWanted
        /// The addresses of this server are wanted: answer with `serverResolved`.
        case resolve(STUNServer)
        /// The path is broken and being repaired, or is not any more. The call is active all the while.
        case recoveringChanged(Bool)
        /// No pair answers: a fresh port on each interface is worth a try. Answer with `networkChanged`.
        case socketsWanted
        /// The outage is over: fresh ports that carry nothing may go.
        case socketsSettled
        /// The UDP sockets are not needed any more once what is queued has gone out.
        case pathClosed
        case ended(CallOutcome)
    }

    let configuration: ClientCallConfiguration
    var limits: TransportLimits { configuration.limits }
    var randomness: Randomness
    let certificate: DTLSCertificate?
    let ssrc: SSRC
    var policy: ClientPolicy
    var carriages: Carriages
    /// What our description says; of the generation of credentials in use.
    var localMedia: LocalMedia?
    /// The ClientHello that goes with the offer.
    var offeredHello: [[UInt8]] = []
    var restarting: RestartInProgress?
    var restartPlan = RestartPlan()
    var gathering = CallGathering()
    var events: [Event] = []
    var reported = TransportState.idle

    /// Why the line was refused or could not be had; nil where it opened.
    package var refusal: LineRefusal?
    /// How the line was closed; nil while it is there, and where it was refused.
    package internal(set) var lineClose: LineClose?
    /// The line was lost before anything was answered, and another one was asked for.
    private var hasTriedAgain = false
    /// What the server's last `transport.error` said.
    var lastError: String?
    /// When the call reached its stages.
    package var timings = SetupInstants()
    /// Messages of the peer's that were ignored, and why nothing else came of them.
    package internal(set) var ignoredMessages = 0
    /// Restarts that found no answer, or no pair, in time.
    package internal(set) var restartsAbandoned = 0
    /// Packets that waited for a choice at once, at most.
    package var mostParked: Int { carriages.mostParked }

    /// - Parameters:
    ///   - certificate: nil where this machine cannot make one: then there is no media path.
    ///   - media: the call's audio. Taken over.
    package init(
        configuration: ClientCallConfiguration, certificate: DTLSCertificate?, media: consuming CallMedia, ssrc: SSRC,
        randomness: Randomness
    ) {
        self.configuration = configuration
        self.certificate = certificate
        self.randomness = randomness
        self.ssrc = ssrc
        policy = ClientPolicy(
            wanted: configuration.wanted, standard: configuration.isStandard, hasMediaPath: certificate != nil,
            recovery: configuration.recovery, limits: configuration.limits)
        policy.recorder = configuration.recorder
        carriages = Carriages(
            isClient: true, limits: configuration.limits, media: media,
            rtcp: RTCPReporter(
                localSSRC: ssrc, cname: String(ssrc.rawValue, radix: 36), randomness: self.randomness.split("rtcp")))
        carriages.recorder = configuration.recorder
    }

    // MARK: What it knows

    package var state: TransportState { policy.callState }
    package var transport: TransportKind? { policy.transport ?? policy.ending?.transport }
    package var fallback: TransportFallback? { policy.ending.map(\.fallback) ?? policy.fallback }
    /// Whether the owner is to open UDP sockets.
    package var offersMediaPath: Bool { policy.offersMediaPath }
    package var evidence: PathEvidence { policy.evidence }
    /// The path is broken and being repaired.
    package var isRecovering: Bool { carriages.recovery?.isRecovering ?? false }
    /// This end has asked for the other's audio on the line beside the path.
    package var isBridgeAsked: Bool { carriages.recovery?.isBridgeAsked ?? false }
    /// How long the silence that lasts may be before the path is suspected; nil while it is not watched.
    package var suspicionThreshold: Nanoseconds? { carriages.recovery?.suspicionThreshold }
    /// The newest outages of the path, in order, the one that lasts included.
    package var outages: [Outage] { carriages.recovery?.figures.outages ?? [] }
}

// MARK: - Inputs

extension ClientCall {
    /// The application started the call: its budgets run from `now`.
    package mutating func start(now: Instant) {
        timings.started = now
        policy.start(now: now)
        wantServers(configuration.stunServers)
        settle(now: now)
    }

    /// The byte stream to the server is open, TLS done.
    ///
    /// - Parameter localAddresses: the UDP sockets that are open: host candidates. Empty where no media path is wanted.
    package mutating func lineConnected(localAddresses: [SocketAddress], now: Instant) {
        guard state == .connecting, carriages.line == nil else { return }
        if policy.offersMediaPath, localMedia == nil { makeOffer(localAddresses, now: now) }
        carriages.line = LineConnection.client(
            url: configuration.url, key: configuration.key, now: now, randomness: randomness.split("line"))
        settle(now: now)
    }

    /// The byte stream could not be had: the sentence says what failed.
    package mutating func lineUnreachable(_ message: String, now: Instant) {
        refusal = LineRefusal(code: .network, message: message)
        policy.lineRefused(message, now: now)
        settle(now: now)
    }

    /// Bytes came on the line.
    package mutating func receiveLine(_ bytes: borrowing RawSpan, now: Instant) {
        carriages.noteInput(now: now)
        policy.lineHeardAt = now
        carriages.line?.receive(bytes, now: now)
        settle(now: now)
    }

    /// The peer's end of the byte stream is closed.
    package mutating func lineEnded(now: Instant) {
        carriages.noteInput(now: now)
        if state == .connecting, !hasTriedAgain, carriages.isLineUnanswered {
            hasTriedAgain = true
            carriages.line = nil
            events.append(.lineWanted)
        } else if carriages.line == nil {
            policy.lineClosed(now: now)
        } else {
            carriages.line?.peerClosed(now: now)
        }
        settle(now: now)
    }

    /// A datagram came on `path`; `packet` is consumed or decrypted in place.
    package mutating func receive(_ packet: inout Packet, path: NetworkPath, now: Instant) {
        carriages.noteInput(now: now)
        if carriages.receiveDatagram(&packet, path: path, now: now) { heard(on: .webrtc, now: now) }
        settle(now: now)
    }

    /// A send on `path` was refused, by this machine or by ICMP.
    package mutating func sendFailed(path: NetworkPath, failure: ICESendFailure, now: Instant) {
        carriages.noteInput(now: now)
        if failure.isLocal, carriages.readPath({ $0.selectedPath }) == path {
            carriages.recovery?.suspect(.sendRefused, now: now)
        }
        carriages.path?.handleSendFailure(path: path, failure: failure, now: now)
        settle(now: now)
    }

    /// Sends an application's message; false when the call is not welcomed or too much waits already.
    package mutating func send(message: [UInt8], now: Instant) -> Bool {
        guard timings.welcome != nil, state != .ended,
            carriages.queuedLineBytes + message.count <= limits.queuedLineBytes
        else { return false }
        carriages.noteInput(now: now)
        let isTaken = carriages.line?.sendText(message) ?? false
        settle(now: now)
        return isTaken
    }

    /// The application hangs up.
    package mutating func hangUp(now: Instant) {
        carriages.noteInput(now: now)
        policy.hangUp(now: now)
        settle(now: now)
    }

    /// The application ends the call as failed.
    package mutating func fail(_ message: String, now: Instant) {
        carriages.noteInput(now: now)
        policy.fail(message, now: now)
        settle(now: now)
    }

    package mutating func handleTimeout(now: Instant) {
        carriages.noteInput(now: now)
        carriages.handleTimeout(now: now)
        abandonLateRestart(now: now)
        policy.handleTimeout(now: now)
        settle(now: now)
    }
}

// MARK: - Outputs

extension ClientCall {
    /// Writes the next datagram into the empty `packet` and says where it goes; nil when there is none.
    package mutating func pollTransmit(into packet: inout Packet, now: Instant) -> Transmit? {
        carriages.pollTransmit(into: &packet, now: now)
    }

    /// The line has said and written its last: the owner shuts the stream down once the stream has taken all of it.
    package var isLineFinished: Bool {
        mutating get { carriages.isLineFinished }
    }

    package mutating func pollEvent() -> Event? { events.isEmpty ? nil : events.removeFirst() }

    package var nextDeadline: Instant {
        mutating get {
            min(
                policy.readDeadline(), carriages.nextDeadline, restarting?.until ?? .never, restartPlan.nextDeadline)
        }
    }
}

// MARK: - Inside

extension ClientCall {
    mutating func send(_ message: ControlMessage) { carriages.send(message) }

    /// Lets what happened inside reach the policy and the policy's effects reach the carriages, until nothing moves.
    mutating func settle(now: Instant) {
        pumpLine(now: now)
        pumpPath(now: now)
        pumpRecovery(now: now)
        if now >= restartPlan.nextDeadline { beginPlannedRestart(now: now) }
        sayEndOfCandidates()
        applyEffects(now: now)
        // Closing a line that was not open yet has made its last event at once.
        pumpLine(now: now)
        if state != reported {
            reported = state
            if state == .ended { dropRestarts() }
            events.append(.stateChanged(reported))
        }
    }

    mutating func pumpPath(now: Instant) {
        while let event = carriages.path?.pollEvent() {
            switch event {
            case .completed:
                timings.secured = now
                if carriages.takeParkedMedia(now: now) { heard(on: .webrtc, now: now) }
            case .closedByPeer: policy.pathClosedByPeer(now: now)
            case .candidateFound(let candidate): trickle(candidate)
            case .restarted:
                restartSucceeded(now: now)
                carriages.recovery?.restarted(now: now)
            case .answered(let isSamePair): carriages.recovery?.answered(isSamePair: isSamePair, now: now)
            case .selected: carriages.recovery?.moved(now: now)
            case .selectedPathLost: carriages.recovery?.suspect(.networkChange, now: now)
            case .checkWanted, .ufragsChanged: break
            }
        }
        carriages.sendFlights(as: localMedia?.ufrag)
        guard carriages.path != nil, let evidence = carriages.evidence else { return }
        timings.firstCheck = evidence.firstCheckAt
        timings.firstAnswer = evidence.firstAnswerAt
        if evidence != policy.evidence { policy.pathChanged(evidence, now: now) }
        if evidence.isLost, let hasOutage = carriages.recovery?.hasOutage {
            // Without consent no pair may be checked any more: only a restart helps, in an outage of before, too.
            if !hasOutage { carriages.recovery?.suspect(.consent, now: now) }
            if restartPlan.isIdle { restartPlan.want(now: now) }
        }
    }

    mutating func pumpRecovery(now: Instant) {
        while let news = carriages.pollRecovery(epoch: policy.epoch, now: now) {
            switch news {
            case .recoveringChanged(let isOn): events.append(.recoveringChanged(isOn))
            case .socketsWanted: events.append(.socketsWanted)
            case .socketsSettled: events.append(.socketsSettled)
            case .windowEnded: policy.recoveryWindowEnded(now: now)
            }
        }
    }

    mutating func heard(on kind: TransportKind, now: Instant) {
        if timings.firstAudio == nil { timings.firstAudio = now }
        policy.heard(on: kind, now: now)
        // The peer's report on our stream says that it hears us, too.
        if kind == .webrtc, carriages.rtcp.remote != nil {
            policy.acknowledged(epoch: policy.epoch, heard: true, now: now)
        }
    }

    mutating func applyEffects(now: Instant) {
        while let effect = policy.pollEffect() {
            switch effect {
            case .select(let epoch, let transport, let fallback, let isRepeat):
                send(.select(ControlMessage.Select(epoch: epoch, transport: transport, fallback: fallback)))
                // The line may be dead.
                guard !isRepeat else {
                    carriages.line?.setWatch(.suspect, now: now)
                    continue
                }
                carriages.select(transport, now: now)
                events.append(.transportChanged(transport, fallback))
                if transport == .websocket, carriages.takeParked(now: now) { heard(on: .websocket, now: now) }
            case .closePath:
                carriages.closePath(now: now)
                events.append(.pathClosed)
            case .activated:
                timings.active = now
                carriages.activate(now: now)
                carriages.line?.setWatch(.calm, now: now)
            case .transportChanged: break
            case .ended(let outcome, let bye): end(outcome, bye: bye, now: now)
            }
        }
    }

    mutating func end(_ outcome: CallOutcome, bye: ClientPolicy.Bye?, now: Instant) {
        if let bye, timings.hello != nil {
            switch bye {
            case .client: send(.bye(ControlMessage.Bye(by: "client")))
            case .failure(let message): send(.bye(ControlMessage.Bye(by: "failure", message: message)))
            }
        }
        carriages.line?.close(code: .normal, now: now)
        carriages.end(now: now, isFailure: outcome.isFailure)
        events.append(.pathClosed)
        events.append(.ended(outcome))
    }
}
