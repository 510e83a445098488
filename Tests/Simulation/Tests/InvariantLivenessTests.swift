import CallSimulation
import ICELite
import Testing
import Transport

@Suite struct InvariantLivenessTests {
    /// A call whose faults stop at 5 s: 12 s later it is judged.
    private func healing() -> HandMadeCall {
        var call = HandMadeCall()
        call.call.facts.healingSince = Instant(nanoseconds: .seconds(5))
        call.becomeActive(on: .webrtc)
        return call
    }

    @Test(arguments: [0, 1_000]) func itRecoversWithinTwelveSeconds(_ late: Nanoseconds) {
        var call = healing()
        call.see(.state(.client, .active, isRecovering: true), at: .seconds(10))
        call.see(.state(.client, .active, isRecovering: false), at: .seconds(17) + late)
        call.hangUp(at: .seconds(18))
        #expect(call.violations.map(\.invariant) == (late == 0 ? [] : [.liveness]))
    }

    @Test func itRunsOnOneCarriage() {
        var call = healing()
        call.see(.bridge(.server, isAsked: true), at: .seconds(16))
        call.hangUp(at: .milliseconds(17_500))
        #expect(call.breaksOnly(.liveness))
    }

    @Test(arguments: [500, 510]) func itHasNoGaps(_ gap: Int64) {
        var call = healing()
        // Where rule 5 has nothing to say: no carriage is told to be good.
        call.see(.network(pathUp: false, pathDown: false, lineUp: false, lineDown: false), at: .seconds(15))
        call.talk(from: .seconds(15), to: .seconds(18))
        call.talk(from: .seconds(18), to: .seconds(18) + .milliseconds(gap), deaf: [.client])
        call.talk(from: .seconds(18) + .milliseconds(gap), to: .seconds(19))
        call.hangUp(at: .seconds(19))
        #expect(call.violations.map(\.invariant) == (gap == 500 ? [] : [.liveness]))
    }

    @Test func itFailsLaterOnlyForALineThatIsGone() {
        var call = healing()
        call.see(.arrived(.client, .line(0), byteCount: 4, frame: nil), at: .seconds(2))
        call.see(.arrived(.server, .line(0), byteCount: 4, frame: nil), at: .seconds(2))
        let outcome = CallOutcome.ended(.failed(message: "line lost"))
        for end in CallEnd.allCases {
            call.see(.state(end, .ended, isRecovering: false), .outcome(end, outcome), at: .seconds(42))
        }
        #expect(call.violations == [])
    }

    @Test(arguments: [AudioCarriage.path, .line]) func onlyTheCarriageThatWasMadeGoodHasToStay(_ good: AudioCarriage) {
        var call = healing()
        call.call.facts.healedCarriage = good
        call.see(.bridge(.server, isAsked: true), at: .seconds(16))
        call.hangUp(at: .milliseconds(17_500))
        #expect(call.violations.map(\.invariant) == (good == .line ? [] : [.liveness]))
    }

    @Test func anOutageFromBeforeIsOverOnEitherCarriage() {
        var call = healing()
        call.call.facts.healedCarriage = .line
        call.see(.bridge(.server, isAsked: true), at: .milliseconds(4_900))
        call.hangUp(at: .milliseconds(17_500))
        #expect(call.breaksOnly(.liveness))
    }

    /// A call on the WebSocket whose client has heard nothing for `silence` as it fails, and whose server follows.
    private func failingOnTheLine(good: AudioCarriage, silence: Nanoseconds) -> HandMadeCall {
        var call = HandMadeCall()
        call.call.scenario.client.preference = .websocket
        call.call.facts.healingSince = Instant(nanoseconds: .seconds(5))
        call.call.facts.healedCarriage = good
        call.becomeActive(on: .websocket)
        let outcome = CallOutcome.ended(.failed(message: "line lost"))
        call.see(.arrived(.client, .line(0), byteCount: 4, frame: nil), at: .seconds(20))
        call.see(.arrived(.server, .line(0), byteCount: 4, frame: nil), at: .seconds(20))
        call.see(.arrived(.server, .line(0), byteCount: 4, frame: nil), at: .seconds(20) + silence)
        for end in CallEnd.allCases {
            call.see(.state(end, .ended, isRecovering: false), .outcome(end, outcome), at: .seconds(20) + silence)
        }
        return call
    }

    @Test func aLineThatWasNotMadeGoodMayDie() {
        #expect(failingOnTheLine(good: .path, silence: .seconds(10)).violations == [])
        #expect(failingOnTheLine(good: .path, silence: .seconds(10) - 1).breaksOnly(.liveness))
        #expect(failingOnTheLine(good: .line, silence: .seconds(10)).breaksOnly(.liveness))
    }

    @Test(arguments: [AudioCarriage.path, .line]) func whoIsActiveFailsWithSetUpOnALineThatWasNotMadeGood(
        _ good: AudioCarriage
    ) {
        var call = HandMadeCall()
        call.call.scenario.client.preference = .websocket
        call.call.facts.healingSince = Instant(nanoseconds: .seconds(5))
        call.call.facts.healedCarriage = good
        call.becomeActive(on: .websocket)
        call.call.observations.removeAll { if case .state(.client, .active, _) = $0.what { true } else { false } }
        call.see(
            .state(.client, .ended, isRecovering: false), .outcome(.client, .failed(message: "not active")),
            at: .seconds(16))
        call.see(
            .state(.server, .ended, isRecovering: false),
            .outcome(.server, .ended(.failed(message: "not active"))), at: .seconds(20))
        #expect(call.violations.map(\.invariant) == (good == .path ? [] : [.liveness]))
    }

    @Test(arguments: [0, 1_000]) func itFailsWithinTwelveSecondsOrNotAtAll(_ late: Nanoseconds) {
        var call = healing()
        let outcome = CallOutcome.ended(.failed(message: "lost"))
        for end in CallEnd.allCases {
            call.see(.state(end, .ended, isRecovering: false), .outcome(end, outcome), at: .seconds(17) + late)
        }
        #expect(call.violations.map(\.invariant) == (late == 0 ? [] : [.liveness]))
    }
}
