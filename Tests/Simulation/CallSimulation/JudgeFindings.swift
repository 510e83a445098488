package import ICELite

/// A rule that a call broke: which, when, and the numbers.
package struct Violation: Hashable, Sendable {
    package var invariant: Invariant
    package var at: Instant
    package var sentence: String

    package init(_ invariant: Invariant, at: Instant, _ sentence: String) {
        self.invariant = invariant
        self.at = at
        self.sentence = sentence
    }
}

extension Violation: CustomStringConvertible {
    package var description: String {
        "invariant \(invariant.rawValue) (\(invariant.title)), \(JudgeText.seconds(at)): \(sentence)"
    }
}

/// Collects what the rules found: of each rule the first breach, and how many there were.
struct JudgeFindings {
    private(set) var violations: [Violation] = []
    /// Breaches beside the first of each rule.
    private(set) var repeats = 0
    private var seen: UInt16 = 0

    mutating func begin() {
        violations.removeAll(keepingCapacity: true)
        repeats = 0
        seen = 0
    }

    /// Notes a breach; the sentence is made for the first of its rule only.
    mutating func report(_ invariant: Invariant, at: Instant, _ sentence: @autoclosure () -> String) {
        let bit = UInt16(1) << UInt16(invariant.rawValue)
        guard seen & bit == 0 else { return repeats += 1 }
        seen |= bit
        violations.append(Violation(invariant, at: at, sentence()))
    }
}

/// How the judge writes times.
enum JudgeText {
    /// Seconds with their microseconds, such as `12.304000 s`.
    static func seconds(_ at: Instant) -> String { seconds(at.nanoseconds) }

    static func seconds(_ length: Nanoseconds) -> String {
        guard length != .max else { return "never" }
        let microseconds = length.magnitude / 1_000
        let fraction = String(1_000_000 + microseconds % 1_000_000).dropFirst()
        return "\(length < 0 ? "-" : "")\(microseconds / 1_000_000).\(fraction) s"
    }

    /// Milliseconds with their microseconds, such as `705.250 ms`.
    static func milliseconds(_ length: Nanoseconds) -> String {
        let microseconds = length.magnitude / 1_000
        let fraction = String(1_000 + microseconds % 1_000).dropFirst()
        return "\(length < 0 ? "-" : "")\(microseconds / 1_000).\(fraction) ms"
    }
}
