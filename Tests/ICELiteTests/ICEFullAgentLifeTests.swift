import Testing

@testable import ICELite

/// Random lives of two full agents: whatever happens, the tables stay bounded and the machines come to rest.
@Suite struct ICEFullAgentLifeTests {
    private let addresses = ["192.0.2.1", "192.0.2.2", "2001:db8::1", "fe80::1%2", "198.51.100.7"]

    @Test(arguments: 1...24)
    func `any order of inputs keeps the bounds, and a restart on a good network connects`(seed: UInt64) throws {
        var randomness = Randomness.seeded(seed)
        var network = FullAgentNetwork(
            seed: seed, left: seed % 2 == 0 ? .controlling : .controlled,
            right: seed % 3 == 0 ? .controlling : .controlled)
        for _ in 0..<150 {
            let side: FullAgentNetwork.Side = Bool.random(using: &randomness) ? .left : .right
            let ip = addresses[Int.random(in: 0..<addresses.count, using: &randomness)]
            let port = UInt16.random(in: 1...3, using: &randomness)
            switch Int.random(in: 0..<12, using: &randomness) {
            case 0, 1: try network.add(side, ip, port + (side == .left ? 0 : 10), isSignalled: true)
            case 2: network.introduce(supportsRenomination: seed % 2 == 0)
            case 3:
                network[side].restart(
                    credentials: .random(using: &randomness), isAnswer: seed % 4 == 0, now: network.now)
            case 4: network[side].abandonRestart()
            case 5:
                let some = network[side].localCandidates.map(\.address).filter { _ in .random(using: &randomness) }
                network[side].networkChanged(to: some, now: network.now)
            case 6: network.loss = Double.random(in: 0...0.5, using: &randomness)
            case 7:
                let pair = network[side].generations[0].pairs.randomElement(using: &randomness)
                let failure = ICESendFailure(errno: 111)
                if let pair { network[side].handleSendFailure(path: pair.path, failure: failure, now: network.now) }
            case 8:
                if Bool.random(using: &randomness) {
                    network[side].checkNow(network.now)
                } else {
                    network[side].probe(now: network.now)
                }
            case 9:
                if let sent = network.sent.randomElement(using: &randomness) {
                    var bent = sent.bytes
                    let count = Int.random(in: 0...2, using: &randomness)
                    for _ in 0..<count {
                        bent[Int.random(in: 0..<bent.count, using: &randomness)] ^=
                            UInt8.random(in: 1...255, using: &randomness)
                    }
                    _ = network[side].take(bent, sent.path.reversed, at: network.now)
                }
            case 10: network.run(for: .seconds(.random(in: 1...40, using: &randomness)))
            default: network.run(for: .milliseconds(.random(in: 0...300, using: &randomness)))
            }
            network.run(for: .zero)
            for agent in [network.left, network.right] {
                #expect(agent.generations.count <= 2)
                #expect(agent.localCandidates.count <= ICELimits.localCandidates)
                #expect(agent.responses.count <= ICELimits.pendingResponses)
                for generation in agent.generations {
                    #expect(generation.pairs.count <= ICELimits.pairs)
                    #expect(generation.remoteCandidates.count <= ICELimits.remoteCandidates)
                    #expect(generation.chosenID == nil || generation.chosen != nil)
                    #expect(Set(generation.pairs.map(\.id)).count == generation.pairs.count)
                    #expect(Set(generation.pairs.map(\.path)).count == generation.pairs.count)
                }
                if let path = agent.selectedPath {
                    let chosen = try #require(agent.generations[0].chosen, "seed \(seed)")
                    #expect(agent.generations[0].pairs[chosen].path == path, "seed \(seed)")
                }
            }
        }
        // Whatever it was: new generations on a good network agree on a pair.
        network.loss = 0
        for side in [FullAgentNetwork.Side.left, .right] {
            network[side].restart(credentials: .random(using: &randomness), now: network.now)
            network[side].networkChanged(
                to: [try address(side == .left ? "192.0.2.1" : "198.51.100.7", 77)], now: network.now)
        }
        network.introduce()
        network.left.addRemoteCandidate(network.right.localCandidates[0], now: network.now)
        network.right.addRemoteCandidate(network.left.localCandidates[0], now: network.now)
        network.run(for: .seconds(5))
        let selected = try #require(network.left.selectedPath, "seed \(seed)")
        #expect(network.right.selectedPath == selected.reversed, "seed \(seed)")
        #expect(network.left.role == network.right.role.other, "seed \(seed)")
    }
}
