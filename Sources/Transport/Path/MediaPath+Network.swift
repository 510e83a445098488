package import ICELite
internal import TransportMedia

// Candidates, changes of the network, and restarts.

extension MediaPath {
    // MARK: Ours

    /// The addresses of the client's open sockets are these now, most preferred first: one input for all that went and
    /// came. Client only.
    ///
    /// - Returns: the new host candidates, to be signalled.
    package mutating func networkChanged(to locals: [SocketAddress], now: Instant) -> [ICECandidate] {
        guard !isClosed, full != nil else { return [] }
        let added = full?.networkChanged(to: locals, now: now) ?? []
        flightPaths.removeAll { !locals.contains($0.local) }
        outbox.removeAll { !locals.contains($0.path.local) }
        gathering.setSockets(locals, now: now)
        pump(now: now)
        return added
    }

    /// Asks a STUN server how it sees the client's sockets; what it answers comes as `candidateFound`. Client only.
    package mutating func addSTUNServer(_ server: SocketAddress, now: Instant) {
        guard !isClosed, full != nil else { return }
        gathering.addServer(server, now: now)
        pump(now: now)
    }

    /// Whether a STUN server may still answer.
    package var isGathering: Bool { !gathering.isFinished }

    /// No candidate of ours is still to come.
    package mutating func localEndOfCandidates() { full?.localEndOfCandidates() }

    /// All candidates of ours there are now, for a description.
    package var localCandidates: [ICECandidate] {
        (full?.localCandidates ?? []) + (full?.serverReflexiveCandidates ?? [])
    }

    /// The addresses of the server-reflexive ones among them.
    var reflexiveAddresses: [SocketAddress] { full?.serverReflexiveCandidates.map(\.address) ?? [] }

    // MARK: The peer's

    /// A candidate of the peer's that came later on the line, as its attribute; `ufrag` is its message's.
    package mutating func addRemoteCandidate(attribute: String, ufrag: String?, now: Instant) {
        full?.addRemoteCandidate(attribute: attribute, ufrag: ufrag, now: now)
        pump(now: now)
    }

    /// The peer has no more candidates in the generation of `ufrag`.
    package mutating func remoteEndOfCandidates(ufrag: String?, now: Instant) {
        full?.remoteEndOfCandidates(ufrag: ufrag, now: now)
        pump(now: now)
    }

    mutating func apply(_ remote: RemotePathDescription, now: Instant) {
        full?.setRemote(
            credentials: remote.credentials, isLite: remote.isLite, supportsRenomination: remote.supportsRenomination,
            now: now)
        for candidate in remote.candidates { full?.addRemoteCandidate(candidate, now: now) }
        if remote.endOfCandidates { full?.remoteEndOfCandidates(ufrag: remote.credentials.ufrag, now: now) }
        pump(now: now)
    }

    /// Checks the selected pair at once: the peer asks for it. Client only.
    package mutating func checkNow(now: Instant) {
        full?.checkNow(now)
        pump(now: now)
    }

    /// Checks the selected pair and those that may stand in for it, once: what a broken path wants again and again. Client
    /// only.
    package mutating func probe(now: Instant) {
        probedPath = probedPath ?? selectedPath
        full?.probe(now: now)
        pump(now: now)
    }

    /// The client's addresses that carry the call or may at once.
    var localAddressesInUse: [SocketAddress] { [full?.selectedPath, full?.warmPath].compactMap { $0?.local } }

    // MARK: Restart

    /// Begins a restart (RFC 8445 §9) with new credentials of ours, to be signalled. DTLS, SRTP and media stay as they are,
    /// over the pair of before, until the new generation has one. Client only.
    package mutating func restart(credentials: ICECredentials, now: Instant) {
        guard !isClosed else { return }
        full?.restart(credentials: credentials, now: now)
        pump(now: now)
    }

    /// Takes the peer's answer to a restart.
    ///
    /// - Returns: false, and nothing changes, when it is not of the peer of before: another certificate or DTLS role.
    package mutating func answerRestart(_ remote: RemotePathDescription, now: Instant) -> Bool {
        guard !isClosed, full?.isRestarting == true, identity == RemoteIdentity(remote) else {
            statistics.restartsRefused += 1
            return false
        }
        apply(remote, now: now)
        return true
    }

    /// The restart's answer does not come: it is given up, and the pair of before stays. Client only.
    package mutating func abandonRestart() {
        full?.abandonRestart()
        if full?.hasExpired == true { evidence.isLost = true }
    }

    /// Takes the peer's offer of a restart, with new credentials of ours for the answer. Endpoint only.
    ///
    /// - Returns: false, and nothing changes, when it is not of the peer of before.
    package mutating func acceptRestart(
        _ remote: RemotePathDescription, credentials: ICECredentials, now: Instant
    ) -> Bool {
        guard !isClosed, lite != nil, identity == RemoteIdentity(remote, towardsPassive: true) else {
            statistics.restartsRefused += 1
            return false
        }
        lite?.restart(credentials: credentials, peerCredentials: remote.credentials, now: now)
        events.append(.ufragsChanged)
        pump(now: now)
        return true
    }

    /// The endpoint's username fragments that checks come for, one or two.
    package var localUfrags: [String] { lite?.localUfrags ?? [] }

    // MARK: Return routability

    /// The unconfirmed tuple that waits for `settleAdmission`. Endpoint only; to be read after each datagram.
    package var admissionWanted: NetworkPath? { lite?.admissionWanted }

    /// Answers `admissionWanted`.
    package mutating func settleAdmission(of path: NetworkPath, isAdmitted: Bool) {
        lite?.settleAdmission(of: path, isAdmitted: isAdmitted)
    }
}

/// What tells a peer from another one: what a restart must repeat, for DTLS goes on (RFC 8842 §5.5).
struct RemoteIdentity: Equatable, Sendable {
    let fingerprints: Set<CertificateFingerprint>
    private let isActive: Bool

    /// The peer of an offer or answer. Towards us as the passive side it is active, whatever its offer leaves open.
    init(_ remote: RemotePathDescription, towardsPassive: Bool = false) {
        fingerprints = Set(remote.fingerprints)
        isActive = remote.isActive || towardsPassive
    }
}
