import CallSimulation
import ICELite
import Testing
import Transport

@Suite struct InvariantBoundedTests {
    private func active() -> HandMadeCall {
        var call = HandMadeCall()
        call.becomeActive(on: .webrtc)
        call.see(.arrived(.client, .path(HandMadeCall.path), byteCount: 100, frame: nil), at: .seconds(1))
        return call
    }

    private func sending(_ count: Int64, within length: Nanoseconds) -> HandMadeCall {
        var call = active()
        for index in 0..<count {
            call.see(
                .sent(.client, .path(HandMadeCall.path), byteCount: 100, frame: nil),
                at: .seconds(2) + length * index / (count - 1))
        }
        call.hangUp(at: .seconds(4))
        return call
    }

    @Test func anEndSends180PacketsASecond() {
        #expect(sending(181, within: .seconds(1)).violations == [])
        #expect(sending(181, within: .seconds(1) - 1_000).breaksOnly(.bounded))
    }

    /// `end` sends each of 60 frames to `tuples` addresses, and 70 other packets, within a second.
    private func moving(_ end: CallEnd, tuples: UInt16) -> HandMadeCall {
        var call = active()
        for index in 0..<Int64(70) {
            let at = Nanoseconds.seconds(2) + .milliseconds(14 * index)
            call.see(.sent(end, .path(HandMadeCall.path), byteCount: 100, frame: nil), at: at)
            guard index < 60 else { continue }
            let frame = UInt32(index + 1)
            call.see(.captured(end, frame: frame), at: at)
            for tuple in 0..<tuples {
                var path = HandMadeCall.path
                path.remote.port += tuple
                call.see(.arrived(.client, .path(path), byteCount: 80, frame: nil), at: at)
                call.see(.sent(end, .path(path), byteCount: 100, frame: frame), at: at)
            }
        }
        call.hangUp(at: .seconds(4))
        return call
    }

    @Test func theServerSendsToTwoTuplesWhileThePathMoves() {
        #expect(moving(.server, tuples: 2).violations == [])
        #expect(moving(.server, tuples: 3).breaksOnly(.bounded))
        #expect(moving(.client, tuples: 2).breaksOnly(.bounded))
    }

    @Test(arguments: [60, 61]) func answersToMoreChecksThanAClientSendsAreThePeers(_ answers: Int) {
        var call = sending(181, within: .milliseconds(900))
        var figures = CallFigures()
        figures.answersSent = answers
        call.see(.figures(.client, figures), at: .milliseconds(2_950))
        #expect(call.violations.map(\.invariant) == (answers == 60 ? [.bounded] : []))
    }

    @Test(arguments: [60, 61]) func anEndSends60ChecksASecond(_ checks: Int) {
        var call = active()
        var figures = CallFigures()
        call.see(.figures(.client, figures), at: .seconds(2))
        figures.checksSent = checks
        call.see(.figures(.client, figures), at: .seconds(3))
        call.hangUp(at: .seconds(4))
        #expect(call.violations.map(\.invariant) == (checks == 60 ? [] : [.bounded]))
    }

    @Test(arguments: [0, 1]) func theLineQueuesUpToItsLimit(_ more: Int) {
        var call = active()
        var figures = CallFigures()
        figures.lineBytesQueued = (1 << 20) + 256 * 1_024 + more
        call.see(.figures(.client, figures), at: .seconds(2))
        call.hangUp(at: .seconds(4))
        #expect(call.violations.map(\.invariant) == (more == 0 ? [] : [.bounded]))
    }

    @Test(arguments: [0, 1_000]) func aBridgeEndsWhenThePathIsGood(_ late: Nanoseconds) {
        var call = active()
        call.see(.bridge(.client, isAsked: true), at: .seconds(2))
        // 3.5 s and four round trips of 50 ms.
        call.see(.figures(.client, CallFigures()), at: .milliseconds(5_700) + late)
        call.hangUp(at: .seconds(6))
        #expect(call.violations.map(\.invariant) == (late == 0 ? [] : [.bounded]))
    }

    @Test func aBridgeIsMeasuredFromItsOwnBeginning() {
        var call = active()
        // The server's goes on in the client's eyes: the line never says that it is off.
        call.see(.bridge(.server, isAsked: true), at: .seconds(2))
        call.see(.bridge(.server, isAsked: false), at: .seconds(4))
        call.see(.bridge(.client, isAsked: true), at: .milliseconds(5_500))
        call.see(.figures(.client, CallFigures()), at: .milliseconds(5_900))
        call.see(.bridge(.client, isAsked: false), at: .milliseconds(7_500))
        call.hangUp(at: .seconds(8))
        #expect(call.violations == [])
    }

    @Test(arguments: [0, 1_000]) func anEndedCallIsSilentAfterASecond(_ late: Nanoseconds) {
        var call = active()
        call.hangUp(at: .seconds(4))
        call.see(.sent(.client, .path(HandMadeCall.path), byteCount: 100, frame: nil), at: .seconds(5) + late)
        #expect(call.violations.map(\.invariant) == (late == 0 ? [] : [.bounded]))
    }

    /// A refused call, seen for three seconds from the refusal on.
    private func refused() -> HandMadeCall {
        var call = HandMadeCall()
        call.call.scenario.server.refusal = 503
        call.call.facts.refusedAt = Instant(nanoseconds: .seconds(1))
        call.see(
            .state(.client, .ended, isRecovering: false), .outcome(.client, .failed(message: "refused")),
            at: .seconds(4))
        return call
    }

    @Test(arguments: [0, 1_000]) func aRefusedLineLeavesNoCall(_ late: Nanoseconds) {
        var call = refused()
        call.call.facts.refusedCallEndedAt = Instant(nanoseconds: .seconds(2) + late)
        #expect(call.violations.map(\.invariant) == (late == 0 ? [] : [.bounded]))
    }

    @Test func aRefusedLineThatKeepsItsCallForGoodIsSeen() { #expect(refused().breaksOnly(.bounded)) }

    @Test(arguments: [50, 51]) func aSecondOfAudioWaitsForAChoice(_ packets: Int) {
        var call = active()
        var figures = CallFigures()
        figures.packetsParked = packets
        call.see(.figures(.client, figures), at: .seconds(2))
        call.hangUp(at: .seconds(4))
        #expect(call.violations.map(\.invariant) == (packets == 50 ? [] : [.bounded]))
    }

    @Test func nothingIsLeft() {
        for change: (inout CallFacts) -> Void in [
            { $0.clientWaits = true }, { $0.serverWaits = true }, { $0.packetsLeft = 1 },
            { $0.clientKeepsLine = true }, { $0.serverKeepsLine = true },
        ] {
            var call = HandMadeCall.calm()
            change(&call.call.facts)
            #expect(call.breaksOnly(.bounded))
        }
    }
}
