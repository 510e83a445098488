package import ICELite

/// Lets a time limit go on that ran out while the process did not run: stopped, asleep, held up. What the peer has said
/// meanwhile waits in the sockets and is read before anything is judged.
package struct StandstillExcuse: Sendable, Equatable {
    /// A limit whose end is noticed so much later ran out in a standstill.
    package static let standstill = Nanoseconds.seconds(1)
    /// For so long what came meanwhile is read.
    package static let readFirst = Nanoseconds.milliseconds(100)

    /// Until when nothing ends.
    package private(set) var until: Instant

    package init(until: Instant = .zero) { self.until = until }

    /// When a limit that ends at `deadline` ends.
    package func extending(_ deadline: Instant) -> Instant { max(deadline, until) }

    /// Whether what has been due since `deadline`, an `extending` one, is let go on at `now`.
    package mutating func covers(_ deadline: Instant, now: Instant) -> Bool {
        if now >= until, now - deadline > Self.standstill { until = now + Self.readFirst }
        return now < until
    }
}
