import Testing

@testable import ICELite

/// Every IPv6 path a black hole (RFC 8421 §4): set-up is hardly later than on IPv4 alone, in whatever order the candidates
/// came.
@Suite struct BrokenFamilyScenarioTests {
    private static let allowed = Nanoseconds.milliseconds(25)

    private struct Ends {
        var local: [SocketAddress]
        var remote: [SocketAddress]

        init(seed: UInt64) {
            var randomness = Randomness.seeded(seed)
            let addresses = { (family: IPAddress.Family, host: UInt64, count: Int) in
                (0..<count).map { index in
                    let ip =
                        family == .v4
                        ? IPAddress(v4: 0xC000_0200 + UInt32(host) + UInt32(index))
                        : IPAddress(v6High: 0x2001_0DB8 << 32, low: host + UInt64(index))
                    return SocketAddress(ip: ip, port: UInt16(1_000 + index))
                }
            }
            let v4Count = Int.random(in: 1...3, using: &randomness)
            let v6Count = Int.random(in: 1...4, using: &randomness)
            local = (addresses(.v4, 10, v4Count) + addresses(.v6, 10, v6Count)).shuffled(using: &randomness)
            remote =
                (addresses(.v4, 100, Int.random(in: 1...2, using: &randomness))
                + addresses(.v6, 100, Int.random(in: 1...4, using: &randomness))).shuffled(using: &randomness)
        }

        func only(_ family: IPAddress.Family) -> Ends {
            var ends = self
            ends.local.removeAll { $0.ip.family != family }
            ends.remote.removeAll { $0.ip.family != family }
            return ends
        }
    }

    private func againstLite(_ ends: Ends, seed: UInt64) throws -> Nanoseconds {
        var network = try VirtualNetwork(seed: seed)
        network.swallow = { _, path, _ in path.remote.ip.family == .v6 }
        for local in ends.local { _ = network.client.addLocalCandidate(local, now: .zero) }
        for (index, remote) in ends.remote.enumerated() {
            network.client.addRemoteCandidate(
                ICECandidate(host: remote, localPreference: 65_535 - UInt16(index)), now: .zero)
        }
        try network.answer()
        while network.client.selectedPath == nil, network.now < .zero + .seconds(5) {
            network.run(for: .milliseconds(1))
        }
        #expect(network.client.selectedPath?.remote.ip.family == .v4)
        return network.now - .zero
    }

    private func againstFull(_ ends: Ends, seed: UInt64) throws -> Nanoseconds {
        var network = FullAgentNetwork(seed: seed)
        network.swallow = { _, path, _ in path.remote.ip.family == .v6 }
        let ours = ends.local.map { network.left.addLocalCandidate($0, now: .zero) }
        let theirs = ends.remote.map { network.right.addLocalCandidate($0, now: .zero) }
        for candidate in theirs { network.left.addRemoteCandidate(candidate, now: .zero) }
        for candidate in ours { network.right.addRemoteCandidate(candidate, now: .zero) }
        network.introduce()
        while network.left.selectedPath == nil || network.right.selectedPath == nil, network.now < .zero + .seconds(5) {
            network.run(for: .milliseconds(1))
        }
        #expect(network.left.selectedPath?.remote.ip.family == .v4)
        #expect(network.right.selectedPath == network.left.selectedPath?.reversed)
        return network.now - .zero
    }

    @Test func `against a lite end the black holes cost at most 25 ms, in 50 orders`() throws {
        for seed in UInt64(1)...50 {
            let ends = Ends(seed: seed)
            let alone = try againstLite(ends.only(.v4), seed: seed)
            #expect(alone == .milliseconds(40), "seed \(seed)")
            let both = try againstLite(ends, seed: seed)
            #expect((0...Self.allowed).contains(both - alone), "seed \(seed): \(both - alone)")
        }
    }

    @Test func `between full ends the black holes cost at most 25 ms, in 50 orders`() throws {
        for seed in UInt64(1)...50 {
            let ends = Ends(seed: seed)
            let alone = try againstFull(ends.only(.v4), seed: seed)
            #expect(alone == .milliseconds(80), "seed \(seed)")
            let both = try againstFull(ends, seed: seed)
            #expect((0...Self.allowed).contains(both - alone), "seed \(seed): \(both - alone)")
        }
    }
}
