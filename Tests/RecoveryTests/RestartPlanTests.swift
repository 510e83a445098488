import ICELite
import Testing
import Transport

@Suite("Plan of restarts") struct RestartPlanTests {
    private func at(_ milliseconds: Int64) -> Instant { Instant.zero + .milliseconds(milliseconds) }

    @Test(
        "LIFE-08: three wishes at 0, 50 and 180 ms are one restart, one more is remembered, a fifth after success waits"
    )
    func coalesced() {
        var randomness = Randomness.seeded(4)
        var plan = RestartPlan()
        plan.want(now: at(0))
        #expect(plan.nextDeadline <= at(0))
        plan.began(now: at(0), randomness: &randomness)
        for time in [50, 180, 400] as [Int64] {
            plan.want(now: at(time))
            #expect(plan.nextDeadline == .never, "one is outstanding")
        }
        #expect(plan.coalesced == 2)
        plan.ended(now: at(500))
        #expect((at(800)...at(1_200)).contains(plan.nextDeadline), "the follow-up, after a second ± 20 %")
        plan.drop()
        #expect(plan.nextDeadline == .never)
        plan.want(now: at(600))
        #expect((at(800)...at(1_200)).contains(plan.nextDeadline))
    }

    @Test("LIFE-08: attempts are bounded, wait longer each time, and are forgotten after 30 s without one")
    func bounded() {
        var randomness = Randomness.seeded(5)
        var plan = RestartPlan()
        var time: Int64 = 0
        var waits: [Int64] = []
        for _ in 0..<RestartPlan.attemptLimit {
            plan.want(now: at(time))
            let due = max(plan.nextDeadline, at(time))
            waits.append((due - at(time)) / 1_000_000)
            plan.began(now: due, randomness: &randomness)
            plan.ended(now: due)
            time = (due - .zero) / 1_000_000
        }
        #expect(waits[0] == 0 && (800...1_200).contains(waits[1]) && (1_600...2_400).contains(waits[2]))
        #expect((3_200...4_800).contains(waits[3]))
        plan.want(now: at(time + 29_999))
        #expect(plan.nextDeadline == .never && plan.refused == 1)
        plan.want(now: at(time + 30_001))
        #expect(plan.nextDeadline <= at(time + 30_001))
    }
}
