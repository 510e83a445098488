internal import ICELite
internal import Transport
internal import TransportTestKit

/// Sets calls up in virtual time on networks that do not let all of UDP through.
struct VirtualFallback {
    private static let patience = Nanoseconds.seconds(30)
    private static let step = Nanoseconds.milliseconds(10)

    let fallbackCase: FallbackCase

    /// One call with a round trip of 100 ms, to the first frame at the client; nil when it cannot be made.
    func call(seed: UInt64) -> FallbackSample? {
        var link = LinkModel(delay: .milliseconds(50))
        let line = link
        link.reachability = fallbackCase.reachability
        let simulator = Simulator(seed: seed)
        let network = VirtualNetwork(simulator: simulator)
        guard
            let client = try? ClientHost(
                wanted: .auto, handshake: fallbackCase.handshake, randomness: simulator.randomness(for: "client")),
            let server = try? ServerHost(
                handshake: fallbackCase.handshake, randomness: simulator.randomness(for: "server"))
        else { return nil }
        let clientID = network.addHost(FilteringHost(client, passes: fallbackCase.passes))
        let serverID = network.addHost(FilteringHost(server, passes: fallbackCase.passes))
        (client.hostID, server.hostID) = (clientID, serverID)
        network.addInterface("client", of: clientID, ip: VirtualCall.clientIP, up: link, down: link)
        network.addInterface("server", of: serverID, ip: VirtualCall.serverAddress.ip)
        network.perform(on: clientID, at: .zero) { now in client.call.start(now: now) }
        client.line = network.openLine(from: clientID, to: serverID, up: line, down: line)

        while simulator.now < .zero + Self.patience, client.outcome == nil, client.call.timings.active == nil {
            _ = simulator.run(until: simulator.now + Self.step)
        }
        guard let hello = client.call.timings.hello else { return FallbackSample() }
        var sample = FallbackSample()
        sample.firstAudio = client.call.timings.firstAudio.map { Double($0 - hello) / 1e6 }
        sample.chosen = client.call.fallback.map { $0.elapsed / .milliseconds(1) }
        sample.end =
            client.call.fallback.map { "\($0.reason), \($0.stage.rawValue)" } ?? client.call.transport?.rawValue
            ?? "nothing"
        return sample
    }
}

/// A host in front of which a filter looks into datagrams.
private final class FilteringHost: VirtualHost {
    private let host: any VirtualHost
    private let passes: ([UInt8]) -> Bool

    init(_ host: any VirtualHost, passes: @escaping ([UInt8]) -> Bool) {
        self.host = host
        self.passes = passes
    }

    var nextDeadline: Instant { host.nextDeadline }
    func handleTimeout(now: Instant) { host.handleTimeout(now: now) }
    func receive(datagram: [UInt8], path: NetworkPath, now: Instant) {
        if passes(datagram) { host.receive(datagram: datagram, path: path, now: now) }
    }
    func datagramRejected(path: NetworkPath, now: Instant) { host.datagramRejected(path: path, now: now) }
    func lineOpened(_ line: LineID, now: Instant) { host.lineOpened(line, now: now) }
    func receive(streamBytes: [UInt8], line: LineID, now: Instant) {
        host.receive(streamBytes: streamBytes, line: line, now: now)
    }
    func lineWritable(_ line: LineID, now: Instant) { host.lineWritable(line, now: now) }
    func lineClosed(_ line: LineID, by cut: LineCut, now: Instant) { host.lineClosed(line, by: cut, now: now) }
    func drain(into network: VirtualNetwork, now: Instant) { host.drain(into: network, now: now) }
}
