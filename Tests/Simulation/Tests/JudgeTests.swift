import CallSimulation
import ICELite
import Testing
import Transport

@Suite struct JudgeTests {
    @Test(arguments: [TransportKind.webrtc, .websocket]) func aCallWithoutAFaultBreaksNoRule(_ transport: TransportKind)
    {
        #expect(HandMadeCall.calm(on: transport).violations == [])
    }

    @Test func oneJudgeJudgesCallAfterCall() {
        var judge = Judge()
        let calm = HandMadeCall.calm()
        let broken = HandMadeCall.calm(on: .websocket)
        var wanting = broken.call
        wanting.scenario.client.preference = .auto
        #expect(judge.judge(wanting).breaks(.reason))
        #expect(judge.judge(calm.call).violations == [])
        #expect(judge.judge(wanting).breaks(.reason))
    }

    @Test func ofEachRuleTheFirstBreachIsToldAndTheOthersAreCounted() {
        var call = HandMadeCall.calm()
        call.see(.delivered(.client, message: 2), at: .seconds(4))
        call.see(.delivered(.client, message: 5), at: .seconds(5))
        var judge = Judge()
        let verdict = judge.judge(call.call)
        #expect(verdict.violations.map(\.at) == [Instant(nanoseconds: .seconds(4))])
        #expect(verdict.repeats == 1)
    }

    @Test func aBreachSaysWhatWhenAndHowMuch() {
        let violation = Violation(.heard, at: Instant(nanoseconds: 12_304_000_500), "too quiet")
        #expect(violation.description == "invariant 5 (heard if it could be), 12.304000 s: too quiet")
    }

    @Test func theOracleCountsWhatCouldBeHeardAndWhatWas() {
        var judge = Judge()
        var call = HandMadeCall()
        call.becomeActive(on: .webrtc)
        call.talk(from: .seconds(1), to: .seconds(2))
        call.talk(from: .seconds(2), to: .milliseconds(2_200), deaf: [.client])
        call.talk(from: .milliseconds(2_200), to: .seconds(4))
        call.hangUp(at: .seconds(4))
        let verdict = judge.judge(call.call)
        // Two seconds and 40 ms of frames both ways, but for the last: ten of the server's were lost.
        #expect(verdict.couldBeHeard == 2 * 102)
        #expect(verdict.heard == 2 * 102 - 10)
    }

    @Test func twoRunsOfOneScenarioMustHaveOneHash() {
        var first = CallFacts()
        first.traceHash = 7
        var second = first
        #expect(InvariantSameAgain.compare(first, second) == nil)
        second.traceHash = 8
        #expect(InvariantSameAgain.compare(first, second)?.invariant == .sameAgain)
    }
}
