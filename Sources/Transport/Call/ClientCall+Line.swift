import ICELite
import TransportLine
import TransportMedia

// What the client says and hears on its line.

extension ClientCall {
    mutating func sendHello(now: Instant) {
        var hello = ControlMessage.Hello(callID: configuration.callID)
        hello.preference = configuration.wanted.rawValue
        hello.transports = certificate == nil ? ["websocket"] : ["webrtc", "websocket"]
        hello.client = ControlMessage.ClientDescription(sdk: "graine-transport", version: TransportVersion.current)
        hello.audio = ControlMessage.AudioDescription(opus: .defaultOpus, ssrc: ssrc)
        hello.livenessMilliseconds = 100
        hello.webrtc = localMedia.map {
            ControlMessage.WebRTC(sdp: SessionDescription.makeOffer(describing($0)), dtls: offeredHello)
        }
        offeredHello = []
        send(.hello(hello))
        timings.hello = now
        policy.helloSent(now: now)
    }

    mutating func pumpLine(now: Instant) {
        while let event = carriages.line?.pollEvent() {
            switch event {
            case .opened:
                timings.upgraded = now
                carriages.line?.setWatch(.setUp, now: now)
                sendHello(now: now)
            case .text(let range): handle(text: carriages.lineBytes(range), now: now)
            case .binary(let range):
                if carriages.receiveLinePacket(range, now: now) { heard(on: .websocket, now: now) }
            case .textTooLarge:
                let code = LineErrorCode.messageTooLarge.rawValue
                send(.error(ControlMessage.LineError(code: code, message: "a message is too large")))
            case .refused(let refusal):
                self.refusal = refusal
                policy.lineRefused(
                    refusal.status == nil ? refusal.message : CallMessage.refused(status: refusal.status), now: now)
            case .closed(let code, let reason): lineClosed(code: code, reason: reason, now: now)
            case .upgradeRequested: break
            }
        }
        carriages.noteLineRead(now: now)
    }

    func isRefusal(_ code: UInt16) -> Bool { timings.welcome == nil && LineClose.rejections.contains(code) }

    mutating func lineClosed(code: UInt16?, reason: String, now: Instant) {
        // What the server asked for on it cannot be taken back any more, nor given.
        carriages.peerBridge(false, now: now)
        if let code, isRefusal(code) {
            refusal = LineRefusal(closeCode: code) ?? LineRefusal(code: .refused, status: Int(code), message: reason)
            return policy.lineRefused(CallMessage.refused(status: Int(code)), now: now)
        }
        lineClose = LineClose(code: code ?? CloseCode.noStatus.rawValue, reason: reason)
        if let code, LineClose.rejections.contains(code) {
            let message = CallMessage.lineRejected(code: code, reason: reason, detail: lastError)
            return policy.lineRefused(message, now: now)
        }
        policy.lineClosed(now: now)
    }

    mutating func handle(text: [UInt8], now: Instant) {
        let decoded: ControlMessage.Decoded
        do throws(ControlMessageError) {
            decoded = try ControlMessage.decode(text)
        } catch {
            // The server's fault costs it the message, not the call.
            ignoredMessages += 1
            return
        }
        switch decoded {
        case .application:
            guard timings.welcome != nil, events.count < limits.queuedMessages else { return ignoredMessages += 1 }
            events.append(.message(text))
        case .unknownTransport: ignoredMessages += 1
        case .transport(let message): handle(message, now: now)
        }
    }

    mutating func handle(_ message: ControlMessage, now: Instant) {
        switch message {
        case .welcome(let welcome): handle(welcome, now: now)
        case .candidate(let candidate): handle(candidate, now: now)
        case .restarted(let answer): handle(restarted: answer, now: now)
        case .restartNeeded:
            carriages.recovery?.suspect(.consent, now: now)
            restartPlan.want(now: now)
        case .bridge(let bridge):
            if !carriages.peerBridge(bridge.on, now: now) { ignoredMessages += 1 }
        case .check: carriages.path?.checkNow(now: now)
        case .selected(let selected):
            policy.acknowledged(epoch: Int(selected.epoch), heard: selected.heard, now: now)
            if carriages.recovery?.hasOutage != true {
                let watch: LineWatch = state == .active ? .calm : .setUp
                carriages.line?.setWatch(watch, now: now)
            }
        case .fallback(let request):
            policy.serverRequestedWebSocket(
                word: [request.word, request.detail].filter { !$0.isEmpty }.joined(separator: ": "), now: now)
        case .bye(let bye): policy.byeReceived(isFailure: bye.by == "failure", message: bye.message, now: now)
        case .error(let error): lastError = error.message
        case .dtls(let flights): if !carriages.takeFlights(flights, now: now) { ignoredMessages += 1 }
        case .hello, .select, .restart, .flush, .flushed, .mark, .marked, .ack:
            ignoredMessages += 1
        }
    }

    mutating func handle(_ welcome: ControlMessage.Welcome, now: Instant) {
        guard timings.welcome == nil, state == .connecting else { return ignoredMessages += 1 }
        timings.welcome = now
        if let payloadType = welcome.audio?.opusPayloadType { carriages.media.setPayloadType(payloadType) }
        carriages.peerLiveness = welcome.livenessMilliseconds.map { .milliseconds(Int64(clamping: $0)) }
        let worth = applyAnswer(welcome, now: now)
        if worth == .answer { wantServers(welcome.iceServers.flatMap(\.urls).compactMap(STUNServer.init(url:))) }
        policy.welcomed(worth, now: now)
    }

    /// Starts the media path by welcome's answer, and says what the answer is worth.
    mutating func applyAnswer(_ welcome: ControlMessage.Welcome, now: Instant) -> ClientPolicy.WelcomePath {
        if welcome.callAudio == CallAudio.standard.rawValue { return .standard }
        if let declined = welcome.webrtcDeclined {
            return .declined(word: declined.word, detail: declined.detail.isEmpty ? nil : declined.detail)
        }
        guard let answer = welcome.webrtc, let localMedia else { return .none }
        do {
            let media = try RemoteMedia(answer: answer.sdp, to: localMedia)
            carriages.apply(media)
            try carriages.setRemote(
                try RemotePathDescription(media), flight: answer.dtls, after: timings.hello.map { now - $0 }, now: now)
            return .answer
        } catch {
            return .unusable("\(error)")
        }
    }
}
