import CallSimulation
import ICELite
import Testing
import Transport

@Suite struct InvariantDecidedInTimeTests {
    /// A call that is opened and gets as far as a test says.
    private func opened(until milestone: Milestone) -> HandMadeCall {
        var call = HandMadeCall()
        call.see(
            .network(pathUp: true, pathDown: true, lineUp: true, lineDown: true), .milestone(.start),
            .state(.client, .connecting, isRecovering: false), at: 0)
        guard milestone != .start else { return call }
        call.see(.milestone(.helloSent), at: .seconds(1))
        guard milestone != .helloSent else { return call }
        call.see(.milestone(.welcome), at: .seconds(2))
        return call
    }

    private func failed(_ call: HandMadeCall, at: Nanoseconds) -> HandMadeCall {
        var call = call
        call.see(.state(.client, .ended, isRecovering: false), .outcome(.client, .failed(message: "late")), at: at)
        return call
    }

    @Test func welcomeMayTakeFifteenSecondsAndNotAMicrosecondMore() {
        #expect(failed(opened(until: .start), at: .seconds(15)).violations == [])
        #expect(failed(opened(until: .start), at: .seconds(15) + 1_000).breaksOnly(.decidedInTime))
        #expect(failed(opened(until: .start), at: .seconds(15) + 1).breaksOnly(.decidedInTime))
    }

    @Test func theChoiceMayTakeTwelveSecondsFromHello() {
        #expect(failed(opened(until: .welcome), at: .seconds(13)).violations == [])
        #expect(failed(opened(until: .welcome), at: .seconds(13) + 1_000).breaksOnly(.decidedInTime))
    }

    @Test(arguments: [0, 1_000]) func aWelcomeBehindTheBudgetIsAnsweredByAChoiceAtOnce(_ late: Nanoseconds) {
        var call = opened(until: .helloSent)
        call.see(.milestone(.welcome), at: .seconds(14))
        call.see(.choice(.client, epoch: 1, .websocket, nil), at: .seconds(14) + late)
        let ended = failed(call, at: .seconds(15))
        #expect(!ended.violations.contains { $0.invariant == .decidedInTime } == (late == 0))
    }

    @Test(arguments: [0, 1_000]) func aCallIsActiveOrEndedAfter27Seconds(_ late: Nanoseconds) {
        var call = opened(until: .welcome)
        for end in CallEnd.allCases { call.see(.choice(end, epoch: 1, .webrtc, nil), at: .seconds(10)) }
        let ended = failed(call, at: .seconds(27) + late)
        #expect(ended.violations.map(\.invariant) == (late == 0 ? [] : [.decidedInTime]))
    }

    @Test(arguments: [0, 1_000]) func recoveringTakesTenSeconds(_ late: Nanoseconds) {
        var call = HandMadeCall()
        call.becomeActive(on: .webrtc)
        call.see(.state(.client, .active, isRecovering: true), at: .seconds(5))
        call.see(.state(.client, .active, isRecovering: false), at: .seconds(15) + late)
        call.hangUp(at: .seconds(16))
        #expect(call.violations.map(\.invariant) == (late == 0 ? [] : [.decidedInTime]))
    }

    /// The server recovers from 5 s on and ends `late` behind 15 s; its line brings its last byte at 14.9 s.
    private func serverRecovering(isLineGood: Bool, late: Nanoseconds) -> HandMadeCall {
        var call = HandMadeCall()
        call.becomeActive(on: .webrtc)
        call.see(.bridge(.server, isAsked: true), at: .seconds(4))
        call.see(.state(.server, .active, isRecovering: true), at: .seconds(5))
        call.see(.arrived(.server, .line(0), byteCount: 4, frame: nil), at: .milliseconds(14_900))
        if !isLineGood {
            call.see(.network(pathUp: false, pathDown: false, lineUp: false, lineDown: true), at: .milliseconds(14_950))
        }
        call.see(.state(.client, .ended, isRecovering: false), .outcome(.client, .failed), at: .seconds(15))
        call.see(.state(.server, .ended, isRecovering: false), .outcome(.server, .failed), at: .seconds(15) + late)
        return call
    }

    @Test(arguments: [0, 1_000]) func theServerLearnsOfTheDecisionByAGoodLine(_ late: Nanoseconds) {
        let call = serverRecovering(isLineGood: true, late: .milliseconds(400) + late)
        #expect(call.violations.map(\.invariant) == (late == 0 ? [] : [.decidedInTime]))
    }

    @Test(arguments: [0, 1_000]) func orByTheDeathOfALineThatIsNot(_ late: Nanoseconds) {
        let call = serverRecovering(isLineGood: false, late: .milliseconds(2_900) + late)
        #expect(call.violations.map(\.invariant) == (late == 0 ? [] : [.decidedInTime]))
    }

    @Test(arguments: [0, 1_000]) func theServerWaitsForTheClientsOwnWindow(_ late: Nanoseconds) {
        var call = HandMadeCall()
        call.becomeActive(on: .webrtc)
        call.see(.state(.server, .active, isRecovering: true), at: .seconds(5))
        call.see(.state(.client, .active, isRecovering: true), at: .milliseconds(6_500))
        call.see(.state(.client, .ended, isRecovering: false), .outcome(.client, .failed), at: .milliseconds(16_500))
        let known = Nanoseconds.milliseconds(16_900) + late
        call.see(.state(.server, .ended, isRecovering: false), .outcome(.server, .failed), at: known)
        #expect(call.violations.map(\.invariant) == (late == 0 ? [] : [.decidedInTime]))
    }

    @Test(arguments: [0, 1_000]) func andForAnAnswerThatMeantNothing(_ late: Nanoseconds) {
        var call = HandMadeCall()
        call.becomeActive(on: .webrtc)
        for end in CallEnd.allCases { call.see(.state(end, .active, isRecovering: true), at: .seconds(5)) }
        call.see(.state(.client, .active, isRecovering: false), at: .seconds(14))
        call.see(.state(.client, .ended, isRecovering: false), .outcome(.client, .failed), at: .milliseconds(17_800))
        let known = Nanoseconds.milliseconds(18_200) + late
        call.see(.state(.server, .ended, isRecovering: false), .outcome(.server, .failed), at: known)
        #expect(call.violations.map(\.invariant) == (late == 0 ? [] : [.decidedInTime]))
    }

    @Test(arguments: [4_999, 5_000]) func outagesCloserThanFiveSecondsShareOneWindow(_ apart: Int64) {
        var call = HandMadeCall()
        call.becomeActive(on: .webrtc)
        call.see(.state(.client, .active, isRecovering: true), at: .seconds(5))
        call.see(.state(.client, .active, isRecovering: false), at: .seconds(12))
        let again = Nanoseconds.seconds(12) + .milliseconds(apart)
        call.see(.state(.client, .active, isRecovering: true), at: again)
        call.see(.state(.client, .active, isRecovering: false), at: again + .seconds(4))
        call.hangUp(at: .seconds(22))
        #expect(call.violations.map(\.invariant) == (apart == 5_000 ? [] : [.decidedInTime]))
    }

    @Test func endedStaysEnded() {
        var call = HandMadeCall.calm()
        call.see(.state(.client, .active, isRecovering: false), at: .seconds(4))
        #expect(call.violations.map(\.invariant).contains(.decidedInTime))
    }

    @Test func activeIsReachedFromConnectingOnly() {
        var call = HandMadeCall()
        call.see(.state(.client, .idle, isRecovering: false), at: 0)
        call.see(.state(.client, .active, isRecovering: false), at: 1)
        call.hangUp(at: 2)
        #expect(call.breaksOnly(.decidedInTime))
    }

    @Test(arguments: [0, 1_000]) func aSilentLineEndsACallOnTheWebSocketInTenSeconds(_ late: Nanoseconds) {
        var call = HandMadeCall()
        call.call.scenario.client.preference = .websocket
        call.becomeActive(on: .websocket)
        call.see(.arrived(.client, .line(0), byteCount: 4, frame: nil), at: .seconds(2))
        call.hangUp(at: .seconds(12) + late)
        #expect(call.violations.map(\.invariant) == (late == 0 ? [] : [.decidedInTime]))
    }

    @Test(arguments: [TransportKind.websocket, .webrtc], [0, 1_000])
    func eachInputMayWaitForAStall(_ transport: TransportKind, _ late: Nanoseconds) {
        var call = HandMadeCall()
        if transport == .websocket { call.call.scenario.client.preference = .websocket }
        call.call.scenario.client.stall = .milliseconds(5)
        call.becomeActive(on: transport)
        call.see(.arrived(.client, .line(0), byteCount: 4, frame: nil), at: .seconds(2))
        // The last byte, the line's death and, on the path, the end of the call behind it.
        let limit: Nanoseconds = transport == .websocket ? .milliseconds(10_010) : .milliseconds(40_015)
        call.hangUp(at: .seconds(2) + limit + late)
        #expect(call.violations.map(\.invariant) == (late == 0 ? [] : [.decidedInTime]))
    }

    @Test(arguments: [0, 1_000]) func whatCameToAMachineThatIsNotRunIsHeardLater(_ late: Nanoseconds) {
        var call = HandMadeCall()
        var suspend = Fault(anchor: .milestone(.active), verb: .suspend)
        suspend.length = .seconds(12)
        call.call.scenario.faults = [suspend]
        call.call.scenario.client.preference = .websocket
        call.becomeActive(on: .websocket)
        call.see(.fault(index: 0, isBeginning: true), at: .seconds(2))
        call.see(.arrived(.client, .line(0), byteCount: 4, frame: nil), at: .seconds(3))
        call.see(.fault(index: 0, isBeginning: false), at: .seconds(14))
        call.hangUp(at: .seconds(24) + late)
        #expect(call.violations.map(\.invariant) == (late == 0 ? [] : [.decidedInTime]))
    }

    @Test(arguments: [0, 1_000]) func aWindowDoesNotRunWhileItsMachineIsNot(_ late: Nanoseconds) {
        var call = HandMadeCall()
        var suspend = Fault(anchor: .milestone(.active), verb: .suspend)
        suspend.length = .seconds(3)
        call.call.scenario.faults = [suspend]
        call.becomeActive(on: .webrtc)
        call.see(.state(.client, .active, isRecovering: true), at: .seconds(2))
        call.see(.fault(index: 0, isBeginning: true), at: .seconds(4))
        call.see(.fault(index: 0, isBeginning: false), at: .seconds(7))
        let end = Instant.zero + .milliseconds(15_010) + late
        call.see(.state(.client, .active, isRecovering: false), at: end - .zero)
        #expect(call.violations.map(\.invariant).contains(.decidedInTime) == (late > 0))
    }

    /// A client that recovers from 2 s on and sleeps for `length` from 4 s on has `spare` more at its window's end.
    private func pausing(for length: Nanoseconds, spare: Nanoseconds) -> HandMadeCall {
        var call = HandMadeCall()
        var suspend = Fault(anchor: .milestone(.active), verb: .suspend)
        suspend.length = length
        call.call.scenario.faults = [suspend]
        call.becomeActive(on: .webrtc)
        call.see(.state(.client, .active, isRecovering: true), at: .seconds(2))
        call.see(.fault(index: 0, isBeginning: true), at: .seconds(4))
        call.see(.fault(index: 0, isBeginning: false), at: .seconds(4) + length)
        call.see(.state(.client, .active, isRecovering: false), at: .seconds(12) + spare)
        call.hangUp(at: .seconds(14))
        return call
    }

    @Test func aPauseIsMeasuredFromTheInputBeforeIt() {
        #expect(pausing(for: .milliseconds(991), spare: .milliseconds(1_001)).violations == [])
        #expect(pausing(for: .milliseconds(991), spare: .milliseconds(1_001) + 1).breaksOnly(.decidedInTime))
        #expect(pausing(for: .milliseconds(990), spare: 1).breaksOnly(.decidedInTime))
    }

    @Test(arguments: [0, 1_000]) func aShortPauseBehindALongOneTakesNothingAway(_ late: Nanoseconds) {
        var call = opened(until: .start)
        call.call.scenario.faults = [10_000, 50].map { (milliseconds: Int64) in
            var suspend = Fault(anchor: .milestone(.start), verb: .suspend)
            suspend.length = .milliseconds(milliseconds)
            return suspend
        }
        call.see(.fault(index: 0, isBeginning: true), at: .seconds(10))
        call.see(.fault(index: 0, isBeginning: false), at: .seconds(20))
        call.see(.fault(index: 1, isBeginning: true), at: .seconds(20))
        call.see(.fault(index: 1, isBeginning: false), at: .milliseconds(20_050))
        let ended = failed(call, at: .milliseconds(20_100) + late)
        #expect(ended.violations.map(\.invariant) == (late == 0 ? [] : [.decidedInTime]))
    }

    @Test func aMachineThatIsNotRunIsNotLate() {
        var call = opened(until: .start)
        var suspend = Fault(anchor: .milestone(.start), verb: .suspend)
        suspend.length = .seconds(20)
        call.call.scenario.faults = [suspend]
        call.see(.fault(index: 0, isBeginning: true), at: .seconds(10))
        call.see(.fault(index: 0, isBeginning: false), at: .seconds(20))
        let due = Nanoseconds.milliseconds(20_100)
        #expect(failed(call, at: due).violations == [])
        #expect(failed(call, at: due + 1_000).breaksOnly(.decidedInTime))
    }
}

extension CallOutcome {
    fileprivate static var failed: CallOutcome { .ended(.failed(message: "lost")) }
}
