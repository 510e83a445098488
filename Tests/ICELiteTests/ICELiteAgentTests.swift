import ICELite
import Testing

@Suite struct ICELiteAgentTests {
    private func agent() throws -> ICELiteAgent {
        ICELiteAgent(
            credentials: try credentials("LocU", "VerySecretLocalPwd123456"),
            peerCredentials: try credentials("RemU", "peerPasswordpeerPassword"), randomness: .seeded(4))
    }

    private func path(_ port: UInt16) throws -> NetworkPath {
        NetworkPath(local: try address("192.0.2.1", 1_000), remote: try address("192.0.2.50", port))
    }

    /// Hands `request` over and returns its one answer.
    private func ask(
        _ agent: inout ICELiteAgent, _ request: Request, _ port: UInt16, at milliseconds: Int64 = 0
    ) throws -> ReadMessage {
        let now = Instant.zero + .milliseconds(milliseconds)
        _ = agent.take(try request.bytes(), try path(port), at: now)
        let answers = drain(&agent, now: now)
        #expect(answers.map(\.path) == [try path(port)])
        return try ReadMessage(try #require(answers.first).bytes)
    }

    /// Cases from bug reports: nil is silence, 0 is success, else the error code. Signed only where the key is known.
    @Test(arguments: [
        ("ICE-02", [UInt16?.none]), ("ICE-03", [0, nil, nil]), ("ICE-05", [420]), ("ICE-06", [0]), ("ICE-08", [0]),
        ("ICE-09", [401, 401, 400, 400, 401, 400]), ("ICE-11", [0, 0, 487, 487, 0, 0, 0]), ("ICE-13", [0, 0, 0]),
    ])
    func `requests are answered with the right code`(name: String, codes: [UInt16?]) throws {
        let key = STUNKey(password: "VerySecretLocalPwd123456")
        for (vector, code) in zip(try Vector.read(name), codes) {
            var agent = try agent()
            let path = try path(2_000)
            let verdict = agent.take(vector.bytes, path, at: .zero)
            let answers = drain(&agent, now: .zero)
            #expect((verdict == .accepted) == (code == 0), "\(vector)")
            #expect(answers.count == (code == nil ? 0 : 1), "\(vector)")
            #expect(agent.isAuthenticated(path) == (code == 0), "\(vector)")
            guard let code, let answer = answers.first else { continue }
            #expect(answer.path == path)
            let message = try ReadMessage(answer.bytes)
            #expect(message.transactionID == (try ReadMessage(vector.bytes).transactionID))
            #expect(message.hasFingerprint && message.hasValidFingerprint)
            #expect(message.errorCode == (code == 0 ? nil : code), "\(vector)")
            if code == 0 || code == 420 || code == 487 { #expect(message.verifies(with: key), "\(vector)") }
            if code == 401 { #expect(message.integrity == .none) }
            if code == 0 { #expect(message.xorMappedAddress == path.remote) }
            if code == 420 { #expect(message.unknownAttributes == [0x7F, 0x01]) }
        }
    }

    @Test func `the last USE-CANDIDATE wins whatever the priority`() throws {
        var agent = try agent()
        _ = try ask(&agent, Request(priority: 1_862_270_975, useCandidate: true), 1)
        _ = try ask(&agent, Request(priority: 1_694_498_815, useCandidate: true), 2)
        _ = try ask(&agent, Request(priority: 1_862_270_975), 1)
        #expect(agent.selectedPath == (try path(2)))
        let (first, second) = (try path(1), try path(2))
        #expect(
            events(&agent) == [
                .tupleAuthenticated(first), .selected(first), .tupleAuthenticated(second), .selected(second),
            ])
    }

    @Test func `at nomination 1 the first tuple stays, from 2 on the newest is used, and the highest wins`() throws {
        var agent = try agent()
        func nominate(_ value: UInt32, _ port: UInt16) throws -> NetworkPath? {
            _ = try ask(&agent, Request(useCandidate: true, nomination: value), port)
            return agent.selectedPath
        }
        #expect(try nominate(1, 1) == path(1))
        #expect(try nominate(1, 2) == path(1))
        #expect(try nominate(2, 2) == path(2))
        #expect(try nominate(1, 1) == path(2))
        #expect(agent.counters.rebindings == 0)
        #expect(try nominate(2, 3) == path(3))
        #expect(agent.counters.rebindings == 1)
        // A late check on the older tuple does not move it back; a higher value does.
        #expect(try nominate(2, 2) == path(3))
        #expect(try nominate(3, 1) == path(1))
        // A probe without nomination moves nothing.
        _ = try ask(&agent, Request(), 4)
        #expect(agent.selectedPath == (try path(1)))
    }

    @Test func `the token is given to who offers, and its echo confirms`() throws {
        var agent = try agent()
        #expect(try ask(&agent, Request(), 1).routabilityToken == nil)
        let token = try #require(try ask(&agent, Request(token: 0), 1).routabilityToken)
        #expect(token != 0)
        #expect(!agent.isConfirmed(try path(1)))
        // Another tuple's token is no proof.
        let other = try #require(try ask(&agent, Request(token: token), 2).routabilityToken)
        #expect(other != token)
        #expect(!agent.isConfirmed(try path(2)))
        #expect(try ask(&agent, Request(token: token), 1).routabilityToken == nil)
        #expect(agent.isConfirmed(try path(1)))
        agent.confirm(try path(2))
        #expect(agent.isConfirmed(try path(2)))
    }

    @Test func `the least recently authenticated unselected tuple makes room`() throws {
        var agent = try agent()
        for port in UInt16(1)...8 { _ = try ask(&agent, Request(), port, at: Int64(port)) }
        _ = try ask(&agent, Request(), 2, at: 20)
        _ = try ask(&agent, Request(), 9, at: 21)
        #expect(agent.tupleCount == 8)
        #expect(agent.counters.tuplesEvicted == 1)
        #expect(agent.isAuthenticated(try path(1)))
        #expect(agent.isAuthenticated(try path(2)))
        #expect(!agent.isAuthenticated(try path(3)))
        #expect(agent.isAuthenticated(try path(9)))
    }

    @Test func `consent runs from the last authenticated request`() throws {
        var agent = try agent()
        _ = try ask(&agent, Request(), 1)
        _ = try ask(&agent, Request(), 1, at: 10_000)
        _ = try ask(&agent, Request(password: "someone else's password"), 1, at: 20_000)
        #expect(agent.nextDeadline == .zero + .seconds(40))
        agent.handleTimeout(now: .zero + .milliseconds(39_999))
        #expect(agent.isAuthenticated(try path(1)))
        agent.handleTimeout(now: .zero + .seconds(40))
        #expect(!agent.isAuthenticated(try path(1)))
        #expect(agent.selectedPath == nil)
        let last = events(&agent).last
        #expect(last == .consentExpired(try path(1)))
        #expect(agent.nextDeadline == .never)
        // Who authenticates afterwards is used again.
        _ = try ask(&agent, Request(nomination: 1), 2, at: 50_000)
        #expect(agent.selectedPath == (try path(2)))
    }

    @Test func `an IPv4-mapped source is the IPv4 one`() throws {
        var agent = try agent()
        let mapped = NetworkPath(
            local: try address("::ffff:192.0.2.1", 1_000), remote: try address("::ffff:192.0.2.50", 7))
        #expect(agent.take(try Request().bytes(), mapped, at: .zero) == .accepted)
        #expect(agent.isAuthenticated(try path(7)))
        #expect(agent.isAuthenticated(mapped))
        let answer = try #require(drain(&agent, now: .zero).first)
        #expect(answer.path == (try path(7)))
        #expect(try ReadMessage(answer.bytes).xorMappedAddress == (try address("192.0.2.50", 7)))
    }

    @Test func `a request under SHA-256 is answered under SHA-256`() throws {
        var agent = try agent()
        let answer = try ask(&agent, Request(integrity: .sha256), 1)
        #expect(answer.messageClass == .success)
        #expect(answer.integrity == .sha256)
        #expect(answer.verifies(with: STUNKey(password: "VerySecretLocalPwd123456")))
    }

    @Test func `answers that wait are bounded`() throws {
        var agent = try agent()
        for id in UInt64(1)...40 {
            #expect(agent.take(try Request(id: id).bytes(), try path(1), at: .zero) == .accepted)
        }
        #expect(drain(&agent, now: .zero).count == 32)
        #expect(agent.counters.responsesDropped == 8)
    }

    @Test func `an unsigned indication and a response change nothing`() throws {
        var agent = try agent()
        let indication = try written { (out) throws(STUNError) in
            let writer = try STUNWriter(.indication, transactionID: STUNTransactionID(high: 1, low: 1), into: &out)
            try writer.appendFingerprint(into: &out)
        }
        #expect(agent.take(indication, try path(1), at: .zero) == .dropped(.indication))
        let response = try Vector.read("RFC5769")[1].bytes
        #expect(agent.take(response, try path(1), at: .zero) == .dropped(.unknownTransaction))
        #expect(agent.tupleCount == 0)
        #expect(drain(&agent, now: .zero).isEmpty)
    }
}
