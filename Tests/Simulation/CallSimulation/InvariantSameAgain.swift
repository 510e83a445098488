import ICELite

/// Rule 13: the same scenario has the same trace.
package enum InvariantSameAgain {
    /// The breach, where two runs of one scenario differ.
    package static func compare(_ first: CallFacts, _ second: CallFacts) -> Violation? {
        guard first.traceHash != second.traceHash else { return nil }
        return Violation(
            .sameAgain, at: first.endedAt,
            "two runs have the hashes \(String(first.traceHash, radix: 16)) and \(String(second.traceHash, radix: 16))")
    }
}
