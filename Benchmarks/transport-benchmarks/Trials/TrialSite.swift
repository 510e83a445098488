internal import Glibc
internal import ICELite
internal import Transport
internal import TransportTestKit

/// Places real calls: an endpoint in this process whose agent speaks, a session for each call, and between them a relay of each
/// call's own.
final class TrialSite: Sendable {
    private let endpoint: AgentEndpoint
    private let authority: String
    private let line: SocketAddress
    private let media: SocketAddress

    /// A call that was started.
    struct Placed {
        let session: TransportSession
        let relay: ImpairmentRelay
    }

    /// Opens the endpoint on loopback.
    ///
    /// - Throws: `TransportError` when there is no port or no file to be had.
    init() throws(TransportError) {
        endpoint = try AgentEndpoint(configuration: EndpointConfiguration()) { call in
            var speech: Task<Void, Never>?
            for await event in call.events {
                guard case .stateChanged(.active) = event, speech == nil else { continue }
                speech = Task { await Self.speak(into: call.send) }
            }
            speech?.cancel()
        }
        guard let port = endpoint.address.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            throw .system("no port in \(endpoint.address)")
        }
        line = SocketAddress(ip: .loopbackV4, port: port)
        media = SocketAddress(ip: .loopbackV4, port: endpoint.udpPort)
        authority = "/tmp/graine-trials-\(getpid()).pem"
        guard write(endpoint.certificatePEM, to: authority) else { throw .system("cannot write \(authority)") }
    }

    func close() {
        endpoint.stop()
        unlink(authority)
    }

    /// Starts a call through a relay with a round trip of `roundTrip` milliseconds; nil when it cannot be made.
    func place(
        seed: UInt64, roundTrip: Int, udp: LinkModel.Reachability = .open,
        passes: (@Sendable ([UInt8]) -> Bool)? = nil, _ change: (inout TransportConfiguration) -> Void = { _ in }
    ) -> Placed? {
        var relaying = ImpairmentRelay.Configuration()
        relaying.udpTargets = [media]
        relaying.tcpTarget = line
        let link = LinkModel(delay: .microseconds(roundTrip * 500))
        (relaying.udpUp, relaying.udpDown, relaying.lineUp, relaying.lineDown) = (link, link, link, link)
        (relaying.udpUp.reachability, relaying.udpDown.reachability) = (udp, udp)
        relaying.passes = passes
        relaying.seed = seed
        guard let relay = try? ImpairmentRelay(relaying), let tcp = relay.tcpAddress else { return nil }
        let stand = relay.udpAddresses[0]
        var configuration = TransportConfiguration(url: "wss://\(endpoint.address)/call")
        configuration.trust = .caFile(authority)
        configuration.addressFamily = .v4
        configuration.lineDetour = LineDetour(relay: tcp, target: line)
        let media = media
        configuration.pathDetour = { $0 == media ? stand : nil }
        change(&configuration)
        guard let session = try? TransportSession(configuration: configuration), (try? session.start()) != nil else {
            return nil
        }
        return Placed(session: session, relay: relay)
    }

    /// Speaks in real time until the task is cancelled.
    static func speak(into ring: PCMRing) async {
        var voice = TrialVoice()
        let start = ContinuousClock.now
        repeat {
            voice.speak(into: ring, until: Int((ContinuousClock.now - start) / .milliseconds(1)) + 20)
        } while (try? await Task.sleep(for: .milliseconds(20))) != nil
    }
}
