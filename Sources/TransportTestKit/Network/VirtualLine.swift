internal import ICELite

/// A byte stream between two hosts: its two directions and what each end has sent that is not acknowledged.
struct VirtualLine {
    enum Phase: Hashable {
        case opening
        case open
        case closed
    }

    /// What one end sends.
    struct Direction {
        var state: StreamState
        /// Bytes that were accepted and are not acknowledged.
        var unacknowledged = 0
        /// When the bytes that wait for the rate have left, and how many, oldest first.
        var leaving: [(departure: Instant, byteCount: Int)] = []
        /// Bytes were refused, and the sender waits to be told of room.
        var wantsRoom = false
        /// The sender has ended its direction.
        var isEnded = false
    }

    let id: LineID
    /// Who opened it (0) and whom it was opened to (1).
    let ends: (HostID, HostID)
    var phase = Phase.opening
    var isSilent = false
    /// What the opener sends, and what the other end sends.
    var directions: (Direction, Direction)
    let sendBuffer: Int
    /// Bytes not yet sent at which no more are accepted: `TCP_NOTSENT_LOWAT`.
    let unsentLimit: Int

    // Inlined: a line that is asked is copied.

    @inline(__always) var roundTrip: Nanoseconds { directions.0.state.delay &+ directions.1.state.delay }

    @inline(__always) func side(of host: HostID) -> Int? { host == ends.0 ? 0 : host == ends.1 ? 1 : nil }

    @inline(__always) func peer(of side: Int) -> HostID { side == 0 ? ends.1 : ends.0 }

    subscript(side: Int) -> Direction {
        @inline(__always) get { side == 0 ? directions.0 : directions.1 }
        _modify { if side == 0 { yield &directions.0 } else { yield &directions.1 } }
    }
}

/// What a host's kernel would say of a stream's send side (`SIOCOUTQNSD`, `SIOCOUTQ`), in bytes.
package struct LineBacklog: Hashable, Sendable {
    /// Accepted and not yet on the wire.
    package var unsent: Int
    /// Accepted and not yet acknowledged; includes what is unsent.
    package var unacknowledged: Int

    /// A backlog of `unacknowledged` bytes of which `unsent` have not left.
    package init(unsent: Int, unacknowledged: Int) {
        self.unsent = unsent
        self.unacknowledged = unacknowledged
    }
}
