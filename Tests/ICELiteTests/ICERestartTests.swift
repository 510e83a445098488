// The names of cases keep their ids.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Testing

@testable import ICELite

/// Restarts: two generations side by side (RFC 8445 §2.4, §9; RFC 8838 §8).
@Suite struct ICERestartTests {
    private func connected(seed: UInt64 = 1) throws -> (network: FullAgentNetwork, path: NetworkPath) {
        var network = FullAgentNetwork(seed: seed)
        try network.add(.left, "192.0.2.1", 1_000)
        try network.add(.right, "198.51.100.1", 2_000)
        network.introduce()
        network.run(until: .zero + .seconds(1))
        let path = try #require(network.left.selectedPath)
        network.events = [.left: [], .right: []]
        return (network, path)
    }

    private func fresh(_ seed: UInt64) -> ICECredentials {
        var randomness = Randomness.seeded(1_000 + seed)
        return ICECredentials.random(using: &randomness)
    }

    /// Names every candidate of each side to the other, of the newest generation.
    private func signal(_ network: inout FullAgentNetwork) {
        for candidate in network.left.localCandidates { network.right.addRemoteCandidate(candidate, now: network.now) }
        for candidate in network.right.localCandidates { network.left.addRemoteCandidate(candidate, now: network.now) }
    }

    @Test func `media stays on the old pair until the new generation has one`() throws {
        var (network, path) = try connected()
        let old = network.left.credentials
        network.left.restart(credentials: fresh(1), now: network.now)
        #expect(network.left.isRestarting)
        network.run(for: .seconds(40))
        // No answer yet: consent of the old pair is kept.
        #expect(network.left.selectedPath == path)
        #expect(network.left.credentials == old)
        network.right.restart(credentials: fresh(2), now: network.now)
        network.introduce()
        let start = network.now
        signal(&network)
        network.run(until: start + .milliseconds(79))
        #expect(network.left.selectedPath == path)
        #expect(network.left.isRestarting)
        network.run(until: start + .milliseconds(80))
        #expect(!network.left.isRestarting)
        #expect(network.left.credentials == fresh(1))
        #expect(network.left.selectedPath == path)
        // The same path: told as a restart, not as another selection.
        #expect(network.events[.left]?.contains(.restarted(path)) == true)
        #expect(network.events[.left]?.contains(.selected(path)) == false)
        #expect(network.right.credentials == fresh(2))
        network.run(for: .seconds(60))
        #expect(network.left.selectedPath == path)
        #expect(network.left.retired == nil)
        #expect(network.right.retired == nil)
    }

    @Test func `ICE_24 checks are judged by the ufrag they carry, and late candidates stay with their generation`()
        throws
    {
        var agent = try vectorAgent(.controlled)
        let path = try vectorPath()
        _ = agent.take(try Request(useCandidate: true).bytes(), path)
        try agent.answerChecks(at: .zero)
        #expect(agent.selectedPath == path)

        let at = { (milliseconds: Int64) in Instant.zero + .milliseconds(1_000 + milliseconds) }
        agent.restart(credentials: try credentials("LocU2", "secondLocalPassword22222"), now: at(0))
        agent.setRemote(
            credentials: try credentials("RemU2", "secondPeerPassword222222"), isLite: false,
            supportsRenomination: false, now: at(0))
        // t=5: a check of the old generation is answered, signed with the old password; the old pair stays.
        #expect(agent.take(try Request(id: 2).bytes(), path, at: at(5)) == .accepted)
        let answer = try ReadMessage(try #require(drain(&agent, now: at(5)).first).bytes)
        #expect(answer.verifies(with: STUNKey(password: "VerySecretLocalPwd123456")))
        #expect(agent.selectedPath == path)
        // t=10: a candidate of the old generation makes no pair of the new one, and no check.
        var late = ICECandidate(host: try address("192.0.2.77", 7), localPreference: 9)
        late.ufrag = "RemU"
        agent.addRemoteCandidate(late, now: at(10))
        #expect(agent.generations[1].pairs.isEmpty)
        #expect(drain(&agent, now: at(10)).isEmpty)
        // One of a generation nobody knows is ignored.
        late.ufrag = "Stranger"
        let ignored = agent.counters.candidatesIgnored
        agent.addRemoteCandidate(late, now: at(11))
        #expect(agent.counters.candidatesIgnored == ignored + 1)
        // t=60: a check of the new generation, from another address.
        let newPath = try vectorPath(3_000)
        let request = try Request(
            username: "LocU2:RemU2", password: "secondLocalPassword22222", id: 3, useCandidate: true
        ).bytes()
        #expect(agent.take(request, newPath, at: at(60)) == .accepted)
        let sent = drain(&agent, now: at(60))
        #expect(try ReadMessage(sent[0].bytes).verifies(with: STUNKey(password: "secondLocalPassword22222")))
        #expect(try ReadMessage(sent[1].bytes).username == Array("RemU2:LocU2".utf8))
        #expect(agent.selectedPath == path)
        // t=120: its pair answers: media moves, and the old generation is forgotten.
        let id = try ReadMessage(sent[1].bytes).transactionID
        let success = try response(to: id, password: "secondPeerPassword222222", mapped: path.local)
        #expect(agent.take(success, newPath, at: at(120)) == .accepted)
        #expect(agent.selectedPath == newPath)
        #expect(events(&agent).suffix(2) == [.restarted(newPath), .selected(newPath)])
        #expect(agent.hasPair(path))
        // Its checks are answered for three seconds, then they are strangers'.
        #expect(agent.take(try Request(id: 4).bytes(), path, at: at(3_119)) == .accepted)
        #expect(drain(&agent, now: at(3_119)).count == 1)
        #expect(agent.take(try Request(id: 5).bytes(), path, at: at(3_120)) == .dropped(.unauthenticated))
        #expect(!agent.hasPair(path))
        #expect(agent.selectedPath == newPath)
    }

    @Test func `a check with the peer's next ufrag is answered and nominates before its restart's offer is here`()
        throws
    {
        var agent = try vectorAgent(.controlled)
        let at = { (milliseconds: Int64) in Instant.zero + .milliseconds(milliseconds) }
        _ = agent.take(try Request(useCandidate: true).bytes(), try vectorPath())
        try agent.answerChecks(at: .zero)
        // A browser's new socket: our old half, its new one.
        let newPath = try vectorPath(3_000)
        let early = try Request(username: "LocU:RemU2", id: 2, useCandidate: true).bytes()
        #expect(agent.take(early, newPath, at: at(10)) == .accepted)
        let sent = drain(&agent, now: at(10))
        let answer = try ReadMessage(try #require(sent.first).bytes)
        #expect(answer.messageClass == .success && answer.verifies(with: CaseEnd.localKey))
        #expect(agent.hasPair(newPath))
        #expect(agent.counters.foreignUsernames == 1)
        // Once the offer has named it, it is foreign no more.
        agent.restart(credentials: try credentials("LocU2", "secondLocalPassword22222"), now: at(20))
        agent.setRemote(
            credentials: try credentials("RemU2", "secondPeerPassword222222"), isLite: false,
            supportsRenomination: false, now: at(20))
        #expect(agent.take(early, newPath, at: at(30)) == .accepted)
        #expect(agent.counters.foreignUsernames == 1)
    }

    @Test func `while two generations meet, our own half of USERNAME decides`() throws {
        var agent = try vectorAgent(.controlled)
        agent.restart(credentials: try credentials("LocU2", "secondLocalPassword22222"), now: .zero)
        #expect(agent.take(try Request(username: "LocU:RemU2").bytes(), try vectorPath()) == .accepted)
        let mixed = try Request(username: "LocU2:RemU", password: "secondLocalPassword22222").bytes()
        #expect(agent.take(mixed, try vectorPath()) == .accepted)
        agent.abandonRestart()
        #expect(agent.take(mixed, try vectorPath()) == .dropped(.unauthenticated))
    }

    @Test func `a second restart takes the place of the outstanding one, and an abandoned one leaves nothing`() throws {
        var (network, path) = try connected()
        network.left.restart(credentials: fresh(1), now: network.now)
        network.left.restart(credentials: fresh(2), now: network.now)
        #expect(network.left.generations.count == 2)
        #expect(network.left.generations[1].credentials == fresh(2))
        network.left.abandonRestart()
        network.left.abandonRestart()
        #expect(!network.left.isRestarting)
        network.run(for: .seconds(60))
        #expect(network.left.selectedPath == path)
        // And the next one works.
        network.left.restart(credentials: fresh(3), now: network.now)
        network.right.restart(credentials: fresh(4), now: network.now)
        network.introduce()
        signal(&network)
        network.run(for: .seconds(1))
        #expect(network.left.credentials == fresh(3))
        #expect(network.right.credentials == fresh(4))
    }

    @Test func `a hundred restarts leave no growth`() throws {
        var (network, path) = try connected()
        network.run(for: .seconds(10))
        let sizes = network.left.tableSizes.prefix(5)
        for round in UInt64(1)...100 {
            network.left.restart(credentials: fresh(2 * round), now: network.now)
            network.right.restart(credentials: fresh(2 * round + 1), now: network.now)
            network.introduce()
            signal(&network)
            network.run(for: .seconds(1))
            #expect(network.left.credentials == fresh(2 * round))
        }
        network.run(for: .seconds(10))
        #expect(network.left.selectedPath == path)
        #expect(network.left.tableSizes.prefix(5) == sizes)
        #expect(network.left.role == .controlling)
        #expect(network.left.counters.restarts == 100)
    }

    @Test func `the answer of a restart needs new credentials`() throws {
        var (network, _) = try connected()
        let same = network.right.credentials
        network.left.restart(credentials: fresh(1), now: network.now)
        network.left.setRemote(credentials: same, isLite: false, supportsRenomination: false, now: network.now)
        #expect(network.left.generations[1].remote == nil)
    }

    @Test func `candidates ahead of the answer stay only if they are of its generation`() throws {
        var agent = try vectorAgent(.controlling)
        agent.restart(credentials: try credentials("LocU2", "secondLocalPassword22222"), now: .zero)
        for (port, ufrag) in [(UInt16(1), "RemU2"), (2, "Foreign"), (3, nil)] {
            var candidate = ICECandidate(host: try address("192.0.2.50", port), localPreference: 9)
            candidate.ufrag = ufrag
            agent.addRemoteCandidate(candidate, now: .zero)
        }
        agent.remoteEndOfCandidates(ufrag: "RemU2", now: .zero)
        #expect(agent.generations[1].pairs.count == 3)
        agent.setRemote(
            credentials: try credentials("RemU2", "secondPeerPassword222222"), isLite: false,
            supportsRenomination: false, now: .zero)
        #expect(agent.generations[1].pairs.map(\.path.remote.port) == [1, 3])
        #expect(agent.generations[1].hasEndOfCandidates)
        #expect(!agent.generations[0].hasEndOfCandidates)
    }

    @Test func `as answerer of a restart our checks wait for the peer's first, at most two seconds`() throws {
        for hears in [true, false] {
            var agent = try vectorAgent(.controlled)
            _ = agent.take(try Request(useCandidate: true).bytes(), try vectorPath())
            try agent.answerChecks(at: .zero)
            let start = Instant.zero + .seconds(1)
            agent.restart(
                credentials: try credentials("LocU2", "secondLocalPassword22222"), isAnswer: true, now: start)
            agent.setRemote(
                credentials: try credentials("RemU2", "secondPeerPassword222222"), isLite: false,
                supportsRenomination: false, now: start)
            agent.addRemoteCandidate(ICECandidate(host: try vectorPath(7).remote, localPreference: 9), now: start)
            #expect(drain(&agent, now: start + .milliseconds(1_999)).isEmpty)
            if hears {
                let request = try Request(username: "LocU2:RemU2", password: "secondLocalPassword22222").bytes()
                let now = start + .milliseconds(100)
                #expect(agent.take(request, try vectorPath(7), at: now) == .accepted)
                #expect(drain(&agent, now: now).count == 2)
            } else {
                #expect(agent.nextDeadline == start + .seconds(2))
                #expect(drain(&agent, now: start + .seconds(2)).map(\.path) == [try vectorPath(7)])
            }
        }
    }

    @Test func `a restart revives an agent whose consent has expired`() throws {
        var (network, path) = try connected()
        network.swallow = { _, _, _ in true }
        network.run(for: .seconds(40))
        #expect(network.left.selectedPath == nil)
        #expect(network.right.selectedPath == nil)
        network.swallow = { _, _, _ in false }
        let count = network.sent.count
        network.run(for: .seconds(10))
        #expect(network.sent.count == count)
        network.left.restart(credentials: fresh(1), now: network.now)
        network.right.restart(credentials: fresh(2), now: network.now)
        network.introduce()
        signal(&network)
        network.run(for: .seconds(1))
        #expect(network.left.selectedPath == path)
        #expect(network.right.selectedPath == path.reversed)
        #expect(network.events[.left]?.suffix(2) == [.restarted(path), .selected(path)])
    }

    @Test(arguments: 1...20)
    func `restarts under loss come through without losing the old pair before`(seed: UInt64) throws {
        var (network, path) = try connected(seed: seed)
        network.loss = 0.3
        network.left.restart(credentials: fresh(1), now: network.now)
        network.right.restart(credentials: fresh(2), now: network.now)
        try network.add(.left, "192.0.2.2", 1_000, isSignalled: false)
        network.introduce()
        signal(&network)
        for _ in 0..<100 {
            network.run(for: .milliseconds(100))
            #expect(network.left.selectedPath != nil, "seed \(seed)")
            #expect(network.right.selectedPath != nil, "seed \(seed)")
        }
        #expect(network.left.credentials == fresh(1), "seed \(seed)")
        #expect(network.right.credentials == fresh(2), "seed \(seed)")
        let right = try #require(network.right.selectedPath)
        #expect(network.left.hasPair(right.reversed), "seed \(seed)")
        // Where four nominating checks in a row went unanswered the one gave the pair up, and the other may have heard one
        // of them: without a counter it cannot tell that it was given up.
        let agent = network.left.generations[0]
        let gaveUp = agent.pairs.contains { $0.wasNominated && $0.id != agent.chosenID }
        #expect(gaveUp || right == network.left.selectedPath?.reversed, "seed \(seed), before \(path)")
    }
}
