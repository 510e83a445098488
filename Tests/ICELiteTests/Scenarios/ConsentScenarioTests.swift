import Testing

@testable import ICELite

/// Consent ends at both ends, each 30 s after the last that came from the other; restarts under loss.
@Suite struct ConsentScenarioTests {
    private let timing = ICETiming()

    @Test(arguments: [false, true])
    func `full against full: after a blackout both expire on the instant and are silent`(isOurKind: Bool) throws {
        for seed in UInt64(1)...10 {
            var network = FullAgentNetwork(seed: seed)
            try network.add(.left, "192.0.2.1", 1_000)
            try network.add(.right, "198.51.100.1", 2_000)
            network.introduce(supportsRenomination: isOurKind)
            network.run(until: .zero + .seconds(40))
            network.swallow = { _, _, _ in true }
            network.run(for: network.delay)
            let sides = [FullAgentNetwork.Side.left, .right]
            let expiries = try sides.map { side in
                try #require(network[side].generations[0].pairs[0].lastAnswerAt) + timing.consentExpiry
            }
            for end in expiries.sorted() {
                network.run(until: end - 1)
                for (side, expiry) in zip(sides, expiries) {
                    #expect((network[side].selectedPath != nil) == (network.now < expiry), "seed \(seed) \(side)")
                }
                network.run(until: end)
                for (side, expiry) in zip(sides, expiries) {
                    #expect((network[side].selectedPath != nil) == (network.now < expiry), "seed \(seed) \(side)")
                }
            }
            let count = network.sent.count
            network.swallow = { _, _, _ in false }
            network.run(for: .seconds(60))
            #expect(network.sent.count == count, "seed \(seed)")
            for side in sides {
                #expect(network[side].nextDeadline == .never)
                let told = network.events[side, default: []].filter {
                    if case .consentExpired = $0 { true } else { false }
                }
                #expect(told.count == 1, "seed \(seed) \(side)")
            }
        }
    }

    @Test func `full against lite: each end counts from what it heard last`() throws {
        for seed in UInt64(1)...10 {
            var network = try VirtualNetwork(seed: seed)
            try network.addClient("192.0.2.10", 5_000)
            try network.addServer("198.51.100.1", 3_478)
            try network.answer()
            network.run(until: .zero + .seconds(40))
            // Checks arrive, answers do not: the client's 30 s run from the last answer, the server's from the last
            // check, which is the client's last.
            network.swallow = { toServer, _, _ in !toServer }
            network.run(for: network.delay)
            let clientEnds = try #require(network.client.generations[0].pairs[0].lastAnswerAt) + timing.consentExpiry
            network.run(until: clientEnds - 1)
            #expect(network.client.selectedPath != nil && network.server.selectedPath != nil, "seed \(seed)")
            network.run(until: clientEnds)
            #expect(network.client.selectedPath == nil, "seed \(seed)")
            let lastCheck = try #require(network.sent.last?.at)
            #expect(clientEnds - lastCheck <= timing.consentRepeatCap, "seed \(seed)")
            let serverEnds = lastCheck + network.delay + timing.consentExpiry
            network.run(until: serverEnds - 1)
            #expect(network.server.selectedPath != nil, "seed \(seed)")
            network.run(until: serverEnds)
            #expect(network.server.selectedPath == nil && network.server.tupleCount == 0, "seed \(seed)")
            #expect(network.client.nextDeadline == .never && network.server.nextDeadline == .never)
        }
    }

    /// Checks a client needs at a loss of one in five before one and its answer come through are, at 0.36 lost each, more
    /// than eight in one of 3,500 runs: the time of the first eight is the bound, and the seeds are fixed.
    private var lossyBound: Nanoseconds {
        var interval = max(timing.minimumRetransmission, 2 * Nanoseconds.milliseconds(40))
        var sum = Nanoseconds.zero
        for _ in 0..<8 {
            sum += interval
            interval = min(2 * interval, timing.retransmissionCap)
        }
        return sum + .milliseconds(40)
    }

    @Test func `full against lite: a restart at 20 percent of loss has a path all the time and comes through`() throws {
        let bound = lossyBound
        for seed in UInt64(1)...60 {
            var network = try VirtualNetwork(seed: seed)
            try network.addClient("192.0.2.10", 5_000)
            try network.addServer("198.51.100.1", 3_478)
            try network.answer()
            network.run(until: .zero + .seconds(2))
            network.loss = 0.2
            var randomness = Randomness.seeded(1_000 + seed)
            let ours = ICECredentials.random(using: &randomness)
            let theirs = ICECredentials.random(using: &randomness)
            let start = network.now
            network.client.restart(credentials: ours, now: start)
            network.server.restart(credentials: theirs, peerCredentials: ours, now: start)
            network.client.addRemoteCandidate(
                ICECandidate(host: try address("198.51.100.1", 3_478), localPreference: 65_535), now: start)
            network.client.setRemote(credentials: theirs, isLite: true, supportsRenomination: true, now: start)
            while network.now < start + bound, network.client.isRestarting || network.server.isRestarting {
                network.run(for: .milliseconds(10))
                #expect(network.client.selectedPath != nil && network.server.selectedPath != nil, "seed \(seed)")
            }
            #expect(!network.client.isRestarting && !network.server.isRestarting, "seed \(seed)")
            #expect(network.client.credentials == ours && network.server.credentials == theirs, "seed \(seed)")
            network.run(for: .seconds(30))
            let path = try #require(network.client.selectedPath, "seed \(seed)")
            #expect(network.server.selectedPath == path.reversed, "seed \(seed)")
            #expect(network.server.isConfirmed(path.reversed), "seed \(seed)")
            #expect(network.server.localUfrags == [theirs.ufrag], "seed \(seed)")
        }
    }
}
