/// A sequence number with its rollover counter: rollover × 65,536 + sequence number, from the first packet on.
///
/// Fits 48 bits. A packet that comes before the first one seen and wraps below zero is negative.
package struct ExtendedSequenceNumber: Hashable, Comparable, Sendable {
    /// rollover × 65,536 + sequence number.
    package var rawValue: Int64

    package init(_ rawValue: Int64) { self.rawValue = rawValue }

    /// The 16 bits that stand in the header.
    package var sequenceNumber: SequenceNumber { SequenceNumber(UInt16(truncatingIfNeeded: rawValue)) }
    /// How often the sequence number has wrapped.
    package var rollover: UInt32 { UInt32(truncatingIfNeeded: rawValue >> 16) }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Follows a stream's sequence numbers and counts their rollovers.
package struct SequenceNumberTracker: Sendable {
    /// The highest number seen; nil before the first packet.
    package private(set) var highest: ExtendedSequenceNumber?

    package init() {}

    /// The extended number that `sequence` most likely stands for: the one nearest to the highest seen.
    package func extended(_ sequence: SequenceNumber) -> ExtendedSequenceNumber {
        guard let highest else { return ExtendedSequenceNumber(Int64(sequence.rawValue)) }
        return ExtendedSequenceNumber(
            highest.rawValue &+ Int64(sequence.distance(from: highest.sequenceNumber)))
    }

    /// The extended number of `sequence`, which becomes the highest seen if it is.
    @discardableResult
    package mutating func update(_ sequence: SequenceNumber) -> ExtendedSequenceNumber {
        let extended = extended(sequence)
        if highest.map({ extended > $0 }) ?? true { highest = extended }
        return extended
    }
}
