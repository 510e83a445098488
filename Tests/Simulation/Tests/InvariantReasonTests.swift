import CallSimulation
import ICELite
import Testing
import Transport

@Suite struct InvariantReasonTests {
    private static func fallback(
        _ reason: TransportFallbackReason, _ stage: FallbackStage = .checks, elapsed: Duration = .seconds(4)
    ) -> TransportFallback {
        TransportFallback(reason: reason, stage: stage, elapsed: elapsed, detail: "")
    }

    /// A call that fell back at set-up, and of which `facts` are true.
    private func fallenBack(
        _ fallback: TransportFallback?, on transport: TransportKind = .websocket,
        _ change: (inout ObservedCall) -> Void = { _ in }
    ) -> HandMadeCall {
        var call = HandMadeCall()
        call.becomeActive(on: transport, fallback: fallback)
        call.hangUp(at: .seconds(2))
        change(&call.call)
        return call
    }

    @Test func aReasonIsThereExactlyWhenWebRTCWasWantedAndIsNot() {
        #expect(fallenBack(Self.fallback(.iceNoResponse)).violations == [])
        #expect(fallenBack(nil).breaksOnly(.reason))
        #expect(fallenBack(Self.fallback(.iceNoResponse), on: .webrtc).breaksOnly(.reason))
        #expect(fallenBack(nil) { $0.scenario.client.preference = .websocket }.violations == [])
        #expect(fallenBack(nil) { $0.scenario.server.answer = .standard }.violations == [])
    }

    @Test func bothEndsHoldTheSameReason() {
        var call = HandMadeCall()
        call.becomeActive(on: .websocket, fallback: Self.fallback(.iceNoResponse))
        call.call.observations.removeAll { if case .choice(.server, _, _, _) = $0.what { true } else { false } }
        call.see(.choice(.server, epoch: 1, .websocket, Self.fallback(.udpBlocked)), at: .seconds(1))
        call.hangUp(at: .seconds(2))
        #expect(call.breaksOnly(.reason))
    }

    @Test func aReasonOnceSetStays() {
        var call = HandMadeCall()
        call.call.facts.wasFallbackRequested = true
        call.becomeActive(on: .websocket, fallback: Self.fallback(.iceNoResponse))
        for end in CallEnd.allCases {
            call.see(.choice(end, epoch: 2, .websocket, Self.fallback(.serverRequested)), at: .milliseconds(1_100))
        }
        call.hangUp(at: .seconds(2))
        #expect(call.breaksOnly(.reason))
    }

    /// A reason given in the middle of a call that ran on WebRTC.
    private func changed(
        _ reason: TransportFallbackReason, recovery: RecoveryPolicy = .continueOnWebSocket
    ) -> HandMadeCall {
        var call = HandMadeCall()
        call.call.scenario.client.recovery = recovery
        call.call.facts.wasFallbackRequested = true
        call.becomeActive(on: .webrtc)
        for end in CallEnd.allCases {
            call.see(.choice(end, epoch: 2, .websocket, Self.fallback(reason, .recovery)), at: .milliseconds(1_100))
        }
        call.hangUp(at: .seconds(2))
        return call
    }

    @Test func afterActiveTwoReasonsAreAllowedAndNoneWhereTheCallIsToEnd() {
        #expect(changed(.serverRequested).violations == [])
        #expect(changed(.recoveryFailed).violations == [])
        #expect(changed(.iceNoResponse).breaksOnly(.reason))
        #expect(changed(.serverRequested, recovery: .endCall).breaksOnly(.reason))
    }

    @Test(arguments: [0, 1_000]) func recoveryHasFailedOnlyWhereThePathIsNotBack(_ late: Nanoseconds) {
        var call = HandMadeCall()
        call.becomeActive(on: .webrtc)
        call.see(.network(pathUp: false, pathDown: true, lineUp: true, lineDown: true), at: .seconds(3))
        call.see(.network(pathUp: true, pathDown: true, lineUp: true, lineDown: true), at: .seconds(10))
        for end in CallEnd.allCases {
            call.see(
                .choice(end, epoch: 2, .websocket, Self.fallback(.recoveryFailed, .recovery)),
                at: .seconds(13) + late)
        }
        call.hangUp(at: .seconds(14))
        #expect(call.violations.map(\.invariant) == (late == 0 ? [] : [.reason]))
    }

    @Test func aClientThatSleepsKnowsNothingOfAPathThatIsBack() {
        var call = HandMadeCall()
        call.call.scenario.faults = [Fault(anchor: .milestone(.active), verb: .suspend)]
        call.becomeActive(on: .webrtc)
        call.see(.network(pathUp: false, pathDown: true, lineUp: true, lineDown: true), at: .seconds(3))
        call.see(.fault(index: 0, isBeginning: true), at: .seconds(4))
        call.see(.network(pathUp: true, pathDown: true, lineUp: true, lineDown: true), at: .seconds(5))
        call.see(.fault(index: 0, isBeginning: false), at: .seconds(13))
        for end in CallEnd.allCases {
            call.see(.choice(end, epoch: 2, .websocket, Self.fallback(.recoveryFailed, .recovery)), at: .seconds(13))
        }
        call.hangUp(at: .seconds(14))
        #expect(call.violations.map(\.invariant) == [])
    }

    /// A reason, what makes it true, and what makes it a lie.
    struct Case: Sendable, CustomTestStringConvertible {
        var reason: TransportFallbackReason
        var stage = FallbackStage.checks
        var truth: @Sendable (inout ObservedCall) -> Void
        var lie: @Sendable (inout ObservedCall) -> Void
        var testDescription: String { reason.wire }
    }

    static let cases: [Case] = [
        Case(reason: .moduleMissing) {
            $0.scenario.client.preference = .webrtc
            $0.scenario.client.hasMediaPath = false
        } lie: {
            $0.scenario.client.preference = .webrtc
        },
        Case(reason: .agentStandard) {
            $0.scenario.client.preference = .webrtc
            $0.scenario.server.answer = .standard
        } lie: {
            $0.scenario.client.preference = .webrtc
        },
        Case(reason: .serverUnsupported) {
            $0.scenario.server.answer = .missing
        } lie: { _ in
        },
        Case(reason: .serverDeclined) {
            $0.scenario.server.answer = .declined
        } lie: { _ in
        },
        Case(reason: .answerInvalid) {
            $0.scenario.server.answer = .actpass
        } lie: { _ in
        },
        Case(reason: .noCandidates) { _ in
        } lie: {
            $0.facts.pairsChecked = 1
        },
        Case(reason: .udpBlocked) {
            $0.facts.pairsChecked = 2
            $0.facts.pairsRefused = 2
        } lie: {
            $0.facts.pairsChecked = 2
            $0.facts.pairsRefused = 1
        },
        Case(reason: .udpBlocked) {
            $0.facts.pairsChecked = 3
            $0.facts.pairsRefused = 2
            $0.facts.pairsGone = 1
        } lie: {
            $0.facts.pairsChecked = 1
            $0.facts.pairsGone = 1
        },
        Case(reason: .iceNoResponse) { _ in
        } lie: {
            $0.facts.checkAnswersDelivered = 1
        },
        Case(reason: .iceRejected) {
            $0.facts.checkErrorsDelivered = 1
        } lie: { _ in
        },
        Case(reason: .dtlsTimeout) {
            $0.facts.checkAnswersDelivered = 1
            removeHandshake(&$0)
        } lie: {
            $0.facts.checkAnswersDelivered = 1
        },
        Case(reason: .dtlsFailed) {
            $0.facts.isCertificateSwapped = true
        } lie: { _ in
        },
        Case(reason: .dtlsFingerprintMismatch) {
            $0.facts.isCertificateSwapped = true
        } lie: { _ in
        },
        Case(reason: .srtpProfileMismatch) {
            $0.facts.lacksCommonProfile = true
        } lie: { _ in
        },
        Case(reason: .mediaTimeout, stage: .downlink) { _ in
        } lie: {
            $0.facts.mediaDeliveredDownBeforeChoice = 1
        },
        Case(reason: .serverRequested) {
            $0.facts.wasFallbackRequested = true
        } lie: { _ in
        },
    ]

    private static func removeHandshake(_ call: inout ObservedCall) {
        call.observations.removeAll { if case .milestone(.dtlsDone) = $0.what { true } else { false } }
    }

    @Test(arguments: cases) func aReasonIsTrue(_ example: Case) {
        let fallback = Self.fallback(example.reason, example.stage)
        #expect(fallenBack(fallback, example.truth).violations == [])
        #expect(fallenBack(fallback, example.lie).breaksOnly(.reason))
    }

    @Test func theBudgetMustHaveEndedForASetupTimeout() {
        #expect(fallenBack(Self.fallback(.setupTimeout, elapsed: .seconds(12))).violations == [])
        #expect(fallenBack(Self.fallback(.setupTimeout, elapsed: .seconds(12) - .microseconds(1))).breaksOnly(.reason))
    }

    @Test func nothingInsideIsAtFaultInASimulation() {
        #expect(fallenBack(Self.fallback(.internalError)).breaksOnly(.reason))
        #expect(fallenBack(Self.fallback(.unknown("new"))).breaksOnly(.reason))
    }
}
