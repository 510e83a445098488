internal import ICELite
internal import Transport
internal import TransportMedia
internal import TransportRuntime
internal import TransportTestKit

/// A whole call on a virtual clock, as a scenario asks for it: both ends, the networks between them, what goes wrong, and
/// the observer.
package final class SimulatedCall {
    /// What is left of a call is looked at so long after its last end ended.
    static let afterlife: Nanoseconds = .seconds(3)
    /// Longer than the longest budget behind a hang-up: then the run is over whatever the ends think.
    static let overtime: Nanoseconds = .seconds(70)
    static let figuresInterval: Nanoseconds = .seconds(1)
    /// Figures are not taken at full seconds, where deadlines are that are about to be kept.
    static let figuresOffset: Nanoseconds = 123_457
    /// How often the goodness of the networks is looked at, beside when a fault begins or ends.
    static let networkInterval: Nanoseconds = .milliseconds(100)

    let scenario: Scenario
    let simulator: Simulator
    let network: VirtualNetwork
    let observer: Observer
    let networks: SimulatedNetworks
    let client: SimulatedClient
    let server: SimulatedServer
    private var schedule: FaultSchedule?

    /// - Parameters:
    ///   - certificate: both ends'.
    ///   - room: an array whose memory is used again.
    /// - Throws: what a machine cannot be made for.
    init(
        _ scenario: Scenario, certificate: DTLSCertificate,
        room: consuming [(at: Instant, what: Observation)] = []
    ) throws {
        self.scenario = scenario
        simulator = Simulator(seed: scenario.seed)
        network = VirtualNetwork(simulator: simulator)
        observer = Observer(simulator: simulator, room: consume room)
        let codecs = (
            client: FrameCodec(own: UInt32(truncatingIfNeeded: scenario.seed) | 1, peer: 2),
            server: FrameCodec(own: 2, peer: UInt32(truncatingIfNeeded: scenario.seed) | 1)
        )
        var handshakes = (client: HandshakeOptions(), server: HandshakeOptions())
        if scenario.server.answer == .noProfile {
            handshakes.client.srtpProfiles = [.aeadAES128GCM]
            handshakes.server.srtpProfiles = [.aes128CMHMACSHA1_80]
        }
        handshakes.client.refusesKeys = scenario.client.refusesKeys
        client = try SimulatedClient(
            scenario: scenario, certificate: certificate, handshake: handshakes.client, simulator: simulator,
            network: network, observer: observer, codec: codecs.client, peerCodec: codecs.server)
        server = try SimulatedServer(
            scenario: scenario, certificate: certificate, handshake: handshakes.server,
            announced: SimulatedNetworks.serverAddresses(for: scenario), simulator: simulator, network: network,
            observer: observer, codec: codecs.server, peerCodec: codecs.client)
        client.peer = server
        server.peer = client
        let clientID = network.addHost(client)
        let serverID = network.addHost(server)
        client.hostID = clientID
        server.hostID = serverID
        networks = SimulatedNetworks(
            scenario, network: network, client: clientID, server: serverID, observer: observer)
        schedule = FaultSchedule(self)
    }

    /// Runs the call to its end.
    func run() -> ObservedCall {
        observer.facts.isCalm = scenario.isCalm
        observer.facts.isCertificateSwapped = scenario.server.answer == .wrongCertificate
        observer.facts.lacksCommonProfile = scenario.server.answer == .noProfile
        observer.facts.healedCarriage = scenario.healing.map { $0.carriage == .path ? .path : .line }
        observer.facts.lineRoundTrip = networks.lineRoundTrip
        observer.facts.lineJitter = networks.lineJitter
        observer.facts.pathRoundTrip = networks.pathRoundTrip
        observer.facts.pathJitter = networks.pathJitter
        observer.facts.slowestRoundTrip = networks.slowestRoundTrip
        observer.onMilestone = { [unowned self] milestone in
            schedule?.reached(milestone)
            if milestone == .active { scheduleMessages() }
        }
        client.addressesChanged(to: networks.clientAddresses, isToldTo: false)
        networks.openLine(of: client, to: server)
        client.wantLine = { [unowned self] in networks.openLine(of: client, to: server) }
        networks.noteGoodness()
        client.start()
        simulator.schedule(at: .zero + scenario.duration) { [unowned self] in client.hangUp() }
        simulator.schedule(at: .zero + Self.figuresOffset) { [unowned self] in tickFigures() }
        tickNetwork()
        schedule?.start()
        let end = runUntilOver()
        observer.facts.isStuck = end == .stuck
        finish()
        return ObservedCall(scenario: scenario, observations: observer.take(), facts: observer.facts)
    }

    private var isOver: Bool { client.outcome != nil && (server.outcome != nil || !server.hasHello) }

    private func runUntilOver() -> SimulationEnd {
        let last = Instant.zero + scenario.duration + Self.overtime
        var end = SimulationEnd.reached
        while !isOver, simulator.now < last, end != .stuck {
            end = simulator.run(until: min(last, simulator.now + .milliseconds(500)))
        }
        return end == .stuck ? end : simulator.run(until: simulator.now + Self.afterlife)
    }

    private func finish() {
        client.noteFigures()
        server.noteFigures()
        // A machine that sleeps past the call's end keeps its deadlines when it wakes.
        observer.facts.clientWaits = !client.isHeld && client.machineDeadline != .never
        observer.facts.serverWaits = !server.isHeld && server.hasHello && server.machineDeadline != .never
        observer.facts.clientKeepsLine = client.outcome != nil && client.keepsLine
        // A server that hung up before anybody called has no line to close.
        observer.facts.serverKeepsLine = server.hasHello && server.outcome != nil && server.keepsLine
        observer.facts.packetsLeft = client.pool.taken + server.pool.taken
        observer.facts.timesStuck = network.counters.stuckHosts
        observer.facts.faultsNeverFired = schedule?.neverFired ?? 0
        observer.facts.traceHash = simulator.traceHash
        observer.facts.endedAt = simulator.now
        observer.onMilestone = { _ in }
        schedule = nil
        client.codec.onEncode = { _ in }
        server.codec.onEncode = { _ in }
    }

    private func tickFigures() {
        simulator.schedule(at: simulator.now + Self.figuresInterval) { [weak self] in
            guard let self, !isOver else { return }
            client.noteFigures()
            server.noteFigures()
            tickFigures()
        }
    }

    private func tickNetwork() {
        simulator.schedule(at: simulator.now + Self.networkInterval) { [weak self] in
            guard let self, !isOver else { return }
            networks.noteGoodness()
            tickNetwork()
        }
    }

    /// The applications' messages, spread over the first 20 s of the active call.
    private func scheduleMessages() {
        for (host, part) in [
            (client as SimulatedHost, scenario.client.messages), (server as SimulatedHost, scenario.server.messages),
        ] where part.count > 0 {
            var draws = simulator.randomness(for: "\(host.end).messages")
            for _ in 0..<part.count {
                let delay = Int64(draws.next() % UInt64(Nanoseconds.seconds(20)))
                let size = part.byteCounts.lowerBound + Int(draws.next() % UInt64(part.byteCounts.count))
                simulator.schedule(at: simulator.now + delay) { [unowned host] in
                    host.perform { [unowned host] now in
                        if host.state == .active { host.sendMessage(byteCount: size, now: now) }
                    }
                }
            }
        }
    }
}
