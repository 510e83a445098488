import CallSimulation
import ICELite
import Testing
import Transport

@Suite struct SometimesTests {
    private func situations(_ call: HandMadeCall) -> SometimesSet {
        var judge = Judge()
        return judge.judge(call.call).situations
    }

    private func fallback(_ reason: TransportFallbackReason, elapsed: Duration = .seconds(3)) -> TransportFallback {
        TransportFallback(reason: reason, stage: .checks, elapsed: elapsed, detail: "")
    }

    @Test func everySituationHasABitOfItsOwn() {
        #expect(Sometimes.allCases.count <= 64)
        for situation in Sometimes.allCases {
            var set = SometimesSet()
            set.insert(situation)
            #expect(Sometimes.allCases.filter(set.contains) == [situation])
        }
    }

    @Test func aCalmCallMeetsOnlyItsHangUp() {
        var expected = SometimesSet()
        expected.insert(.hangUpOnThePath)
        #expect(situations(.calm()) == expected)
    }

    @Test func aLateSuccessIsSeen() {
        var call = HandMadeCall()
        call.becomeActive(on: .websocket, fallback: fallback(.iceNoResponse))
        call.see(.arrived(.client, .path(HandMadeCall.path), byteCount: 100, frame: 1), at: .seconds(2))
        #expect(situations(call).contains(.lateSuccessAfterSelect))
    }

    @Test(arguments: [true, false]) func aPacketAndADeadlineMeetInEitherOrder(_ isPacketFirst: Bool) {
        var call = HandMadeCall()
        let arrival = Observation.arrived(.client, .path(HandMadeCall.path), byteCount: 100, frame: nil)
        if isPacketFirst { call.see(arrival, at: .seconds(3)) }
        call.see(.choice(.client, epoch: 1, .websocket, fallback(.iceNoResponse)), at: .seconds(3))
        if !isPacketFirst { call.see(arrival, at: .seconds(3)) }
        let seen = situations(call)
        #expect(seen.contains(.packetThenDeadlineAtOneInstant) == isPacketFirst)
        #expect(seen.contains(.deadlineThenPacketAtOneInstant) == !isPacketFirst)
    }

    @Test func anOutageHasItsCauseItsCourseAndItsEnd() {
        var call = HandMadeCall()
        var drop = Fault(anchor: .milestone(.active), verb: .drop)
        drop.length = .seconds(3)
        call.call.scenario.faults = [drop]
        call.becomeActive(on: .webrtc)
        call.see(.fault(index: 0, isBeginning: true), at: .seconds(2))
        call.see(.network(pathUp: false, pathDown: true, lineUp: true, lineDown: true), at: .seconds(2))
        call.see(.bridge(.server, isAsked: true), at: .milliseconds(2_350))
        call.see(.bridge(.client, isAsked: true), at: .milliseconds(2_380))
        call.see(.state(.client, .active, isRecovering: true), at: .seconds(3))
        call.see(.fault(index: 0, isBeginning: false), at: .seconds(5))
        call.see(.state(.client, .active, isRecovering: false), at: .seconds(6))
        call.see(.bridge(.client, isAsked: false), at: .seconds(6))
        call.see(.bridge(.server, isAsked: false), at: .seconds(6))
        call.see(.bridge(.server, isAsked: true), at: .seconds(10))
        call.see(.bridge(.server, isAsked: false), at: .seconds(20))
        call.hangUp(at: .seconds(21))
        let seen = situations(call)
        for situation in [
            Sometimes.outageByDrop, .outageOfOneDirection, .bridgeAskedByBoth, .bridgeAskedByBothWithinARoundTrip,
            .recovered, .twoOutages, .secondOutageWithinFiveSeconds, .bridgeAskedByTheServerAlone, .falseAlarm,
        ] { #expect(seen.contains(situation), "\(situation)") }
        for situation in [Sometimes.outageByHold, .outageByRebinding, .recoveredInItsLast100Milliseconds] {
            #expect(!seen.contains(situation), "\(situation)")
        }
    }

    @Test(arguments: [9_899, 9_900]) func aLastMomentRecoveryIsSeen(_ length: Int64) {
        var call = HandMadeCall()
        call.becomeActive(on: .webrtc)
        call.see(.state(.client, .active, isRecovering: true), at: .seconds(2))
        call.see(.state(.client, .active, isRecovering: false), at: .seconds(2) + .milliseconds(length))
        #expect(situations(call).contains(.recoveredInItsLast100Milliseconds) == (length == 9_900))
    }

    @Test func aHangUpIsCountedByTheStateItMet() {
        let states: [(Sometimes, (inout HandMadeCall) -> Void)] = [
            (.hangUpWhileOpening, { $0.see(.milestone(.start), at: 0) }),
            (.hangUpWhileWelcoming, { $0.see(.milestone(.lineOpen), at: 0) }),
            (.hangUpWhileNegotiating, { $0.see(.milestone(.welcome), at: 0) }),
            (.hangUpBetweenSelectAndSelected, { $0.see(.choice(.client, epoch: 1, .webrtc, nil), at: 0) }),
            (.hangUpOnThePath, { $0.becomeActive(on: .webrtc) }),
            (.hangUpOnTheLine, { $0.becomeActive(on: .websocket) }),
            (
                .hangUpWhileBridged,
                {
                    $0.becomeActive(on: .webrtc)
                    $0.see(.bridge(.client, isAsked: true), at: .seconds(2))
                }
            ),
            (
                .hangUpWhileRecovering,
                {
                    $0.becomeActive(on: .webrtc)
                    $0.see(.state(.client, .active, isRecovering: true), at: .seconds(2))
                }
            ),
        ]
        for (situation, prepare) in states {
            var call = HandMadeCall()
            prepare(&call)
            call.hangUp(at: .seconds(3))
            let seen = situations(call)
            for (other, _) in states { #expect(seen.contains(other) == (other == situation), "\(situation), \(other)") }
        }
    }
}
