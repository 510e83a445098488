// The names of cases keep their ids.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Testing

@testable import ICELite

/// The cases that are timelines: their times and numbers are read from the case's file.
@Suite struct TimelineCaseTests {
    private func at(_ milliseconds: Int) -> Instant { .zero + .milliseconds(Int64(milliseconds)) }

    private func times(_ steps: [JSONValue]) throws -> [Int] { try steps.map { try $0["t"].integer } }

    /// The number behind `word` in a step's text: `prio 1845501695`.
    private func number(behind word: String, in step: JSONValue) throws -> UInt32 {
        let words = try step["ev"].string.split(separator: " ")
        let index = try #require(words.firstIndex { $0 == word })
        return try #require(UInt32(words[index + 1]))
    }

    // MARK: - Checks before the answer

    @Test func `ICE_19 a check before the answer is answered at once and nominates when the answer is there`() throws {
        let steps = try PublicCase.scenario("ICE-19")["timeline"].list
        let t = try times(steps)
        #expect(t.count == 5)
        let priority = try number(behind: "prio", in: steps[1])
        var agent = try vectorAgent(.controlled, isConnected: false)
        let path = NetworkPath(local: try vectorPath().local, remote: try address("192.0.2.50", 5_000))
        let event = try steps[1]["ev"].string
        #expect(event.contains(path.remote.description))
        let check = try Request(priority: priority, useCandidate: true).bytes()
        for step in [1, 2] {
            #expect(agent.take(check, path, at: at(t[step])) == .accepted)
            let answers = drain(&agent, now: at(t[step]))
            #expect(answers.map(\.path) == [path])
            let answer = try ReadMessage(try #require(answers.first).bytes)
            #expect(answer.messageClass == .success && answer.verifies(with: CaseEnd.localKey))
            // One remembered entry, with source, PRIORITY and nomination.
            #expect(agent.remoteCandidates.map(\.address) == [path.remote])
            #expect(agent.remoteCandidates.map(\.priority) == [priority])
            #expect(agent.remoteCandidates.map(\.kind) == [.peerReflexive])
            #expect(agent.generations[0].pairs.map(\.nomination) == [0])
            #expect(agent.nextDeadline == .never)
        }
        agent.setRemote(
            credentials: try credentials("RemU", "peerPasswordpeerPassword"), isLite: false,
            supportsRenomination: false, now: at(t[3]))
        let triggered = drain(&agent, now: at(t[3]))
        #expect(triggered.map(\.path) == [path])
        #expect(agent.selectedPath == nil)
        let id = try ReadMessage(try #require(triggered.first).bytes).transactionID
        #expect(agent.take(try response(to: id, mapped: path.local), path, at: at(t[4])) == .accepted)
        #expect(agent.selectedPath == path)
        // The remote half of USERNAME is checked once it is known. The pages have our own half decide (RFC 8445 §7.3): a
        // foreign one is counted, not refused.
        #expect(agent.take(check, path, at: at(t[4])) == .accepted)
        #expect(agent.counters.foreignUsernames == 0)
        let foreign = try Request(username: "LocU:Other").bytes()
        #expect(agent.take(foreign, path, at: at(t[4])) == .accepted)
        #expect(agent.counters.foreignUsernames == 1)
    }

    @Test(arguments: [false, true])
    func `ICE_19 with the answer half a second late the pair is there one round trip after it`(isOurKind: Bool) throws {
        var network = FullAgentNetwork(seed: 19, left: .controlling, right: .controlled)
        try network.add(.right, "198.51.100.1", 2_000)
        // The right end offered and does not know the left one yet, neither its candidates nor its password.
        try network.add(.left, "192.0.2.1", 1_000, isSignalled: false)
        network.left.setRemote(
            credentials: network.right.credentials, isLite: false, supportsRenomination: isOurKind, now: .zero)
        network.run(until: at(500))
        #expect(network.left.selectedPath != nil)
        #expect(network.right.selectedPath == nil)
        #expect(network.right.counters.checksSent == 0)
        network.right.setRemote(
            credentials: network.left.credentials, isLite: false, supportsRenomination: isOurKind, now: at(500))
        network.run(until: at(500) + 2 * network.delay)
        #expect(network.right.selectedPath == network.left.selectedPath?.reversed)
    }

    // MARK: - Nominations

    @Test func `ICE_21 a lite end takes the last nomination, a full one keeps the better pair, both answer on both`()
        throws
    {
        let steps = try PublicCase.scenario("ICE-21")["steps"].list
        #expect(steps.count == 4)
        let priorities = try steps.prefix(2).map { try number(behind: "prio", in: $0) }
        #expect(priorities[0] > priorities[1])
        let end = try LiteEnd()
        var full = try vectorAgent(.controlled)
        let paths = [try vectorPath(1), try vectorPath(2)]
        for (path, priority) in zip(paths, priorities) {
            full.addRemoteCandidate(
                ICECandidate(foundation: "1", priority: priority, address: path.remote, kind: .host), now: .zero)
        }
        for milliseconds in [0, 20] { try full.answerChecks(at: at(milliseconds)) }
        for (index, step) in steps.enumerated() {
            let selected = try end.path(step["selected"].text == "P1" ? 1 : 2)
            if step["media"].text == "accepted" {
                // Media on the tuple that is not selected: taken, and it moves nothing.
                end.agent.noteReceived(160, on: try end.path(1))
                #expect(end.agent.isAuthenticated(try end.path(1)))
                #expect(full.hasPair(paths[0]) && full.hasPair(paths[1]))
            } else {
                let port: UInt16 = index == 1 ? 2 : 1
                let request = Request(
                    id: UInt64(index), priority: priorities[Int(port) - 1], useCandidate: index < 2)
                #expect(try end.ask(request, port).messageClass == .success)
                #expect(full.take(try request.bytes(), try vectorPath(port), at: at(50 + index)) == .accepted)
                let answers = drain(&full, now: at(50 + index)).filter { $0.path == paths[Int(port) - 1] }
                #expect(try ReadMessage(try #require(answers.first).bytes).messageClass == .success)
            }
            #expect(end.agent.selectedPath == selected, "step \(index)")
            // DTLS may be sent on the pair that was nominated first, at once.
            if index == 0 { #expect(try end.send(1_200, 1)) }
            // RFC 8445 §8.1.1: of several that were nominated a full end uses the one of the highest priority.
            #expect(full.selectedPath == paths[0], "step \(index)")
        }
        #expect(end.agent.tupleCount == 2)
    }

    // MARK: - Link-local addresses, and no pair at all

    @Test func `ICE_27 link-local candidates pair in the scope of our interface and no zone leaves us`() throws {
        let file = try PublicCase.scenario("ICE-27")
        var agent = ICEFullAgent(
            role: .controlling, credentials: try credentials("LocU", "VerySecretLocalPwd123456"), randomness: .seeded(9)
        )
        for local in file["local"].list {
            let zone = local["scope"].int.map { "%\($0)" } ?? ""
            let ip = try local["addr"].string
            let candidate = agent.addLocalCandidate(try address(ip + zone, 1), now: .zero)
            #expect(!candidate.attribute.contains("%") && candidate.attribute.contains(ip))
        }
        // A zone's name in what the peer says is its own business.
        for remote in file["remote"].list {
            let ip = try remote.string
            agent.addRemoteCandidate(attribute: "candidate:1 1 udp 2113937151 \(ip) 2 typ host", now: .zero)
        }
        #expect(agent.candidateCounters.malformed == 0)
        let expected = try file["pairs"].list.map { pair in
            let words = try pair.list.map { try $0.string }
            let zone = words.count > 2 ? "%" + words[2].split(separator: " ")[1] : ""
            return NetworkPath(local: try address(words[0] + zone, 1), remote: try address(words[1] + zone, 2))
        }
        #expect(Set(agent.generations[0].pairs.map(\.path)) == Set(expected))
        #expect(agent.generations[0].pairs.count == expected.count)
        #expect(agent.remoteCandidates.allSatisfy { $0.address.ip.zone == 0 })
        // One for each of our interfaces, and none from an address that is not link-local itself.
        var two = ICEFullAgent(
            role: .controlling, credentials: try credentials("LocU", "VerySecretLocalPwd123456"), randomness: .seeded(9)
        )
        for ip in ["fe80::2%3", "fe80::2%4", "2001:db8::2", "169.254.0.2", "192.0.2.2"] {
            _ = two.addLocalCandidate(try address(ip, 1), now: .zero)
        }
        for ip in ["fe80::1", "169.254.0.1"] {
            two.addRemoteCandidate(attribute: "candidate:1 1 udp 9 \(ip) 2 typ host", now: .zero)
        }
        let ends = two.generations[0].pairs.map { "\($0.path.local.ip) \($0.path.remote.ip)" }
        #expect(
            Set(ends) == ["fe80::2%3 fe80::1%3", "fe80::2%4 fe80::1%4", "169.254.0.2 169.254.0.1"])
    }

    @Test func `ICE_29 only foreign families wait for the end of candidates, then there is no pair`() throws {
        let file = try PublicCase.scenario("ICE-29")
        #expect(file["expect"]["reason"].text == "no candidate pair")
        let limit = Nanoseconds.milliseconds(Int64(try file["expect"]["before_ms"].integer))
        var agent = ICEFullAgent(
            role: .controlling, credentials: try credentials("LocU", "VerySecretLocalPwd123456"), randomness: .seeded(9)
        )
        for local in file["local"].list {
            _ = agent.addLocalCandidate(try address(try local.string, 1_000), now: .zero)
        }
        agent.setRemote(
            credentials: try credentials("RemU", "peerPasswordpeerPassword"), isLite: false,
            supportsRenomination: false, now: .zero)
        for remote in file["remote"].list {
            agent.addRemoteCandidate(
                ICECandidate(host: try address(try remote.string, 9), localPreference: 1), now: .zero)
        }
        agent.localEndOfCandidates()
        // Without the peer's end it waits, beyond every limit: the call's own deadline decides then.
        agent.handleTimeout(now: .zero + limit)
        #expect(!agent.outcome.hasNoCandidatePair)
        #expect(agent.nextDeadline == .never && drain(&agent, now: .zero + limit).isEmpty)
        #expect(file["end_of_candidates"].flag == true)
        agent.remoteEndOfCandidates(now: .zero + limit)
        #expect(agent.outcome.hasNoCandidatePair)
        // A check from an address nobody named rescues it, up to a selected pair.
        #expect(agent.take(try Request(controlled: true).bytes(), try vectorPath(), at: .zero + limit) == .accepted)
        #expect(!agent.outcome.hasNoCandidatePair)
        for _ in 0..<2 { try agent.answerChecks(at: .zero + limit) }
        #expect(agent.selectedPath == (try vectorPath()))
    }
}
