import CallSimulation
import ICELite
import Transport

/// What a number of calls came to.
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
    /// Simulated seconds.
    var simulatedSeconds = 0.0
    /// The exclusive or of all calls' hashes: equal where all are.
    var traceHash: UInt64 = 0
    var failures: [Failure] = []
    /// Calls by the reason of their fallback, and by how they ended at the client.
    var reasons: [String: Int] = [:]
    var outcomes: [String: Int] = [:]
    /// Faults by verb and by the client's state as they began, as `verb/state`.
    var faults: [String: Int] = [:]
    /// Faults whose anchor never happened.
    var neverFired = 0
    var milestones: [String: Int] = [:]
    /// What could have been heard, and what was, in frames.
    var couldBeHeard = 0
    var heard = 0
    var calmSuspicions = 0
    var calmCalls = 0
    var healedCalls = 0

    /// Adds a call with its verdict.
    mutating func add(_ call: ObservedCall, _ verdict: JudgeVerdict) {
        calls += 1
        simulatedSeconds += Double(call.facts.endedAt.nanoseconds) / 1e9
        traceHash ^= call.facts.traceHash
        neverFired += call.facts.faultsNeverFired
        couldBeHeard += verdict.couldBeHeard
        heard += verdict.heard
        calmSuspicions += verdict.calmSuspicions
        if call.facts.isCalm { calmCalls += 1 }
        if call.facts.healingSince != nil { healedCalls += 1 }
        for violation in verdict.violations {
            failures.append(
                Failure(
                    seed: call.scenario.seed, invariant: violation.invariant.rawValue,
                    nanoseconds: violation.at.nanoseconds, sentence: violation.sentence))
        }
        var state = "idle"
        var fallback: TransportFallback?
        for (_, what) in call.observations {
            switch what {
            case .state(.client, let new, let isRecovering): state = isRecovering ? "recovering" : new.rawValue
            case .choice(.client, _, let transport, let reason):
                fallback = reason ?? fallback
                if state == "connecting" || state.hasPrefix("chosen"), let transport {
                    state = "chosen-\(transport.rawValue)"
                }
            case .fault(let index, true): faults["\(call.scenario.faults[index].verb.rawValue)/\(state)", default: 0] += 1
            case .milestone(let milestone): milestones[milestone.text, default: 0] += 1
            case .outcome(.client, let outcome): outcomes[Self.text(outcome), default: 0] += 1
            default: break
            }
        }
        if let fallback { reasons[fallback.reason.wire, default: 0] += 1 }
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
        reasons.merge(other.reasons, uniquingKeysWith: +)
        outcomes.merge(other.outcomes, uniquingKeysWith: +)
        faults.merge(other.faults, uniquingKeysWith: +)
        milestones.merge(other.milestones, uniquingKeysWith: +)
        neverFired += other.neverFired
        couldBeHeard += other.couldBeHeard
        heard += other.heard
        calmSuspicions += other.calmSuspicions
        calmCalls += other.calmCalls
        healedCalls += other.healedCalls
    }
}
