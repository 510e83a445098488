import Testing

@testable import ICELite

/// What costs a counter and nothing else.
@Suite struct ICELiteFloodTests {
    /// Datagrams of every unauthenticated kind, `count` of them.
    private func junk(_ count: Int, seed: UInt64) throws -> [[UInt8]] {
        var randomness = Randomness.seeded(seed)
        return try (0..<count).map { index in
            let id = randomness.next()
            switch index % 8 {
            case 0: return randomness.bytes(Int(randomness.next() % 200))
            case 1: return try Request(password: "wrong password, long enough", id: id, useCandidate: true).bytes()
            case 2: return try Request(username: "Nobody:RemU", id: id, nomination: 7).bytes()
            case 3: return try Request(username: nil, id: id).bytes()
            case 4:
                // No integrity at all, down to the bare header.
                return try written { (out) throws(STUNError) in
                    let writer = try STUNWriter(
                        .request, transactionID: STUNTransactionID(high: id, low: 1), into: &out)
                    if id & 1 == 1 { try writer.append(username: Array("LocU".utf8), Array("RemU".utf8), into: &out) }
                    if id & 2 == 2 { try writer.appendFingerprint(into: &out) }
                }
            case 5:
                let size = 16 + Int(id % 64) * 16
                return try written(2_048) { (out) throws(STUNError) in
                    let writer = try STUNWriter(
                        .request, transactionID: STUNTransactionID(high: id, low: 2), into: &out)
                    try writer.append(username: Array("LocU".utf8), Array("RemU".utf8), into: &out)
                    try writer.append(.software, [UInt8](repeating: 0x41, count: size), into: &out)
                    try writer.append(.sha1, key: STUNKey(password: "wrong password, long enough"), into: &out)
                }
            case 6:
                // A true request with one byte changed, between the cookie and FINGERPRINT.
                var bytes = try Request(id: id, useCandidate: true, nomination: 3, token: 0).bytes()
                bytes[8 + Int(id % UInt64(bytes.count - 16))] ^= UInt8(1 + id % 255)
                return bytes
            default:
                let kind: STUNClass = id & 1 == 0 ? .indication : .success
                return try written { (out) throws(STUNError) in
                    let writer = try STUNWriter(kind, transactionID: STUNTransactionID(high: id, low: 3), into: &out)
                    try writer.appendFingerprint(into: &out)
                }
            }
        }
    }

    @Test func `100,000 junk datagrams change counters only`() throws {
        let end = try LiteEnd()
        try end.nominateAndConfirm(2, 1)
        try end.ask(Request(nomination: 3), 2)
        _ = end.events()
        let junk = try junk(2_000, seed: 11)
        var before = end.agent.footprint
        var errors = 0
        for round in 0..<50 {
            if round == 25 {
                // The second half finds a restart outstanding.
                #expect(end.agent.footprint == before)
                end.agent.restart(
                    credentials: try credentials("LocV", "SecondSecretLocalPwd6789"), peerCredentials: nil,
                    now: end.now)
                before = end.agent.footprint
            }
            for (index, bytes) in junk.enumerated() {
                // From tuples that are known, and from everywhere else.
                let path = try end.path(UInt16(1 + index % 1_000))
                if end.agent.take(bytes, path, at: end.now) == .accepted { Issue.record("round \(round), \(index)") }
                if index % 20 == 0 { errors += drain(&end.agent, now: end.now).count }
            }
            errors += drain(&end.agent, now: end.now).count
            end.now = end.now + .milliseconds(100)
        }
        #expect(end.agent.footprint == before)
        #expect(end.events().isEmpty)
        let dropped = ICEDropReason.allCases.reduce(0) { $0 + end.agent.counters[$1] }
        #expect(dropped == 100_000)
        // 5 s at 10 a second, and the burst.
        #expect(errors > 40 && errors <= 60)
        for reason in [
            ICEDropReason.malformed, .badFingerprint, .badRequest, .unauthenticated, .unknownTransaction, .indication,
        ] {
            #expect(end.agent.counters[reason] > 0)
        }
    }

    @Test func `forged sources at one destination get little from all calls together`() throws {
        let calls = try (0..<10).map { _ in try LiteEnd(asksForAdmission: true) }
        var table = UnconfirmedDestinations()
        var received = 0
        var sent = 0
        for index in 0..<300 {
            let (call, port) = (calls[index % calls.count], UInt16(1_000 + index))
            let request = Request(nomination: UInt32(2 + index), token: 0)
            received += try request.bytes().count
            sent += try call.take(request, port).reduce(0) { $0 + $1.bytes.count }
            if let wanted = call.agent.admissionWanted {
                call.agent.settleAdmission(of: wanted, isAdmitted: table.admit(wanted.remote.ip, now: call.now))
            }
            while try call.send(1_200, port) { sent += 1_200 }
        }
        #expect(table.granted == 4)
        #expect(table.refused == 296)
        #expect(sent > 4 * 3_600)
        #expect(sent <= received + 4 * (4_096 + 3 * 200))
    }

    @Test func `errors are ten a second and ten at once`() throws {
        let end = try LiteEnd()
        let wrong = Request(password: "wrong password, long enough")
        func answered(_ count: Int) throws -> Int {
            try (0..<count).reduce(0) { sum, _ in try sum + end.take(wrong, 1).count }
        }
        #expect(try answered(25) == 10)
        #expect(end.agent.counters.errorsSuppressed == 15)
        end.advance(99)
        #expect(try answered(1) == 0)
        end.advance(1)
        #expect(try answered(3) == 1)
        end.advance(60_000)
        #expect(try answered(25) == 10)
        // Authenticated requests are answered all the same.
        #expect(try end.ask(Request(), 1).messageClass == .success)
    }

    @Test func `an error is never longer than its request`() throws {
        let end = try LiteEnd()
        let bare = try written { (out) throws(STUNError) in
            _ = try STUNWriter(.request, transactionID: STUNTransactionID(high: 1, low: 1), into: &out)
        }
        #expect(end.agent.take(bare, try end.path(1), at: end.now) == .dropped(.badRequest))
        #expect(drain(&end.agent, now: end.now).isEmpty)
        #expect(end.agent.counters.errorsSuppressed == 1)
        for request in [
            Request(password: "wrong password, long enough"), Request(username: nil), Request(priority: nil),
            Request(controlled: true), Request(integrity: .sha256), Request(controlled: true, integrity: .sha256),
        ] {
            let size = try request.bytes().count
            let answers = try end.take(request, 1)
            #expect(answers.count == 1)
            #expect(answers.allSatisfy { $0.bytes.count <= size })
        }
    }

    /// Random peers, times, restarts and sends, with accounts of the test's own.
    @Test(arguments: 1...20)
    func `whatever happens the bounds hold`(seed: UInt64) throws {
        let end = try LiteEnd(asksForAdmission: seed % 2 == 0)
        var randomness = Randomness.seeded(seed)
        var generations = [("LocU", "VerySecretLocalPwd123456")]
        var received: [UInt64: Int] = [:]
        var sent: [UInt64: Int] = [:]
        var tokens: [UInt16: UInt64] = [:]
        func order(_ port: UInt16) throws -> UInt64? {
            end.agent.index(of: try end.path(port)).map { end.agent.tuples[$0].order }
        }
        for step in 0..<1_000 {
            let port = UInt16(1 + randomness.next() % 11)
            switch randomness.next() % 10 {
            case 0...4:
                let (ufrag, password) = generations[Int(randomness.next() % UInt64(generations.count))]
                var request = Request(username: "\(ufrag):RemU", password: password, id: UInt64(step))
                if randomness.next() % 2 == 0 { request.nomination = UInt32(randomness.next() % 5) }
                request.useCandidate = randomness.next() % 3 == 0
                if randomness.next() % 2 == 0 { request.token = randomness.next() % 8 == 0 ? tokens[port] ?? 0 : 0 }
                let bytes = try request.bytes()
                let isTaken = end.agent.take(bytes, try end.path(port), at: end.now) == .accepted
                if isTaken, let order = try order(port) { received[order, default: 0] += bytes.count }
                for answer in drain(&end.agent, now: end.now) {
                    let message = try ReadMessage(answer.bytes)
                    guard message.messageClass == .success else { continue }
                    if let order = try order(port) { sent[order, default: 0] += answer.bytes.count }
                    if let token = message.routabilityToken { tokens[port] = token }
                }
            case 5...7:
                let size = Int(randomness.next() % 1_500)
                if try end.send(size, port), let order = try order(port) {
                    sent[order, default: 0] += size
                }
            case 8: end.advance(Int64(randomness.next() % 6_000))
            default:
                if randomness.next() % 8 == 0 {
                    let fresh = ("Loc\(step)", "SecondSecretLocalPwd6789")
                    end.agent.restart(
                        credentials: try credentials(fresh.0, fresh.1), peerCredentials: nil, now: end.now)
                    generations = [fresh] + generations.prefix(2)
                } else if let wanted = end.agent.admissionWanted {
                    end.agent.settleAdmission(of: wanted, isAdmitted: randomness.next() % 2 == 0)
                }
            }
            let tuples = end.agent.tuples
            #expect(tuples.count <= 8, "seed \(seed), step \(step)")
            #expect((1...2).contains(end.agent.localUfrags.count), "seed \(seed), step \(step)")
            for tuple in tuples where !tuple.isConfirmed {
                let bound = 3 * received[tuple.order, default: 0] + 4_096
                #expect(sent[tuple.order, default: 0] <= bound, "seed \(seed), step \(step)")
            }
            let usable = tuples.filter { !$0.isConfirmed && end.agent.mayUse($0.path) }
            #expect(usable.count <= 1, "seed \(seed), step \(step)")
            if let selected = end.agent.selectedPath {
                #expect(end.agent.isAuthenticated(selected), "seed \(seed), step \(step)")
            }
            if let destinations = end.agent.destinations {
                #expect(end.agent.mayUse(destinations.first), "seed \(seed), step \(step)")
                if let second = destinations.second {
                    #expect(end.agent.isConfirmed(second) && second != destinations.first, "seed \(seed), step \(step)")
                }
            }
            _ = end.events()
        }
        #expect(end.agent.counters.requestsAnswered > 0)
        end.advance(35_000)
        #expect(end.agent.tupleCount == 0)
        #expect(end.agent.nextDeadline == .never)
    }
}
