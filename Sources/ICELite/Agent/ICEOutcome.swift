/// A send that was refused: by the system at once, or by ICMP afterwards.
public struct ICESendFailure: Hashable, Sendable {
    /// The errno: ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, EPERM, …
    public var errno: Int32
    /// ICMP or ICMPv6 type; nil when no ICMP message was behind it.
    public var icmpType: UInt8?
    /// ICMP or ICMPv6 code.
    public var icmpCode: UInt8?
    /// Who sent the ICMP message.
    public var reporter: IPAddress?

    /// This machine refused: no ICMP message, which anybody may forge, was behind it.
    public var isLocal: Bool { icmpType == nil }

    public init(errno: Int32, icmpType: UInt8? = nil, icmpCode: UInt8? = nil, reporter: IPAddress? = nil) {
        self.errno = errno
        self.icmpType = icmpType
        self.icmpCode = icmpCode
        self.reporter = reporter
    }
}

/// Where the checks of a full agent stand: what the call's policy needs to give a fallback its reason.
public struct ICEOutcome: Hashable, Sendable {
    /// Host candidates of ours there are.
    public var localCandidates: Int
    /// Candidate pairs there are.
    public var pairs: Int
    /// Checks sent so far.
    public var checksSent: UInt64
    /// There is a pair, every pair had a send refused, and nothing at all was answered: the newest failure.
    public var everyPairRefused: ICESendFailure?
    /// There were error responses and no success.
    public var onlyErrorResponses: Bool
    /// No more remote candidates are to come: the peer is lite or has said so.
    public var remoteIsComplete: Bool
    /// No more local candidates are to come: `localEndOfCandidates` was called.
    public var localIsComplete: Bool
    /// When the newest pair was formed.
    public var lastPairAddedAt: Instant?
    /// When the first check left.
    public var firstCheckAt: Instant?
    /// When the first valid answer came.
    public var firstResponseAt: Instant?
    /// Smoothed round trip.
    public var roundTrip: Nanoseconds?

    /// Both ends have named all their candidates and no two of them make a pair: there is nothing to wait for.
    ///
    /// Only a check of a full peer, from an address it did not name, can still take it back (RFC 8863 §4).
    public var hasNoCandidatePair: Bool { remoteIsComplete && localIsComplete && pairs == 0 }
}
