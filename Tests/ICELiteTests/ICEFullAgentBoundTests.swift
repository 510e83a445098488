import Testing

@testable import ICELite

/// Peers that never settle, and calls that last: what is sent stays bounded, and room is found for what is new.
@Suite struct ICEFullAgentBoundTests {
    private func at(_ milliseconds: Int64) -> Instant { .zero + .milliseconds(milliseconds) }

    /// A success response with a token.
    private func response(to id: STUNTransactionID, mapped: SocketAddress, token: UInt64) throws -> [UInt8] {
        try written { (out) throws(STUNError) in
            let writer = try STUNWriter(.success, transactionID: id, into: &out)
            try writer.append(address: mapped, into: &out)
            try writer.append(.routabilityToken, token, into: &out)
            try writer.append(.sha1, key: STUNKey(password: "peerPasswordpeerPassword"), into: &out)
            try writer.appendFingerprint(into: &out)
        }
    }

    @Test func `a peer that tells a new token in each answer is not echoed faster than checks are repeated`() throws {
        var agent = try vectorAgent(.controlling, isConnected: false)
        agent.setRemote(
            credentials: try credentials("RemU", "peerPasswordpeerPassword"), isLite: true,
            supportsRenomination: true, now: .zero)
        agent.addRemoteCandidate(ICECandidate(host: try vectorPath().remote, localPreference: 1), now: .zero)
        // A NAT that maps each datagram anew in front of it: every check meets a new tuple, a millisecond away.
        var times: [Int64] = []
        for millisecond in Int64(0)..<2_000 {
            agent.handleTimeout(now: at(millisecond))
            for check in drain(&agent, now: at(millisecond)) {
                times.append(millisecond)
                let answer = try response(
                    to: try ReadMessage(check.bytes).transactionID, mapped: check.path.local,
                    token: UInt64(times.count))
                #expect(agent.take(answer, check.path, at: at(millisecond)) == .accepted)
            }
        }
        // A few at once, then at the pace of repeats.
        #expect(times.count <= 30, "\(times.count)")
        #expect(agent.selectedPath == (try vectorPath()))
    }

    @Test(arguments: [ICERole.controlled, .controlling])
    func `a peer that has moved a hundred times is still followed`(role: ICERole) throws {
        var agent = try vectorAgent(role)
        var now = Instant.zero
        for port in UInt16(1)...100 {
            let path = try vectorPath(port)
            let request = Request(
                id: UInt64(port), useCandidate: role == .controlled,
                nomination: role == .controlled ? UInt32(port) + 1 : nil, controlled: role == .controlling)
            #expect(agent.take(try request.bytes(), path, at: now) == .accepted)
            try agent.answerChecks(at: now)
            #expect(agent.hasPair(path) && agent.isValid(path), "port \(port)")
            now = now + .seconds(10)
            agent.handleTimeout(now: now)
            try agent.answerChecks(at: now)
            // Past the pacing.
            now = now + .milliseconds(100)
            #expect(agent.remoteCandidates.count <= ICELimits.remoteCandidates)
            #expect(agent.generations[0].pairs.count <= ICELimits.pairs)
        }
        #expect(agent.selectedPath == (try vectorPath(role == .controlled ? 100 : 1)))
    }

    @Test func `a flood of strangers keeps neither a full nor a lite agent from telling its peer of a role conflict`()
        throws
    {
        var full = try vectorAgent(.controlling)
        full.tieBreaker = .max
        let lite = try LiteEnd()
        let wrong = try Request(password: "someone else's password").bytes()
        let path = try vectorPath()
        var errors = 0
        for _ in 0..<100 {
            #expect(full.take(wrong, path) == .dropped(.unauthenticated))
            #expect(lite.agent.take(wrong, path) == .dropped(.unauthenticated))
            errors += drain(&full, now: .zero).count + drain(&lite.agent, now: .zero).count
        }
        #expect(errors == 20)
        #expect(full.take(try Request().bytes(), path) == .dropped(.roleConflict))
        #expect(lite.agent.take(try Request(controlled: true).bytes(), path) == .dropped(.roleConflict))
        for answers in [drain(&full, now: .zero), drain(&lite.agent, now: .zero)] {
            #expect(try ReadMessage(try #require(answers.first).bytes).errorCode == 487)
        }
    }

    @Test func `a check of the peer's brings the next of ours forward when the last has just left`() throws {
        // Ours met a NAT that the peer had not opened yet; its check, 40 ms behind, has.
        var agent = try vectorAgent(.controlled)
        agent.addRemoteCandidate(ICECandidate(host: try vectorPath().remote, localPreference: 1), now: .zero)
        #expect(drain(&agent, now: .zero).count == 1)
        #expect(agent.take(try Request(useCandidate: true).bytes(), try vectorPath(), at: at(40)) == .accepted)
        // The answer alone.
        #expect(drain(&agent, now: at(40)).count == 1)
        #expect(agent.nextDeadline == at(100))
        #expect(drain(&agent, now: at(100)).map(\.path) == [try vectorPath()])
        // Answered, nothing is brought forward any more.
        var answered = try vectorAgent(.controlled)
        answered.addRemoteCandidate(ICECandidate(host: try vectorPath().remote, localPreference: 1), now: .zero)
        try answered.answerChecks(at: .zero)
        let deadline = answered.nextDeadline
        #expect(answered.take(try Request().bytes(), try vectorPath(), at: at(40)) == .accepted)
        _ = drain(&answered, now: at(40))
        #expect(answered.nextDeadline == deadline)
    }
}
