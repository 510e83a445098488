package import ICELite

extension DTLSSession {
    /// The current flight's datagrams, first transmission, for the owner to put on the call line. Empty when we have sent
    /// none or the association has ended. A server's last flight stays here after completion.
    package var flight: [[UInt8]] { current?.originals ?? [] }

    /// Queues the current flight's originals once more: a forward duplicate on another path. Not for a flight that may
    /// have been lost: only repeats have record numbers that a peer has not seen.
    package mutating func requeueFlight() { enqueue(flight) }

    /// Forgets what waits to be polled: the flight went by the call line and is not to go over UDP now.
    package mutating func discardQueuedDatagrams() { queue.removeAll() }

    /// Arms our deadline for the current flight. Call it when a datagram of it goes out over UDP on a pair, never for a
    /// flight that went by the line only. Does nothing when the flight is armed already or expects no answer.
    ///
    /// - Parameter interval: First interval, 2 × RTT; kept within 50 ms…1.6 s. It doubles with each repeat.
    package mutating func armRetransmission(interval: Nanoseconds, now: Instant) {
        roundTrip = min(max(interval / 2, 0), Self.maximumRetransmission)
        guard phase == .handshaking, current != nil, retransmissionDeadline == .never else { return }
        retransmissionInterval = min(max(interval, Self.minimumRetransmission), Self.maximumRetransmission)
        retransmissionDeadline = now + retransmissionInterval
    }

    /// The path has just answered: the flight that waits begins its intervals anew, the first of them `interval` from now. What
    /// was sent before had nowhere to arrive, or was timed by a line that stood still. Never makes it wait longer.
    ///
    /// - Parameter interval: as in `armRetransmission`.
    package mutating func shortenRetransmission(interval: Nanoseconds, now: Instant) {
        guard retransmissionDeadline != .never else { return }
        let first = min(max(interval, Self.minimumRetransmission), Self.maximumRetransmission)
        retransmissionInterval = min(retransmissionInterval, first)
        retransmissionDeadline = min(retransmissionDeadline, now + first)
    }

    /// When `handleTimeout` wants to be called; `.never` when the session waits for nothing.
    package var nextDeadline: Instant { min(retransmissionDeadline, alertDeadline) }

    /// `nextDeadline`, read in place: of a session that is part of something a property is read from a copy of it all.
    package mutating func readDeadline() -> Instant { min(retransmissionDeadline, alertDeadline) }

    /// `hasDatagrams`, read in place.
    package mutating func readHasDatagrams() -> Bool { hasDatagrams }

    /// Sends the next repeat when it is due, and lets an alert in the clear count that nothing valid contradicted.
    package mutating func handleTimeout(now: Instant) {
        assertOwner()
        if now >= alertDeadline { return fail(.alert(heldAlert)) }
        guard now >= retransmissionDeadline, let current else { return }
        repeatsSent += 1
        statistics.retransmits += 1
        queue.removeAll()
        if let datagrams = current.repeated(repeatsSent) {
            enqueue(datagrams)
        } else {
            statistics.repeatsMissing += 1
            enqueue(current.originals)
        }
        retransmissionInterval = min(2 * retransmissionInterval, Self.maximumRetransmission)
        retransmissionDeadline = now + retransmissionInterval
    }

    // MARK: - Inside

    mutating func begin(_ flight: DTLSFlight) {
        stopRetransmission()
        statistics.repeatsWritten = flight.repeats.count
        queue.removeAll()
        enqueue(flight.originals)
        current = flight
    }

    mutating func stopRetransmission() {
        retransmissionDeadline = .never
        retransmissionInterval = 0
        repeatsSent = 0
    }

    mutating func enqueue(_ datagrams: [[UInt8]]) {
        queue.append(contentsOf: datagrams)
        let excess = queue.count - Self.maximumQueuedDatagrams
        if excess > 0 {
            queue.removeFirst(excess)
            statistics.datagramsOverflowed += excess
        }
    }

    /// The peer repeats its flight after our completion, so it lacks our last one. OpenSSL answers a repeated Finished with
    /// fresh records; when it wrote nothing (the Finished itself was lost), the originals go out again, bounded.
    mutating func answerLateHandshake(_ datagram: borrowing RawSpan, now: Instant) {
        guard role == .server, !flight.isEmpty, datagram.byteCount > 0 else { return }
        let first = datagram.withUnsafeBytes { $0[0] }
        guard first == DTLSRecordScan.handshake || first == DTLSRecordScan.changeCipherSpec,
            statistics.lastFlightResends < Self.maximumLastFlightResends
        else { return }
        if let last = lastFlightResentAt, now - last < Self.lastFlightResendInterval { return }
        lastFlightResentAt = now
        statistics.lastFlightResends += 1
        enqueue(flight)
    }
}
