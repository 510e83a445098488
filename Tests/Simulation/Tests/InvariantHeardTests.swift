import CallSimulation
import ICELite
import Testing
import Transport
import TransportMedia

@Suite struct InvariantHeardTests {
    /// The client hears nothing for `gap` from 4 s on, with the whole network good but as `change` has it.
    private func gap(
        _ gap: Nanoseconds, change: (inout HandMadeCall) -> Void = { _ in },
        before: (inout HandMadeCall) -> Void = { _ in }
    ) -> HandMadeCall {
        var call = HandMadeCall()
        change(&call)
        call.becomeActive(on: .webrtc)
        call.talk(from: .seconds(1), to: .seconds(4))
        before(&call)
        call.talk(from: .seconds(4), to: .seconds(4) + gap, deaf: [.client])
        call.talk(from: .seconds(4) + gap, to: .seconds(6))
        call.hangUp(at: .seconds(6))
        return call
    }

    @Test func aGapIsSuspicionRoundTripJitterAndSixtyMilliseconds() {
        // 350 + 50 + 30 + 60.
        #expect(gap(.milliseconds(490)) { $0.call.facts.lineJitter = .milliseconds(30) }.violations == [])
        #expect(gap(.milliseconds(500)) { $0.call.facts.lineJitter = .milliseconds(30) }.breaksOnly(.heard))
    }

    @Test func withAShortRoundTripItIsNeverMoreThan700Milliseconds() {
        let far: (inout HandMadeCall) -> Void = {
            $0.call.facts.lineRoundTrip = .milliseconds(300)
            $0.call.facts.lineJitter = .milliseconds(200)
        }
        #expect(gap(.milliseconds(700), change: far).violations == [])
        #expect(gap(.milliseconds(710), change: far).breaksOnly(.heard))
    }

    @Test func jitterOfThePathRaisesSuspicion() {
        let rough: (inout HandMadeCall) -> Void = {
            $0.call.scenario.networks[0].udp.jitter = .normal(.milliseconds(60))
        }
        let raised: (inout HandMadeCall) -> Void = {
            $0.see(.suspicion(.client, after: .milliseconds(430)), at: .seconds(4))
        }
        // 430 + 50 + 60.
        #expect(gap(.milliseconds(540), change: rough, before: raised).violations == [])
        #expect(gap(.milliseconds(550), change: rough, before: raised).breaksOnly(.heard))
    }

    @Test func aThresholdThatThePathDoesNotAllowCountsAsFarAsItDoes() {
        let wrong: (inout HandMadeCall) -> Void = {
            $0.see(.suspicion(.client, after: .seconds(30)), at: .seconds(4))
        }
        #expect(gap(.milliseconds(460), before: wrong).violations == [])
        #expect(gap(.milliseconds(470), before: wrong).breaksOnly(.heard))
        // A fault that lasts has changed the path's rhythm.
        let stirred: (inout HandMadeCall) -> Void = {
            $0.call.scenario.faults = [Fault(anchor: .milestone(.start), verb: .loss)]
            $0.see(.fault(index: 0, isBeginning: true), at: .seconds(4))
            $0.see(.suspicion(.client, after: .seconds(30)), at: .seconds(4))
        }
        #expect(gap(.milliseconds(1_110), before: stirred).violations == [])
        #expect(gap(.milliseconds(1_120), before: stirred).breaksOnly(.heard))
    }

    @Test(arguments: [0, 10]) func withoutTheLineTheCallMovesToTheSlowestPair(_ more: Int64) {
        let call = gap(
            .milliseconds(930 + more), change: { $0.call.facts.slowestRoundTrip = .milliseconds(200) },
            before: {
                $0.see(.network(pathUp: true, pathDown: true, lineUp: false, lineDown: false), at: .milliseconds(3_990))
            })
        // 350 + 2 × 200 + 120 + 60.
        #expect(call.violations.map(\.invariant) == (more == 0 ? [] : [.heard]))
    }

    @Test(arguments: [0, 10]) func aServerWithoutTheLineIsHeardOfByReports(_ more: Int64) {
        var call = HandMadeCall()
        call.becomeActive(on: .webrtc)
        call.talk(from: .seconds(1), to: .seconds(4))
        call.see(.network(pathUp: true, pathDown: true, lineUp: false, lineDown: false), at: .milliseconds(3_990))
        let end = Nanoseconds.seconds(4) + .milliseconds(4_230 + more)
        call.talk(from: .seconds(4), to: end, deaf: [.server])
        call.talk(from: end, to: .seconds(9))
        call.hangUp(at: .seconds(9))
        // 4,000 + 50 + 120 + 60.
        #expect(call.violations.map(\.invariant) == (more == 0 ? [] : [.heard]))
    }

    @Test func aGapIsToldWithItsWholeLength() {
        #expect(gap(.milliseconds(800)).violations.first?.sentence.contains("for 800.000 ms since") == true)
    }

    @Test func aFalseAlarmDoublesTheThreshold() {
        let alarmed: (inout HandMadeCall) -> Void = {
            $0.see(.bridge(.client, isAsked: true), at: .seconds(4))
            $0.see(.bridge(.client, isAsked: false), at: .seconds(4))
            $0.see(.suspicion(.client, after: .milliseconds(700)), at: .seconds(4))
        }
        #expect(gap(.milliseconds(810), before: alarmed).violations == [])
        #expect(gap(.milliseconds(820), before: alarmed).breaksOnly(.heard))
    }

    @Test func nobodyIsHeardWhereNothingCarries() {
        let dark: (inout HandMadeCall) -> Void = {
            $0.see(.network(pathUp: false, pathDown: false, lineUp: false, lineDown: true), at: .seconds(4))
        }
        #expect(gap(.milliseconds(1_500), before: dark).violations == [])
        let path: (inout HandMadeCall) -> Void = {
            $0.see(.network(pathUp: false, pathDown: false, lineUp: true, lineDown: true), at: .seconds(4))
        }
        #expect(gap(.milliseconds(1_500), before: path).breaksOnly(.heard))
    }

    @Test func aLineThatWasCutCarriesNothing() {
        let cut: (inout HandMadeCall) -> Void = {
            $0.call.scenario.faults = [Fault(anchor: .milestone(.start), verb: .cutReset)]
            $0.see(.fault(index: 0, isBeginning: true), at: .seconds(4))
            $0.see(.network(pathUp: false, pathDown: false, lineUp: true, lineDown: true), at: .seconds(4))
        }
        #expect(gap(.milliseconds(1_500), before: cut).violations == [])
    }

    @Test(arguments: [0, 10]) func aCarriageCountsWhenItHasBeenGoodForTwoRoundTripsAndASecond(_ more: Int64) {
        // Good again from 4 s on: it counts from 5.1 s on, and the limit is 460 ms.
        let call = gap(
            .milliseconds(1_560 + more),
            before: {
                $0.see(
                    .network(pathUp: false, pathDown: false, lineUp: false, lineDown: false), at: .milliseconds(3_990))
                $0.see(.network(pathUp: true, pathDown: true, lineUp: true, lineDown: true), at: .seconds(4))
            })
        #expect(call.violations.map(\.invariant) == (more == 0 ? [] : [.heard]))
    }

    @Test func aRebindingCostsTwoRoundTripsAndAHundredMilliseconds() {
        let rebound: (inout HandMadeCall) -> Void = {
            $0.call.scenario.faults = [Fault(anchor: .milestone(.start), verb: .rebind)]
            $0.see(.fault(index: 0, isBeginning: true), at: .milliseconds(3_990))
        }
        #expect(gap(.milliseconds(200), before: rebound).violations == [])
        #expect(gap(.milliseconds(210), before: rebound).breaksOnly(.heard))
    }

    @Test func silenceOfATalkerIsNoGap() {
        var call = HandMadeCall()
        call.becomeActive(on: .webrtc)
        call.talk(from: .seconds(1), to: .seconds(4))
        for tick: Int64 in 0..<200 {
            call.see(.played(.client, tick < 9 ? .concealed : .silence), at: .seconds(4) + .milliseconds(10 * tick))
        }
        call.hangUp(at: .seconds(6))
        #expect(call.violations == [])
    }

    @Test func theLongestGapIsTold() {
        var judge = Judge()
        #expect(judge.judge(gap(.milliseconds(300)).call).longestGap == .milliseconds(300))
    }
}
