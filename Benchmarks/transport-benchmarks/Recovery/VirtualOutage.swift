internal import ICELite
internal import Transport
internal import TransportTestKit

/// Breaks calls in virtual time: the same seed is the same call, whatever the machine does.
struct VirtualOutage {
    private static let step: Int64 = 10
    private static let secondIP = IPAddress(v4: 0xC633_6402)

    let outageCase: OutageCase

    /// What a seed's call is made over, and when its outage begins.
    private struct Conditions {
        /// A round trip of 10 to 200 ms, with jitter of up to a quarter of the way and loss of up to 2 %.
        let link: LinkModel
        /// The way of the packets and up to 20 ms on top, nothing lost.
        let line: LinkModel
        /// The call has been active for a while by then; not at the same place of the speech, the reports and the checks
        /// each time.
        let begins: Int64

        init(seed: UInt64) {
            // Not the draws of the call itself.
            var randomness = Randomness.seeded(~seed)
            let delay = Int64.random(in: 5_000...100_000, using: &randomness)
            let sigma = Int64.random(in: 0...min(10_000, delay / 4), using: &randomness)
            let loss = Double.random(in: 0...2, using: &randomness)
            link = LinkModel(
                delay: .microseconds(delay), jitter: .normal(sigma: .microseconds(sigma)),
                loss: .independent(percent: loss))
            line = LinkModel(delay: .microseconds(delay + Int64.random(in: 0...20_000, using: &randomness)))
            begins = Int64.random(in: 500..<700, using: &randomness) * VirtualOutage.step
        }
    }

    /// One call; nil when it cannot be made or never is active on the path.
    func call(seed: UInt64) -> OutageSample? {
        let conditions = Conditions(seed: seed)
        let link = conditions.link
        let nat = outageCase == .rebind ? VirtualNAT(publicIP: IPAddress(v4: 0xCB00_7109), filters: true) : nil
        guard
            let call = try? VirtualCall(
                seed: seed, up: link, down: link, line: conditions.line, nat: nat, recovery: outageCase.policy)
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
        let begins = conditions.begins
        run(until: begins)
        guard call.client.call.state == .active, call.client.call.transport == .webrtc else { return nil }
        client.listen()
        server.listen()
        let known = call.client.call.outages.count
        begin(call, second, over: link)
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

    private func begin(_ call: VirtualCall, _ second: SocketAddress, over link: LinkModel) {
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
            var dead = link
            dead.reachability = .drop
            call.network.changeInterface("client") { up, down in
                if kills.up { up.model = dead }
                if kills.down { down.model = dead }
            }
        }
    }
}
