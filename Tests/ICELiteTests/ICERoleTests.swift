// The names of cases keep their ids.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Testing

@testable import ICELite

/// Who controls, and what happens when both ends think they do (RFC 8445 §6.1.1, §7.2.5.1, §7.3.1.1).
@Suite struct ICERoleTests {
    @Test(arguments: [
        // offerer, lite, peer lite → role, sends checks, selects without
        (true, false, false, ICERole.controlling, true, false),
        (false, false, false, .controlled, true, false),
        (true, false, true, .controlling, true, false),
        (false, false, true, .controlling, true, false),
        (true, true, false, .controlled, false, false),
        (false, true, false, .controlled, false, false),
        (true, true, true, .controlling, false, true),
        (false, true, true, .controlled, false, true),
    ])
    func `a full end controls a lite one, else the offerer does`(
        isOfferer: Bool, isLite: Bool, peerIsLite: Bool, role: ICERole, sendsChecks: Bool, selectsWithoutChecks: Bool
    ) {
        let decision = ICERoleDecision(isOfferer: isOfferer, isLite: isLite, peerIsLite: peerIsLite)
        #expect(decision.role == role)
        #expect(decision.sendsChecks == sendsChecks)
        #expect(decision.selectsWithoutChecks == selectsWithoutChecks)
    }

    @Test(arguments: [
        (ICERole.controlling, [487, 0, nil, nil, 487, 487, nil] as [UInt16?]),
        (.controlled, [nil, nil, 0, 487, nil, nil, nil]),
    ])
    func `ICE_11 role conflicts follow the tie-breaker`(role: ICERole, expected: [UInt16?]) throws {
        for (vector, code) in zip(try Vector.read("ICE-11"), expected) {
            var agent = try vectorAgent(role)
            agent.tieBreaker = 0x8000_0000_0000_0000
            agent.addRemoteCandidate(ICECandidate(host: try vectorPath().remote, localPreference: 7), now: .zero)
            let before = agent.generations[0].pairs[0].priority
            let verdict = agent.take(vector.bytes, try vectorPath(), at: .zero)
            let answer = try ReadMessage(try #require(drain(&agent, now: .zero).first).bytes)
            if code == 487 {
                #expect(verdict == .dropped(.roleConflict), "\(vector)")
                #expect(answer.errorCode == 487, "\(vector)")
                #expect(answer.integrity == .sha1, "\(vector)")
                #expect(agent.role == role, "\(vector)")
            } else {
                // 0 stands for a switch.
                #expect(verdict == .accepted, "\(vector)")
                #expect(answer.messageClass == .success, "\(vector)")
                #expect(agent.role == (code == 0 ? role.other : role), "\(vector)")
                #expect((agent.generations[0].pairs[0].priority != before) == (code == 0), "\(vector)")
                #expect(agent.counters.roleConflicts == (code == 0 ? 1 : 0), "\(vector)")
            }
        }
    }

    @Test func `a tie-breaker of zero is legal on both ends`() throws {
        var controlled = try vectorAgent(.controlled)
        controlled.tieBreaker = 0
        // Theirs is 5.
        #expect(controlled.take(try Request(controlled: true).bytes(), try vectorPath()) == .dropped(.roleConflict))
        #expect(controlled.role == .controlled)
        var controlling = try vectorAgent(.controlling)
        controlling.tieBreaker = 0
        #expect(controlling.take(try Request().bytes(), try vectorPath()) == .accepted)
        #expect(controlling.role == .controlled)
    }

    // MARK: - 487 to us

    private func checking(_ role: ICERole) throws -> (agent: ICEFullAgent, id: STUNTransactionID) {
        var agent = try vectorAgent(role)
        agent.addRemoteCandidate(ICECandidate(host: try vectorPath().remote, localPreference: 1), now: .zero)
        let check = try ReadMessage(try #require(drain(&agent, now: .zero).first).bytes)
        #expect((check.iceControlling != nil) == (role == .controlling))
        #expect((check.iceControlled != nil) == (role == .controlled))
        return (agent, check.transactionID)
    }

    @Test(arguments: [ICERole.controlling, .controlled])
    func `a 487 makes us take the other role and check again`(role: ICERole) throws {
        var (agent, id) = try checking(role)
        let tieBreaker = agent.tieBreaker
        let now = Instant.zero + .milliseconds(40)
        #expect(agent.take(try response(to: id, error: .roleConflict), try vectorPath(), at: now) != .accepted)
        #expect(agent.role == role.other)
        #expect(agent.tieBreaker != tieBreaker)
        let again = try ReadMessage(try #require(drain(&agent, now: now).first).bytes)
        #expect(again.transactionID != id)
        #expect((again.iceControlling ?? again.iceControlled) == agent.tieBreaker)
        #expect((again.iceControlling != nil) == (role == .controlled))
    }

    @Test func `a 487 about a role we no longer have changes none, and the check goes again`() throws {
        var (agent, id) = try checking(.controlling)
        agent.tieBreaker = 1
        #expect(agent.take(try Request().bytes(), try vectorPath(), at: .zero + .milliseconds(5)) == .accepted)
        #expect(agent.role == .controlled)
        _ = drain(&agent, now: .zero + .milliseconds(5))
        let now = Instant.zero + .milliseconds(60)
        _ = agent.take(try response(to: id, error: .roleConflict), try vectorPath(), at: now)
        #expect(agent.role == .controlled)
        #expect(agent.tieBreaker == 1)
        let again = try ReadMessage(try #require(drain(&agent, now: now).first).bytes)
        #expect(again.iceControlled == 1)
    }

    @Test func `a 487 that does not authenticate changes nothing and does not cost the check`() throws {
        var (agent, id) = try checking(.controlling)
        let path = try vectorPath()
        let forged = try response(to: id, password: "some other password 22", error: .roleConflict)
        #expect(agent.take(forged, path) == .dropped(.unauthenticated))
        let unsigned = try response(to: id, password: nil, error: .roleConflict)
        #expect(agent.take(unsigned, path) == .dropped(.errorResponse))
        #expect(agent.role == .controlling)
        #expect(agent.counters.roleConflicts == 0)
        #expect(drain(&agent, now: .zero + .milliseconds(249)).isEmpty)
        let answer = try response(to: id, mapped: path.local)
        #expect(agent.take(answer, path, at: .zero + .milliseconds(249)) == .accepted)
        #expect(agent.isValid(path))
    }

    @Test func `a peer that answers everything with 487 gets no storm`() throws {
        var network = FullAgentNetwork(seed: 3)
        try network.add(.left, "192.0.2.1", 1_000)
        try network.add(.right, "192.0.2.50", 2_000, isSignalled: true)
        network.introduce()
        network.delay = .milliseconds(1)
        network.swallow = { side, _, _ in side == .right }
        var checks = 0
        let password = network.right.credentials.password
        let end = Instant.zero + .seconds(10)
        while network.now < end {
            let before = network.sent.count
            network.run(for: .milliseconds(1))
            for sent in network.sent[before...] where sent.from == .left {
                let message = try ReadMessage(sent.bytes)
                guard message.messageClass == .request else { continue }
                checks += 1
                let conflict = try response(to: message.transactionID, password: password, error: .roleConflict)
                _ = network.left.take(conflict, sent.path, at: network.now)
            }
        }
        // One each 500 ms, and eight at once.
        #expect((20...34).contains(checks), "\(checks)")
    }

    @Test(arguments: [ICERole.controlling, .controlled])
    func `two ends of one role come apart and agree`(role: ICERole) throws {
        for seed in UInt64(1)...40 {
            var network = FullAgentNetwork(seed: seed, left: role, right: role)
            network.loss = seed % 2 == 0 ? 0.2 : 0
            for port in UInt16(1)...2 { try network.add(.left, "192.0.2.1", port) }
            for port in UInt16(1)...2 { try network.add(.right, "198.51.100.1", port) }
            network.introduce()
            network.run(until: .zero + .seconds(10))
            #expect(network.left.role == network.right.role.other, "seed \(seed)")
            let selected = try #require(network.left.selectedPath, "seed \(seed)")
            #expect(network.right.selectedPath == selected.reversed, "seed \(seed)")
        }
    }

    // MARK: - Lite peers

    @Test func `towards a lite peer we control, whoever offered, and do not obey its 487`() throws {
        var agent = try vectorAgent(.controlled, isConnected: false)
        agent.addRemoteCandidate(ICECandidate(host: try vectorPath().remote, localPreference: 1), now: .zero)
        agent.setRemote(
            credentials: try credentials("RemU", "peerPasswordpeerPassword"), isLite: true,
            supportsRenomination: false, now: .zero)
        #expect(agent.role == .controlling)
        let check = try ReadMessage(try #require(drain(&agent, now: .zero).first).bytes)
        #expect(check.iceControlling != nil)
        _ = agent.take(try response(to: check.transactionID, error: .roleConflict), try vectorPath(), at: .zero)
        #expect(agent.role == .controlling)
        #expect(agent.counters.roleConflicts == 1)
    }
}
