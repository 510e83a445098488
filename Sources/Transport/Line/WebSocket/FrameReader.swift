/// Takes the frames of one direction apart and puts messages together (RFC 6455 §5).
///
/// Bytes go in with `append`, pieces come out of `next()` one by one. A piece's range is read with `bytes(_:)` and holds
/// until the next call of either. A message in one frame is handed out where it was received; only one in several frames
/// is copied together.
package struct FrameReader: ~Copyable {
    /// What came.
    package enum Piece: Hashable, Sendable {
        /// A whole text, valid UTF-8, at most `LineLimits.maximumTextBytes`.
        case text(Range<Int>)
        /// A whole binary message, at most `LineLimits.maximumBinaryBytes`.
        case binary(Range<Int>)
        /// A text of this many bytes, beyond what is delivered, was skipped.
        case textTooLarge(Int)
        /// A ping, to be answered with the same bytes.
        case ping(Range<Int>)
        /// A pong.
        case pong(Range<Int>)
        /// The peer's close frame; the code is nil when it had none (reported as 1005 by others).
        case close(code: CloseCode?, reason: String)
    }

    private let fromClient: Bool
    private var stream = ByteQueue(capacity: 4_096)
    private var message = ByteQueue(capacity: 64)
    /// Bytes at the stream's head that were handed out and go at the next call.
    private var handedOut = 0
    /// Whether the last piece lies in `message`.
    private var isInMessage = false
    /// The kind of the message under way, and its bytes so far.
    private var current: Opcode?
    private var messageCount = 0
    private var utf8 = UTF8Check()
    /// Payload of a frame being thrown away that has still to come, and whether the frame is its message's last.
    private var skipping = 0
    private var skippingFinal = false
    private var isSkipping = false

    /// A reader of what a client (masked) or a server (not masked) sends.
    package init(fromClient: Bool) { self.fromClient = fromClient }

    /// Bytes that were received and not yet taken apart.
    package var buffered: Int { stream.count - handedOut }

    /// Whether there is nothing to take apart, nor to let go of.
    var isIdle: Bool { handedOut == 0 && !isInMessage && !isSkipping && stream.isEmpty }

    /// Adds received bytes.
    package mutating func append(_ bytes: borrowing RawSpan) {
        release()
        stream.append(bytes)
    }

    /// Adds the bytes that `queue` holds.
    package mutating func append(contentsOf queue: borrowing ByteQueue) {
        release()
        stream.append(0..<queue.count, of: queue)
    }

    /// The bytes of the piece that came last.
    @_lifetime(borrow self)
    package func bytes(_ range: Range<Int>) -> RawSpan {
        isInMessage ? message.bytes(in: range) : stream.bytes(in: range)
    }

    /// Replaces `array` by a copy of the piece that came last.
    package func copy(_ range: Range<Int>, into array: inout [UInt8]) {
        array.removeAll(keepingCapacity: true)
        bytes(range).withUnsafeBytes { array.append(contentsOf: $0) }
    }

    /// The next piece; nil when more bytes are needed. After an error the reader is of no more use.
    package mutating func next() throws(FrameError) -> Piece? {
        release()
        while true {
            if isSkipping {
                guard let piece = skip() else { return nil }
                if case .some(let done) = piece { return done }
                continue
            }
            guard let (header, headerCount) = try FrameHeader.parse(stream, fromClient: fromClient) else { return nil }
            if header.opcode.isControl {
                guard stream.count >= headerCount + header.payloadCount else { return nil }
                return try control(header, headerCount)
            }
            let kind = try begin(header)
            if messageCount + header.payloadCount > LineLimits.maximumTextBytes {
                // Only a text gets here: it is counted, not kept.
                stream.consume(headerCount)
                current = kind
                messageCount += header.payloadCount
                message.removeAll(shrinkingTo: LineLimits.keptBufferBytes)
                isSkipping = true
                skipping = header.payloadCount
                skippingFinal = header.isFinal
                continue
            }
            guard stream.count >= headerCount + header.payloadCount else {
                stream.reserve(headerCount + header.payloadCount - stream.count)
                return nil
            }
            let payload = headerCount..<(headerCount + header.payloadCount)
            if let key = header.maskingKey { stream.mask(payload, key: key) }
            if kind == .text {
                guard utf8.feed(payload, of: stream), !header.isFinal || utf8.isComplete else { throw .notUTF8 }
            }
            if header.isFinal, current == nil {
                handedOut = payload.upperBound
                utf8 = UTF8Check()
                return kind == .text ? .text(payload) : .binary(payload)
            }
            message.append(payload, of: stream)
            stream.consume(payload.upperBound)
            current = kind
            messageCount += header.payloadCount
            if header.isFinal {
                isInMessage = true
                current = nil
                messageCount = 0
                utf8 = UTF8Check()
                let whole = 0..<message.count
                return kind == .text ? .text(whole) : .binary(whole)
            }
        }
    }

    // MARK: Private

    /// Lets go of what the last piece referred to.
    private mutating func release() {
        if handedOut > 0 {
            stream.consume(handedOut)
            handedOut = 0
        }
        if isInMessage {
            isInMessage = false
            message.removeAll(shrinkingTo: LineLimits.keptBufferBytes)
        }
        if stream.isEmpty { stream.removeAll(shrinkingTo: LineLimits.keptBufferBytes) }
    }

    /// The kind of the message a data frame belongs to, its order and size checked.
    private func begin(_ header: FrameHeader) throws(FrameError) -> Opcode {
        let kind: Opcode
        if let current {
            guard header.opcode == .continuation else { throw .badFragment }
            kind = current
        } else {
            guard header.opcode != .continuation else { throw .badFragment }
            kind = header.opcode
        }
        let limit = kind == .text ? LineLimits.maximumSkippedBytes : LineLimits.maximumBinaryBytes
        guard header.payloadCount <= limit - messageCount else { throw .tooBig }
        return kind
    }

    /// Throws away what is there of a frame too large; nil: more must come, `.some(nil)`: the frame is over.
    private mutating func skip() -> Piece?? {
        let gone = min(skipping, stream.count)
        stream.consume(gone)
        skipping -= gone
        guard skipping == 0 else { return nil }
        isSkipping = false
        guard skippingFinal else { return .some(nil) }
        let count = messageCount
        current = nil
        messageCount = 0
        utf8 = UTF8Check()
        return .some(.textTooLarge(count))
    }

    private mutating func control(_ header: FrameHeader, _ headerCount: Int) throws(FrameError) -> Piece {
        let payload = headerCount..<(headerCount + header.payloadCount)
        if let key = header.maskingKey { stream.mask(payload, key: key) }
        handedOut = payload.upperBound
        switch header.opcode {
        case .ping: return .ping(payload)
        case .pong: return .pong(payload)
        case .close: return try close(stream.bytes(in: payload))
        case .continuation, .text, .binary: throw .badFragment
        }
    }

    private func close(_ payload: borrowing RawSpan) throws(FrameError) -> Piece {
        if payload.byteCount == 0 { return .close(code: nil, reason: "") }
        guard payload.byteCount >= 2 else { throw .badClose }
        let value = payload.withUnsafeBytes { UInt16($0[0]) << 8 | UInt16($0[1]) }
        let code = CloseCode(rawValue: value)
        guard code.isAllowedOnWire else { throw .badClose }
        var check = UTF8Check()
        let text = payload.extracting(droppingFirst: 2)
        guard check.feed(text), check.isComplete else { throw .notUTF8 }
        return .close(code: code, reason: text.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
    }
}
