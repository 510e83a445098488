/// One ICE session between two sets of credentials (RFC 8445 §2.4): a restart puts a second one beside the first.
struct ICEFullGeneration {
    struct Remote {
        var credentials: ICECredentials
        var ufrag: [UInt8]
        var key: STUNKey
        var isLite: Bool
        var supportsRenomination: Bool
    }

    /// Counts up with each restart.
    let number: UInt32
    let credentials: ICECredentials
    let localUfrag: [UInt8]
    let localKey: STUNKey
    var remote: Remote?
    /// Signalled and peer-reflexive, without zone.
    var remoteCandidates: [ICECandidate] = []
    var hasEndOfCandidates = false
    var pairs: [CandidatePair] = []
    var outstanding = OutstandingChecks()
    /// The pair that is selected or being nominated.
    var chosenID: UInt64?
    /// The pair that is kept alive besides the chosen one.
    var warmID: UInt64?
    /// Only the chosen pair's checks carry it once it is above 1.
    var nominationValue: UInt32 = 1
    /// Consent was lost on the selected pair: nothing is sent any more, only a restart helps (RFC 7675 §5.1).
    var hasExpired = false
    /// We answered the peer's restart: our checks wait for its first one, at most until `heldUntil`.
    var isAnswer = false
    var heldUntil: Instant = .zero
    /// When a generation that a newer one has replaced stops answering.
    var retiresAt: Instant = .never

    init(number: UInt32, credentials: ICECredentials) {
        self.number = number
        self.credentials = credentials
        localUfrag = Array(credentials.ufrag.utf8)
        localKey = STUNKey(password: credentials.password)
    }

    /// The index of the chosen pair.
    var chosen: Int? {
        guard let chosenID else { return nil }
        return pairs.indices.first { pairs[$0].id == chosenID }
    }

    /// The index of the warm pair.
    var warm: Int? {
        guard let warmID else { return nil }
        return pairs.indices.first { pairs[$0].id == warmID }
    }

    /// Whether the peer's half of the credentials is `ufrag`.
    func isFrom(_ ufrag: String) -> Bool { remote?.credentials.ufrag == ufrag }

    func index(of path: NetworkPath) -> Int? { pairs.indices.first { pairs[$0].path == path } }

    /// The index of the pair whose outstanding check has this id. Does not allocate.
    func pair(answeredBy id: STUNTransactionID) -> Int? {
        guard let pairID = outstanding.pairID(of: id) else { return nil }
        // In place: a pair handed to a closure is copied, and anybody can make us look.
        for index in pairs.indices where pairs[index].id == pairID { return index }
        return nil
    }

    /// When a check of the pair at `index` may leave; `.zero` for one that ignores the pacing.
    func dueAt(_ index: Int, paceAt: Instant) -> Instant {
        if pairs[index].isUrgent { return .zero }
        var due = pairs[index].triggeredAt ?? .never
        // Once a pair is chosen the others rest, but for those that are kept.
        if chosenID == nil || chosenID == pairs[index].id || pairs[index].isKept {
            due = min(due, pairs[index].nextCheckAt)
        }
        return due == .never ? .never : max(due, paceAt, heldUntil)
    }

    /// The valid pair to use when nothing else is known: of those with consent that are not silent the warm one, which
    /// has answered last, else the one of the highest priority.
    func bestValid(now: Instant, timing: ICETiming) -> Int? {
        let usable = pairs.indices.filter {
            pairs[$0].hasConsent(now: now, timing: timing) && !pairs[$0].isSilent(now: now, timing: timing)
        }
        return usable.first { pairs[$0].id == warmID } ?? usable.max { pairs[$0].priority < pairs[$1].priority }
    }

    /// Starts the checks over, as if nothing had been sent yet: the chosen pair is gone, or the credentials are new.
    mutating func restartChecks(now: Instant) {
        for index in pairs.indices {
            pairs[index].attempts = 0
            pairs[index].nextCheckAt = now
        }
    }
}
