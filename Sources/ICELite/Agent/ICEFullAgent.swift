/// A full ICE agent (RFC 8445), controlling or controlled: checks pairs, has one selected, keeps consent, restarts.
///
/// Confined to its owner. Only answers and checks are written, through `pollTransmit`; no check is sent before the
/// remote credentials are known, and nothing after `end`, or on a generation whose consent expired. Every check is a
/// transaction of its own, also one that repeats another: so each answer gives an exact round trip, and an answer that
/// comes late still counts.
///
/// Controlling, the first valid pair is chosen and nominated without waiting for a better one. Controlled, the pair the
/// peer nominates is selected once a check of our own on it has succeeded (RFC 8445 §7.3.1.5). From then on only the
/// selected pair is checked, and of another local address, where there is one, a second pair that can take over at once;
/// the others rest, and are not kept alive, until it is lost or the owner probes them.
public struct ICEFullAgent: Machine, Sendable {
    /// What the owner should know.
    public enum Event: Hashable, Sendable {
        /// The first check of a pair has been written: DTLS flights may go behind it.
        case checkSent(NetworkPath)
        /// A pair was answered for the first time.
        case pairValid(NetworkPath, roundTrip: Nanoseconds)
        /// This pair is the one to use now.
        case selected(NetworkPath)
        /// A check sent since `probe` was answered on this pair, which is selected now: the probing is over.
        case probeAnswered(NetworkPath, roundTrip: Nanoseconds)
        /// The outstanding restart has its pair, which may be the path of before: the older generation is retired.
        case restarted(NetworkPath)
        /// The selected pair's local address is gone. `.selected` follows when another pair can take over at once.
        case selectedPathLost(NetworkPath)
        /// Nothing may be sent on the pair any more (RFC 7675 §5.1): only a restart helps.
        case consentExpired(NetworkPath)
    }

    let timing: ICETiming
    var tieBreaker: UInt64
    var randomness: Randomness
    /// Controlling or controlled: as it was made, unless a role conflict or a lite peer changed it.
    public internal(set) var role: ICERole

    /// The generation in use, and behind it the outstanding restart's.
    var generations: [ICEFullGeneration]
    /// The generation a restart has replaced; its checks are answered and its paths known for a while.
    var retired: ICEFullGeneration? {
        didSet { retiresAt = retired?.retiresAt ?? .never }
    }
    /// What of it is asked for with every packet.
    private(set) var retiresAt = Instant.never
    var nextGeneration: UInt32 = 1
    var nextPairID: UInt64 = 1

    /// Host candidates, most preferred first as they were added.
    public internal(set) var localCandidates: [ICECandidate] = []
    /// Candidates that a STUN server taught us, to be signalled; their bases are what sends (RFC 8445 §6.1.2.4).
    public internal(set) var serverReflexiveCandidates: [ICECandidate] = []
    /// Peer-reflexive local candidates that answers taught us: our addresses as the peer sees them.
    public internal(set) var reflexiveCandidates: [ICECandidate] = []
    var hasLocalEndOfCandidates = false

    var responses: [QueuedResponse] = []
    var errorResponses = ErrorResponseBucket()
    var events: [Event] = []
    var paceAt: Instant = .zero
    var lastFirstCheckFamily: IPAddress.Family?
    var conflictRepeats = 0
    /// Since when `probe` asks for checks that no answer has ended yet.
    var probingSince: Instant?
    /// When the check was sent that was answered last without ending the probing.
    var strayAnsweredAt: Instant?
    /// When the outage that is probed began, and the last round of it: what the pacing goes by.
    var outageProbed: (since: Instant, last: Instant)?
    /// Something has changed that `chooseWarmPair` looks at.
    var isWarmPairStale = false

    /// The pair that was selected last and still has consent.
    public internal(set) var selectedPath: NetworkPath?
    /// When the newest pair was formed.
    public internal(set) var lastPairAddedAt: Instant?
    /// When the first check left.
    public internal(set) var firstCheckAt: Instant?
    /// When the first valid answer came.
    public internal(set) var firstResponseAt: Instant?
    /// Smoothed round trip of the chosen pair, else of the pair answered last; nil before the first answer.
    public internal(set) var roundTrip: Nanoseconds?
    /// When the chosen pair last answered a check; nil without one.
    public var lastAnswerAt: Instant? { generations[0].chosen.flatMap { generations[0].pairs[$0].lastAnswerAt } }
    /// The pair that is kept alive besides the selected one, on another local address; nil without one.
    public var warmPath: NetworkPath? {
        guard let warm = generations[0].warm else { return nil }
        let path = generations[0].pairs[warm].path
        return path == selectedPath ? nil : path
    }
    /// `end` was called: it sends nothing.
    public internal(set) var isEnded = false
    /// What was sent, answered and dropped.
    public internal(set) var counters = ICECounters()
    /// Remote candidates that came as text and were not for us.
    public internal(set) var candidateCounters = ICECandidateCounters()

    /// A response that waits, and the generation whose password signs it.
    struct QueuedResponse {
        var generation: UInt32
        var response: ICEResponse
        /// Length of the request: an error is never longer.
        var requestByteCount: Int
    }

    /// Makes an agent without candidates.
    ///
    /// - Parameters:
    ///   - role: `ICERoleDecision` tells; the offerer's is controlling (RFC 8445 §6.1.1).
    ///   - credentials: ours, as our description carries them.
    ///   - randomness: for transaction ids, the tie-breaker and the consent intervals.
    ///   - timing: every interval; the default keeps the RFCs' but where it says so.
    public init(
        role: ICERole, credentials: ICECredentials, randomness: Randomness, timing: ICETiming = ICETiming()
    ) {
        var randomness = randomness
        self.role = role
        self.timing = timing
        generations = [ICEFullGeneration(number: 0, credentials: credentials)]
        tieBreaker = randomness.next()
        self.randomness = randomness
    }

    /// Our half of the credentials of the generation in use.
    public var credentials: ICECredentials { generations[0].credentials }

    /// Remote candidates of the generation in use, signalled and peer-reflexive.
    public var remoteCandidates: [ICECandidate] { generations[0].remoteCandidates }

    /// Stops for good: nothing is sent after this, and queued answers are dropped.
    public mutating func end() {
        isEnded = true
        responses.removeAll()
    }

    // MARK: - State

    /// Where the checks of the generation in use stand, computed anew at each call. O(pairs).
    @inline(__always) public var outcome: ICEOutcome {
        let pairs = generations[0].pairs
        let nothingAnswered = counters.responsesReceived == 0 && counters.errorResponses == 0
        var refused: ICESendFailure?
        if nothingAnswered, !pairs.isEmpty, pairs.allSatisfy({ $0.failure != nil }) {
            refused = pairs.max { ($0.failedAt ?? .zero) < ($1.failedAt ?? .zero) }?.failure
        }
        #if MUTANTS
        if Mutant.current == .udpBlockedOnOnePair, nothingAnswered {
            refused = pairs.first { $0.failure != nil }?.failure
        }
        #endif
        return ICEOutcome(
            localCandidates: localCandidates.count, pairs: pairs.count, checksSent: counters.checksSent,
            everyPairRefused: refused,
            onlyErrorResponses: counters.errorResponses > 0 && counters.responsesReceived == 0,
            remoteIsComplete: generations[0].hasEndOfCandidates || generations[0].remote?.isLite == true,
            localIsComplete: hasLocalEndOfCandidates, lastPairAddedAt: lastPairAddedAt,
            firstCheckAt: firstCheckAt, firstResponseAt: firstResponseAt, roundTrip: roundTrip)
    }

    /// `outcome`, read in place, as `readDeadline` is.
    package mutating func readOutcome() -> ICEOutcome { outcome }

    /// Whether `path` is a pair that was answered: DTLS from it, and early SRTP to it, are allowed.
    public func isValid(_ path: NetworkPath) -> Bool {
        let path = path.unmapped
        let has = { (generation: ICEFullGeneration) in generation.pairs.contains { $0.isValid && $0.path == path } }
        return generations.contains(where: has) || retired.map(has) ?? false
    }

    /// Whether `path` belongs to a candidate pair, also of a generation that was retired a moment ago: media in flight
    /// is still taken from there.
    @inline(__always) public func hasPair(_ path: NetworkPath) -> Bool {
        let path = path.unmapped
        // In place: a generation that is asked is copied.
        for generation in generations.indices {
            for pair in generations[generation].pairs.indices where generations[generation].pairs[pair].path == path {
                return true
            }
        }
        guard retired != nil else { return false }
        return retired?.index(of: path) != nil
    }

    /// `hasPair`, read in place, as `readDeadline` is.
    package mutating func readHasPair(_ path: NetworkPath) -> Bool { hasPair(path) }

    public mutating func pollEvent() -> Event? { events.isEmpty ? nil : events.removeFirst() }

    mutating func emit(_ event: Event) {
        guard events.count < ICELimits.pendingEvents else {
            counters.eventsDropped += 1
            return
        }
        events.append(event)
    }
}
