import Testing

@testable import ICELite

/// Descriptions and datagrams that mean no good: set-up keeps its bound, junk moves counters only.
@Suite struct HostileScenarioTests {
    private let timing = ICETiming()

    /// How the addresses that are not the peer's behave.
    enum Hostility: CaseIterable {
        case silent, refusing, forgingConflicts, forgingSuccess, echoing
    }

    /// 31 hostile candidates of higher priority and the good one last: the most an agent keeps.
    private func network(_ hostility: Hostility, seed: UInt64) throws -> VirtualNetwork {
        var network = try VirtualNetwork(seed: seed)
        try network.addClient("192.0.2.10", 5_000)
        for port in UInt16(1)..<UInt16(ICELimits.remoteCandidates) {
            let hostile = try address("203.0.113.66", port)
            network.client.addRemoteCandidate(
                ICECandidate(foundation: "1", priority: .max - UInt32(port), address: hostile, kind: .host), now: .zero)
            if hostility == .refusing { network.refused.insert(hostile) }
        }
        network.swallow = { _, path, _ in path.remote.ip.description == "203.0.113.66" }
        try network.addServer("198.51.100.1", 3_478)
        #expect(network.client.remoteCandidates.count == ICELimits.remoteCandidates)
        try network.answer()
        return network
    }

    @Test(arguments: Hostility.allCases)
    func `32 candidates of which one is good are set up within their turns and a round trip`(
        hostility: Hostility
    ) throws {
        var network = try network(hostility, seed: 32)
        // Its first check is the last of 32, Ta apart.
        let bound = timing.firstCheckPacing * Int64(ICELimits.remoteCandidates - 1) + 2 * network.delay
        var answered = 0
        while network.now < .zero + bound {
            network.run(for: .milliseconds(1))
            for sent in network.sent[answered...] where sent.path.remote.port != 3_478 {
                let id = try ReadMessage(sent.bytes).transactionID
                let forged: [UInt8]? =
                    switch hostility {
                    case .silent, .refusing: nil
                    case .forgingConflicts: try response(to: id, password: nil, error: .roleConflict)
                    case .forgingSuccess: try response(to: id, mapped: sent.path.local)
                    case .echoing: sent.bytes
                    }
                if let forged { #expect(network.client.take(forged, sent.path, at: network.now) != .accepted) }
            }
            answered = network.sent.count
            if network.now < .zero + bound { #expect(network.client.selectedPath == nil) }
        }
        #expect(network.client.selectedPath?.remote.port == 3_478)
        #expect(network.client.role == .controlling)
        // And none is checked any more.
        let before = network.sent.count
        network.run(for: .seconds(30))
        #expect(network.sent[before...].allSatisfy { $0.path.remote.port == 3_478 })
        #expect(network.client.selectedPath?.remote.port == 3_478)
    }

    @Test func `a hostile description beyond 32 candidates costs no more, and the good one among the 32 is up`() throws
    {
        var network = try network(.silent, seed: 33)
        for port in UInt16(1)...500 {
            network.client.addRemoteCandidate(
                ICECandidate(host: try address("203.0.113.67", port), localPreference: 65_535), now: .zero)
        }
        #expect(network.client.counters.candidatesIgnored == 500)
        network.run(
            until: .zero + timing.firstCheckPacing * Int64(ICELimits.remoteCandidates - 1) + 2 * network.delay)
        #expect(network.client.selectedPath?.remote.port == 3_478)
    }

    @Test func `between full ends the good pair is triggered and does not wait for the hostile ones`() throws {
        var network = FullAgentNetwork(seed: 34)
        try network.add(.left, "192.0.2.1", 1_000)
        // The controlled end was given 31 hostile candidates, and checks the good one last on its own.
        for port in UInt16(1)..<UInt16(ICELimits.remoteCandidates) {
            network.right.addRemoteCandidate(
                ICECandidate(
                    foundation: "1", priority: .max - UInt32(port), address: try address("203.0.113.66", port),
                    kind: .host), now: .zero)
        }
        network.swallow = { _, path, _ in path.remote.ip.description == "203.0.113.66" }
        try network.add(.right, "198.51.100.1", 2_000)
        network.introduce()
        // Check, triggered check past the pacing, its answer: and the nomination is there by then.
        network.run(until: .zero + network.delay + timing.pacing + 2 * network.delay)
        #expect(network.right.selectedPath?.remote == (try address("192.0.2.1", 1_000)))
        network.run(for: network.delay)
        #expect(network.left.selectedPath != nil)
    }

    // MARK: - Junk

    /// Everything of a full agent that a datagram could change, but for counters and answers that were drained.
    private struct Footprint: Equatable {
        var role: ICERole
        var tieBreaker: UInt64
        var nextRandom: UInt64
        var candidates: [[ICECandidate]]
        var pairs: [String]
        var selected: NetworkPath?
        var deadline: Instant
        var events: [ICEFullAgent.Event]
        var times: [Instant?]
        var roundTrip: Nanoseconds?
        var generations: [UInt32]

        init(_ agent: ICEFullAgent) {
            var randomness = agent.randomness
            role = agent.role
            tieBreaker = agent.tieBreaker
            nextRandom = randomness.next()
            candidates = [
                agent.localCandidates, agent.serverReflexiveCandidates, agent.reflexiveCandidates,
                agent.remoteCandidates,
            ]
            pairs = agent.generations.flatMap(\.pairs).map { "\($0)" } + agent.generations.map { "\($0.outstanding)" }
            selected = agent.selectedPath
            deadline = agent.nextDeadline
            events = agent.events
            times = [
                agent.lastPairAddedAt, agent.firstCheckAt, agent.firstResponseAt, agent.paceAt, agent.probingSince,
            ]
            roundTrip = agent.roundTrip
            generations = agent.generations.map(\.number)
        }
    }

    private func junk(_ kind: Int, _ id: STUNTransactionID, using randomness: inout Randomness) throws -> [UInt8] {
        switch kind {
        case 0: return randomness.bytes(Int.random(in: 0...200, using: &randomness))
        case 1:
            // A header that is right, and then anything.
            let body = randomness.bytes(4 * Int.random(in: 0...40, using: &randomness))
            return [0, 1, 0, UInt8(body.count), 0x21, 0x12, 0xA4, 0x42] + randomness.bytes(12) + body
        case 2:
            var bytes = try Request(useCandidate: true).bytes()
            bytes[Int.random(in: 0..<bytes.count, using: &randomness)] ^= 1
            return bytes
        case 3: return try Request(password: "someone else's password", useCandidate: true, nomination: 9).bytes()
        case 4: return try Request(username: "Other:RemU").bytes()
        case 5: return try response(to: id, password: "some other password 22", mapped: try vectorPath().local)
        case 6: return try response(to: .random(using: &randomness), mapped: try vectorPath().local)
        default: return try response(to: id, password: nil, error: .roleConflict)
        }
    }

    /// Answers to strangers among what leaves. A request bent where no HMAC covers it is its peer's still: its 487 is signed.
    private func unsignedAnswers(_ agent: inout ICEFullAgent, at now: Instant) throws -> Int {
        try drain(&agent, now: now).count { try ReadMessage($0.bytes).integrity == .none }
    }

    @Test func `a full agent takes 100,000 junk datagrams, selected or checking, and only counters move`() throws {
        for isSelected in [false, true] {
            var agent = try vectorAgent(.controlling)
            agent.addRemoteCandidate(ICECandidate(host: try vectorPath().remote, localPreference: 1), now: .zero)
            if isSelected { for _ in 0..<2 { try agent.answerChecks(at: .zero) } }
            let now = Instant.zero + (isSelected ? .seconds(6) : .milliseconds(100))
            // One check is outstanding: its id is known to who listens.
            let check = try #require(drain(&agent, now: now).last)
            let id = try ReadMessage(check.bytes).transactionID
            #expect((agent.selectedPath != nil) == isSelected)
            _ = events(&agent)
            let before = Footprint(agent)
            let sizes = agent.tableSizes
            var randomness = Randomness.seeded(100)
            var kinds: [[[UInt8]]] = []
            for kind in 0..<8 {
                kinds.append(try (0..<64).map { _ in try junk(kind, id, using: &randomness) })
            }
            let paths = [try vectorPath(), try vectorPath(7), try vectorPath().reversed]
            var dropped = 0
            var answers = 0
            for turn in 0..<50_000 {
                let bytes = kinds[turn % 8][turn / 8 % 64]
                if case .dropped = agent.take(bytes, paths[turn % 3], at: now) { dropped += 1 }
                if turn % 16 == 0 { answers += try unsignedAnswers(&agent, at: now) }
            }
            answers += try unsignedAnswers(&agent, at: now)
            #expect(answers > 0 && Int64(answers) <= ICELimits.errorResponsesPerSecond)
            #expect(dropped == 50_000)
            #expect(Footprint(agent) == before)
            #expect(agent.tableSizes == sizes)
            #expect(ICEDropReason.allCases.reduce(0) { $0 + agent.counters[$1] } == 50_000)
            for reason in [
                ICEDropReason.malformed, .badFingerprint, .unauthenticated, .unknownTransaction, .errorResponse,
                .unknownLocalAddress,
            ] {
                #expect(agent.counters[reason] > 0, "\(reason)")
            }
            #expect(agent.counters.requestsRefused + agent.counters.errorsSuppressed > 8_000)
            // The check is answered all the same.
            let answer = try response(to: id, mapped: try vectorPath().local)
            #expect(agent.take(answer, check.path, at: now) == .accepted)
        }
    }

    @Test func `a full agent refuses ten times a second and never at greater length than it was asked`() throws {
        var agent = try vectorAgent(.controlling)
        // No user name: 28 bytes, and the 400 would have 48.
        let bare = try written { (out) throws(STUNError) in
            let writer = try STUNWriter(.request, transactionID: STUNTransactionID(high: 1, low: 1), into: &out)
            try writer.appendFingerprint(into: &out)
        }
        #expect(agent.take(bare, try vectorPath()) == .dropped(.badRequest))
        #expect(drain(&agent, now: .zero).isEmpty)
        #expect(agent.counters.errorsSuppressed == 1)
        #expect(agent.nextDeadline == .never)
        let wrong = try Request(password: "someone else's password").bytes()
        for second in Int64(1)...5 {
            let now = Instant.zero + .seconds(10 * second)
            var answers: [Datagram] = []
            for _ in 0..<1_000 {
                _ = agent.take(wrong, try vectorPath(), at: now)
                answers += drain(&agent, now: now)
            }
            #expect(Int64(answers.count) == ICELimits.errorResponsesPerSecond)
            #expect(answers.allSatisfy { $0.bytes.count <= wrong.count })
        }
        // Whoever authenticates is answered all the same, and checked.
        let now = Instant.zero + .seconds(50)
        #expect(agent.take(try Request(controlled: true).bytes(), try vectorPath(), at: now) == .accepted)
        #expect(drain(&agent, now: now).count == 2)
    }
}
