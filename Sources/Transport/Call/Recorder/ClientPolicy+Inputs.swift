package import ICELite

// The inputs by name.

extension ClientPolicy {
    /// The application started the call: the line's budget runs.
    package mutating func start(now: Instant) { take(.start, now: now) }

    /// Hello was handed to the line: the media path's budget runs.
    package mutating func helloSent(now: Instant) { take(.helloSent, now: now) }

    /// Welcome came.
    package mutating func welcomed(_ path: WelcomePath, now: Instant) { take(.welcomed(path), now: now) }

    /// The path has news.
    package mutating func pathChanged(_ evidence: PathEvidence, now: Instant) { take(.pathChanged(evidence), now: now) }

    /// An audio packet came that decodes, on `transport`.
    package mutating func heard(on transport: TransportKind, now: Instant) { take(.heard(transport), now: now) }

    /// `transport.selected` came; or the server's report on our stream, which means `heard`.
    package mutating func acknowledged(epoch: Int, heard: Bool, now: Instant) {
        take(.acknowledged(epoch: epoch, heard: heard), now: now)
    }

    /// `transport.fallback` came: the server asks for the WebSocket.
    package mutating func serverRequestedWebSocket(word: String, now: Instant) {
        take(.serverRequestedWebSocket(word: word), now: now)
    }

    /// The application hung up. Wins over everything.
    package mutating func hangUp(now: Instant) { take(.hangUp, now: now) }

    /// The application ended the call as failed.
    package mutating func fail(_ message: String, now: Instant) { take(.fail(message), now: now) }

    /// The server's bye came.
    package mutating func byeReceived(isFailure: Bool, message: String?, now: Instant) {
        take(.byeReceived(isFailure: isFailure, message: message), now: now)
    }

    /// The line did not open (refused, unreachable, closed before welcome), or the server closed the line of a welcomed call
    /// with a code of its own, 4400…4599: the call is over there.
    package mutating func lineRefused(_ message: String, now: Instant) { take(.lineRefused(message), now: now) }

    /// The line is gone.
    package mutating func lineClosed(now: Instant) { take(.lineClosed, now: now) }

    /// The peer closed the media path for good (DTLS close_notify): it counts as bye when the line cannot say it, or does
    /// not within `closedPathPatience`.
    package mutating func pathClosedByPeer(now: Instant) { take(.pathClosedByPeer, now: now) }

    /// The path of an active call did not come back in its window.
    package mutating func recoveryWindowEnded(now: Instant) { take(.recoveryWindowEnded, now: now) }

    /// Time has come.
    package mutating func handleTimeout(now: Instant) { take(.timeout, now: now) }
}
