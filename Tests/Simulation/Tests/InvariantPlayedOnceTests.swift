import CallSimulation
import ICELite
import Testing
import Transport
import TransportMedia

@Suite struct InvariantPlayedOnceTests {
    /// An active call in which the server has said three frames that the client has got.
    private func talked() -> HandMadeCall {
        var call = HandMadeCall()
        call.becomeActive(on: .webrtc)
        for frame: UInt32 in 1...3 {
            call.see(
                .captured(.server, frame: frame),
                .arrived(.client, .path(HandMadeCall.path), byteCount: 100, frame: frame), at: .milliseconds(1_100))
        }
        return call
    }

    private func heard(_ halves: [(UInt32, Bool)]) -> HandMadeCall {
        var call = talked()
        for (index, half) in halves.enumerated() {
            call.see(
                .played(.client, .frame(id: half.0, isFirstHalf: half.1, on: .path)),
                at: .milliseconds(1_200 + 10 * Int64(index)))
        }
        call.hangUp(at: .milliseconds(1_300))
        return call
    }

    @Test func halvesRiseAndMayBeLeftOut() {
        #expect(heard([(1, true), (1, false), (3, true), (3, false)]).violations == [])
    }

    @Test func nothingIsHeardTwiceOrBackwards() {
        #expect(heard([(1, true), (1, true)]).breaksOnly(.playedOnce))
        #expect(heard([(2, true), (2, false), (1, true)]).breaksOnly(.playedOnce))
        #expect(heard([(1, false), (1, true)]).breaksOnly(.playedOnce))
    }

    @Test func whatIsHeardWasSaid() {
        #expect(heard([(4, true)]).breaksOnly(.playedOnce))
        #expect(heard([(0, false)]).breaksOnly(.playedOnce))
    }

    /// The path is closed at 2 s, a frame comes on it `after` that and is heard.
    private func cameOnClosed(_ after: Nanoseconds) -> HandMadeCall {
        let fallback = TransportFallback(reason: .serverRequested, stage: .uplink, elapsed: .zero, detail: "")
        var call = talked()
        call.call.facts.wasFallbackRequested = true
        for end in CallEnd.allCases { call.see(.choice(end, epoch: 2, .websocket, fallback), at: .seconds(2)) }
        call.see(.captured(.server, frame: 4), at: .milliseconds(2_100))
        call.see(.arrived(.client, .path(HandMadeCall.path), byteCount: 100, frame: 4), at: .seconds(2) + after)
        call.see(.played(.client, .frame(id: 4, isFirstHalf: true, on: .path)), at: .seconds(2) + after)
        call.hangUp(at: .seconds(4))
        return call
    }

    @Test func aClosedCarriageIsWelcomeForASecond() {
        #expect(cameOnClosed(.seconds(1)).violations == [])
        #expect(cameOnClosed(.seconds(1) + 1_000).breaksOnly(.playedOnce))
    }

    @Test func theLineIsOpenWhileAnEndAsksForTheBridge() {
        for isBridged in [false, true] {
            var call = talked()
            if isBridged { call.see(.bridge(.client, isAsked: true), at: .milliseconds(2_000)) }
            call.see(.captured(.server, frame: 4), at: .milliseconds(2_100))
            call.see(.arrived(.client, .line(0), byteCount: 100, frame: 4), at: .milliseconds(2_200))
            call.see(.played(.client, .frame(id: 4, isFirstHalf: true, on: .line)), at: .milliseconds(2_300))
            call.hangUp(at: .seconds(4))
            #expect(call.violations.map(\.invariant) == (isBridged ? [] : [.playedOnce]))
        }
    }

    @Test(arguments: [0, 1_000]) func theLineIsOpenUntilTheBridgesEndIsHeard(_ late: Nanoseconds) {
        var call = talked()
        call.see(.bridge(.client, isAsked: true), at: .milliseconds(1_500))
        call.see(.bridge(.client, isAsked: false), at: .milliseconds(2_000))
        // Its message is 300 ms under way, and the frame 1 s more.
        call.see(.sent(.client, .line(0), byteCount: 30, frame: nil), at: .milliseconds(2_000))
        call.see(.arrived(.server, .line(0), byteCount: 30, frame: nil), at: .milliseconds(2_300))
        call.see(.captured(.client, frame: 1), at: .milliseconds(2_400))
        call.see(.arrived(.server, .line(0), byteCount: 100, frame: 1), at: .milliseconds(3_300) + late)
        call.see(.played(.server, .frame(id: 1, isFirstHalf: true, on: .line)), at: .milliseconds(3_400))
        call.hangUp(at: .seconds(4))
        #expect(call.violations.map(\.invariant) == (late == 0 ? [] : [.playedOnce]))
    }

    @Test(arguments: [4_800, 4_799]) func eachPullPutsOut480Samples(_ samples: Int64) {
        var call = talked()
        var figures = CallFigures()
        figures.pulls = 10
        figures.samplesPlayed = samples
        call.see(.figures(.client, figures), at: .seconds(2))
        call.hangUp(at: .seconds(4))
        #expect(call.violations.map(\.invariant) == (samples == 4_800 ? [] : [.playedOnce]))
    }
}
