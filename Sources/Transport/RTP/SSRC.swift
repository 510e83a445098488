package import ICELite

/// A synchronisation source: the 32-bit name of one RTP stream. RFC 3550 §8.
package struct SSRC: Hashable, Sendable {
    /// The number as it stands in the header.
    package var rawValue: UInt32

    package init(_ rawValue: UInt32) { self.rawValue = rawValue }

    /// A random one that is not zero.
    package static func random(using randomness: inout Randomness) -> SSRC {
        SSRC(UInt32.random(in: 1...UInt32.max, using: &randomness))
    }
}

extension SSRC: CustomStringConvertible {
    /// The number in decimal, as SDP writes it.
    package var description: String { String(rawValue) }
}
