import ICELite
import Testing
import Transport

@Suite("Client policy") struct ClientPolicyTests {
    typealias Effect = ClientPolicy.Effect

    private func at(_ milliseconds: Int64) -> Instant { Instant.zero + .milliseconds(milliseconds) }

    private func opened(
        _ wanted: CallTransport = .auto, standard: Bool = false, hasMediaPath: Bool = true,
        recovery: RecoveryPolicy = .continueOnWebSocket
    ) -> ClientPolicy {
        var policy = ClientPolicy(
            wanted: wanted, standard: standard, hasMediaPath: hasMediaPath, recovery: recovery,
            limits: TransportLimits())
        policy.start(now: .zero)
        policy.helloSent(now: at(10))
        policy.lineHeardAt = at(20)
        return policy
    }

    private func effects(_ policy: inout ClientPolicy) -> [Effect] {
        var effects: [Effect] = []
        while let effect = policy.pollEffect() { effects.append(effect) }
        return effects
    }

    private func withMedia(at time: Instant) -> PathEvidence {
        var evidence = PathEvidence()
        evidence.pairs = 1
        evidence.firstAnswerAt = at(30)
        evidence.keysAt = at(40)
        evidence.firstMediaAt = time
        return evidence
    }

    private func activeOnWebRTC(recovery: RecoveryPolicy = .continueOnWebSocket) -> ClientPolicy {
        var policy = opened(recovery: recovery)
        policy.welcomed(.answer, now: at(20))
        policy.pathChanged(withMedia(at: at(50)), now: at(50))
        policy.acknowledged(epoch: 1, heard: true, now: at(60))
        _ = effects(&policy)
        return policy
    }

    @Test("The patience with the uplink, too, waits until what came meanwhile is read, once")
    func standstillAfterTheSelect() {
        var policy = opened()
        policy.welcomed(.answer, now: at(20))
        policy.pathChanged(withMedia(at: at(50)), now: at(50))
        #expect(policy.transport == .webrtc)
        // The process is stopped; `selected.heard` waits in the socket.
        policy.handleTimeout(now: at(5_000))
        #expect(policy.nextDeadline == at(5_100))
        var unheard = policy
        policy.acknowledged(epoch: 1, heard: true, now: at(5_001))
        #expect(policy.transport == .webrtc && policy.fallback == nil && policy.callState == .active)
        unheard.handleTimeout(now: at(5_100))
        #expect(unheard.transport == .websocket && unheard.fallback?.reason == .mediaTimeout)
        // The line's patience with its first audio likewise; whatever is noticed in time ends in time.
        unheard.handleTimeout(now: at(22_000))
        #expect(unheard.callState == .connecting && unheard.nextDeadline == at(22_100))
        unheard.handleTimeout(now: at(22_100))
        #expect(unheard.callState == .ended)
    }

    @Test("A patience that ran out while the process stood still waits until what came meanwhile is read")
    func standstill() {
        var evidence = PathEvidence()
        evidence.pairs = 1
        evidence.checksSent = 1
        evidence.remoteIsComplete = true
        evidence.lastPairAt = at(20)
        func slept(until wake: Int64) -> ClientPolicy {
            var policy = opened()
            policy.welcomed(.answer, now: at(20))
            policy.pathChanged(evidence, now: at(20))
            policy.lineHeardAt = at(wake)
            policy.handleTimeout(now: at(wake))
            return policy
        }
        // Its patience is over at 3,020 ms: a timer that is a second late is a busy machine's.
        let late = slept(until: 4_020)
        #expect(late.transport == .websocket)
        var asleep = slept(until: 4_021)
        #expect(effects(&asleep).isEmpty && asleep.nextDeadline == at(4_121))
        var read = asleep
        read.pathChanged(withMedia(at: at(4_030)), now: at(4_030))
        #expect(effects(&read) == [.select(epoch: 1, transport: .webrtc, fallback: nil, isRepeat: false)])
        asleep.handleTimeout(now: at(4_121))
        #expect(asleep.transport == .websocket)
        // What came is read behind the budget, too: the reason is to be true.
        var longer = slept(until: 13_500)
        #expect(longer.transport == nil && longer.nextDeadline == at(13_600))
        longer.handleTimeout(now: at(13_600))
        #expect(longer.transport == .websocket)
    }

    @Test("The first packet that decodes selects WebRTC; active needs the server to have heard us")
    func webrtc() {
        var policy = opened()
        policy.welcomed(.answer, now: at(20))
        #expect(effects(&policy).isEmpty)
        policy.pathChanged(withMedia(at: at(50)), now: at(50))
        #expect(effects(&policy) == [.select(epoch: 1, transport: .webrtc, fallback: nil, isRepeat: false)])
        #expect(policy.callState == .connecting)
        policy.acknowledged(epoch: 1, heard: false, now: at(60))
        #expect(policy.callState == .connecting)
        policy.acknowledged(epoch: 1, heard: true, now: at(70))
        #expect(effects(&policy) == [.activated(.webrtc)])
        #expect(policy.callState == .active)
        #expect(policy.transport == .webrtc)
        #expect(policy.fallback == nil)
    }

    @Test("Not heard within 2 s of the select: the WebSocket, media_timeout, uplink")
    func uplink() {
        var policy = opened()
        policy.welcomed(.answer, now: at(20))
        policy.pathChanged(withMedia(at: at(50)), now: at(50))
        policy.acknowledged(epoch: 1, heard: false, now: at(60))
        _ = effects(&policy)
        #expect(policy.nextDeadline == at(2_050))
        policy.handleTimeout(now: at(2_049))
        #expect(effects(&policy).isEmpty)
        policy.handleTimeout(now: at(2_050))
        #expect(policy.transport == .websocket)
        #expect(policy.fallback?.reason == .mediaTimeout)
        #expect(policy.fallback?.stage == .uplink)
        #expect(policy.epoch == 2)
    }

    @Test(
        "What welcome says of the path decides at once",
        arguments: [
            (ClientPolicy.WelcomePath.none, TransportFallbackReason.serverUnsupported),
            (.declined(word: "busy", detail: nil), .serverDeclined), (.unusable("no fingerprint"), .answerInvalid),
        ])
    func welcome(path: ClientPolicy.WelcomePath, reason: TransportFallbackReason) {
        var policy = opened()
        policy.welcomed(path, now: at(20))
        #expect(policy.transport == .websocket)
        #expect(policy.fallback?.reason == reason)
        #expect(policy.fallback?.elapsed == .milliseconds(10))
        #expect(effects(&policy).last == .closePath)
    }

    @Test("Standard: a reason only where WebRTC was asked for by name")
    func standard() {
        var auto = opened(.auto)
        auto.welcomed(.standard, now: at(20))
        #expect(auto.transport == .websocket)
        #expect(auto.fallback == nil)
        var asked = opened(.webrtc)
        asked.welcomed(.standard, now: at(20))
        #expect(asked.fallback?.reason == .agentStandard)
        var known = opened(.webrtc, standard: true)
        #expect(!known.offersMediaPath)
        known.welcomed(.none, now: at(20))
        #expect(known.fallback?.reason == .agentStandard)
        var missing = opened(.webrtc, hasMediaPath: false)
        missing.welcomed(.none, now: at(20))
        #expect(missing.fallback?.reason == .moduleMissing)
    }

    @Test("Preference websocket has no reason, and fails 15 s after its select when nobody is heard")
    func websocket() {
        var policy = opened(.websocket)
        #expect(!policy.offersMediaPath)
        policy.welcomed(.none, now: at(20))
        #expect(policy.fallback == nil)
        policy.acknowledged(epoch: 1, heard: false, now: at(30))
        _ = effects(&policy)
        #expect(policy.nextDeadline == at(15_020))
        policy.handleTimeout(now: at(15_020))
        #expect(
            effects(&policy) == [
                .ended(
                    .failed(message: "The call did not become active in time."),
                    bye: .failure("The call did not become active in time."))
            ])
    }

    @Test("No welcome within 15 s of start: failed, with the published words")
    func lineBudget() {
        var policy = opened()
        #expect(policy.nextDeadline == at(15_000))
        policy.handleTimeout(now: at(15_000))
        let words = "The conversation did not open within 15 seconds."
        #expect(effects(&policy) == [.ended(.failed(message: words), bye: .failure(words))])
        policy.welcomed(.answer, now: at(15_001))
        #expect(effects(&policy).isEmpty)
    }

    @Test("A late success after the choice changes nothing")
    func lateSuccess() {
        var policy = opened()
        policy.welcomed(.unusable("x"), now: at(20))
        _ = effects(&policy)
        policy.pathChanged(withMedia(at: at(50)), now: at(50))
        policy.heard(on: .webrtc, now: at(50))
        #expect(effects(&policy).isEmpty)
        #expect(policy.transport == .websocket)
    }

    @Test("An answer to an older epoch is nothing to this one")
    func staleAnswer() {
        var policy = opened()
        policy.welcomed(.answer, now: at(20))
        policy.pathChanged(withMedia(at: at(50)), now: at(50))
        policy.handleTimeout(now: at(2_050))
        policy.acknowledged(epoch: 1, heard: true, now: at(2_060))
        policy.heard(on: .websocket, now: at(2_070))
        #expect(policy.callState == .connecting)
        policy.acknowledged(epoch: 2, heard: true, now: at(2_080))
        #expect(policy.callState == .active)
    }

    @Test("A select that is not acknowledged is sent once more after 2 s, then no more")
    func repeated() {
        var policy = opened(.websocket)
        policy.welcomed(.none, now: at(20))
        _ = effects(&policy)
        #expect(policy.nextDeadline == at(2_020))
        policy.handleTimeout(now: at(2_020))
        #expect(effects(&policy) == [.select(epoch: 1, transport: .websocket, fallback: nil, isRepeat: true)])
        policy.handleTimeout(now: at(4_020))
        #expect(effects(&policy).isEmpty)
        #expect(policy.nextDeadline == at(15_020))
    }

    @Test("A hang-up wins in every state and is said once")
    func hangUp() {
        var policies = [opened(), activeOnWebRTC()]
        var negotiating = opened()
        negotiating.welcomed(.answer, now: at(20))
        policies.append(negotiating)
        negotiating.pathChanged(withMedia(at: at(50)), now: at(50))
        _ = effects(&negotiating)
        policies.append(negotiating)
        for var policy in policies {
            policy.hangUp(now: at(100))
            #expect(effects(&policy) == [.ended(.ended(.local), bye: .client)])
            policy.hangUp(now: at(101))
            policy.byeReceived(isFailure: false, message: nil, now: at(102))
            policy.lineClosed(now: at(103))
            policy.handleTimeout(now: at(60_000))
            #expect(effects(&policy).isEmpty)
            #expect(policy.nextDeadline == .never)
        }
    }

    @Test("A path lost mid-call: it continues on the line, or the call ends, as the policy says")
    func pathLost() {
        var lost = withMedia(at: at(50))
        lost.isLost = true
        var goesOn = activeOnWebRTC()
        goesOn.lineHeardAt = at(20_000)
        goesOn.pathChanged(lost, now: at(20_000))
        #expect(goesOn.transport == .webrtc, "consent alone decides nothing: the window does")
        goesOn.lineHeardAt = at(18_000)
        goesOn.recoveryWindowEnded(now: at(20_000))
        #expect(goesOn.callState == .active)
        #expect(goesOn.transport == .websocket)
        #expect(goesOn.fallback?.reason == .recoveryFailed)
        #expect(
            effects(&goesOn).contains {
                if case .transportChanged(.webrtc, .websocket, _) = $0 { true } else { false }
            })
        var ends = activeOnWebRTC(recovery: .endCall)
        ends.lineHeardAt = at(20_000)
        ends.recoveryWindowEnded(now: at(20_000))
        #expect(ends.callState == .ended)
        #expect(ends.ending?.transport == .webrtc)
        #expect(ends.ending?.fallback == nil)
        // A line that has said nothing for 2 s carries nothing either.
        var silent = activeOnWebRTC()
        silent.lineHeardAt = at(17_999)
        silent.recoveryWindowEnded(now: at(20_000))
        #expect(silent.callState == .ended)
    }

    @Test("The line lost: a call on WebRTC lives on for 30 s, one on the WebSocket ends, one that connects fails")
    func lineLost() {
        var webrtc = activeOnWebRTC()
        webrtc.lineClosed(now: at(1_000))
        #expect(webrtc.callState == .active)
        #expect(webrtc.nextDeadline == at(31_000))
        webrtc.handleTimeout(now: at(31_000))
        #expect(effects(&webrtc) == [.ended(.ended(.failed(message: "The line was lost.")), bye: nil)])
        var connecting = opened()
        connecting.lineClosed(now: at(1_000))
        #expect(
            effects(&connecting) == [
                .ended(.failed(message: "The line closed before the call connected."), bye: nil)
            ])
    }

    @Test("A path the server closed: with the line gone, whichever comes first, or after 3 s, it is a hang-up")
    func pathClosed() {
        var policy = activeOnWebRTC()
        policy.pathClosedByPeer(now: at(100))
        #expect(policy.callState == .active && policy.nextDeadline == at(3_100))
        var silent = policy
        policy.lineClosed(now: at(110))
        #expect(effects(&policy) == [.ended(.ended(.remote), bye: nil)])
        silent.handleTimeout(now: at(3_099))
        #expect(silent.callState == .active)
        silent.handleTimeout(now: at(3_100))
        #expect(effects(&silent) == [.ended(.ended(.remote), bye: .client)])
        var other = activeOnWebRTC()
        other.lineClosed(now: at(100))
        other.pathClosedByPeer(now: at(110))
        #expect(effects(&other) == [.ended(.ended(.remote), bye: nil)])
        var moved = activeOnWebRTC()
        moved.pathClosedByPeer(now: at(100))
        moved.serverRequestedWebSocket(word: "drain", now: at(110))
        moved.handleTimeout(now: at(3_100))
        #expect(moved.transport == .websocket)
    }

    @Test("A line closed by the server's own code ends the call with that reason, in every state")
    func rejected() {
        var active = activeOnWebRTC()
        active.lineRefused("why", now: .zero)
        #expect(effects(&active) == [.ended(.ended(.failed(message: "why")), bye: nil)])
        var connecting = opened()
        connecting.welcomed(.answer, now: at(20))
        connecting.lineRefused("why", now: .zero)
        #expect(effects(&connecting) == [.ended(.failed(message: "why"), bye: nil)])
    }

    @Test("The server may ask for the WebSocket; under endCall never once active")
    func serverRequest() {
        var active = activeOnWebRTC(recovery: .endCall)
        active.serverRequestedWebSocket(word: "drain", now: at(100))
        #expect(active.transport == .webrtc)
        var free = activeOnWebRTC()
        free.serverRequestedWebSocket(word: "drain", now: at(100))
        #expect(free.fallback?.reason == .serverRequested)
        #expect(free.fallback?.detail == "drain")
    }
}
