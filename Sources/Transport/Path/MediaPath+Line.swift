package import ICELite
internal import TransportMedia

// Handshake flights on the call line: the hello in the offer, and what follows it.

extension MediaPath {
    /// Datagrams of a flight that an offer or answer carries at most.
    package static let offeredDatagramLimit = 2
    /// Bytes of them at most.
    package static let offeredFlightLimit = 3 << 10

    /// Begins the handshake before the peer is known: the ClientHello for the offer. Client only.
    ///
    /// - Returns: its datagrams; empty where `HandshakeOptions.helloInOffer` is off.
    package mutating func offerHello(now: Instant) -> [[UInt8]] {
        guard options.helloInOffer, full != nil, dtls == nil else { return [] }
        do throws(PathError) {
            try startHandshake(as: .client, with: [], now: now)
        } catch {
            // The same is tried, and told, when the answer is there.
            return []
        }
        let flight = takeOfferedFlight() ?? []
        statistics.shortcuts.helloOffered = !flight.isEmpty
        return flight
    }

    /// Takes the ClientHello of the offer. Endpoint only.
    ///
    /// - Returns: the flight that answers it, for the answer; empty, as if nothing had come, where that is switched off or
    ///   the ClientHello cannot be used: the peer then begins over UDP.
    package mutating func answerHello(_ datagrams: [[UInt8]], now: Instant) throws(PathError) -> [[UInt8]] {
        guard options.helloInOffer, lite != nil, !datagrams.isEmpty, let fingerprints = identity?.fingerprints else {
            return []
        }
        for datagram in datagrams { _ = dtls?.handle(datagram.span.bytes, carriage: .line, now: now) }
        guard let flight = takeOfferedFlight() else {
            statistics.shortcuts.hellosUnusable += 1
            try startHandshake(as: .server, with: Array(fingerprints), now: now)
            return []
        }
        statistics.shortcuts.helloOffered = true
        beginLineFlights(with: flight)
        return flight
    }

    /// The answer's half of the hello in the offer. An active peer is the client itself: the session that was begun goes, and
    /// one as server takes its place, for an object cannot change its role. A passive one that answers no flight, or none
    /// that can be used, gets the same ClientHello over UDP.
    mutating func continueHandshake(
        with remote: RemotePathDescription, flight: [[UInt8]], now: Instant
    ) throws(PathError) {
        guard dtls != nil, !remote.isActive else {
            return try startHandshake(
                as: remote.isActive ? .server : .client, with: remote.fingerprints, now: now)
        }
        dtls?.setRemoteFingerprints(remote.fingerprints)
        guard !flight.isEmpty else {
            dtls?.requeueFlight()
            return
        }
        statistics.shortcuts.helloAnswered = true
        let hello = dtls?.flight ?? []
        beginLineFlights(with: hello)
        takeLineFlight(flight, now: now)
        // Neither answered nor refused: nothing would ever be sent again of what went with the offer.
        if !hello.isEmpty, dtls?.flight == hello { dtls?.requeueFlight() }
    }

    /// Datagrams of a flight came on the line.
    package mutating func takeLineFlight(_ datagrams: [[UInt8]], now: Instant) {
        guard !isClosed else { return }
        statistics.shortcuts.flightsOnLineReceived += 1
        var hasAdvanced = false
        for datagram in datagrams where dtls?.handle(datagram.span.bytes, carriage: .line, now: now) == .advanced {
            hasAdvanced = true
        }
        if hasAdvanced {
            statistics.shortcuts.flightsFirstByLine += 1
            handshakeAdvanced(now: now)
        }
        pump(now: now)
    }

    /// The next flight of ours for the line, all its datagrams; nil when there is none.
    package mutating func pollLineFlight() -> [[UInt8]]? {
        guard isLineFlightDue else { return nil }
        isLineFlightDue = false
        statistics.shortcuts.flightsOnLineSent += 1
        return lastLineFlight
    }

    /// The peer's flight is whole: ours that answers it goes on the line, too, or the alert that refuses it.
    mutating func handshakeAdvanced(now: Instant) {
        evidence.lastHandshakeProgressAt = now
        flightSentTo.removeAll()
        var flight = dtls?.flight ?? []
        if flight.isEmpty { flight = dtls?.lastWords ?? [] }
        guard let lastLineFlight, !flight.isEmpty, flight != lastLineFlight else { return }
        self.lastLineFlight = flight
        isLineFlightDue = true
    }

    private mutating func beginLineFlights(with flight: [[UInt8]]) {
        if options.flightsOnLine { lastLineFlight = flight }
    }

    /// Our present flight, which goes with a description and, for now, nowhere else; nil when there is none, or it is too
    /// long for that.
    private mutating func takeOfferedFlight() -> [[UInt8]]? {
        let flight = dtls?.flight ?? []
        guard !flight.isEmpty, flight.count <= Self.offeredDatagramLimit,
            flight.reduce(0, { $0 + $1.count }) <= Self.offeredFlightLimit
        else { return nil }
        dtls?.discardQueuedDatagrams()
        return flight
    }
}
