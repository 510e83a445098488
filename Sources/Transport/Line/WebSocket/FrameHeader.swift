/// What a frame holds (RFC 6455 §5.2).
package enum Opcode: UInt8, Hashable, Sendable {
    case continuation = 0x0
    case text = 0x1
    case binary = 0x2
    case close = 0x8
    case ping = 0x9
    case pong = 0xA

    /// Close, ping or pong: whole in one frame, at most 125 bytes, allowed between the fragments of a message.
    package var isControl: Bool { rawValue & 0x8 != 0 }
}

/// A breach of RFC 6455, with the code the connection is failed with.
package enum FrameError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A reserved bit is set, though no extension was negotiated (§5.2).
    case reservedBits
    /// An opcode that is not assigned.
    case reservedOpcode(UInt8)
    /// A control frame that is fragmented or longer than 125 bytes (§5.5).
    case badControl
    /// A length with the top bit set, or in more bytes than it needs by a peer that may not (§5.2).
    case badLength
    /// A client's frame without mask, or a server's with one (§5.1).
    case wrongMasking
    /// A continuation without a message, or a new message inside one (§5.4).
    case badFragment
    /// Text or a close reason that is not UTF-8 (§8.1).
    case notUTF8
    /// A close frame of one byte, or a code that must not be sent (§7.4).
    case badClose
    /// A message beyond `LineLimits.maximumSkippedBytes`, or a binary one beyond `LineLimits.maximumBinaryBytes`.
    case tooBig

    /// The code of the close frame that answers it.
    package var closeCode: CloseCode {
        switch self {
        case .notUTF8: .invalidPayload
        case .tooBig: .messageTooBig
        case .reservedBits, .reservedOpcode, .badControl, .badLength, .wrongMasking, .badFragment, .badClose:
            .protocolError
        }
    }

    package var description: String {
        switch self {
        case .reservedBits: "reserved bit set"
        case .reservedOpcode(let opcode): "reserved opcode \(opcode)"
        case .badControl: "control frame fragmented or too long"
        case .badLength: "bad frame length"
        case .wrongMasking: "frame masked or not against its role"
        case .badFragment: "fragment out of order"
        case .notUTF8: "text is not UTF-8"
        case .badClose: "bad close frame"
        case .tooBig: "message too big"
        }
    }
}

/// The 2…14 bytes before a frame's payload (RFC 6455 §5.2).
///
///      0                   1                   2                   3
///     |F|R|R|R| opcode|M| length (7)  | extended length (16 or 64)    |
///     |I|S|S|S|  (4)  |A|             | if length is 126 or 127       |
///     |N|V|V|V|       |S|             | then 4 bytes of key if MASK   |
package struct FrameHeader: Hashable, Sendable {
    /// Longest header there is, in bytes.
    package static let maximumByteCount = 14

    /// Whether this is the message's last frame.
    package var isFinal: Bool
    package var opcode: Opcode
    /// The mask, first byte highest; nil for a server's frame.
    package var maskingKey: UInt32?
    /// Bytes of payload that follow (0…2^63 − 1).
    package var payloadCount: Int
    /// Bytes of the header itself.
    package var byteCount: Int {
        2 + (payloadCount < 126 ? 0 : payloadCount <= 0xFFFF ? 2 : 8) + (maskingKey == nil ? 0 : 4)
    }

    package init(isFinal: Bool = true, opcode: Opcode, maskingKey: UInt32? = nil, payloadCount: Int) {
        self.isFinal = isFinal
        self.opcode = opcode
        self.maskingKey = maskingKey
        self.payloadCount = payloadCount
    }

    /// Appends the header to `queue`, with the shortest length.
    package func encode(into queue: inout ByteQueue) {
        queue.append((isFinal ? 0x80 : 0) | opcode.rawValue)
        let mask: UInt8 = maskingKey == nil ? 0 : 0x80
        if payloadCount < 126 {
            queue.append(mask | UInt8(truncatingIfNeeded: payloadCount))
        } else if payloadCount <= 0xFFFF {
            queue.append(mask | 126)
            queue.append(bigEndian: UInt64(payloadCount), count: 2)
        } else {
            queue.append(mask | 127)
            queue.append(bigEndian: UInt64(payloadCount), count: 8)
        }
        if let maskingKey { queue.append(bigEndian: UInt64(maskingKey), count: 4) }
    }

    /// The header at the head of `queue` and the bytes it took there; nil when it is not whole yet.
    ///
    /// Refuses what can be refused already, so an endless frame is never waited for. A length in more bytes than it needs
    /// is read as what it says.
    package static func parse(
        _ queue: borrowing ByteQueue, fromClient: Bool
    ) throws(FrameError) -> (header: FrameHeader, byteCount: Int)? {
        guard queue.count >= 2 else { return nil }
        let first = queue[0]
        let second = queue[1]
        guard first & 0x70 == 0 else { throw .reservedBits }
        guard let opcode = Opcode(rawValue: first & 0x0F) else { throw .reservedOpcode(first & 0x0F) }
        guard (second & 0x80 != 0) == fromClient else { throw .wrongMasking }
        let isFinal = first & 0x80 != 0
        let short = Int(second & 0x7F)
        if opcode.isControl, !isFinal || short > 125 { throw .badControl }
        let extended = short < 126 ? 0 : short == 126 ? 2 : 8
        let byteCount = 2 + extended + (fromClient ? 4 : 0)
        guard queue.count >= byteCount else { return nil }
        var length = extended == 0 ? UInt64(short) : 0
        for index in 0..<extended { length = length << 8 | UInt64(queue[2 + index]) }
        guard let payloadCount = Int(exactly: length) else { throw .badLength }
        var key: UInt32?
        if fromClient {
            var value: UInt32 = 0
            for index in 0..<4 { value = value << 8 | UInt32(queue[2 + extended + index]) }
            key = value
        }
        let header = FrameHeader(isFinal: isFinal, opcode: opcode, maskingKey: key, payloadCount: payloadCount)
        return (header, byteCount)
    }
}
