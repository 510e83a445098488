/// Reads WebSocket frames from a byte stream and puts messages together (RFC 6455 §5.4), within limits.
///
/// Bytes go in as they come; `next` gives what they mean, oldest first. The payload of a message lies in the reader until
/// the next call of `next`, so that an audio packet costs no allocation.
package struct WebSocketReader: ~Copyable {
    /// What came.
    package enum Item: Hashable, Sendable {
        /// A whole text message, valid UTF-8.
        case text(Range<Int>)
        case binary(Range<Int>)
        /// A text message beyond the limit, which was thrown away as it came.
        case textTooLarge(Int)
        case ping(Range<Int>)
        case pong
        /// The peer closes; nil where it gave no code.
        case close(code: UInt16?, reason: String)
        /// The stream breaks the protocol: close with this code. Nothing is read any more.
        case failure(code: CloseCode, reason: String)
    }

    /// A text message that is delivered.
    package static let textLimit = 256 * 1_024
    /// A text message that is thrown away but answered; beyond it the line is closed with 1009.
    package static let textHardLimit = 1 << 20
    /// A binary message.
    package static let binaryLimit = 1_500

    private let expectsMask: Bool
    private var input = ByteQueue()
    /// A fragmented message's bytes so far.
    private var message = ByteQueue()
    private var messageKind: WebSocketOpcode?
    private var messageByteCount = 0
    private var utf8 = UTF8Validator()
    /// Bytes at the front of `input` that the last item used.
    private var used = 0
    /// The last item lies in `message`, not in `input`.
    private var deliveredMessage = false
    /// Payload of a message that is thrown away.
    private var skipping = 0
    private var skippedIsFinal = false
    private var isFailed = false

    /// - Parameter isServer: a server demands masked frames, a client unmasked ones (RFC 6455 §5.1).
    package init(isServer: Bool) { expectsMask = isServer }

    /// Bytes held that were not delivered yet.
    package var heldByteCount: Int { input.count + message.count }

    /// Takes bytes of the stream.
    package mutating func receive(_ bytes: borrowing RawSpan) {
        guard !isFailed else { return }
        release()
        input.append(bytes)
    }

    /// The payload of the last item.
    @_lifetime(borrow self)
    package func bytes(_ range: Range<Int>) -> RawSpan {
        deliveredMessage ? message.bytes(in: range) : input.bytes(in: range)
    }

    /// The next item; nil until more bytes come.
    package mutating func next() -> Item? {
        release()
        while !isFailed {
            if skipping > 0 {
                let skipped = min(skipping, input.count)
                input.consume(skipped)
                skipping -= skipped
                guard skipping == 0 else { return nil }
                if skippedIsFinal { return finishSkipped() }
            }
            let parsed: (header: WebSocketFrameHeader, byteCount: Int)?
            do throws(WebSocketFrameHeader.ParseError) {
                parsed = try WebSocketFrameHeader.parse(input.bytes)
            } catch {
                return fail(.protocolError, "bad frame: \(error)")
            }
            guard let (header, headerSize) = parsed else { return nil }
            guard (header.mask != nil) == expectsMask else {
                return fail(.protocolError, expectsMask ? "a frame is not masked" : "a frame is masked")
            }
            if let item = take(header, headerSize) { return item }
            if isWaiting { return nil }
        }
        return nil
    }

    // MARK: - Private

    /// Set by `take` when the frame is not all there.
    private var isWaiting = false

    private mutating func release() {
        input.consume(used)
        used = 0
        if deliveredMessage {
            message.removeAll(shrinkingTo: 16_384)
            deliveredMessage = false
        }
    }

    private mutating func fail(_ code: CloseCode, _ reason: String) -> Item {
        isFailed = true
        input.removeAll()
        message.removeAll()
        return .failure(code: code, reason: reason)
    }

    private mutating func finishSkipped() -> Item {
        skippedIsFinal = false
        let size = messageByteCount
        messageKind = nil
        messageByteCount = 0
        utf8 = UTF8Validator()
        message.removeAll()
        return .textTooLarge(size)
    }

    /// Takes one frame; nil when it gave no item.
    private mutating func take(_ header: WebSocketFrameHeader, _ headerSize: Int) -> Item? {
        isWaiting = false
        if header.opcode.isControl { return takeControl(header, headerSize) }
        switch (header.opcode, messageKind) {
        case (.continuation, nil): return fail(.protocolError, "a continuation of nothing")
        case (.text, .some), (.binary, .some): return fail(.protocolError, "a message inside a message")
        default: break
        }
        let kind = messageKind ?? header.opcode
        let total = messageByteCount.addingReportingOverflow(header.payloadByteCount)
        guard !total.overflow, total.partialValue <= (kind == .text ? Self.textHardLimit : Self.binaryLimit) else {
            return fail(.messageTooBig, "a message is too large")
        }
        if kind == .text, total.partialValue > Self.textLimit {
            input.consume(headerSize)
            messageKind = kind
            messageByteCount = total.partialValue
            message.removeAll(shrinkingTo: 16_384)
            skipping = header.payloadByteCount
            skippedIsFinal = header.isFinal
            if skipping == 0, header.isFinal { return finishSkipped() }
            return nil
        }
        guard input.count >= headerSize + header.payloadByteCount else {
            isWaiting = true
            return nil
        }
        let payload = headerSize..<(headerSize + header.payloadByteCount)
        if let mask = header.mask { input.mask(payload, key: mask) }
        if kind == .text {
            var check = utf8
            guard check.accept(input.bytes(in: payload)), !header.isFinal || check.isComplete else {
                return fail(.invalidPayload, "text is not UTF-8")
            }
            utf8 = check
        }
        if messageKind == nil, header.isFinal {
            used = payload.upperBound
            utf8 = UTF8Validator()
            return kind == .text ? .text(payload) : .binary(payload)
        }
        Self.move(payload, from: input, to: &message)
        input.consume(payload.upperBound)
        messageKind = kind
        messageByteCount = total.partialValue
        guard header.isFinal else { return nil }
        messageKind = nil
        messageByteCount = 0
        utf8 = UTF8Validator()
        deliveredMessage = true
        return kind == .text ? .text(0..<message.count) : .binary(0..<message.count)
    }

    private static func move(_ range: Range<Int>, from source: borrowing ByteQueue, to target: inout ByteQueue) {
        target.append(source.bytes(in: range))
    }

    private mutating func takeControl(_ header: WebSocketFrameHeader, _ headerSize: Int) -> Item? {
        let end = headerSize + header.payloadByteCount
        guard input.count >= end else {
            isWaiting = true
            return nil
        }
        if let mask = header.mask { input.mask(headerSize..<end, key: mask) }
        used = end
        switch header.opcode {
        case .ping: return .ping(headerSize..<end)
        case .pong: return .pong
        default: return takeClose(headerSize..<end)
        }
    }

    /// RFC 6455 §5.5.1 and §7.4.
    private mutating func takeClose(_ range: Range<Int>) -> Item {
        guard !range.isEmpty else { return .close(code: nil, reason: "") }
        guard range.count >= 2 else { return fail(.protocolError, "a close code of one byte") }
        let code = UInt16(truncatingIfNeeded: input.bytes.bigEndian(at: range.lowerBound, count: 2))
        guard CloseCode(rawValue: code).isAllowedOnWire else { return fail(.protocolError, "close code \(code)") }
        var check = UTF8Validator()
        let words = (range.lowerBound + 2)..<range.upperBound
        guard check.accept(input.bytes(in: words)), check.isComplete else {
            return fail(.invalidPayload, "a close reason is not UTF-8")
        }
        let reason = input.bytes(in: words).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        return .close(code: code, reason: reason)
    }
}

/// Checks UTF-8 as it comes, across fragments (RFC 3629 §4).
struct UTF8Validator {
    /// Continuation bytes still to come.
    private var pending = 0
    /// Bounds of the next continuation byte: they rule out overlong forms, surrogates and what lies beyond U+10FFFF.
    private var lower: UInt8 = 0x80
    private var upper: UInt8 = 0xBF

    /// No character is cut in the middle.
    var isComplete: Bool { pending == 0 }

    /// False when the bytes cannot be UTF-8, whatever follows.
    mutating func accept(_ bytes: borrowing RawSpan) -> Bool {
        for offset in 0..<bytes.byteCount {
            let byte = bytes.byte(offset)
            if pending > 0 {
                guard byte >= lower, byte <= upper else { return false }
                pending -= 1
                (lower, upper) = (0x80, 0xBF)
                continue
            }
            switch byte {
            case 0x00...0x7F: continue
            case 0xC2...0xDF: pending = 1
            case 0xE0: (pending, lower) = (2, 0xA0)
            case 0xED: (pending, upper) = (2, 0x9F)
            case 0xE1...0xEF: pending = 2
            case 0xF0: (pending, lower) = (3, 0x90)
            case 0xF4: (pending, upper) = (3, 0x8F)
            case 0xF1...0xF3: pending = 3
            default: return false
            }
        }
        return true
    }
}
