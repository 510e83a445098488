// The names of cases keep their ids.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Testing

@testable import ICELite

/// Choosing and nominating between full agents (RFC 8445 §7.3.1.5, §8.1.1).
@Suite struct ICENominationTests {
    private func at(_ milliseconds: Int64) -> Instant { .zero + .milliseconds(milliseconds) }

    @Test func `two full ends select the same pair in two round trips, without fixed waits`() throws {
        var network = FullAgentNetwork(seed: 1)
        try network.add(.left, "192.0.2.1", 1_000)
        try network.add(.right, "198.51.100.1", 2_000)
        network.introduce()
        let path = NetworkPath(local: try address("192.0.2.1", 1_000), remote: try address("198.51.100.1", 2_000))
        network.run(until: at(59))
        #expect(network.right.selectedPath == nil)
        // The nominating check leaves with the first answer, at 40 ms.
        network.run(until: at(60))
        #expect(network.right.selectedPath == path.reversed)
        network.run(until: at(79))
        #expect(network.left.selectedPath == nil)
        network.run(until: at(80))
        #expect(network.left.selectedPath == path)
        network.run(until: .zero + .seconds(60))
        #expect(network.events[.left]?.filter { $0 == .selected(path) }.count == 1)
        #expect(network.events[.right]?.filter { $0 == .selected(path.reversed) }.count == 1)
    }

    @Test(arguments: 1...40)
    func `lossy full ends of any kind agree`(seed: UInt64) throws {
        var network = FullAgentNetwork(seed: seed)
        network.loss = 0.3
        for ip in ["192.0.2.1", "2001:db8::1"] { try network.add(.left, ip, 1_000) }
        for ip in ["192.0.2.9", "2001:db8::9"] { try network.add(.right, ip, 1_000, isSignalled: seed % 3 != 0) }
        if seed % 3 == 0 {
            // One side is known by its checks alone.
            network.left.addRemoteCandidate(
                ICECandidate(host: try address("192.0.2.9", 1_000), localPreference: 1), now: .zero)
        }
        network.introduce(supportsRenomination: seed % 2 == 0)
        network.run(until: .zero + .seconds(15))
        let selected = try #require(network.left.selectedPath, "seed \(seed)")
        #expect(network.right.selectedPath == selected.reversed, "seed \(seed)")
    }

    @Test func `ICE_19 a check before the answer is remembered with its nomination`() throws {
        var agent = try vectorAgent(.controlled, isConnected: false)
        let path = try vectorPath()
        for milliseconds in [Int64(100), 150] {
            #expect(agent.take(try Request(useCandidate: true).bytes(), path, at: at(milliseconds)) == .accepted)
            let answers = drain(&agent, now: at(milliseconds))
            #expect(answers.map(\.path) == [path])
            #expect(try ReadMessage(answers[0].bytes).messageClass == .success)
        }
        #expect(agent.generations[0].pairs.count == 1)
        #expect(agent.remoteCandidates.map(\.kind) == [.peerReflexive])
        #expect(agent.remoteCandidates.map(\.address) == [path.remote])
        #expect(agent.remoteCandidates.map(\.priority) == [1_845_501_695])
        agent.setRemote(
            credentials: try credentials("RemU", "peerPasswordpeerPassword"), isLite: false,
            supportsRenomination: false, now: at(400))
        let checks = drain(&agent, now: at(400))
        #expect(checks.map(\.path) == [path])
        let check = try ReadMessage(checks[0].bytes)
        #expect(agent.selectedPath == nil)
        #expect(agent.take(try response(to: check.transactionID, mapped: path.local), path, at: at(420)) == .accepted)
        #expect(agent.selectedPath == path)
        // Our half of USERNAME decides (RFC 8445 §7.3); another of theirs is counted.
        #expect(agent.counters.foreignUsernames == 0)
        let foreign = try Request(username: "LocU:Other").bytes()
        #expect(agent.take(foreign, path, at: at(430)) == .accepted)
        #expect(agent.counters.foreignUsernames == 1)
    }

    @Test func `a nomination counts when a check of our own on the pair has succeeded`() throws {
        var agent = try vectorAgent(.controlled)
        let path = try vectorPath()
        #expect(agent.take(try Request(useCandidate: true).bytes(), path) == .accepted)
        #expect(agent.selectedPath == nil)
        let sent = drain(&agent, now: .zero)
        #expect(try sent.map { try ReadMessage($0.bytes).messageClass } == [.success, .request])
        let check = try ReadMessage(sent[1].bytes)
        // The controlled end nominates nothing.
        #expect(!check.useCandidate)
        #expect(agent.take(try response(to: check.transactionID, mapped: path.local), path, at: at(9)) == .accepted)
        #expect(agent.selectedPath == path)
        #expect(events(&agent).last == .selected(path))
        // Without a nomination no answer selects.
        var other = try vectorAgent(.controlled)
        _ = other.take(try Request().bytes(), path)
        try other.answerChecks(at: .zero)
        #expect(other.isValid(path))
        #expect(other.selectedPath == nil)
    }

    @Test func `of several USE-CANDIDATE the valid pair of the highest priority wins`() throws {
        var agent = try vectorAgent(.controlled)
        for (port, preference) in [(UInt16(1), UInt16(10)), (2, 30), (3, 20), (4, 40)] {
            agent.addRemoteCandidate(
                ICECandidate(host: try vectorPath(port).remote, localPreference: preference), now: .zero)
        }
        // Pair 4, the best, never answers.
        for milliseconds in [Int64(0), 20, 40, 60] {
            for datagram in drain(&agent, now: at(milliseconds)) where datagram.path.remote.port != 4 {
                let id = try ReadMessage(datagram.bytes).transactionID
                _ = agent.take(try response(to: id, mapped: datagram.path.local), datagram.path, at: at(milliseconds))
            }
        }
        var selected: [UInt16?] = []
        for port in [UInt16(4), 1, 2, 3, 1] {
            #expect(agent.take(try Request(useCandidate: true).bytes(), try vectorPath(port), at: at(90)) == .accepted)
            selected.append(agent.selectedPath?.remote.port)
        }
        #expect(selected == [nil, 1, 2, 2, 2])
    }

    @Test func `with NOMINATION the highest counter wins whatever the priority`() throws {
        var agent = try vectorAgent(.controlled)
        for port in UInt16(1)...3 {
            agent.addRemoteCandidate(
                ICECandidate(host: try vectorPath(port).remote, localPreference: 100 - port), now: .zero)
        }
        for milliseconds in [Int64(0), 20, 40] { try agent.answerChecks(at: at(milliseconds)) }
        var selected: [UInt16?] = []
        for (port, value) in [(UInt16(1), UInt32(1)), (3, 2), (2, 1), (1, 2), (2, 7), (3, 6)] {
            let request = try Request(useCandidate: true, nomination: value).bytes()
            #expect(agent.take(request, try vectorPath(port), at: at(90)) == .accepted)
            selected.append(agent.selectedPath?.remote.port)
        }
        // At equal counters from 2 on the newer pair: 1 is older than 3.
        #expect(selected == [1, 3, 3, 3, 2, 2])
    }

    @Test func `a controlled end leaves a pair that has fallen silent for another nominated one`() throws {
        var agent = try vectorAgent(.controlled)
        for (port, preference) in [(UInt16(1), UInt16(90)), (2, 10)] {
            agent.addRemoteCandidate(
                ICECandidate(host: try vectorPath(port).remote, localPreference: preference), now: .zero)
        }
        for milliseconds in [Int64(0), 20] { try agent.answerChecks(at: at(milliseconds)) }
        for port in UInt16(1)...2 {
            _ = agent.take(try Request(useCandidate: true).bytes(), try vectorPath(port), at: at(40))
        }
        #expect(agent.selectedPath?.remote.port == 1)
        _ = drain(&agent, now: at(40))
        // Three consent checks go unanswered; the peer is alive on 2.
        var checks = 0
        while checks < 3, agent.nextDeadline < .zero + .seconds(20) {
            let now = agent.nextDeadline
            agent.handleTimeout(now: now)
            checks += drain(&agent, now: now).count
            #expect(agent.selectedPath?.remote.port == 1)
            if checks == 3 {
                _ = agent.take(try Request(useCandidate: true).bytes(), try vectorPath(2), at: now)
            }
        }
        #expect(agent.selectedPath?.remote.port == 2)
    }

    @Test func `a nominated pair that dies makes place for another before consent is over`() throws {
        var network = FullAgentNetwork(seed: 5)
        try network.add(.left, "192.0.2.1", 1_000)
        for port in UInt16(1)...2 { try network.add(.right, "198.51.100.1", port) }
        // The better pair dies with its first answer.
        network.swallow = { side, path, bytes in
            guard side == .left, path.remote.port == 1 else { return false }
            return (try? ReadMessage(bytes).useCandidate) ?? false
        }
        network.introduce()
        network.run(until: .zero + .seconds(2))
        #expect(network.left.selectedPath?.remote.port == 2)
        #expect(network.right.selectedPath?.local.port == 2)
    }
}
