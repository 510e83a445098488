package import ICELite

/// RTCP's time: seconds in 32.32 fixed point. RFC 3550 §4.
///
/// It counts from the monotonic clock's epoch, not from 1900: RFC 3550 allows a sender without wall clock to use its
/// uptime, and round trips need differences only.
package enum NTPTime {
    /// The 64-bit time of `now`.
    package static func full(_ now: Instant) -> UInt64 {
        let nanoseconds = UInt64(max(0, now.nanoseconds))
        let fraction = (nanoseconds % 1_000_000_000) << 32 / 1_000_000_000
        return (nanoseconds / 1_000_000_000 &+ 1) << 32 | fraction
    }

    /// The middle 32 bits of `full`: what LSR repeats, in 65,536ths of a second.
    package static func compact(_ now: Instant) -> UInt32 { UInt32(truncatingIfNeeded: full(now) >> 16) }

    /// `length` in 65,536ths of a second, clamped to 32 bits.
    package static func compactDuration(_ length: Nanoseconds) -> UInt32 {
        let (seconds, rest) = max(0, length).quotientAndRemainder(dividingBy: 1_000_000_000)
        guard seconds < 65_536 else { return .max }
        return UInt32(seconds << 16 | (rest << 16) / 1_000_000_000)
    }

    /// `compact`, in 65,536ths of a second, in nanoseconds.
    package static func nanoseconds(compact: UInt32) -> Nanoseconds { (Int64(compact) * 1_000_000_000) >> 16 }
}
