/// A candidate pair of the client and what is known of it.
struct CandidatePair {
    /// A check that may still be answered.
    struct Transaction {
        var id: STUNTransactionID
        var sentAt: Instant
        var useCandidate: Bool
        var nomination: UInt32?
        var token: UInt64?
    }

    let path: NetworkPath
    /// PRIORITY of our checks: the peer-reflexive priority of the local candidate (RFC 8445 §7.1.1).
    let checkPriority: UInt32
    /// RFC 8445 §6.1.2.3, with us controlling.
    let priority: UInt64

    /// Checks sent since the last answer: what the interval doubles with.
    var attempts = 0
    /// Checks sent in all.
    var checksSent: UInt64 = 0
    /// When the next check is due.
    var nextCheckAt: Instant = .zero
    /// A check goes at once, before and without the pacing.
    var isUrgent = false
    /// Answered at least once.
    var isValid = false
    /// Chosen, and the answer says that the peer knows: consent checks only.
    var isSettled = false
    /// When the last valid answer came.
    var lastAnswerAt: Instant?
    /// The peer's newest token for this path, echoed in every check.
    var token: UInt64?
    /// The newest refused send.
    var failure: ICESendFailure?
    var failedAt: Instant?
    /// Oldest first, at most `ICELimits.transactionsPerPair`.
    var transactions: [Transaction] = []

    init(path: NetworkPath, checkPriority: UInt32, localPriority: UInt32, remotePriority: UInt32, now: Instant) {
        self.path = path
        self.checkPriority = checkPriority
        priority =
            UInt64(min(localPriority, remotePriority)) << 32 &+ 2 &* UInt64(max(localPriority, remotePriority))
            &+ (localPriority > remotePriority ? 1 : 0)
        nextCheckAt = now
    }

    mutating func remember(_ transaction: Transaction) {
        if transactions.count == ICELimits.transactionsPerPair { transactions.removeFirst() }
        transactions.append(transaction)
    }

    /// Takes the outstanding check `id` out; nil when there is none.
    mutating func answered(_ id: STUNTransactionID) -> Transaction? {
        guard let index = transactions.firstIndex(where: { $0.id == id }) else { return nil }
        return transactions.remove(at: index)
    }
}
