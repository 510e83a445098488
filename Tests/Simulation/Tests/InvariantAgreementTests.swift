import CallSimulation
import ICELite
import Testing
import Transport

@Suite struct InvariantAgreementTests {
    private let fallback = TransportFallback(reason: .serverRequested, stage: .uplink, elapsed: .zero, detail: "")

    /// The client selects epoch 2 at 2 s, the server obeys `delay` later.
    private func selecting(_ delay: Nanoseconds) -> HandMadeCall {
        var call = HandMadeCall()
        call.call.facts.wasFallbackRequested = true
        call.becomeActive(on: .webrtc)
        call.see(.choice(.client, epoch: 2, .websocket, fallback), at: .seconds(2))
        call.see(.choice(.server, epoch: 2, .websocket, fallback), at: .seconds(2) + delay)
        call.hangUp(at: .seconds(3))
        return call
    }

    @Test func theServerMayBeBehindForAsLongAsAGoodLineTakes() {
        #expect(selecting(.milliseconds(400)).violations == [])
        #expect(selecting(.milliseconds(400) + 1_000).breaksOnly(.agreement))
    }

    @Test(arguments: [0, 1_000]) func whatHasComeMayWaitToBeRead(_ late: Nanoseconds) {
        var call = HandMadeCall()
        call.call.facts.wasFallbackRequested = true
        call.call.scenario.server.stall = .milliseconds(6)
        call.becomeActive(on: .webrtc)
        call.see(.sent(.client, .line(0), byteCount: 40, frame: nil), at: .seconds(2))
        call.see(.choice(.client, epoch: 2, .websocket, fallback), at: .seconds(2))
        call.see(.arrived(.server, .line(0), byteCount: 40, frame: nil), at: .milliseconds(2_420))
        call.see(.choice(.server, epoch: 2, .websocket, fallback), at: .milliseconds(2_426) + late)
        call.hangUp(at: .seconds(3))
        #expect(call.violations.map(\.invariant) == (late == 0 ? [] : [.agreement]))
    }

    @Test func onALineThatIsNotGoodNobodyNeedsToAgree() {
        var call = HandMadeCall()
        call.call.facts.wasFallbackRequested = true
        call.becomeActive(on: .webrtc)
        call.see(.network(pathUp: true, pathDown: true, lineUp: true, lineDown: false), at: .milliseconds(1_900))
        call.see(.choice(.client, epoch: 2, .websocket, fallback), at: .seconds(2))
        call.hangUp(at: .seconds(3))
        #expect(call.violations == [])
    }

    @Test(arguments: [
        (CallOutcome.ended(.local), CallOutcome.ended(.remote), true),
        (.ended(.remote), .ended(.local), true),
        (.ended(.failed(message: "")), .ended(.failed(message: "")), true),
        (.ended(.remote), .ended(.remote), false),
        (.ended(.failed(message: "")), .ended(.remote), false),
    ]) func outcomesFitEachOther(_ client: CallOutcome, _ server: CallOutcome, _ fits: Bool) {
        var call = HandMadeCall()
        call.becomeActive(on: .webrtc)
        call.call.facts.byeDeliveredToServer = true
        call.call.facts.byeDeliveredToClient = true
        call.see(.state(.client, .ended, isRecovering: false), .outcome(.client, client), at: .seconds(2))
        call.see(.state(.server, .ended, isRecovering: false), .outcome(.server, server), at: .seconds(2))
        #expect(call.violations.map(\.invariant) == (fits ? [] : [.agreement]))
    }

    @Test func withoutAByeOneEndMayFailAlone() {
        var call = HandMadeCall()
        call.becomeActive(on: .webrtc)
        call.see(
            .state(.client, .ended, isRecovering: false), .outcome(.client, .ended(.failed(message: ""))),
            at: .seconds(2))
        call.see(.state(.server, .ended, isRecovering: false), .outcome(.server, .ended(.local)), at: .seconds(1) + 1)
        #expect(call.violations == [])
    }

    @Test(arguments: [0, 1_000]) func bothHangUpWithinOneWayOnly(_ late: Nanoseconds) {
        var call = HandMadeCall()
        call.becomeActive(on: .webrtc)
        call.see(.state(.client, .ended, isRecovering: false), .outcome(.client, .ended(.local)), at: .seconds(2))
        call.see(
            .state(.server, .ended, isRecovering: false), .outcome(.server, .ended(.local)),
            at: .milliseconds(2_400) + late)
        #expect(call.violations.map(\.invariant) == (late == 0 ? [] : [.agreement]))
    }

    @Test func whoHangsUpCannotKnowWhatWaitsForAMachineThatIsNotRun() {
        var call = HandMadeCall()
        var suspend = Fault(anchor: .milestone(.active), verb: .suspend)
        suspend.length = .seconds(3)
        call.call.scenario.faults = [suspend]
        call.becomeActive(on: .webrtc)
        call.see(.fault(index: 0, isBeginning: true), at: .milliseconds(1_500))
        call.see(.state(.server, .ended, isRecovering: false), .outcome(.server, .ended(.local)), at: .seconds(2))
        var late = call
        call.see(.state(.client, .ended, isRecovering: false), .outcome(.client, .ended(.local)), at: .seconds(5))
        call.see(.fault(index: 0, isBeginning: false), at: .seconds(5))
        #expect(call.violations == [])
        late.see(.fault(index: 0, isBeginning: false), at: .seconds(5))
        late.see(.state(.client, .ended, isRecovering: false), .outcome(.client, .ended(.local)), at: .seconds(5) + 1)
        #expect(late.breaksOnly(.agreement))
    }

    @Test(arguments: [1_900, 2_100]) func aLineThatIsNotGoodTellsNobodyOfAHangUp(_ badSince: Int64) {
        var call = HandMadeCall()
        call.becomeActive(on: .webrtc)
        let isBadFirst = badSince < 2_000
        let bad = Observation.network(pathUp: true, pathDown: true, lineUp: false, lineDown: false)
        if isBadFirst { call.see(bad, at: .milliseconds(badSince)) }
        call.see(.state(.client, .ended, isRecovering: false), .outcome(.client, .ended(.local)), at: .seconds(2))
        if !isBadFirst { call.see(bad, at: .milliseconds(badSince)) }
        call.see(.state(.server, .ended, isRecovering: false), .outcome(.server, .ended(.local)), at: .seconds(4))
        #expect(call.violations == [])
    }

    @Test(arguments: [100, 500]) func aLineThatIsCutBehindTheByeHasTold(_ later: Int64) {
        var call = HandMadeCall()
        call.call.scenario.faults = [Fault(anchor: .milestone(.active), verb: .cutSilent)]
        call.becomeActive(on: .webrtc)
        call.see(.state(.client, .ended, isRecovering: false), .outcome(.client, .ended(.local)), at: .seconds(2))
        call.see(.fault(index: 0, isBeginning: true), at: .seconds(2) + .milliseconds(later))
        call.see(.state(.server, .ended, isRecovering: false), .outcome(.server, .ended(.local)), at: .seconds(4))
        #expect(call.violations.map(\.invariant) == (later == 100 ? [] : [.agreement]))
    }

    @Test(arguments: [true, false]) func whoSaysThatThePeerHasEndedKnowsIt(_ isLineGood: Bool) {
        var call = HandMadeCall()
        call.becomeActive(on: .webrtc)
        if !isLineGood {
            call.see(.network(pathUp: true, pathDown: true, lineUp: false, lineDown: true), at: .milliseconds(1_900))
        }
        call.see(.state(.server, .ended, isRecovering: false), .outcome(.server, .ended(.remote)), at: .seconds(2))
        call.see(
            .state(.client, .ended, isRecovering: false), .outcome(.client, .ended(.failed(message: ""))),
            at: .milliseconds(2_100))
        #expect(call.violations.map(\.invariant) == (isLineGood ? [.agreement] : []))
    }

    @Test func failedMeansNeverActive() {
        var call = HandMadeCall()
        call.becomeActive(on: .webrtc)
        for end in CallEnd.allCases {
            call.see(.state(end, .ended, isRecovering: false), .outcome(end, .failed(message: "")), at: .seconds(2))
        }
        #expect(call.breaksOnly(.agreement))
    }

    @Test func anEndHasOneOutcome() {
        var call = HandMadeCall.calm()
        call.see(.outcome(.server, .ended(.remote)), at: .seconds(4))
        #expect(call.breaksOnly(.agreement))
        var silent = HandMadeCall()
        silent.becomeActive(on: .webrtc)
        #expect(silent.breaksOnly(.agreement))
    }
}
