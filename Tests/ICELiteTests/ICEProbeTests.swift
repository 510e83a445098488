import Testing

@testable import ICELite

/// Recovery: rounds of checks while the selected pair is suspected to be dead.
@Suite struct ICEProbeTests {
    private func network(
        _ locals: [String], remotes: [String] = ["198.51.100.1"], seed: UInt64 = 1
    ) throws -> VirtualNetwork {
        var network = try VirtualNetwork(seed: seed)
        for ip in locals { try network.addClient(ip, 5_000) }
        for ip in remotes { try network.addServer(ip, 3_478) }
        try network.answer()
        network.run(until: .zero + .seconds(3))
        network.clientEvents = []
        network.sent = []
        return network
    }

    private func path(_ ip: String, _ port: UInt16 = 5_000) throws -> NetworkPath {
        NetworkPath(local: try address(ip, port), remote: try address("198.51.100.1", 3_478))
    }

    /// Probes as an owner does in an outage: 50 ms apart for half a second, then 100, 200 and 500.
    private func probe(_ network: inout VirtualNetwork, for length: Nanoseconds) {
        let start = network.now
        var interval = Nanoseconds.milliseconds(50)
        while network.now < start + length {
            network.client.probe(now: network.now)
            network.run(for: min(interval, start + length - network.now))
            if network.now - start >= .milliseconds(500) { interval = min(2 * interval, .milliseconds(500)) }
        }
    }

    private func silence(_ network: inout VirtualNetwork, _ local: SocketAddress) {
        network.swallow = { _, path, _ in path.local == local || path.remote == local }
    }

    // MARK: - Answers

    @Test func `another pair that answers first is selected in one round trip`() throws {
        var network = try network(["192.0.2.10"])
        let first = try path("192.0.2.10")
        let fresh = try path("192.0.2.10", 5_001)
        silence(&network, first.local)
        network.client.networkChanged(to: [first.local, fresh.local], now: network.now)
        network.run(for: .seconds(1))
        // While a pair is selected, another socket of its address rests.
        #expect(network.client.selectedPath == first)
        #expect(!network.sent.contains { $0.path == fresh })
        let start = network.now
        network.client.probe(now: start)
        network.run(until: start + .milliseconds(59))
        #expect(network.client.selectedPath == first)
        network.run(until: start + .milliseconds(60))
        #expect(network.client.selectedPath == fresh)
        #expect(network.client.lastAnswerAt == network.now)
        network.run(until: start + .milliseconds(80))
        #expect(network.server.selectedPath == fresh.reversed)
        let values = try network.sent.filter { $0.path == fresh }.map { try ReadMessage($0.bytes).nomination }
        #expect(values == [nil, 3])
        let told = network.clientEvents.filter { $0 != .checkSent(fresh) }
        let trip = Nanoseconds.milliseconds(40)
        #expect(
            told == [
                .pairValid(fresh, roundTrip: trip), .selected(fresh), .probeAnswered(fresh, roundTrip: trip),
            ])
        #expect(network.client.counters.probesAnswered == 1)
    }

    @Test func `the selected pair that answers first ends the probing and is nominated anew`() throws {
        var network = try network(["192.0.2.10", "192.0.2.20"])
        let first = try path("192.0.2.10")
        let start = network.now
        network.client.probe(now: start)
        network.run(until: start + .milliseconds(39))
        #expect(network.clientEvents.isEmpty)
        network.run(until: start + .seconds(1))
        #expect(network.client.selectedPath == first)
        #expect(network.clientEvents == [.probeAnswered(first, roundTrip: .milliseconds(40))])
        #expect(network.client.lastAnswerAt == start + .milliseconds(80))
        #expect(network.sent.map(\.path) == [first, try path("192.0.2.20"), first])
        let values = try network.sent.map { try ReadMessage($0.bytes).nomination }
        #expect(values == [2, nil, 3])
        #expect(network.client.probingSince == nil)
    }

    @Test func `one answer behind many lost checks does not end the probing where another pair may do better`() throws {
        var network = try network(["192.0.2.10", "192.0.2.20"])
        let first = try path("192.0.2.10")
        let second = try path("192.0.2.20")
        network.swallow = { _, _, _ in true }
        probe(&network, for: .milliseconds(300))
        silence(&network, second.local)
        network.client.probe(now: network.now)
        network.run(for: .milliseconds(45))
        #expect(network.client.lastAnswerAt.map { network.now - $0 < .milliseconds(10) } == true)
        network.swallow = { _, _, _ in true }
        probe(&network, for: .milliseconds(200))
        #expect(!network.clientEvents.contains(.probeAnswered(first, roundTrip: .milliseconds(40))))
        silence(&network, first.local)
        probe(&network, for: .milliseconds(100))
        #expect(network.client.selectedPath == second)
        #expect(network.clientEvents.contains(.probeAnswered(second, roundTrip: .milliseconds(40))))
    }

    @Test func `a second answer in a row shows that the selected pair is back`() throws {
        var network = try network(["192.0.2.10", "192.0.2.20"])
        let first = try path("192.0.2.10")
        network.swallow = { _, _, _ in true }
        probe(&network, for: .milliseconds(300))
        silence(&network, try path("192.0.2.20").local)
        probe(&network, for: .milliseconds(110))
        #expect(network.client.selectedPath == first)
        #expect(network.clientEvents.contains(.probeAnswered(first, roundTrip: .milliseconds(40))))
    }

    @Test func `an answer that a later one has overtaken is the second of two, and ends the probing`() throws {
        var network = try network(["192.0.2.10", "192.0.2.20"])
        let first = try path("192.0.2.10")
        network.swallow = { _, _, _ in true }
        let start = network.now
        probe(&network, for: .milliseconds(300))
        let checks = network.sent.filter { $0.path == first && $0.at >= start }.suffix(4)
        #expect(checks.count == 4)
        var isProbing: [Bool] = []
        for check in checks.reversed() {
            let answer = try response(
                to: ReadMessage(check.bytes).transactionID, password: network.serverCredentials.password,
                mapped: first.local)
            _ = network.client.take(answer, first, at: network.now)
            isProbing.append(network.client.probingSince != nil)
        }
        // The newest alone is one behind many that were lost.
        #expect(isProbing == [true, false, false, false])
        #expect(network.client.selectedPath == first)
    }

    @Test func `a selected pair whose nomination came from elsewhere first is nominated again`() throws {
        var network = try network(["192.0.2.10", "192.0.2.20"])
        let first = try path("192.0.2.10")
        let second = try path("192.0.2.20")
        network.client.networkChanged(to: [second.local], now: network.now)
        network.run(for: .seconds(1))
        network.client.networkChanged(to: [second.local, first.local], now: network.now)
        network.run(for: .seconds(3))
        #expect(network.server.selectedPath == second.reversed)
        // The call moves back, and somebody's copy of the check that says so comes from the newer address, and first.
        network.client.networkChanged(to: [first.local], now: network.now)
        network.run(for: .milliseconds(200))
        let nominating = try #require(network.sent.last { $0.path == first })
        #expect(network.client.selectedPath == first)
        _ = network.server.take(nominating.bytes, second.reversed, at: network.now)
        network.client.probe(now: network.now)
        network.run(for: .milliseconds(200))
        #expect(network.server.selectedPath == first.reversed)
    }

    @Test func `while no pair is selected a probe lets none of the addresses wait`() throws {
        var network = try network(["192.0.2.10", "192.0.2.20"])
        let second = try path("192.0.2.20")
        network.swallow = { _, _, _ in true }
        for pair in network.client.generations[0].pairs.indices {
            network.client.generations[0].pairs[pair].isValid = false
        }
        network.client.networkChanged(to: [second.local], now: network.now)
        #expect(network.client.selectedPath == nil)
        network.run(for: .seconds(6))
        let start = network.now
        probe(&network, for: .seconds(6))
        let times = network.sent.filter { $0.at >= start }.map(\.at)
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 <= .milliseconds(500) })
    }

    @Test func `of answers at one instant the first decides and the others move nothing`() throws {
        var network = try network(["192.0.2.10", "192.0.2.20", "192.0.2.30"])
        let first = try path("192.0.2.10")
        let start = network.now
        network.client.probe(now: start)
        var checks: [Datagram] = []
        for step in Int64(0)...4 { checks += drain(&network.client, now: start + .milliseconds(20 * step)) }
        #expect(Set(checks.map(\.path.local.ip)).count == 3)
        let now = start + .milliseconds(100)
        for check in checks where check.path != first {
            let answer = try response(
                to: ReadMessage(check.bytes).transactionID, password: network.serverCredentials.password,
                mapped: check.path.local)
            #expect(network.client.take(answer, check.path, at: now) == .accepted)
        }
        let told = events(&network.client)
        let winner = try #require(checks.first { $0.path != first }).path
        #expect(told.filter { $0 == .selected(winner) }.count == 1)
        #expect(
            told.count {
                if case .probeAnswered = $0 { true } else { false }
            } == 1)
        #expect(network.client.selectedPath == winner)
        #expect(network.client.counters.probesAnswered == 1)
    }

    @Test func `an answer to a check from before the suspicion ends nothing`() throws {
        var network = try network(["192.0.2.10"])
        let first = try path("192.0.2.10")
        network.client.checkNow(network.now)
        let early = try #require(drain(&network.client, now: network.now).first)
        network.client.probe(now: network.now + 1)
        let answer = try response(
            to: ReadMessage(early.bytes).transactionID, password: network.serverCredentials.password,
            mapped: first.local)
        #expect(network.client.take(answer, first, at: network.now + .milliseconds(10)) == .accepted)
        #expect(events(&network.client).isEmpty)
        #expect(network.client.probingSince == network.now + 1)
        // The round's own check does.
        let late = try #require(drain(&network.client, now: network.now + .milliseconds(60)).first)
        let second = try response(
            to: ReadMessage(late.bytes).transactionID, password: network.serverCredentials.password,
            mapped: first.local)
        #expect(network.client.take(second, first, at: network.now + .milliseconds(70)) == .accepted)
        #expect(events(&network.client) == [.probeAnswered(first, roundTrip: .milliseconds(10))])
        #expect(network.client.probingSince == nil)
    }

    @Test func `a controlled end goes on probing when another pair than the selected one answers`() throws {
        var network = FullAgentNetwork(seed: 3)
        try network.add(.left, "192.0.2.1", 1_000)
        try network.add(.right, "198.51.100.1", 2_000)
        try network.add(.right, "198.51.100.2", 2_000)
        network.introduce()
        network.run(for: .seconds(2))
        let selected = try #require(network.right.selectedPath)
        network.swallow = { _, path, _ in path.local == selected.local || path.remote == selected.local }
        network.events[.right] = []
        for _ in 0..<10 {
            network.right.probe(now: network.now)
            network.run(for: .milliseconds(50))
        }
        #expect(network.right.probingSince != nil)
        #expect(network.right.selectedPath == selected)
        #expect(
            network.events[.right]?.contains {
                if case .probeAnswered = $0 { true } else { false }
            } == false)
        network.swallow = { _, _, _ in false }
        network.run(for: .milliseconds(1_100))
        #expect(network.right.probingSince == nil)
    }

    // MARK: - Bounds

    @Test func `64 silent pairs get 60 checks in the first second and 40 in each after it`() throws {
        let locals = (1...8).map { "192.0.2.\($0)" }
        let remotes = (1...8).map { "198.51.100.\($0)" }
        var network = try network(locals, remotes: remotes)
        #expect(network.client.generations[0].pairs.count == 64)
        let selected = try #require(network.client.selectedPath)
        network.swallow = { _, _, _ in true }
        let start = network.now
        probe(&network, for: .seconds(10))
        let perSecond = (0..<10).map { second in
            network.sent.count { (start + .seconds(second)..<start + .seconds(second + 1)).contains($0.at) }
        }
        #expect(perSecond[0] <= 60)
        #expect(perSecond[0] > 40)
        #expect(perSecond.dropFirst().allSatisfy { $0 <= 40 }, "\(perSecond)")
        // Nobody starves: the selected pair each round, and one of each local address.
        let round = network.sent.filter { $0.at < start + .milliseconds(500) }
        #expect((9...10).contains(round.count { $0.path == selected }))
        let locations = Set(network.sent.filter { $0.at < start + .seconds(2) }.map(\.path.local))
        #expect(locations.count == 8)
    }

    @Test func `a round of two interfaces in two families is nine checks at most, and none nominates`() throws {
        var network = try VirtualNetwork(seed: 5)
        for ip in ["2001:db8::1", "192.0.2.10", "2001:db8:1::1", "192.0.2.20"] { try network.addClient(ip, 5_000) }
        for ip in ["2001:db8:9::1", "198.51.100.1", "198.51.100.2"] { try network.addServer(ip, 3_478) }
        try network.answer()
        network.run(until: .zero + .seconds(3))
        let selected = try #require(network.client.selectedPath)
        let value = network.client.generations[0].nominationValue
        network.swallow = { _, _, _ in true }
        network.run(for: .milliseconds(100))
        network.sent = []
        network.client.probe(now: network.now)
        network.run(for: .milliseconds(400))
        let asked = network.sent.map(\.path)
        #expect(asked.first == selected)
        #expect(Set(asked.map(\.local.ip)).count == 4)
        let pairs = network.client.generations[0].pairs
        let others = Set(asked).subtracting([selected])
        let valid = pairs.filter { $0.isValid && others.contains($0.path) }
        let fresh = pairs.filter { !$0.isValid && others.contains($0.path) }
        #expect(valid.count <= ICELimits.probedPairs)
        #expect(Set(fresh.map(\.path.local)).count == fresh.count)
        for sent in network.sent {
            let message = try ReadMessage(sent.bytes)
            #expect(message.nomination == (sent.path == selected ? value : nil))
            #expect(message.useCandidate == (sent.path == selected))
        }
    }

    @Test func `rounds asked for too often are paced and starve no pair`() throws {
        var network = try network(["192.0.2.10", "192.0.2.20", "192.0.2.30"])
        network.swallow = { _, _, _ in true }
        let start = network.now
        for _ in 0..<100 {
            network.client.probe(now: network.now)
            network.run(for: .milliseconds(10))
        }
        let count = network.sent.count { $0.at < start + .seconds(1) }
        #expect((45...51).contains(count), "\(count)")
        for ip in ["192.0.2.10", "192.0.2.20", "192.0.2.30"] {
            #expect(network.sent.count { $0.path.local.ip.description == ip } >= 10, "\(ip)")
        }
        #expect(network.client.counters.probeRounds == 100)
    }

    @Test func `an outage that begins again within five seconds has no second burst`() throws {
        var network = try network((1...6).map { "192.0.2.\($0)" })
        network.swallow = { _, _, _ in true }
        probe(&network, for: .milliseconds(1_200))
        network.swallow = { _, _, _ in false }
        network.run(for: .seconds(4))
        #expect(network.client.probingSince == nil)
        network.swallow = { _, _, _ in true }
        var start = network.now
        probe(&network, for: .milliseconds(500))
        #expect(network.sent.count { $0.at >= start } <= 21)
        network.swallow = { _, _, _ in false }
        network.run(for: .seconds(6))
        network.swallow = { _, _, _ in true }
        start = network.now
        probe(&network, for: .milliseconds(500))
        #expect(network.sent.count { $0.at >= start } > 22)
    }

    @Test func `probes leave the pairs of an outstanding restart their turn`() throws {
        var network = FullAgentNetwork(seed: 4)
        for host in 1...6 { try network.add(.left, "192.0.2.\(host)", 1_000) }
        try network.add(.right, "198.51.100.1", 2_000)
        network.introduce(supportsRenomination: true)
        network.run(for: .seconds(3))
        network.swallow = { _, _, _ in true }
        let start = network.now
        network.left.probe(now: start)
        var randomness = Randomness.seeded(77)
        network.left.restart(credentials: .random(using: &randomness), now: start)
        network.right.restart(credentials: .random(using: &randomness), isAnswer: true, now: start)
        network.introduce(supportsRenomination: true)
        network.left.addRemoteCandidate(network.right.localCandidates[0], now: start)
        let ufrag = try #require(network.left.generations.last?.remote?.ufrag)
        for _ in 0..<10 {
            network.left.probe(now: network.now)
            network.run(for: .milliseconds(50))
        }
        let checks = try network.sent.filter { $0.from == .left && $0.at >= start }.map { try ReadMessage($0.bytes) }
        let restarted = checks.count { $0.username.starts(with: ufrag) }
        #expect(restarted >= 6, "\(restarted) of \(checks.count)")
        #expect(restarted < checks.count - 6)
    }
}
