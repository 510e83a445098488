/// The server's ICE agent: lite, always controlled (RFC 8445 §2.5). A table of tuples whose peer has authenticated.
///
/// It sends answers, each from the address its request came to, and to a peer without tokens a check that asks whether it
/// receives where it has moved to. Confined to its owner.
///
/// **Return routability.** Who knows the credentials can forge the source of a check, so a tuple is *unconfirmed* until
/// something that was sent to it alone has come back: our token in a check, a DTLS flight, or the answer to a check of
/// ours. Until then it gets at most 3 × the bytes that came from it + 4 KB, answers included. Of a call's unconfirmed
/// tuples only the selected one is ever sent media or DTLS; all others get answers to their checks. A confirmed one, by
/// rule the one selected before, is sent to as well until the selected one is confirmed.
///
/// The owner asks `mayUse` before it prepares something, `authorizeSend` for each packet of media and DTLS, `destinations`
/// for where media goes; it tells `noteReceived` and `confirm`, and settles `admissionWanted`.
public struct ICELiteAgent: Machine, Sendable {
    /// What the owner should know.
    public enum Event: Hashable, Sendable {
        /// A new tuple has authenticated: DTLS may be taken from it.
        case tupleAuthenticated(NetworkPath)
        /// Return routability was shown: what the allowance held back may go now.
        case tupleConfirmed(NetworkPath)
        /// Nothing is taken from the tuple or sent to it any more: it expired, made room, or was of an old generation.
        case tupleRemoved(NetworkPath)
        /// Send here from now on, as far as `destinations` and `authorizeSend` allow.
        case selected(NetworkPath)
        /// No authenticated request on the selected tuple for 30 s, and none to go back to: nothing may be sent
        /// (RFC 7675 §5.1).
        case consentExpired(NetworkPath)
        /// The credentials of `restart` are in use: a check with them has selected a tuple.
        case restartCompleted
        /// Requests with this ufrag of ours are not answered any more: `localUfrags` has lost it.
        case ufragForgotten(String)
    }

    let timing: ICETiming
    private let asksForAdmission: Bool
    /// What media goes by now.
    var current: ICEGeneration
    /// An outstanding restart.
    var pending: ICEGeneration?
    /// What the last restart has replaced, and until when it is answered.
    var retired: (generation: ICEGeneration, until: Instant)? {
        didSet { retiredUntil = retired?.until ?? .never }
    }
    /// What of it is asked for with every packet.
    private var retiredUntil = Instant.never
    var randomness: Randomness
    var tuples: [ICETuple] = []
    var answers: [PendingAnswer] = []
    var errorResponses = ErrorResponseBucket()
    var events: [Event] = []
    var nextOrder: UInt64 = 0
    /// The confirmed tuple that was selected before, or was confirmed since, while the selected one is unconfirmed.
    var previousPath: NetworkPath?
    /// The outstanding check of ours.
    var routabilityCheck: RoutabilityCheck?
    /// A DTLS flight has confirmed a selected tuple: the peer has shown once that it is who receives.
    var wasConfirmedByFlight = false
    let tieBreaker: UInt64

    /// The tuple that was nominated last; nil before the first authenticates and after consent expired.
    public internal(set) var selectedPath: NetworkPath?
    /// The agent has ended: it sends nothing.
    public internal(set) var isEnded = false
    /// What was answered and dropped.
    public internal(set) var counters = ICECounters()

    /// Makes an agent without tuples.
    ///
    /// - Parameters:
    ///   - credentials: ours, as the answer carries them.
    ///   - peerCredentials: the offer's; nil while unknown. Checks that come before are answered all the same.
    ///   - randomness: for the tokens.
    ///   - timing: `consentExpiry` alone is looked at.
    ///   - asksForAdmission: whether unconfirmed tuples wait for `settleAdmission`; else all are admitted.
    public init(
        credentials: ICECredentials, peerCredentials: ICECredentials?, randomness: Randomness,
        timing: ICETiming = ICETiming(), asksForAdmission: Bool = false
    ) {
        current = ICEGeneration(1, credentials: credentials, peerCredentials: peerCredentials)
        self.timing = timing
        var randomness = randomness
        tieBreaker = randomness.next()
        self.randomness = randomness
        self.asksForAdmission = asksForAdmission
        // A flood of requests allocates nothing.
        answers.reserveCapacity(ICELimits.pendingResponses)
        tuples.reserveCapacity(ICELimits.tuples)
    }

    /// Stops for good: nothing is sent after this, and queued answers are dropped.
    public mutating func end() {
        isEnded = true
        answers.removeAll()
    }

    // MARK: - Tuples

    /// Tuples there are now, 0…8.
    public var tupleCount: Int { tuples.count }

    /// Whether `path` is a tuple: a request with our password came on it within the last 30 s. O(8), does not allocate.
    public func isAuthenticated(_ path: NetworkPath) -> Bool { index(of: path) != nil }

    /// `isAuthenticated`, read in place, as `readDeadline` is.
    package mutating func readIsAuthenticated(_ path: NetworkPath) -> Bool { index(of: path) != nil }

    @inline(__always) func index(of path: NetworkPath) -> Int? {
        let path = path.unmapped
        return tuples.indices.first { tuples[$0].path == path }
    }

    /// The index of the tuple for `path`, made if it is new; the least recently authenticated one that is neither selected
    /// nor the one before makes room.
    mutating func authenticate(_ path: NetworkPath, generation: UInt32, now: Instant) -> Int {
        if let index = index(of: path) {
            tuples[index].lastRequestAt = now
            tuples[index].generation = max(tuples[index].generation, generation)
            if tuples[index].admission == .refused { tuples[index].admission = .unasked }
            return index
        }
        if tuples.count == ICELimits.tuples {
            let oldest = tuples.indices.filter { !isInUse(tuples[$0].path) }
                .min { tuples[$0].lastRequestAt < tuples[$1].lastRequestAt }
            if let oldest {
                emit(.tupleRemoved(tuples.remove(at: oldest).path))
                counters.tuplesEvicted += 1
            }
        }
        nextOrder += 1
        tuples.append(
            ICETuple(
                path: path, order: nextOrder, token: randomness.next() | 1, generation: generation, lastRequestAt: now,
                admission: asksForAdmission ? .unasked : .granted))
        emit(.tupleAuthenticated(path))
        return tuples.count - 1
    }

    func isInUse(_ path: NetworkPath) -> Bool { path == selectedPath || path == previousPath }

    /// Removes what `isGone` says and selects anew where that took the selected tuple.
    mutating func removeTuples(where isGone: (ICETuple) -> Bool) {
        for index in tuples.indices.reversed() where isGone(tuples[index]) {
            emit(.tupleRemoved(tuples.remove(at: index).path))
        }
        if let previous = previousPath, index(of: previous) == nil { previousPath = nil }
        guard let selected = selectedPath, index(of: selected) == nil else { return }
        selectedPath = previousPath
        previousPath = nil
        if let selectedPath {
            emit(.selected(selectedPath))
        } else {
            // What was nominated is gone: the next request decides anew.
            current.highestNomination = 0
            emit(.consentExpired(selected))
        }
    }

    // MARK: - Machine

    /// When the next tuple loses consent, old credentials are forgotten or a check is due; `.never` without any.
    @inline(__always) public var nextDeadline: Instant {
        guard !isEnded else { return .never }
        if !answers.isEmpty { return .zero }
        let check = routabilityCheckDueAt
        return tuples.reduce(min(check, retiredUntil)) { min($0, $1.lastRequestAt + timing.consentExpiry) }
    }

    /// `nextDeadline`, read in place: of an agent that is part of something a property is read from a copy of it all.
    package mutating func readDeadline() -> Instant { nextDeadline }

    /// When consent for the selected tuple is over; `.never` without one.
    package mutating func readConsentEnd() -> Instant {
        guard !isEnded, let selectedPath, let index = index(of: selectedPath) else { return .never }
        return tuples[index].lastRequestAt + timing.consentExpiry
    }

    public mutating func handleTimeout(now: Instant) {
        guard !isEnded else { return }
        let expiry = timing.consentExpiry
        if tuples.contains(where: { now >= $0.lastRequestAt + expiry }) {
            removeTuples { now >= $0.lastRequestAt + expiry }
        }
        if now >= retiredUntil { forgetRetired() }
    }

    public mutating func pollTransmit(into out: inout OutputRawSpan, now: Instant) -> Transmit? {
        guard !isEnded else { return nil }
        while !answers.isEmpty {
            guard out.freeCapacity >= ICELimits.messageRoom else {
                counters.noRoom += 1
                return nil
            }
            let answer = answers.removeFirst()
            let start = out.byteCount
            do throws(STUNError) {
                try answer.response.encode(key: answer.key, into: &out)
                let byteCount = out.byteCount - start
                if mayAnswer(answer, byteCount: byteCount) {
                    return Transmit(path: answer.response.path, byteCount: byteCount)
                }
            } catch {
                counters.noRoom += 1
            }
            out.removeLast(out.byteCount - start)
        }
        return writeRoutabilityCheck(into: &out, now: now)
    }

    public mutating func pollEvent() -> Event? { events.isEmpty ? nil : events.removeFirst() }

    mutating func emit(_ event: Event) {
        guard events.count < ICELimits.pendingEvents else {
            counters.eventsDropped += 1
            return
        }
        events.append(event)
    }
}
