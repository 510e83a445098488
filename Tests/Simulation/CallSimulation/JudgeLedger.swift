import ICELite
import TransportMedia

/// What became of every audio frame of a call, by its number; kept and emptied between calls.
struct JudgeLedger {
    struct Frame {
        var capturedAt: Instant
        /// When its first copy came on each carriage; `.never` before.
        var onPathAt = Instant.never
        var onLineAt = Instant.never
        /// A carriage was good as it was captured, and both ends were active.
        var couldBeHeard = false
        var isHeard = false
    }

    private(set) var client: [Frame] = []
    private(set) var server: [Frame] = []

    mutating func begin() {
        client.removeAll(keepingCapacity: true)
        server.removeAll(keepingCapacity: true)
    }

    /// Frames that `end` has captured.
    func count(of end: CallEnd) -> UInt32 { UInt32(truncatingIfNeeded: end == .client ? client.count : server.count) }

    /// The frame `id` of `end`; nil for one that it never captured.
    func frame(_ id: UInt32, of end: CallEnd) -> Frame? {
        guard id >= 1, id <= count(of: end) else { return nil }
        return end == .client ? client[Int(id) - 1] : server[Int(id) - 1]
    }

    /// Adds the frame `id`; false when it is not the next number.
    mutating func capture(_ id: UInt32, of end: CallEnd, at now: Instant, couldBeHeard: Bool) -> Bool {
        guard id == count(of: end) + 1 else { return false }
        let frame = Frame(capturedAt: now, couldBeHeard: couldBeHeard)
        if end == .client { client.append(frame) } else { server.append(frame) }
        return true
    }

    /// A copy of `id`, a frame of `end`'s, has come on a carriage.
    mutating func arrive(_ id: UInt32, of end: CallEnd, on carriage: AudioCarriage, at now: Instant) {
        guard id >= 1, id <= count(of: end) else { return }
        let index = Int(id) - 1
        switch (end, carriage) {
        case (.client, .path): client[index].onPathAt = min(client[index].onPathAt, now)
        case (.client, .line): client[index].onLineAt = min(client[index].onLineAt, now)
        case (.server, .path): server[index].onPathAt = min(server[index].onPathAt, now)
        case (.server, .line): server[index].onLineAt = min(server[index].onLineAt, now)
        }
    }

    mutating func hear(_ id: UInt32, of end: CallEnd) {
        guard id >= 1, id <= count(of: end) else { return }
        if end == .client { client[Int(id) - 1].isHeard = true } else { server[Int(id) - 1].isHeard = true }
    }

    /// Frames that could have been heard and those that were, of all captured at `last` or before.
    func oracle(until last: Instant) -> (could: Int, heard: Int) {
        var could = 0
        var heard = 0
        for frame in client where frame.couldBeHeard && frame.capturedAt <= last {
            could += 1
            if frame.isHeard { heard += 1 }
        }
        for frame in server where frame.couldBeHeard && frame.capturedAt <= last {
            could += 1
            if frame.isHeard { heard += 1 }
        }
        return (could, heard)
    }
}
