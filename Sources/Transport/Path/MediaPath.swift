package import ICELite
package import TransportMedia
package import TransportRuntime

/// The media path of one call: ICE, DTLS and SRTP as one machine over datagrams.
///
/// A datagram goes in with the path it came on and is told apart by its first byte (RFC 7983 §7). Control is answered by
/// `pollTransmit`; media is decrypted where it lies and handed back. On the client it runs a full, controlling ICE agent, on
/// the endpoint a lite one. DTLS flights have no address of their own: where they go is decided here.
package struct MediaPath: ~Copyable {
    /// What became of a datagram.
    package enum Verdict: Sendable, Equatable {
        /// The packet now holds a decrypted RTP packet.
        case rtp
        /// The packet now holds a decrypted RTCP compound.
        case rtcp
        /// It was for ICE or DTLS, or waits for the keys.
        case consumed
        /// It was worth nothing; counted.
        case dropped
    }

    /// What the owner should know. All else is in `evidence`.
    package enum Event: Sendable, Equatable {
        /// The SRTP keys are there and the peer's certificate is the signalled one: media may flow.
        case secured
        /// The peer ended the association (close_notify).
        case closedByPeer
        /// The path that sends changed.
        case selected(NetworkPath)
    }

    /// Parked DTLS datagrams, all tuples together.
    package static let parkedFlightLimit = 16
    /// Parked SRTP packets that came before the keys.
    package static let parkedMediaLimit = 50
    /// How long a parked packet is kept.
    package static let parkedFor = Nanoseconds.seconds(1)
    /// Pairs whose first check is followed by the handshake's flight.
    package static let flightPaths = 3

    private struct Parked {
        var path: NetworkPath
        var bytes: [UInt8]
        var at: Instant
    }

    var client: ICEFullAgent?
    var lite: ICELiteAgent?
    private var dtls: DTLSSession?
    private var srtp: SRTPSession?
    private let certificate: DTLSCertificate
    private let localSSRC: UInt32
    private var remoteSSRC: UInt32?
    private let silenceLimit: Nanoseconds
    /// Where flights go while no pair is selected.
    private var destinations: [NetworkPath] = []
    private var outbox: [Parked] = []
    private var parkedFlights: [Parked] = []
    private var parkedMedia: [Parked] = []
    private var events: [Event] = []
    private var closed = false

    /// What the path can tell of itself, for the policy.
    package private(set) var evidence = PathEvidence()
    /// When a packet last authenticated on the path.
    package private(set) var lastHeardAt: Instant?
    /// What came and went, and what was dropped.
    package private(set) var statistics = MediaPathStatistics()

    // MARK: Making one

    /// The client's end: a full, controlling agent.
    package init(
        controlling credentials: ICECredentials, certificate: DTLSCertificate, localSSRC: UInt32,
        limits: TransportLimits,
        randomness: Randomness
    ) {
        client = ICEFullAgent(role: .controlling, credentials: credentials, randomness: randomness)
        lite = nil
        self.certificate = certificate
        self.localSSRC = localSSRC
        silenceLimit = limits.recoveryWindow.nanoseconds
    }

    /// The endpoint's end: a lite agent that answers the offer `remote`, always as the passive side of DTLS.
    ///
    /// - Throws: `PathError` when the handshake cannot be prepared.
    package init(
        lite credentials: ICECredentials, remote: RemotePathDescription, certificate: DTLSCertificate,
        localSSRC: UInt32,
        limits: TransportLimits, randomness: Randomness, now: Instant
    ) throws(PathError) {
        client = nil
        lite = ICELiteAgent(credentials: credentials, peerCredentials: remote.credentials, randomness: randomness)
        self.certificate = certificate
        self.localSSRC = localSSRC
        remoteSSRC = remote.ssrc
        silenceLimit = limits.recoveryWindow.nanoseconds
        try startHandshake(as: .server, with: remote.fingerprints, now: now)
    }

    /// Adds a host candidate whose socket is open, and returns it for the offer. Client only.
    package mutating func addLocalCandidate(_ address: SocketAddress, now: Instant) -> ICECandidate? {
        let candidate = client?.addLocalCandidate(address, now: now)
        pump(now: now)
        return candidate
    }

    /// Applies the server's answer: checks begin. Client only.
    package mutating func setRemote(_ remote: RemotePathDescription, now: Instant) throws(PathError) {
        remoteSSRC = remote.ssrc
        try startHandshake(as: remote.isActive ? .server : .client, with: remote.fingerprints, now: now)
        client?.setRemote(
            credentials: remote.credentials, isLite: remote.isLite, supportsRenomination: remote.supportsRenomination,
            now: now)
        for candidate in remote.candidates { client?.addRemoteCandidate(candidate, now: now) }
        if remote.endOfCandidates { client?.remoteEndOfCandidates(now: now) }
        pump(now: now)
    }

    /// A candidate of the peer's that came later on the line.
    package mutating func addRemoteCandidate(_ candidate: ICECandidate, now: Instant) {
        client?.addRemoteCandidate(candidate, now: now)
        pump(now: now)
    }

    /// The peer has no more candidates.
    package mutating func remoteEndOfCandidates(now: Instant) {
        client?.remoteEndOfCandidates(now: now)
        pump(now: now)
    }

    // MARK: What it knows

    /// Where media goes now; nil while no pair is selected.
    package var selectedPath: NetworkPath? { client?.selectedPath ?? lite?.selectedPath }
    /// Whether a check has authenticated on `path`: the endpoint's tuple table is made of these.
    package func isAuthenticated(_ path: NetworkPath) -> Bool { lite?.isAuthenticated(path) ?? false }
    /// Whether media may be sent.
    package var isSecured: Bool { srtp != nil && !closed }
    /// The DTLS association's figures for reports; nil before there is one.
    package var dtlsStatistics: DTLSStatistics? {
        switch dtls {
        case .some(let session): session.statistics
        case .none: nil
        }
    }

    private var handshakeDeadline: Instant {
        switch dtls {
        case .some(let session): session.nextDeadline
        case .none: .never
        }
    }

    // MARK: Datagrams in

    /// Takes the datagram `packet` that came on `path`.
    package mutating func handle(_ packet: inout Packet, path: NetworkPath, now: Instant) -> Verdict {
        guard !closed, packet.count > 0 else { return drop(\.malformed) }
        statistics.packetsReceived += 1
        statistics.bytesReceived += packet.count
        let verdict: Verdict
        // RFC 7983 §7.
        switch packet.bytes.unsafeLoad(fromByteOffset: 0, as: UInt8.self) {
        case 0...3: verdict = handleCheck(packet, path: path, now: now)
        case 20...63: verdict = handleFlight(packet, path: path, now: now)
        case 128...191: verdict = handleMedia(&packet, path: path, now: now)
        default: return drop(\.malformed)
        }
        pump(now: now)
        return verdict
    }

    /// A send on `path` was refused, by this machine or by ICMP.
    package mutating func handleSendFailure(path: NetworkPath, failure: ICESendFailure, now: Instant) {
        client?.handleSendFailure(path: path, failure: failure, now: now)
        pump(now: now)
    }

    /// The next packet that waited for the keys, moved into `packet` as it came; nil when there is none.
    package mutating func nextParkedMedia(into packet: inout Packet, now: Instant) -> NetworkPath? {
        while srtp != nil, !parkedMedia.isEmpty {
            let parked = parkedMedia.removeFirst()
            guard now - parked.at <= Self.parkedFor else { continue }
            packet.assign(parked.bytes.span.bytes)
            return parked.path
        }
        return nil
    }

    /// The first audio packet that authenticated and decodes was handed on.
    package mutating func mediaDecoded(now: Instant) {
        if evidence.firstMediaAt == nil { evidence.firstMediaAt = now }
    }

    // MARK: Datagrams out

    /// Encrypts the RTP packet in place. False when it cannot be sent now.
    package mutating func protectRTP(_ packet: inout Packet) -> Bool {
        guard !closed, srtp?.protectRTP(&packet) == .ok else { return false }
        statistics.packetsSent += 1
        statistics.bytesSent += packet.count
        return true
    }

    /// Encrypts the RTCP compound in place. False when it cannot be sent now.
    package mutating func protectRTCP(_ packet: inout Packet) -> Bool {
        guard !closed, srtp?.protectRTCP(&packet) == .ok else { return false }
        return true
    }

    /// The next control datagram: a check, an answer, or part of a handshake flight.
    package mutating func pollTransmit(into out: inout OutputRawSpan, now: Instant) -> Transmit? {
        if !closed {
            if let transmit = client?.pollTransmit(into: &out, now: now) ?? lite?.pollTransmit(into: &out, now: now) {
                pump(now: now)
                return transmit
            }
            pump(now: now)
        }
        guard !outbox.isEmpty else { return nil }
        let next = outbox.removeFirst()
        guard next.bytes.count <= out.freeCapacity else { return nil }
        for byte in next.bytes { out.append(byte, as: UInt8.self) }
        return Transmit(path: next.path, byteCount: next.bytes.count)
    }

    /// The next event; nil when there is none.
    package mutating func pollEvent() -> Event? { events.isEmpty ? nil : events.removeFirst() }

    // MARK: Time

    package var nextDeadline: Instant {
        guard !closed else { return .never }
        var deadline = min(client?.nextDeadline ?? .never, lite?.nextDeadline ?? .never)
        deadline = min(deadline, handshakeDeadline)
        if evidence.firstMediaAt != nil, !evidence.isLost, let lastHeardAt {
            deadline = min(deadline, lastHeardAt + silenceLimit)
        }
        return deadline
    }

    package mutating func handleTimeout(now: Instant) {
        guard !closed else { return }
        client?.handleTimeout(now: now)
        lite?.handleTimeout(now: now)
        dtls?.handleTimeout(now: now)
        if evidence.firstMediaAt != nil, let lastHeardAt, now - lastHeardAt >= silenceLimit { evidence.isLost = true }
        pump(now: now)
    }

    /// Ends the path: the peer is told by close_notify, then nothing is sent or taken any more, and the keys are gone.
    package mutating func close(now: Instant) {
        guard !closed else { return }
        outbox.removeAll()
        dtls?.close()
        pumpFlights(now: now)
        closed = true
        srtp = nil
        dtls = nil
        client = nil
        lite = nil
        parkedMedia.removeAll()
        parkedFlights.removeAll()
    }

    // MARK: - Private

    private mutating func drop(_ counter: WritableKeyPath<MediaPathStatistics, Int>) -> Verdict {
        statistics[keyPath: counter] += 1
        return .dropped
    }

    private mutating func startHandshake(
        as role: DTLSRole, with fingerprints: [CertificateFingerprint], now: Instant
    ) throws(PathError) {
        do throws(DTLSError) {
            var session = try DTLSSession(role: role, certificate: certificate)
            session.setRemoteFingerprints(fingerprints)
            session.start(now: now)
            dtls = consume session
        } catch {
            throw PathError(description: "DTLS cannot start: \(error)")
        }
    }

    private mutating func handleCheck(_ packet: borrowing Packet, path: NetworkPath, now: Instant) -> Verdict {
        let accepted: Bool
        if client != nil {
            accepted = client?.handle(packet.bytes, path: path, now: now) == .accepted
        } else {
            accepted = lite?.handle(packet.bytes, path: path, now: now) == .accepted
        }
        guard accepted else { return drop(\.checksDropped) }
        if evidence.firstMediaAt == nil || path == selectedPath { lastHeardAt = now }
        return .consumed
    }

    /// Whether handshake records and media are taken from `path`: only where a check was authenticated, or that we check.
    private func isTrusted(_ path: NetworkPath) -> Bool {
        (client?.hasPair(path) ?? false) || (lite?.isAuthenticated(path) ?? false)
    }

    private mutating func handleFlight(_ packet: borrowing Packet, path: NetworkPath, now: Instant) -> Verdict {
        guard isTrusted(path), dtls != nil else {
            guard parkedFlights.count < Self.parkedFlightLimit else { return drop(\.parkedOverflow) }
            parkedFlights.append(Parked(path: path, bytes: packet.copiedBytes, at: now))
            return .consumed
        }
        feed(packet.bytes, from: path, now: now)
        return .consumed
    }

    private mutating func feed(_ datagram: borrowing RawSpan, from path: NetworkPath, now: Instant) {
        if destinations.count < Self.flightPaths, !destinations.contains(path) { destinations.append(path) }
        if dtls?.handle(datagram, now: now) == .advanced { evidence.lastHandshakeProgressAt = now }
    }

    private mutating func handleMedia(_ packet: inout Packet, path: NetworkPath, now: Instant) -> Verdict {
        guard isTrusted(path) else { return drop(\.untrusted) }
        guard srtp != nil else {
            guard parkedMedia.count < Self.parkedMediaLimit else { return drop(\.parkedOverflow) }
            parkedMedia.append(Parked(path: path, bytes: packet.copiedBytes, at: now))
            return .consumed
        }
        let isControl = isRTCP(packet.bytes)
        let result = isControl ? srtp?.unprotectRTCP(&packet) : srtp?.unprotectRTP(&packet)
        guard result == .ok else { return drop(\.unprotectFailed) }
        lastHeardAt = now
        return isControl ? .rtcp : .rtp
    }

    /// Moves what happened inside between ICE, DTLS and SRTP, until nothing moves any more.
    private mutating func pump(now: Instant) {
        guard !closed else { return }
        while let event = client?.pollEvent() { handleClientEvent(event, now: now) }
        while let event = lite?.pollEvent() { handleLiteEvent(event, now: now) }
        pumpFlights(now: now)
        while let event = dtls?.pollEvent() { handleHandshakeEvent(event, now: now) }
        updateEvidence()
    }

    private mutating func handleClientEvent(_ event: ICEFullAgent.Event, now: Instant) {
        switch event {
        case .checkSent(let path):
            guard destinations.count < Self.flightPaths, !destinations.contains(path) else { return }
            destinations.append(path)
            // The flight that went to the first pairs goes behind this pair's first check, too.
            if destinations.count > 1 { for bytes in dtls?.flight ?? [] { enqueue(bytes, to: path, now: now) } }
        case .pairValid, .restarted, .selectedPathLost: break
        case .selected(let path): events.append(.selected(path))
        case .consentExpired: evidence.isLost = true
        }
    }

    private mutating func handleLiteEvent(_ event: ICELiteAgent.Event, now: Instant) {
        switch event {
        case .tupleAuthenticated(let path):
            if evidence.firstAnswerAt == nil { evidence.firstAnswerAt = now }
            let waiting = parkedFlights.filter { $0.path == path && now - $0.at <= Self.parkedFor }
            parkedFlights.removeAll { $0.path == path || now - $0.at > Self.parkedFor }
            for flight in waiting { feed(flight.bytes.span.bytes, from: path, now: now) }
        case .selected(let path): events.append(.selected(path))
        case .consentExpired: evidence.isLost = true
        case .tupleConfirmed, .tupleRemoved, .restartCompleted, .ufragForgotten: break
        }
    }

    private mutating func handleHandshakeEvent(_ event: DTLSEvent, now: Instant) {
        switch event {
        case .keys(let keys):
            do throws(SRTPError) {
                var session = try SRTPSession(keys: keys, localSSRC: localSSRC)
                if let remoteSSRC { session.addRemoteSSRC(remoteSSRC) }
                srtp = consume session
                statistics.srtpProfile = keys.profile
                evidence.keysAt = now
                events.append(.secured)
            } catch {
                evidence.failure = .srtp("\(error)")
            }
        case .completed: break
        case .failed(let failure): evidence.failure = evidence.failure ?? PathEvidence.Failure(failure)
        case .closed: events.append(.closedByPeer)
        }
    }

    private mutating func pumpFlights(now: Instant) {
        let targets: [NetworkPath]
        if let selected = selectedPath { targets = [selected] } else { targets = destinations }
        guard !targets.isEmpty, dtls != nil else { return }
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

    private mutating func enqueue(_ bytes: [UInt8], to path: NetworkPath, now: Instant) {
        outbox.append(Parked(path: path, bytes: bytes, at: now))
        dtls?.armRetransmission(interval: 2 &* (client?.roundTrip ?? .milliseconds(50)), now: now)
    }

    private mutating func updateEvidence() {
        guard let client else { return }
        let outcome = client.outcome
        evidence.localCandidates = client.localCandidates.count
        evidence.pairs = outcome.pairs
        evidence.remoteIsComplete = outcome.remoteIsComplete
        evidence.lastPairAt = outcome.lastPairAddedAt
        evidence.checksSent = Int(clamping: outcome.checksSent)
        evidence.everyPairRefused = outcome.everyPairRefused.map(Self.sentence)
        evidence.onlyErrorResponses = outcome.onlyErrorResponses
        evidence.firstCheckAt = outcome.firstCheckAt
        evidence.firstAnswerAt = outcome.firstResponseAt
        evidence.roundTrip = outcome.roundTrip
    }

    private static func sentence(_ failure: ICESendFailure) -> String {
        var text = "errno \(failure.errno)"
        if let type = failure.icmpType, let code = failure.icmpCode { text += ", ICMP \(type)/\(code)" }
        if let reporter = failure.reporter { text += " from \(reporter)" }
        return text
    }
}
