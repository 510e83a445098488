// The names of cases keep their ids.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Testing

@testable import ICELite

/// Addresses that go and come, and sends that are refused.
@Suite struct ICENetworkChangeTests {
    private func network(_ locals: [String], seed: UInt64 = 1) throws -> VirtualNetwork {
        var network = try VirtualNetwork(seed: seed)
        for ip in locals { try network.addClient(ip, 5_000) }
        try network.addServer("198.51.100.1", 3_478)
        try network.answer()
        network.run(until: .zero + .milliseconds(200))
        network.clientEvents = []
        return network
    }

    private func path(_ ip: String) throws -> NetworkPath {
        NetworkPath(local: try address(ip, 5_000), remote: try address("198.51.100.1", 3_478))
    }

    @Test func `the selected path is lost and the next valid one takes over at once`() throws {
        var network = try network(["192.0.2.10", "192.0.2.20"])
        let first = try path("192.0.2.10")
        let second = try path("192.0.2.20")
        #expect(network.client.selectedPath == first)
        #expect(network.client.isValid(second))
        network.client.networkChanged(to: [second.local], now: network.now)
        #expect(network.client.selectedPath == second)
        let start = network.now
        network.run(for: .milliseconds(20))
        #expect(network.clientEvents == [.selectedPathLost(first), .selected(second)])
        // The server is told by the check that left at once, with the next counter.
        #expect(network.server.selectedPath == NetworkPath(local: second.remote, remote: second.local))
        let check = try #require(network.sent.last)
        #expect(check.at == start)
        #expect(try ReadMessage(check.bytes).nomination == 3)
        #expect(network.client.localCandidates.map(\.address) == [second.local])
        #expect(!network.client.hasPair(first))
    }

    @Test func `without another valid pair a new address is up after one round trip`() throws {
        var network = try network(["192.0.2.10"])
        let first = try path("192.0.2.10")
        let second = try path("192.0.2.30")
        let added = network.client.networkChanged(to: [second.local], now: network.now)
        #expect(added.map(\.address) == [second.local])
        #expect(network.client.selectedPath == nil)
        let start = network.now
        network.run(until: start + .milliseconds(39))
        #expect(network.clientEvents.filter { $0 != .checkSent(second) } == [.selectedPathLost(first)])
        network.run(until: start + .milliseconds(40))
        #expect(network.client.selectedPath == second)
        network.run(until: start + .milliseconds(60))
        #expect(network.server.selectedPath == NetworkPath(local: second.remote, remote: second.local))
        // Checks before the choice nominate nothing; the one after it does.
        let values = try network.sent.suffix(2).map { try ReadMessage($0.bytes).nomination }
        #expect(values == [nil, 3])
    }

    @Test func `a pair whose consent has run out does not take over without a check`() throws {
        var network = try network(["192.0.2.10", "192.0.2.20"])
        let second = try path("192.0.2.20")
        #expect(network.client.isValid(second))
        // The second interface hears nothing any more, so the warm pair has none either.
        network.swallow = { _, path, _ in path.local.ip == second.local.ip || path.remote.ip == second.local.ip }
        network.run(for: .seconds(31))
        network.swallow = { _, _, _ in false }
        network.client.networkChanged(to: [second.local], now: network.now)
        #expect(network.client.selectedPath == nil)
        network.run(for: .milliseconds(40))
        #expect(network.client.selectedPath == second)
    }

    @Test func `the same addresses again change nothing`() throws {
        var network = try network(["192.0.2.10", "192.0.2.20"])
        let locals = network.client.localCandidates.map(\.address)
        let sizes = network.client.tableSizes
        let ids = network.client.generations[0].pairs.map(\.id)
        for _ in 0..<5 {
            #expect(network.client.networkChanged(to: locals, now: network.now).isEmpty)
            #expect(network.client.networkChanged(to: locals.reversed(), now: network.now).isEmpty)
        }
        network.run(for: .zero)
        #expect(network.clientEvents.isEmpty)
        #expect(network.client.tableSizes == sizes)
        #expect(network.client.generations[0].pairs.map(\.id) == ids)
    }

    @Test func `an address that goes and comes 50 times leaves no growth, and its candidate stays the same`() throws {
        var network = try network(["192.0.2.10", "192.0.2.20", "192.0.2.30"])
        network.mapping = [
            try address("192.0.2.10", 5_000): try address("203.0.113.1", 1),
            try address("192.0.2.20", 5_000): try address("203.0.113.2", 2),
        ]
        let locals = network.client.localCandidates
        _ = network.client.addServerReflexiveCandidate(
            mapped: try address("203.0.113.9", 9), base: locals[1].address, now: network.now)
        network.run(for: .seconds(1))
        for round in 0..<50 {
            network.client.networkChanged(to: [locals[0].address, locals[2].address], now: network.now)
            if round % 3 == 0 { network.run(for: .milliseconds(30)) }
            let added = network.client.networkChanged(to: locals.map(\.address), now: network.now)
            #expect(added == [locals[1]])
            if round % 2 == 0 { network.run(for: .milliseconds(100)) }
        }
        network.run(for: .seconds(1))
        #expect(Set(network.client.localCandidates) == Set(locals))
        #expect(network.client.localCandidates.count == 3)
        #expect(network.client.serverReflexiveCandidates.isEmpty)
        #expect(network.client.generations[0].pairs.count == 3)
        #expect(network.client.generations[0].remoteCandidates.count == 1)
        #expect(network.client.reflexiveCandidates.count <= 2)
        #expect(network.client.responses.isEmpty)
        #expect(network.client.selectedPath == (try path("192.0.2.10")))
        #expect(network.server.tupleCount <= ICELimits.tuples)
    }

    @Test func `all addresses gone and one back is a call again`() throws {
        var network = try network(["192.0.2.10"])
        let path = try path("192.0.2.10")
        network.client.networkChanged(to: [], now: network.now)
        #expect(network.client.selectedPath == nil)
        #expect(network.client.outcome.pairs == 0)
        network.run(for: .seconds(60))
        network.client.networkChanged(to: [path.local], now: network.now)
        network.run(for: .milliseconds(40))
        #expect(network.client.selectedPath == path)
    }

    @Test func `during a restart the addresses change in both generations`() throws {
        var network = FullAgentNetwork(seed: 4)
        try network.add(.left, "192.0.2.1", 1)
        try network.add(.right, "198.51.100.1", 2)
        network.introduce()
        network.run(until: .zero + .seconds(1))
        var randomness = Randomness.seeded(77)
        network.left.restart(credentials: .random(using: &randomness), now: network.now)
        network.right.restart(credentials: .random(using: &randomness), now: network.now)
        let added = network.left.networkChanged(to: [try address("192.0.2.2", 1)], now: network.now)
        for candidate in added { network.right.addRemoteCandidate(candidate, now: network.now) }
        network.left.addRemoteCandidate(network.right.localCandidates[0], now: network.now)
        network.introduce()
        #expect(
            network.left.generations.map { $0.pairs.map(\.path.local.ip.description) } == [
                ["192.0.2.2"], ["192.0.2.2"],
            ])
        network.run(for: .seconds(2))
        #expect(network.left.selectedPath?.local.ip.description == "192.0.2.2")
        #expect(network.right.selectedPath == network.left.selectedPath?.reversed)
        #expect(!network.left.isRestarting)
    }

    @Test func `an address that comes when the table is full is checked nevertheless`() throws {
        var agent = try vectorAgent(.controlling)
        _ = agent.addLocalCandidate(try address("192.0.2.2", 1), now: .zero)
        for port in UInt16(1)...32 {
            agent.addRemoteCandidate(ICECandidate(host: try address("192.0.2.9", port), localPreference: 1), now: .zero)
        }
        #expect(agent.generations[0].pairs.count == ICELimits.pairs)
        var now = Instant.zero
        while now < .zero + .seconds(2) {
            _ = drain(&agent, now: now)
            now = now + .milliseconds(10)
        }
        let locals = agent.localCandidates.map(\.address)
        let fresh = try address("192.0.2.3", 1)
        agent.networkChanged(to: locals + [fresh], now: now)
        #expect(agent.generations[0].pairs.count == ICELimits.pairs)
        #expect(agent.generations[0].pairs.contains { $0.path.local == fresh })
    }

    // MARK: - Probing

    // MARK: - Refused sends

    @Test(arguments: [1, 101, 111, 113] as [Int32])
    func `ICE_25 refused checks back off, go on, and cost no other pair`(errno: Int32) throws {
        var agent = try vectorAgent(.controlling)
        for port in UInt16(1)...2 {
            agent.addRemoteCandidate(ICECandidate(host: try vectorPath(port).remote, localPreference: 9), now: .zero)
        }
        var sent: [UInt16: [Instant]] = [:]
        var now = Instant.zero
        let end = Instant.zero + .seconds(8)
        while now <= end {
            agent.handleTimeout(now: now)
            for datagram in drain(&agent, now: now) {
                sent[datagram.path.remote.port, default: []].append(now)
                guard datagram.path.remote.port == 1 else { continue }
                // By the system and by ICMP, and once for each media packet on top.
                for _ in 0..<50 {
                    agent.handleSendFailure(path: datagram.path, failure: ICESendFailure(errno: errno), now: now)
                }
            }
            now = max(agent.nextDeadline, now + .milliseconds(1))
        }
        let gaps = zip(sent[1] ?? [], (sent[1] ?? []).dropFirst()).map { $1 - $0 }
        #expect(gaps.prefix(4) == [.milliseconds(250), .milliseconds(500), .seconds(1), .seconds(1)])
        #expect(gaps.allSatisfy { $0 <= .seconds(1) })
        #expect((sent[2] ?? []).count > (sent[1] ?? []).count)
        #expect(agent.outcome.everyPairRefused == nil)
        #expect(agent.counters.sendFailures == UInt64(50 * (sent[1] ?? []).count))
        // ICMP was transient: the refused pair comes up at its next check.
        let patience = now + .seconds(2)
        while now < patience, !agent.isValid(try vectorPath(1)) {
            for datagram in drain(&agent, now: now) where datagram.path.remote.port == 1 {
                let id = try ReadMessage(datagram.bytes).transactionID
                _ = agent.take(try response(to: id, mapped: datagram.path.local), datagram.path, at: now)
            }
            now = now + .milliseconds(20)
        }
        #expect(agent.isValid(try vectorPath(1)))
        #expect(agent.generations[0].pairs[0].failure == nil)
    }

    @Test func `a refusal without a local address meets every pair to the remote one`() throws {
        var agent = try vectorAgent(.controlling)
        _ = agent.addLocalCandidate(try address("192.0.2.2", 1_000), now: .zero)
        agent.addRemoteCandidate(ICECandidate(host: try vectorPath().remote, localPreference: 9), now: .zero)
        let path = NetworkPath(local: SocketAddress(ip: .anyV4, port: 1_000), remote: try vectorPath().remote)
        let failure = ICESendFailure(errno: 113, icmpType: 3, icmpCode: 1)
        agent.handleSendFailure(path: path, failure: failure, now: .zero)
        #expect(agent.outcome.everyPairRefused == failure)
    }

    // MARK: - Broken families

    @Test func `with every IPv6 path a black hole set-up is at most 25 ms slower than IPv4 alone`() throws {
        var selectedAfter: [Nanoseconds] = []
        for hasV6 in [false, true] {
            var network = try VirtualNetwork(seed: 1)
            network.swallow = { _, path, _ in path.remote.ip.family == .v6 }
            // IPv6 first, as the system prefers it.
            if hasV6 {
                for port in UInt16(1)...4 { try network.addClient("2001:db8::10", port) }
            }
            try network.addClient("192.0.2.10", 5_000)
            if hasV6 {
                for port in UInt16(1)...4 { try network.addServer("2001:db8::1", port) }
            }
            try network.addServer("198.51.100.1", 3_478)
            try network.answer()
            while network.client.selectedPath == nil, network.now < .zero + .seconds(5) {
                network.run(for: .milliseconds(1))
            }
            #expect(network.client.selectedPath?.remote.ip.family == .v4)
            selectedAfter.append(network.now - .zero)
        }
        #expect(selectedAfter[0] == .milliseconds(40))
        #expect(selectedAfter[1] - selectedAfter[0] <= .milliseconds(25))
    }
}
