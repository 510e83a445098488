package import ICELite

/// When a call reached the stages of its set-up; nil for those it did not reach.
package struct SetupInstants: Sendable, Equatable {
    package var started: Instant?
    package var resolved: Instant?
    package var connected: Instant?
    package var tlsDone: Instant?
    package var upgraded: Instant?
    package var hello: Instant?
    package var welcome: Instant?
    package var firstCheck: Instant?
    package var firstAnswer: Instant?
    /// The keys; see `SetupTimings.keys` for why a client has them with its first answer.
    package var secured: Instant?
    package var firstAudio: Instant?
    package var active: Instant?

    package init() {}
}
