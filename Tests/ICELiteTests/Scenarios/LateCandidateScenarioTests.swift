import Testing

@testable import ICELite

/// Candidates and interfaces that come late: a pair that works is up one round trip after it can be formed.
@Suite struct LateCandidateScenarioTests {
    private let timing = ICETiming()

    private static let seconds: [Int64] = [1, 5, 11]

    @Test(arguments: seconds, [0, 1, 4])
    func `a remote candidate that comes late is up a round trip later, past the pacing of the dead ones`(
        second: Int64, dead: Int
    ) throws {
        var network = try VirtualNetwork(seed: 3)
        try network.addClient("192.0.2.10", 5_000)
        for port in 0..<dead { try network.addServer("203.0.113.9", UInt16(1 + port)) }
        network.swallow = { _, path, _ in path.remote.ip.description == "203.0.113.9" }
        try network.answer()
        network.run(until: .zero + .seconds(second))
        #expect(network.client.selectedPath == nil)
        let added = network.now
        let before = network.sent.count
        try network.addServer("198.51.100.1", 3_478)
        network.run(until: added + timing.pacing + 2 * network.delay)
        let path = try #require(network.client.selectedPath)
        #expect(path.remote == (try address("198.51.100.1", 3_478)))
        let check = try #require(network.sent.dropFirst(before).first { $0.path == path })
        // It goes before the repeats of the others: the next check that the pacing lets leave.
        #expect(check.at - added <= timing.pacing)
        if dead == 0 { #expect(check.at == added) }
        let answered = try #require(network.client.firstResponseAt)
        #expect(answered == check.at + 2 * network.delay)
    }

    @Test(arguments: seconds)
    func `a local interface that comes late is up a round trip later`(second: Int64) throws {
        for locals in [[], ["192.0.2.66"]] {
            var network = try VirtualNetwork(seed: 4)
            network.swallow = { _, path, _ in path.local.ip.description == "192.0.2.66" }
            for ip in locals { try network.addClient(ip, 5_000) }
            try network.addServer("198.51.100.1", 3_478)
            try network.answer()
            network.run(until: .zero + .seconds(second))
            #expect(network.client.selectedPath == nil)
            let fresh = try address("192.0.2.10", 5_000)
            let all = try locals.map { try address($0, 5_000) } + [fresh]
            #expect(network.client.networkChanged(to: all, now: network.now).map(\.address) == [fresh])
            network.run(for: (locals.isEmpty ? 0 : timing.pacing) + 2 * network.delay)
            #expect(network.client.selectedPath?.local == fresh)
        }
    }

    @Test(arguments: seconds, [FullAgentNetwork.Side.left, .right])
    func `between full ends one candidate is enough, whoever hears of it`(
        second: Int64, hears: FullAgentNetwork.Side
    ) throws {
        var network = FullAgentNetwork(seed: 5)
        try network.add(.left, "192.0.2.1", 1_000, isSignalled: false)
        try network.add(.right, "198.51.100.1", 2_000, isSignalled: false)
        network.introduce()
        network.run(until: .zero + .seconds(second))
        #expect(network.sent.isEmpty)
        let other: FullAgentNetwork.Side = hears == .left ? .right : .left
        network[hears].addRemoteCandidate(network[other].localCandidates[0], now: network.now)
        let trip = 2 * network.delay
        // The other end checks when the first check reaches it. Controlling, it is half a round trip behind.
        let isBehind = hears == .right
        network.run(for: (isBehind ? network.delay : 0) + 2 * trip)
        let selected = try #require(network.left.selectedPath)
        #expect(network.right.selectedPath == selected.reversed)
        #expect(network[other].remoteCandidates.map(\.kind) == [.peerReflexive])
    }

    @Test func `a candidate that comes when a pair is selected moves nothing`() throws {
        var network = try VirtualNetwork(seed: 6)
        try network.addClient("192.0.2.10", 5_000)
        try network.addServer("198.51.100.1", 3_478)
        try network.answer()
        network.run(until: .zero + .seconds(1))
        let selected = try #require(network.client.selectedPath)
        for second in Self.seconds {
            network.run(until: .zero + .seconds(second))
            try network.addServer("198.51.100.2", UInt16(second))
        }
        network.run(until: .zero + .seconds(30))
        #expect(network.client.selectedPath == selected)
        #expect(network.sent.allSatisfy { $0.path == selected })
        #expect(network.client.outcome.pairs == 4)
    }
}
