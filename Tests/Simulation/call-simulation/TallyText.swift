import CallSimulation
import Foundation
import Transport

extension Tally {
    /// Failures that are printed one by one.
    private static let printedFailures = 40

    /// The tally for a person. Tables are in the order of their words.
    var text: String {
        var lines = [
            "\(calls) calls, \(Self.decimal(simulatedSeconds / 3_600, 2)) hours of them, "
                + "\(Self.decimal(cpuSeconds, 1)) s of CPU, "
                + "\(Self.decimal(1_000 * cpuSeconds / Double(max(1, calls)), 2)) ms a call",
            "trace hash \(String(traceHash, radix: 16)) · \(calmCalls) calm, \(healedCalls) healed, "
                + "\(calmSuspicions) suspicions in calm calls",
        ]
        if couldBeHeard > 0 {
            let share = Double(heard) / Double(couldBeHeard)
            lines.append("heard \(heard) of \(couldBeHeard) frames that could be: \(Self.decimal(share, 4))")
        }
        lines += Self.table("reasons", reasons, all: TransportFallbackReason.known.map(\.wire))
        lines += Self.table("outcomes", outcomes, all: [])
        lines += Self.table("milestones", milestones, all: Milestone.allCases.map(\.text))
        lines += faultTable
        lines.append("faults whose anchor never happened: \(neverFired)")
        lines += failureLines
        return lines.map { $0 + "\n" }.joined()
    }

    private static func decimal(_ value: Double, _ digits: Int) -> String {
        String(format: "%.\(digits)f", value)
    }

    private static func table(_ title: String, _ counts: [String: Int], all: [String]) -> [String] {
        let words = Set(counts.keys).union(all).sorted()
        return ["\(title):"] + words.map { "  \(padded(String(counts[$0] ?? 0), 8))  \($0)" }
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }

    private var faultTable: [String] {
        let states = [
            "idle", "connecting", "chosen-webrtc", "chosen-websocket", "active", "recovering", "ended",
        ]
        var lines = ["faults by the client's state:"]
        lines.append("  " + Self.padded("", 18) + states.map { Self.padded($0, 17) }.joined())
        for verb in FaultVerb.allCases {
            let counts = states.map { Self.padded(String(faults["\(verb.rawValue)/\($0)"] ?? 0), 17) }
            lines.append("  " + verb.rawValue + Self.padded("", 18 - verb.rawValue.count) + counts.joined())
        }
        return lines
    }

    private var failureLines: [String] {
        guard !failures.isEmpty else { return ["no rule was broken"] }
        var lines = ["broken rules, calls:"]
        for invariant in Invariant.allCases {
            let count = Set(failures.filter { $0.invariant == invariant.rawValue }.map(\.seed)).count
            if count > 0 { lines.append("  \(Self.padded(String(count), 8))  \(invariant.rawValue) \(invariant.title)") }
        }
        for failure in failures.sorted(by: { ($0.seed, $0.invariant) < ($1.seed, $1.invariant) })
            .prefix(Self.printedFailures)
        {
            let seconds = Self.decimal(Double(failure.nanoseconds) / 1e9, 6)
            lines.append("seed \(failure.seed), invariant \(failure.invariant), \(seconds) s: \(failure.sentence)")
        }
        if failures.count > Self.printedFailures { lines.append("… and \(failures.count - Self.printedFailures) more") }
        return lines
    }
}
