import ICELite
import Testing
import TransportTestKit

@Suite("Link model") struct LinkStateTests {
    /// What a link makes of `count` packets, one each 20 ms.
    private func run(
        _ model: LinkModel, seed: UInt64 = 1, count: Int = 20_000, byteCount: Int = 200, spacing: Int64 = 20_000_000
    ) -> (outcomes: [LinkOutcome], link: LinkState) {
        var link = LinkState(model: model, start: .zero, randomness: .seeded(seed))
        let outcomes = (0..<count).map {
            link.send(byteCount: byteCount, now: Instant(nanoseconds: Int64($0) * spacing))
        }
        return (outcomes, link)
    }

    private func delays(_ outcomes: [LinkOutcome], spacing: Int64 = 20_000_000) -> [Int64] {
        outcomes.enumerated().compactMap { index, outcome in
            switch outcome {
            case .delivered(let time), .duplicated(let time, _): time.nanoseconds - Int64(index) * spacing
            case .dropped, .rejected: nil
            }
        }
    }

    @Test("A perfect link delivers everything at once") func perfect() {
        let (outcomes, link) = run(LinkModel(), count: 100)
        #expect(delays(outcomes).allSatisfy { $0 == 0 })
        #expect(link.counters.sent == 100 && link.counters.delivered == 100 && link.counters.missing == 0)
        #expect(link.counters.sentBytes == 20_000)
    }

    @Test("The same seed gives the same outcomes, another gives others") func seeded() {
        var model = LinkModel(
            delay: .milliseconds(30), jitter: .normal(sigma: .milliseconds(5)), loss: .independent(percent: 5))
        model.duplicatePercent = 2
        model.reorderPercent = 2
        #expect(run(model, seed: 3, count: 500).outcomes == run(model, seed: 3, count: 500).outcomes)
        #expect(run(model, seed: 3, count: 500).outcomes != run(model, seed: 4, count: 500).outcomes)
    }

    @Test("Independent loss is as large as asked for", arguments: [0.5, 3, 10, 30], [1, 2, 3] as [UInt64])
    func independentLoss(percent: Double, seed: UInt64) {
        let (_, link) = run(LinkModel(delay: .zero, loss: .independent(percent: percent)), seed: seed)
        let share = percent / 100
        // Five standard deviations of a binomial.
        let tolerance = 5 * (20_000 * share * (1 - share)).squareRoot()
        #expect(abs(Double(link.counters.lost) - 20_000 * share) < tolerance)
    }

    @Test(
        "Gilbert-Elliott loss has the loss and the burst length asked for",
        arguments: [(2.0, 2.0), (10, 4), (20, 2), (5, 8)], [1, 2, 3] as [UInt64])
    func burstLoss(parameters: (percent: Double, burst: Double), seed: UInt64) {
        let loss = LinkModel.Loss.gilbert(percent: parameters.percent, meanBurst: parameters.burst)
        let (outcomes, link) = run(LinkModel(delay: .zero, loss: loss), seed: seed, count: 200_000)
        var bursts = 0
        var wasLost = false
        for outcome in outcomes {
            let isLost = outcome == .dropped(.loss)
            if isLost, !wasLost { bursts += 1 }
            wasLost = isLost
        }
        let lost = Double(link.counters.lost)
        #expect(abs(lost / 2_000 - parameters.percent) < 0.15 * parameters.percent)
        #expect(abs(lost / Double(bursts) - parameters.burst) < 0.1 * parameters.burst)
    }

    @Test("Loss of 0 and of 100 percent are exact") func extremes() {
        #expect(run(LinkModel(delay: .zero, loss: .independent(percent: 0))).link.counters.lost == 0)
        #expect(run(LinkModel(delay: .zero, loss: .independent(percent: 100))).link.counters.lost == 20_000)
        #expect(run(LinkModel(delay: .zero, loss: .independent(percent: .nan))).link.counters.lost == 0)
    }

    @Test("Normal jitter has the mean and the deviation asked for") func normalJitter() {
        var model = LinkModel(delay: .milliseconds(50), jitter: .normal(sigma: .milliseconds(5)))
        model.jitterReorders = true
        let values = delays(run(model).outcomes).map { Double($0) / 1_000_000 }
        let mean = values.reduce(0, +) / Double(values.count)
        let deviation = (values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(values.count)).squareRoot()
        #expect(abs(mean - 50) < 0.2)
        #expect(abs(deviation - 5) < 0.2)
    }

    @Test("Uniform jitter fills its range and no more") func uniformJitter() {
        var model = LinkModel(delay: .milliseconds(50), jitter: .uniform(spread: .milliseconds(10)))
        model.jitterReorders = true
        let values = delays(run(model).outcomes)
        #expect(values.allSatisfy { (40_000_000...60_000_000).contains($0) })
        #expect((values.min() ?? 0) < 40_200_000 && (values.max() ?? 0) > 59_800_000)
    }

    @Test("Jitter alone keeps the order, and delays are never negative") func jitterKeepsOrder() {
        let model = LinkModel(delay: .milliseconds(1), jitter: .normal(sigma: .milliseconds(40)))
        let arrivals = delays(run(model).outcomes).enumerated().map { Int64($0) * 20_000_000 + $1 }
        #expect(zip(arrivals, arrivals.dropFirst()).allSatisfy { $0 < $1 })
        #expect(delays(run(model).outcomes).allSatisfy { $0 >= 0 })
    }

    @Test("Packets of one instant arrive one after the other") func sameInstant() {
        let arrivals = delays(run(LinkModel(delay: .milliseconds(5)), count: 10, spacing: 0).outcomes, spacing: 0)
        #expect(arrivals == (0..<10).map { 5_000_000 + $0 })
    }

    @Test("As many packets are overtaken as asked for") func reordering() {
        var model = LinkModel(delay: .milliseconds(50))
        model.reorderPercent = 5
        let (outcomes, link) = run(model)
        let arrivals = delays(outcomes).enumerated().map { Int64($0) * 20_000_000 + $1 }
        let overtaken = zip(arrivals, arrivals.dropFirst()).count { $0 > $1 }
        #expect(abs(Double(link.counters.reordered) - 1_000) < 150)
        #expect(abs(overtaken - Int(link.counters.reordered)) < 100)
    }

    @Test("As many packets arrive twice as asked for") func duplicates() {
        var model = LinkModel(delay: .milliseconds(5))
        model.duplicatePercent = 3
        let (outcomes, link) = run(model)
        let twice = outcomes.count { if case .duplicated = $0 { true } else { false } }
        #expect(twice == Int(link.counters.duplicated))
        #expect(abs(Double(twice) - 600) < 125)
    }

    @Test("The rate spaces packets, and a full queue drops") func rate() {
        var model = LinkModel()
        model.bitsPerSecond = 80_000
        model.queueLimit = .milliseconds(100)
        // 200 bytes take 20 ms.
        let (outcomes, link) = run(model, count: 100, spacing: 0)
        let arrivals = delays(outcomes, spacing: 0)
        #expect(arrivals == (1...6).map { $0 * 20_000_000 })
        #expect(link.counters.queueDropped == 94)
        #expect(outcomes[6] == .dropped(.queueFull))

        // Offered twice what it carries, it carries what it can.
        let long = run(model, count: 10_000, spacing: 10_000_000)
        #expect((4_990...5_015).contains(long.link.counters.delivered))
    }

    @Test("A black hole swallows from its start, up to its end") func blackHole() {
        var model = LinkModel()
        model.blackHoles = [.init(start: .milliseconds(40), length: .milliseconds(40))]
        let outcomes = run(model, count: 6).outcomes
        #expect(outcomes[2] == .dropped(.blackHole) && outcomes[3] == .dropped(.blackHole))
        #expect(outcomes.count { $0 == .dropped(.blackHole) } == 2)
    }

    @Test("An outage and a hold that somebody causes") func outage() {
        var link = LinkState(model: LinkModel(), start: .zero, randomness: .seeded(1))
        link.blockedUntil = Instant(nanoseconds: 100)
        let first = link.send(byteCount: 1, now: Instant(nanoseconds: 99))
        link.heldUntil = Instant(nanoseconds: 500)
        let second = link.send(byteCount: 1, now: Instant(nanoseconds: 100))
        let third = link.send(byteCount: 1, now: Instant(nanoseconds: 600))
        #expect(first == .dropped(.blackHole))
        #expect(second == .delivered(Instant(nanoseconds: 500)))
        #expect(third == .delivered(Instant(nanoseconds: 600)))
    }

    @Test("An unreachable end drops or rejects") func reachability() {
        var model = LinkModel()
        model.reachability = .drop
        #expect(run(model, count: 1).outcomes == [.dropped(.unreachable)])
        model.reachability = .reject
        #expect(run(model, count: 1).outcomes == [.rejected])
    }

    @Test("Switching one feature on leaves the draws of the others alone") func independentStreams() {
        let plain = LinkModel(delay: .zero, loss: .independent(percent: 10))
        var rich = plain
        rich.jitter = .normal(sigma: .milliseconds(3))
        rich.duplicatePercent = 10
        rich.reorderPercent = 10
        let lost = { (outcomes: [LinkOutcome]) in outcomes.map { $0 == .dropped(.loss) } }
        #expect(lost(run(plain, count: 500).outcomes) == lost(run(rich, count: 500).outcomes))
    }

    @Test("Absurd numbers neither trap nor travel back in time", arguments: [1, 2, 3, 4] as [UInt64])
    func absurd(seed: UInt64) {
        var random = Randomness.seeded(seed)
        let doubles: [Double] = [-1, 0, 1, 50, 100, 1e300, .nan, .infinity, -.infinity]
        let durations: [Duration] = [.seconds(-5), .zero, .milliseconds(1), .seconds(Int64.max), .seconds(Int64.min)]
        for _ in 0..<500 {
            var model = LinkModel()
            model.loss =
                Bool.random(using: &random)
                ? .independent(percent: doubles.randomElement(using: &random) ?? 0)
                : .gilbert(
                    percent: doubles.randomElement(using: &random) ?? 0,
                    meanBurst: doubles.randomElement(using: &random) ?? 0)
            let length = durations.randomElement(using: &random) ?? .zero
            model.delay = durations.randomElement(using: &random) ?? .zero
            model.jitter = Bool.random(using: &random) ? .normal(sigma: length) : .uniform(spread: length)
            model.reorderPercent = doubles.randomElement(using: &random) ?? 0
            model.duplicatePercent = doubles.randomElement(using: &random) ?? 0
            model.bitsPerSecond = [nil, .min, -1, 0, 1, .max].randomElement(using: &random) ?? nil
            model.queueLimit = durations.randomElement(using: &random) ?? .zero
            model.blackHoles = [.init(start: length, length: model.delay)]
            var link = LinkState(model: model, start: .zero, randomness: .seeded(seed))
            var stream = StreamState(model: model, start: .zero, randomness: .seeded(seed))
            for step in 0..<20 as Range<Int64> {
                let now = Instant(nanoseconds: step * 20_000_000)
                switch link.send(byteCount: [.min, -1, 0, 1_500, .max][Int(step) % 5], now: now) {
                case .delivered(let time): #expect(time >= now)
                case .duplicated(let first, let second): #expect(first >= now && second >= now)
                case .dropped, .rejected: break
                }
                if let sent = stream.send(byteCount: 1_500, roundTrip: 1_000, now: now) {
                    #expect(sent.departure >= now && sent.arrival >= sent.departure)
                }
            }
        }
    }
}

@Suite("Stream model") struct StreamStateTests {
    @Test("A stream loses nothing and keeps the order; loss becomes delay") func lossIsDelay() throws {
        let model = LinkModel(delay: .milliseconds(25), loss: .independent(percent: 5))
        var stream = StreamState(model: model, start: .zero, randomness: .seeded(1))
        var last = Instant.zero
        var late = 0
        for index in 0..<5_000 as Range<Int64> {
            let now = Instant(nanoseconds: index * 20_000_000)
            let outcome = stream.send(byteCount: 200, roundTrip: .milliseconds(50), now: now)
            let sent = try #require(outcome)
            #expect(sent.arrival > last)
            last = sent.arrival
            // Retransmitted once: one round trip and one frame later.
            if sent.arrival - now >= .milliseconds(25 + 70) { late += 1 }
        }
        #expect(stream.counters.delivered == 5_000)
        #expect((200...320).contains(stream.counters.lost))
        // Those behind a segment that was lost twice are late with it.
        #expect((180...600).contains(late))
    }

    @Test("What is sent in a black hole is repeated with the timer doubling") func blackHole() throws {
        var model = LinkModel(delay: .milliseconds(10))
        model.blackHoles = [.init(start: .zero, length: .seconds(1))]
        var stream = StreamState(model: model, start: .zero, randomness: .seeded(1))
        let outcome = stream.send(byteCount: 200, roundTrip: .milliseconds(20), now: .zero)
        let sent = try #require(outcome)
        // At 220, 660 and 1,540 ms; the first two fall into the hole.
        #expect(sent.arrival.nanoseconds == Nanoseconds.milliseconds(1_550))
    }

    @Test("A hole without end kills the stream for good") func endless() {
        var model = LinkModel()
        model.blackHoles = [.init(start: .zero, length: .seconds(1_000_000))]
        var stream = StreamState(model: model, start: .zero, randomness: .seeded(1))
        let first = stream.send(byteCount: 1, roundTrip: 0, now: .zero)
        let later = stream.send(byteCount: 1, roundTrip: 0, now: Instant(nanoseconds: .seconds(2_000_000)))
        #expect(first == nil && later == nil)
    }

    @Test("The rate makes a backlog") func backlog() throws {
        var model = LinkModel()
        model.bitsPerSecond = 8_000
        var stream = StreamState(model: model, start: .zero, randomness: .seeded(1))
        let outcome = stream.send(byteCount: 1_000, roundTrip: 0, now: .zero)
        let sent = try #require(outcome)
        #expect(sent.departure.nanoseconds == Nanoseconds.seconds(1))
        #expect(stream.backlog(now: .zero) == .seconds(1))
        #expect(stream.backlog(now: Instant(nanoseconds: .seconds(3))) == 0)
    }
}
