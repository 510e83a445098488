import Testing

@testable import ICELite

/// The check a lite agent sends to a peer without tokens that has moved.
@Suite struct ICELiteRoutabilityCheckTests {
    private static let peerPassword = "peerPasswordpeerPassword"
    private static let newPassword = "SecondSecretLocalPwd6789"

    /// A peer without tokens whose tuple on port 1 a DTLS flight has confirmed.
    private func confirmed(asksForAdmission: Bool = false, knowsPeer: Bool = true) throws -> LiteEnd {
        let end = try LiteEnd(asksForAdmission: asksForAdmission, knowsPeer: knowsPeer)
        try end.ask(Request(useCandidate: true), 1)
        end.agent.confirm(try end.path(1))
        _ = end.events()
        return end
    }

    /// Moves the peer to `port`: what leaves beside the answer.
    private func move(
        _ end: LiteEnd, to port: UInt16, _ request: Request = Request(useCandidate: true)
    ) throws
        -> [Datagram]
    {
        let sent = try end.take(request, port)
        #expect(try ReadMessage(try #require(sent.first).bytes).messageClass == .success)
        return Array(sent.dropFirst())
    }

    private func wait(_ end: LiteEnd, _ milliseconds: Int64) -> [Datagram] {
        end.advance(milliseconds)
        return drain(&end.agent, now: end.now)
    }

    private func answer(
        _ end: LiteEnd, _ id: STUNTransactionID, _ port: UInt16, password: String? = peerPassword,
        error: STUNErrorCode? = nil
    ) throws -> ICEVerdict {
        let path = try end.path(port)
        return end.agent.take(
            try response(to: id, password: password, error: error, mapped: path.local), path, at: end.now)
    }

    @Test func `a move of a peer without tokens is asked about on that tuple, and the answer confirms it`() throws {
        let end = try confirmed()
        let checks = try move(end, to: 2)
        #expect(checks.map(\.path) == [try end.path(2)])
        let check = try ReadMessage(try #require(checks.first).bytes)
        #expect(check.messageClass == .request && check.method == STUNMessage.binding)
        #expect(check.username == Array("RemU:LocU".utf8))
        #expect(check.verifies(with: STUNKey(password: Self.peerPassword)))
        #expect(check.hasFingerprint && check.hasValidFingerprint)
        #expect(check.iceControlled != nil && check.iceControlling == nil)
        #expect(check.priority == 1_862_270_975)
        #expect(!check.useCandidate && check.nomination == nil && check.routabilityToken == nil)
        #expect(end.agent.counters.checksSent == 1)
        #expect(end.agent.destinations == (try end.destinations(2, 1)))
        _ = end.events()
        #expect(try answer(end, check.transactionID, 2) == .accepted)
        #expect(end.events() == [.tupleConfirmed(try end.path(2))])
        #expect(end.agent.destinations == (try end.destinations(2)))
        #expect(try end.send(65_535, 2))
        // Once is enough, and an answer counts once.
        #expect(wait(end, 10_000).isEmpty)
        #expect(try answer(end, check.transactionID, 2) == .dropped(.unknownTransaction))
    }

    @Test func `it is repeated twice under one transaction, 500 ms apart, and then never`() throws {
        let end = try confirmed()
        var sent = try move(end, to: 2)
        #expect(end.agent.nextDeadline == end.now + .milliseconds(500))
        #expect(wait(end, 499).isEmpty)
        sent += wait(end, 1)
        #expect(wait(end, 499).isEmpty)
        sent += wait(end, 1)
        #expect(sent.count == 3)
        #expect(Set(sent.map(\.bytes)).count == 1)
        #expect(wait(end, 5_000).isEmpty)
        // Neither another request nor a move there and back begins anew.
        #expect(try move(end, to: 2).isEmpty)
        #expect(try move(end, to: 1).isEmpty)
        #expect(try move(end, to: 2).isEmpty)
        #expect(wait(end, 5_000).isEmpty)
        #expect(end.agent.counters.checksSent == 3)
        // An answer that comes late still counts.
        #expect(try answer(end, try ReadMessage(sent[0].bytes).transactionID, 2) == .accepted)
        #expect(end.agent.isConfirmed(try end.path(2)))
    }

    @Test func `forged answers confirm nothing and do not take the transaction`() throws {
        let end = try confirmed()
        let id = try ReadMessage(try #require(try move(end, to: 2).first).bytes).transactionID
        _ = end.events()
        let before = end.agent.footprint
        // Not signed, by our own key, by a wrong one; an error, even a signed one; another id; another tuple.
        #expect(try answer(end, id, 2, password: nil) == .dropped(.unauthenticated))
        #expect(try answer(end, id, 2, password: "VerySecretLocalPwd123456") == .dropped(.unauthenticated))
        #expect(try answer(end, id, 2, password: "someone else's password") == .dropped(.unauthenticated))
        #expect(try answer(end, id, 2, error: .roleConflict) == .dropped(.errorResponse))
        let other = STUNTransactionID(high: id.high, low: id.low ^ 1)
        #expect(try answer(end, other, 2) == .dropped(.unknownTransaction))
        #expect(try answer(end, id, 1) == .dropped(.asymmetricResponse))
        #expect(try answer(end, id, 3) == .dropped(.asymmetricResponse))
        let elsewhere = try end.path(2, local: "198.51.100.7")
        let signed = try response(to: id, mapped: elsewhere.local)
        #expect(end.agent.take(signed, elsewhere, at: end.now) == .dropped(.asymmetricResponse))
        for length in 0..<signed.count {
            #expect(end.agent.take(Array(signed[..<length]), try end.path(2), at: end.now) == .dropped(.malformed))
        }
        #expect(end.agent.footprint == before)
        #expect(!end.agent.isConfirmed(try end.path(2)))
        #expect(try answer(end, id, 2) == .accepted)
        #expect(end.agent.isConfirmed(try end.path(2)))
    }

    @Test func `the check thrown back by a mirror is a request under the wrong name`() throws {
        let end = try confirmed()
        let check = try #require(try move(end, to: 2).first)
        #expect(end.agent.take(check.bytes, check.path, at: end.now) == .dropped(.unauthenticated))
        #expect(!end.agent.isConfirmed(check.path))
    }

    @Test func `an answer from a tuple that is gone, or to a check of another move, is none`() throws {
        let end = try confirmed()
        let first = try ReadMessage(try #require(try move(end, to: 2).first).bytes).transactionID
        let second = try ReadMessage(try #require(try move(end, to: 3).first).bytes).transactionID
        #expect(first != second)
        #expect(try answer(end, first, 2) == .dropped(.unknownTransaction))
        #expect(!end.agent.isConfirmed(try end.path(2)))
        end.advance(29_000)
        try end.ask(Request(), 1)
        end.advance(2_000)
        #expect(!end.agent.isAuthenticated(try end.path(3)))
        #expect(try answer(end, second, 3) == .dropped(.unknownTransaction))
    }

    @Test
    func `nothing is asked of who has shown it or can, who has not been shown to, or whose credentials are unknown`()
        throws
    {
        // Before any flight has confirmed a tuple.
        let early = try LiteEnd()
        #expect(try move(early, to: 1).isEmpty)
        #expect(try move(early, to: 2).isEmpty)
        // A flight has confirmed a tuple that was not the selected one.
        let aside = try LiteEnd()
        try aside.ask(Request(useCandidate: true), 1)
        try aside.ask(Request(), 2)
        aside.agent.confirm(try aside.path(2))
        #expect(try move(aside, to: 3).isEmpty)
        // Confirmed by a token alone.
        let token = try LiteEnd()
        try token.nominateAndConfirm(2, 1)
        #expect(try move(token, to: 2, Request(nomination: 3)).isEmpty)
        // A tuple that is not selected, and one that is confirmed.
        let end = try confirmed()
        #expect(try move(end, to: 2, Request()).isEmpty)
        end.agent.confirm(try end.path(2))
        #expect(try move(end, to: 2).isEmpty)
        // A peer that echoes.
        #expect(try move(end, to: 3, Request(useCandidate: true, token: 0)).isEmpty)
        #expect(try move(end, to: 3, Request(useCandidate: true)).isEmpty)
        // A peer whose password is unknown, until it comes.
        let unknown = try confirmed(knowsPeer: false)
        #expect(try move(unknown, to: 2).isEmpty)
        #expect(unknown.agent.nextDeadline > unknown.now, "nothing is due that cannot be written")
        unknown.agent.setPeer(credentials: try credentials("RemU", Self.peerPassword))
        #expect(drain(&unknown.agent, now: unknown.now).count == 1)
        // After the end.
        let ended = try confirmed()
        _ = ended.agent.take(try Request(useCandidate: true).bytes(), try ended.path(2), at: ended.now)
        ended.agent.end()
        #expect(drain(&ended.agent, now: ended.now).isEmpty)
        for end in [early, aside, token, end, ended] { #expect(wait(end, 5_000).isEmpty) }
    }

    @Test func `a tuple that is not admitted is not asked, and asked once it is`() throws {
        let end = try confirmed(asksForAdmission: true)
        #expect(try move(end, to: 2).isEmpty)
        end.agent.settleAdmission(of: try end.path(2), isAdmitted: false)
        #expect(wait(end, 1_000).isEmpty)
        #expect(try move(end, to: 2).isEmpty)
        end.agent.settleAdmission(of: try end.path(2), isAdmitted: true)
        #expect(drain(&end.agent, now: end.now).map(\.path) == [try end.path(2)])
    }

    @Test func `no check leaves while a restart is outstanding, or for a peer that names credentials to come`() throws {
        let end = try confirmed()
        // A browser's new socket, ahead of its offer: our old ufrag and its new one.
        #expect(try move(end, to: 2, Request(username: "LocU:RemV", useCandidate: true)).isEmpty)
        end.agent.restart(
            credentials: try credentials("LocV", Self.newPassword),
            peerCredentials: try credentials("RemV", "peerPasswordpeerPasswort"), now: end.now)
        #expect(try move(end, to: 3).isEmpty)
        #expect(wait(end, 5_000).isEmpty)
        // Its first check under the new credentials ends the restart: it has the answer.
        let new = Request(username: "LocV:RemV", password: Self.newPassword, useCandidate: true)
        let check = try ReadMessage(try #require(try move(end, to: 2, new).first).bytes)
        #expect(check.username == Array("RemV:LocV".utf8))
        #expect(check.verifies(with: STUNKey(password: "peerPasswordpeerPasswort")))
        #expect(try answer(end, check.transactionID, 2) == .dropped(.unauthenticated))
        #expect(try answer(end, check.transactionID, 2, password: "peerPasswordpeerPasswort") == .accepted)
    }

    @Test func `a restart that ends on the tuple asked about asks anew, under the new credentials`() throws {
        let end = try confirmed()
        let old = try ReadMessage(try #require(try move(end, to: 2).first).bytes).transactionID
        end.agent.restart(
            credentials: try credentials("LocV", Self.newPassword),
            peerCredentials: try credentials("RemV", "peerPasswordpeerPasswort"), now: end.now)
        #expect(wait(end, 500).isEmpty)
        let new = Request(username: "LocV:RemV", password: Self.newPassword, useCandidate: true)
        let check = try ReadMessage(try #require(try move(end, to: 2, new).first).bytes)
        #expect(check.transactionID != old)
        #expect(check.verifies(with: STUNKey(password: "peerPasswordpeerPasswort")))
        #expect(try answer(end, old, 2) == .dropped(.unknownTransaction))
        #expect(try answer(end, check.transactionID, 2, password: "peerPasswordpeerPasswort") == .accepted)
    }

    @Test func `an answer that wants something understood which is not confirms nothing`() throws {
        let end = try confirmed()
        let id = try ReadMessage(try #require(try move(end, to: 2).first).bytes).transactionID
        let path = try end.path(2)
        let bytes = try written { (out) throws(STUNError) in
            let writer = try STUNWriter(.success, transactionID: id, into: &out)
            // Comprehension-required and unknown.
            for byte in [0x7F, 0x01, 0, 4, 1, 2, 3, 4] as [UInt8] { out.append(byte, as: UInt8.self) }
            try writer.append(address: path.local, into: &out)
            try writer.append(.sha1, key: STUNKey(password: Self.peerPassword), into: &out)
            try writer.appendFingerprint(into: &out)
        }
        #expect(end.agent.take(bytes, path, at: end.now) == .dropped(.unknownAttribute))
        #expect(!end.agent.isConfirmed(path))
    }

    @Test func `back on the confirmed tuple media goes there once`() throws {
        let end = try confirmed()
        _ = try move(end, to: 2)
        #expect(end.agent.destinations == (try end.destinations(2, 1)))
        _ = try move(end, to: 1)
        #expect(end.agent.destinations == (try end.destinations(1)))
    }

    @Test func `media leaves room for the checks in the allowance, and one without room does not spin`() throws {
        let end = try confirmed()
        var checks = try move(end, to: 2)
        while try end.send(100, 2) {}
        checks += wait(end, 500)
        checks += wait(end, 500)
        #expect(checks.count == 3)
        // Now the rest of the allowance may go.
        #expect(try end.send(100, 2))
        // Where answers have used up all of it, the check waits for the next turn.
        let full = try confirmed()
        _ = full.agent.take(try Request(useCandidate: true).bytes(), try full.path(2), at: full.now)
        let index = try #require(full.agent.index(of: try full.path(2)))
        full.agent.tuples[index].bytesSent = 1 << 20
        #expect(drain(&full.agent, now: full.now).isEmpty)
        #expect(full.agent.counters.checksSent == 0)
        #expect(full.agent.nextDeadline == full.now + .milliseconds(500))
        full.agent.tuples[index].bytesSent = 0
        #expect(wait(full, 500).count == 1)
    }
}
