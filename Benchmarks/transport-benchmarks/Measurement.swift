internal import CAllocationCounter
internal import ICELite
internal import Transport
import TransportRuntime

/// What a benchmark took.
struct Measurement {
    let name: String
    let note: String
    /// Operations in a sample.
    let iterations: Int
    /// Nanoseconds an operation, one number a sample, ascending.
    let samples: [Double]
    /// Heap allocations an operation; nil when they are not counted (a sanitizer build).
    let allocations: Double?
    /// The benchmark's limit.
    let limit: Double?

    /// Even the fastest sample is over the limit: no noise of the machine explains that.
    var isOverLimit: Bool { limit.map { minimum > $0 } ?? false }
    var minimum: Double { samples.first ?? 0 }
    var median: Double { percentile(50) }

    /// The nearest-rank percentile of the samples.
    func percentile(_ percent: Double) -> Double {
        guard !samples.isEmpty else { return 0 }
        let rank = (percent / 100 * Double(samples.count)).rounded(.up)
        return samples[min(samples.count - 1, max(0, Int(rank) - 1))]
    }
}

/// How benchmarks are measured: warm-up, then samples of equal size.
struct Harness {
    /// Samples a benchmark takes unless told otherwise.
    static let defaultSamples = 200
    /// How long a sample should last at least, in nanoseconds: long against the clock's own cost and grain.
    static let sampleLength: Int64 = 500_000
    /// How long the warm-up lasts at least.
    static let warmUpLength: Int64 = 50_000_000
    /// Operations in a sample at most.
    static let maximumIterations = 1 << 24

    let samples: Int

    /// A benchmark that is warm.
    private struct Prepared {
        let benchmark: Benchmark
        let operation: Benchmark.Operation
        let iterations: Int
        let allocations: Double?
        var times: [Double] = []
    }

    /// Measures a group: each benchmark is warmed up, then they take their samples in turns.
    func measure(_ benchmarks: [Benchmark]) -> [Measurement] {
        var group = benchmarks.map(prepare)
        for _ in 0..<samples {
            for index in group.indices {
                let begin = now()
                group[index].operation(group[index].iterations)
                group[index].times.append(Double(now() - begin) / Double(group[index].iterations))
            }
        }
        return group.map { prepared in
            Measurement(
                name: prepared.benchmark.name, note: prepared.benchmark.note, iterations: prepared.iterations,
                samples: prepared.times.sorted(), allocations: prepared.allocations,
                limit: prepared.benchmark.limit)
        }
    }

    private func prepare(_ benchmark: Benchmark) -> Prepared {
        let operation = benchmark.make()
        // Warm up, and find out how many operations fill a sample.
        var iterations = 1
        let start = now()
        while true {
            let begin = now()
            operation(iterations)
            let length = now() - begin
            if length < Self.sampleLength, iterations < Self.maximumIterations {
                iterations *= 2
            } else if now() - start >= Self.warmUpLength {
                break
            }
        }
        let before = allocation_count()
        operation(iterations)
        let after = allocation_count()
        return Prepared(
            benchmark: benchmark, operation: operation, iterations: iterations,
            allocations: before < 0 ? nil : Double(after - before) / Double(iterations))
    }

    private func now() -> Int64 { MonotonicClock.now().nanoseconds }
}
