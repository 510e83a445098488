package import ICELite

/// One direction of a byte stream over a `LinkModel`: everything arrives, in order, and what a datagram link would lose
/// comes later instead.
///
/// A lost segment is heard of one round trip and one frame later (fast retransmit); if the retransmission is lost, too,
/// it waits for the timer, again and again. A segment sent in a black hole is repeated with the timer doubling until it
/// gets out. Duplicates and reordering are no business of a stream.
package struct StreamState: Sendable {
    /// TCP's retransmission timer at its shortest, as Linux has it.
    package static let retransmissionTimeout: Nanoseconds = .milliseconds(200)
    /// What passes before the segments behind a lost one give it away: a frame of audio.
    package static let fastRetransmitDelay: Nanoseconds = .milliseconds(20)
    /// Retransmissions of one segment before the connection counts as dead, as Linux's `tcp_retries2`.
    package static let maximumRetransmissions = 15
    /// RFC 6298 §2.5 lets the timer be limited; Linux's limit.
    package static let maximumTimeout: Nanoseconds = .seconds(120)

    /// What the link does.
    package var model: LinkModel { didSet { setLengths() } }
    /// Segments sent before this instant do not get out: see `LinkState.blockedUntil`.
    package var blockedUntil: Instant = Instant(nanoseconds: .min)
    /// Nothing arrives before this instant.
    package var heldUntil: Instant = Instant(nanoseconds: .min)
    /// Delays and losses by the time of sending, beside the model's.
    package var trace: LinkTrace?
    /// What it has done: `lost` counts retransmissions, `delivered` segments.
    package private(set) var counters = LinkCounters()

    /// The model's lengths, which every segment asks for.
    private(set) var delay: Nanoseconds = 0
    private var jitter = LinkJitter.none

    private let start: Instant
    private var lossDraws: Randomness
    private var jitterDraws: Randomness
    private var queueFree = Instant(nanoseconds: .min)
    /// When all that was sent so far has arrived.
    package private(set) var lastArrival = Instant(nanoseconds: .min)
    /// The connection counts as dead: nothing arrives any more.
    package private(set) var isDead = false

    /// A direction that begins at `start`, from where its black holes are counted.
    package init(model: LinkModel, start: Instant, randomness: Randomness) {
        var randomness = randomness
        self.model = model
        self.start = start
        lossDraws = randomness.split("stream.loss")
        jitterDraws = randomness.split("stream.jitter")
        setLengths()
    }

    private mutating func setLengths() {
        delay = model.delay.boundedNanoseconds
        jitter = LinkJitter(model.jitter)
    }

    /// How long bytes given now wait until the rate lets them go.
    package func backlog(now: Instant) -> Nanoseconds { max(0, queueFree - now) }

    /// Sends a segment at `now`; `roundTrip` is that of both directions.
    ///
    /// Returns when its last bit leaves the sender and when it arrives; nil when it never will, and nothing after it.
    package mutating func send(
        byteCount: Int, roundTrip: Nanoseconds, now: Instant
    ) -> (departure: Instant, arrival: Instant)? {
        counters.sent += 1
        counters.sentBytes &+= UInt64(max(0, byteCount))
        guard !isDead, model.reachability == .open else {
            counters.blackHoled += 1
            return nil
        }
        var departure = max(now, queueFree)
        if let rate = model.bitsPerSecond, rate > 0 {
            departure = departure + transmissionTime(byteCount: byteCount, bitsPerSecond: rate)
        }
        queueFree = departure

        var sentAt = departure
        var timeout = Self.retransmissionTimeout &+ roundTrip
        var attempts = 0
        while true {
            let swallowed = isBlackHoled(at: sentAt)
            guard swallowed || drawLoss() else { break }
            attempts += 1
            counters.lost += 1
            guard attempts <= Self.maximumRetransmissions else {
                isDead = true
                counters.blackHoled += 1
                return nil
            }
            if !swallowed, attempts == 1 {
                sentAt = sentAt + (roundTrip &+ Self.fastRetransmitDelay)
            } else {
                sentAt = sentAt + timeout
                timeout = min(timeout &* 2, Self.maximumTimeout)
            }
        }
        counters.delivered += 1
        var delay = jitterDraws.jittered(delay, by: jitter)
        // What a trace loses is heard of by those behind it.
        if let trace { delay += trace.delay(at: now - start) ?? (roundTrip &+ Self.fastRetransmitDelay) }
        // A nanosecond apart: events of one instant come in an order that the seed draws.
        let arrival = max(sentAt + delay, max(lastArrival + 1, heldUntil))
        lastArrival = arrival
        return (departure, arrival)
    }

    private func isBlackHoled(at now: Instant) -> Bool {
        if now < blockedUntil { return true }
        let age = now - start
        for hole in model.blackHoles {
            let begin = hole.start.boundedNanoseconds
            if age >= begin, age - begin < hole.length.boundedNanoseconds { return true }
        }
        return false
    }

    /// A stream's loss is independent: `gilbert` counts by its percentage.
    private mutating func drawLoss() -> Bool {
        switch model.loss {
        case .none: false
        case .independent(let percent), .gilbert(let percent, _): percent > 0 && lossDraws.chance(percent: percent)
        }
    }
}
