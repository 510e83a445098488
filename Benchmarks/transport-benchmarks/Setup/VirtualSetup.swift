internal import ICELite
internal import Transport
internal import TransportTestKit

/// Sets calls up in virtual time: the same seed is the same call, whatever the machine does.
struct VirtualSetup {
    /// How long a call is waited for, in its own time.
    private static let patience = Nanoseconds.seconds(30)
    /// The step of the clock between two looks at the call; the times themselves are exact.
    private static let step = Nanoseconds.milliseconds(10)

    let network: SetupNetwork

    /// One call, to the first frame at both ends; nil when it cannot be made.
    func call(seed: UInt64) -> SetupSample? {
        let link = LinkModel(
            delay: .microseconds(network.roundTrip * 500),
            loss: network.loss > 0 ? .independent(percent: network.loss) : .none)
        guard
            let call = try? VirtualCall(
                seed: seed, up: link, down: link, line: link, handshake: network.handshake)
        else { return nil }
        while call.simulator.now < .zero + Self.patience, call.client.outcome == nil, !isHeard(call) {
            _ = call.simulator.run(until: call.simulator.now + Self.step)
        }
        guard let hello = call.client.call.timings.hello else { return SetupSample() }
        let since = { (time: Instant?) in time.map { Double($0 - hello) / 1e6 } }
        return SetupSample(
            firstAudio: since(call.client.call.timings.firstAudio), heardAtServer: since(call.server.call.firstHeardAt),
            isOnPath: call.client.call.transport.map { $0 == .webrtc })
    }

    private func isHeard(_ call: VirtualCall) -> Bool {
        call.client.call.timings.firstAudio != nil && call.server.call.firstHeardAt != nil
    }
}
