/// Checks that bytes are UTF-8 (RFC 3629), in pieces cut anywhere: no overlong form, no surrogate, nothing past U+10FFFF.
package struct UTF8Check: Hashable, Sendable {
    private var missing = 0
    private var lowest: UInt8 = 0x80
    private var highest: UInt8 = 0xBF

    package init() {}

    /// Whether what was fed so far ends on a code point's boundary.
    package var isComplete: Bool { missing == 0 }

    /// Feeds the next bytes; false as soon as they cannot be UTF-8, after which the check is of no more use.
    package mutating func feed(_ bytes: borrowing RawSpan) -> Bool { bytes.withUnsafeBytes { feed($0) } }

    /// Feeds the bytes at `range` of `queue`, as `feed(_:)` does.
    package mutating func feed(_ range: Range<Int>, of queue: borrowing ByteQueue) -> Bool {
        queue.withBytes(in: range) { feed($0) }
    }

    private mutating func feed(_ buffer: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        let count = buffer.count
        while index < count {
            if missing == 0 {
                while index + 8 <= count,
                    buffer.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
                { index += 8 }
                if index == count { return true }
            }
            guard take(buffer[index]) else { return false }
            index += 1
        }
        return true
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        if missing > 0 {
            guard (lowest...highest).contains(byte) else { return false }
            missing -= 1
            lowest = 0x80
            highest = 0xBF
            return true
        }
        switch byte {
        case 0x00...0x7F: return true
        case 0xC2...0xDF: missing = 1
        case 0xE0...0xEF:
            missing = 2
            if byte == 0xE0 { lowest = 0xA0 }
            if byte == 0xED { highest = 0x9F }
        case 0xF0...0xF4:
            missing = 3
            if byte == 0xF0 { lowest = 0x90 }
            if byte == 0xF4 { highest = 0x8F }
        default: return false
        }
        return true
    }
}
