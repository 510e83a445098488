internal import Transport
internal import TransportTestKit

/// Breaks real calls on loopback, by the relay each goes through.
struct SocketOutage: Sendable {
    private static let roundTrip = 50
    /// How long a call may take to be active.
    private static let patience = Duration.seconds(20)
    /// From active to the outage.
    private static let before = Duration.seconds(2)
    /// An interface that goes takes the relay's path away for this long; then the client is somebody else to the server.
    private static let interfaceChange = Duration.milliseconds(200)

    let outageCase: OutageCase
    let site: TrialSite

    /// One call; nil when it cannot be made or never is active on the path.
    func call(seed: UInt64) async -> OutageSample? {
        guard
            let placed = site.place(seed: seed, roundTrip: Self.roundTrip, { $0.recoveryPolicy = outageCase.policy })
        else { return nil }
        let (session, relay) = (placed.session, placed.relay)
        defer { relay.stop() }
        let deadline = ContinuousClock.now + Self.patience
        while session.snapshot.state != .active, session.snapshot.outcome == nil, ContinuousClock.now < deadline {
            try? await Task.sleep(for: .milliseconds(5))
        }
        let speech = Task { await TrialSite.speak(into: session.capture) }
        var voice = TrialVoice()
        await hear(session, &voice, for: Self.before)
        guard session.snapshot.state == .active, session.snapshot.transport == .webrtc else {
            speech.cancel()
            session.end()
            _ = await session.outcome()
            return nil
        }
        let known = session.snapshot.recovery.outageCount
        voice.listen()
        begin(relay)
        if let length = outageCase.length {
            await hear(session, &voice, for: .milliseconds(length))
            relay.setUDP(up: link(dead: false), down: link(dead: false))
        }
        await hear(session, &voice, for: .milliseconds(outageCase.watched - (outageCase.length ?? 0)))
        let snapshot = session.snapshot
        speech.cancel()
        session.end()
        _ = await session.outcome()
        var sample = OutageSample()
        let outages = snapshot.recovery.outages
        sample.outage = outages.count > known ? outages[known] : nil
        sample.heardGap = voice.longestGap
        sample.isActive = snapshot.state == .active
        sample.carriage = snapshot.transport?.rawValue ?? "none"
        return sample
    }

    private func hear(_ session: TransportSession, _ voice: inout TrialVoice, for time: Duration) async {
        let end = ContinuousClock.now + time
        while ContinuousClock.now < end, session.snapshot.outcome == nil {
            voice.hear(from: session.playout)
            try? await Task.sleep(for: .milliseconds(20))
        }
        voice.hear(from: session.playout)
    }

    private func link(dead: Bool) -> LinkModel {
        var model = LinkModel(delay: .microseconds(Self.roundTrip * 500))
        if dead { model.reachability = .drop }
        return model
    }

    private func begin(_ relay: ImpairmentRelay) {
        switch outageCase {
        case .rebind: relay.rebind()
        case .interface:
            relay.blockUDP(for: Self.interfaceChange)
            relay.rebind()
        case .stall, .dead4, .up4, .down4, .dead, .deadEndCall:
            relay.setUDP(up: link(dead: outageCase.kills.up), down: link(dead: outageCase.kills.down))
        }
    }
}
