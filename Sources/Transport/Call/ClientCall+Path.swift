package import ICELite
import TransportLine
import TransportMedia

// The client's side of candidates, changes of the network and restarts.

/// A restart whose success is still awaited.
struct RestartInProgress: Sendable {
    /// Our description in its offer.
    let media: LocalMedia
    /// When it is given up.
    let until: Instant
}

/// What is known of a call's STUN servers.
struct CallGathering: Sendable {
    /// Servers by name that a call asks at most, those of configuration first.
    static let serverLimit = 8

    /// Every server there was.
    var known: Set<STUNServer> = []
    /// Those whose addresses are not there yet.
    var resolving: Set<STUNServer> = []
    /// Addresses that came before there was a path.
    var early: [SocketAddress] = []
    /// The peer was told that no candidate is to come.
    var isOver = false
    /// Servers over the limit.
    var overflow = 0
}

// MARK: - Candidates

extension ClientCall {
    /// The addresses of the open UDP sockets are these now, all of them, most preferred first. New ones are signalled;
    /// the call goes on over what is left, or over what is found, and does not end.
    package mutating func networkChanged(to addresses: [SocketAddress], now: Instant) {
        carriages.noteInput(now: now)
        for candidate in carriages.path?.networkChanged(to: addresses, now: now) ?? [] { trickle(candidate) }
        settle(now: now)
    }

    /// The local addresses of the selected pair and of the one that may take over at once; empty without a path.
    package var localAddressesInUse: [SocketAddress] { carriages.readPath { $0.localAddressesInUse } ?? [] }

    /// The answer to `resolve`: where the server is; nothing when its name has no address.
    ///
    /// The first address of each family is asked. A server that cannot be had costs nothing but its candidate.
    package mutating func serverResolved(_ server: STUNServer, to addresses: [SocketAddress], now: Instant) {
        carriages.noteInput(now: now)
        guard gathering.resolving.remove(server) != nil else { return }
        for family in [IPAddress.Family.v6, .v4] {
            guard let address = addresses.first(where: { $0.ip.family == family }) else { continue }
            if carriages.path == nil {
                gathering.early.append(address)
            } else {
                carriages.path?.addSTUNServer(address, now: now)
            }
        }
        settle(now: now)
    }

    mutating func wantServers(_ servers: [STUNServer]) {
        guard policy.offersMediaPath else { return }
        for server in servers where !gathering.known.contains(server) {
            guard gathering.known.count < CallGathering.serverLimit else {
                gathering.overflow += 1
                continue
            }
            gathering.known.insert(server)
            gathering.resolving.insert(server)
            events.append(.resolve(server))
        }
    }

    mutating func makeOffer(_ addresses: [SocketAddress], now: Instant) {
        guard let certificate else { return }
        let credentials = ICECredentials.random(using: &randomness)
        var path = MediaPath(
            controlling: credentials, certificate: certificate, localSSRC: ssrc.rawValue,
            options: configuration.handshake, randomness: randomness.split("ice"))
        offeredHello = path.offerHello(now: now)
        localMedia = LocalMedia(
            ufrag: credentials.ufrag, password: credentials.password, isLite: false,
            fingerprint: certificate.fingerprint.attribute, ssrc: ssrc, cname: String(ssrc.rawValue, radix: 36),
            sessionID: randomness.next() >> 2)
        _ = path.networkChanged(to: addresses, now: now)
        for server in gathering.early { path.addSTUNServer(server, now: now) }
        gathering.early.removeAll()
        carriages.path = consume path
    }

    /// `media` with the candidates there are now.
    func describing(_ media: LocalMedia) -> LocalMedia {
        var media = media
        media.candidates = (carriages.readPath { $0.localCandidates } ?? []).map(\.attribute)
        return media
    }

    /// Signals a candidate that came after the offer.
    mutating func trickle(_ candidate: ICECandidate) {
        // Before hello it is in the offer.
        guard timings.hello != nil, state != .ended, let media = restarting?.media ?? localMedia else { return }
        send(.candidate(ControlMessage.Candidate(candidate: candidate.attribute, ufrag: media.ufrag)))
    }

    /// Says once that no more candidates come: welcome is there, and every STUN server has answered or been given up. What
    /// a later change of the network brings is signalled all the same, and else found by its checks.
    mutating func sayEndOfCandidates() {
        guard !gathering.isOver, timings.welcome != nil, gathering.resolving.isEmpty, let localMedia,
            carriages.readPath({ $0.isGathering }) == false, state != .ended
        else { return }
        gathering.isOver = true
        carriages.path?.localEndOfCandidates()
        send(.candidate(ControlMessage.Candidate(candidate: nil, ufrag: localMedia.ufrag)))
    }

    mutating func handle(_ candidate: ControlMessage.Candidate, now: Instant) {
        guard let text = candidate.candidate else {
            carriages.path?.remoteEndOfCandidates(ufrag: candidate.ufrag, now: now)
            return
        }
        carriages.path?.addRemoteCandidate(attribute: text, ufrag: candidate.ufrag, now: now)
    }
}

// MARK: - Hints

extension ClientCall {
    /// The application, or the system, says that the network may have changed: the path is looked at as if it were
    /// broken.
    package mutating func networkHint(now: Instant) {
        carriages.noteInput(now: now)
        carriages.recovery?.suspect(.hint, now: now)
        settle(now: now)
    }
}

// MARK: - Restart

extension ClientCall {
    /// Begins an ICE restart on the line: new credentials, beside those in use until a new pair is there. Audio goes on.
    ///
    /// - Returns: false when there is nothing to restart (no line, no secured path) or a restart is outstanding.
    @discardableResult
    package mutating func restart(now: Instant) -> Bool {
        guard restarting == nil, state != .ended, timings.welcome != nil, carriages.isPathSecured,
            !carriages.isLineFinished, var media = localMedia
        else { return false }
        let credentials = ICECredentials.random(using: &randomness)
        media.ufrag = credentials.ufrag
        media.password = credentials.password
        media.sessionVersion += 1
        carriages.path?.restart(credentials: credentials, now: now)
        restarting = RestartInProgress(media: media, until: now + limits.recoveryWindow.nanoseconds)
        let offer = SessionDescription.makeOffer(describing(media))
        send(.restart(ControlMessage.Restart(ufrag: media.ufrag, sdp: offer)))
        restartPlan.began(now: now, randomness: &randomness)
        return true
    }

    /// The server's answer. One that names another restart, or is not of the peer of before, is ignored and counted.
    mutating func handle(restarted answer: ControlMessage.Restart, now: Instant) {
        guard let restarting, answer.ufrag == restarting.media.ufrag,
            let media = try? RemoteMedia(answer: answer.sdp, to: restarting.media),
            let remote = try? RemotePathDescription(media),
            carriages.path?.answerRestart(remote, now: now) == true
        else { return ignoredMessages += 1 }
    }

    /// A restart that was wanted begins, unless the path is well by now.
    mutating func beginPlannedRestart(now: Instant) {
        guard carriages.recovery?.hasOutage == true, restart(now: now) else { return restartPlan.drop() }
    }

    mutating func restartSucceeded(now: Instant) {
        guard let restarting else { return }
        localMedia = restarting.media
        self.restarting = nil
        restartPlan.ended(now: now)
    }

    /// The call has ended: nothing waits for a restart, and none is to come.
    mutating func dropRestarts() {
        restarting = nil
        restartPlan.drop()
    }

    mutating func abandonLateRestart(now: Instant) {
        guard let restarting, now >= restarting.until else { return }
        self.restarting = nil
        restartPlan.ended(now: now)
        restartsAbandoned += 1
        carriages.path?.abandonRestart()
    }
}
