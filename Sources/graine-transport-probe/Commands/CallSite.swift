internal import Foundation
internal import ICELite
internal import Synchronization
internal import Transport
internal import TransportLine
internal import TransportTestKit

/// Where a call goes: the target, or an echo endpoint in this process; through a relay if something is to be impaired.
final class CallSite: Sendable {
    /// The URL to dial.
    let url: String
    /// The PEM file to trust; nil: as the options say.
    let caFile: String?
    /// Where the relays stand in for an address of the peer's; nil without a relay.
    let pathDetour: (@Sendable (SocketAddress) -> SocketAddress?)?
    /// The relay that stands in for the line's address; nil without one.
    let lineDetour: LineDetour?
    /// Those in front of the target; empty when nothing is impaired and no outage caused.
    let relays: [ImpairmentRelay]
    /// The two namespaces and their wires, where the outage is an interface's and they can be had.
    let network: OwnNetwork?
    private let endpoint: AgentEndpoint?

    /// Opens what the call needs. A name is looked up only for a relay in front of its line.
    init(_ plan: CallPlan) async throws(ProbeError) {
        if plan.target == nil, plan.outage?.cause == .interface, plan.impairment.isClear, OwnNetwork.isEntered() {
            let network = try OwnNetwork()
            (url, caFile, endpoint, self.network) = (network.url, network.caFile, nil, network)
            (relays, pathDetour, lineDetour) = ([], nil, nil)
            return
        }
        network = nil
        if let target = plan.target {
            (url, caFile, endpoint) = (target, plan.caFile, nil)
        } else {
            let address = plan.bind ?? (plan.family == .v6 ? .loopbackV6 : .loopbackV4)
            let endpoint = try LiveEchoServer.endpoint(bind: [address.description], port: 0, udpPort: 0, keys: [])
            let file = LiveEchoServer.temporaryFile()
            do throws(ProbeError) {
                try OutputFile.write(Array(endpoint.certificatePEM.utf8), path: file)
            } catch {
                endpoint.stop()
                throw error
            }
            (url, caFile, self.endpoint) = ("wss://\(endpoint.address)/", file, endpoint)
        }
        guard !plan.impairment.isClear || plan.outage != nil else {
            (relays, pathDetour, lineDetour) = ([], nil, nil)
            return
        }
        do throws(ProbeError) {
            let spec = plan.impairment
            let impairsLine = !spec.lineUp.isClear || !spec.lineDown.isClear || plan.outage?.cause == .lineDead
            let target = impairsLine ? try await TargetLookup.address(of: url, family: plan.family) : nil
            let first = try Self.relay(plan, on: target?.ip.family == .v6 ? .loopbackV6 : .loopbackV4, tcp: target)
            // The other family's datagrams need a relay of their own, if this machine has that family at all.
            let second = try? Self.relay(plan, on: target?.ip.family == .v6 ? .loopbackV4 : .loopbackV6, tcp: nil)
            relays = [first] + [second].compactMap { $0 }
            lineDetour =
                if let target, let relay = first.tcpAddress { LineDetour(relay: relay, target: target) } else { nil }
            let slots = relays.map(RelaySlots.init)
            pathDetour = { target in slots.lazy.compactMap { $0.take(for: target) }.first }
        } catch {
            endpoint?.stop()
            if let caFile, endpoint != nil { try? FileManager.default.removeItem(atPath: caFile) }
            throw error
        }
    }

    private static func relay(
        _ plan: CallPlan, on address: IPAddress, tcp target: SocketAddress?
    ) throws(ProbeError) -> ImpairmentRelay {
        var configuration = ImpairmentRelay.Configuration()
        configuration.bind = address
        configuration.udpTargets = Array(repeating: nil, count: ImpairmentRelay.maximumTargets)
        configuration.tcpTarget = target
        (configuration.udpUp, configuration.udpDown, configuration.lineUp, configuration.lineDown) =
            plan.impairment.models
        configuration.seed = plan.seed
        do throws(RelayError) {
            return try ImpairmentRelay(configuration)
        } catch {
            throw .resource("the relay in front of the target: \(error)")
        }
    }

    /// Hands out a relay's UDP listeners, one for each address of the peer's.
    private final class RelaySlots: Sendable {
        private let relay: ImpairmentRelay
        private let used = Mutex(0)

        init(_ relay: ImpairmentRelay) { self.relay = relay }

        /// Nil for an address of the other family, and when none is left.
        func take(for target: SocketAddress) -> SocketAddress? {
            let index = used.withLock { used -> Int? in
                guard used < relay.udpAddresses.count, relay.udpAddresses[used].ip.family == target.ip.family else {
                    return nil
                }
                defer { used += 1 }
                return used
            }
            guard let index else { return nil }
            relay.setUDPTarget(target, at: index)
            return relay.udpAddresses[index]
        }
    }

    func close() {
        for relay in relays { relay.stop() }
        endpoint?.stop()
        network?.close()
        if let caFile, endpoint != nil { try? FileManager.default.removeItem(atPath: caFile) }
    }
}
