/// What became of a datagram that was handed to an ICE agent.
public enum ICEVerdict: Hashable, Sendable {
    /// It was taken: an authenticated request, or an answer to a check of ours.
    case accepted
    /// It changed nothing but a counter; a request may still be answered with an error.
    case dropped(ICEDropReason)
}

/// Why a STUN message was not taken.
public enum ICEDropReason: UInt8, Hashable, Sendable, CaseIterable {
    /// No well-formed STUN message.
    case malformed
    /// FINGERPRINT is wrong (RFC 8489 §14.7).
    case badFingerprint
    /// A method other than Binding.
    case unknownMethod
    /// USERNAME, integrity or PRIORITY is missing: answered with 400.
    case badRequest
    /// The user name or the HMAC is not ours: answered with 401.
    case unauthenticated
    /// A comprehension-required attribute that we do not know: 420 to a request.
    case unknownAttribute
    /// Both ends claim a role that only one can have: answered with 487.
    case roleConflict
    /// It came to an address that is no candidate of ours.
    case unknownLocalAddress
    /// No candidate pair, and no room for one.
    case noPair
    /// A response to nothing that is outstanding.
    case unknownTransaction
    /// A response from or to other addresses than the check's (RFC 8445 §7.2.5.2.1).
    case asymmetricResponse
    /// An error response to a check.
    case errorResponse
    /// The agent has ended, or its consent expired.
    case ended
    /// A Binding indication (RFC 8445 §11): it keeps NAT bindings, proves nothing and wants no answer.
    case indication
}

/// What an ICE agent counts; none ever falls.
public struct ICECounters: Hashable, Sendable {
    private var drops = InlineDrops()
    /// Checks sent, retransmissions and consent checks included.
    public internal(set) var checksSent: UInt64 = 0
    /// Rounds of probes that were asked for.
    public internal(set) var probeRounds: UInt64 = 0
    /// Probes that an answer has ended.
    public internal(set) var probesAnswered: UInt64 = 0
    /// Checks of the warm pair, and of pairs that might become it.
    public internal(set) var warmChecks: UInt64 = 0
    /// Valid success responses.
    public internal(set) var responsesReceived: UInt64 = 0
    /// Error responses to checks of ours.
    public internal(set) var errorResponses: UInt64 = 0
    /// 487s received, and requests of a peer that claims our role.
    public internal(set) var roleConflicts: UInt64 = 0
    /// Authenticated requests that were answered with success.
    public internal(set) var requestsAnswered: UInt64 = 0
    /// Error responses that were queued.
    public internal(set) var requestsRefused: UInt64 = 0
    /// Error responses over `ICELimits.errorResponsesPerSecond`, or longer than the request.
    public internal(set) var errorsSuppressed: UInt64 = 0
    /// Success responses that the allowance of an unconfirmed tuple had no room for.
    public internal(set) var answersWithheld: UInt64 = 0
    /// Media and DTLS that `ICELiteAgent.authorizeSend` refused.
    public internal(set) var sendsRefused: UInt64 = 0
    /// Responses that found `ICELimits.pendingResponses` waiting.
    public internal(set) var responsesDropped: UInt64 = 0
    /// Events that found `ICELimits.pendingEvents` waiting.
    public internal(set) var eventsDropped: UInt64 = 0
    /// Remote candidates over the limit, of another component, or known already.
    public internal(set) var candidatesIgnored: UInt64 = 0
    /// Pairs over `ICELimits.pairs`.
    public internal(set) var pairsIgnored: UInt64 = 0
    /// Sends that the system or ICMP refused.
    public internal(set) var sendFailures: UInt64 = 0
    /// Tuples that made room for a newer one.
    public internal(set) var tuplesEvicted: UInt64 = 0
    /// Moves of a lite agent's selection to a newer tuple by one check with the nomination it had.
    public internal(set) var rebindings: UInt64 = 0
    /// Restarts whose new generation has been selected.
    public internal(set) var restarts: UInt64 = 0
    /// Authenticated requests whose USERNAME ends with none of the peer's ufrags.
    public internal(set) var foreignUsernames: UInt64 = 0
    /// Spans too small for a message.
    public internal(set) var noRoom: UInt64 = 0

    public init() {}

    /// Messages dropped for `reason`.
    public internal(set) subscript(reason: ICEDropReason) -> UInt64 {
        get { drops.counts[Int(reason.rawValue)] }
        set { drops.counts[Int(reason.rawValue)] = newValue }
    }

    /// Counts `reason` and makes it a verdict.
    mutating func drop(_ reason: ICEDropReason) -> ICEVerdict {
        self[reason] += 1
        return .dropped(reason)
    }

    /// One counter for each drop reason, without a heap block.
    private struct InlineDrops: Hashable, Sendable {
        var counts = InlineArray<16, UInt64>(repeating: 0)

        static func == (left: Self, right: Self) -> Bool {
            for index in 0..<16 where left.counts[index] != right.counts[index] { return false }
            return true
        }

        func hash(into hasher: inout Hasher) {
            for index in 0..<16 { hasher.combine(counts[index]) }
        }
    }
}
