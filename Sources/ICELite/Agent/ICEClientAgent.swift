/// The client's ICE agent: full, controlling (RFC 8445). Checks pairs, chooses the first valid one, keeps consent.
///
/// Confined to its owner. Only answers and checks are written, through `pollTransmit`; nothing is sent before the
/// remote credentials are known, and nothing after `end` or after consent expired. Every check is a transaction of its
/// own, also one that repeats another: so each answer gives an exact round trip, and an answer that comes late still
/// counts.
package struct ICEClientAgent: Machine {
    /// What the owner should know.
    package enum Event: Hashable, Sendable {
        /// The first check of a pair has been written: DTLS flights may go behind it.
        case checkSent(NetworkPath)
        /// A pair was answered for the first time.
        case pairValid(NetworkPath, roundTrip: Nanoseconds)
        /// This pair is the one to use now.
        case selected(NetworkPath)
        /// Nothing may be sent on the pair any more (RFC 7675 §5.1).
        case consentExpired(NetworkPath)
    }

    struct Remote {
        var credentials: ICECredentials
        var ufrag: [UInt8]
        var key: STUNKey
        var isLite: Bool
        var supportsRenomination: Bool
    }

    /// Our half of the credentials.
    package let credentials: ICECredentials
    let timing: ICETiming
    let localUfrag: [UInt8]
    let localKey: STUNKey
    var tieBreaker: UInt64
    var randomness: Randomness
    var remote: Remote?

    /// Host candidates, in the order they were added.
    package internal(set) var localCandidates: [ICECandidate] = []
    /// Peer-reflexive local candidates that answers taught us: our addresses as the peer sees them.
    package internal(set) var reflexiveCandidates: [ICECandidate] = []
    /// Remote candidates, signalled and peer-reflexive.
    package internal(set) var remoteCandidates: [ICECandidate] = []
    var pairs: [CandidatePair] = []
    /// The pair that is selected or being nominated.
    var chosen: Int?
    var responses: [ICEResponse] = []
    var events: [Event] = []
    var paceAt: Instant = .zero
    var lastFirstCheckFamily: IPAddress.Family?
    var nominationValue: UInt32 = 1
    var hasEndOfCandidates = false

    /// The pair that was selected last and still has consent.
    package internal(set) var selectedPath: NetworkPath?
    /// When the newest pair was formed.
    package internal(set) var lastPairAddedAt: Instant?
    /// When the first check left.
    package internal(set) var firstCheckAt: Instant?
    /// When the first valid answer came.
    package internal(set) var firstResponseAt: Instant?
    /// Smoothed round trip of checks; nil before the first answer.
    package internal(set) var roundTrip: Nanoseconds?
    /// The agent has ended, or its consent expired: it sends nothing.
    package internal(set) var isEnded = false
    /// What was sent, answered and dropped.
    package internal(set) var counters = ICECounters()

    /// Makes an agent without candidates.
    ///
    /// - Parameters:
    ///   - credentials: ours, as the offer carries them.
    ///   - randomness: for transaction ids, the tie-breaker and the consent intervals.
    package init(credentials: ICECredentials, randomness: Randomness, timing: ICETiming = ICETiming()) {
        var randomness = randomness
        self.credentials = credentials
        self.timing = timing
        localUfrag = Array(credentials.ufrag.utf8)
        localKey = STUNKey(password: credentials.password)
        tieBreaker = randomness.next()
        self.randomness = randomness
    }

    // MARK: - Signalling

    /// Adds the address of an open socket and returns the host candidate to signal. Adding one twice changes nothing.
    ///
    /// The first added is preferred. Over `ICELimits.localCandidates` the candidate is returned but not used.
    package mutating func addLocalCandidate(_ address: SocketAddress, now: Instant) -> ICECandidate {
        let address = SocketAddress(ip: address.ip.unmapped, port: address.port)
        if let known = localCandidates.first(where: { $0.address == address }) { return known }
        let rank = UInt16(clamping: localCandidates.count)
        let candidate = ICECandidate(host: address, localPreference: 65_535 - rank)
        guard localCandidates.count < ICELimits.localCandidates else {
            counters.candidatesIgnored += 1
            return candidate
        }
        localCandidates.append(candidate)
        for other in remoteCandidates { addPair(candidate, other, now: now) }
        return candidate
    }

    /// Takes the answer's credentials: checks begin. A second call changes nothing (a restart is an agent of its own).
    ///
    /// - Parameters:
    ///   - isLite: the answer has `a=ice-lite`: no more candidates than it names will come.
    ///   - supportsRenomination: the peer is of our kind: NOMINATION and the routability token are sent.
    package mutating func setRemote(
        credentials: ICECredentials, isLite: Bool, supportsRenomination: Bool, now: Instant
    ) {
        guard remote == nil else { return }
        remote = Remote(
            credentials: credentials, ufrag: Array(credentials.ufrag.utf8),
            key: STUNKey(password: credentials.password), isLite: isLite, supportsRenomination: supportsRenomination)
        for index in pairs.indices { pairs[index].nextCheckAt = now }
    }

    /// Adds a candidate of the peer's, before or after `setRemote`. Only component 1 is used.
    package mutating func addRemoteCandidate(_ candidate: ICECandidate, now: Instant) {
        var candidate = candidate
        candidate.address.ip = candidate.address.ip.unmapped
        let isKnown = remoteCandidates.contains { $0.address == candidate.address }
        guard candidate.component == 1, !isKnown, remoteCandidates.count < ICELimits.remoteCandidates,
            !candidate.address.ip.isUnspecified, !candidate.address.ip.isMulticast, candidate.address.port != 0
        else {
            counters.candidatesIgnored += 1
            return
        }
        remoteCandidates.append(candidate)
        for local in localCandidates { addPair(local, candidate, now: now) }
    }

    /// The peer has no more candidates (RFC 8838 §14).
    package mutating func remoteEndOfCandidates(now: Instant) { hasEndOfCandidates = true }

    /// Stops for good: nothing is sent after this, and queued answers are dropped.
    package mutating func end() {
        isEnded = true
        responses.removeAll()
    }

    /// A datagram to `path` was refused. The pair goes on being checked: ICMP may be transient (RFC 1122 §4.1.3.3).
    package mutating func handleSendFailure(path: NetworkPath, failure: ICESendFailure, now: Instant) {
        counters.sendFailures += 1
        let path = path.unmapped
        for index in pairs.indices where pairs[index].path.remote == path.remote {
            // The system does not always know which of our addresses it was.
            guard pairs[index].path.local == path.local || path.local.ip.isUnspecified else { continue }
            pairs[index].failure = failure
            pairs[index].failedAt = now
        }
    }

    // MARK: - State

    /// Where the checks stand, computed anew at each call. O(pairs).
    package var outcome: ICEOutcome {
        let nothingAnswered = counters.responsesReceived == 0 && counters.errorResponses == 0
        var refused: ICESendFailure?
        if nothingAnswered, !pairs.isEmpty, pairs.allSatisfy({ $0.failure != nil }) {
            refused = pairs.max { ($0.failedAt ?? .zero) < ($1.failedAt ?? .zero) }?.failure
        }
        return ICEOutcome(
            pairs: pairs.count, checksSent: counters.checksSent, everyPairRefused: refused,
            onlyErrorResponses: counters.errorResponses > 0 && counters.responsesReceived == 0,
            remoteIsComplete: hasEndOfCandidates || remote?.isLite == true, lastPairAddedAt: lastPairAddedAt,
            firstCheckAt: firstCheckAt, firstResponseAt: firstResponseAt, roundTrip: roundTrip)
    }

    /// Whether `path` is a pair that was answered: DTLS from it, and early SRTP to it, are allowed.
    package func isValid(_ path: NetworkPath) -> Bool {
        pairs.contains { $0.isValid && $0.path == path }
    }

    /// Whether `path` belongs to a candidate pair.
    package func hasPair(_ path: NetworkPath) -> Bool { pairs.contains { $0.path == path } }

    package mutating func pollEvent() -> Event? { events.isEmpty ? nil : events.removeFirst() }

    mutating func emit(_ event: Event) {
        guard events.count < ICELimits.pendingEvents else {
            counters.eventsDropped += 1
            return
        }
        events.append(event)
    }

    mutating func respond(_ response: ICEResponse) {
        guard responses.count < ICELimits.pendingResponses else {
            counters.responsesDropped += 1
            return
        }
        responses.append(response)
    }

    // MARK: - Pairs

    /// Pairs two candidates if a datagram can go from one to the other (RFC 8445 §6.1.2.2).
    mutating func addPair(_ local: ICECandidate, _ other: ICECandidate, now: Instant) {
        let here = local.address.ip
        var there = other.address.ip
        guard here.family == there.family, here.isLoopback == there.isLoopback, here.isLinkLocal == there.isLinkLocal
        else { return }
        if there.family == .v6, there.isLinkLocal {
            // A zone means something only on the host that names it: ours counts (RFC 4007 §11.2).
            there = IPAddress(v6High: there.high, low: there.low, zone: here.zone)
        }
        let path = NetworkPath(local: local.address, remote: SocketAddress(ip: there, port: other.address.port))
        guard !pairs.contains(where: { $0.path == path }) else { return }
        guard pairs.count < ICELimits.pairs else {
            counters.pairsIgnored += 1
            return
        }
        let checkPriority =
            ICECandidate.Kind.peerReflexive.preference << 24 | (local.priority & 0x00FF_FFFF)
        pairs.append(
            CandidatePair(
                path: path, checkPriority: checkPriority, localPriority: local.priority,
                remotePriority: other.priority, now: now))
        lastPairAddedAt = now
    }
}
