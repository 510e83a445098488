internal import ICELite
internal import TransportRuntime

/// DTLS datagrams that came to an endpoint before the check that shows whose their tuple is: where the first check is lost,
/// or overtaken, the handshake need not wait for its next repeat.
///
/// Anybody can write those: a tuple's first one starts its second, and what goes beyond the bounds is dropped.
struct EarlyFlights {
    /// How long a tuple's datagrams are kept, from its first.
    static let kept = Nanoseconds.seconds(1)
    /// Datagrams of one tuple at most.
    static let tupleLimit = 4
    /// Bytes of all tuples at most, with `overhead` for each datagram.
    static let byteLimit = 256 << 10
    /// What keeping a datagram costs beside its bytes.
    static let overhead = 128

    private var tuples: [NetworkPath: [[UInt8]]] = [:]
    /// The tuples in the order of their first datagrams.
    private var order: [(path: NetworkPath, at: Instant)] = []
    /// What is kept now, bytes.
    private(set) var byteCount = 0
    /// Datagrams beyond the bounds, and those whose second ran out.
    private(set) var dropped = 0
    /// Datagrams that a check has shown to be a call's.
    private(set) var claimed = 0

    /// Keeps a copy of a DTLS datagram; false, counted, when there is no room.
    @discardableResult
    mutating func park(_ datagram: borrowing RawSpan, from path: NetworkPath, now: Instant) -> Bool {
        expire(now: now)
        let cost = datagram.byteCount + Self.overhead
        let known = tuples[path]?.count ?? 0
        guard known < Self.tupleLimit, byteCount + cost <= Self.byteLimit else {
            dropped += 1
            return false
        }
        if known == 0 { order.append((path, now)) }
        tuples[path, default: []].append(datagram.withUnsafeBytes { Array($0) })
        byteCount += cost
        return true
    }

    /// Takes out what has come on `path`, oldest first; empty when there is nothing, or its second is over.
    mutating func claim(_ path: NetworkPath, now: Instant) -> [[UInt8]] {
        expire(now: now)
        guard let datagrams = release(path) else { return [] }
        order.removeAll { $0.path == path }
        claimed += datagrams.count
        return datagrams
    }

    private mutating func expire(now: Instant) {
        let over = order.prefix { now - $0.at >= Self.kept }
        for old in over { dropped += release(old.path)?.count ?? 0 }
        order.removeFirst(over.count)
    }

    private mutating func release(_ path: NetworkPath) -> [[UInt8]]? {
        let datagrams = tuples.removeValue(forKey: path)
        for datagram in datagrams ?? [] { byteCount -= datagram.count + Self.overhead }
        return datagrams
    }
}
