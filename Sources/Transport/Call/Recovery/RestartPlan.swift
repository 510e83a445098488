package import ICELite

/// When the next ICE restart may begin: many reasons for one become one, and failures do not become a storm.
///
/// A wish while one is outstanding is remembered once. After a restart the next one waits 1 s, then 2 and 4 s, each ± 20 %;
/// beyond `attemptLimit` none begins any more until 30 s have passed without one.
package struct RestartPlan: Sendable {
    /// Restarts in a row.
    package static let attemptLimit = 4
    /// The wait after the first of them; it doubles.
    package static let backOff = Nanoseconds.seconds(1)
    /// Without a restart for this long all is forgotten.
    package static let stableAfter = Nanoseconds.seconds(30)

    private var attempts = 0
    private var lastAt: Instant?
    private var isOutstanding = false
    private var isWanted = false
    private var notBefore = Instant.zero

    /// Wishes that were one with another.
    package private(set) var coalesced = 0
    /// Wishes beyond `attemptLimit`.
    package private(set) var refused = 0

    package init() {}

    /// None is wanted or outstanding, and another may be wanted.
    package var isIdle: Bool { !isWanted && !isOutstanding && attempts < Self.attemptLimit }

    /// A restart is wanted.
    package mutating func want(now: Instant) {
        if let lastAt, !isOutstanding, now - lastAt >= Self.stableAfter {
            attempts = 0
            notBefore = .zero
        }
        guard attempts < Self.attemptLimit else { return refused += 1 }
        if isWanted { coalesced += 1 }
        isWanted = true
    }

    /// When the wish is to be granted; `.never` without one, and while a restart is outstanding.
    package var nextDeadline: Instant { isWanted && !isOutstanding ? notBefore : .never }

    /// The restart has begun.
    package mutating func began(now: Instant, randomness: inout Randomness) {
        isWanted = false
        isOutstanding = true
        lastAt = now
        let wait = Self.backOff << Nanoseconds(attempts)
        attempts += 1
        notBefore = now + wait + Nanoseconds.random(in: -wait / 5...wait / 5, using: &randomness)
    }

    /// It has found its pair, or was given up.
    package mutating func ended(now: Instant) {
        isOutstanding = false
        lastAt = now
    }

    /// The path is well: nobody wants one any more.
    package mutating func drop() { isWanted = false }
}
