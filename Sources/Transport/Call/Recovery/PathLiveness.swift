package import ICELite

/// Learns a path's own rhythm and says after how much silence the path is to be suspected.
///
/// The threshold is max(300 ms, 3.5 × the longest silence the peer leaves, the 95th percentile of the gaps of the last 30 s
/// + 4 × their jitter), at most 1 s; twice that, still at most 1 s, for 30 s after a false alarm. A value of fixed size:
/// a packet costs no allocation.
package struct PathLiveness: Sendable {
    /// The shortest threshold.
    package static let shortestThreshold = Nanoseconds.milliseconds(300)
    /// The longest one, of a peer that keeps no silence longer than `liveness_ms`.
    package static let longestThreshold = Nanoseconds.seconds(1)
    /// The threshold for a peer that has not said how long it is silent.
    package static let unknownPeerThreshold = Nanoseconds.milliseconds(2_500)
    /// How long a false alarm doubles the threshold.
    package static let doubledFor = Nanoseconds.seconds(30)
    /// The longest interval of the peer's that is believed.
    package static let longestPeerInterval = Nanoseconds.seconds(1)

    /// Width of a bin of the gaps.
    static let binWidth = Nanoseconds.milliseconds(10)
    static let binCount = 64
    /// Fewer gaps than this tell no percentile.
    static let enoughGaps = 50
    /// The 30 s in slices, the oldest of which is forgotten.
    static let sliceCount = 6
    static let sliceLength = Nanoseconds.seconds(5)

    /// The longest silence the peer leaves, as it has said; nil where it has not.
    let peerInterval: Nanoseconds?
    var bins: [UInt16]
    var totals: [UInt32]
    var total: UInt32 = 0
    var slice = 0
    var sliceEndsAt: Instant
    var jitter: Nanoseconds = 0
    var lastGap: Nanoseconds?
    var percentile: Nanoseconds = 0
    var doubledUntil = Instant.zero

    /// When something authenticated came last.
    package internal(set) var lastHeardAt: Instant

    /// - Parameters:
    ///   - peerInterval: the peer's `liveness_ms`; nil when it named none.
    ///   - now: counts as heard.
    package init(peerInterval: Nanoseconds?, now: Instant) {
        self.peerInterval = peerInterval.map { min(max(0, $0), Self.longestPeerInterval) }
        bins = [UInt16](repeating: 0, count: Self.binCount * Self.sliceCount)
        totals = [UInt32](repeating: 0, count: Self.binCount)
        sliceEndsAt = now + Self.sliceLength
        lastHeardAt = now
    }

    /// The peer has said how long it is silent at most.
    package var knowsPeer: Bool { peerInterval != nil }

    /// Something authenticated came on the path.
    ///
    /// - Returns: whether it ended a silence that was long enough for a suspicion.
    @discardableResult
    package mutating func heard(now: Instant) -> Bool {
        let gap = max(0, now - lastHeardAt)
        let isOutage = now >= suspectAt
        lastHeardAt = max(lastHeardAt, now)
        if now >= sliceEndsAt { rotate(now: now) }
        let bin = Int(min(gap / Self.binWidth, Nanoseconds(Self.binCount - 1)))
        let place = slice * Self.binCount + bin
        if bins[place] < .max {
            bins[place] += 1
            totals[bin] += 1
            total += 1
        }
        // An outage is not the path's rhythm.
        if let lastGap, !isOutage { jitter += (abs(gap - lastGap) - jitter) / 16 }
        lastGap = isOutage ? nil : gap
        // It moves slowly: once a second is enough.
        if total % 50 == 1 { updatePercentile() }
        return isOutage
    }

    /// The time since the last packet says nothing of the path: this process did not run, or nothing was to be heard.
    package mutating func forgive(now: Instant) {
        lastHeardAt = max(lastHeardAt, now)
        lastGap = nil
    }

    /// A suspicion was for nothing.
    package mutating func noteFalseAlarm(now: Instant) { doubledUntil = now + Self.doubledFor }

    /// Silence after which the path is suspected.
    package func threshold(now: Instant) -> Nanoseconds {
        #if MUTANTS
        if Mutant.current == .suspicionByConsent { return .seconds(30) }
        #endif
        guard let peerInterval else { return Self.unknownPeerThreshold }
        let base = max(Self.shortestThreshold, peerInterval * 7 / 2, percentile + 4 * jitter)
        return min(now < doubledUntil ? 2 * base : base, Self.longestThreshold)
    }

    /// When the silence that lasts becomes a suspicion.
    package var suspectAt: Instant { lastHeardAt + threshold(now: lastHeardAt) }

    private mutating func rotate(now: Instant) {
        // Slices in which nothing came are over, too.
        let passed = min((now - sliceEndsAt) / Self.sliceLength + 1, Nanoseconds(Self.sliceCount))
        for _ in 0..<passed {
            slice = (slice + 1) % Self.sliceCount
            for bin in 0..<Self.binCount {
                let count = UInt32(bins[slice * Self.binCount + bin])
                totals[bin] -= count
                total -= count
                bins[slice * Self.binCount + bin] = 0
            }
        }
        sliceEndsAt = now + Self.sliceLength
        updatePercentile()
    }

    private mutating func updatePercentile() {
        guard total >= Self.enoughGaps else {
            percentile = 0
            return
        }
        let wanted = UInt64(total) * 95 / 100
        var seen: UInt64 = 0
        for bin in 0..<Self.binCount {
            seen += UInt64(totals[bin])
            if seen > wanted || bin == Self.binCount - 1 {
                percentile = Nanoseconds(bin + 1) * Self.binWidth
                return
            }
        }
    }
}
