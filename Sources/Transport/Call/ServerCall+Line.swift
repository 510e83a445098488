import ICELite
import TransportLine
import TransportMedia

// What the endpoint says and hears on a call's line.

extension ServerCall {
    mutating func answer(_ webrtc: ControlMessage.WebRTC, in welcome: inout ControlMessage.Welcome, now: Instant) {
        if let word = configuration.declineWord {
            welcome.webrtcDeclined = ControlMessage.Declined(word: word)
            return
        }
        guard let certificate else {
            welcome.webrtcDeclined = ControlMessage.Declined(word: "disabled", detail: "no certificate")
            return
        }
        do {
            let offer = try RemoteMedia(offer: webrtc.sdp)
            let credentials = ICECredentials.random(using: &randomness)
            var local = LocalMedia(
                ufrag: credentials.ufrag, password: credentials.password, isLite: true,
                fingerprint: certificate.fingerprint.attribute, ssrc: ssrc, cname: String(ssrc.rawValue, radix: 36),
                sessionID: randomness.next() >> 2)
            for (index, address) in configuration.announced.enumerated() {
                local.candidates.append(
                    ICECandidate(host: address, localPreference: UInt16(clamping: 65_535 - index)).attribute)
            }
            local.endOfCandidates = true
            let answer = try SessionDescription.makeAnswer(to: offer, local)
            var path = try MediaPath(
                lite: credentials, remote: RemotePathDescription(offer), certificate: certificate,
                localSSRC: ssrc.rawValue, options: configuration.handshake,
                randomness: randomness.split("ice"), asksForAdmission: configuration.asksForAdmission, now: now)
            let flight = try path.answerHello(webrtc.dtls, now: now)
            carriages.path = consume path
            carriages.apply(offer)
            localMedia = local
            events.append(.ufragsChanged)
            welcome.webrtc = ControlMessage.WebRTC(sdp: answer, dtls: flight)
        } catch {
            welcome.webrtcDeclined = ControlMessage.Declined(word: "offer_invalid", detail: "\(error)")
        }
    }

    mutating func pumpLine(now: Instant) {
        while let event = carriages.line?.pollEvent() {
            switch event {
            case .upgradeRequested(let request): events.append(.upgradeRequested(request))
            case .opened: break
            case .text(let range): handle(text: carriages.lineBytes(range), now: now)
            case .binary(let range):
                if hello == nil {
                    policy.reject(.badOrder("audio before hello"), now: now)
                } else if carriages.receiveLinePacket(range, now: now) {
                    policy.heard(on: .websocket, now: now)
                }
            case .textTooLarge:
                let code = LineErrorCode.messageTooLarge.rawValue
                send(.error(ControlMessage.LineError(code: code, message: "a message is too large")))
            case .closed, .refused:
                carriages.peerBridge(false, now: now)
                policy.lineClosed(isPathLost: carriages.recovery?.isWindowOver ?? false, now: now)
            }
        }
    }

    mutating func handle(text: [UInt8], now: Instant) {
        let decoded: ControlMessage.Decoded
        do throws(ControlMessageError) {
            decoded = try ControlMessage.decode(text)
        } catch {
            return policy.reject(.badMessage(error.description), now: now)
        }
        switch decoded {
        case .application:
            guard isWelcomed else {
                return policy.reject(.badOrder("an application's message before welcome"), now: now)
            }
            guard events.count < limits.queuedMessages else { return ignoredMessages += 1 }
            events.append(.message(text))
        case .unknownTransport: if hello == nil { policy.reject(.badOrder("a message before hello"), now: now) }
        case .transport(let message): handle(message, now: now)
        }
    }

    mutating func handle(_ message: ControlMessage, now: Instant) {
        switch message {
        case .hello(let hello):
            guard self.hello == nil else { return policy.reject(.badOrder("a second hello"), now: now) }
            guard hello.version == 1 else { return policy.reject(.badVersion, now: now) }
            guard (1...256).contains(hello.callID.utf8.count) else {
                return policy.reject(.badMessage("call_id has 1…256 bytes"), now: now)
            }
            self.hello = hello
            carriages.peerLiveness = hello.livenessMilliseconds.map { .milliseconds(Int64(clamping: $0)) }
            events.append(.helloReceived(callID: hello.callID))
        case _ where hello == nil: policy.reject(.badOrder("a message before hello"), now: now)
        case .select(let select):
            guard let transport = TransportKind(rawValue: select.transport) else {
                return policy.reject(.badMessage("select names an unknown transport"), now: now)
            }
            // Nothing would come of it but a wait for the connecting budget's end.
            if transport == .webrtc, isWelcomed, localMedia == nil {
                return policy.reject(.badOrder("select webrtc without an answer to an offer"), now: now)
            }
            policy.select(
                epoch: Int(select.epoch), transport: transport, fallback: select.fallback?.fallback, now: now)
        case .bye(let bye): policy.byeReceived(isFailure: bye.by == "failure", message: bye.message, now: now)
        // A lite end needs no candidates of the peer's: its checks bring them.
        case .candidate: break
        case .restart(let restart): answer(restart, now: now)
        case .dtls(let flights): if !carriages.takeFlights(flights, now: now) { ignoredMessages += 1 }
        case .bridge(let bridge):
            #if MUTANTS
            if Mutant.current == .bridgeNotStarted { return }
            #endif
            if !carriages.peerBridge(bridge.on, now: now) { ignoredMessages += 1 }
            if bridge.on { askForRestart() }
        case .welcome, .selected, .fallback, .error, .restarted, .restartNeeded, .check, .flush,
            .flushed, .mark, .marked, .ack:
            ignoredMessages += 1
        }
    }
}
