/// CRC-32 of ITU V.42, for FINGERPRINT (RFC 8489 §14.7), eight bytes a step.
enum STUNChecksum {
    /// What the CRC is XORed with: "STUN".
    static let mask: UInt32 = 0x5354_554E

    /// Eight tables of 256: table k is the CRC of a byte that k zero bytes follow.
    private static let tables: [UInt32] = {
        var tables: [UInt32] = []
        tables.reserveCapacity(2_048)
        for index in 0..<UInt32(256) {
            var value = index
            for _ in 0..<8 { value = value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1 }
            tables.append(value)
        }
        for index in 256..<2_048 {
            let previous = tables[index - 256]
            tables.append(tables[Int(previous & 0xFF)] ^ (previous >> 8))
        }
        return tables
    }()

    /// The value FINGERPRINT has after the bytes `range` of `bytes`, which the caller has checked to be there.
    static func fingerprint(of bytes: borrowing RawSpan, in range: Range<Int>) -> UInt32 {
        let tables = tables.span
        var crc: UInt32 = 0xFFFF_FFFF
        var offset = range.lowerBound
        while range.upperBound - offset >= 8 {
            let word = UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
            let mixed = word ^ UInt64(crc)
            crc = 0
            for step in 0..<8 {
                let byte = Int(truncatingIfNeeded: mixed >> UInt64(8 * step) & 0xFF)
                // At most 7 × 256 + 255.
                crc ^= unsafe tables[unchecked: (7 - step) << 8 | byte]
            }
            offset += 8
        }
        while offset < range.upperBound {
            let byte = UInt32(bytes.bigEndian(at: offset, as: UInt8.self))
            crc = unsafe tables[unchecked: Int((crc ^ byte) & 0xFF)] ^ (crc >> 8)
            offset += 1
        }
        return ~crc ^ mask
    }
}
