import CallSimulation
import ICELite
import Testing
import Transport

@Suite struct InvariantCalmTests {
    private func calm(_ what: Observation..., isCalm: Bool = true) -> HandMadeCall {
        var call = HandMadeCall()
        call.call.scenario.isCalm = isCalm
        call.becomeActive(on: .webrtc)
        for one in what { call.see(one, at: .seconds(2)) }
        call.hangUp(at: .milliseconds(2_100))
        return call
    }

    @Test func onACalmNetworkNothingRecoversOrRestarts() {
        #expect(calm().violations == [])
        #expect(calm(.state(.client, .active, isRecovering: true)).breaksOnly(.calm))
        #expect(calm(.state(.client, .active, isRecovering: true), isCalm: false).violations == [])
        #expect(calm(.milestone(.restartSent)).breaksOnly(.calm))
    }

    @Test func aSuspicionIsCounted() {
        var judge = Judge()
        let call = calm(
            .bridge(.client, isAsked: true), .bridge(.server, isAsked: true), .bridge(.server, isAsked: false),
            .bridge(.client, isAsked: false), .bridge(.client, isAsked: true))
        #expect(judge.judge(call.call).calmSuspicions == 2)
    }

    @Test func aCalmCallFallsBackOnlyWhereItsEndsSaySo() {
        let fallback = TransportFallback(reason: .serverDeclined, stage: .answer, elapsed: .zero, detail: "")
        for answer in [Scenario.ServerPart.Answer.declined, .usable] {
            var call = HandMadeCall()
            call.call.scenario.isCalm = true
            call.call.scenario.server.answer = answer
            call.becomeActive(on: .websocket, fallback: fallback)
            call.hangUp(at: .seconds(2))
            #expect(call.violations.map(\.invariant).contains(.calm) == (answer == .usable))
        }
    }
}
