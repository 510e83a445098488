import Testing

@testable import ICELite

/// A second pair, of another interface or family, that keeps consent and takes over at once.
@Suite struct ICEWarmPairTests {
    private func network(_ locals: [String], seed: UInt64 = 1) throws -> VirtualNetwork {
        var network = try VirtualNetwork(seed: seed)
        for ip in locals { try network.addClient(ip, 5_000) }
        for ip in ["198.51.100.1", "2001:db8:9::1"] { try network.addServer(ip, 3_478) }
        return network
    }

    private func silence(_ network: inout VirtualNetwork, _ ip: IPAddress) {
        network.swallow = { _, path, _ in path.local.ip == ip || path.remote.ip == ip }
    }

    private func gaps(_ times: [Instant]) -> [Nanoseconds] { zip(times, times.dropFirst()).map { $1 - $0 } }

    @Test(arguments: [["192.0.2.10", "192.0.2.20"], ["192.0.2.10", "2001:db8::1"]])
    func `the best pair of another interface or family keeps consent, and the server does not move`(
        locals: [String]
    ) throws {
        var network = try network(locals)
        try network.answer()
        network.run(until: .zero + .seconds(2))
        let selected = try #require(network.client.selectedPath)
        let warm = try #require(network.client.warmPath)
        #expect(warm.local.ip != selected.local.ip)
        network.sent = []
        network.serverEvents = []
        network.run(for: .seconds(120))
        let tenth = ICETiming().consentInterval / 10
        for path in [selected, warm] {
            let times = network.sent.filter { $0.path == path }.map(\.at)
            #expect(times.count >= 19)
            #expect(gaps(times).allSatisfy { ((8 * tenth)...(12 * tenth)).contains($0) })
        }
        #expect(Set(network.sent.map(\.path)) == [selected, warm])
        for sent in network.sent where sent.path == warm {
            let message = try ReadMessage(sent.bytes)
            #expect(!message.useCandidate && message.nomination == nil)
        }
        #expect(network.client.counters.warmChecks >= 19)
        #expect(network.server.selectedPath == selected.reversed)
        #expect(network.serverEvents.isEmpty)
        #expect(network.server.counters.rebindings == 0)
        #expect(network.server.isAuthenticated(warm.reversed) && network.server.isConfirmed(warm.reversed))
    }

    @Test(arguments: [["192.0.2.10", "192.0.2.20"], ["192.0.2.10", "2001:db8::1"]])
    func `an address that goes is replaced by the warm pair at the same instant`(locals: [String]) throws {
        var network = try network(locals)
        try network.answer()
        network.run(until: .zero + .seconds(90))
        let selected = try #require(network.client.selectedPath)
        let warm = try #require(network.client.warmPath)
        network.clientEvents = []
        network.client.networkChanged(to: [warm.local], now: network.now)
        #expect(network.client.selectedPath == warm)
        #expect(network.client.warmPath == nil)
        network.run(for: network.delay)
        #expect(network.clientEvents == [.selectedPathLost(selected), .selected(warm)])
        #expect(network.server.selectedPath == warm.reversed)
        #expect(network.server.destinations == ICEDestinations(first: warm.reversed, second: nil))
    }

    @Test func `with one address there is no warm pair and not one check more`() throws {
        var network = try network(["192.0.2.10"])
        try network.addClient("192.0.2.10", 5_001)
        try network.answer()
        network.run(until: .zero + .seconds(1))
        let selected = try #require(network.client.selectedPath)
        network.sent = []
        network.run(for: .seconds(60))
        #expect(network.sent.allSatisfy { $0.path == selected })
        #expect((10...15).contains(network.sent.count))
        #expect(network.client.counters.warmChecks == 0)
        #expect(network.client.warmPath == nil)
    }

    @Test func `an interface that never answers is given up after four checks in all`() throws {
        var network = try network(["192.0.2.10", "192.0.2.20"])
        silence(&network, try #require(IPAddress("192.0.2.20")))
        try network.answer()
        network.run(until: .zero + .seconds(60))
        let tried = network.sent.filter { $0.path.local.ip.description == "192.0.2.20" }
        #expect(tried.count == Int(ICELimits.warmingChecks))
        #expect(network.client.warmPath == nil)
    }

    @Test func `an interface that comes during the call is tried at once and kept warm`() throws {
        var network = try network(["192.0.2.10"])
        try network.answer()
        network.run(until: .zero + .seconds(10))
        let selected = try #require(network.client.selectedPath)
        let second = try address("192.0.2.20", 5_000)
        network.client.networkChanged(to: [selected.local, second], now: network.now)
        network.run(for: .milliseconds(100))
        #expect(network.client.warmPath?.local == second)
        #expect(network.client.selectedPath == selected)
    }

    @Test func `a silent warm pair does not take over, is asked on, and is back once it answers`() throws {
        var network = try network(["192.0.2.10", "192.0.2.20"])
        try network.answer()
        network.run(until: .zero + .seconds(10))
        let warm = try #require(network.client.warmPath)
        silence(&network, warm.local.ip)
        network.sent = []
        network.run(for: .seconds(24))
        // It still has consent.
        var other = network.client
        other.networkChanged(to: [warm.local], now: network.now)
        #expect(other.selectedPath == nil)
        #expect(network.client.warmPath == warm)
        let asked = network.sent.filter { $0.path == warm }.map(\.at)
        // Twice quickly, then each 4 to 6 s.
        #expect(asked.count <= 8)
        #expect(gaps(asked).prefix(2).allSatisfy { $0 <= .seconds(1) })
        #expect(gaps(asked).dropFirst(2).allSatisfy { $0 >= .seconds(4) })
        network.swallow = { _, _, _ in false }
        network.run(for: .milliseconds(6_040))
        network.client.networkChanged(to: [warm.local], now: network.now)
        #expect(network.client.selectedPath == warm)
    }

    @Test func `there is one warm pair, and another is chosen when it falls silent`() throws {
        var network = try network(["192.0.2.10", "192.0.2.20", "192.0.2.30", "192.0.2.40"])
        try network.answer()
        network.run(until: .zero + .seconds(2))
        let selected = try #require(network.client.selectedPath)
        let warm = try #require(network.client.warmPath)
        network.sent = []
        network.run(for: .seconds(60))
        #expect(Set(network.sent.map(\.path)) == [selected, warm])
        silence(&network, warm.local.ip)
        network.run(for: .seconds(9))
        let next = try #require(network.client.warmPath)
        #expect(next != warm && next != selected)
        network.sent = []
        network.run(for: .seconds(30))
        #expect(Set(network.sent.map(\.path)) == [selected, next])
        network.client.networkChanged(to: [warm.local, next.local], now: network.now)
        #expect(network.client.selectedPath == next)
    }

    @Test func `after a probe has moved the selection the pair before is the warm one`() throws {
        var network = try network(["192.0.2.10", "192.0.2.20"])
        try network.answer()
        network.run(until: .zero + .seconds(10))
        let selected = try #require(network.client.selectedPath)
        let warm = try #require(network.client.warmPath)
        silence(&network, selected.local.ip)
        network.client.probe(now: network.now)
        network.run(for: .milliseconds(100))
        #expect(network.client.selectedPath == warm)
        #expect(network.client.warmPath == selected)
        network.swallow = { _, _, _ in false }
        network.run(for: .seconds(20))
        #expect(network.client.selectedPath == warm)
        #expect(network.server.selectedPath == warm.reversed)
    }

    @Test(arguments: [false, true])
    func `a full peer stays where it is while the controlling end keeps a pair warm`(isOurKind: Bool) throws {
        var network = FullAgentNetwork(seed: 6)
        try network.add(.left, "192.0.2.1", 1_000)
        try network.add(.left, "192.0.2.2", 1_000)
        try network.add(.right, "198.51.100.1", 2_000)
        network.introduce(supportsRenomination: isOurKind)
        network.run(for: .seconds(5))
        let selected = try #require(network.left.selectedPath)
        let warm = try #require(network.left.warmPath)
        network.events = [.left: [], .right: []]
        network.run(for: .seconds(60))
        #expect(network.left.warmPath == warm)
        #expect(network.right.selectedPath == selected.reversed)
        #expect(network.right.warmPath == nil)
        #expect(network.events[.right]?.isEmpty == true && network.events[.left]?.isEmpty == true)
        network.left.networkChanged(to: [warm.local], now: network.now)
        #expect(network.left.selectedPath == warm)
        network.run(for: .seconds(5))
        #expect(network.right.selectedPath == warm.reversed)
    }

    @Test func `a restart chooses its warm pair anew`() throws {
        var network = FullAgentNetwork(seed: 7)
        try network.add(.left, "192.0.2.1", 1_000)
        try network.add(.left, "192.0.2.2", 1_000)
        try network.add(.right, "198.51.100.1", 2_000)
        network.introduce(supportsRenomination: true)
        network.run(for: .seconds(5))
        var randomness = Randomness.seeded(77)
        network.left.restart(credentials: .random(using: &randomness), now: network.now)
        network.right.restart(credentials: .random(using: &randomness), now: network.now)
        network.left.addRemoteCandidate(network.right.localCandidates[0], now: network.now)
        for candidate in network.left.localCandidates { network.right.addRemoteCandidate(candidate, now: network.now) }
        network.introduce(supportsRenomination: true)
        network.run(for: .seconds(5))
        #expect(!network.left.isRestarting)
        let selected = try #require(network.left.selectedPath)
        let warm = try #require(network.left.warmPath)
        #expect(warm.local.ip != selected.local.ip)
        network.left.networkChanged(to: [warm.local], now: network.now)
        #expect(network.left.selectedPath == warm)
    }
}
