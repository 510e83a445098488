internal import Glibc
internal import ICELite

/// One TCP connection through the relay: a socket to each side and what is under way between them. Confined to the
/// relay's thread.
final class RelayConnection {
    /// What goes from one socket to the other.
    struct Half {
        var state: StreamState
        /// Bytes that were read and are not written yet, those under way included.
        var held = 0
        /// Bytes that have arrived and wait for the kernel to take them.
        var ready: [UInt8] = []
        /// How many of `ready` are written already.
        var written = 0
        /// The sender has ended; no more is read.
        var isEnded = false
        /// The end has arrived.
        var endArrived = false
        /// The end has been passed on.
        var isFinished = false
        /// No reading before this instant: the rate is behind.
        var pausedUntil = Instant(nanoseconds: .min)
        /// Bytes that were passed on.
        var forwarded: UInt64 = 0
    }

    /// What to do next about something.
    enum Step {
        /// A segment or the end arrives at the other side then.
        case arrives(Instant, [UInt8])
        /// The stream has ended; its end arrives then.
        case ends(Instant)
        /// Nothing more for now.
        case wait
        /// The connection is to be reset.
        case abort
    }

    /// Bytes read at once: a segment.
    static let segmentSize = 1_460

    let id: UInt64
    /// The client's socket and the target's.
    let sockets: [RelaySocket]
    /// What the client sends, and what the target sends.
    var halves: [Half]
    var isConnecting = true
    /// Nothing is read or written any more.
    var isSilent = false

    init(id: UInt64, client: RelaySocket, target: RelaySocket, up: StreamState, down: StreamState) {
        self.id = id
        sockets = [client, target]
        halves = [Half(state: up), Half(state: down)]
    }

    var roundTrip: Nanoseconds {
        halves[0].state.model.delay.boundedNanoseconds &+ halves[1].state.model.delay.boundedNanoseconds
    }

    var isFinished: Bool { halves[0].isFinished && halves[1].isFinished }

    /// Whether bytes of `side` may be read now.
    func wantsRead(_ side: Int, now: Instant) -> Bool {
        !isConnecting && !isSilent && !halves[side].isEnded && halves[side].pausedUntil <= now
            && halves[side].held < ImpairmentRelay.maximumStreamBytes
    }

    /// Whether the socket of `side` should say when it takes bytes.
    func wantsWrite(_ side: Int) -> Bool {
        guard !isSilent else { return false }
        if isConnecting { return side == 1 }
        return halves[1 - side].written < halves[1 - side].ready.count
    }

    /// Reads a segment of `side`.
    func read(_ side: Int, buffer: UnsafeMutableRawBufferPointer, now: Instant) -> Step {
        switch sockets[side].receive(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<Self.segmentSize])) {
        case .wouldBlock: return .wait
        case .failed: return .abort
        case .bytes(let count, _):
            guard let sent = halves[side].state.send(byteCount: count, roundTrip: roundTrip, now: now) else {
                isSilent = true
                return .wait
            }
            guard count > 0 else {
                halves[side].isEnded = true
                return .ends(sent.arrival)
            }
            halves[side].held += count
            let late = halves[side].state.backlog(now: now) - halves[side].state.model.queueLimit.boundedNanoseconds
            if late > 0 { halves[side].pausedUntil = now + late }
            return .arrives(sent.arrival, Array(buffer[..<count]))
        }
    }

    /// Bytes of `side`, or its end when there are none, have arrived: writes what the other socket takes. False: reset.
    func arrived(_ bytes: [UInt8], side: Int) -> Bool {
        guard !isSilent else { return true }
        if bytes.isEmpty { halves[side].endArrived = true }
        halves[side].ready += bytes
        return flush(side)
    }

    /// Writes what has arrived of `side` to the other socket. False: the connection is to be reset.
    func flush(_ side: Int) -> Bool {
        while halves[side].written < halves[side].ready.count {
            let count = sockets[1 - side].send(halves[side].ready[halves[side].written...])
            guard count >= 0 else { return count == -Int(EAGAIN) || count == -Int(EINTR) }
            halves[side].written += count
            halves[side].held -= count
            halves[side].forwarded += UInt64(count)
        }
        halves[side].ready.removeAll(keepingCapacity: true)
        halves[side].written = 0
        if halves[side].endArrived, !halves[side].isFinished {
            halves[side].isFinished = true
            sockets[1 - side].endWriting()
        }
        return true
    }

    /// Makes the closing of both sockets a reset.
    func reset() { for socket in sockets { socket.resetOnClose() } }
}
