internal import ICELite
internal import TransportMedia
internal import TransportRuntime

// DTLS: a flight is a datagram without an address, which gets one or several here.

extension MediaPath {
    mutating func startHandshake(
        as role: DTLSRole, with fingerprints: [CertificateFingerprint], now: Instant
    ) throws(PathError) {
        do throws(DTLSError) {
            var session = try DTLSSession(role: role, certificate: certificate, profiles: options.srtpProfiles)
            session.setRemoteFingerprints(fingerprints)
            session.start(now: now)
            dtls = consume session
        } catch {
            throw PathError(description: "DTLS cannot start: \(error)")
        }
    }

    mutating func feed(_ datagram: borrowing RawSpan, from path: NetworkPath, now: Instant) {
        lite?.noteReceived(datagram.byteCount, on: path)
        if flightPaths.count < Self.flightPathLimit, !flightPaths.contains(path) { flightPaths.append(path) }
        guard dtls?.handle(datagram, now: now) == .advanced else { return }
        statistics.shortcuts.flightsFirstByUDP += 1
        // The peer has answered a flight that went nowhere else: whoever sends from there receives there, too. What went by
        // the line alone is not among these.
        if flightSentTo == [path] { lite?.confirm(path) }
        handshakeAdvanced(now: now)
    }

    /// A datagram of the present flight has left for `path`.
    mutating func noteFlightSent(to path: NetworkPath) {
        if !flightSentTo.contains(path) { flightSentTo.append(path) }
    }

    mutating func handle(_ event: DTLSEvent, now: Instant) {
        switch event {
        case .keys(let keys):
            guard !options.refusesKeys else { return evidence.failure = .srtp("keys refused on purpose") }
            do throws(SRTPError) {
                var session = try SRTPSession(keys: keys, localSSRC: localSSRC)
                if let remoteSSRC { session.addRemoteSSRC(remoteSSRC) }
                session.learnablePayloadTypes = payloadTypes
                srtp = consume session
                statistics.srtpProfile = keys.profile
            } catch {
                evidence.failure = .srtp("\(error)")
            }
        case .completed:
            areKeysFinal = true
            evidence.keysAt = now
            events.append(.completed)
        case .failed(let failure):
            // Also provisional keys: nothing is sent or taken under them any more.
            srtp = nil
            evidence.failure = evidence.failure ?? PathEvidence.Failure(failure)
        case .closed: events.append(.closedByPeer)
        }
    }

    var hasFlightDatagrams: Bool {
        mutating get { dtls?.readHasDatagrams() ?? false }
    }

    mutating func pumpFlights(now: Instant) {
        // Every packet of the call comes by here: nothing is allocated while the handshake has nothing to say.
        guard hasFlightDatagrams else { return }
        let targets: [NetworkPath]
        if let destinations = lite?.destinations {
            targets = [destinations.first, destinations.second].compactMap(\.self)
        } else if let selected = selectedPath {
            targets = [selected]
        } else {
            targets = flightPaths
        }
        guard !targets.isEmpty else { return }
        while let datagram = nextFlightDatagram(now: now) {
            for target in targets { enqueue(datagram, to: target, now: now) }
        }
    }

    private mutating func nextFlightDatagram(now: Instant) -> [UInt8]? {
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: PacketPool.packetCapacity, alignment: 16)
        defer { room.deallocate() }
        var out = unsafe OutputRawSpan(buffer: room, initializedCount: 0)
        let written = dtls?.pollDatagram(into: &out, now: now) != nil
        let count = unsafe out.finalize(for: room)
        return written ? Array(room[..<count]) : nil
    }

    mutating func enqueue(_ bytes: [UInt8], to path: NetworkPath, now: Instant) {
        outbox.append(Parked(path: path, bytes: bytes, at: now))
        dtls?.armRetransmission(
            interval: 2 &* (full?.roundTrip ?? signallingRoundTrip ?? Self.assumedRoundTrip), now: now)
    }
}
