import ICELite
import Testing
import Transport

@Suite("Server policy") struct ServerPolicyTests {
    private func at(_ milliseconds: Int64) -> Instant { Instant.zero + .milliseconds(milliseconds) }

    private func welcomed() -> ServerPolicy {
        var policy = ServerPolicy(limits: TransportLimits(), now: .zero)
        policy.welcomed(now: at(10))
        return policy
    }

    private func effects(_ policy: inout ServerPolicy) -> [ServerPolicy.Effect] {
        var effects: [ServerPolicy.Effect] = []
        while let effect = policy.pollEffect() { effects.append(effect) }
        return effects
    }

    @Test("It obeys the select, and is active once it heard the client there")
    func obeys() {
        var policy = welcomed()
        policy.heard(on: .webrtc, now: at(15))
        #expect(policy.callState == .connecting)
        policy.select(epoch: 1, transport: .webrtc, fallback: nil, now: at(20))
        #expect(effects(&policy) == [.selected(epoch: 1, heard: false)])
        policy.heard(on: .websocket, now: at(25))
        #expect(effects(&policy).isEmpty)
        policy.heard(on: .webrtc, now: at(30))
        #expect(effects(&policy) == [.selected(epoch: 1, heard: true), .activated(.webrtc)])
    }

    @Test("An old epoch is acknowledged again with what is in force, and not obeyed")
    func staleEpoch() {
        var policy = welcomed()
        policy.select(epoch: 2, transport: .websocket, fallback: nil, now: at(20))
        _ = effects(&policy)
        policy.select(epoch: 2, transport: .webrtc, fallback: nil, now: at(30))
        policy.select(epoch: 1, transport: .webrtc, fallback: nil, now: at(31))
        #expect(effects(&policy) == [.selected(epoch: 2, heard: false), .selected(epoch: 2, heard: false)])
        #expect(policy.transport == .websocket)
        #expect(policy.staleSelects == 2)
    }

    @Test("WebRTC after the WebSocket breaks the protocol")
    func backAgain() {
        var policy = welcomed()
        policy.select(epoch: 1, transport: .websocket, fallback: nil, now: at(20))
        _ = effects(&policy)
        policy.select(epoch: 2, transport: .webrtc, fallback: nil, now: at(30))
        let effects = effects(&policy)
        #expect(effects.first == .reject(.badOrder("select webrtc after select websocket")))
        #expect(policy.callState == .ended)
    }

    @Test("No hello in 5 s: 4408; no select in 20 s: the call ends; not active in time: failed")
    func timeouts() {
        var silent = ServerPolicy(limits: TransportLimits(), now: .zero)
        #expect(silent.nextDeadline == at(5_000))
        silent.handleTimeout(now: at(4_999))
        #expect(effects(&silent).isEmpty)
        silent.handleTimeout(now: at(5_000))
        #expect(effects(&silent).first == .reject(.helloTimeout))
        #expect(CallRejection.helloTimeout.closeCode == 4408)

        var undecided = welcomed()
        #expect(undecided.nextDeadline == at(20_010))
        undecided.handleTimeout(now: at(20_010))
        #expect(undecided.callState == .ended)

        var mute = welcomed()
        mute.select(epoch: 1, transport: .websocket, fallback: nil, now: at(20))
        #expect(mute.nextDeadline == at(15_020))
        mute.handleTimeout(now: at(15_020))
        #expect(mute.callState == .ended)
    }

    @Test("Hello is due 5 s after the upgrade, the upgrade 5 s after the connection")
    func hello() {
        var policy = ServerPolicy(limits: TransportLimits(), now: .zero)
        policy.upgraded(now: at(4_000))
        #expect(policy.nextDeadline == at(9_000))
        policy.handleTimeout(now: at(9_000))
        #expect(effects(&policy).first == .reject(.helloTimeout))
    }

    @Test("A hang-up from either end is final")
    func hangUp() {
        var policy = welcomed()
        policy.hangUp(now: at(20))
        #expect(effects(&policy) == [.ended(.ended(.local), bye: .server)])
        policy.byeReceived(isFailure: false, message: nil, now: at(21))
        policy.select(epoch: 1, transport: .webrtc, fallback: nil, now: at(22))
        #expect(effects(&policy).isEmpty)
        var other = welcomed()
        other.byeReceived(isFailure: false, message: nil, now: at(20))
        #expect(effects(&other) == [.ended(.ended(.remote), bye: nil)])
    }

    private func activeOnWebRTC() -> ServerPolicy {
        var policy = welcomed()
        policy.select(epoch: 1, transport: .webrtc, fallback: nil, now: at(20))
        policy.heard(on: .webrtc, now: at(30))
        _ = effects(&policy)
        return policy
    }

    @Test("With the line lost a call on WebRTC ends by close_notify, whichever comes first, or after 30 s")
    func lineLost() {
        var policy = activeOnWebRTC()
        policy.lineClosed(now: at(50))
        #expect(policy.nextDeadline == at(30_050))
        policy.pathClosedByPeer(now: at(60))
        #expect(effects(&policy) == [.ended(.ended(.remote), bye: nil)])
        var before = activeOnWebRTC()
        before.pathClosedByPeer(now: at(40))
        #expect(before.callState == .active)
        before.lineClosed(now: at(50))
        #expect(effects(&before) == [.ended(.ended(.remote), bye: nil)])
        var other = activeOnWebRTC()
        other.lineClosed(now: at(50))
        other.handleTimeout(now: at(30_050))
        #expect(effects(&other) == [.ended(.ended(.failed(message: "The line was lost.")), bye: nil)])
    }

    @Test(
        "close_notify that no word on the line follows is a hang-up after 3 s; a select of the WebSocket is another word"
    )
    func pathClosed() {
        var silent = activeOnWebRTC()
        silent.pathClosedByPeer(now: at(40))
        silent.pathClosedByPeer(now: at(50))
        #expect(silent.nextDeadline == at(3_040))
        silent.handleTimeout(now: at(3_039))
        #expect(silent.callState == .active)
        silent.handleTimeout(now: at(3_040))
        #expect(effects(&silent) == [.ended(.ended(.remote), bye: nil)])
        var moved = activeOnWebRTC()
        moved.pathClosedByPeer(now: at(40))
        moved.select(epoch: 2, transport: .websocket, fallback: nil, now: at(50))
        moved.pathClosedByPeer(now: at(60))
        #expect(moved.nextDeadline == .never)
    }

    @Test("An endpoint that goes away says bye to a welcomed client, and 4503 to another")
    func goesAway() {
        var active = activeOnWebRTC()
        active.goAway(now: .zero)
        #expect(
            effects(&active) == [.ended(.ended(.failed(message: "The endpoint is going away.")), bye: .goingAway)])
        active.goAway(now: .zero)
        #expect(effects(&active).isEmpty)
        var early = ServerPolicy(limits: TransportLimits(), now: .zero)
        early.goAway(now: .zero)
        #expect(effects(&early).first == .reject(.unavailable))
        #expect(CallRejection.unavailable.closeCode == 4503)
    }
}
