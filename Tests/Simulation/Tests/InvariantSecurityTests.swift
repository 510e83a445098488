import CallSimulation
import ICELite
import Testing
import Transport

@Suite struct InvariantSecurityTests {
    private func sending(after silence: Nanoseconds?, stall: Nanoseconds = 0) -> HandMadeCall {
        var call = HandMadeCall()
        call.call.scenario.client.stall = stall
        call.becomeActive(on: .webrtc)
        if silence != nil {
            call.see(.arrived(.client, .path(HandMadeCall.path), byteCount: 80, frame: nil), at: .seconds(1))
        }
        let at = Nanoseconds.seconds(1) + (silence ?? 0)
        call.see(.captured(.client, frame: 1), at: at)
        call.see(.sent(.client, .path(HandMadeCall.path), byteCount: 100, frame: 1), at: at)
        call.hangUp(at: at)
        return call
    }

    @Test func nothingIsSentWhereNobodyHasAnsweredFor30Seconds() {
        #expect(sending(after: .seconds(30)).violations == [])
        #expect(sending(after: .seconds(30) + 1_000).breaksOnly(.security))
        #expect(sending(after: nil).breaksOnly(.security))
    }

    @Test func anAnswerThatIsReadLateCountsFromThen() {
        #expect(sending(after: .seconds(30) + .milliseconds(6), stall: .milliseconds(6)).violations == [])
        #expect(sending(after: .seconds(30) + .milliseconds(6) + 1, stall: .milliseconds(6)).breaksOnly(.security))
    }

    @Test(arguments: [0, 1]) func mediaGoesOnlyWhereACheckCameFrom(_ count: Int) {
        var call = HandMadeCall.calm()
        call.call.facts.mediaSentUnchecked = count
        #expect(call.violations.map(\.invariant) == (count == 0 ? [] : [.security]))
    }
}
