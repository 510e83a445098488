package import ICELite
package import TransportLine
package import TransportMedia
package import TransportRuntime

/// What the endpoint gives a call of its own.
package struct ServerCallConfiguration: Sendable {
    package var limits = TransportLimits()
    /// The agent's in-app call audio is Standard: every call stays on the WebSocket.
    package var isStandard = false
    /// Offers are declined with this word; nil to answer them.
    package var declineWord: String?
    /// Addresses the answer announces: where the endpoint's UDP socket is reached.
    package var announced: [SocketAddress] = []
    /// The endpoint settles `admissionWanted`; else every tuple is admitted.
    package var asksForAdmission = false
    package var handshake = HandshakeOptions()
    /// Where the call's decisions are kept; nil keeps none.
    package var recorder: FlightRecorder?

    package init() {}
}

/// The endpoint's end of a call, whole and without I/O: the line's bytes and the path's datagrams go in and come out.
///
/// The owner accepts the byte stream, checks key and origin at `upgradeRequested`, sends datagrams from the endpoint's one
/// UDP port, and drives this machine as `ClientCall` is driven.
package struct ServerCall: ~Copyable {
    package enum Event: Sendable {
        /// The HTTP upgrade is asked for: answer with `accept` or `refuse`.
        case upgradeRequested(UpgradeRequest)
        /// Hello came with this call id: answer with `welcome` or `reject`.
        case helloReceived(callID: String)
        case stateChanged(TransportState)
        case transportChanged(TransportKind, TransportFallback?)
        /// The path is broken and being repaired, or is not any more. The call is active all the while.
        case recoveringChanged(Bool)
        case message([UInt8])
        /// `localUfrags` has changed: checks come for them now.
        case ufragsChanged
        case ended(CallOutcome)
    }

    let configuration: ServerCallConfiguration
    var limits: TransportLimits { configuration.limits }
    let certificate: DTLSCertificate?
    let ssrc: SSRC
    let openedAt: Instant
    var randomness: Randomness
    var policy: ServerPolicy
    var carriages: Carriages
    var hello: ControlMessage.Hello?
    var isWelcomed = false
    var events: [Event] = []
    var reported = TransportState.connecting

    /// What our answer says; of the newest generation of credentials. Nil without a media path.
    var localMedia: LocalMedia?
    /// The client was told that this loss of consent takes a restart.
    var hasAskedForRestart = false
    /// Messages of the client's that were ignored.
    package var ignoredMessages = 0

    /// - Parameter media: the call's audio. Taken over.
    package init(
        configuration: ServerCallConfiguration, certificate: DTLSCertificate?, media: consuming CallMedia, ssrc: SSRC,
        randomness: Randomness, now: Instant
    ) {
        self.configuration = configuration
        self.certificate = certificate
        self.ssrc = ssrc
        self.randomness = randomness
        openedAt = now
        policy = ServerPolicy(limits: configuration.limits, now: now)
        policy.recorder = configuration.recorder
        carriages = Carriages(
            isClient: false, limits: configuration.limits, media: media,
            rtcp: RTCPReporter(
                localSSRC: ssrc, cname: String(ssrc.rawValue, radix: 36), randomness: self.randomness.split("rtcp")))
        carriages.recorder = configuration.recorder
        carriages.line = LineConnection.server(now: now, randomness: self.randomness.split("line"))
    }

    package var state: TransportState { policy.callState }
    package var transport: TransportKind? { policy.transport ?? policy.ending?.transport }
    package var fallback: TransportFallback? { policy.ending.map(\.fallback) ?? policy.fallback }
    package var callID: String? { hello?.callID }
    /// The path is broken and being repaired.
    package var isRecovering: Bool { carriages.recovery?.isRecovering ?? false }
    /// This end has asked for the other's audio on the line beside the path.
    package var isBridgeAsked: Bool { carriages.recovery?.isBridgeAsked ?? false }
    /// How long the silence that lasts may be before the path is suspected; nil while it is not watched.
    package var suspicionThreshold: Nanoseconds? { carriages.recovery?.suspicionThreshold }
    /// The newest outages of the path, in order, the one that lasts included.
    package var outages: [Outage] { carriages.recovery?.figures.outages ?? [] }
    /// The line has said and written its last: the owner shuts the stream down once the stream has taken all of it.
    package var isLineFinished: Bool {
        mutating get { carriages.isLineFinished }
    }
}

// MARK: - Inputs

extension ServerCall {
    package mutating func receiveLine(_ bytes: borrowing RawSpan, now: Instant) {
        carriages.noteInput(now: now)
        carriages.line?.receive(bytes, now: now)
        settle(now: now)
    }

    package mutating func lineEnded(now: Instant) {
        carriages.noteInput(now: now)
        carriages.line?.peerClosed(now: now)
        settle(now: now)
    }

    /// The upgrade is granted.
    package mutating func accept(now: Instant) {
        carriages.line?.accept(now: now)
        policy.upgraded(now: now)
        settle(now: now)
    }

    /// The upgrade is refused; the line is finished behind that.
    package mutating func refuse(_ refusal: LineRefusal, now: Instant) {
        carriages.line?.refuse(refusal, now: now)
        policy.lineClosed(isPathLost: false, now: now)
        settle(now: now)
    }

    /// The call of hello is taken: welcome goes out, with an answer to the offer where there is one.
    package mutating func welcome(session: String, now: Instant) {
        guard let hello, !isWelcomed, state == .connecting else { return }
        guard let audio = hello.audio, let payloadType = audio.opusPayloadType else {
            return reject(.noCommonCodec, now: now)
        }
        var welcome = ControlMessage.Welcome(session: session)
        welcome.callAudio = (configuration.isStandard ? CallAudio.standard : .auto).rawValue
        welcome.audio = ControlMessage.AudioDescription(opus: payloadType, ssrc: ssrc)
        welcome.livenessMilliseconds = 100
        carriages.media.setPayloadType(payloadType)
        if !configuration.isStandard, let offer = hello.webrtc { answer(offer, in: &welcome, now: now) }
        carriages.sendsOnLineEarly = welcome.webrtc == nil
        isWelcomed = true
        send(.welcome(welcome))
        policy.welcomed(now: now)
        settle(now: now)
    }

    /// The call is not taken.
    package mutating func reject(_ rejection: CallRejection, now: Instant) {
        policy.reject(rejection, now: now)
        settle(now: now)
    }

    /// A datagram of this call's came on `path`; `packet` is consumed or decrypted in place.
    package mutating func receive(_ packet: inout Packet, path: NetworkPath, now: Instant) {
        carriages.noteInput(now: now)
        if carriages.receiveDatagram(&packet, path: path, now: now) { policy.heard(on: .webrtc, now: now) }
        settle(now: now)
    }

    /// Sends an application's message; false before welcome, after the end and while too much waits.
    package mutating func send(message: [UInt8], now: Instant) -> Bool {
        guard isWelcomed, state != .ended, carriages.queuedLineBytes + message.count <= limits.queuedLineBytes else {
            return false
        }
        carriages.noteInput(now: now)
        return carriages.line?.sendText(message) ?? false
    }

    package mutating func hangUp(now: Instant) {
        carriages.noteInput(now: now)
        policy.hangUp(now: now)
        settle(now: now)
    }

    /// The endpoint goes away: bye and 1001 to a client that was welcomed, 4503 to one that was not.
    package mutating func goAway(now: Instant) {
        carriages.noteInput(now: now)
        policy.goAway(now: now)
        settle(now: now)
    }

    package mutating func fail(_ message: String, now: Instant) {
        carriages.noteInput(now: now)
        policy.fail(message, now: now)
        settle(now: now)
    }

    package mutating func handleTimeout(now: Instant) {
        carriages.noteInput(now: now)
        carriages.handleTimeout(now: now)
        policy.handleTimeout(now: now)
        settle(now: now)
    }
}

// MARK: - Outputs

extension ServerCall {
    package mutating func pollTransmit(into packet: inout Packet, now: Instant) -> Transmit? {
        carriages.pollTransmit(into: &packet, now: now)
    }

    package mutating func pollEvent() -> Event? { events.isEmpty ? nil : events.removeFirst() }

    package var nextDeadline: Instant {
        mutating get { min(policy.readDeadline(), carriages.nextDeadline) }
    }
}

// MARK: - Inside

extension ServerCall {
    mutating func send(_ message: ControlMessage) { carriages.send(message) }

    mutating func settle(now: Instant) {
        pumpLine(now: now)
        pumpPath(now: now)
        pumpRecovery(now: now)
        applyEffects(now: now)
        // Closing a line that was not open yet has made its last event at once.
        pumpLine(now: now)
        if state != reported {
            reported = state
            events.append(.stateChanged(reported))
        }
    }

    mutating func pumpPath(now: Instant) {
        while let event = carriages.path?.pollEvent() {
            switch event {
            case .completed:
                if carriages.takeParkedMedia(now: now) { policy.heard(on: .webrtc, now: now) }
            case .closedByPeer: policy.pathClosedByPeer(now: now)
            case .checkWanted: send(.check)
            case .ufragsChanged: events.append(.ufragsChanged)
            case .restarted: carriages.recovery?.restarted(now: now)
            case .selected, .answered, .selectedPathLost, .candidateFound: break
            }
        }
        carriages.sendFlights(as: localMedia?.ufrag)
        if carriages.evidence?.isLost == true {
            if carriages.recovery?.hasOutage == false { carriages.recovery?.suspect(.consent, now: now) }
            if !hasAskedForRestart, carriages.recovery != nil {
                hasAskedForRestart = true
                askForRestart()
            }
        } else {
            hasAskedForRestart = false
        }
    }

    mutating func pumpRecovery(now: Instant) {
        while let news = carriages.pollRecovery(epoch: policy.epoch, now: now) {
            switch news {
            case .recoveringChanged(let isOn): events.append(.recoveringChanged(isOn))
            // With a line the client chooses what comes next; without one nothing carries this call any more.
            case .windowEnded: policy.recoveryWindowEnded(now: now)
            case .socketsWanted, .socketsSettled: break
            }
        }
    }

    /// No check of the client's is good any more: only a restart brings the path back.
    mutating func askForRestart() {
        guard carriages.readPath({ $0.selectedPath }) == nil, carriages.isPathSecured else { return }
        send(.restartNeeded)
    }

    mutating func applyEffects(now: Instant) {
        while let effect = policy.pollEffect() {
            switch effect {
            case .selected(let epoch, let heard):
                if let transport = policy.transport, transport != carriages.inForce {
                    carriages.select(transport, now: now)
                    events.append(.transportChanged(transport, policy.fallback))
                }
                send(.selected(ControlMessage.Selected(epoch: UInt32(clamping: epoch), heard: heard)))
            case .closePath: carriages.closePath(now: now)
            case .activated: carriages.activate(now: now)
            case .transportChanged: break
            case .reject(let rejection):
                send(.error(ControlMessage.LineError(code: rejection.code, message: rejection.message)))
                carriages.line?.close(code: CloseCode(rawValue: rejection.closeCode), reason: rejection.code, now: now)
            case .ended(let outcome, let bye): end(outcome, bye: bye, now: now)
            }
        }
    }

    mutating func end(_ outcome: CallOutcome, bye: ServerPolicy.Bye?, now: Instant) {
        if let bye, isWelcomed {
            switch bye {
            case .server: send(.bye(ControlMessage.Bye(by: "server")))
            case .goingAway: send(.bye(ControlMessage.Bye(by: "server", message: CallMessage.goingAway)))
            case .failure(let message): send(.bye(ControlMessage.Bye(by: "failure", message: message)))
            }
        }
        carriages.line?.close(code: bye == .goingAway ? .goingAway : .normal, now: now)
        carriages.end(now: now, isFailure: outcome.isFailure)
        events.append(.ended(outcome))
    }
}
