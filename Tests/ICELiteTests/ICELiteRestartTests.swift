import Testing

@testable import ICELite

/// Two generations of credentials side by side (RFC 8445 §9).
@Suite struct ICELiteRestartTests {
    private static let newPassword = "SecondSecretLocalPwd6789"
    private static let thirdPassword = "ThirdSecretLocalPwd01234"

    private func restart(_ end: LiteEnd, _ ufrag: String = "LocV", _ password: String = newPassword) throws {
        end.agent.restart(
            credentials: try credentials(ufrag, password),
            peerCredentials: try credentials("RemV", "peerPasswordpeerPasswort"), now: end.now)
    }

    private func new(_ id: UInt64 = 1, nomination: UInt32? = nil, useCandidate: Bool = false) -> Request {
        Request(
            username: "LocV:RemV", password: Self.newPassword, id: id, useCandidate: useCandidate,
            nomination: nomination)
    }

    /// An end whose peer on port 1 is selected and confirmed, with a restart outstanding.
    private func restarting() throws -> LiteEnd {
        let end = try LiteEnd()
        try end.nominateAndConfirm(9, 1)
        try restart(end)
        _ = end.events()
        return end
    }

    @Test func `both generations are answered, each under its own password`() throws {
        let end = try restarting()
        #expect(end.agent.localUfrags == ["LocU", "LocV"])
        #expect(end.agent.isRestarting)
        #expect(end.agent.credentials.ufrag == "LocV")
        let old = try end.ask(Request(), 1)
        #expect(old.messageClass == .success)
        #expect(old.verifies(with: STUNKey(password: "VerySecretLocalPwd123456")))
        let probe = try end.ask(new(), 2)
        #expect(probe.messageClass == .success)
        #expect(probe.verifies(with: STUNKey(password: Self.newPassword)))
        // One's name with the other's password is neither.
        let mixed = try end.ask(Request(username: "LocV:RemV"), 3)
        #expect(mixed.errorCode == 401)
        // A check that selects nothing ends nothing: old tuples stay usable.
        #expect(end.agent.isRestarting)
        #expect(end.agent.destinations == (try end.destinations(1)))
        #expect(end.agent.isAuthenticated(try end.path(2)))
    }

    @Test func `the first check of the new generation that selects retires the old, whatever its nomination`() throws {
        let end = try restarting()
        try end.ask(new(nomination: 1), 2)
        let (old, fresh) = (try end.path(1), try end.path(2))
        #expect(end.events() == [.tupleAuthenticated(fresh), .restartCompleted, .selected(fresh)])
        #expect(end.agent.counters.restarts == 1)
        #expect(!end.agent.isRestarting)
        #expect(end.agent.localUfrags == ["LocV", "LocU"])
        #expect(end.agent.destinations == (try end.destinations(2, 1)))
        // The old is answered and selects no more, however high it counts.
        #expect(try end.ask(Request(useCandidate: true, nomination: 100), 1).messageClass == .success)
        #expect(end.agent.selectedPath == fresh)
        // Nomination counts anew.
        try end.ask(new(nomination: 2), 3)
        #expect(end.agent.selectedPath == (try end.path(3)))
        // And is forgotten after its time, with the tuples that only it has used and that nothing is sent to.
        try end.ask(Request(), 4)
        end.agent.confirm(fresh)
        end.agent.confirm(try end.path(3))
        _ = end.events()
        #expect(end.agent.nextDeadline == end.now + .seconds(5))
        end.advance(5_000)
        #expect(Set(end.events()) == [.tupleRemoved(old), .tupleRemoved(try end.path(4)), .ufragForgotten("LocU")])
        #expect(end.agent.localUfrags == ["LocV"])
        #expect(end.agent.isAuthenticated(fresh))
        #expect(try end.ask(Request(), 1).errorCode == 401)
    }

    @Test func `on the tuple in use nothing moves and nothing has to be shown again`() throws {
        let end = try restarting()
        try end.ask(new(useCandidate: true), 1)
        #expect(end.events() == [.restartCompleted])
        #expect(end.agent.selectedPath == (try end.path(1)))
        #expect(end.agent.isConfirmed(try end.path(1)))
        end.advance(5_000)
        #expect(end.events() == [.ufragForgotten("LocU")])
        #expect(end.agent.isAuthenticated(try end.path(1)))
    }

    @Test func `with nothing selected any check of the new generation selects`() throws {
        let end = try restarting()
        end.advance(30_000)
        #expect(end.agent.selectedPath == nil)
        try end.ask(new(), 2)
        #expect(end.agent.selectedPath == (try end.path(2)))
        #expect(!end.agent.isRestarting)
    }

    @Test func `an old tuple that is still sent to outlives its credentials until consent expires`() throws {
        let end = try restarting()
        try end.ask(new(nomination: 1), 2)
        end.advance(5_000)
        #expect(end.agent.destinations == (try end.destinations(2, 1)))
        try end.ask(new(nomination: 1), 2)
        end.advance(25_000)
        #expect(end.agent.destinations == (try end.destinations(2)))
        #expect(!end.agent.isAuthenticated(try end.path(1)))
    }

    @Test func `a browser's new socket comes with our old ufrag and its new one`() throws {
        let end = try restarting()
        let request = Request(username: "LocU:RemV")
        #expect(try end.ask(request, 2).messageClass == .success)
        #expect(end.agent.counters.foreignUsernames == 0)
        // Also before its offer is here; counted, as the name is not known yet.
        let early = try LiteEnd()
        #expect(try early.ask(request, 2).messageClass == .success)
        #expect(early.agent.counters.foreignUsernames == 1)
        #expect(try early.ask(Request(username: "LocU"), 2).errorCode == 401)
    }

    @Test func `a second restart replaces the outstanding one`() throws {
        let end = try restarting()
        try end.ask(new(), 2)
        _ = end.events()
        try restart(end, "LocW", Self.thirdPassword)
        #expect(end.events() == [.ufragForgotten("LocV")])
        #expect(end.agent.localUfrags == ["LocU", "LocW"])
        #expect(try end.ask(new(nomination: 50), 2).errorCode == 401)
        #expect(end.agent.selectedPath == (try end.path(1)))
        let third = Request(username: "LocW:RemV", password: Self.thirdPassword, nomination: 1)
        try end.ask(third, 3)
        #expect(end.agent.selectedPath == (try end.path(3)))
        #expect(end.agent.localUfrags == ["LocW", "LocU"])
        // The tuple of the replaced one goes with the old generation.
        end.advance(5_000)
        #expect(!end.agent.isAuthenticated(try end.path(2)))
    }

    @Test func `a restart right behind a completed one keeps two ufrags`() throws {
        let end = try restarting()
        try end.ask(new(nomination: 1), 2)
        _ = end.events()
        try restart(end, "LocW", Self.thirdPassword)
        #expect(end.events().last == .ufragForgotten("LocU"))
        #expect(end.agent.localUfrags == ["LocV", "LocW"])
        #expect(end.agent.destinations == (try end.destinations(2, 1)))
    }

    @Test func `a hundred restarts leave nothing behind`() throws {
        let end = try LiteEnd()
        try end.nominateAndConfirm(1, 1)
        for round in 0..<100 {
            try restart(end, "Loc\(round)", Self.thirdPassword)
            if round % 3 > 0 {
                let request = Request(username: "Loc\(round):RemV", password: Self.thirdPassword, nomination: 1)
                try end.ask(request, UInt16(10 + round))
            }
            end.advance(2_000)
            #expect(end.agent.localUfrags.count <= 2)
            #expect(end.agent.tupleCount <= 8)
            _ = end.events()
        }
        #expect(end.agent.counters.restarts == 66)
        #expect(end.agent.counters.eventsDropped == 0)
        end.advance(30_000)
        #expect(end.agent.tupleCount == 0)
        #expect(end.agent.nextDeadline == .never)
    }
}
