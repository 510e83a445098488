/// The checks of one generation that may still be answered, oldest first, at most `ICELimits.outstandingChecks`.
///
/// A flat table, with the low words of the ids in an array of their own: anybody can make us look for an id, and what
/// that costs does not depend on how many pairs wait.
struct OutstandingChecks {
    /// A check that may still be answered.
    struct Check {
        var id: STUNTransactionID
        /// The pair it went out on (`CandidatePair.id`), which may be gone by now.
        var pairID: UInt64
        var sentAt: Instant
        /// The role it claimed: a 487 counts only while we still have it.
        var role: ICERole
        var useCandidate = false
        var nomination: UInt32?
        var token: UInt64?
    }

    private var lowWords: [UInt32] = []
    private var checks: [Check] = []

    var count: Int { checks.count }

    /// Adds a check; at the limit the oldest is forgotten.
    mutating func remember(_ check: Check) {
        if checks.count == ICELimits.outstandingChecks {
            lowWords.removeFirst()
            checks.removeFirst()
        }
        lowWords.append(check.id.low)
        checks.append(check)
    }

    /// The checks of a pair that were sent within `times`.
    func count(of pairID: UInt64, in times: Range<Instant>) -> Int {
        checks.count { $0.pairID == pairID && times.contains($0.sentAt) }
    }

    /// The pair whose check has this id; nil when there is none. Does not allocate.
    func pairID(of id: STUNTransactionID) -> UInt64? { index(of: id).map { checks[$0].pairID } }

    /// Takes the check with this id out; nil when there is none.
    mutating func take(_ id: STUNTransactionID) -> Check? {
        guard let index = index(of: id) else { return nil }
        lowWords.remove(at: index)
        return checks.remove(at: index)
    }

    private func index(of id: STUNTransactionID) -> Int? {
        let words = lowWords.span
        for index in words.indices where words[index] == id.low && checks[index].id == id { return index }
        return nil
    }
}
