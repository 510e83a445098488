// The names of cases keep their ids.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Testing

@testable import ICELite

@Suite struct ICEFullAgentTests {
    private func agent() throws -> ICEFullAgent {
        var agent = ICEFullAgent(
            role: .controlling, credentials: try credentials("LocU", "VerySecretLocalPwd123456"), randomness: .seeded(9)
        )
        _ = agent.addLocalCandidate(try address("192.0.2.1", 1_000), now: .zero)
        return agent
    }

    private func setRemote(_ agent: inout ICEFullAgent, now: Instant = .zero) throws {
        agent.setRemote(
            credentials: try credentials("RemU", "peerPasswordpeerPassword"), isLite: false,
            supportsRenomination: false, now: now)
    }

    private func path(_ port: UInt16 = 2_000) throws -> NetworkPath {
        NetworkPath(local: try address("192.0.2.1", 1_000), remote: try address("192.0.2.50", port))
    }

    private func pairs(local: [String], remote: [String]) throws -> [NetworkPath] {
        var agent = ICEFullAgent(
            role: .controlling, credentials: try credentials("LocU", "VerySecretLocalPwd123456"), randomness: .seeded(9)
        )
        for ip in local { _ = agent.addLocalCandidate(try address(ip, 1), now: .zero) }
        for ip in remote {
            agent.addRemoteCandidate(ICECandidate(host: try address(ip, 2), localPreference: 1), now: .zero)
        }
        return agent.generations[0].pairs.map(\.path)
    }

    @Test func `ICE_27 families, loopback and link-local pair among themselves`() throws {
        #expect(try pairs(local: ["192.0.2.1"], remote: ["2001:db8::5"]).isEmpty)
        #expect(try pairs(local: ["127.0.0.1"], remote: ["192.0.2.1"]).isEmpty)
        #expect(try pairs(local: ["192.0.2.1"], remote: ["127.0.0.1"]).isEmpty)
        #expect(try pairs(local: ["127.0.0.1"], remote: ["127.0.0.1"]).count == 1)
        // The scope is the local interface's, whatever the peer wrote.
        let scoped = try pairs(local: ["fe80::2%3", "2001:db8::2"], remote: ["fe80::1%7", "2001:db8::1"])
        #expect(scoped.count == 2)
        #expect(scoped.map(\.remote.ip.zone) == [3, 0])
        #expect(try pairs(local: ["192.0.2.1"], remote: ["::ffff:192.0.2.9"]).map(\.remote.ip.family) == [.v4])
    }

    @Test func `candidates and pairs are bounded`() throws {
        var agent = try agent()
        for port in UInt16(1)...2 { _ = agent.addLocalCandidate(try address("192.0.2.1", port), now: .zero) }
        for port in UInt16(1)...40 {
            let candidate = ICECandidate(host: try address("192.0.2.9", port), localPreference: 1)
            agent.addRemoteCandidate(candidate, now: .zero)
            agent.addRemoteCandidate(candidate, now: .zero)
        }
        #expect(agent.remoteCandidates.count == 32)
        #expect(agent.generations[0].pairs.count == 64)
        #expect(agent.counters.candidatesIgnored == 48)
        #expect(agent.counters.pairsIgnored == 32)
        var second = ICECandidate(host: try address("192.0.2.9", 99), localPreference: 1)
        second.component = 2
        agent.addRemoteCandidate(second, now: .zero)
        #expect(agent.counters.candidatesIgnored == 49)
    }

    @Test func `no pair means no checks and an outcome that says so`() throws {
        var agent = try agent()
        agent.addRemoteCandidate(ICECandidate(host: try address("2001:db8::5", 9), localPreference: 1), now: .zero)
        try setRemote(&agent)
        agent.remoteEndOfCandidates(now: .zero)
        #expect(agent.nextDeadline == .never)
        #expect(agent.outcome.pairs == 0)
        #expect(agent.outcome.everyPairRefused == nil)
        #expect(agent.outcome.remoteIsComplete)
    }

    @Test func `ICE_29 no candidate pair is told as soon as both ends are complete, and a check still rescues`() throws
    {
        var agent = try agent()
        agent.addRemoteCandidate(ICECandidate(host: try address("2001:db8::5", 9), localPreference: 1), now: .zero)
        try setRemote(&agent)
        #expect(!agent.outcome.hasNoCandidatePair)
        agent.remoteEndOfCandidates(now: .zero)
        #expect(!agent.outcome.hasNoCandidatePair)
        agent.localEndOfCandidates()
        #expect(agent.outcome.hasNoCandidatePair)
        #expect(agent.take(try Request(controlled: true).bytes(), try path()) == .accepted)
        #expect(!agent.outcome.hasNoCandidatePair)
        #expect(agent.outcome.pairs == 1)
    }

    @Test func `a peer-reflexive candidate becomes the signalled one and its pair stays`() throws {
        var agent = try agent()
        _ = agent.addLocalCandidate(try address("192.0.2.2", 1_000), now: .zero)
        try setRemote(&agent)
        #expect(agent.take(try Request(controlled: true).bytes(), try path()) == .accepted)
        try agent.answerChecks(at: .zero)
        let before = try #require(agent.generations[0].pairs.first)
        #expect(before.isValid)
        #expect(agent.remoteCandidates.map(\.kind) == [.peerReflexive])
        let signalled = ICECandidate(
            foundation: "7", priority: 2_000_000_000, address: try path().remote, kind: .serverReflexive)
        agent.addRemoteCandidate(signalled, now: .zero + .seconds(1))
        #expect(agent.remoteCandidates == [signalled])
        let after = agent.generations[0].pairs[0]
        #expect(after.id == before.id)
        #expect(after.isValid)
        #expect(after.roundTrip == before.roundTrip)
        #expect(after.checksSent == before.checksSent)
        #expect(after.priority != before.priority)
        #expect(after.priority >> 32 == 2_000_000_000)
        // And now it is paired with our other address, too.
        #expect(agent.generations[0].pairs.count == 2)
        // Signalled again it changes nothing.
        agent.addRemoteCandidate(signalled, now: .zero + .seconds(1))
        #expect(agent.generations[0].pairs.count == 2)
        #expect(agent.counters.candidatesIgnored == 1)
    }

    @Test func `a server-reflexive candidate is signalled and never paired`() throws {
        var agent = try agent()
        let base = try path().local
        let mapped = try address("203.0.113.7", 40_000)
        agent.addRemoteCandidate(ICECandidate(host: try path().remote, localPreference: 1), now: .zero)
        let added = agent.addServerReflexiveCandidate(mapped: mapped, base: base, now: .zero)
        let candidate = try #require(added)
        #expect(candidate.attribute.hasSuffix("typ srflx raddr 192.0.2.1 rport 1000"))
        #expect(candidate.priority >> 24 == 100)
        #expect(candidate.foundation != agent.localCandidates[0].foundation)
        #expect(agent.generations[0].pairs.map(\.path.local) == [base])
        // Redundant ones: the same again, the base itself (also as IPv4-mapped), a foreign base, nothing to send to.
        let foreign = try address("192.0.2.99", 1)
        for (mapped, base) in [
            (mapped, base), (base, base), (try address("::ffff:192.0.2.1", 1_000), base), (mapped, foreign),
            (try address("0.0.0.0", 9), base), (try address("203.0.113.7", 0), base),
        ] {
            #expect(agent.addServerReflexiveCandidate(mapped: mapped, base: base, now: .zero) == nil)
        }
        #expect(agent.serverReflexiveCandidates == [candidate])
        for port in UInt16(1)...40 {
            _ = agent.addServerReflexiveCandidate(mapped: try address("203.0.113.8", port), base: base, now: .zero)
        }
        #expect(agent.serverReflexiveCandidates.count == ICELimits.serverReflexiveCandidates)
        // What a STUN server told is no news when an answer tells it again.
        try setRemote(&agent)
        let check = try #require(drain(&agent, now: .zero).first)
        let id = try ReadMessage(check.bytes).transactionID
        #expect(agent.take(try response(to: id, mapped: mapped), check.path) == .accepted)
        #expect(agent.reflexiveCandidates.isEmpty)
    }

    @Test func `candidate lines that are not for us cost a counter`() throws {
        var agent = try agent()
        for line in [
            "candidate:1 1 udp 2113937151 a1b2-c3.local 51556 typ host", "candidate:1 1 udp 1 x.LOCAL 9 typ host",
            "candidate:1 1 tcp 1518280447 192.0.2.1 9 typ host tcptype active", "candidate:", "garbage",
            "candidate:9 1 UDP 2113937151 192.0.2.50 2000 typ host future yes network-id 3 ufrag RemU",
        ] {
            agent.addRemoteCandidate(attribute: line, now: .zero)
        }
        #expect(agent.candidateCounters.mdnsNames == 2)
        #expect(agent.candidateCounters.skipped == 1)
        #expect(agent.candidateCounters.malformed == 2)
        #expect(agent.generations[0].pairs.map(\.path) == [try path()])
        try setRemote(&agent)
        #expect(agent.generations[0].pairs.map(\.path) == [try path()])
    }

    @Test func `a check before the answer is answered at once and its pair checked when the answer comes`() throws {
        var agent = try agent()
        let path = try path()
        for at in [100, 150] {
            let now = Instant.zero + .milliseconds(Int64(at))
            #expect(agent.take(try Request(useCandidate: true, controlled: true).bytes(), path, at: now) == .accepted)
            let answers = drain(&agent, now: now)
            #expect(answers.map(\.path) == [path])
            #expect(try ReadMessage(answers[0].bytes).messageClass == .success)
            #expect(try ReadMessage(answers[0].bytes).xorMappedAddress == path.remote)
        }
        #expect(agent.remoteCandidates.map(\.kind) == [.peerReflexive])
        #expect(agent.remoteCandidates.map(\.priority) == [1_845_501_695])
        let now = Instant.zero + .milliseconds(400)
        try setRemote(&agent, now: now)
        let checks = drain(&agent, now: now)
        #expect(checks.map(\.path) == [path])
        #expect(try ReadMessage(checks[0].bytes).username == Array("RemU:LocU".utf8))
    }

    @Test func `forged, foreign and asymmetric responses are dropped and cost nothing`() throws {
        var agent = try agent()
        agent.addRemoteCandidate(ICECandidate(host: try address("192.0.2.50", 2_000), localPreference: 1), now: .zero)
        try setRemote(&agent)
        let path = try path()
        let id = try ReadMessage(try #require(drain(&agent, now: .zero).first).bytes).transactionID
        let mapped = path.local
        let now = Instant.zero + .milliseconds(10)

        let forged = try response(to: id, password: "some other password 22", mapped: mapped)
        #expect(agent.take(forged, path, at: now) == .dropped(.unauthenticated))
        let foreign = try response(to: STUNTransactionID(high: 1, low: 1), mapped: mapped)
        #expect(agent.take(foreign, path, at: now) == .dropped(.unknownTransaction))
        let conflict = try response(to: STUNTransactionID(high: 1, low: 1), error: .roleConflict)
        #expect(agent.take(conflict, path, at: now) == .dropped(.unknownTransaction))
        let valid = try response(to: id, mapped: mapped)
        var flipped = valid
        flipped[flipped.count - 1] ^= 1
        #expect(agent.take(flipped, path, at: now) == .dropped(.badFingerprint))
        #expect(agent.selectedPath == nil)
        #expect(agent.take(valid, path, at: now) == .accepted)
        #expect(agent.take(valid, path, at: now) == .dropped(.unknownTransaction))
        #expect(agent.roundTrip == .milliseconds(10))

        var other = try self.agent()
        other.addRemoteCandidate(ICECandidate(host: try address("192.0.2.50", 2_000), localPreference: 1), now: .zero)
        try setRemote(&other)
        let second = try ReadMessage(try #require(drain(&other, now: .zero).first).bytes).transactionID
        let answer = try response(to: second, mapped: mapped)
        #expect(other.take(answer, try self.path(2_001), at: now) == .dropped(.asymmetricResponse))
        #expect(other.outcome.firstResponseAt == nil)
    }

    @Test func `a request to an address that is none of ours is not answered`() throws {
        var agent = try agent()
        let path = NetworkPath(local: try address("192.0.2.99", 1), remote: try address("192.0.2.50", 2))
        let request = try Request(controlled: true).bytes()
        #expect(agent.take(request, path, at: .zero) == .dropped(.unknownLocalAddress))
        #expect(drain(&agent, now: .zero).isEmpty)
    }

    @Test func `an indication, which anybody can send, counts as nothing heard`() throws {
        var agent = try agent()
        let indication = try written { (out) throws(STUNError) in
            let writer = try STUNWriter(.indication, transactionID: STUNTransactionID(high: 1, low: 1), into: &out)
            try writer.appendFingerprint(into: &out)
        }
        #expect(agent.take(indication, try path()) == .dropped(.indication))
        #expect(drain(&agent, now: .zero).isEmpty)
    }

    @Test func `a span without room is left alone`() throws {
        var agent = try agent()
        #expect(agent.take(try Request(controlled: true).bytes(), try path(), at: .zero) == .accepted)
        let bytes = written(100) { (out) in
            #expect(agent.pollTransmit(into: &out, now: .zero) == nil)
        }
        #expect(bytes.isEmpty)
        #expect(agent.counters.noRoom == 1)
        #expect(drain(&agent, now: .zero).count == 1)
    }
}
