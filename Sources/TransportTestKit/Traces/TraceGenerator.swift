/// A named trace's recipe. The order of the draws is part of it.
struct TraceGenerator: Sendable {
    typealias Delays = [Int?]

    let name: String
    let make: @Sendable (inout TraceRandom) -> [NetworkTrace.Packet]

    private static let count = NetworkTrace.frameCount
    private static let frame = NetworkTrace.frameMicroseconds

    private static func path(_ name: String, _ delays: @escaping @Sendable (inout TraceRandom) -> Delays) -> Self {
        Self(name: name) { packets(delays(&$0), .path) }
    }

    private static func line(_ name: String, _ delays: @escaping @Sendable (inout TraceRandom) -> Delays) -> Self {
        Self(name: name) { packets(delays(&$0), .line) }
    }

    private static func packets(_ delays: Delays, _ carriage: NetworkTrace.Carriage) -> [NetworkTrace.Packet] {
        delays.enumerated().map { .init(index: $0.offset, carriage: carriage, delayMicroseconds: $0.element) }
    }

    static let all: [TraceGenerator] = [
        path("clean") { small(&$0) },
        path("loss3") { independent(&$0, 30_000) },
        path("loss10") { independent(&$0, 100_000) },
        path("loss20") { independent(&$0, 200_000) },
        path("loss30") { independent(&$0, 300_000) },
        path("burst2x10") { bursts(&$0, 100_000, 2) },
        path("burst2x20") { bursts(&$0, 200_000, 2) },
        path("burst4x10") { bursts(&$0, 100_000, 4) },
        path("normal5") { normal(&$0, 5_000) },
        path("normal10") { normal(&$0, 10_000) },
        path("normal20") { normal(&$0, 20_000) },
        path("normal40") { normal(&$0, 40_000) },
        path("spikes") { spikes(&$0) },
        path("wifi") { wifi(&$0) },
        path("cellular") { cellular(&$0) },
        path("congested") { congested(&$0) },
        path("reroute") { reroute(&$0) },
        line("line50") { stream(&$0, roundTrip: 50_000, 20_000) },
        line("line150") { stream(&$0, roundTrip: 150_000, 20_000) },
        line("stall300") { stalls(&$0, 300_000) },
        line("stall1000") { stalls(&$0, 1_000_000) },
        line("stall3000") { stalls(&$0, 3_000_000) },
        Self(name: "bridge") { bridge(&$0) },
    ]

    // MARK: - Parts

    /// A queue never reorders: no packet arrives before the one that was sent before it.
    private static func inOrder(_ delays: Delays) -> Delays {
        var last = -1
        return delays.enumerated().map { index, delay in
            guard let delay else { return nil }
            last = max(index * frame + delay, last)
            return last - index * frame
        }
    }

    /// Nothing arrives in `[start, start + length)`; then everything does at once.
    private static func hold(_ delays: inout Delays, from start: Int, for length: Int) {
        let end = start + length
        for index in delays.indices {
            guard let delay = delays[index] else { continue }
            let time = index * frame
            if time + delay >= start, time + delay < end { delays[index] = end - time }
        }
    }

    private static func gilbert(_ random: inout TraceRandom, _ loss: Int, _ burst: Int) -> [Bool] {
        let leave = 1_000_000 / burst
        let enter = leave * loss / (1_000_000 - loss)
        var isBad = false
        return (0..<count).map { _ in
            isBad = isBad ? !random.chance(leave) : random.chance(enter)
            return isBad
        }
    }

    private static func small(_ random: inout TraceRandom) -> Delays { (0..<count).map { _ in random.below(2_000) } }

    private static func independent(_ random: inout TraceRandom, _ loss: Int) -> Delays {
        (0..<count).map { _ in random.chance(loss) ? nil : random.below(2_000) }
    }

    private static func bursts(_ random: inout TraceRandom, _ loss: Int, _ burst: Int) -> Delays {
        gilbert(&random, loss, burst).map { $0 ? nil : random.below(2_000) }
    }

    private static func normal(_ random: inout TraceRandom, _ sigma: Int) -> Delays {
        (0..<count).map { _ in max(0, 3 * sigma + random.gauss(sigma)) }
    }

    /// Every 10 s one hold of 200 ms.
    private static func spikes(_ random: inout TraceRandom) -> Delays {
        var delays = small(&random)
        for k in 0..<12 { hold(&delays, from: k * 10_000_000 + 5_000_000 + random.below(2_000_000), for: 200_000) }
        return inOrder(delays)
    }

    /// Contention: holds of 20–120 ms, 1.25 a second; 0.5 % loss in bursts of 2.
    private static func wifi(_ random: inout TraceRandom) -> Delays {
        var delays: Delays = (0..<count).map { _ in abs(random.gauss(3_000)) }
        var time = 0
        while time < count * frame {
            time += 100_000 + random.below(1_400_000)
            hold(&delays, from: time, for: 20_000 + random.below(100_000))
        }
        for (index, isLost) in gilbert(&random, 5_000, 2).enumerated() where isLost { delays[index] = nil }
        return inOrder(delays)
    }

    /// A queue that grows from 0 to 150 ms in 7 s, a hand-over every 20 s: 400 ms without anything, 5 packets lost.
    private static func cellular(_ random: inout TraceRandom) -> Delays {
        var delays: Delays = (0..<count).map { ($0 % 350) * 150_000 / 350 + abs(random.gauss(6_000)) }
        for k in 0..<6 {
            let start = k * 20_000_000 + 12_000_000 + random.below(3_000_000)
            hold(&delays, from: start, for: 400_000)
            for lost in 0..<5 { delays[start / frame + 3 + lost] = nil }
        }
        return inOrder(delays)
    }

    /// A bottleneck shared with cross traffic that comes and goes, tail drop at 120 ms.
    private static func congested(_ random: inout TraceRandom) -> Delays {
        var queue = 0
        var isBusy = false
        let delays: Delays = (0..<count).map { _ in
            if random.chance(20_000) { isBusy.toggle() }
            queue = isBusy ? max(0, queue + random.below(8_000) - 1_000) : max(0, queue - 8_000)
            guard queue <= 120_000 else {
                // The cross traffic backs off, too.
                queue -= 20_000 + random.below(30_000)
                return nil
            }
            return queue + random.below(2_000)
        }
        return inOrder(delays)
    }

    /// The shortest delay steps up by 60 ms at 30 s, back at 60 s, up by 30 ms at 90 s.
    private static func reroute(_ random: inout TraceRandom) -> Delays {
        (0..<count).map { index in
            (index >= 1_500 && index < 3_000 ? 60_000 : index >= 4_500 ? 30_000 : 0) + abs(random.gauss(4_000))
        }
    }

    /// A lost segment is heard of one round trip and one frame later; lost twice: 200 ms and a round trip more.
    private static func stream(_ random: inout TraceRandom, roundTrip: Int, _ loss: Int) -> Delays {
        var delays = small(&random)
        for index in delays.indices where random.chance(loss) {
            var late = roundTrip + frame
            while random.chance(loss) { late += 200_000 + roundTrip }
            delays[index] = delays[index].map { max($0, late) }
        }
        return inOrder(delays)
    }

    /// The line stands still at 20, 50, 80 and 110 s, the last time half as long.
    private static func stalls(_ random: inout TraceRandom, _ length: Int) -> Delays {
        var delays = small(&random)
        for second in [20, 50, 80] { hold(&delays, from: second * 1_000_000, for: length) }
        hold(&delays, from: 110_000_000, for: length / 2)
        return inOrder(delays)
    }

    /// Both carriages: the media path is dead at 30–36 s, at 60–70 s and from 100 s on; the line adds 40 ms and is used
    /// from 400 ms after each death to 1 s after each return.
    private static func bridge(_ random: inout TraceRandom) -> [NetworkTrace.Packet] {
        let path: Delays = (0..<count).map { _ in abs(random.gauss(5_000)) }
        let line = stream(&random, roundTrip: 80_000, 10_000).map { $0.map { $0 + 40_000 } }
        let outages = [(30, 36), (60, 70), (100, 999)].map { ($0 * 1_000_000, $1 * 1_000_000) }
        var packets: [NetworkTrace.Packet] = []
        for index in 0..<count {
            let time = index * frame
            let isDead = outages.contains { $0.0 <= time && time < $0.1 }
            packets.append(.init(index: index, carriage: .path, delayMicroseconds: isDead ? nil : path[index]))
            if outages.contains(where: { $0.0 + 400_000 <= time && time < $0.1 + 1_000_000 }) {
                packets.append(.init(index: index, carriage: .line, delayMicroseconds: line[index]))
            }
        }
        return packets
    }
}
