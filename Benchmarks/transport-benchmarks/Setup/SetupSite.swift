internal import Glibc
internal import ICELite
internal import Synchronization
internal import Transport
internal import TransportTestKit

/// Sets real calls up: an endpoint in this process, a session for each call, and between them a relay of each call's own.
final class SetupSite: Sendable {
    /// How long a call is waited for.
    private static let patience = Duration.seconds(30)
    /// How often it is looked at; the times are the session's own.
    private static let interval = Duration.milliseconds(5)

    private let endpoint: AgentEndpoint
    private let authority: String
    private let line: SocketAddress
    private let media: SocketAddress
    private let calls = Mutex(0)

    /// Opens the endpoint on loopback.
    ///
    /// - Throws: `TransportError` when there is no port or no file to be had.
    init() throws(TransportError) {
        endpoint = try AgentEndpoint(configuration: EndpointConfiguration()) { call in _ = await call.outcome() }
        guard let port = endpoint.address.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            throw .system("no port in \(endpoint.address)")
        }
        line = SocketAddress(ip: .loopbackV4, port: port)
        media = SocketAddress(ip: .loopbackV4, port: endpoint.udpPort)
        authority = "/tmp/graine-setup-\(getpid()).pem"
        guard write(endpoint.certificatePEM, to: authority) else { throw .system("cannot write \(authority)") }
    }

    func close() {
        endpoint.stop()
        unlink(authority)
    }

    /// One call, hung up once it is active; nil when it cannot be made.
    func call(on network: SetupNetwork, seed: UInt64) async -> SetupSample? {
        var relaying = ImpairmentRelay.Configuration()
        relaying.udpTargets = [media]
        relaying.tcpTarget = line
        let link = LinkModel(
            delay: .microseconds(network.roundTrip * 500),
            loss: network.loss > 0 ? .independent(percent: network.loss) : .none)
        (relaying.udpUp, relaying.udpDown, relaying.lineUp, relaying.lineDown) = (link, link, link, link)
        relaying.seed = seed
        guard let relay = try? ImpairmentRelay(relaying), let tcp = relay.tcpAddress else { return nil }
        defer { relay.stop() }
        let udp = relay.udpAddresses[0]

        var configuration = TransportConfiguration(url: "wss://\(endpoint.address)/call")
        configuration.trust = .caFile(authority)
        configuration.addressFamily = .v4
        configuration.handshake = network.handshake
        configuration.lineDetour = LineDetour(relay: tcp, target: line)
        let media = media
        configuration.pathDetour = { $0 == media ? udp : nil }
        guard let session = try? TransportSession(configuration: configuration), (try? session.start()) != nil else {
            return nil
        }
        let deadline = ContinuousClock.now + Self.patience
        while session.snapshot.state != .active, session.snapshot.outcome == nil, ContinuousClock.now < deadline {
            try? await Task.sleep(for: Self.interval)
        }
        let snapshot = session.snapshot
        session.end()
        _ = await session.outcome()
        guard let hello = snapshot.setup.hello else { return SetupSample() }
        return SetupSample(
            firstAudio: snapshot.setup.firstAudio.map { ($0 - hello) / .milliseconds(1) },
            isOnPath: snapshot.transport.map { $0 == .webrtc })
    }
}
