package import ICELite
import TransportLine
import TransportMedia

// The server's side of restarts, and what the endpoint asks of a call's path.

extension ServerCall {
    /// The username fragments that checks come for: one, two during a restart, none without a media path.
    package var localUfrags: [String] { carriages.readPath { $0.localUfrags } ?? [] }

    /// The SSRC of the client's media, as its offer names it; nil without a media path or a name.
    package var remoteSSRC: UInt32? { carriages.readPath { $0.remoteSSRC } ?? nil }

    /// The tuple that waits for the endpoint's `settleAdmission`: read after each datagram.
    package var admissionWanted: NetworkPath? { carriages.readPath { $0.admissionWanted } ?? nil }

    /// Answers `admissionWanted`.
    package mutating func settleAdmission(of path: NetworkPath, isAdmitted: Bool) {
        carriages.path?.settleAdmission(of: path, isAdmitted: isAdmitted)
    }

    /// Whether `path` is a tuple of this call's whose media authenticated a moment ago.
    package func holds(_ path: NetworkPath, now: Instant) -> Bool {
        carriages.readPath { $0.holds(path, now: now) } ?? false
    }

    /// Answers an ICE restart with new credentials. An offer that cannot be read, or is not of the peer of before, is
    /// ignored and counted: the call goes on as it is.
    mutating func answer(_ restart: ControlMessage.Restart, now: Instant) {
        guard var local = localMedia, let offer = try? RemoteMedia(offer: restart.sdp), offer.ufrag == restart.ufrag,
            let remote = try? RemotePathDescription(offer)
        else { return ignoredMessages += 1 }
        let credentials = ICECredentials.random(using: &randomness)
        local.ufrag = credentials.ufrag
        local.password = credentials.password
        local.sessionVersion += 1
        guard let answer = try? SessionDescription.makeAnswer(to: offer, local),
            carriages.path?.acceptRestart(remote, credentials: credentials, now: now) == true
        else { return ignoredMessages += 1 }
        localMedia = local
        send(.restarted(ControlMessage.Restart(ufrag: restart.ufrag, sdp: answer)))
    }
}
