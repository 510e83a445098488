/// A length of time in nanoseconds. The machines calculate in it; the API of a call speaks `Duration`.
public typealias Nanoseconds = Int64

extension Nanoseconds {
    /// `count` microseconds, in nanoseconds.
    @inlinable package static func microseconds(_ count: Int64) -> Nanoseconds { count &* 1_000 }
    /// `count` milliseconds, in nanoseconds.
    @inlinable package static func milliseconds(_ count: Int64) -> Nanoseconds { count &* 1_000_000 }
    /// `count` seconds, in nanoseconds.
    @inlinable package static func seconds(_ count: Int64) -> Nanoseconds { count &* 1_000_000_000 }

    /// This length in milliseconds, with its fraction. For reports, never for arithmetic.
    @inlinable package var inMilliseconds: Double { Double(self) / 1_000_000 }
}

extension Duration {
    /// This duration in nanoseconds, clamped to what 64 bits hold (about ±292 years).
    package var nanoseconds: Nanoseconds {
        let (seconds, attoseconds) = components
        let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        if overflow { return seconds < 0 ? .min : .max }
        let (sum, overflowed) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflowed ? (seconds < 0 ? .min : .max) : sum
    }

    /// A duration of `count` nanoseconds.
    package init(nanoseconds count: Nanoseconds) { self = .nanoseconds(count) }
}

/// A point on the monotonic clock, in nanoseconds since an epoch that only its source knows.
///
/// No machine reads a clock: the runtime reads it once for each wake-up and hands it down, a simulation makes it up.
public struct Instant: Comparable, Hashable, Sendable {
    /// Nanoseconds since the clock's epoch.
    public var nanoseconds: Int64

    /// Later than every instant that comes: the deadline of a machine that waits for nothing.
    @inlinable public static var never: Instant { Instant(nanoseconds: .max) }
    /// The clock's epoch, where virtual clocks begin.
    @inlinable public static var zero: Instant { Instant(nanoseconds: 0) }

    /// The point `nanoseconds` after the epoch.
    @inlinable public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// The point `length` after the epoch, for clocks that tell a `Duration`. Clamped to what 64 bits hold.
    public init(sinceEpoch length: Duration) { self.init(nanoseconds: length.nanoseconds) }

    @inlinable public static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

    /// The instant `length` later. Saturates: `never` plus anything is `never`.
    @inlinable public static func + (instant: Instant, length: Nanoseconds) -> Instant {
        let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(length)
        return Instant(nanoseconds: overflow || instant == .never ? .max : sum)
    }

    /// The instant `length` earlier. Saturates as `+` does.
    @inlinable public static func - (instant: Instant, length: Nanoseconds) -> Instant {
        let (difference, overflow) = instant.nanoseconds.subtractingReportingOverflow(length)
        return Instant(nanoseconds: instant == .never ? .max : (overflow ? (length < 0 ? .max : .min) : difference))
    }

    /// The time from `earlier` to `later`, negative if they are the other way round. Saturates.
    @inlinable public static func - (later: Instant, earlier: Instant) -> Nanoseconds {
        let (difference, overflow) = later.nanoseconds.subtractingReportingOverflow(earlier.nanoseconds)
        return overflow ? (later.nanoseconds < 0 ? .min : .max) : difference
    }
}
