import Testing

@testable import ICELite

/// The client's agent and the lite one, against each other in virtual time.
@Suite struct ICEAgentsTests {
    private func network(seed: UInt64 = 1) throws -> VirtualNetwork {
        var network = try VirtualNetwork(seed: seed)
        try network.addClient("192.0.2.10", 5_000)
        try network.addServer("198.51.100.1", 3_478)
        return network
    }

    private func path() throws -> NetworkPath {
        NetworkPath(local: try address("192.0.2.10", 5_000), remote: try address("198.51.100.1", 3_478))
    }

    @Test func `one round trip selects, a second confirms the tuple and tells the server`() throws {
        var network = try network()
        try network.answer()
        let path = try path()
        let back = NetworkPath(local: path.remote, remote: path.local)
        network.run(until: .zero + .milliseconds(19))
        #expect(network.clientEvents == [.checkSent(path)])
        network.run(until: .zero + .milliseconds(40))
        #expect(
            network.clientEvents == [
                .checkSent(path), .pairValid(path, roundTrip: .milliseconds(40)), .selected(path),
            ])
        #expect(network.serverEvents == [.tupleAuthenticated(back), .selected(back)])
        #expect(network.server.isAuthenticated(back))
        #expect(!network.server.isConfirmed(back))
        network.run(until: .zero + .milliseconds(60))
        #expect(network.server.isConfirmed(back))
        #expect(network.server.highestNomination == 2)
        network.run(until: .zero + .seconds(3))
        #expect(network.client.counters.checksSent == 2)
        #expect(network.client.roundTrip == .milliseconds(40))
        #expect(network.client.firstCheckAt == .zero)
        #expect(network.client.firstResponseAt == .zero + .milliseconds(40))
        let checks = try network.sent.map { try ReadMessage($0.bytes) }
        #expect(checks.map(\.nomination) == [1, 2])
        #expect(checks.map(\.useCandidate) == [true, true])
        #expect(checks[0].routabilityToken == 0)
        #expect(checks[1].routabilityToken != 0)
        #expect(checks.allSatisfy { $0.hasFingerprint && $0.hasValidFingerprint && $0.iceControlling != nil })
    }

    @Test(arguments: 1...40)
    func `a lossy path is selected and confirmed`(seed: UInt64) throws {
        var network = try network(seed: seed)
        network.loss = 0.3
        try network.addClient("2001:db8::10", 5_000)
        try network.addServer("2001:db8::1", 3_478)
        try network.answer()
        network.run(until: .zero + .seconds(8))
        let selected = try #require(network.client.selectedPath, "seed \(seed)")
        let back = NetworkPath(local: selected.remote, remote: selected.local)
        #expect(network.server.selectedPath == back, "seed \(seed)")
        #expect(network.server.isConfirmed(back), "seed \(seed)")
        // And consent outlives it.
        network.run(until: .zero + .seconds(60))
        #expect(network.client.selectedPath == selected, "seed \(seed)")
    }

    @Test func `the same seed gives the same bytes`() throws {
        var all: [[[UInt8]]] = []
        for _ in 0..<2 {
            var network = try network(seed: 7)
            network.loss = 0.2
            try network.answer()
            network.run(until: .zero + .seconds(20))
            all.append(network.sent.map(\.bytes))
        }
        #expect(all[0] == all[1])
    }

    @Test func `without an answer the checks double to the cap and go on`() throws {
        var network = try network()
        network.swallow = { _, _, _ in true }
        try network.answer()
        network.run(until: .zero + .seconds(3))
        #expect(
            network.sent.map { $0.at } == [0, 250, 750, 1_250, 1_750, 2_250, 2_750].map { .zero + .milliseconds($0) })
        let outcome = network.client.outcome
        #expect(outcome.pairs == 1)
        #expect(outcome.checksSent == 7)
        #expect(outcome.everyPairRefused == nil)
        #expect(!outcome.onlyErrorResponses)
        #expect(outcome.remoteIsComplete)
        #expect(outcome.firstResponseAt == nil)
        #expect(outcome.lastPairAddedAt == .zero)
    }

    @Test func `first checks go 20 ms apart and the families take turns`() throws {
        var network = try VirtualNetwork(seed: 1)
        network.swallow = { _, _, _ in true }
        for port in UInt16(1)...2 {
            try network.addClient("192.0.2.10", port)
            try network.addClient("2001:db8::10", port)
        }
        try network.addServer("198.51.100.1", 9)
        try network.addServer("2001:db8::1", 9)
        try network.answer()
        network.run(until: .zero + .milliseconds(100))
        #expect(network.sent.map { $0.at } == [0, 20, 40, 60].map { .zero + .milliseconds($0) })
        #expect(network.sent.map { $0.path.remote.ip.family } == [.v4, .v6, .v4, .v6])
        #expect(Set(network.clientEvents).count == 4)
    }

    @Test func `refused sends on every pair are told, and one answer takes it back`() throws {
        var network = try network()
        try network.addServer("198.51.100.2", 3_478)
        network.refused = [try address("198.51.100.1", 3_478)]
        network.swallow = { _, _, _ in true }
        try network.answer()
        network.run(until: .zero + .seconds(1))
        #expect(network.client.outcome.everyPairRefused == nil)
        network.refused.insert(try address("198.51.100.2", 3_478))
        network.run(until: .zero + .seconds(2))
        #expect(network.client.outcome.everyPairRefused == ICESendFailure(errno: 111))
        // ICMP was transient: the pair is still being checked, and comes up.
        network.refused = []
        network.swallow = { _, _, _ in false }
        network.run(until: .zero + .seconds(3))
        #expect(network.client.outcome.everyPairRefused == nil)
        #expect(network.client.selectedPath != nil)
    }

    @Test func `a wrong password gives error responses alone`() throws {
        var network = try network()
        try network.answer(password: "wrongPasswordwrongPassword")
        network.run(until: .zero + .seconds(2))
        #expect(network.client.outcome.onlyErrorResponses)
        #expect(network.client.outcome.everyPairRefused == nil)
        #expect(network.client.selectedPath == nil)
        #expect(network.server.tupleCount == 0)
        #expect(network.server.counters[.unauthenticated] > 0)
    }

    @Test func `behind a NAT the mapped address is learned and sends leave from the base`() throws {
        var network = try network()
        let mapped = try address("203.0.113.5", 40_000)
        network.mapping = [try address("192.0.2.10", 5_000): mapped]
        try network.answer()
        network.run(until: .zero + .seconds(1))
        let path = try path()
        #expect(network.client.selectedPath == path)
        #expect(network.client.reflexiveCandidates.map(\.address) == [mapped])
        #expect(network.server.selectedPath == NetworkPath(local: path.remote, remote: mapped))
        // A rebinding moves the server at the next check, and the new tuple is confirmed by the token.
        let moved = try address("203.0.113.5", 40_001)
        network.mapping = [path.local: moved]
        network.run(until: .zero + .seconds(8))
        let back = NetworkPath(local: path.remote, remote: moved)
        #expect(network.server.selectedPath == back)
        #expect(network.server.isConfirmed(back))
    }

    // MARK: - Nomination towards other peers

    @Test func `another lite server is nominated in the first check of a single pair`() throws {
        var network = try network()
        try network.answer(isOurKind: false)
        network.run(until: .zero + .seconds(1))
        let checks = try network.sent.map { try ReadMessage($0.bytes) }
        #expect(checks.count == 1)
        #expect(checks[0].useCandidate)
        #expect(checks[0].nomination == nil)
        #expect(checks[0].routabilityToken == nil)
        #expect(network.client.selectedPath != nil)
    }

    @Test func `another lite server is nominated after the first answer when there are more pairs`() throws {
        var network = try network()
        try network.addServer("198.51.100.2", 3_478)
        try network.answer(isOurKind: false)
        network.run(until: .zero + .seconds(20))
        let checks = try network.sent.map { try ReadMessage($0.bytes) }
        let selected = try #require(network.client.selectedPath)
        #expect(checks.prefix(2).allSatisfy { !$0.useCandidate })
        // The nominating check, and consent checks keep it.
        #expect(checks.dropFirst(2).allSatisfy { $0.useCandidate })
        #expect(network.sent.dropFirst(2).allSatisfy { $0.path == selected })
        #expect(network.server.selectedPath == NetworkPath(local: selected.remote, remote: selected.local))
    }

    @Test func `a full peer is selected when the nominating check is answered`() throws {
        var network = try network()
        try network.answer(isLite: false, isOurKind: false)
        network.run(until: .zero + .milliseconds(79))
        #expect(network.client.selectedPath == nil)
        #expect(!network.client.outcome.remoteIsComplete)
        network.run(until: .zero + .milliseconds(80))
        #expect(network.client.selectedPath != nil)
        network.client.remoteEndOfCandidates(now: network.now)
        #expect(network.client.outcome.remoteIsComplete)
    }

    // MARK: - Consent

    @Test func `consent checks come every 4 to 6 seconds, each a transaction of its own`() throws {
        var network = try network()
        try network.answer()
        network.run(until: .zero + .seconds(300))
        let times = network.sent.map { $0.at }.dropFirst()
        for (earlier, later) in zip(times, times.dropFirst()) {
            #expect(((.seconds(4))...(.seconds(6))).contains(later - earlier))
        }
        #expect(times.count > 48)
        let ids = try network.sent.map { try ReadMessage($0.bytes).transactionID }
        #expect(Set(ids).count == ids.count)
        #expect(network.server.tupleCount == 1)
    }

    @Test func `the lite end loses consent 30 s after the last request, too`() throws {
        var network = try network()
        try network.answer()
        network.run(until: .zero + .seconds(20))
        let path = try path()
        network.swallow = { toServer, _, _ in !toServer }
        network.run(for: .seconds(100))
        let back = NetworkPath(local: path.remote, remote: path.local)
        #expect(network.serverEvents.last == .consentExpired(back))
        #expect(network.server.selectedPath == nil)
        #expect(!network.server.isAuthenticated(back))
    }

    @Test func `nothing is sent after the end`() throws {
        var network = try network()
        try network.answer()
        network.run(until: .zero + .milliseconds(30))
        network.client.end()
        network.server.end()
        let count = network.sent.count
        network.run(until: .zero + .seconds(60))
        #expect(network.sent.count == count)
        #expect(network.client.nextDeadline == .never)
        #expect(network.server.nextDeadline == .never)
        let request = try Request().bytes()
        let verdict = network.client.take(request, try path(), at: network.now)
        #expect(verdict == .dropped(.ended))
        #expect(drain(&network.client, now: network.now).isEmpty)
    }
}
