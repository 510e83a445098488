package import ICELite

/// The call line as a machine over a byte stream: HTTP upgrade, WebSocket frames, keep-alive and closing, for both ends.
///
/// The stream's bytes (TLS already taken off) go in by `receive` and come out by `writeOutput`; what they mean comes by
/// `pollEvent`. A message's bytes lie in the machine until the next `pollEvent` or `receive`.
package struct LineConnection: ~Copyable {
    /// What happened on the line.
    package enum Event: Hashable, Sendable {
        /// Server: a client asks for the upgrade; the owner answers with `accept` or `refuse`.
        case upgradeRequested(UpgradeRequest)
        /// The WebSocket is open.
        case opened
        /// A text message: `copyBytes` gives it.
        case text(Range<Int>)
        /// A binary message: one RTP or RTCP packet.
        case binary(Range<Int>)
        /// A text message beyond the limit was thrown away.
        case textTooLarge(Int)
        /// Client: the server refused the upgrade.
        case refused(LineRefusal)
        /// The line is over: the last event. Code 1006 where the peer went without a word.
        case closed(code: UInt16, reason: String)
    }

    /// A ping goes out when nothing was heard for this long.
    package static let pingAfter = Nanoseconds.seconds(5)
    /// The same during set-up and while the line is suspect.
    package static let urgentPingAfter = Nanoseconds.seconds(1)
    /// The line is dead without any frame for this long.
    package static let deadAfter = Nanoseconds.seconds(10)
    /// The same while it is suspect.
    package static let urgentDeadAfter = Nanoseconds.seconds(3)
    /// The peer's close frame is waited for this long.
    package static let closeDeadline = Nanoseconds.seconds(1)
    /// Bytes of an HTTP head that are kept while it is incomplete.
    package static let headLimit = 16_384 + 65_536

    private enum State: Sendable {
        /// Client: the request is sent, the response awaited.
        case requesting(UpgradeClient)
        /// Server: the request is awaited, or awaits its answer.
        case awaitingRequest
        case answering(UpgradeRequest)
        case open
        /// We sent close; the peer's is awaited.
        case closing(until: Instant)
        /// The peer is told to go away; its stream is closed when all is written.
        case draining
        case closed
    }

    private let isClient: Bool
    private var state: State
    private var head = ByteQueue()
    private var reader: WebSocketReader
    private var writer: WebSocketWriter
    private var events: [Event] = []
    private var closeSent: (code: UInt16, reason: String)?
    private var openedAt: Instant
    private var lastPingAt: Instant?
    /// The first ping since a frame came.
    private var unansweredPingAt: Instant?
    /// The stream has ended; what it brought is still read.
    private var isPeerGone = false

    /// When a frame last came; nil before the first.
    package private(set) var lastHeard: Instant?
    /// During set-up and while suspect: pings each second, dead after 3 s.
    package var isUrgent = false
    /// Pings of the peer's that were answered.
    package private(set) var pingsAnswered = 0

    private init(isClient: Bool, state: State, randomness: Randomness, now: Instant) {
        self.isClient = isClient
        self.state = state
        reader = WebSocketReader(isServer: !isClient)
        writer = WebSocketWriter(isClient: isClient, randomness: randomness)
        openedAt = now
    }

    /// The client's end: the upgrade request is ready to be written.
    package static func client(
        url: CallLineURL, key: String?, origin: String? = nil, now: Instant, randomness: Randomness
    ) -> LineConnection {
        var randomness = randomness
        let sentKey = url.mayCarryKey ? key : nil
        if let unfit = Self.unfit(key: sentKey, origin: origin) {
            var line = LineConnection(isClient: true, state: .closed, randomness: randomness, now: now)
            line.events = [
                .refused(unfit), .closed(code: CloseCode.abnormal.rawValue, reason: unfit.message),
            ]
            return line
        }
        let upgrade = UpgradeClient(
            url: url, key: sentKey, origin: origin, nonce: randomness.bytes(16))
        var line = LineConnection(isClient: true, state: .requesting(upgrade), randomness: randomness, now: now)
        line.writer.appendRaw(upgrade.request())
        return line
    }

    /// The refusal of a key or an origin that would break the request in two.
    private static func unfit(key: String?, origin: String?) -> LineRefusal? {
        if let key, !UpgradeClient.isFieldValue(key) {
            return LineRefusal(
                code: .invalidKey, message: "the key is empty, too long or holds a character a header cannot carry")
        }
        if let origin, !UpgradeClient.isFieldValue(origin) {
            return LineRefusal(
                code: .originRefused,
                message: "the origin is empty, too long or holds a character a header cannot carry")
        }
        return nil
    }

    /// The server's end: the request is awaited.
    package static func server(now: Instant, randomness: Randomness) -> LineConnection {
        LineConnection(isClient: false, state: .awaitingRequest, randomness: randomness, now: now)
    }

    // MARK: What it knows

    package var isOpen: Bool { if case .open = state { true } else { false } }
    package var isClosed: Bool { if case .closed = state { true } else { false } }
    /// The line has said its last: the stream may be shut down once all output is written.
    package var isFinished: Bool {
        switch state {
        case .draining, .closed: true
        case .requesting, .awaitingRequest, .answering, .open, .closing: false
        }
    }
    /// Bytes that wait to be written.
    package var queuedBytes: Int { writer.queuedByteCount }
    package var hasOutput: Bool { writer.queuedByteCount > 0 }
    /// Audio packets dropped because the stream did not take them in time.
    package var droppedAudio: Int { writer.droppedAudio }

    // MARK: Bytes

    /// Takes bytes of the stream.
    package mutating func receive(_ bytes: borrowing RawSpan, now: Instant) {
        switch state {
        case .closed, .draining: break
        case .requesting, .awaitingRequest, .answering:
            guard head.count + bytes.byteCount <= Self.headLimit else {
                return fail(code: .protocolError, reason: "the HTTP head is too large")
            }
            head.append(bytes)
            readHead(now: now)
        case .open, .closing:
            lastHeard = now
            unansweredPingAt = nil
            reader.receive(bytes)
        }
    }

    /// The peer's side of the stream has ended. What it said before is still read; `closed` comes behind it.
    package mutating func peerClosed(now: Instant) {
        isPeerGone = true
        switch state {
        case .closed, .closing, .open: break
        case .draining: finish(code: closeSent?.code ?? 1_000, reason: closeSent?.reason ?? "")
        case .requesting(let upgrade):
            // A refusal whose body was cut short is still one.
            if case .refused(let refusal) = upgrade.parse(head.bytes, isWhole: true) { return refused(refusal) }
            finish(code: CloseCode.abnormal.rawValue, reason: "the peer closed the connection")
        case .awaitingRequest, .answering:
            finish(code: CloseCode.abnormal.rawValue, reason: "the peer closed the connection")
        }
    }

    /// Moves as many bytes as fit into `out`; returns how many.
    package mutating func writeOutput(into out: inout OutputRawSpan) -> Int { writer.drain(into: &out) }

    // MARK: Messages

    /// The next event; nil when there is none.
    package mutating func pollEvent() -> Event? {
        if !events.isEmpty { return events.removeFirst() }
        switch state {
        case .open, .closing: break
        case .requesting, .awaitingRequest, .answering, .draining, .closed: return nil
        }
        while let item = reader.next() {
            if let event = handle(item) { return event }
            if !events.isEmpty { return events.removeFirst() }
        }
        if isPeerGone {
            if let closeSent {
                finish(code: closeSent.code, reason: closeSent.reason)
            } else {
                finish(code: CloseCode.abnormal.rawValue, reason: "the peer closed the connection")
            }
        }
        return events.isEmpty ? nil : events.removeFirst()
    }

    /// A copy of the last message's bytes.
    package func copyBytes(_ range: Range<Int>) -> [UInt8] {
        reader.bytes(range).withUnsafeBytes { Array($0) }
    }

    /// Copies the last message's bytes into `packet`.
    package func copy(_ range: Range<Int>, into packet: inout Packet) { packet.assign(reader.bytes(range)) }

    /// Sends a text message.
    package mutating func sendText(_ bytes: borrowing RawSpan) {
        guard isOpen else { return }
        writer.append(.text, bytes)
    }

    /// Sends an audio packet behind all control; the oldest waiting one goes when 100 ms of them wait.
    package mutating func sendBinary(_ bytes: borrowing RawSpan) {
        guard isOpen else { return }
        writer.appendAudio(bytes)
    }

    /// Server: answers the upgrade request with 101.
    package mutating func accept(now: Instant) {
        guard case .answering(let request) = state else { return }
        writer.appendRaw(request.accepted())
        open(now: now)
    }

    /// Server: answers the upgrade request with an error; the stream is to be closed once that is written.
    package mutating func refuse(_ refusal: LineRefusal, now: Instant) {
        guard case .answering = state else { return }
        writer.appendRaw(UpgradeRequest.refusal(refusal))
        state = .draining
    }

    /// Closes the line: the close frame goes out behind what waits, and the peer's is awaited for a second.
    package mutating func close(code: UInt16, reason: String, now: Instant) {
        switch state {
        case .open:
            sendClose(code: code, reason: reason)
            state = .closing(until: now + Self.closeDeadline)
        case .requesting, .awaitingRequest, .answering: finish(code: code, reason: reason)
        case .closing, .draining, .closed: break
        }
    }

    // MARK: Time

    package var nextDeadline: Instant {
        switch state {
        case .open: min(pingAt, deadAt)
        case .closing(let until): until
        case .requesting, .awaitingRequest, .answering, .draining, .closed: .never
        }
    }

    package mutating func handleTimeout(now: Instant) {
        switch state {
        case .open:
            if now >= deadAt {
                return finish(code: CloseCode.abnormal.rawValue, reason: "nothing was heard on the line")
            }
            if now >= pingAt {
                lastPingAt = now
                unansweredPingAt = unansweredPingAt ?? now
                writer.append(.ping, [UInt8]().span.bytes)
            }
        case .closing(let until):
            if now >= until { finish(code: closeSent?.code ?? 1_000, reason: closeSent?.reason ?? "") }
        case .requesting, .awaitingRequest, .answering, .draining, .closed: break
        }
    }

    // MARK: - Private

    private var heardAt: Instant { lastHeard ?? openedAt }
    /// Made urgent after a silence that was none of its fault, the line has the time of an answer to prove itself.
    private var deadAt: Instant {
        let patient = heardAt + Self.deadAfter
        guard isUrgent else { return patient }
        guard let unansweredPingAt else { return patient }
        let answered = unansweredPingAt + (Self.urgentDeadAfter - Self.urgentPingAfter)
        return min(patient, max(heardAt + Self.urgentDeadAfter, answered))
    }
    /// The next ping: after silence, and not more often than each second.
    private var pingAt: Instant {
        let wait = isUrgent ? Self.urgentPingAfter : Self.pingAfter
        let due = heardAt + wait
        guard let lastPingAt, lastPingAt >= heardAt else { return due }
        return max(due, lastPingAt + Self.urgentPingAfter)
    }

    private mutating func open(now: Instant) {
        state = .open
        openedAt = now
        lastHeard = now
        events.append(.opened)
        Self.move(head, to: &reader)
        head.removeAll(shrinkingTo: 64)
    }

    private static func move(_ head: borrowing ByteQueue, to reader: inout WebSocketReader) {
        if !head.isEmpty { reader.receive(head.bytes) }
    }

    private mutating func readHead(now: Instant) {
        switch state {
        case .requesting(let upgrade):
            switch upgrade.parse(head.bytes) {
            case .needMore: break
            case .accepted(let byteCount):
                head.consume(byteCount)
                open(now: now)
            case .refused(let refusal):
                refused(refusal)
            }
        case .awaitingRequest:
            switch UpgradeRequest.parse(head.bytes) {
            case .needMore: break
            case .request(let request, let byteCount):
                head.consume(byteCount)
                state = .answering(request)
                events.append(.upgradeRequested(request))
            case .bad(let refusal):
                writer.appendRaw(UpgradeRequest.refusal(refusal))
                state = .draining
            }
        case .answering, .open, .closing, .draining, .closed: break
        }
    }

    /// Carries a frame's meaning out; the event it is for the owner, if any.
    private mutating func handle(_ item: WebSocketReader.Item) -> Event? {
        var isClosing = false
        if case .closing = state { isClosing = true }
        switch item {
        case .text(let range): return isClosing ? nil : .text(range)
        case .binary(let range): return isClosing ? nil : .binary(range)
        case .textTooLarge(let count): return isClosing ? nil : .textTooLarge(count)
        case .ping(let range):
            if !isClosing {
                pingsAnswered += 1
                writer.answer(ping: copyBytes(range).span.bytes)
            }
            return nil
        case .pong: return nil
        case .close(let code, let reason):
            if isClosing {
                finish(code: closeSent?.code ?? 1_000, reason: closeSent?.reason ?? "")
            } else {
                sendClose(code: code, reason: "")
                finish(code: code ?? 1_005, reason: reason)
            }
            return nil
        case .failure(let code, let reason):
            fail(code: code, reason: reason)
            return nil
        }
    }

    private mutating func refused(_ refusal: LineRefusal) {
        state = .closed
        events.append(.refused(refusal))
        events.append(.closed(code: CloseCode.abnormal.rawValue, reason: refusal.message))
    }

    private mutating func fail(code: CloseCode, reason: String) {
        if isOpen { sendClose(code: code.rawValue, reason: reason) }
        finish(code: code.rawValue, reason: reason)
    }

    private mutating func sendClose(code: UInt16?, reason: String) {
        guard closeSent == nil else { return }
        closeSent = (code ?? 1_005, reason)
        writer.discardAudio()
        // A close frame without a code is answered by one without.
        var payload = code.map { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] } ?? []
        // A control frame holds 125 bytes; a reason is cut between characters.
        for character in reason.unicodeScalars {
            let bytes = Array(String(character).utf8)
            if payload.count + bytes.count > 125 { break }
            payload += bytes
        }
        writer.append(.close, payload.span.bytes)
    }

    private mutating func finish(code: UInt16, reason: String) {
        if case .closed = state { return }
        state = .closed
        events.append(.closed(code: code, reason: reason))
    }
}
