import CLinux
package import ICELite

/// The machine's clock that never jumps: nanoseconds since boot, the time asleep included.
package enum MonotonicClock {
    /// The present instant. About 25 ns: the loop reads it once for each wake-up and hands it down.
    ///
    /// The corresponding C function is `clock_gettime`, on `CLOCK_BOOTTIME`.
    package static func now() -> Instant {
        Instant(nanoseconds: clinux_boot_nanoseconds())
    }
}
