import CallSimulation
import Foundation

extension Tally {
    /// Failures that are printed one by one.
    private static let printedFailures = 40

    /// The tally for a person. Tables are in the order of their words.
    var text: String {
        var lines = [
            "\(calls) calls, \(Self.decimal(simulatedSeconds / 3_600, 2)) hours of them, "
                + "\(Self.decimal(cpuSeconds, 1)) s of CPU, "
                + "\(Self.decimal(1_000 * cpuSeconds / Double(max(1, calls)), 2)) ms a call",
            "trace hash \(String(traceHash, radix: 16))",
        ]
        if let coverage = CoverageTally(numbers: coverage) {
            let report = CoverageReport(coverage)
            lines += report.lines
            lines += ["", "blind spots"] + report.blindSpots.map { "  \($0)" }
        }
        lines += Self.table("outcomes at the client", outcomes)
        lines += Self.table("milestones", milestones)
        lines += [""] + failureLines
        return lines.map { $0 + "\n" }.joined()
    }

    private static func decimal(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }

    private static func table(_ title: String, _ counts: [String: Int]) -> [String] {
        ["", title]
            + counts.keys.sorted().map { word in
                let count = String(counts[word] ?? 0)
                return String(repeating: " ", count: max(1, 10 - count.count)) + count + "  " + word
            }
    }

    private var failureLines: [String] {
        guard !failures.isEmpty else { return ["no rule was broken"] }
        let sorted = failures.sorted { ($0.seed, $0.invariant) < ($1.seed, $1.invariant) }
        var lines = sorted.prefix(Self.printedFailures).map { failure in
            let seconds = Self.decimal(Double(failure.nanoseconds) / 1e9, 6)
            return "seed \(failure.seed), invariant \(failure.invariant), \(seconds) s: \(failure.sentence)"
        }
        if failures.count > Self.printedFailures { lines.append("… and \(failures.count - Self.printedFailures) more") }
        return lines
    }
}
