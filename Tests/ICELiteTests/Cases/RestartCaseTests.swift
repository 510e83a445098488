// The names of cases keep their ids.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Testing

@testable import ICELite

/// Restarts while the old generation is still talking (ICE-24), by the times of the case's file.
@Suite struct RestartCaseTests {
    private let oldKey = CaseEnd.localKey
    private let newPassword = "SecondSecretLocalPwd6789"
    private let newPeerPassword = "SecondSecretPeerPwd67890"

    private func times() throws -> [Nanoseconds] {
        let t = try PublicCase.scenario("ICE-24")["timeline"].list.map { try $0["t"].integer }
        #expect(t.count == 5 && t == t.sorted())
        return t.map { .milliseconds(Int64($0)) }
    }

    @Test func `ICE_24 a full agent keeps the old pair until the new one is nominated, and then forgets it`() throws {
        let t = try times()
        var agent = try vectorAgent(.controlled)
        let path = try vectorPath()
        _ = agent.take(try Request(useCandidate: true).bytes(), path)
        try agent.answerChecks(at: .zero)
        #expect(agent.selectedPath == path)
        let start = Instant.zero + .seconds(1)
        let at = { (step: Int) in start + t[step] }

        agent.restart(credentials: try credentials("LocU2", newPassword), now: at(0))
        agent.setRemote(
            credentials: try credentials("RemU2", newPeerPassword), isLite: false, supportsRenomination: false,
            now: at(0))
        #expect(agent.take(try Request(id: 2).bytes(), path, at: at(1)) == .accepted)
        let old = try ReadMessage(try #require(drain(&agent, now: at(1)).first).bytes)
        #expect(old.messageClass == .success && old.verifies(with: oldKey))
        #expect(agent.selectedPath == path)
        var candidate = ICECandidate(host: try address("192.0.2.77", 7), localPreference: 9)
        candidate.ufrag = "RemU"
        agent.addRemoteCandidate(candidate, now: at(2))
        #expect(agent.generations[1].pairs.isEmpty && agent.generations[1].remoteCandidates.isEmpty)
        let newPath = try vectorPath(3_000)
        let request = try Request(username: "LocU2:RemU2", password: newPassword, id: 3, useCandidate: true).bytes()
        #expect(agent.take(request, newPath, at: at(3)) == .accepted)
        let sent = drain(&agent, now: at(3))
        #expect(try ReadMessage(try #require(sent.first).bytes).verifies(with: STUNKey(password: newPassword)))
        #expect(agent.selectedPath == path && agent.isValid(path))
        let check = try #require(sent.last)
        let id = try ReadMessage(check.bytes).transactionID
        let success = try response(to: id, password: newPeerPassword, mapped: path.local)
        #expect(agent.take(success, check.path, at: at(4)) == .accepted)
        #expect(agent.selectedPath == newPath)
        // Media under way on the old pair is taken for a while; the checks of both are judged by what they carry.
        #expect(agent.hasPair(path))
        let end = at(4) + ICETiming().retirement
        #expect(agent.take(try Request(id: 4).bytes(), path, at: end - 1) == .accepted)
        _ = drain(&agent, now: end - 1)
        #expect(agent.take(try Request(id: 5).bytes(), path, at: end) == .dropped(.unauthenticated))
        #expect(!agent.hasPair(path) && agent.generations.count == 1)
    }

    @Test func `ICE_24 a lite agent keeps the old tuple until a new one is nominated, and then forgets it`() throws {
        let t = try times()
        let end = try LiteEnd()
        try end.nominateAndConfirm(2, 1)
        let start = end.now + .seconds(1)
        let goTo = { (step: Int) in
            end.now = start + t[step]
            end.agent.handleTimeout(now: end.now)
        }
        goTo(0)
        end.agent.restart(
            credentials: try credentials("LocU2", newPassword),
            peerCredentials: try credentials("RemU2", newPeerPassword), now: end.now)
        goTo(1)
        let old = try end.ask(Request(nomination: 2), 1)
        #expect(old.messageClass == .success && old.verifies(with: oldKey))
        #expect(end.agent.destinations == (try end.destinations(1)))
        goTo(3)
        let new = try end.ask(Request(username: "LocU2:RemU2", password: newPassword, token: 0), 2)
        #expect(new.messageClass == .success && new.verifies(with: STUNKey(password: newPassword)))
        #expect(end.agent.destinations == (try end.destinations(1)))
        goTo(4)
        let token = try #require(new.routabilityToken)
        try end.ask(
            Request(username: "LocU2:RemU2", password: newPassword, useCandidate: true, token: token), 2)
        #expect(end.agent.destinations == (try end.destinations(2)))
        #expect(!end.agent.isRestarting)
        end.now = start + t[4] + ICELimits.retiredGenerationKept - 1
        #expect(try end.ask(Request(), 1).messageClass == .success)
        #expect(end.agent.selectedPath == (try end.path(2)))
        end.now = start + t[4] + ICELimits.retiredGenerationKept
        #expect(try end.ask(Request(), 1).errorCode == 401)
        #expect(end.agent.localUfrags == ["LocU2"])
        #expect(try !end.agent.isAuthenticated(end.path(1)))
    }

    @Test(arguments: [false, true])
    func `ICE_24 audio that flows while both ends restart has no millisecond without a path`(isOurKind: Bool) throws {
        var network = FullAgentNetwork(seed: 24)
        try network.add(.left, "192.0.2.1", 1_000)
        try network.add(.right, "198.51.100.1", 2_000)
        network.introduce(supportsRenomination: isOurKind)
        network.run(until: .zero + .seconds(1))
        var randomness = Randomness.seeded(2_400)
        network.left.restart(credentials: .random(using: &randomness), now: network.now)
        network.right.restart(credentials: .random(using: &randomness), isAnswer: true, now: network.now)
        // The new generation has other sockets.
        try network.add(.left, "192.0.2.2", 1_000)
        network.right.networkChanged(
            to: [try address("198.51.100.2", 2_000), try address("198.51.100.1", 2_000)], now: network.now)
        for candidate in network.right.localCandidates { network.left.addRemoteCandidate(candidate, now: network.now) }
        for candidate in network.left.localCandidates { network.right.addRemoteCandidate(candidate, now: network.now) }
        network.introduce(supportsRenomination: isOurKind)
        for _ in 0..<5_000 {
            network.run(for: .milliseconds(1))
            let left = try #require(network.left.selectedPath)
            let right = try #require(network.right.selectedPath)
            // What one end sends, the other takes: also while only one of them has moved.
            #expect(network.right.hasPair(left.reversed))
            #expect(network.left.hasPair(right.reversed))
        }
        #expect(!network.left.isRestarting && !network.right.isRestarting)
        #expect(network.left.counters.restarts == 1 && network.right.counters.restarts == 1)
        #expect(network.left.selectedPath?.reversed == network.right.selectedPath)
        for side in [FullAgentNetwork.Side.left, .right] {
            let told = network.events[side, default: []].filter { if case .restarted = $0 { true } else { false } }
            #expect(told.count == 1)
        }
    }
}
