package import ICELite

/// Why a link dropped a packet.
public enum LinkDrop: Hashable, Sendable {
    /// Lost on the wire.
    case loss
    /// It would have waited for the rate longer than the queue allows.
    case queueFull
    /// Sent in a black hole.
    case blackHole
    /// The other end cannot be reached (`LinkModel.Reachability.drop`).
    case unreachable
}

/// What became of a packet that was given to a link.
package enum LinkOutcome: Hashable, Sendable {
    /// It arrives then.
    case delivered(Instant)
    /// It arrives twice.
    case duplicated(Instant, Instant)
    /// It does not arrive.
    case dropped(LinkDrop)
    /// It does not arrive, and the sender is told.
    case rejected
}

/// What a link has done so far, in packets unless the name says otherwise.
public struct LinkCounters: Hashable, Sendable {
    /// Packets given to the link.
    public internal(set) var sent: UInt64 = 0
    /// Bytes given to the link.
    public internal(set) var sentBytes: UInt64 = 0
    /// Packets that arrive, copies not counted.
    public internal(set) var delivered: UInt64 = 0
    /// Second copies.
    public internal(set) var duplicated: UInt64 = 0
    /// Packets that were held back so that others overtake them.
    public internal(set) var reordered: UInt64 = 0
    /// Lost on the wire.
    public internal(set) var lost: UInt64 = 0
    /// Dropped at the queue's limit.
    public internal(set) var queueDropped: UInt64 = 0
    /// Swallowed by a black hole or by `Reachability.drop`.
    public internal(set) var blackHoled: UInt64 = 0
    /// Rejected.
    public internal(set) var rejected: UInt64 = 0

    /// Counters at 0.
    public init() {}

    /// Packets that did not arrive, for whatever reason.
    public var missing: UInt64 { lost + queueDropped + blackHoled + rejected }

    /// Adds another link's.
    static func += (sum: inout LinkCounters, other: LinkCounters) {
        sum.sent += other.sent
        sum.sentBytes &+= other.sentBytes
        sum.delivered += other.delivered
        sum.duplicated += other.duplicated
        sum.reordered += other.reordered
        sum.lost += other.lost
        sum.queueDropped += other.queueDropped
        sum.blackHoled += other.blackHoled
        sum.rejected += other.rejected
    }
}

/// One direction of a datagram link: a `LinkModel` with the state and the random streams that it needs.
///
/// Every feature draws from a stream of its own, split from the seed by name: switching one on changes nothing about
/// the others. Does not allocate.
package struct LinkState: Sendable {
    /// What the link does. May be changed at any time; the queue and the streams go on.
    package var model: LinkModel { didSet { setLengths() } }
    /// What it has done.
    package private(set) var counters = LinkCounters()
    /// Packets sent before this instant vanish: an outage that somebody causes, beside the model's own black holes.
    package var blockedUntil: Instant = Instant(nanoseconds: .min)
    /// Nothing arrives before this instant; what would have comes then, at once.
    package var heldUntil: Instant = Instant(nanoseconds: .min)
    /// Share of packets (0…100) that arrive with a byte changed.
    package var corruptPercent: Double = 0
    /// Delays and losses by the time of sending, beside the model's.
    package var trace: LinkTrace?

    // The model's lengths, which every packet asks for.
    private var delay: Nanoseconds = 0
    private var jitter = LinkJitter.none
    private var queueLimit: Nanoseconds = 0
    private var reorderHold: Nanoseconds = 0

    private let start: Instant
    private var lossDraws: Randomness
    private var jitterDraws: Randomness
    private var orderDraws: Randomness
    private var copyDraws: Randomness
    private var corruptionDraws: Randomness
    private var isBursting = false
    private var queueFree = Instant(nanoseconds: .min)
    private var lastArrival = Instant(nanoseconds: .min)

    /// A link that begins at `start`, from where its black holes are counted.
    package init(model: LinkModel, start: Instant, randomness: Randomness) {
        var randomness = randomness
        self.model = model
        self.start = start
        lossDraws = randomness.split("link.loss")
        jitterDraws = randomness.split("link.jitter")
        orderDraws = randomness.split("link.order")
        copyDraws = randomness.split("link.copies")
        corruptionDraws = randomness.split("link.corruption")
        setLengths()
    }

    private mutating func setLengths() {
        delay = model.delay.boundedNanoseconds
        jitter = LinkJitter(model.jitter)
        queueLimit = model.queueLimit.boundedNanoseconds
        reorderHold = model.reorderHold.boundedNanoseconds
    }

    /// Whether a packet sent at `now` falls into a black hole.
    package func isBlackHoled(at now: Instant) -> Bool {
        if now < blockedUntil { return true }
        let age = now - start
        for hole in model.blackHoles {
            let begin = hole.start.boundedNanoseconds
            if age >= begin, age - begin < hole.length.boundedNanoseconds { return true }
        }
        return false
    }

    /// Sends a packet of `byteCount` bytes at `now`. Calls come in the order of `now`.
    package mutating func send(byteCount: Int, now: Instant) -> LinkOutcome {
        counters.sent += 1
        counters.sentBytes &+= UInt64(max(0, byteCount))
        switch model.reachability {
        case .open: break
        case .drop:
            counters.blackHoled += 1
            return .dropped(.unreachable)
        case .reject:
            counters.rejected += 1
            return .rejected
        }
        if isBlackHoled(at: now) {
            counters.blackHoled += 1
            return .dropped(.blackHole)
        }
        guard let departure = enqueue(byteCount: byteCount, now: now) else {
            counters.queueDropped += 1
            return .dropped(.queueFull)
        }
        var extra: Nanoseconds? = 0
        if let trace { extra = trace.delay(at: now - start) }
        guard let extra, !drawLoss() else {
            counters.lost += 1
            return .dropped(.loss)
        }
        counters.delivered += 1
        let first = arrival(from: departure + extra)
        guard model.duplicatePercent > 0, copyDraws.chance(percent: model.duplicatePercent) else {
            return .delivered(first)
        }
        counters.duplicated += 1
        return .duplicated(first, arrival(from: departure))
    }

    /// Changes a byte of `datagram` if it is its turn. RFC 768's checksum is not there: what it would catch arrives.
    package mutating func corrupt(_ datagram: inout [UInt8]) -> Bool {
        guard corruptPercent > 0, !datagram.isEmpty, corruptionDraws.chance(percent: corruptPercent) else {
            return false
        }
        let draw = corruptionDraws.next()
        datagram[Int(draw >> 32) % datagram.count] ^= UInt8(truncatingIfNeeded: draw) | 1
        return true
    }

    /// When the last bit has left the queue; nil when the queue is full.
    private mutating func enqueue(byteCount: Int, now: Instant) -> Instant? {
        guard let rate = model.bitsPerSecond, rate > 0 else { return now }
        let begin = max(now, queueFree)
        if begin - now > queueLimit { return nil }
        queueFree = begin + transmissionTime(byteCount: byteCount, bitsPerSecond: rate)
        return queueFree
    }

    private mutating func drawLoss() -> Bool {
        switch model.loss {
        case .none: return false
        case .independent(let percent): return percent > 0 && lossDraws.chance(percent: percent)
        case .gilbert(let percent, let meanBurst):
            guard percent > 0 else { return false }
            // Stationary loss = enter / (enter + leave), mean burst = 1 / leave.
            let share = min(percent, 99.99) / 100
            let leave = 1 / max(1, meanBurst)
            let enter = min(1, leave * share / (1 - share))
            isBursting = isBursting ? !lossDraws.chance(percent: 100 * leave) : lossDraws.chance(percent: 100 * enter)
            return isBursting
        }
    }

    private mutating func arrival(from departure: Instant) -> Instant {
        let delay = jitterDraws.jittered(delay, by: jitter)
        var arrival = max(departure + delay, heldUntil)
        // A nanosecond apart: events of one instant come in an order that the seed draws.
        if !model.jitterReorders { arrival = max(arrival, lastArrival + 1) }
        if model.reorderPercent > 0, orderDraws.chance(percent: model.reorderPercent) {
            counters.reordered += 1
            // Those behind it do not wait for it.
            return arrival + reorderHold
        }
        lastArrival = max(lastArrival, arrival)
        return arrival
    }
}

/// Time that `byteCount` bytes need at `bitsPerSecond`, rounded up, at most a year.
func transmissionTime(byteCount: Int, bitsPerSecond: Int) -> Nanoseconds {
    let bits = UInt64(max(0, min(byteCount, 1 << 30))) * 8
    let rate = UInt64(max(1, bitsPerSecond))
    let product = bits.multipliedFullWidth(by: 1_000_000_000)
    guard product.high < rate else { return .seconds(31_536_000) }
    let (quotient, remainder) = rate.dividingFullWidth(product)
    return Nanoseconds(min(quotient + (remainder > 0 ? 1 : 0), UInt64(Nanoseconds.seconds(31_536_000))))
}
