import CallSimulation
import ICELite
import Transport

/// What a number of calls came to, as one process tells another.
struct Tally: Codable {
    /// A call that broke a rule.
    struct Failure: Codable {
        var seed: UInt64
        var invariant: Int
        var nanoseconds: Int64
        var sentence: String
    }

    var calls = 0
    var cpuSeconds = 0.0
    var simulatedSeconds = 0.0
    /// The exclusive or of all calls' hashes: equal where all are.
    var traceHash: UInt64 = 0
    var failures: [Failure] = []
    /// How calls ended at the client.
    var outcomes: [String: Int] = [:]
    var milestones: [String: Int] = [:]
    /// The judge's own tally.
    var coverage = CoverageTally().numbers

    /// Adds a call with its verdict.
    mutating func add(_ call: ObservedCall, _ verdict: JudgeVerdict) {
        calls += 1
        simulatedSeconds += Double(call.facts.endedAt.nanoseconds) / 1e9
        traceHash ^= call.facts.traceHash
        for violation in verdict.violations {
            failures.append(
                Failure(
                    seed: call.scenario.seed, invariant: violation.invariant.rawValue,
                    nanoseconds: violation.at.nanoseconds, sentence: violation.sentence))
        }
        for milestone in verdict.milestones { milestones[milestone.text, default: 0] += 1 }
        for outcome in verdict.clientOutcomes { outcomes[Self.text(outcome), default: 0] += 1 }
    }

    private static func text(_ outcome: CallOutcome) -> String {
        switch outcome {
        case .failed(let message): "failed: \(message)"
        case .ended(.local): "ended: local"
        case .ended(.remote): "ended: remote"
        case .ended(.failed(let message)): "ended: failed: \(message)"
        }
    }

    /// Adds another process's.
    mutating func add(_ other: Tally) {
        calls += other.calls
        cpuSeconds += other.cpuSeconds
        simulatedSeconds += other.simulatedSeconds
        traceHash ^= other.traceHash
        failures += other.failures
        outcomes.merge(other.outcomes, uniquingKeysWith: +)
        milestones.merge(other.milestones, uniquingKeysWith: +)
        guard var sum = CoverageTally(numbers: coverage), let more = CoverageTally(numbers: other.coverage) else {
            return
        }
        sum.add(more)
        coverage = sum.numbers
    }
}
