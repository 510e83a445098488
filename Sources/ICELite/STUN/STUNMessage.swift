/// A STUN message that lies in a received datagram: a reader that borrows the bytes and allocates nothing.
///
///      0                   1                   2                   3
///     |0 0|  message type (14 bits)   |         length (of what follows)  |
///     |                    magic cookie 0x2112A442                        |
///     |                    transaction id (96 bits)                       |
///     | attribute type | length | value, padded to 4 | …
///
/// Of an attribute that comes twice the first counts. Attributes behind MESSAGE-INTEGRITY are not covered by it and are
/// ignored, except MESSAGE-INTEGRITY-SHA256 and FINGERPRINT (RFC 8489 §14.5).
public struct STUNMessage: ~Escapable {
    /// Bytes of the header.
    public static let headerSize = 20
    /// The fixed value in bytes 4…7.
    public static let magicCookie: UInt32 = 0x2112_A442
    /// The Binding method, the only one ICE uses.
    public static let binding: UInt16 = 0x001
    /// Longest message that is looked at, bytes.
    public static let maximumSize = 2_048

    let bytes: RawSpan
    /// Request, indication, success or error.
    public let messageClass: STUNClass
    /// The 12-bit method.
    public let method: UInt16
    /// The id that ties a response to its request.
    public let transactionID: STUNTransactionID

    var usernameRange: Range<Int>?
    var realmRange: Range<Int>?
    var nonceRange: Range<Int>?
    var softwareRange: Range<Int>?
    var unknownAttributesRange: Range<Int>?
    /// Offsets of the attributes' headers.
    var integrityOffset: Int?
    var integritySHA256Range: Range<Int>?
    var fingerprintOffset: Int?

    /// PRIORITY (RFC 8445 §7.1.1).
    public internal(set) var priority: UInt32?
    /// USE-CANDIDATE is there.
    public internal(set) var useCandidate = false
    /// ICE-CONTROLLED: the peer says it is controlled; its tie-breaker.
    public internal(set) var iceControlled: UInt64?
    /// ICE-CONTROLLING: the peer says it is controlling; its tie-breaker.
    public internal(set) var iceControlling: UInt64?
    /// NOMINATION's counter.
    public internal(set) var nomination: UInt32?
    /// Our token attribute: 0 in a request is the offer to echo one.
    public internal(set) var routabilityToken: UInt64?
    /// ERROR-CODE, 300…699.
    public internal(set) var errorCode: UInt16?
    /// XOR-MAPPED-ADDRESS, decoded.
    public internal(set) var xorMappedAddress: SocketAddress?
    /// MAPPED-ADDRESS.
    public internal(set) var mappedAddress: SocketAddress?
    /// Comprehension-required attributes that we do not know.
    public internal(set) var unknown = STUNUnknownAttributes()

    /// The first byte and the cookie say STUN: what a demultiplexer asks (RFC 7983 §7, RFC 8489 §6.3). Does not
    /// allocate.
    public static func isSTUN(_ bytes: borrowing RawSpan) -> Bool {
        bytes.byteCount >= headerSize && bytes.bigEndian(at: 0, as: UInt8.self) < 4
            && bytes.bigEndian(at: 4, as: UInt32.self) == magicCookie
    }

    /// Reads one whole datagram. Checks form, not FINGERPRINT or integrity: see `hasValidFingerprint`, `verifies`.
    ///
    /// - Throws: `STUNError` when the datagram is not exactly one well-formed STUN message.
    @_lifetime(copy bytes)
    public init(parsing bytes: borrowing RawSpan) throws(STUNError) {
        let size = bytes.byteCount
        guard size >= Self.headerSize, size <= Self.maximumSize else { throw .badSize(size) }
        let type = bytes.bigEndian(at: 0, as: UInt16.self)
        guard type & 0xC000 == 0, bytes.bigEndian(at: 4, as: UInt32.self) == Self.magicCookie else { throw .notSTUN }
        let length = Int(bytes.bigEndian(at: 2, as: UInt16.self))
        guard length % 4 == 0, Self.headerSize + length == size else { throw .badLength(length) }
        self.bytes = copy bytes
        // RFC 8489 §5: the class bits are bits 4 and 8, the method is the rest.
        switch (type >> 4 & 1) | (type >> 7 & 2) {
        case 0: messageClass = .request
        case 1: messageClass = .indication
        case 2: messageClass = .success
        default: messageClass = .error
        }
        method = (type & 0x000F) | (type >> 1 & 0x0070) | (type >> 2 & 0x0F80)
        transactionID = STUNTransactionID(
            high: bytes.bigEndian(at: 8, as: UInt64.self), low: bytes.bigEndian(at: 16, as: UInt32.self))
        try readAttributes()
    }

    private mutating func readAttributes() throws(STUNError) {
        var offset = Self.headerSize
        while offset < bytes.byteCount {
            // The length is a multiple of 4, so the 4-byte header of an attribute always fits.
            let rawType = bytes.bigEndian(at: offset, as: UInt16.self)
            let length = Int(bytes.bigEndian(at: offset + 2, as: UInt16.self))
            let start = offset + 4
            let next = start + (length + 3) & ~3
            guard next <= bytes.byteCount else { throw .attributeOverrun(type: rawType) }
            if fingerprintOffset != nil { throw .fingerprintNotLast }
            let isProtected = integrityOffset == nil && integritySHA256Range == nil
            switch STUNAttributeType(rawValue: rawType) {
            case .fingerprint?:
                guard length == 4 else { throw .malformedAttribute(type: rawType) }
                fingerprintOffset = offset
            case .messageIntegrity?:
                guard length == 20 else { throw .malformedAttribute(type: rawType) }
                if isProtected { integrityOffset = offset }
            case .messageIntegritySHA256?:
                guard (16...32).contains(length), length % 4 == 0 else { throw .malformedAttribute(type: rawType) }
                if integritySHA256Range == nil { integritySHA256Range = start..<(start + length) }
            case let type?:
                if isProtected, !read(type, at: start..<(start + length)) {
                    throw .malformedAttribute(type: rawType)
                }
            case nil:
                if isProtected, rawType < 0x8000 { unknown.insert(rawType) }
            }
            offset = next
        }
    }
}
