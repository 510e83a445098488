internal import ICELite
internal import TransportTestKit

extension CallSite {
    /// An interface that goes takes the relay's path away for this long; then the client is somebody else to the server.
    private static let interfaceChange = Duration.milliseconds(200)
    /// Longer than any call.
    private static let forGood = Duration.seconds(86_400)

    /// Makes the outage, at once, and says by what; nil when it cannot be made.
    ///
    /// - Parameter local: the address the call's media uses.
    func cause(_ outage: OutagePlan, of local: IPAddress?) -> CallResult.Recovery.Means? {
        if let network { return local.map(network.takeDown) == true ? .namespace : nil }
        let length = outage.seconds.map { Duration.seconds($0) }
        switch outage.cause {
        case .rebind: for relay in relays { relay.rebind() }
        case .udpDead: for relay in relays { relay.blockUDP(for: length ?? Self.forGood) }
        case .lineDead:
            for relay in relays {
                if let length {
                    relay.blockLine(for: length)
                } else {
                    relay.cutLines(outage.lineCut == .reset ? .reset : .silence)
                }
            }
        case .interface:
            for relay in relays {
                relay.blockUDP(for: Self.interfaceChange)
                relay.rebind()
            }
        }
        return .relay
    }
}
