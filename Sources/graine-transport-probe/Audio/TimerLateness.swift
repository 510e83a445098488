/// How late this machine let the probe's own timers come: what tells a busy machine from a bad network.
struct TimerLateness: Equatable, Sendable {
    /// From here on a tick counts as late: a whole audio frame, milliseconds.
    static let lateMilliseconds = 20.0
    /// One tick this late is heard, whatever the network does: it is more than a jitter buffer holds, milliseconds.
    static let busyMilliseconds = 100.0
    /// So is this share of late ticks.
    static let busyShare = 0.05
    /// Below this many ticks a share says nothing.
    static let leastTicks = 20

    /// The latest tick, milliseconds.
    private(set) var worst = 0.0
    private(set) var tickCount = 0
    private(set) var lateCount = 0

    /// A tick came `late` after its time.
    mutating func note(_ late: Duration) {
        let milliseconds = max(0, late.milliseconds)
        worst = max(worst, milliseconds)
        tickCount += 1
        if milliseconds >= Self.lateMilliseconds { lateCount += 1 }
    }

    /// Share of late ticks, 0 to 1; nil without any tick.
    var lateShare: Double? { tickCount > 0 ? Double(lateCount) / Double(tickCount) : nil }

    /// Whether what a call measured meanwhile says more about this machine than about the network. Where no network is in
    /// between, one late tick suffices: nothing else is late there.
    func isBusy(withoutNetwork: Bool) -> Bool {
        if withoutNetwork { return lateCount > 0 }
        return worst >= Self.busyMilliseconds || tickCount >= Self.leastTicks && (lateShare ?? 0) >= Self.busyShare
    }
}
