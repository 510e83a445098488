import ICELite
import Testing
import Transport

@Suite("Recovery of the path") struct PathRecoveryTests: RecoveryScript {
    @Test("350 ms of silence towards a peer that leaves none of 100: the bridge is asked for and checks begin")
    func suspicion() {
        var recovery = calm()
        #expect(recovery.nextDeadline == at(2_350))
        run(&recovery, to: 2_349)
        #expect(effects(&recovery).isEmpty && !recovery.isBridging)
        run(&recovery, to: 2_350)
        #expect(effects(&recovery) == [.began, .askBridge(true), .probe])
        #expect(recovery.isBridgeAsked && recovery.isBroken && !recovery.isRecovering)
        #expect(recovery.figures.outages.last?.cause == .silence)
        #expect(recovery.figures.outages.last?.detection == .milliseconds(350))
    }

    @Test("Eleven rounds of checks 50 ms apart, then 100, 200, 400 and every 500 ms; fresh sockets after half a second")
    func probes() {
        var recovery = calm()
        var times: [Int64] = []
        var freshAt: Int64?
        while recovery.nextDeadline <= at(5_350) {
            let now = recovery.nextDeadline
            recovery.handleTimeout(now: now)
            for effect in effects(&recovery) {
                let since = (now - at(2_350)) / 1_000_000
                if effect == .probe { times.append(since) }
                if effect == .openFreshSockets { freshAt = since }
            }
        }
        #expect(times.prefix(11) == [0, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500])
        #expect(times.dropFirst(11) == [600, 800, 1_200, 1_700, 2_200, 2_700])
        #expect(freshAt == 500)
    }

    @Test("The server asks for the bridge, and never checks")
    func server() {
        var recovery = calm(isController: false)
        run(&recovery, to: 12_349)
        #expect(effects(&recovery) == [.began, .askBridge(true), .recoveringChanged(true)])
        run(&recovery, to: 12_350)
        #expect(effects(&recovery) == [.windowEnded])
        #expect(recovery.isWindowOver)
    }

    @Test("Recovering from a second on, the window 10 s after the suspicion, to the microsecond")
    func window() {
        var recovery = calm()
        run(&recovery, to: 3_349)
        #expect(!recovery.isRecovering)
        run(&recovery, to: 3_350)
        #expect(recovery.isRecovering)
        _ = effects(&recovery)
        while recovery.nextDeadline < at(12_350) { recovery.handleTimeout(now: recovery.nextDeadline) }
        #expect(!effects(&recovery).contains(.windowEnded))
        #expect(recovery.nextDeadline == at(12_350))
        recovery.handleTimeout(now: at(12_350))
        #expect(effects(&recovery).contains(.windowEnded))
        recovery.stop(.continued, now: at(12_350))
        #expect(recovery.figures.outages.last?.outcome == .continued)
        #expect(recovery.figures.outages.last?.gap == .milliseconds(10_350))
        #expect(effects(&recovery) == [.recoveringChanged(false), .finished])
        #expect(recovery.nextDeadline == .never && !recovery.isBridging)
    }

    @Test("The bridge waits for a path that is far behind the line, a second at most", arguments: [4_300, 6_000])
    func behindTheLine(_ last: Int64) {
        var recovery = calm()
        run(&recovery, to: 2_499)
        // By itself it would end at 4,350 ms.
        let end = last == 4_300 ? 4_800 : 5_350
        for time in stride(from: Int64(2_500), to: Int64(end), by: 20) {
            run(&recovery, to: time - 1)
            recovery.heard(now: at(time))
            if time <= last { recovery.behind(now: at(time)) }
        }
        run(&recovery, to: Int64(end) - 1)
        #expect(recovery.isBridgeAsked && !recovery.hasOutage)
        run(&recovery, to: Int64(end))
        #expect(!recovery.isBridgeAsked)
    }

    @Test("What comes back by itself within a second is a false alarm: the threshold doubles, the bridge lasts 2 s")
    func falseAlarm() {
        var recovery = calm()
        run(&recovery, to: 2_499)
        _ = effects(&recovery)
        hear(&recovery, from: 2_500, to: 3_000)
        #expect(effects(&recovery).contains(.finished))
        #expect(recovery.figures.outages.last?.outcome == .falseAlarm)
        #expect(recovery.figures.outages.last?.repair == .milliseconds(150))
        #expect(recovery.figures.outages.last?.mechanism == RepairMechanism.none)
        #expect(recovery.figures.falseAlarms == 1)
        #expect(recovery.isBridgeAsked)
        hear(&recovery, from: 3_020, to: 4_340)
        #expect(recovery.isBridgeAsked)
        hear(&recovery, from: 4_360, to: 4_380)
        #expect(!recovery.isBridgeAsked)
        #expect(effects(&recovery) == [.askBridge(false)])
        #expect(recovery.bridgeEndedAt == at(4_350))
        #expect(recovery.nextDeadline == at(4_380 + 700))
    }

    @Test("An outage of 4 s that the same pair ends is recovered; the bridge is off 500 ms after the first audio")
    func recovered() {
        var recovery = calm()
        run(&recovery, to: 6_000)
        #expect(recovery.isRecovering)
        recovery.answered(isSamePair: true, now: at(6_010))
        #expect(recovery.isRecovering, "a check is not audio")
        hear(&recovery, from: 6_020, to: 6_500)
        #expect(!recovery.isRecovering && recovery.hasOutage && recovery.isBridgeAsked)
        hear(&recovery, from: 6_520, to: 6_540)
        #expect(!recovery.hasOutage && !recovery.isBridgeAsked)
        let outage = recovery.figures.outages.last
        #expect(outage?.outcome == .recovered && outage?.mechanism == .samePair)
        #expect(outage?.repair == .milliseconds(3_670))
        #expect(recovery.figures.falseAlarms == 0)
    }

    @Test("Another pair, then its own answers: the mechanism stays the other pair")
    func otherPair() {
        var recovery = calm()
        run(&recovery, to: 2_400)
        recovery.answered(isSamePair: false, now: at(2_450))
        recovery.answered(isSamePair: true, now: at(2_460))
        hear(&recovery, from: 2_480, to: 3_000)
        #expect(recovery.figures.outages.last?.mechanism == .otherPair)
        #expect(recovery.figures.outages.last?.outcome == .recovered)
    }

    @Test("A lost address is certain: recovering at once, on the bridge at once, checked anew within an outage")
    func networkEvent() {
        var recovery = calm()
        recovery.suspect(.networkChange, now: at(2_010))
        #expect(effects(&recovery) == [.began, .askBridge(true), .recoveringChanged(true), .probe])
        recovery.answered(isSamePair: false, now: at(2_050))
        hear(&recovery, from: 2_060, to: 2_100)
        #expect(!recovery.isRecovering)
        recovery.suspect(.networkChange, now: at(2_110))
        #expect(recovery.isRecovering)
        #expect(effects(&recovery).suffix(2) == [.recoveringChanged(true), .probe])
        #expect(recovery.figures.outageCount == 1)
    }

    @Test(
        "Sends that are refused again and again while audio still comes: one outage, checks that become fewer, one event"
    )
    func refused() {
        var recovery = calm()
        var probes = 0
        var announced = 0
        for time in stride(from: 2_010 as Int64, through: 5_000, by: 20) {
            recovery.suspect(.sendRefused, now: at(time))
            hear(&recovery, from: time + 10, to: time + 10)
            for effect in effects(&recovery) {
                if effect == .probe { probes += 1 }
                if case .recoveringChanged = effect { announced += 1 }
            }
        }
        #expect(recovery.isRecovering && announced == 1)
        #expect((11...20).contains(probes))
        recovery.answered(isSamePair: false, now: at(5_010))
        hear(&recovery, from: 5_020, to: 5_600)
        #expect(!recovery.isRecovering && !recovery.hasOutage)
        #expect(recovery.figures.outages.map(\.cause) == [.sendRefused])
        #expect(recovery.figures.outages.map(\.outcome) == [.recovered])
    }

    @Test("The other end does not hear us: its bridge makes us check and send on the line, not ask for one of our own")
    func peersBridge() {
        var recovery = calm()
        recovery.peerBridge(true, now: at(2_010))
        #expect(effects(&recovery) == [.began, .probe])
        #expect(recovery.isBridging && !recovery.isBridgeAsked && recovery.isBroken)
        hear(&recovery, from: 2_020, to: 2_080)
        recovery.answered(isSamePair: true, now: at(2_090))
        #expect(!recovery.isBroken)
        hear(&recovery, from: 2_100, to: 4_000)
        #expect(recovery.hasOutage, "the other end's bridge is still on")
        recovery.peerBridge(false, now: at(4_010))
        hear(&recovery, from: 4_020, to: 4_020)
        #expect(!recovery.hasOutage && !recovery.isBridging)
        #expect(recovery.figures.outages.last?.cause == .peer)
    }

    @Test(
        "Answered checks do not help a peer that goes on asking: 3 s later the path is broken, and the window ends in time"
    )
    func answeredInVain() {
        var recovery = calm()
        recovery.peerBridge(true, now: at(2_010))
        var endedAt: Int64?
        var brokenAt: Int64?
        for time in stride(from: 2_020 as Int64, to: 20_000, by: 20) where endedAt == nil {
            hear(&recovery, from: time, to: time)
            let effects = effects(&recovery)
            if effects.contains(.probe) { recovery.answered(isSamePair: true, now: at(time)) }
            if effects.contains(.askLine) { recovery.lineAnswered(now: at(time + 10)) }
            if effects.contains(.recoveringChanged(true)) { brokenAt = time }
            if effects.contains(.windowEnded) { endedAt = time }
        }
        #expect(brokenAt == 5_040 && endedAt == 12_020)
    }

    @Test("An answer is not doubted for what the other end said long ago, on a line that is slow")
    func slowLine() {
        var recovery = calm()
        recovery.peerBridge(true, now: at(2_010))
        hear(&recovery, from: 2_020, to: 2_080)
        recovery.answered(isSamePair: true, now: at(2_090))
        hear(&recovery, from: 2_100, to: 5_080)
        _ = effects(&recovery)
        // A sign for nothing that was asked for says nothing.
        recovery.lineAnswered(now: at(5_085))
        hear(&recovery, from: 5_100, to: 15_000)
        #expect(effects(&recovery) == [.askLine], "asked once, and waited for")
        #expect(!recovery.isBroken && !recovery.isRecovering && !recovery.isWindowOver)
        var vain = recovery
        // What it said meanwhile has come: either it is content, or it is not.
        recovery.peerBridge(false, now: at(15_010))
        recovery.lineAnswered(now: at(15_010))
        #expect(!recovery.hasOutage && effects(&recovery) == [.finished])
        vain.lineAnswered(now: at(15_010))
        #expect(vain.isBroken && vain.isWindowOver)
    }

    @Test("An answer just before the window is over holds it open until the peer is content")
    func answeredAtTheEnd() {
        var recovery = calm()
        recovery.peerBridge(true, now: at(2_010))
        hear(&recovery, from: 2_020, to: 11_900)
        recovery.answered(isSamePair: true, now: at(11_910))
        hear(&recovery, from: 11_920, to: 13_900)
        recovery.peerBridge(false, now: at(13_910))
        hear(&recovery, from: 13_920, to: 13_940)
        #expect(!effects(&recovery).contains(.windowEnded) && !recovery.hasOutage)
    }

    @Test("After answers in vain, those of another pair, or of a restart, are believed")
    func believedAgain() {
        for isRestart in [false, true] {
            var recovery = calm()
            recovery.peerBridge(true, now: at(2_010))
            hear(&recovery, from: 2_020, to: 2_040)
            recovery.answered(isSamePair: true, now: at(2_050))
            hear(&recovery, from: 2_060, to: 6_000)
            #expect(!recovery.isBroken, "what it wants may be old news")
            recovery.lineAnswered(now: at(6_005))
            #expect(recovery.isBroken)
            recovery.answered(isSamePair: true, now: at(6_010))
            #expect(recovery.isBroken, "the same pair's say no more")
            if isRestart {
                recovery.restarted(now: at(6_020))
            } else {
                recovery.answered(isSamePair: false, now: at(6_020))
            }
            #expect(!recovery.isBroken)
        }
    }

    @Test(
        "The server's window counts the time in which its path is broken, not that in which only the client complains")
    func complaintUsesNothing() {
        var recovery = calm(isController: false)
        recovery.peerBridge(true, now: at(2_010))
        hear(&recovery, from: 2_020, to: 11_000)
        #expect(!recovery.isBroken && recovery.hasOutage)
        _ = effects(&recovery)
        // Silent from 11,000 on: broken since 11,350.
        run(&recovery, to: 21_349)
        #expect(recovery.isBroken && !recovery.isWindowOver)
        run(&recovery, to: 21_350)
        #expect(recovery.isWindowOver)
    }

    @Test("A path of which a packet trickles through now and then is broken all the while")
    func trickle() {
        var recovery = calm()
        for time in [3_000, 3_700, 4_400] as [Int64] {
            run(&recovery, to: time)
            hear(&recovery, from: time, to: time)
            #expect(!recovery.isBroken)
        }
        run(&recovery, to: 12_349)
        #expect(!recovery.isWindowOver)
        run(&recovery, to: 12_350)
        #expect(recovery.isWindowOver)
    }

    @Test("A false alarm of another cause than silence says nothing of the threshold")
    func hintLeavesTheThreshold() {
        for cause in [OutageCause.hint, .stall, .peer, .consent] {
            var recovery = calm()
            recovery.suspect(cause, now: at(2_010))
            hear(&recovery, from: 2_020, to: 4_600)
            #expect(recovery.figures.falseAlarms == 1 && recovery.suspicionThreshold == .milliseconds(350))
        }
        var recovery = calm()
        run(&recovery, to: 2_400)
        hear(&recovery, from: 2_400, to: 5_000)
        #expect(recovery.figures.falseAlarms == 1 && recovery.suspicionThreshold == .milliseconds(700))
    }

    @Test("Two outages less than 5 s apart are one, and what the first used of the window is used")
    func oneWindow() {
        var recovery = calm()
        run(&recovery, to: 8_000)
        hear(&recovery, from: 8_000, to: 8_600)
        #expect(!recovery.hasOutage)
        _ = effects(&recovery)
        // Suspected at 2,350, audio at 8,000: 5,650 ms used; 4,350 are left.
        run(&recovery, to: 8_950)
        #expect(recovery.hasOutage && recovery.figures.outageCount == 1)
        #expect(recovery.figures.outages.last?.relapses == 1)
        while recovery.nextDeadline < at(13_300) { recovery.handleTimeout(now: recovery.nextDeadline) }
        #expect(!effects(&recovery).contains(.windowEnded))
        recovery.handleTimeout(now: at(13_300))
        #expect(effects(&recovery).contains(.windowEnded))
    }

    @Test("5 s apart they are two, each with its own window")
    func twoWindows() {
        var recovery = calm()
        run(&recovery, to: 8_000)
        hear(&recovery, from: 8_000, to: 13_500)
        run(&recovery, to: 14_000)
        #expect(recovery.figures.outageCount == 2)
        #expect(recovery.figures.outages.last?.relapses == 0)
    }

    @Test("Three reports in a row that show nothing arriving: a one-way outage, until they move or a check is answered")
    func oneWay() {
        var recovery = calm()
        recovery.reported(standstills: 2, now: at(2_005))
        #expect(!recovery.hasOutage)
        recovery.reported(standstills: 3, now: at(2_010))
        #expect(effects(&recovery) == [.began, .askBridge(true), .probe])
        hear(&recovery, from: 2_020, to: 4_000)
        #expect(recovery.isBroken && recovery.isRecovering)
        recovery.reported(standstills: 0, now: at(4_010))
        #expect(!recovery.isBroken && !recovery.isRecovering)
        hear(&recovery, from: 4_020, to: 4_020)
        #expect(!recovery.hasOutage)
        #expect(recovery.figures.outages.last?.cause == .oneWay)
    }

    @Test("What a one-way outage uses of the window counts, though audio came all the while")
    func oneWayUsesTheWindow() {
        var recovery = calm()
        recovery.reported(standstills: 3, now: at(2_010))
        hear(&recovery, from: 2_020, to: 8_000)
        recovery.reported(standstills: 0, now: at(8_010))
        hear(&recovery, from: 8_020, to: 8_600)
        #expect(recovery.figures.outages.last?.repair == .milliseconds(6_000))
        #expect(!recovery.hasOutage)
        // 6 s are used: 4 are left.
        recovery.reported(standstills: 3, now: at(9_000))
        hear(&recovery, from: 9_020, to: 12_980)
        #expect(!recovery.isWindowOver)
        hear(&recovery, from: 13_000, to: 13_020)
        #expect(recovery.isWindowOver && recovery.figures.outageCount == 1)
    }

    @Test("A process that did not run for 4 s: one event, whose window begins when it runs again")
    func stall() {
        var recovery = calm()
        recovery.stalled(for: .seconds(4), now: at(6_000))
        #expect(effects(&recovery) == [.began, .askBridge(true), .probe])
        #expect(recovery.figures.outages.last?.cause == .stall)
        var silent = recovery
        hear(&recovery, from: 6_001, to: 6_600)
        #expect(recovery.figures.outages.last?.outcome == .falseAlarm)
        #expect(recovery.figures.outageCount == 1)
        while silent.nextDeadline < at(16_000) { silent.handleTimeout(now: silent.nextDeadline) }
        #expect(!effects(&silent).contains(.windowEnded) && silent.nextDeadline == at(16_000))
        silent.handleTimeout(now: at(16_000))
        #expect(effects(&silent).contains(.windowEnded))
    }

    @Test("A process that does not run in an outage uses nothing of the window: what waits is read before it is over")
    func stallInOutage() {
        var recovery = calm()
        run(&recovery, to: 2_600)
        #expect(recovery.hasOutage)
        _ = effects(&recovery)
        // 250 ms are used by now.
        recovery.stalled(for: .seconds(12), now: at(14_600))
        recovery.handleTimeout(now: at(14_600))
        #expect(effects(&recovery).contains(.probe) && !recovery.isWindowOver)
        var silent = recovery
        hear(&recovery, from: 14_601, to: 15_200)
        #expect(!recovery.hasOutage)
        run(&silent, to: 24_349)
        #expect(!silent.isWindowOver)
        run(&silent, to: 24_350)
        #expect(silent.isWindowOver)
    }

    @Test("What was well before the process stood still has to show itself again")
    func stallWhileSteady() {
        var recovery = calm()
        run(&recovery, to: 5_000)
        hear(&recovery, from: 5_000, to: 5_200)
        recovery.stalled(for: .seconds(3), now: at(8_200))
        recovery.handleTimeout(now: at(8_200))
        #expect(recovery.hasOutage && !recovery.isBroken)
        run(&recovery, to: 8_600)
        #expect(recovery.isBroken, "nothing came since")
    }

    @Test(
        "A peer that has not said how long it is silent: checked each second, suspected after 2.5 s without an answer")
    func unknownPeer() {
        var recovery = calm(peer: nil)
        #expect(recovery.nextDeadline == at(3_000))
        run(&recovery, to: 4_499)
        #expect(effects(&recovery) == [.check, .check])
        run(&recovery, to: 4_500)
        #expect(effects(&recovery).first == .began)
        var answering = calm(peer: nil)
        for second in 3..<20 as Range<Int64> {
            run(&answering, to: second * 1_000)
            answering.heard(now: at(second * 1_000 + 50))
        }
        #expect(!answering.hasOutage)
    }

    @Test("Outages are kept to a number and all counted")
    func bounded() {
        var recovery = calm()
        var time: Int64 = 2_000
        for _ in 0..<40 {
            recovery.suspect(.hint, now: at(time))
            hear(&recovery, from: time, to: time + 6_000)
            time += 6_020
        }
        #expect(recovery.figures.outageCount == 40)
        #expect(recovery.figures.outages.count == RecoverySnapshot.keptOutages)
    }

    @Test("After the end nothing is due, and no input changes anything")
    func stopped() {
        var recovery = calm()
        recovery.stop(.hungUp, now: at(2_010))
        let figures = recovery.figures
        recovery.suspect(.networkChange, now: at(2_020))
        recovery.peerBridge(true, now: at(2_030))
        recovery.reported(standstills: 9, now: at(2_040))
        recovery.stalled(for: .seconds(6), now: at(9_000))
        recovery.handleTimeout(now: at(60_000))
        #expect(effects(&recovery).isEmpty && recovery.figures == figures && recovery.nextDeadline == .never)
    }
}
