extension STUNMessage {
    /// Takes the value at `range` of an attribute that carries no integrity; false when its form is wrong.
    mutating func read(_ type: STUNAttributeType, at range: Range<Int>) -> Bool {
        switch type {
        case .username:
            // RFC 8489 §14.3: less than 509 bytes; ICE's two ufrags and a colon need up to 513.
            guard range.count <= 513 else { return false }
            usernameRange = usernameRange ?? range
        case .realm:
            realmRange = realmRange ?? range
        case .nonce:
            nonceRange = nonceRange ?? range
        case .software:
            softwareRange = softwareRange ?? range
        case .unknownAttributes:
            guard range.count % 2 == 0 else { return false }
            unknownAttributesRange = unknownAttributesRange ?? range
        case .useCandidate:
            guard range.isEmpty else { return false }
            useCandidate = true
        case .priority:
            guard range.count == 4 else { return false }
            priority = priority ?? bytes.bigEndian(at: range.lowerBound, as: UInt32.self)
        case .nomination:
            // Comprehension-optional: one that we cannot read is as good as absent.
            guard range.count == 4 else { return true }
            nomination = nomination ?? bytes.bigEndian(at: range.lowerBound, as: UInt32.self)
        case .routabilityToken:
            guard range.count == 8 else { return true }
            routabilityToken = routabilityToken ?? bytes.bigEndian(at: range.lowerBound, as: UInt64.self)
        case .iceControlled:
            guard range.count == 8 else { return false }
            iceControlled = iceControlled ?? bytes.bigEndian(at: range.lowerBound, as: UInt64.self)
        case .iceControlling:
            guard range.count == 8 else { return false }
            iceControlling = iceControlling ?? bytes.bigEndian(at: range.lowerBound, as: UInt64.self)
        case .errorCode:
            return readErrorCode(at: range)
        case .xorMappedAddress:
            guard let address = address(at: range, isXORed: true) else { return false }
            xorMappedAddress = xorMappedAddress ?? address
        case .mappedAddress:
            guard let address = address(at: range, isXORed: false) else { return false }
            mappedAddress = mappedAddress ?? address
        case .messageIntegrity, .messageIntegritySHA256, .fingerprint:
            // The caller has taken these.
            break
        }
        return true
    }

    /// RFC 8489 §14.8: 21 reserved bits, a class of 3…6, a number of 0…99.
    private mutating func readErrorCode(at range: Range<Int>) -> Bool {
        guard range.count >= 4 else { return false }
        let hundreds = UInt16(bytes.bigEndian(at: range.lowerBound + 2, as: UInt8.self) & 0x07)
        let number = UInt16(bytes.bigEndian(at: range.lowerBound + 3, as: UInt8.self))
        guard (3...6).contains(hundreds), number < 100 else { return false }
        errorCode = errorCode ?? hundreds * 100 + number
        return true
    }

    /// RFC 8489 §14.1–14.2: IPv6 is XORed with the cookie *and* the transaction id. An IPv4-mapped IPv6 address is taken
    /// as IPv4 (RFC 8445 §5.1.1.1).
    private func address(at range: Range<Int>, isXORed: Bool) -> SocketAddress? {
        guard range.count == 8 || range.count == 20 else { return nil }
        let start = range.lowerBound
        let cookie = isXORed ? Self.magicCookie : 0
        let port = bytes.bigEndian(at: start + 2, as: UInt16.self) ^ UInt16(truncatingIfNeeded: cookie >> 16)
        switch (bytes.bigEndian(at: start + 1, as: UInt8.self), range.count) {
        case (1, 8):
            return SocketAddress(
                ip: IPAddress(v4: bytes.bigEndian(at: start + 4, as: UInt32.self) ^ cookie), port: port)
        case (2, 20):
            let id = isXORed ? transactionID : STUNTransactionID(high: 0, low: 0)
            let high = UInt64(cookie) << 32 | id.high >> 32
            let low = id.high << 32 | UInt64(id.low)
            let ip = IPAddress(
                v6High: bytes.bigEndian(at: start + 4, as: UInt64.self) ^ high,
                low: bytes.bigEndian(at: start + 12, as: UInt64.self) ^ low)
            return SocketAddress(ip: ip.unmapped, port: port)
        default:
            return nil
        }
    }

    // MARK: - Text attributes

    /// USERNAME's bytes; empty when absent (`hasUsername` tells).
    public var username: RawSpan {
        @_lifetime(copy self)
        get { bytes.extracting(usernameRange ?? 0..<0) }
    }
    /// REALM's bytes; empty when absent.
    public var realm: RawSpan {
        @_lifetime(copy self)
        get { bytes.extracting(realmRange ?? 0..<0) }
    }
    /// NONCE's bytes; empty when absent.
    public var nonce: RawSpan {
        @_lifetime(copy self)
        get { bytes.extracting(nonceRange ?? 0..<0) }
    }
    /// SOFTWARE's bytes; empty when absent.
    public var software: RawSpan {
        @_lifetime(copy self)
        get { bytes.extracting(softwareRange ?? 0..<0) }
    }
    /// UNKNOWN-ATTRIBUTES: big-endian 16-bit types; empty when absent.
    public var unknownAttributes: RawSpan {
        @_lifetime(copy self)
        get { bytes.extracting(unknownAttributesRange ?? 0..<0) }
    }
    /// USERNAME is there.
    public var hasUsername: Bool { usernameRange != nil }

    // MARK: - Authenticity

    /// MESSAGE-INTEGRITY or MESSAGE-INTEGRITY-SHA256 is there.
    public var hasIntegrity: Bool { integrityOffset != nil || integritySHA256Range != nil }
    /// FINGERPRINT is there.
    public var hasFingerprint: Bool { fingerprintOffset != nil }

    /// Which HMAC to answer with: SHA-1 unless the message carries SHA-256 alone.
    public var integrity: STUNIntegrity {
        integrityOffset != nil ? .sha1 : integritySHA256Range != nil ? .sha256 : .none
    }

    /// FINGERPRINT is right, or absent (RFC 8489 §14.7). Does not allocate.
    public var hasValidFingerprint: Bool {
        guard let fingerprintOffset else { return true }
        return STUNChecksum.fingerprint(of: bytes, in: 0..<fingerprintOffset)
            == bytes.bigEndian(at: fingerprintOffset + 4, as: UInt32.self)
    }

    /// The integrity attribute is there and was made with `key`, compared in constant time (RFC 8489 §14.5–14.6).
    ///
    /// When both are there MESSAGE-INTEGRITY decides.
    public func verifies(with key: STUNKey) -> Bool {
        if let integrityOffset {
            return matches(key, .sha1, value: (integrityOffset + 4)..<(integrityOffset + 24))
        }
        if let integritySHA256Range { return matches(key, .sha256, value: integritySHA256Range) }
        return false
    }

    private func matches(_ key: STUNKey, _ integrity: STUNIntegrity, value: Range<Int>) -> Bool {
        guard
            let digest = key.digest(
                integrity, of: bytes, count: value.lowerBound - 4, length: value.upperBound - Self.headerSize)
        else { return false }
        return STUNKey.equal(digest, bytes, value)
    }

    /// USERNAME is `local:remote`, as a request to us has it (RFC 8445 §7.2.2); with `remote` nil only the first half
    /// counts.
    public func isAddressed(to local: [UInt8], from remote: [UInt8]?) -> Bool {
        guard let range = usernameRange, range.count > local.count else { return false }
        let colon = range.lowerBound + local.count
        guard bytes.bigEndian(at: colon, as: UInt8.self) == UInt8(ascii: ":"),
            bytes.extracting(range.lowerBound..<colon).elementsEqual(local)
        else { return false }
        guard let remote else { return true }
        return bytes.extracting((colon + 1)..<range.upperBound).elementsEqual(remote)
    }
}
