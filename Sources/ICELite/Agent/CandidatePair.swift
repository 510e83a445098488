/// A candidate pair of a full agent and what is known of it.
///
/// There is no frozen state and no foundation to unfreeze by (RFC 8445 §6.1.2.6): with one stream, one component and
/// at most 64 pairs 20 ms apart each pair is simply checked in its turn.
struct CandidatePair {
    /// Never given twice by one agent: what other tables name the pair by.
    let id: UInt64
    let path: NetworkPath
    /// PRIORITY of our checks: the peer-reflexive priority of the local candidate (RFC 8445 §7.1.1).
    let checkPriority: UInt32
    let localPriority: UInt32
    private(set) var remotePriority: UInt32
    /// RFC 8445 §6.1.2.3; it depends on our role.
    private(set) var priority: UInt64

    /// Checks sent since the last answer: what the interval doubles with.
    var attempts = 0
    /// When the first of them was sent.
    var silentSince: Instant?
    /// It is checked though another one is chosen: the warm pair, or one that may become it.
    var isKept = false
    /// A check of it has carried USE-CANDIDATE.
    var wasNominated = false
    /// Checks sent in all.
    var checksSent: UInt64 = 0
    var lastCheckAt: Instant?
    /// When the next ordinary check is due.
    var nextCheckAt: Instant
    /// Since when the pair stands in the triggered-check queue (RFC 8445 §6.1.4.1); nil while it does not.
    var triggeredAt: Instant?
    /// A check goes at once, before and without the pacing.
    var isUrgent = false
    /// Answered at least once.
    var isValid = false
    /// Chosen, and the answer says that the peer knows: consent checks only.
    var isSettled = false
    /// When the last valid answer came.
    var lastAnswerAt: Instant?
    /// Smoothed round trip.
    var roundTrip: Nanoseconds?
    /// What the controlling peer said: NOMINATION's counter, 0 for USE-CANDIDATE alone, nil for neither.
    var nomination: UInt32?
    /// The peer's newest token for this path, echoed in every check.
    var token: UInt64?
    /// Tokens echoed at once since the pair was settled.
    var urgentEchoes = 0
    /// The newest refused send since the last answer.
    var failure: ICESendFailure?
    var failedAt: Instant?
    /// Checks refused in a row, and `checksSent` at the last of them: one check is refused once.
    var refusals = 0
    var refusedCheck: UInt64 = 0

    init(id: UInt64, path: NetworkPath, localPriority: UInt32, remotePriority: UInt32, role: ICERole, now: Instant) {
        self.id = id
        self.path = path
        checkPriority = ICECandidate.Kind.peerReflexive.preference << 24 | localPriority & 0x00FF_FFFF
        self.localPriority = localPriority
        self.remotePriority = remotePriority
        priority = 0
        nextCheckAt = now
        prioritise(role: role)
    }

    /// Computes the priority anew: the role or the remote candidate's priority has changed.
    mutating func prioritise(role: ICERole, remotePriority changed: UInt32? = nil) {
        if let changed { remotePriority = changed }
        let controlling = role == .controlling ? localPriority : remotePriority
        let controlled = role == .controlling ? remotePriority : localPriority
        priority =
            UInt64(min(controlling, controlled)) << 32 &+ 2 &* UInt64(max(controlling, controlled))
            &+ (controlling > controlled ? 1 : 0)
    }

    /// Whether the last valid answer is young enough to send on the pair (RFC 7675 §5.1).
    func hasConsent(now: Instant, timing: ICETiming) -> Bool {
        isValid && lastAnswerAt.map { now < $0 + timing.consentExpiry } ?? false
    }

    /// Whether its last checks were not answered, for longer than an answer can take.
    func isSilent(now: Instant, timing: ICETiming) -> Bool {
        guard attempts >= ICELimits.silentAttempts, let silentSince else { return false }
        return now >= silentSince + max(timing.silence, 2 &* (roundTrip ?? 0))
    }

    /// The peer has told a new token: the next check echoes it, at once unless the last ones have settled nothing.
    mutating func echo(_ token: UInt64) {
        self.token = token
        isSettled = false
        guard urgentEchoes < ICELimits.urgentEchoes else { return }
        urgentEchoes += 1
        isUrgent = true
    }

    /// Whether the pair is nominated before `other`.
    ///
    /// The higher NOMINATION wins, and from 2 on the newer pair of equals, which is a rebinding. For USE-CANDIDATE alone
    /// the pair of the highest priority wins: RFC 8445 §8.1.1, of controlling agents that nominate aggressively as RFC
    /// 5245 had it.
    func outranks(_ other: CandidatePair) -> Bool {
        let ours = nomination ?? 0
        let theirs = other.nomination ?? 0
        if ours != theirs { return ours > theirs }
        return ours > 1 ? id > other.id : priority > other.priority
    }
}
