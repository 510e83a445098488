package import ICELite

/// Writes WebSocket frames, control ahead of audio, audio in a ring of its own (RFC 6455 §5.2).
///
/// Frames that were begun go out whole; between frames what is in the control queue goes first. Audio that does not get out
/// in time makes room for newer audio: the oldest is dropped and counted.
package struct WebSocketWriter: ~Copyable {
    /// Audio packets that wait at most: 100 ms of 20 ms packets.
    package static let audioLimit = 5

    private let masks: Bool
    private var randomness: Randomness
    private var control = ByteQueue()
    /// The frames of the ring one behind the other, and their lengths.
    private var audio = ByteQueue(capacity: 8_192)
    private var audioSizes: [Int] = []
    /// The payload of the pong that waits: the newest ping's alone (RFC 6455 §5.5.3).
    private var pong = ByteQueue(capacity: 128)
    private var hasPong = false
    /// What is being written: whole frames only.
    private var current = ByteQueue(capacity: 4_096)

    /// Audio packets that were dropped because newer ones came.
    package private(set) var droppedAudio = 0

    /// - Parameter isClient: a client masks its frames with a fresh key each (RFC 6455 §5.3).
    package init(isClient: Bool, randomness: Randomness) {
        masks = isClient
        self.randomness = randomness
        audioSizes.reserveCapacity(Self.audioLimit + 1)
    }

    /// Bytes that wait, audio included.
    package var queuedByteCount: Int { control.count + audio.count + current.count + (hasPong ? 6 + pong.count : 0) }

    /// Appends bytes as they are: the HTTP part of the line.
    package mutating func appendRaw(_ bytes: [UInt8]) { control.append(bytes) }

    /// Queues a whole message or a control frame.
    package mutating func append(_ opcode: WebSocketOpcode, _ payload: borrowing RawSpan) {
        // Nothing follows a close frame (RFC 6455 §5.5.1).
        if opcode == .close { hasPong = false }
        _ = Self.frame(opcode, payload, key: nextKey(), into: &control)
    }

    /// Answers a ping; the answer to an earlier one that still waits is not sent, so that a flood fills no queue.
    package mutating func answer(ping payload: borrowing RawSpan) {
        pong.removeAll()
        pong.append(payload)
        hasPong = true
    }

    /// Queues an audio packet; the oldest goes when the ring is full. One that the peer would close the line for is dropped.
    package mutating func appendAudio(_ payload: borrowing RawSpan) {
        guard payload.byteCount <= WebSocketReader.binaryLimit else {
            droppedAudio += 1
            return
        }
        if audioSizes.count == Self.audioLimit {
            audio.consume(audioSizes.removeFirst())
            droppedAudio += 1
        }
        audioSizes.append(Self.frame(.binary, payload, key: nextKey(), into: &audio))
    }

    /// Throws away the audio that waits.
    package mutating func discardAudio() {
        audio.removeAll()
        audioSizes.removeAll(keepingCapacity: true)
    }

    /// Moves as many bytes as fit into `out`; returns how many, 0 when nothing waits.
    package mutating func drain(into out: inout OutputRawSpan) -> Int {
        var moved = 0
        while out.freeCapacity > 0 {
            if current.isEmpty, !refill() { break }
            moved += current.drain(into: &out)
        }
        return moved
    }

    // MARK: - Private

    private mutating func nextKey() -> UInt32? { masks ? UInt32(truncatingIfNeeded: randomness.next()) : nil }

    private mutating func refill() -> Bool {
        if !control.isEmpty {
            swap(&current, &control)
            return true
        }
        if hasPong {
            hasPong = false
            let key = nextKey()
            Self.pong(pong, key: key, into: &current)
            return true
        }
        guard !audioSizes.isEmpty else { return false }
        let size = audioSizes.removeFirst()
        Self.copy(size, from: audio, to: &current)
        audio.consume(size)
        return true
    }

    private static func pong(_ payload: borrowing ByteQueue, key: UInt32?, into target: inout ByteQueue) {
        _ = frame(.pong, payload.bytes, key: key, into: &target)
    }

    private static func copy(_ count: Int, from source: borrowing ByteQueue, to target: inout ByteQueue) {
        target.append(source.bytes(in: 0..<count))
    }

    /// Appends a frame and returns its length.
    private static func frame(
        _ opcode: WebSocketOpcode, _ payload: borrowing RawSpan, key: UInt32?, into queue: inout ByteQueue
    ) -> Int {
        let before = queue.count
        WebSocketFrameHeader(opcode: opcode, mask: key, payloadByteCount: payload.byteCount).encode(into: &queue)
        let start = queue.count
        queue.append(payload)
        if let key { queue.mask(start..<queue.count, key: key) }
        return queue.count - before
    }
}
