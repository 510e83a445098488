import Testing

@testable import ICELite

/// Interfaces that go and come back, and a NAT that forgets its mapping every two seconds.
@Suite struct FlappingScenarioTests {
    private let timing = ICETiming()
    private var longestConsentInterval: Nanoseconds { timing.consentInterval / 10 * 12 }

    @Test func `full against lite: an interface away for a second every two is up one round trip after it is back`()
        throws
    {
        var network = try VirtualNetwork(seed: 7)
        try network.addClient("192.0.2.10", 5_000)
        try network.addServer("198.51.100.1", 3_478)
        try network.answer()
        network.run(until: .zero + .seconds(1))
        let path = try #require(network.client.selectedPath)
        for round in 0..<20 {
            network.client.networkChanged(to: [], now: network.now)
            #expect(network.client.selectedPath == nil)
            let before = network.sent.count
            network.run(for: .seconds(1))
            #expect(network.sent.count == before, "nothing can leave")
            network.client.networkChanged(to: [path.local], now: network.now)
            let back = network.now
            network.run(until: back + 2 * network.delay - 1)
            #expect(network.client.selectedPath == nil, "round \(round)")
            network.run(until: back + 2 * network.delay)
            #expect(network.client.selectedPath == path, "round \(round)")
            network.run(until: back + .seconds(1))
            #expect(network.server.selectedPath == path.reversed)
        }
        #expect(network.server.tupleCount == 1)
    }

    @Test func `full against lite: with a second interface the flapping one costs no moment without a path`() throws {
        var network = try VirtualNetwork(seed: 8)
        try network.addClient("192.0.2.10", 5_000)
        try network.addClient("192.0.2.20", 5_000)
        try network.addServer("198.51.100.1", 3_478)
        try network.answer()
        network.run(until: .zero + .seconds(1))
        let both = network.client.localCandidates.map(\.address)
        for round in 0..<20 {
            let lost = try #require(network.client.selectedPath)
            let left = both.filter { $0 != lost.local }
            network.client.networkChanged(to: left, now: network.now)
            // The other was valid within the last half minute: it takes over on the spot, and the server hears at once.
            let now = try #require(network.client.selectedPath, "round \(round)")
            #expect(now.local == left[0])
            network.run(for: network.delay)
            #expect(network.server.selectedPath == now.reversed, "round \(round)")
            network.run(for: .seconds(1))
            network.client.networkChanged(to: both, now: network.now)
            network.run(for: .seconds(1))
            // What is back rests until it is wanted: a probe finds it, and then it may take over again.
            #expect(network.client.selectedPath == now)
            network.client.probe(now: network.now)
            network.run(for: 2 * network.delay + timing.pacing + timing.firstCheckPacing)
            #expect(network.client.selectedPath == now)
        }
    }

    @Test(arguments: [FullAgentNetwork.Side.left, .right])
    func `full against full: either end's interface may flap`(side: FullAgentNetwork.Side) throws {
        var network = FullAgentNetwork(seed: 9)
        try network.add(.left, "192.0.2.1", 1_000)
        try network.add(.right, "198.51.100.1", 2_000)
        network.introduce()
        network.run(until: .zero + .seconds(1))
        let path = try #require(network.left.selectedPath)
        let other: FullAgentNetwork.Side = side == .left ? .right : .left
        for round in 0..<10 {
            let local = side == .left ? path.local : path.remote
            network[side].networkChanged(to: [], now: network.now)
            network.run(for: .seconds(1))
            #expect(network[side].selectedPath == nil)
            #expect(network[other].selectedPath != nil, "consent outlives a second")
            network[side].networkChanged(to: [local], now: network.now)
            // Controlling: its check, then its nominating one. Controlled: it cannot know before the peer's next consent
            // check nominates.
            network.run(for: side == .left ? 4 * network.delay : longestConsentInterval + 2 * network.delay)
            #expect(network.left.selectedPath == path, "round \(round)")
            #expect(network.right.selectedPath == path.reversed, "round \(round)")
        }
    }

    // MARK: - NAT rebinding

    @Test func `full against lite: asked for a check, the server moves with it and is sure a round trip later`() throws
    {
        var network = try VirtualNetwork(seed: 10)
        try network.addClient("192.0.2.10", 5_000)
        try network.addServer("198.51.100.1", 3_478)
        let local = try address("192.0.2.10", 5_000)
        network.mapping = [local: try address("203.0.113.5", 40_000)]
        try network.answer()
        network.run(until: .zero + .seconds(1))
        let path = try #require(network.client.selectedPath)
        for round in UInt16(1)...30 {
            let mapped = try address("203.0.113.5", 40_000 + round)
            network.mapping = [local: mapped]
            let start = network.now
            network.client.checkNow(start)
            network.run(until: start + network.delay)
            let back = NetworkPath(local: path.remote, remote: mapped)
            #expect(network.server.selectedPath == back, "round \(round)")
            #expect(!network.server.isConfirmed(back), "round \(round)")
            // The answer's token comes back with a check of its own.
            network.run(until: start + 3 * network.delay)
            #expect(network.server.isConfirmed(back), "round \(round)")
            network.run(until: start + .seconds(2))
            #expect(network.client.selectedPath == path)
            #expect(network.server.tupleCount <= ICELimits.tuples)
        }
        #expect(network.server.counters.rebindings == 30)
        #expect(network.client.reflexiveCandidates.count <= ICELimits.reflexiveCandidates)
    }

    @Test func `full against lite: left alone, consent checks carry a rebinding NAT and nothing is lost`() throws {
        var network = try VirtualNetwork(seed: 11)
        try network.addClient("192.0.2.10", 5_000)
        try network.addServer("198.51.100.1", 3_478)
        let local = try address("192.0.2.10", 5_000)
        try network.answer()
        for round in UInt16(0)..<60 {
            let mapped = try address("203.0.113.5", 40_000 + round)
            network.mapping = [local: mapped]
            network.run(for: .seconds(2))
            #expect(network.client.selectedPath != nil && network.server.selectedPath != nil, "round \(round)")
            #expect(network.server.tupleCount <= ICELimits.tuples)
            // Whatever checked last is what the server sends to.
            let last = try #require(network.sent.last?.at)
            if last + network.delay < network.now, last > network.now - .seconds(2) {
                #expect(network.server.selectedPath?.remote == mapped, "round \(round)")
            }
        }
        // Two seconds are shorter than an interval: one that stays is found by the next check.
        network.run(for: longestConsentInterval + 3 * network.delay)
        let mapped = try #require(network.mapping[local])
        #expect(network.server.selectedPath?.remote == mapped)
        #expect(network.server.selectedPath.map(network.server.isConfirmed) == true)
    }

    @Test func `full against full of our kind: one check moves the peer, one round trip later`() throws {
        var network = FullAgentNetwork(seed: 12)
        let local = try address("192.0.2.1", 1_000)
        try network.add(.left, "192.0.2.1", 1_000)
        try network.add(.right, "198.51.100.1", 2_000)
        network.introduce(supportsRenomination: true)
        network.run(until: .zero + .seconds(1))
        let path = try #require(network.left.selectedPath)
        for round in UInt16(1)...20 {
            let mapped = try address("203.0.113.5", 40_000 + round)
            network.mapping = [local: mapped]
            let start = network.now
            network.left.checkNow(start)
            // The check, and the peer's own on the new pair, which it needs before it sends there.
            network.run(until: start + 3 * network.delay)
            #expect(network.right.selectedPath?.remote == mapped, "round \(round)")
            #expect(network.left.selectedPath == path, "round \(round)")
            network.run(until: start + .seconds(2))
            #expect(network.right.generations[0].pairs.count <= ICELimits.pairs)
            #expect(network.right.remoteCandidates.count <= ICELimits.remoteCandidates)
        }
    }

    @Test func `full against full of another kind: the peer moves once the old address has fallen silent`() throws {
        var network = FullAgentNetwork(seed: 13)
        try network.add(.left, "192.0.2.1", 1_000)
        try network.add(.right, "198.51.100.1", 2_000)
        network.introduce()
        network.run(until: .zero + .seconds(1))
        let mapped = try address("203.0.113.5", 40_000)
        network.mapping = [try address("192.0.2.1", 1_000): mapped]
        // Its own consent check, two more unanswered, and then the next nominating check of ours.
        let silence = longestConsentInterval + timing.consentRepeat + timing.consentRepeatCap
        network.run(for: silence + longestConsentInterval + 4 * network.delay)
        #expect(network.right.selectedPath?.remote == mapped)
        #expect(network.left.selectedPath != nil)
        #expect(silence + longestConsentInterval < timing.consentExpiry)
    }
}
