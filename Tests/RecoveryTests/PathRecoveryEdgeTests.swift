import ICELite
import Testing
import Transport

/// Limits, states and figures of a recovery at their edges.
@Suite("Recovery of the path, at its edges") struct PathRecoveryEdgeTests: RecoveryScript {
    @Test("The time on both carriages is counted once, while it runs and when it is over")
    func bridged() {
        var recovery = calm()
        run(&recovery, to: 2_499)
        hear(&recovery, from: 2_500, to: 3_340)
        #expect(recovery.snapshot(now: at(3_350)).bridged == .seconds(1))
        hear(&recovery, from: 3_360, to: 4_400)
        #expect(recovery.figures.bridged == .seconds(2) && recovery.figures.bridges == 1)
    }

    @Test("A relapse: ongoing again and without a repair; then the repair has what went before in it")
    func relapse() {
        var recovery = calm()
        run(&recovery, to: 8_000)
        hear(&recovery, from: 8_000, to: 8_600)
        run(&recovery, to: 8_950)
        #expect(recovery.figures.outages.last?.outcome == .ongoing)
        #expect(recovery.figures.outages.last?.repair == nil)
        hear(&recovery, from: 9_050, to: 9_700)
        #expect(recovery.figures.outages.last?.repair == .milliseconds(5_750))
        #expect(recovery.figures.outages.last?.outcome == .recovered)
    }

    @Test("What relapses was no false alarm, however short its parts")
    func shortRelapse() {
        var recovery = calm()
        run(&recovery, to: 2_499)
        hear(&recovery, from: 2_500, to: 3_000)
        #expect(recovery.figures.outages.last?.outcome == .falseAlarm)
        run(&recovery, to: 3_749)
        hear(&recovery, from: 3_750, to: 4_300)
        #expect(recovery.figures.outages.last?.relapses == 1)
        #expect(recovery.figures.outages.last?.outcome == .recovered)
    }

    @Test("Silent again before it was steady: checked anew, and what comes next begins the half second anew")
    func unsteady() {
        var recovery = calm()
        run(&recovery, to: 2_399)
        hear(&recovery, from: 2_400, to: 2_480)
        _ = effects(&recovery)
        var late = recovery
        run(&recovery, to: 2_830)
        #expect(effects(&recovery).contains(.probe) && recovery.isBroken)
        late.heard(now: at(3_000))
        #expect(late.hasOutage)
    }

    @Test("The other end's outage, and then ours: our own bridge is asked for, too")
    func ownBridge() {
        var recovery = calm()
        recovery.peerBridge(true, now: at(2_010))
        hear(&recovery, from: 2_020, to: 2_100)
        _ = effects(&recovery)
        run(&recovery, to: 2_460)
        #expect(effects(&recovery).contains(.askBridge(true)) && recovery.isBridgeAsked)
    }

    @Test("A restart's pair counts as an answer, and stays the mechanism")
    func restarted() {
        var recovery = calm()
        recovery.peerBridge(true, now: at(2_010))
        hear(&recovery, from: 2_020, to: 2_080)
        #expect(recovery.isBroken)
        recovery.restarted(now: at(2_090))
        #expect(!recovery.isBroken)
        recovery.answered(isSamePair: true, now: at(2_100))
        #expect(recovery.figures.outages.last?.mechanism == .restart)
    }

    @Test("An answer holds for 3 s from the first one, whatever is answered later")
    func answerHolds() {
        var recovery = calm()
        recovery.peerBridge(true, now: at(2_010))
        hear(&recovery, from: 2_020, to: 2_080)
        recovery.answered(isSamePair: true, now: at(2_090))
        recovery.answered(isSamePair: true, now: at(4_000))
        hear(&recovery, from: 2_100, to: 5_080)
        recovery.lineAnswered(now: at(5_085))
        #expect(!recovery.isBroken)
        run(&recovery, to: 5_090)
        recovery.lineAnswered(now: at(5_091))
        #expect(recovery.isBroken)
    }

    @Test("A send that is refused again wants an answer of its own, and is announced at once")
    func refusedAgain() {
        var recovery = calm()
        recovery.suspect(.sendRefused, now: at(2_010))
        #expect(effects(&recovery).contains(.recoveringChanged(true)))
        recovery.answered(isSamePair: true, now: at(2_050))
        hear(&recovery, from: 2_060, to: 2_060)
        #expect(!recovery.isBroken)
        recovery.suspect(.sendRefused, now: at(2_070))
        hear(&recovery, from: 2_080, to: 2_080)
        #expect(recovery.isBroken)
    }

    @Test("A second is no false alarm any more, what is certain never was, the same pair's answer may be one")
    func outcomes() {
        var exact = calm()
        run(&exact, to: 3_349)
        hear(&exact, from: 3_350, to: 3_900)
        #expect(exact.figures.outages.last?.outcome == .recovered)
        var certain = calm()
        certain.suspect(.networkChange, now: at(2_010))
        certain.answered(isSamePair: true, now: at(2_050))
        hear(&certain, from: 2_060, to: 2_700)
        #expect(certain.figures.outages.last?.outcome == .recovered)
        var same = calm()
        run(&same, to: 2_400)
        same.answered(isSamePair: true, now: at(2_405))
        hear(&same, from: 2_420, to: 3_000)
        #expect(same.figures.outages.last?.outcome == .falseAlarm)
    }

    @Test("The server hears all the while: not broken, and the length of the client's bridge says what it was")
    func serverJudges() {
        for (end, outcome) in [(4_010, OutageOutcome.falseAlarm), (5_010, .recovered)] as [(Int64, OutageOutcome)] {
            var recovery = calm(isController: false)
            recovery.peerBridge(true, now: at(2_010))
            #expect(!recovery.isBroken)
            hear(&recovery, from: 2_020, to: end - 10)
            recovery.peerBridge(false, now: at(end))
            hear(&recovery, from: end + 10, to: end + 10)
            #expect(recovery.figures.outages.last?.outcome == outcome)
        }
    }

    @Test("A process that did not run heard no silence, and its outage begins when the call is active")
    func stalled() {
        var recovery = calm()
        recovery.stalled(for: .seconds(4), now: at(6_000))
        #expect(recovery.figures.outages.last?.detection == .zero)
        hear(&recovery, from: 6_010, to: 6_010)
        #expect((recovery.figures.outages.last?.gap ?? .zero) <= .milliseconds(10))
        var late = PathRecovery(
            isController: true, peerInterval: .milliseconds(100), window: .seconds(10), now: at(1_000))
        late.suspect(.hint, now: at(1_200))
        #expect(late.figures.outages.last?.at == .milliseconds(200))
    }

    @Test("What an outage costs adds up, and the end of the call ends the other end's bridge")
    func accounted() {
        var recovery = calm()
        recovery.peerBridge(true, now: at(2_010))
        for _ in 0..<2 { recovery.account(framesLost: 2, checksSent: 3) }
        #expect(recovery.figures.outages.last?.framesLost == 4 && recovery.figures.outages.last?.checksSent == 6)
        recovery.stop(.hungUp, now: at(2_510))
        #expect(!recovery.isBridging && recovery.figures.bridged == .milliseconds(500))
    }
}
