// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Testing

@testable import ICELite

/// Cases of public bug reports, as a lite agent has to meet them.
@Suite struct ICELiteCaseTests {
    @Test func `ICE_13_all three of one id are answered and the one with USE-CANDIDATE nominates`() throws {
        let end = try LiteEnd()
        // Another tuple is in use, so that nominating shows.
        try end.ask(Request(id: 99), 9)
        let path = try end.path(1)
        var selected: [Bool] = []
        for vector in try Vector.read("ICE-13") {
            #expect(end.agent.take(vector.bytes, path, at: end.now) == .accepted, "\(vector)")
            let answers = drain(&end.agent, now: end.now)
            #expect(answers.map(\.path) == [path])
            #expect(try ReadMessage(try #require(answers.first).bytes).messageClass == .success)
            selected.append(end.agent.selectedPath == path)
        }
        #expect(selected == [false, false, true])
        #expect(end.agent.tupleCount == 2)
    }

    @Test func `ICE_13_an error is not remembered by its id`() throws {
        let end = try LiteEnd()
        #expect(try end.ask(Request(password: "someone else's password"), 1).errorCode == 401)
        #expect(try end.ask(Request(), 1).messageClass == .success)
        #expect(try end.ask(Request(controlled: true), 1).errorCode == 487)
        #expect(try end.ask(Request(), 1).messageClass == .success)
    }

    /// The pages have a server judge by its own half of USERNAME alone: a foreign other half is counted, not refused.
    @Test func `ICE_19_a check before the peer's credentials is answered at once and its nomination kept`() throws {
        let end = try LiteEnd(knowsPeer: false)
        let early = Request(useCandidate: true)
        end.advance(100)
        #expect(try end.ask(early, 5_000).messageClass == .success)
        end.advance(50)
        #expect(try end.ask(early, 5_000).messageClass == .success)
        #expect(end.agent.tupleCount == 1)
        #expect(end.agent.counters.foreignUsernames == 0)
        end.advance(250)
        end.agent.setPeer(credentials: try credentials("RemU", "peerPasswordpeerPassword"))
        #expect(end.agent.selectedPath == (try end.path(5_000)))
        #expect(end.agent.destinations == (try end.destinations(5_000)))
        #expect(try end.ask(early, 5_000).messageClass == .success)
        #expect(end.agent.counters.foreignUsernames == 0)
        try end.ask(Request(username: "LocU:Other"), 5_000)
        #expect(end.agent.counters.foreignUsernames == 1)
    }

    @Test func `ICE_21_the last USE-CANDIDATE wins whatever the priority, and media is taken on both`() throws {
        let end = try LiteEnd()
        let (high, low) = (UInt32(1_862_270_975), UInt32(1_694_498_815))
        try end.ask(Request(priority: high, useCandidate: true), 1)
        #expect(end.agent.selectedPath == (try end.path(1)))
        // DTLS starts on the first nominated pair.
        #expect(try end.send(1_200, 1))
        end.agent.confirm(try end.path(1))
        try end.ask(Request(priority: low, useCandidate: true), 2)
        #expect(end.agent.selectedPath == (try end.path(2)))
        try end.ask(Request(priority: high), 1)
        #expect(end.agent.selectedPath == (try end.path(2)))
        end.agent.noteReceived(160, on: try end.path(1))
        #expect(end.agent.selectedPath == (try end.path(2)))
        #expect(end.agent.isAuthenticated(try end.path(1)))
    }

    @Test func `ICE_24_at a restart the old pair stays until a new one is selected, then is forgotten`() throws {
        let end = try LiteEnd()
        try end.nominateAndConfirm(2, 1)
        let newPassword = "SecondSecretLocalPwd6789"
        end.agent.restart(
            credentials: try credentials("LocU2", newPassword),
            peerCredentials: try credentials("RemU2", "peerPasswordpeerPasswort"), now: end.now)
        end.advance(5)
        #expect(try end.ask(Request(), 1).messageClass == .success)
        #expect(end.agent.destinations == (try end.destinations(1)))
        end.advance(55)
        let probe = Request(username: "LocU2:RemU2", password: newPassword)
        #expect(try end.ask(probe, 2).messageClass == .success)
        #expect(end.agent.destinations == (try end.destinations(1)))
        end.advance(60)
        let token = try #require(
            try end.ask(
                Request(username: "LocU2:RemU2", password: newPassword, useCandidate: true, token: 0), 2
            ).routabilityToken)
        // No gap: both get media until the new one is confirmed.
        #expect(end.agent.destinations == (try end.destinations(2, 1)))
        end.advance(20)
        try end.ask(Request(username: "LocU2:RemU2", password: newPassword, token: token), 2)
        #expect(end.agent.destinations == (try end.destinations(2)))
        #expect(try end.ask(Request(), 1).messageClass == .success)
        end.advance(5_000)
        #expect(end.agent.localUfrags == ["LocU2"])
        #expect(!end.agent.isAuthenticated(try end.path(1)))
    }
}
