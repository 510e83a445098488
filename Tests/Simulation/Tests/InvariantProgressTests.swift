import CallSimulation
import ICELite
import Testing
import Transport

@Suite struct InvariantProgressTests {
    private func seeing(_ figures: CallFigures) -> HandMadeCall {
        var call = HandMadeCall()
        call.becomeActive(on: .webrtc)
        call.see(.figures(.client, figures), at: .seconds(2))
        call.hangUp(at: .seconds(4))
        return call
    }

    @Test func aDeadlineIsNotBehindNow() {
        var figures = CallFigures()
        figures.nextDeadline = Instant(nanoseconds: .seconds(2))
        #expect(seeing(figures).violations == [])
        figures.nextDeadline = Instant(nanoseconds: .seconds(2) - 1)
        #expect(seeing(figures).breaksOnly(.progress))
    }

    @Test func everyEventIsPolledAndNobodyIsStuck() {
        var figures = CallFigures()
        figures.eventsWaiting = 1
        #expect(seeing(figures).breaksOnly(.progress))
        figures.eventsWaiting = 0
        figures.timesStuck = 1
        #expect(seeing(figures).breaksOnly(.progress))
    }

    @Test func theClockGoesOn() {
        for change: (inout CallFacts) -> Void in [
            { $0.isStuck = true }, { $0.timesStuck = 1 }, { $0.deadlinesUnmoved = 1 },
        ] {
            var call = HandMadeCall.calm()
            change(&call.call.facts)
            #expect(call.breaksOnly(.progress))
        }
    }
}
