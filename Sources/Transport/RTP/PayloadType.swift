/// An RTP payload type, 0…127.
package struct PayloadType: Hashable, Sendable {
    /// The number as it stands in the header, without the marker bit.
    package let rawValue: UInt8

    /// The payload type `value`; nil when it is outside 0…127.
    package init?(_ value: Int) {
        guard (0...127).contains(value) else { return nil }
        rawValue = UInt8(value)
    }

    /// The low seven bits of a header's second byte.
    package init(maskingHeaderByte byte: UInt8) { rawValue = byte & 0x7F }

    /// The number most WebRTC implementations give Opus, and we in our own offers.
    package static let defaultOpus = PayloadType(maskingHeaderByte: 111)
}

extension PayloadType: CustomStringConvertible {
    /// The number in decimal.
    package var description: String { String(rawValue) }
}
