import ICELite
import Testing
import Transport

@Suite("Liveness of the path") struct PathLivenessTests {
    private func at(_ milliseconds: Int64) -> Instant { Instant.zero + .milliseconds(milliseconds) }

    private func threshold(_ liveness: PathLiveness, at milliseconds: Int64) -> Int64 {
        liveness.threshold(now: at(milliseconds)) / 1_000_000
    }

    @Test("3.5 × the peer's interval, never under 300 ms nor over a second; 2.5 s for a peer that named none")
    func interval() {
        let cases: [(Int64, Int64)] = [(20, 300), (85, 300), (100, 350), (200, 700), (400, 1_000), (60_000, 1_000)]
        for (interval, expected) in cases {
            #expect(threshold(PathLiveness(peerInterval: .milliseconds(interval), now: .zero), at: 0) == expected)
        }
        #expect(threshold(PathLiveness(peerInterval: nil, now: .zero), at: 0) == 2_500)
    }

    @Test("A path with long gaps is given their 95th percentile and 4 × their jitter")
    func gaps() {
        var liveness = PathLiveness(peerInterval: .milliseconds(20), now: .zero)
        var time: Int64 = 0
        // Bursts: eight packets at once every 200 ms make one gap in eight long.
        for _ in 0..<100 {
            time += 200
            for _ in 0..<8 { liveness.heard(now: at(time)) }
        }
        #expect((310...1_000).contains(threshold(liveness, at: time)))
        // Regular again: the bursts are forgotten after 30 s.
        for _ in 0..<1_800 {
            time += 20
            liveness.heard(now: at(time))
        }
        #expect(threshold(liveness, at: time) == 300)
    }

    @Test("A false alarm doubles it for 30 s, up to a second")
    func doubled() {
        var liveness = PathLiveness(peerInterval: .milliseconds(100), now: .zero)
        liveness.noteFalseAlarm(now: at(1_000))
        #expect(threshold(liveness, at: 30_999) == 700)
        #expect(threshold(liveness, at: 31_000) == 350)
        var slow = PathLiveness(peerInterval: .milliseconds(200), now: .zero)
        slow.noteFalseAlarm(now: .zero)
        #expect(threshold(slow, at: 10) == 1_000)
    }

    @Test("A long silence costs one gap, not a storm of them, and a clock that stands still costs nothing")
    func silence() {
        var liveness = PathLiveness(peerInterval: .milliseconds(100), now: .zero)
        for time in stride(from: 20 as Int64, through: 2_000, by: 20) { liveness.heard(now: at(time)) }
        liveness.heard(now: at(3_600_000))
        liveness.heard(now: at(3_600_020))
        #expect(threshold(liveness, at: 3_600_020) == 350)
        liveness.forgive(now: at(7_200_000))
        #expect(liveness.lastHeardAt == at(7_200_000))
        for _ in 0..<100_000 { liveness.heard(now: at(7_200_000)) }
        #expect(threshold(liveness, at: 7_200_000) >= 300)
    }
}
