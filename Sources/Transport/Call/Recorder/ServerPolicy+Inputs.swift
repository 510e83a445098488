package import ICELite

// The inputs by name.

extension ServerPolicy {
    /// The upgrade was granted: hello is due.
    package mutating func upgraded(now: Instant) { take(.upgraded, now: now) }

    /// Hello was answered by a welcome.
    package mutating func welcomed(now: Instant) { take(.welcomed, now: now) }

    /// `transport.select` came.
    package mutating func select(epoch: Int, transport: TransportKind, fallback: TransportFallback?, now: Instant) {
        take(.select(epoch: epoch, transport: transport, fallback: fallback), now: now)
    }

    /// An audio packet of the client's came that decodes, on `transport`, after the select of it.
    package mutating func heard(on transport: TransportKind, now: Instant) { take(.heard(transport), now: now) }

    /// The application hung up. Wins over everything.
    package mutating func hangUp(now: Instant) { take(.hangUp, now: now) }

    /// The application or the endpoint ends the call as failed.
    package mutating func fail(_ message: String, now: Instant) { take(.fail(message), now: now) }

    /// The endpoint goes away. The client hears of it as of a hang-up; to the agent the call has failed.
    package mutating func goAway(now: Instant) { take(.goAway, now: now) }

    /// The client's bye came.
    package mutating func byeReceived(isFailure: Bool, message: String?, now: Instant) {
        take(.byeReceived(isFailure: isFailure, message: message), now: now)
    }

    /// The peer broke the protocol: the call is over at once.
    package mutating func reject(_ rejection: CallRejection, now: Instant) { take(.reject(rejection), now: now) }

    /// The line is gone.
    ///
    /// - Parameter isPathLost: the window of an outage of the path is over: nothing carries the call any more.
    package mutating func lineClosed(isPathLost: Bool = false, now: Instant) {
        take(.lineClosed(isPathLost: isPathLost), now: now)
    }

    /// The media path did not come back in its window.
    package mutating func recoveryWindowEnded(now: Instant) { take(.recoveryWindowEnded, now: now) }

    /// The peer closed the media path for good: it counts as bye when the line cannot say it, or does not within
    /// `ClientPolicy.closedPathPatience`. A select of the WebSocket may still be on its way.
    package mutating func pathClosedByPeer(now: Instant) { take(.pathClosedByPeer, now: now) }

    /// Time has come.
    package mutating func handleTimeout(now: Instant) { take(.timeout, now: now) }
}
