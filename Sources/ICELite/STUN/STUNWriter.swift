/// Writes one STUN message into a caller's span, attribute by attribute; the header's length is always right.
///
/// Each call throws `STUNError.noRoom`, with the span unchanged, when the attribute does not fit. Does not allocate.
public struct STUNWriter {
    private let start: Int
    private let transactionID: STUNTransactionID

    /// Writes the header of a message without attributes.
    public init(
        _ messageClass: STUNClass, method: UInt16 = STUNMessage.binding, transactionID: STUNTransactionID,
        into out: inout OutputRawSpan
    ) throws(STUNError) {
        guard out.freeCapacity >= STUNMessage.headerSize else { throw .noRoom }
        start = out.byteCount
        self.transactionID = transactionID
        let bits = UInt16(messageClass.rawValue)
        let type =
            (method & 0x000F) | (method & 0x0070) << 1 | (method & 0x0F80) << 2 | (bits & 1) << 4 | (bits & 2) << 7
        out.append(type.bigEndian, as: UInt16.self)
        out.append(UInt16(0), as: UInt16.self)
        out.append(STUNMessage.magicCookie.bigEndian, as: UInt32.self)
        out.append(transactionID.high.bigEndian, as: UInt64.self)
        out.append(transactionID.low.bigEndian, as: UInt32.self)
    }

    /// Appends the attribute's header and sets the message's length; the value of `length` bytes is the caller's to
    /// write.
    private func open(_ type: STUNAttributeType, length: Int, into out: inout OutputRawSpan) throws(STUNError) {
        let padded = (length + 3) & ~3
        let total = out.byteCount - start - STUNMessage.headerSize + 4 + padded
        guard out.freeCapacity >= 4 + padded, total <= STUNMessage.maximumSize - STUNMessage.headerSize else {
            throw .noRoom
        }
        setLength(total, in: &out)
        out.append(type.rawValue.bigEndian, as: UInt16.self)
        out.append(UInt16(truncatingIfNeeded: length).bigEndian, as: UInt16.self)
    }

    private func setLength(_ length: Int, in out: inout OutputRawSpan) {
        var bytes = out.mutableBytes
        bytes.storeBytes(
            of: UInt16(truncatingIfNeeded: length).bigEndian, toByteOffset: start + 2, as: UInt16.self)
    }

    private func pad(_ length: Int, into out: inout OutputRawSpan) {
        for _ in 0..<(-length & 3) { out.append(0, as: UInt8.self) }
    }

    /// Appends an attribute of bytes: SOFTWARE, REALM, NONCE, USERNAME.
    public func append(_ type: STUNAttributeType, _ value: [UInt8], into out: inout OutputRawSpan) throws(STUNError) {
        try open(type, length: value.count, into: &out)
        for byte in value { out.append(byte, as: UInt8.self) }
        pad(value.count, into: &out)
    }

    /// Appends USERNAME `first:second` (RFC 8445 §7.2.2: the receiver's ufrag first).
    public func append(username first: [UInt8], _ second: [UInt8], into out: inout OutputRawSpan) throws(STUNError) {
        let length = first.count + 1 + second.count
        try open(.username, length: length, into: &out)
        for byte in first { out.append(byte, as: UInt8.self) }
        out.append(UInt8(ascii: ":"), as: UInt8.self)
        for byte in second { out.append(byte, as: UInt8.self) }
        pad(length, into: &out)
    }

    /// Appends an attribute without value: USE-CANDIDATE.
    public func append(flag type: STUNAttributeType, into out: inout OutputRawSpan) throws(STUNError) {
        try open(type, length: 0, into: &out)
    }

    /// Appends a 32-bit attribute: PRIORITY, NOMINATION.
    public func append(_ type: STUNAttributeType, _ value: UInt32, into out: inout OutputRawSpan) throws(STUNError) {
        try open(type, length: 4, into: &out)
        out.append(value.bigEndian, as: UInt32.self)
    }

    /// Appends a 64-bit attribute: a tie-breaker, our token.
    public func append(_ type: STUNAttributeType, _ value: UInt64, into out: inout OutputRawSpan) throws(STUNError) {
        try open(type, length: 8, into: &out)
        out.append(value.bigEndian, as: UInt64.self)
    }

    /// Appends XOR-MAPPED-ADDRESS (RFC 8489 §14.2), or MAPPED-ADDRESS. An IPv4-mapped IPv6 address is written as IPv4.
    public func append(
        address: SocketAddress, isXORed: Bool = true, into out: inout OutputRawSpan
    )
        throws(STUNError)
    {
        let ip = address.ip.unmapped
        let cookie = isXORed ? STUNMessage.magicCookie : 0
        try open(
            isXORed ? .xorMappedAddress : .mappedAddress, length: ip.family == .v4 ? 8 : 20, into: &out)
        out.append(0, as: UInt8.self)
        out.append(ip.family == .v4 ? 1 : 2, as: UInt8.self)
        out.append((address.port ^ UInt16(truncatingIfNeeded: cookie >> 16)).bigEndian, as: UInt16.self)
        if ip.family == .v4 {
            out.append((UInt32(truncatingIfNeeded: ip.low) ^ cookie).bigEndian, as: UInt32.self)
        } else {
            let id = isXORed ? transactionID : STUNTransactionID(high: 0, low: 0)
            out.append((ip.high ^ (UInt64(cookie) << 32 | id.high >> 32)).bigEndian, as: UInt64.self)
            out.append((ip.low ^ (id.high << 32 | UInt64(id.low))).bigEndian, as: UInt64.self)
        }
    }

    /// Appends ERROR-CODE with its recommended reason phrase (RFC 8489 §14.8).
    public func append(error: STUNErrorCode, into out: inout OutputRawSpan) throws(STUNError) {
        let length = 4 + error.reason.utf8CodeUnitCount
        try open(.errorCode, length: length, into: &out)
        out.append(UInt16(0), as: UInt16.self)
        out.append(UInt8(truncatingIfNeeded: error.rawValue / 100), as: UInt8.self)
        out.append(UInt8(truncatingIfNeeded: error.rawValue % 100), as: UInt8.self)
        for index in 0..<error.reason.utf8CodeUnitCount {
            out.append(unsafe error.reason.utf8Start[index], as: UInt8.self)
        }
        pad(length, into: &out)
    }

    /// Appends UNKNOWN-ATTRIBUTES (RFC 8489 §14.13).
    public func append(unknown: STUNUnknownAttributes, into out: inout OutputRawSpan) throws(STUNError) {
        try open(.unknownAttributes, length: 2 * unknown.count, into: &out)
        for index in 0..<unknown.count { out.append(unknown[index].bigEndian, as: UInt16.self) }
        pad(2 * unknown.count, into: &out)
    }

    /// Appends MESSAGE-INTEGRITY or MESSAGE-INTEGRITY-SHA256 over what has been written; nothing for `.none`.
    public func append(_ integrity: STUNIntegrity, key: STUNKey, into out: inout OutputRawSpan) throws(STUNError) {
        guard integrity != .none else { return }
        let size = integrity == .sha1 ? 20 : 32
        let written = out.byteCount - start
        guard out.freeCapacity >= 4 + size,
            let digest = key.digest(
                integrity, of: out.bytes.extracting(start..<out.byteCount), count: written,
                length: written - STUNMessage.headerSize + 4 + size)
        else { throw .noRoom }
        try open(integrity == .sha1 ? .messageIntegrity : .messageIntegritySHA256, length: size, into: &out)
        for index in 0..<size { out.append(digest[index], as: UInt8.self) }
    }

    /// Appends FINGERPRINT: the last attribute (RFC 8489 §14.7).
    public func appendFingerprint(into out: inout OutputRawSpan) throws(STUNError) {
        let end = out.byteCount
        try open(.fingerprint, length: 4, into: &out)
        let value = STUNChecksum.fingerprint(of: out.bytes, in: start..<end)
        out.append(value.bigEndian, as: UInt32.self)
    }
}
