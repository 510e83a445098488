/// Why a candidate attribute was not taken.
public enum ICECandidateError: Error, Equatable, Sendable {
    /// It is well-formed, and nothing for us: go on without it.
    case skip(Skip)
    /// It breaks the grammar of RFC 8839 §5.1.
    case malformed(Field)

    /// What there is to skip.
    public enum Skip: Hashable, Sendable {
        /// TCP (RFC 6544), or a transport we have never heard of.
        case transport
        /// A `.local` name (mDNS), which we do not resolve.
        case mdnsName
        /// Another host name: RFC 8839 §5.1 lets one ignore it.
        case hostName
        /// A candidate type that is none of host, srflx, prflx and relay.
        case type
        /// An address nothing can be sent to: unspecified or multicast.
        case address
    }

    /// Where the grammar was broken.
    public enum Field: Hashable, Sendable {
        case prefix
        case length
        case foundation
        case component
        case priority
        case address
        case port
        case type
        case relatedAddress
        case extensions
    }

    /// The line was well-formed.
    public var isSkip: Bool {
        if case .skip = self { true } else { false }
    }
}
