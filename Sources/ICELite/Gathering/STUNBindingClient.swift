/// Asks one STUN server, from one socket, how it sees the socket's address (RFC 8489 §12, RFC 8445 §5.1.1.2).
///
/// One Binding request without credentials, repeated until it is answered or the time is over; one event, then silence.
/// It shares its socket with checks, DTLS and SRTP: the owner hands it the STUN responses whose transaction it
/// `handles`. An answer counts only when it comes from the very server that was asked, to the socket that asked.
/// ALTERNATE-SERVER is not followed: without credentials anybody could send us anywhere (RFC 8489 §10).
public struct STUNBindingClient: Machine, Sendable {
    /// What became of the request; told once.
    public enum Event: Hashable, Sendable {
        /// The server sees the socket at this address: a server-reflexive candidate, unless it is our own.
        case mapped(SocketAddress)
        case failed(STUNBindingFailure)
    }

    /// What was sent and what came back.
    public struct Counters: Hashable, Sendable {
        /// Requests sent, repeats included.
        public internal(set) var requestsSent: UInt64 = 0
        /// Answers with a transaction of ours that were no answer: forged, bent, or from elsewhere.
        public internal(set) var responsesDropped: UInt64 = 0
        /// Errors of the 500s, which end nothing (RFC 8489 §6.3.4).
        public internal(set) var serverErrors: UInt64 = 0
        /// Spans too small for the request.
        public internal(set) var noRoom: UInt64 = 0
    }

    /// Bytes of the request: header and FINGERPRINT.
    static let requestSize = STUNMessage.headerSize + 8

    /// Our socket and the server.
    public let path: NetworkPath
    /// What was sent and what came back.
    public private(set) var counters = Counters()
    private let timing: STUNBindingTiming
    private let sendsFingerprint: Bool
    private var randomness: Randomness
    private var transactionID: STUNTransactionID
    /// When the next request is due; `.never` once all were sent.
    private var sendAt: Instant
    private var giveUpAt: Instant
    private var requests = 0
    private var lastServerError: UInt16?
    private var event: Event?
    /// The event has been decided: nothing is sent or taken any more.
    public private(set) var isFinished = false

    /// Makes a client whose first request is due at `start`.
    ///
    /// - Parameters:
    ///   - path: our socket's address and the server's.
    ///   - start: later for the second and third server, so that requests keep ICE's pace (RFC 8445 §14.1).
    ///   - sendsFingerprint: leave it out only for servers that choke on it; an answer needs none either way.
    ///   - randomness: for the transaction id.
    ///   - timing: how it is repeated.
    public init(
        path: NetworkPath, startingAt start: Instant, sendsFingerprint: Bool = true, randomness: Randomness,
        timing: STUNBindingTiming = STUNBindingTiming()
    ) {
        self.path = path.unmapped
        self.timing = timing
        self.sendsFingerprint = sendsFingerprint
        self.randomness = randomness
        transactionID = .random(using: &self.randomness)
        sendAt = start
        giveUpAt = start + timing.total
    }

    /// Whether a response with this transaction id is for this client; false once finished.
    public func handles(_ id: STUNTransactionID) -> Bool { !isFinished && id == transactionID }

    /// Takes one STUN datagram that came on `path`.
    ///
    /// - Returns: `.accepted` for the server's answer, else why nothing changed but a counter.
    public mutating func handle(_ bytes: borrowing RawSpan, path: NetworkPath, now: Instant) -> ICEVerdict {
        handleTimeout(now: now)
        guard !isFinished else { return .dropped(.ended) }
        do throws(STUNError) {
            let message = try STUNMessage(parsing: bytes)
            guard message.messageClass == .success || message.messageClass == .error, requests > 0,
                message.transactionID == transactionID
            else { return .dropped(.unknownTransaction) }
            if let reason = take(message, path: path.unmapped, now: now) {
                counters.responsesDropped += 1
                return .dropped(reason)
            }
            return .accepted
        } catch {
            return .dropped(.malformed)
        }
    }

    /// Takes a response to our transaction; nil, or why it is none.
    private mutating func take(_ message: borrowing STUNMessage, path: NetworkPath, now: Instant) -> ICEDropReason? {
        guard message.hasValidFingerprint else { return .badFingerprint }
        guard message.method == STUNMessage.binding else { return .unknownMethod }
        guard path == self.path else { return .asymmetricResponse }
        if message.messageClass == .error {
            guard let code = message.errorCode else { return .malformed }
            guard (500..<600).contains(code) else {
                finish(.failed(.refused(code)))
                return nil
            }
            // RFC 8489 §6.3.4: it may be asked again, as a new transaction; the schedule goes on.
            counters.serverErrors += 1
            lastServerError = code
            transactionID = .random(using: &randomness)
            return nil
        }
        // RFC 8489 §6.3.3: discarded, and the transaction has failed.
        guard message.unknown.isEmpty else {
            finish(.failed(.unknownAttribute(message.unknown[0])))
            return nil
        }
        // Servers of RFC 3489's time know MAPPED-ADDRESS alone.
        guard let mapped = message.xorMappedAddress ?? message.mappedAddress, mapped.port != 0,
            !mapped.ip.isUnspecified, !mapped.ip.isMulticast
        else { return .malformed }
        finish(.mapped(mapped))
        return nil
    }

    private mutating func finish(_ event: Event) {
        isFinished = true
        sendAt = .never
        self.event = event
    }

    /// Ends without an event: the gathering is over, or the socket has gone.
    public mutating func cancel() {
        isFinished = true
        sendAt = .never
    }

    // MARK: - Machine

    /// The next request or the end of the time; `.never` once finished.
    public var nextDeadline: Instant { isFinished ? .never : min(sendAt, giveUpAt) }

    public mutating func handleTimeout(now: Instant) {
        guard !isFinished, now >= giveUpAt else { return }
        finish(.failed(lastServerError.map { .refused($0) } ?? .timedOut))
    }

    public mutating func pollTransmit(into out: inout OutputRawSpan, now: Instant) -> Transmit? {
        guard !isFinished, now >= sendAt, now < giveUpAt else { return nil }
        guard out.freeCapacity >= Self.requestSize else {
            counters.noRoom += 1
            return nil
        }
        let start = out.byteCount
        do throws(STUNError) {
            let writer = try STUNWriter(.request, transactionID: transactionID, into: &out)
            if sendsFingerprint { try writer.appendFingerprint(into: &out) }
        } catch {
            // Cannot be: the room was asked for.
            counters.noRoom += 1
            out.removeLast(out.byteCount - start)
            return nil
        }
        requests += 1
        counters.requestsSent += 1
        // From `now`, so that an owner that comes late does not send a burst.
        sendAt = requests < timing.tries ? now + timing.interval(after: requests) : .never
        return Transmit(path: path, byteCount: out.byteCount - start)
    }

    public mutating func pollEvent() -> Event? { event.take() }
}

/// Why a server told no address.
public enum STUNBindingFailure: Error, Hashable, Sendable {
    /// Every request went unanswered.
    case timedOut
    /// The server answered with this error code, 300…699. 300, try alternate, is one like the others.
    case refused(UInt16)
    /// The answer carries a comprehension-required attribute that we do not know.
    case unknownAttribute(UInt16)
}

/// How a Binding request to a server is repeated (RFC 8489 §6.2.1).
public struct STUNBindingTiming: Hashable, Sendable {
    /// First interval; each further one is twice as long. RFC 8489 asks for 500 ms; a call that is being set up has not
    /// that long, and a request has 28 bytes.
    public var initialRetransmission: Nanoseconds = .milliseconds(250)
    /// Requests in all: Rc.
    public var tries = 7
    /// From the first request to giving up. By default Rc's 63 intervals and Rm, 16 more: 19.75 s.
    public var total: Nanoseconds = 79 * .milliseconds(250)

    public init() {}

    /// The interval after the `count`th request, 1 or more; the doubling ends at 2^10.
    func interval(after count: Int) -> Nanoseconds { initialRetransmission &* (1 << min(10, max(0, count - 1))) }
}
