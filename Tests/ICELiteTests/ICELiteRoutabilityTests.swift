import Testing

@testable import ICELite

/// What a tuple gets before return routability is shown.
@Suite struct ICELiteRoutabilityTests {
    @Test func `an unconfirmed tuple gets three times what it sent and 4 KB, answers included`() throws {
        let end = try LiteEnd()
        let path = try end.path(1)
        #expect(try !end.send(1, 1))
        #expect(end.agent.counters.sendsRefused == 1)
        let request = Request(token: 0)
        let size = try request.bytes().count
        let answer = try end.ask(request, 1)
        end.agent.noteReceived(100, on: path)
        let room = 3 * (size + 100) + 4_096 - answer.bytes.count
        #expect(try !end.send(room + 1, 1))
        #expect(try end.send(room - 1, 1))
        #expect(try end.send(1, 1))
        #expect(try !end.send(1, 1))
        #expect(end.agent.counters.sendsRefused == 3)
        end.agent.confirm(path)
        #expect(try end.send(65_535, 1))
    }

    @Test func `an answer the allowance has no room for is not sent`() throws {
        let end = try LiteEnd()
        let path = try end.path(1)
        let small = Request(priority: 1)
        let size = try small.bytes().count
        let length = try end.ask(small, 1).bytes.count
        // Three requests wait at once; what the tuple has left is enough for two of their answers.
        for id in UInt64(1)...3 { _ = end.agent.take(try Request(id: id).bytes(), path, at: end.now) }
        let left = 3 * size + 4_096 - length + 3 * 3 * size
        #expect(try end.send(left - 2 * length - 1, 1))
        #expect(drain(&end.agent, now: end.now).count == 2)
        #expect(end.agent.counters.answersWithheld == 1)
        #expect(end.agent.nextDeadline == .zero + .seconds(30))
    }

    @Test func `of several unconfirmed tuples only the selected one is sent to`() throws {
        let end = try LiteEnd()
        for port in UInt16(1)...4 { try end.ask(Request(), port) }
        #expect(try (1...4).map { end.agent.mayUse(try end.path($0)) } == [true, false, false, false])
        #expect(try !end.send(1, 2))
        #expect(end.agent.destinations == (try end.destinations(1)))
        // A move takes the right with it: an unconfirmed tuple is not kept beside another.
        try end.ask(Request(nomination: 2), 3)
        #expect(try (1...4).map { end.agent.mayUse(try end.path($0)) } == [false, false, true, false])
        #expect(end.agent.destinations == (try end.destinations(3)))
        #expect(try end.send(1, 3))
        // A confirmed one may be used, selected or not.
        end.agent.confirm(try end.path(4))
        #expect(end.agent.mayUse(try end.path(4)))
        #expect(end.agent.destinations == (try end.destinations(3, 4)))
    }

    @Test func `a move to an unconfirmed tuple sends to both until the new one is confirmed`() throws {
        let end = try LiteEnd()
        #expect(end.agent.destinations == nil)
        try end.nominateAndConfirm(2, 1)
        #expect(end.agent.destinations == (try end.destinations(1)))
        let token = try #require(try end.ask(Request(nomination: 2, token: 0), 2).routabilityToken)
        #expect(end.agent.destinations == (try end.destinations(2, 1)))
        // Another move before that keeps the one that was confirmed last.
        try end.ask(Request(nomination: 3), 3)
        #expect(end.agent.destinations == (try end.destinations(3, 1)))
        try end.ask(Request(nomination: 4), 2)
        #expect(end.agent.destinations == (try end.destinations(2, 1)))
        _ = end.events()
        try end.ask(Request(token: token), 2)
        #expect(end.agent.destinations == (try end.destinations(2)))
        #expect(end.events() == [.tupleConfirmed(try end.path(2))])
        // Back to a confirmed one: nothing has to be shown.
        try end.ask(Request(nomination: 5), 1)
        #expect(end.agent.destinations == (try end.destinations(1)))
    }

    @Test func `a nomination replayed from elsewhere ahead of any proof does not have the call alone`() throws {
        let end = try LiteEnd()
        let request = Request(nomination: 2, token: 0)
        let token = try #require(try end.ask(request, 1).routabilityToken)
        // Whoever listens sends the same bytes from its own address.
        try end.ask(request, 66)
        #expect(end.agent.selectedPath == (try end.path(66)))
        #expect(end.agent.destinations == (try end.destinations(66)))
        try end.ask(Request(nomination: 2, token: token), 1)
        #expect(end.agent.isConfirmed(try end.path(1)))
        #expect(end.agent.destinations == (try end.destinations(66, 1)))
        // The same by a flight, and of several the first that was confirmed stays.
        end.agent.confirm(try end.path(1))
        try end.ask(Request(), 2)
        end.agent.confirm(try end.path(2))
        #expect(end.agent.destinations == (try end.destinations(66, 1)))
        end.advance(29_000)
        try end.ask(Request(nomination: 2, token: token), 1)
        end.advance(1_000)
        #expect(end.agent.destinations == (try end.destinations(1)))
    }

    @Test func `a DTLS flight that came back confirms once`() throws {
        let end = try LiteEnd()
        end.agent.confirm(try end.path(1))
        #expect(end.events().isEmpty)
        try end.ask(Request(), 1)
        end.agent.confirm(try end.path(1))
        end.agent.confirm(try end.path(1))
        let path = try end.path(1)
        #expect(end.events() == [.tupleAuthenticated(path), .selected(path), .tupleConfirmed(path)])
    }

    @Test func `a selected tuple that loses consent gives back to the confirmed one before it`() throws {
        let end = try LiteEnd()
        try end.nominateAndConfirm(2, 1)
        end.advance(1_000)
        try end.ask(Request(nomination: 2), 2)
        end.advance(20_000)
        try end.ask(Request(), 1)
        _ = end.events()
        end.advance(10_000)
        let (old, new) = (try end.path(1), try end.path(2))
        #expect(end.events() == [.tupleRemoved(new), .selected(old)])
        #expect(end.agent.destinations == (try end.destinations(1)))
        // Both at once is the end.
        end.advance(30_000)
        #expect(end.events() == [.tupleRemoved(old), .consentExpired(old)])
        #expect(end.agent.destinations == nil)
        #expect(end.agent.nextDeadline == .never)
    }

    @Test func `after consent expired everything starts anew, also return routability`() throws {
        let end = try LiteEnd()
        try end.nominateAndConfirm(7, 1)
        let token = end.agent.tuples[0].token
        end.advance(30_000)
        #expect(end.agent.tupleCount == 0)
        #expect(!end.agent.isConfirmed(try end.path(1)))
        // The old token proves nothing, and nomination 1 selects again.
        let answer = try end.ask(Request(nomination: 1, token: token), 1)
        #expect(answer.routabilityToken != nil)
        #expect(answer.routabilityToken != token)
        #expect(!end.agent.isConfirmed(try end.path(1)))
        #expect(end.agent.selectedPath == (try end.path(1)))
    }

    @Test func `a selected unconfirmed tuple waits for admission, with answers only`() throws {
        let end = try LiteEnd(asksForAdmission: true)
        let path = try end.path(1)
        #expect(end.agent.admissionWanted == nil)
        try end.ask(Request(), 1)
        try end.ask(Request(), 2)
        #expect(end.agent.admissionWanted == path)
        #expect(end.agent.destinations == nil)
        #expect(try !end.send(1, 1))
        end.agent.settleAdmission(of: path, isAdmitted: false)
        #expect(end.agent.admissionWanted == nil)
        #expect(!end.agent.mayUse(path))
        // The next request asks again.
        try end.ask(Request(), 1)
        #expect(end.agent.admissionWanted == path)
        end.agent.settleAdmission(of: path, isAdmitted: true)
        #expect(end.agent.admissionWanted == nil)
        #expect(end.agent.destinations == (try end.destinations(1)))
        try end.ask(Request(), 1)
        #expect(end.agent.mayUse(path))
        // A refused move keeps the confirmed tuple alone; confirmation needs no admission.
        end.agent.confirm(path)
        let token = try #require(try end.ask(Request(nomination: 2, token: 0), 2).routabilityToken)
        end.agent.settleAdmission(of: try end.path(2), isAdmitted: false)
        #expect(end.agent.destinations == (try end.destinations(1)))
        try end.ask(Request(nomination: 2, token: token), 2)
        #expect(end.agent.admissionWanted == nil)
        #expect(end.agent.destinations == (try end.destinations(2)))
    }

    @Test func `neither the selected tuple nor the one before it makes room`() throws {
        let end = try LiteEnd()
        try end.nominateAndConfirm(2, 1)
        end.advance(1)
        try end.ask(Request(nomination: 3), 2)
        for port in UInt16(3)...30 {
            end.advance(1)
            try end.ask(Request(), port)
        }
        #expect(end.agent.tupleCount == 8)
        #expect(end.agent.counters.tuplesEvicted == 22)
        #expect(end.agent.destinations == (try end.destinations(2, 1)))
        #expect(end.events().count { if case .tupleRemoved = $0 { true } else { false } } == 22)
    }

    @Test func `answers leave from the address each request came to`() throws {
        let end = try LiteEnd()
        for (index, local) in ["192.0.2.1", "198.51.100.7", "2001:db8::1"].enumerated() {
            let remote = local.contains(":") ? "2001:db8::50" : "192.0.2.50"
            let path = NetworkPath(local: try address(local, 3_478), remote: try address(remote, 9))
            #expect(end.agent.take(try Request(id: UInt64(index)).bytes(), path, at: end.now) == .accepted)
            let answer = try #require(drain(&end.agent, now: end.now).first)
            #expect(answer.path == path)
            #expect(try ReadMessage(answer.bytes).xorMappedAddress == path.remote)
        }
        #expect(end.agent.tupleCount == 3)
    }
}
