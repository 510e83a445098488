import CallSimulation
import ICELite
import Testing
import Transport

@Suite struct CoverageTests {
    private func tally(_ calls: HandMadeCall...) -> CoverageTally {
        var judge = Judge()
        var tally = CoverageTally()
        for call in calls { tally.add(judge.judge(call.call), of: call.call) }
        return tally
    }

    private func fallenBack() -> HandMadeCall {
        let fallback = TransportFallback(reason: .iceNoResponse, stage: .checks, elapsed: .zero, detail: "")
        var call = HandMadeCall()
        call.call.scenario.faults = [Fault(anchor: .milestone(.active), verb: .cutReset)]
        call.becomeActive(on: .websocket, fallback: fallback)
        call.see(.fault(index: 0, isBeginning: true), at: .seconds(2))
        call.hangUp(at: .seconds(3))
        return call
    }

    @Test func callsAreCountedByWhatTheyMet() {
        let tally = tally(.calm(), fallenBack(), fallenBack())
        #expect(tally.calls == 3)
        #expect(tally.calls(fallenBackFor: .iceNoResponse) == 2)
        #expect(tally.calls(fallenBackFor: .udpBlocked) == 0)
        #expect(tally.times(.cutReset, met: .activeOnLine) == 2)
        #expect(tally.times(.cutReset, met: .activeOnPath) == 0)
        #expect(tally.calls(with: .lineCutOnTheWebSocket) == 2)
        #expect(tally.calls(breaking: .reason) == 0)
        #expect(tally.heardRatio == 1)
    }

    @Test func talliesOfProcessesAddUp() {
        var first = tally(.calm(), fallenBack())
        let second = tally(fallenBack())
        first.add(second)
        #expect(first.numbers == tally(.calm(), fallenBack(), fallenBack()).numbers)
        #expect(CoverageTally(numbers: first.numbers)?.numbers == first.numbers)
        #expect(CoverageTally(numbers: [1, 2]) == nil)
    }

    @Test func aBrokenRuleIsCountedOnceACall() {
        var broken = fallenBack()
        broken.call.facts.checkAnswersDelivered = 1
        let tally = tally(broken, .calm())
        #expect(tally.calls(breaking: .reason) == 1)
        #expect(tally.violatingCalls == 1)
    }

    @Test func whatIsNeverMetIsNamed() {
        let report = CoverageReport(tally(.calm(), fallenBack()))
        #expect(report.blindSpots.contains("never: bridge asked by both"))
        #expect(report.blindSpots.contains("ice_no_response: 1 of 20"))
        #expect(report.blindSpots.contains("outages in 0 of 2 calls only"))
        #expect(report.blindSpots.contains("internal_error: 0 of 20"))
        #expect(report.lines.contains { $0.hasPrefix("cut-rst") && $0.contains(" 1-") })
    }
}
