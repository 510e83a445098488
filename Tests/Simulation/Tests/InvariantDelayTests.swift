import CallSimulation
import ICELite
import Testing
import Transport

@Suite struct InvariantDelayTests {
    @Test(arguments: [860.0, 860.001, .nan, .infinity]) func whatIsHeardIsNotOld(_ delay: Double) {
        var call = HandMadeCall()
        call.becomeActive(on: .webrtc)
        var figures = CallFigures()
        figures.playoutDelay = delay
        call.see(.figures(.client, figures), at: .seconds(2))
        call.hangUp(at: .seconds(4))
        #expect(call.violations.map(\.invariant) == (delay == 860 ? [] : [.delay]))
    }

    @Test(arguments: [0, 1_000]) func aHoldMayPushItForOneAndAHalfSeconds(_ late: Nanoseconds) {
        var call = HandMadeCall()
        call.call.scenario.faults = [Fault(anchor: .milestone(.start), verb: .hold)]
        call.becomeActive(on: .webrtc)
        call.see(.fault(index: 0, isBeginning: false), at: .seconds(2))
        var figures = CallFigures()
        figures.playoutDelay = 2_000
        call.see(.figures(.client, figures), at: .milliseconds(3_500) + late)
        call.hangUp(at: .seconds(4))
        #expect(call.violations.map(\.invariant) == (late == 0 ? [] : [.delay]))
    }

    @Test(arguments: [0, 1_000]) func aFrameIsHandedToTheLineWithin120Milliseconds(_ late: Nanoseconds) {
        var call = HandMadeCall()
        call.becomeActive(on: .webrtc)
        call.see(.captured(.server, frame: 1), at: .seconds(2))
        // The rest of a frame that was begun has to follow whenever there is room.
        let begunAt = Instant(nanoseconds: .milliseconds(2_120) + late)
        call.see(.handed(.server, frame: 1, begunAt: begunAt), at: .milliseconds(2_500))
        call.hangUp(at: .seconds(4))
        #expect(call.violations.map(\.invariant) == (late == 0 ? [] : [.delay]))
    }
}
