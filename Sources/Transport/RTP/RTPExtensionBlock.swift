/// The header extension of a received packet: which form it has, and where its elements lie. RFC 8285 §4.
///
/// ```
/// one byte (0xBEDE):  |  ID   |  len  | len + 1 bytes …      0 pads, ID 15 ends
/// two bytes (0x100x): |      ID       |      len      | len bytes …      0 pads
/// ```
/// Of any other profile no element is told. Reading never fails: it ends where the bytes make no sense any more, and the
/// payload lies where it lies.
package struct RTPExtensionBlock: Hashable, Sendable {
    /// The profile of one-byte elements.
    package static let oneByteProfile: UInt16 = 0xBEDE
    /// The profile of two-byte elements, its low four bits (the application's) cleared.
    package static let twoByteProfile: UInt16 = 0x1000

    /// The first 16 bits of the block.
    package let profile: UInt16
    /// Where the elements lie in the packet.
    let elements: Range<Int>

    /// Where the value of the first element called `id` (1…255) lies in the packet `bytes` that the block was read from;
    /// nil when there is none. May be empty. Does not allocate.
    package func element(_ id: UInt8, in bytes: borrowing RawSpan) -> Range<Int>? {
        var position = elements.lowerBound
        while let element = next(&position, in: bytes) {
            if element.id == id { return element.value }
        }
        return nil
    }

    /// The element at `position` or behind the padding there, and moves `position` behind it; nil at the end.
    package func next(_ position: inout Int, in bytes: borrowing RawSpan) -> (id: UInt8, value: Range<Int>)? {
        let isOneByte = profile == Self.oneByteProfile
        guard isOneByte || profile & 0xFFF0 == Self.twoByteProfile else { return nil }
        // A zero byte pads, in both forms.
        while position < elements.upperBound, bytes[rtpByte: position] == 0 { position += 1 }
        guard position < elements.upperBound else { return nil }
        let first = bytes[rtpByte: position]
        let id: UInt8
        let start: Int
        let length: Int
        if isOneByte {
            id = first >> 4
            // RFC 8285 §4.2: ID 0 with a length, and ID 15, end the block.
            guard id != 0, id != 15 else { return nil }
            length = Int(first & 0x0F) + 1
            start = position + 1
        } else {
            guard position + 1 < elements.upperBound else { return nil }
            id = first
            length = Int(bytes[rtpByte: position + 1])
            start = position + 2
        }
        guard length <= elements.upperBound - start else { return nil }
        position = start + length
        return (id, start..<position)
    }

    /// Where reading begins: the start for `next`.
    package var firstPosition: Int { elements.lowerBound }
}
