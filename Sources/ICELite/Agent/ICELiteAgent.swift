/// The server's ICE agent: lite, always controlled (RFC 8445 §2.5). A table of tuples whose peer has authenticated.
///
/// It sends nothing but answers, each from the address its request came to. Confined to its owner.
package struct ICELiteAgent: Machine {
    /// What the owner should know.
    package enum Event: Hashable, Sendable {
        /// A new tuple has authenticated: DTLS may be taken from it.
        case tupleAuthenticated(NetworkPath)
        /// Send here from now on.
        case selected(NetworkPath)
        /// No authenticated request on the selected tuple for 30 s: nothing may be sent there (RFC 7675 §5.1).
        case consentExpired(NetworkPath)
    }

    struct Tuple {
        let path: NetworkPath
        /// Counts up with each new tuple: "newest" compares it.
        let order: UInt64
        /// What a peer of our kind has to echo; never 0.
        let token: UInt64
        var lastRequestAt: Instant
        var isConfirmed = false
        var bytesReceived = 0
        var bytesSent = 0
    }

    /// Our half of the credentials.
    package let credentials: ICECredentials
    let timing: ICETiming
    let localUfrag: [UInt8]
    let localKey: STUNKey
    var remoteUfrag: [UInt8]?
    var randomness: Randomness
    var tuples: [Tuple] = []
    var responses: [ICEResponse] = []
    var events: [Event] = []
    var nextOrder: UInt64 = 0
    /// The highest NOMINATION so far; 0 when none came.
    var highestNomination: UInt32 = 0

    /// The tuple to send to; nil before the first authenticates and after consent expired.
    package internal(set) var selectedPath: NetworkPath?
    /// The agent has ended: it sends nothing.
    package internal(set) var isEnded = false
    /// What was answered and dropped.
    package internal(set) var counters = ICECounters()

    /// Makes an agent without tuples.
    ///
    /// - Parameters:
    ///   - credentials: ours, as the answer carries them.
    ///   - peerCredentials: the offer's; nil while unknown, then our own half of USERNAME decides.
    ///   - randomness: for the tokens.
    package init(
        credentials: ICECredentials, peerCredentials: ICECredentials?, randomness: Randomness,
        timing: ICETiming = ICETiming()
    ) {
        self.credentials = credentials
        self.timing = timing
        self.randomness = randomness
        localUfrag = Array(credentials.ufrag.utf8)
        localKey = STUNKey(password: credentials.password)
        remoteUfrag = peerCredentials.map { Array($0.ufrag.utf8) }
    }

    /// Takes the peer's credentials when they come after the agent was made.
    package mutating func setPeer(credentials: ICECredentials) { remoteUfrag = Array(credentials.ufrag.utf8) }

    /// Stops for good: nothing is sent after this, and queued answers are dropped.
    package mutating func end() {
        isEnded = true
        responses.removeAll()
    }

    // MARK: - Tuples

    /// Tuples there are now, 0…8.
    package var tupleCount: Int { tuples.count }

    /// Whether a request with our password came on `path` within the last 30 s. O(8), does not allocate.
    package func isAuthenticated(_ path: NetworkPath) -> Bool { index(of: path) != nil }

    /// Whether something that was sent to `path` alone has come back: return routability is shown.
    package func isConfirmed(_ path: NetworkPath) -> Bool { index(of: path).map { tuples[$0].isConfirmed } ?? false }

    /// A DTLS flight that answers one sent to `path` over UDP came back: the tuple is confirmed as by an echoed token.
    package mutating func confirm(_ path: NetworkPath) {
        if let index = index(of: path) { tuples[index].isConfirmed = true }
    }

    /// Counts bytes of anything received on the tuple; an unknown path is ignored.
    package mutating func noteReceived(_ byteCount: Int, on path: NetworkPath) {
        if let index = index(of: path) { tuples[index].bytesReceived &+= byteCount }
    }

    /// Counts bytes of anything sent to the tuple; an unknown path is ignored.
    package mutating func noteSent(_ byteCount: Int, to path: NetworkPath) {
        if let index = index(of: path) { tuples[index].bytesSent &+= byteCount }
    }

    /// Bytes that may still go to `path`: all to a confirmed tuple, 3 × received + 4 KB less what was sent to an
    /// unconfirmed one, 0 to an unknown one.
    package func sendAllowance(to path: NetworkPath) -> Int {
        guard let index = index(of: path) else { return 0 }
        let tuple = tuples[index]
        if tuple.isConfirmed { return .max }
        return max(0, 3 &* tuple.bytesReceived &+ ICELimits.unconfirmedAllowance &- tuple.bytesSent)
    }

    func index(of path: NetworkPath) -> Int? {
        let path = path.unmapped
        return tuples.firstIndex { $0.path == path }
    }

    // MARK: - Machine

    /// When the next tuple loses consent; `.never` without tuples.
    package var nextDeadline: Instant {
        guard !isEnded else { return .never }
        if !responses.isEmpty { return .zero }
        return tuples.reduce(.never) { min($0, $1.lastRequestAt + timing.consentExpiry) }
    }

    package mutating func handleTimeout(now: Instant) {
        guard !isEnded else { return }
        for index in tuples.indices.reversed() where now >= tuples[index].lastRequestAt + timing.consentExpiry {
            let path = tuples.remove(at: index).path
            guard path == selectedPath else { continue }
            // What was nominated is gone: the next request decides anew.
            selectedPath = nil
            highestNomination = 0
            responses.removeAll { $0.path == path }
            emit(.consentExpired(path))
        }
    }

    package mutating func pollTransmit(into out: inout OutputRawSpan, now: Instant) -> Transmit? {
        guard !isEnded, !responses.isEmpty else { return nil }
        guard out.freeCapacity >= ICELimits.messageRoom else {
            counters.noRoom += 1
            return nil
        }
        let response = responses.removeFirst()
        let start = out.byteCount
        do throws(STUNError) {
            try response.encode(key: localKey, into: &out)
        } catch {
            counters.noRoom += 1
            out.removeLast(out.byteCount - start)
            return nil
        }
        noteSent(out.byteCount - start, to: response.path)
        return Transmit(path: response.path, byteCount: out.byteCount - start)
    }

    package mutating func pollEvent() -> Event? { events.isEmpty ? nil : events.removeFirst() }

    mutating func emit(_ event: Event) {
        guard events.count < ICELimits.pendingEvents else {
            counters.eventsDropped += 1
            return
        }
        events.append(event)
    }
}
