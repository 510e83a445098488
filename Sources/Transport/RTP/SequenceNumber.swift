package import ICELite

/// A 16-bit RTP sequence number, which wraps.
package struct SequenceNumber: Hashable, Sendable {
    /// The number as it stands in the header.
    package var rawValue: UInt16

    package init(_ rawValue: UInt16) { self.rawValue = rawValue }

    /// The number that follows; 0 after 65,535.
    package var next: SequenceNumber { SequenceNumber(rawValue &+ 1) }

    /// The shorter way from `other` to this one, −32,768…32,767: positive when this one is newer. RFC 1982 arithmetic.
    package func distance(from other: SequenceNumber) -> Int { Int(Int16(bitPattern: rawValue &- other.rawValue)) }

    /// A random first number, 1…32,767: a stream that begins near 65,535 and loses its first packets can never be
    /// decrypted, since its receiver guesses the wrong rollover counter. RFC 3711 §3.3.1.
    package static func randomInitial(using randomness: inout Randomness) -> SequenceNumber {
        SequenceNumber(UInt16.random(in: 1...32_767, using: &randomness))
    }
}
