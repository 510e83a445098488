/// The opcodes of RFC 6455 §5.2.
package enum WebSocketOpcode: UInt8, Hashable, Sendable {
    case continuation = 0x0
    case text = 0x1
    case binary = 0x2
    case close = 0x8
    case ping = 0x9
    case pong = 0xA

    /// Close, ping and pong: at most 125 bytes, never in fragments (RFC 6455 §5.5).
    package var isControl: Bool { rawValue >= 0x8 }
}

/// A frame's header (RFC 6455 §5.2), as it stands before its payload.
///
/// ```
///  0                   1
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5
/// +-+-+-+-+-------+-+-------------+----------------- - -
/// |F|R|R|R| opcode|M| payload len | 16 or 64 bits more, then
/// |I|S|S|S|  (4)  |A|     (7)     | 32 bits of masking key
/// |N|V|V|V|       |S|             | if MASK
/// +-+-+-+-+-------+-+-------------+----------------- - -
/// ```
package struct WebSocketFrameHeader: Hashable, Sendable {
    /// The longest header: 2 bytes, 8 of length, 4 of key.
    package static let maximumByteCount = 14

    package var isFinal: Bool
    package var opcode: WebSocketOpcode
    /// The masking key, big endian; nil in a frame of the server's.
    package var mask: UInt32?
    package var payloadByteCount: Int

    package init(isFinal: Bool = true, opcode: WebSocketOpcode, mask: UInt32?, payloadByteCount: Int) {
        self.isFinal = isFinal
        self.opcode = opcode
        self.mask = mask
        self.payloadByteCount = payloadByteCount
    }

    /// What is wrong with a header.
    package enum ParseError: Error, Hashable, Sendable {
        /// A reserved bit is set, and no extension was negotiated.
        case reservedBits
        case unknownOpcode(UInt8)
        /// A control frame in fragments, or longer than 125 bytes.
        case controlFrame
        /// A length that is not in its shortest form, or has its top bit set.
        case length
    }

    /// Reads the header at the front of `bytes`: the header and its length, or nil while bytes are missing.
    package static func parse(
        _ bytes: borrowing RawSpan
    ) throws(ParseError) -> (header: WebSocketFrameHeader, byteCount: Int)? {
        guard bytes.byteCount >= 2 else { return nil }
        let first = bytes.byte(0)
        let second = bytes.byte(1)
        guard first & 0x70 == 0 else { throw .reservedBits }
        guard let opcode = WebSocketOpcode(rawValue: first & 0x0F) else { throw .unknownOpcode(first & 0x0F) }
        let isFinal = first & 0x80 != 0
        var length = UInt64(second & 0x7F)
        guard !opcode.isControl || (isFinal && length <= 125) else { throw .controlFrame }
        var at = 2
        if length >= 126 {
            let extra = length == 126 ? 2 : 8
            guard bytes.byteCount >= at + extra else { return nil }
            length = bytes.bigEndian(at: at, count: extra)
            guard length <= UInt64(Int64.max), length > (extra == 2 ? 125 : 0xFFFF) else { throw .length }
            at += extra
        }
        var mask: UInt32?
        if second & 0x80 != 0 {
            guard bytes.byteCount >= at + 4 else { return nil }
            mask = UInt32(truncatingIfNeeded: bytes.bigEndian(at: at, count: 4))
            at += 4
        }
        return (
            WebSocketFrameHeader(
                isFinal: isFinal, opcode: opcode, mask: mask, payloadByteCount: Int(length)), at
        )
    }

    /// Appends the header's bytes to `queue`.
    package func encode(into queue: inout ByteQueue) {
        queue.append((isFinal ? 0x80 : 0) | opcode.rawValue)
        let masked: UInt8 = mask == nil ? 0 : 0x80
        switch payloadByteCount {
        case ..<126: queue.append(masked | UInt8(payloadByteCount))
        case ..<0x1_0000:
            queue.append(masked | 126)
            queue.append(bigEndian: UInt64(payloadByteCount), count: 2)
        default:
            queue.append(masked | 127)
            queue.append(bigEndian: UInt64(payloadByteCount), count: 8)
        }
        if let mask { queue.append(bigEndian: UInt64(mask), count: 4) }
    }
}

extension RawSpan {
    /// The byte at `offset`, which the caller has checked to lie inside.
    func byte(_ offset: Int) -> UInt8 { unsafeLoad(fromByteOffset: offset, as: UInt8.self) }

    /// `count` (1…8) bytes from `offset` as a big-endian number.
    func bigEndian(at offset: Int, count: Int) -> UInt64 {
        var value: UInt64 = 0
        for index in 0..<count { value = value << 8 | UInt64(byte(offset + index)) }
        return value
    }
}
