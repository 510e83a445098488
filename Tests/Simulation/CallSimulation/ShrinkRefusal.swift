/// Why there is nothing to shrink.
package enum ShrinkRefusal: Error, Equatable, Sendable {
    /// The scenario breaks no rule.
    case nothingBroken
    /// It breaks others than the one that was named.
    case notBroken(Invariant, broken: [Invariant])
}

extension ShrinkRefusal: CustomStringConvertible {
    package var description: String {
        switch self {
        case .nothingBroken: "it breaks no rule, so there is nothing to shrink"
        case .notBroken(let named, let broken):
            "it does not break rule \(named.rawValue) (\(named.title)); it breaks "
                + broken.map { "\($0.rawValue) (\($0.title))" }.joined(separator: ", ")
        }
    }
}

extension JudgeVerdict {
    /// The rule to shrink by: the one named, or the first that was broken.
    ///
    /// - Throws: `ShrinkRefusal` where it was not broken.
    package func invariantToShrink(named: Invariant?) throws(ShrinkRefusal) -> Invariant {
        guard let first = violations.first?.invariant else { throw .nothingBroken }
        guard let named else { return first }
        guard breaks(named) else { throw .notBroken(named, broken: violations.map(\.invariant)) }
        return named
    }
}
