internal import ICELite
internal import Transport
internal import TransportTestKit

/// Breaks calls in virtual time: the same seed is the same call, whatever the machine does.
struct VirtualOutage {
    /// The call has been active for a while by then.
    private static let begins: Int64 = 5_000
    private static let step: Int64 = 10
    private static let secondIP = IPAddress(v4: 0xC633_6402)

    let outageCase: OutageCase

    /// A round trip of 50 ms with some jitter and loss, on UDP alone.
    private static var link: LinkModel {
        LinkModel(
            delay: .milliseconds(25), jitter: .normal(sigma: .milliseconds(3)), loss: .independent(percent: 0.5))
    }

    /// One call; nil when it cannot be made or never is active on the path.
    func call(seed: UInt64) -> OutageSample? {
        let link = Self.link
        let nat = outageCase == .rebind ? VirtualNAT(publicIP: IPAddress(v4: 0xCB00_7109), filters: true) : nil
        guard
            let call = try? VirtualCall(
                seed: seed, up: link, down: link, line: LinkModel(delay: .milliseconds(25)), nat: nat,
                recovery: outageCase.policy)
        else { return nil }
        let second = SocketAddress(ip: Self.secondIP, port: 5_001)
        if outageCase == .interface, let host = call.client.hostID {
            call.network.addInterface("client-2", of: host, ip: Self.secondIP, up: link, down: link)
            call.client.addresses.append(second)
        }
        var client = TrialVoice()
        var server = TrialVoice()
        var now: Int64 = 0
        func run(until end: Int64) {
            while now < end, call.client.outcome == nil {
                now += Self.step
                if call.client.call.timings.active != nil { client.speak(into: call.client.capture, until: Int(now)) }
                if call.server.activeAt != nil { server.speak(into: call.server.capture, until: Int(now)) }
                _ = call.simulator.run(until: .zero + .milliseconds(now))
                client.hear(from: call.client.playout)
                server.hear(from: call.server.playout)
            }
        }
        // Not at the same place of the speech, the reports and the checks each time.
        let begins = Self.begins + Int64(seed % 100) * 10
        run(until: begins)
        guard call.client.call.state == .active, call.client.call.transport == .webrtc else { return nil }
        client.listen()
        server.listen()
        let known = call.client.call.outages.count
        begin(call, second)
        if let length = outageCase.length {
            run(until: begins + Int64(length))
            call.network.changeInterface("client") { up, down in (up.model, down.model) = (link, link) }
        }
        run(until: begins + Int64(outageCase.watched))
        var sample = OutageSample()
        let outages = call.client.call.outages
        sample.outage = outages.count > known ? outages[known] : nil
        sample.heardGap = client.longestGap
        sample.heardGapAtServer = server.longestGap
        sample.isActive = call.client.call.state == .active
        sample.carriage = call.client.call.transport?.rawValue ?? "none"
        return sample
    }

    private func begin(_ call: VirtualCall, _ second: SocketAddress) {
        switch outageCase {
        case .rebind: call.network.rebind("client")
        case .interface:
            call.network.setInterface("client", isUp: false)
            guard let host = call.client.hostID else { return }
            call.network.perform(on: host, at: call.simulator.now) { now in
                call.client.call.networkChanged(to: [second], now: now)
            }
        case .stall, .dead4, .up4, .down4, .dead, .deadEndCall:
            let kills = outageCase.kills
            var dead = Self.link
            dead.reachability = .drop
            call.network.changeInterface("client") { up, down in
                if kills.up { up.model = dead }
                if kills.down { down.model = dead }
            }
        }
    }
}
