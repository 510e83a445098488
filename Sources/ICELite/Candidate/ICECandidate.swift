/// A transport address where an ICE agent may be reached (RFC 8445 §5.1, RFC 8839 §5.1). UDP only.
public struct ICECandidate: Hashable, Sendable {
    /// How an address was come by (RFC 8445 §4).
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        case host
        case serverReflexive = "srflx"
        case peerReflexive = "prflx"
        case relayed = "relay"

        /// RFC 8445 §5.1.2.2: 126, 110, 100, 0.
        public var preference: UInt32 {
            switch self {
            case .host: 126
            case .peerReflexive: 110
            case .serverReflexive: 100
            case .relayed: 0
            }
        }
    }

    /// 1…32 ice-chars, the same for candidates of one type, base and server.
    public var foundation: String
    /// 1 for RTP and everything bundled on it, 1…256.
    public var component: UInt16
    /// 1…2^31 − 1 by the RFC; any 32 bits from a peer.
    public var priority: UInt32
    /// The address to send to.
    public var address: SocketAddress
    /// The type, `typ` in the attribute.
    public var kind: Kind
    /// The base of a reflexive or relayed candidate: `raddr` and `rport`.
    public var relatedAddress: SocketAddress?
    /// The `ufrag` extension: which generation of its owner it belongs to (RFC 8839 §5.1, RFC 8838 §8.2).
    public var ufrag: String?

    public init(
        foundation: String, component: UInt16 = 1, priority: UInt32, address: SocketAddress, kind: Kind,
        relatedAddress: SocketAddress? = nil, ufrag: String? = nil
    ) {
        self.foundation = foundation
        self.component = component
        self.priority = priority
        self.address = address
        self.kind = kind
        self.relatedAddress = relatedAddress
        self.ufrag = ufrag
    }

    /// A host candidate of component 1.
    ///
    /// - Parameters:
    ///   - address: of an open socket, or the one that is announced for it (1:1 NAT).
    ///   - localPreference: 0…65,535, higher for an address that is liked more.
    public init(host address: SocketAddress, localPreference: UInt16) {
        self.init(
            foundation: Self.foundation(.host, base: address.ip),
            priority: Self.priority(type: .host, localPreference: localPreference, component: 1), address: address,
            kind: .host)
    }

    /// RFC 8445 §5.1.2.1: 2^24 × type preference + 2^8 × local preference + 256 − component.
    public static func priority(type: Kind, localPreference: UInt16, component: UInt16) -> UInt32 {
        type.preference << 24 | UInt32(localPreference) << 8 | (256 - UInt32(min(max(component, 1), 256)))
    }

    /// A foundation that is equal for equal type and base (RFC 8445 §5.1.1.3).
    static func foundation(_ kind: Kind, base: IPAddress) -> String {
        var hash: UInt32 = 0x811C_9DC5 ^ kind.preference
        for word in [base.high, base.low] {
            for shift in 0..<8 {
                hash = (hash ^ UInt32(truncatingIfNeeded: word >> UInt64(8 * shift) & 0xFF)) &* 0x0100_0193
            }
        }
        return String(hash)
    }
}
