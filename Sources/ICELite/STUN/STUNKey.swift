internal import COpenSSL

/// The key of a message's HMAC, kept as its two hashed pads (RFC 2104 §4): a check costs no key set-up and no allocation.
///
/// Copies share one set of pads, wiped when the last copy goes. Making one allocates; using it does not.
public struct STUNKey: Sendable {
    /// nil for an empty key, which verifies nothing.
    private let pads: HMACPads?

    /// Short-term credentials: the password itself (RFC 8489 §9.1.1). ICE passwords are ASCII: SASLprep changes
    /// nothing.
    public init(password: String) { self.init(bytes: Array(password.utf8)) }

    /// Long-term credentials: MD5 of `username:realm:password` (RFC 8489 §9.2.2).
    ///
    /// - Parameters:
    ///   - username: of USERNAME.
    ///   - realm: of REALM, without quotes.
    ///   - password: after OpaqueString/SASLprep preparation, which is the caller's.
    public init(username: String, realm: String, password: String) {
        let text = Array("\(username):\(realm):\(password)".utf8)
        var digest = [UInt8](repeating: 0, count: 16)
        var count: UInt32 = 0
        let done = unsafe EVP_Digest(text, text.count, &digest, &count, EVP_md5(), nil)
        // A FIPS provider has no MD5: an empty key verifies nothing.
        self.init(bytes: done == 1 ? digest : [])
    }

    /// The key `bytes`; an empty one verifies nothing.
    public init(bytes: [UInt8]) { pads = HMACPads(key: bytes) }

    /// The HMAC of the `count` first bytes of `message`, whose header length counts as `length` (RFC 8489 §14.5).
    ///
    /// - Returns: 20 or 32 bytes at the front; nil for an empty key or a message over `STUNMessage.maximumSize`.
    ///   Does not allocate.
    func digest(
        _ integrity: STUNIntegrity, of message: borrowing RawSpan, count: Int, length: Int
    ) -> InlineArray<32, UInt8>? {
        guard let pads, count >= STUNMessage.headerSize, count <= STUNMessage.maximumSize,
            count <= message.byteCount, let length = UInt16(exactly: length)
        else { return nil }
        let type = message.bigEndian(at: 0, as: UInt16.self)
        return pads.digest(integrity, head: UInt32(type) << 16 | UInt32(length), rest: message.extracting(4..<count))
    }

    /// Whether the `value.count` first bytes of `digest` are the bytes `value` of `message`, in constant time.
    static func equal(
        _ digest: InlineArray<32, UInt8>, _ message: borrowing RawSpan, _ value: Range<Int>
    ) -> Bool {
        guard value.count <= 32 else { return false }
        return unsafe message.extracting(value).withUnsafeBytes { theirs in
            unsafe digest.span.withUnsafeBytes { ours in
                unsafe CRYPTO_memcmp(ours.baseAddress, theirs.baseAddress, theirs.count) == 0
            }
        }
    }
}

extension STUNKey: Hashable {
    /// What the key makes of an empty message: tells keys apart without showing them.
    private var digestOfNothing: InlineArray<32, UInt8>? {
        pads?.digest(.sha256, head: 0, rest: RawSpan())
    }

    public static func == (left: STUNKey, right: STUNKey) -> Bool {
        guard let ours = left.digestOfNothing, let theirs = right.digestOfNothing else {
            return left.pads == nil && right.pads == nil
        }
        return equal(ours, theirs.span.bytes, 0..<32)
    }

    public func hash(into hasher: inout Hasher) {
        guard let digest = digestOfNothing else { return }
        hasher.combine(digest.span.bytes.bigEndian(at: 0, as: UInt64.self))
    }
}
