/// The bounds of the lite agent alone.
extension ICELimits {
    /// Error responses of one agent to requests that did not authenticate, in a second and in a burst; more are dropped
    /// and counted.
    public static let errorResponsesPerSecond: Int64 = 10
    /// Grants of an unconfirmed tuple to one destination within `destinationWindow`.
    public static let grantsPerDestination = 4
    /// How long a grant counts.
    public static let destinationWindow = Nanoseconds.seconds(10)
    /// Grants that `UnconfirmedDestinations` remembers, all destinations together.
    public static let rememberedGrants = 4_096
    /// Checks that ask the peer on a tuple whether it receives there, in all.
    public static let routabilityChecks = 3
    /// Time between two of them.
    public static let routabilityCheckInterval = Nanoseconds.milliseconds(500)
    /// Bytes of an unconfirmed tuple's allowance that media leaves for those that are still to be sent.
    public static let routabilityCheckReserve = 512
    /// How long the credentials that a restart has replaced are still answered: a consent interval, so that checks under
    /// way and those of a peer that has not heard the answer yet find them.
    public static let retiredGenerationKept = Nanoseconds.seconds(5)
}

/// A bucket of error responses: `ICELimits.errorResponsesPerSecond` a second, as many at once.
struct ErrorResponseBucket {
    /// When the bucket is full again.
    private var fullAt = Instant(nanoseconds: .min)

    /// Takes one response; false when there is none left. O(1), does not allocate.
    mutating func take(now: Instant) -> Bool {
        let rate = ICELimits.errorResponsesPerSecond
        let interval = Nanoseconds.seconds(1) / rate
        let start = max(fullAt, now)
        guard start - now <= interval * (rate - 1) else { return false }
        fullAt = start + interval
        return true
    }
}
