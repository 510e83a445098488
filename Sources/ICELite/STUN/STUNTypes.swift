/// The two class bits of a STUN message type (RFC 8489 §5).
public enum STUNClass: UInt8, Hashable, Sendable {
    case request = 0
    case indication = 1
    case success = 2
    case error = 3
}

/// The 96-bit transaction id of a STUN message.
public struct STUNTransactionID: Hashable, Sendable {
    /// The first 8 bytes, big-endian.
    public let high: UInt64
    /// The last 4 bytes, big-endian.
    public let low: UInt32

    public init(high: UInt64, low: UInt32) {
        self.high = high
        self.low = low
    }

    /// A random transaction id (RFC 8489 §5: uniformly and randomly chosen).
    public static func random(using randomness: inout Randomness) -> STUNTransactionID {
        STUNTransactionID(high: randomness.next(), low: UInt32(truncatingIfNeeded: randomness.next()))
    }
}

/// The attributes this package reads or writes; types below 0x8000 are comprehension-required (RFC 8489 §14).
public enum STUNAttributeType: UInt16, Hashable, Sendable, CaseIterable {
    case mappedAddress = 0x0001
    case username = 0x0006
    case messageIntegrity = 0x0008
    case errorCode = 0x0009
    case unknownAttributes = 0x000A
    case realm = 0x0014
    case nonce = 0x0015
    case messageIntegritySHA256 = 0x001C
    case xorMappedAddress = 0x0020
    /// RFC 8445 §7.1.1.
    case priority = 0x0024
    /// RFC 8445 §7.1.2: a flag without value.
    case useCandidate = 0x0025
    case software = 0x8022
    case fingerprint = 0x8028
    /// RFC 8445 §7.1.3: the controlled agent's tie-breaker.
    case iceControlled = 0x8029
    /// RFC 8445 §7.1.3: the controlling agent's tie-breaker.
    case iceControlling = 0x802A
    /// draft-thatcher-ice-renomination: a 32-bit counter, highest wins.
    case nomination = 0xC001
    /// Our return-routability token: 8 bytes. All zero in a request is the offer to echo one.
    case routabilityToken = 0xC0E1
}

/// The error codes of ICE's Binding responses, with their reason phrases.
public enum STUNErrorCode: UInt16, Hashable, Sendable {
    case badRequest = 400
    case unauthenticated = 401
    case unknownAttribute = 420
    /// RFC 8445 §7.3.1.1.
    case roleConflict = 487

    /// The recommended reason phrase (RFC 8489 §14.8).
    public var reason: StaticString {
        switch self {
        case .badRequest: "Bad Request"
        case .unauthenticated: "Unauthenticated"
        case .unknownAttribute: "Unknown Attribute"
        case .roleConflict: "Role Conflict"
        }
    }
}

/// Which HMAC protects a message.
public enum STUNIntegrity: Hashable, Sendable {
    /// No integrity attribute: an error to a peer whose key we do not know.
    case none
    /// MESSAGE-INTEGRITY, HMAC-SHA1 (RFC 8489 §14.5).
    case sha1
    /// MESSAGE-INTEGRITY-SHA256, 32 bytes (RFC 8489 §14.6).
    case sha256
}

/// The comprehension-required attributes of a request that we do not know: the first four, for UNKNOWN-ATTRIBUTES.
public struct STUNUnknownAttributes: Hashable, Sendable {
    /// How many types are kept of one message.
    public static let capacity = 4
    /// Types kept, 0…4.
    public private(set) var count = 0
    private var packed: UInt64 = 0

    public init() {}

    /// No unknown attribute was met.
    public var isEmpty: Bool { count == 0 }

    /// Keeps `type`, unless four are kept.
    public mutating func insert(_ type: UInt16) {
        guard count < Self.capacity else { return }
        packed |= UInt64(type) << UInt64(16 * count)
        count += 1
    }

    /// The type at `index`, 0..<count.
    public subscript(index: Int) -> UInt16 { UInt16(truncatingIfNeeded: packed >> UInt64(16 * index)) }
}
