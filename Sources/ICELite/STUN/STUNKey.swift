internal import COpenSSL

/// The key of a message's HMAC.
package struct STUNKey: Hashable, Sendable {
    let bytes: [UInt8]

    /// Short-term credentials: the password itself (RFC 8489 §9.1.1). ICE passwords are ASCII: SASLprep changes
    /// nothing.
    package init(password: String) { bytes = Array(password.utf8) }

    /// Long-term credentials: MD5 of `username:realm:password` (RFC 8489 §9.2.2).
    ///
    /// - Parameter password: after OpaqueString/SASLprep preparation, which is the caller's.
    package init(username: String, realm: String, password: String) {
        let text = Array("\(username):\(realm):\(password)".utf8)
        var digest = [UInt8](repeating: 0, count: 16)
        var count: UInt32 = 0
        let done = unsafe EVP_Digest(text, text.count, &digest, &count, EVP_md5(), nil)
        // A FIPS provider has no MD5: an empty key verifies nothing.
        bytes = done == 1 ? digest : []
    }

    /// The HMAC of the `count` first bytes of `message`, whose header length counts as `length` (RFC 8489 §14.5).
    ///
    /// - Returns: 20 or 32 bytes at the front; nil for an empty key or a message over `STUNMessage.maximumSize`.
    ///   Does not allocate, beyond what OpenSSL does.
    func digest(
        _ integrity: STUNIntegrity, of message: borrowing RawSpan, count: Int, length: Int
    )
        -> InlineArray<32, UInt8>?
    {
        guard !bytes.isEmpty, count >= STUNMessage.headerSize, count <= STUNMessage.maximumSize,
            count <= message.byteCount, let length = UInt16(exactly: length)
        else { return nil }
        let algorithm = integrity == .sha256 ? EVP_sha256() : EVP_sha1()
        var result = InlineArray<32, UInt8>(repeating: 0)
        let done = unsafe withUnsafeTemporaryAllocation(byteCount: count, alignment: 8) { scratch in
            unsafe message.withUnsafeBytes { source in
                unsafe scratch.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[..<count]))
            }
            unsafe scratch.storeBytes(of: length.bigEndian, toByteOffset: 2, as: UInt16.self)
            return unsafe bytes.withUnsafeBufferPointer { key in
                unsafe withUnsafeMutableBytes(of: &result) { output in
                    var written: UInt32 = 0
                    return unsafe HMAC(
                        algorithm, key.baseAddress, Int32(key.count),
                        scratch.baseAddress?.assumingMemoryBound(to: UInt8.self), count,
                        output.baseAddress?.assumingMemoryBound(to: UInt8.self), &written) != nil
                }
            }
        }
        return done ? result : nil
    }
}

/// CRC-32 of ITU V.42, for FINGERPRINT (RFC 8489 §14.7).
enum STUNChecksum {
    /// What the CRC is XORed with: "STUN".
    static let mask: UInt32 = 0x5354_554E

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1 }
    }

    /// The value FINGERPRINT has after the bytes `range` of `bytes`.
    static func fingerprint(of bytes: borrowing RawSpan, in range: Range<Int>) -> UInt32 {
        var crc: UInt32 = 0xFFFF_FFFF
        let table = Self.table
        for index in range {
            let byte = bytes.bigEndian(at: index, as: UInt8.self)
            crc = table[Int(truncatingIfNeeded: (crc ^ UInt32(byte)) & 0xFF)] ^ (crc >> 8)
        }
        return ~crc ^ mask
    }
}
