package import ICELite

// Frames in and out (RFC 6455 §5, §7).
extension LineConnection {
    // MARK: Sending

    /// Queues a text. False, counted, when it was not taken: the line is not open, the text is longer than
    /// `LineLimits.maximumTextBytes`, or more than `LineLimits.maximumQueuedBytes` wait.
    @discardableResult
    package mutating func sendText(_ bytes: borrowing RawSpan) -> Bool {
        guard isOpen, bytes.byteCount <= LineLimits.maximumTextBytes,
            outbound.count + bytes.byteCount <= LineLimits.maximumQueuedBytes
        else {
            counters.textsNotTaken += 1
            return false
        }
        frame(.text, bytes)
        counters.textsSent += 1
        return true
    }

    /// Queues a text, as `sendText(_: RawSpan)` does.
    @discardableResult
    package mutating func sendText(_ text: [UInt8]) -> Bool { sendText(text.span.bytes) }

    /// Queues an RTP or RTCP packet behind everything else. When 100 ms wait, the oldest is dropped for it and counted.
    /// False, counted, when it was not taken: not open, empty, or longer than `LineLimits.maximumBinaryBytes`.
    /// Does not allocate.
    @discardableResult
    package mutating func sendBinary(_ packet: borrowing RawSpan) -> Bool {
        guard isOpen, (1...LineLimits.maximumBinaryBytes).contains(packet.byteCount) else {
            counters.audioNotTaken += 1
            return false
        }
        if audio.append(packet) { counters.audioDropped += 1 }
        withdrawableBytes = 0
        return true
    }

    /// Audio packets that wait in the ring.
    package var queuedAudio: Int { audio.count }

    /// Starts the close handshake: texts that wait still go, audio does not. `.closed` comes with the peer's close frame,
    /// or after 1 s. Before the line is open it ends at once. A second call does nothing.
    ///
    /// - Parameter reason: cut to the 123 bytes that a close frame holds.
    package mutating func close(code: CloseCode, reason: String = "", now: Instant) {
        clock = now
        switch phase {
        case .open:
            sendClose(code, reason)
            phase = .closing
            closeDeadline = now + LineLimits.closeTimeout
            #if MUTANTS
            if Mutant.current == .closeNeverTimesOut { closeDeadline = .never }
            #endif
        case .upgrading, .readingRefusal, .deciding:
            end(.closed(code: CloseCode.abnormal.rawValue, reason: "closed before it was open"))
        case .closing, .closed: break
        }
    }

    // MARK: Output

    /// Bytes of texts and control frames that are staged and wait to be drained, 0…`LineLimits.maximumQueuedBytes`.
    package var queuedBytes: Int { outbound.count }

    /// Whether `writeOutput` has something to write.
    package var hasOutput: Bool { !outbound.isEmpty || isPongDue || isPingDue || audio.count > 0 }

    /// Appends as much output to `out` as fits; returns how many bytes, 0 when there is none. A frame once begun goes
    /// whole before another. Order: what was queued, pong, ping, audio. Does not allocate for audio.
    ///
    /// Of the audio it begins one packet at most: what the stream does not take would wait outside the ring, where nothing
    /// makes room for what is newer. `withdrawAudio` takes that one back.
    package mutating func writeOutput(into out: inout OutputRawSpan) -> Int {
        var written = 0
        var audioBytes = 0
        while out.freeCapacity > 0 {
            if outbound.isEmpty, !stageControl() {
                guard audioBytes == 0, stageAudio() else { break }
                audioBytes = outbound.count
            }
            written += outbound.drain(into: &out)
        }
        withdrawableBytes = outbound.isEmpty ? audioBytes : 0
        if outbound.isEmpty { outbound.removeAll(shrinkingTo: LineLimits.keptBufferBytes) }
        counters.bytesSent &+= written
        return written
    }

    /// Takes the audio of the last output back into the ring, if the stream has taken no byte of its frame: what waits for
    /// room has to make room for what is newer. To be called before anything else is queued.
    ///
    /// - Parameter unwritten: bytes at the end of the last output that the stream did not take.
    /// - Returns: how many bytes at the end of these are not to be written any more.
    package mutating func withdrawAudio(unwritten: Int) -> Int {
        let byteCount = withdrawableBytes
        withdrawableBytes = 0
        guard byteCount > 0, unwritten >= byteCount, isOpen else { return 0 }
        audio.restoreFirst()
        counters.binarySent -= 1
        counters.bytesSent &-= byteCount
        return byteCount
    }

    /// Encodes the next control frame that waits outside `outbound`; false when none does.
    private mutating func stageControl() -> Bool {
        if isPongDue {
            isPongDue = false
            let payload = pong
            frame(.pong, payload.span.bytes)
            return true
        }
        if isPingDue {
            isPingDue = false
            isPingOutstanding = true
            pingNumber &+= 1
            counters.pingsSent += 1
            withUnsafeBytes(of: pingNumber.bigEndian) { number in
                frame(.ping, unsafe RawSpan(_unsafeBytes: number))
            }
            return true
        }
        return false
    }

    /// Encodes the oldest audio packet; false when none waits.
    private mutating func stageAudio() -> Bool {
        guard audio.count > 0 else { return false }
        let key = nextMask()
        audio.encodeOldest(into: &outbound, maskingKey: key)
        audio.removeFirst()
        counters.binarySent += 1
        return true
    }

    private mutating func frame(_ opcode: Opcode, _ payload: borrowing RawSpan) {
        let key = nextMask()
        outbound.reserve(FrameHeader.maximumByteCount + payload.byteCount)
        FrameHeader(opcode: opcode, maskingKey: key, payloadCount: payload.byteCount).encode(into: &outbound)
        let start = outbound.count
        outbound.append(payload)
        if let key { outbound.mask(start..<outbound.count, key: key) }
    }

    /// RFC 6455 §5.3: a client masks each frame with a fresh key, a server never.
    private mutating func nextMask() -> UInt32? {
        role == .client ? UInt32(truncatingIfNeeded: randomness.next() >> 32) : nil
    }

    private mutating func sendClose(_ code: CloseCode?, _ reason: String) {
        var payload: [UInt8] = []
        if let code, code.isAllowedOnWire {
            payload = [UInt8(truncatingIfNeeded: code.rawValue >> 8), UInt8(truncatingIfNeeded: code.rawValue)]
            for scalar in reason.unicodeScalars {
                let bytes = Array(String(scalar).utf8)
                guard payload.count + bytes.count <= LineLimits.maximumControlBytes else { break }
                payload += bytes
            }
        }
        counters.audioDropped += audio.removeAll()
        isPongDue = false
        isPingDue = false
        frame(.close, payload.span.bytes)
    }

    // MARK: Receiving

    /// The event of the next frame that makes one.
    mutating func readFrame() -> LineEvent? {
        do throws(FrameError) {
            while readsFrames, let piece = try reader.next() {
                if let event = take(piece) { return event }
            }
        } catch {
            // RFC 6455 §7.1.7: a close frame that says why, then nothing more is read.
            if isOpen { sendClose(error.closeCode, error.description) }
            end(.closed(code: error.closeCode.rawValue, reason: error.description))
        }
        return nil
    }

    private mutating func take(_ piece: FrameReader.Piece) -> LineEvent? {
        switch piece {
        case .text(let range):
            counters.textsReceived += 1
            // After our own close frame nothing is delivered any more (§1.4): the owner has said its last word.
            return isOpen ? .text(range) : nil
        case .binary(let range):
            counters.binaryReceived += 1
            return isOpen ? .binary(range) : nil
        case .textTooLarge(let count):
            counters.textsTooLarge += 1
            return isOpen ? .textTooLarge(count) : nil
        case .ping(let range):
            counters.pingsReceived += 1
            guard isOpen else { return nil }
            if isPongDue { counters.pongsCoalesced += 1 }
            // §5.5.3: only the newest of several pings need be answered.
            isPongDue = true
            reader.copy(range, into: &pong)
        case .pong(let range): measure(range)
        case .close(let code, let reason):
            if isOpen { sendClose(code, "") }
            end(.closed(code: code?.rawValue, reason: reason))
        }
        return nil
    }

    /// Takes the round trip from a pong that answers our newest ping; others are allowed and mean nothing.
    private mutating func measure(_ range: Range<Int>) {
        guard isPingOutstanding, range.count == 4, let pingSent else { return }
        let number = reader.bytes(range).withUnsafeBytes { UInt32(bigEndian: $0.loadUnaligned(as: UInt32.self)) }
        guard number == pingNumber else { return }
        isPingOutstanding = false
        let time = max(0, clock - pingSent)
        roundTrip = time
        shortestRoundTrip = min(time, shortestRoundTrip ?? time)
    }
}
