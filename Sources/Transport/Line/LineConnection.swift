package import ICELite

/// One call line: a WebSocket over a byte stream, from the HTTP upgrade to the close handshake, either end.
///
/// Sans-IO. The owner feeds decrypted stream bytes to `receive`, drains `pollEvent` until nil, drains `writeOutput` into
/// the stream as far as it takes, and calls `handleTimeout` at `nextDeadline`. When `isFinished` it closes the stream.
/// The upgrade's deadline is the owner's. Allocates nothing per audio packet once its buffers have their size.
package struct LineConnection: ~Copyable {
    /// The end of the line this is.
    package enum Role: Hashable, Sendable {
        case client
        case server
    }

    enum Phase: Hashable {
        /// Client: the 101 is awaited. Server: the request is.
        case upgrading
        /// Client: a refusal's body is read.
        case readingRefusal(status: Int, head: HTTPHead, length: UpgradeResponse.BodyLength)
        /// Server: the owner has the request.
        case deciding(UpgradeRequest)
        case open
        /// We sent a close frame and wait for the peer's.
        case closing
        /// Nothing is received any more; what is in `outbound` still goes.
        case closed
    }

    /// Which end this is.
    package let role: Role
    var phase: Phase = .upgrading
    /// Stream bytes of the upgrade; frames are in `reader`.
    var head = ByteQueue(capacity: 2_048)
    /// Bytes of `head` in which its end is not.
    var headSearched = 0
    var reader: FrameReader
    var outbound = ByteQueue(capacity: 4_096)
    var audio = AudioRing(slots: LineLimits.audioRingPackets)
    /// Bytes of the audio frame at the end of the last output, while its packet can go back into the ring.
    var withdrawableBytes = 0
    /// Events that came of no frame.
    var pending: [LineEvent] = []
    var randomness: Randomness
    var webSocketKey = ""
    var isEnded = false
    var clock: Instant

    var pong = [UInt8]()
    var isPongDue = false
    var isPingDue = false
    var pingNumber: UInt32 = 0
    var pingSent: Instant?
    var isPingOutstanding = false
    var silentSince: Instant
    var suspectSince: Instant
    var closeDeadline = Instant.never

    /// How closely the line is watched.
    package private(set) var watch = LineWatch.calm
    /// When bytes came last; nil before the first.
    package var lastHeard: Instant?
    /// The time between the last answered ping and its pong.
    package var roundTrip: Nanoseconds?
    /// The shortest such time.
    package var shortestRoundTrip: Nanoseconds?
    /// What was counted.
    package var counters = LineCounters()

    private init(role: Role, now: Instant, randomness: Randomness) {
        self.role = role
        self.randomness = randomness
        reader = FrameReader(fromClient: role == .server)
        clock = now
        silentSince = now
        suspectSince = now
    }

    /// The client's end: the upgrade request is in the output at once.
    ///
    /// The key is sent only where `CallLineURL.mayCarryKey`. A key or origin that no header field can hold is reported as
    /// `.refused`, with nothing sent.
    package static func client(
        url: CallLineURL, key: String?, origin: String? = nil, now: Instant, randomness: Randomness
    ) -> LineConnection {
        var line = LineConnection(role: .client, now: now, randomness: randomness)
        line.webSocketKey = Base64.encode(line.randomness.bytes(16))
        let request = UpgradeRequest.encode(url: url, key: key, origin: origin, webSocketKey: line.webSocketKey)
        if let request {
            line.outbound.append(request)
        } else {
            line.end(
                .refused(LineRefusal(code: .invalidKey, message: "The key or origin cannot stand in an HTTP header.")))
        }
        return line
    }

    /// The server's end of an accepted stream.
    package static func server(now: Instant, randomness: Randomness) -> LineConnection {
        LineConnection(role: .server, now: now, randomness: randomness)
    }

    /// Whether text and audio may go.
    package var isOpen: Bool { if case .open = phase { true } else { false } }
    // Not by a comparison of phases, which copies what they carry.
    private var isClosing: Bool { if case .closing = phase { true } else { false } }
    private var isClosed: Bool { if case .closed = phase { true } else { false } }
    /// Frames are read: it is open, or our close frame is not answered yet.
    var readsFrames: Bool { isOpen || isClosing }
    /// Whether the last event was given and nothing is left to write: the stream can be closed.
    package var isFinished: Bool { isClosed && pending.isEmpty && !hasOutput }

    /// Says how closely the line is watched. The 3 s to the death of a suspect one count from here, so that a line that was
    /// merely quiet gets to answer.
    package mutating func setWatch(_ watch: LineWatch, now: Instant) {
        clock = now
        guard watch != self.watch else { return }
        self.watch = watch
        suspectSince = now
    }

    /// Asks for a pong, behind all that the peer has said by then.
    package mutating func ping(now: Instant) {
        clock = now
        guard isOpen else { return }
        isPingDue = true
        pingSent = now
    }

    /// A ping is not answered yet, on a line where that may still come.
    package var isPinging: Bool { isOpen && (isPingDue || isPingOutstanding) }

    /// This process did not run for a while: what was not heard meanwhile is nothing against the line.
    package mutating func excuseSilence(now: Instant) {
        clock = now
        silentSince = max(silentSince, now)
    }

    // MARK: Input

    /// Takes decrypted stream bytes. Ranges of earlier events end here.
    package mutating func receive(_ bytes: borrowing RawSpan, now: Instant) {
        clock = now
        guard bytes.byteCount > 0, !isClosed else { return }
        counters.bytesReceived &+= bytes.byteCount
        lastHeard = now
        silentSince = now
        switch phase {
        case .open, .closing: reader.append(bytes)
        case .upgrading, .readingRefusal: head.append(bytes)
        case .deciding:
            // Nothing is due from the client before the 101; a little is kept, as some glue their first frame on.
            if head.count + bytes.byteCount > LineLimits.maximumHeadBytes {
                end(.closed(code: CloseCode.abnormal.rawValue, reason: "frames before the upgrade was answered"))
            } else {
                head.append(bytes)
            }
        case .closed: break
        }
    }

    /// The stream has ended: frames that came before it still count, then the line is closed with 1006.
    package mutating func peerClosed(now: Instant) {
        clock = now
        isEnded = true
    }

    /// Does what is due. Harmless when early.
    package mutating func handleTimeout(now: Instant) {
        clock = now
        switch phase {
        case .readingRefusal(let status, let response, _):
            if now >= closeDeadline { refuse(status: status, head: response, bodyCount: head.count) }
        case .open:
            if now >= deathDeadline {
                let silence = (now - silentSince) / .seconds(1)
                end(.closed(code: CloseCode.abnormal.rawValue, reason: "nothing was heard for \(silence) s"))
            } else if now >= pingDeadline {
                isPingDue = true
                pingSent = now
            }
        case .closing:
            if now >= closeDeadline {
                end(.closed(code: CloseCode.abnormal.rawValue, reason: "the close frame was not answered"))
            }
        case .upgrading, .deciding, .closed: break
        }
    }

    /// When `handleTimeout` wants to be called.
    @inline(__always) package var nextDeadline: Instant {
        switch phase {
        case .readingRefusal, .closing: closeDeadline
        case .open: min(pingDeadline, deathDeadline)
        case .upgrading, .deciding, .closed: .never
        }
    }

    // Read in place: of a connection that is part of something a property is read from a copy of it all.

    /// `nextDeadline`, for an owner that asks with each packet.
    package mutating func readDeadline() -> Instant { nextDeadline }
    /// `isFinished`, for the same.
    package mutating func readIsFinished() -> Bool { isFinished }
    /// `hasOutput`, for the same.
    package mutating func readHasOutput() -> Bool { hasOutput }

    private var pingDeadline: Instant {
        let interval = watch == .calm ? LineLimits.pingInterval : LineLimits.urgentPingInterval
        let quiet = silentSince + interval
        guard let pingSent else { return quiet }
        return max(quiet, pingSent + interval)
    }

    private var deathDeadline: Instant {
        let patient = silentSince + LineLimits.deathInterval
        guard watch == .suspect else { return patient }
        #if MUTANTS
        if Mutant.current == .suspectLineDiesAtOnce { return silentSince + LineLimits.suspectDeathInterval }
        #endif
        return min(patient, max(silentSince, suspectSince) + LineLimits.suspectDeathInterval)
    }

    // MARK: Events

    /// The next event, oldest first; nil when there is none. Ranges of earlier events end here.
    package mutating func pollEvent() -> LineEvent? {
        if pending.isEmpty, readsFrames {
            if !reader.isIdle, let event = readFrame() { return event }
            if pending.isEmpty, !isEnded { return nil }
        }
        return pollRareEvent()
    }

    /// All but the frames of an open line.
    @inline(never) private mutating func pollRareEvent() -> LineEvent? {
        while true {
            if !pending.isEmpty { return pending.removeFirst() }
            if readsFrames {
                if let event = readFrame() { return event }
                guard pending.isEmpty else { continue }
                guard isEnded else { return nil }
                end(.closed(code: CloseCode.abnormal.rawValue, reason: "the stream ended without a close frame"))
                continue
            }
            if isClosed { return nil }
            let before = phase
            switch phase {
            case .upgrading: readHead()
            case .readingRefusal(let status, let response, let length): readBody(status, response, length)
            case .deciding, .open, .closing, .closed: break
            }
            if !pending.isEmpty || phase != before { continue }
            guard isEnded else { return nil }
            if case .readingRefusal(let status, let response, _) = phase {
                refuse(status: status, head: response, bodyCount: head.count)
            } else {
                end(.closed(code: CloseCode.abnormal.rawValue, reason: "the stream ended during the upgrade"))
            }
        }
    }

    /// The bytes of the `.text` or `.binary` that came last.
    @_lifetime(borrow self)
    package func bytes(_ range: Range<Int>) -> RawSpan { reader.bytes(range) }

    /// Hands the bytes of the `.text` or `.binary` that came last to `body`: for an owner that keeps the line in a class,
    /// where a span cannot outlive the access.
    package func withBytes<R, E: Error>(
        _ range: Range<Int>, _ body: (borrowing RawSpan) throws(E) -> R
    ) throws(E) -> R {
        try body(reader.bytes(range))
    }

    /// The last event: nothing more is received, and only what `outbound` holds still goes.
    mutating func end(_ event: LineEvent) {
        guard !isClosed else { return }
        if case .closed(code: CloseCode.abnormal.rawValue, _) = event { outbound.removeAll() }
        counters.audioDropped += audio.removeAll()
        isPongDue = false
        isPingDue = false
        phase = .closed
        pending.append(event)
    }
}
