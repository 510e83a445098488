import ICELite
import Transport

/// The tables of a run of many calls, as text.
package struct CoverageReport {
    /// A reason, and a fault in a state, should have been met at least so often in ten thousand calls.
    package static let wanted = 20
    /// Frames heard of those that could have been: the first goal.
    package static let heardGoal = 0.97

    private let tally: CoverageTally

    package init(_ tally: CoverageTally) { self.tally = tally }

    /// All tables, one line each.
    package var lines: [String] { summary + reasons + faultsByState + situations }

    /// What the run has not met often enough: the generator's blind spots.
    package var blindSpots: [String] {
        var spots: [String] = []
        for situation in Sometimes.allCases where tally.calls(with: situation) == 0 {
            spots.append("never: \(situation.title)")
        }
        for reason in TransportFallbackReason.known {
            let count = tally.calls(fallenBackFor: reason)
            if count < Self.wanted { spots.append("\(reason.wire): \(count) of \(Self.wanted)") }
        }
        if 2 * tally.callsWithOutage < tally.calls {
            spots.append("outages in \(tally.callsWithOutage) of \(tally.calls) calls only")
        }
        return spots
    }

    private var summary: [String] {
        var lines = [
            "\(tally.calls) calls, \(tally.activeCalls) active, \(tally.calmCalls) calm, \(tally.callsWithOutage) with an outage",
            "\(tally.faults) faults, \(tally.faultsNeverFired) whose anchor never came",
            "heard \(Self.percent(tally.heardRatio)) of what could be (goal \(Self.percent(Self.heardGoal))), longest gap that counts \(JudgeText.milliseconds(tally.longestGap))",
            "\(Self.decimal(tally.suspicionsInTenCalmMinutes)) suspicions in ten calm minutes",
            "\(tally.violatingCalls) calls break a rule",
        ]
        for invariant in Invariant.allCases where tally.calls(breaking: invariant) > 0 {
            lines.append("  \(invariant.rawValue) \(invariant.title): \(tally.calls(breaking: invariant))")
        }
        return lines
    }

    private var reasons: [String] {
        ["", "reasons"]
            + TransportFallbackReason.known.map { reason in
                Self.row(reason.wire, [tally.calls(fallenBackFor: reason)], wanted: true)
            }
    }

    private var faultsByState: [String] {
        let head = CoverageState.allCases.map { Self.right($0.title, 12) }.joined()
        return ["", Self.left("faults by state", 28) + head]
            + FaultVerb.allCases.map { verb in
                Self.row(verb.rawValue, CoverageState.allCases.map { tally.times(verb, met: $0) }, wanted: true)
            }
    }

    private var situations: [String] {
        ["", "sometimes"]
            + Sometimes.allCases.map { situation in
                let count = tally.calls(with: situation)
                return Self.left(situation.title, 48) + Self.right(String(count), 8) + (count == 0 ? "  never" : "")
            }
    }

    // MARK: - Writing

    /// A row of numbers; those below what is wanted are marked.
    private static func row(_ name: String, _ counts: [Int], wanted isWanted: Bool) -> String {
        left(name, 28) + counts.map { right(String($0) + (isWanted && $0 < wanted ? "-" : " "), 12) }.joined()
    }

    private static func left(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }

    private static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(1, width - text.count)) + text
    }

    private static func percent(_ ratio: Double) -> String { "\(decimal(ratio * 100)) %" }

    private static func decimal(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded())
        return "\(hundredths / 100).\(String(100 + hundredths % 100).dropFirst())"
    }
}
