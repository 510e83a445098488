import ICELite
import Testing

/// Server-reflexive discovery in virtual time.
@Suite struct STUNBindingClientTests {
    private let start = Instant.zero + .seconds(100)

    private func path() throws -> NetworkPath {
        NetworkPath(local: try address("192.0.2.1", 40_000), remote: try address("198.51.100.9", 3_478))
    }

    private func client(seed: UInt64 = 1) throws -> STUNBindingClient {
        STUNBindingClient(path: try path(), startingAt: start, randomness: .seeded(seed))
    }

    /// The server's answer to `request`.
    private func answer(
        _ request: [UInt8], _ messageClass: STUNClass = .success, fingerprint: Bool = true,
        _ body: (STUNWriter, inout OutputRawSpan) throws(STUNError) -> Void
    ) throws -> [UInt8] {
        let id = try ReadMessage(request).transactionID
        return try written { (out) throws(STUNError) in
            let writer = try STUNWriter(messageClass, transactionID: id, into: &out)
            try body(writer, &out)
            if fingerprint { try writer.appendFingerprint(into: &out) }
        }
    }

    private func mapped(_ request: [UInt8], as mapped: SocketAddress, isXORed: Bool = true) throws -> [UInt8] {
        try answer(request) { (writer, out) throws(STUNError) in
            try writer.append(address: mapped, isXORed: isXORed, into: &out)
        }
    }

    private func error(_ request: [UInt8], code: UInt16) throws -> [UInt8] {
        // The writer knows ICE's codes; any other is bent into place.
        let bytes = try answer(request, .error, fingerprint: false) { (writer, out) throws(STUNError) in
            try writer.append(error: .badRequest, into: &out)
        }
        var bent = bytes
        bent[26] = UInt8(code / 100)
        bent[27] = UInt8(code % 100)
        return bent
    }

    /// The first request, drained at `start`.
    private func firstRequest(_ client: inout STUNBindingClient) throws -> [UInt8] {
        try #require(drain(&client, now: start).first).bytes
    }

    @Test(arguments: [true, false]) func `the request is a bare Binding request`(fingerprint: Bool) throws {
        var client = STUNBindingClient(
            path: try path(), startingAt: start, sendsFingerprint: fingerprint, randomness: .seeded(1))
        #expect(client.nextDeadline == start)
        #expect(drain(&client, now: start - 1).isEmpty)
        let sent = drain(&client, now: start)
        #expect(sent.map(\.path) == [try path()])
        let bytes = try #require(sent.first).bytes
        #expect(bytes.count == (fingerprint ? 28 : 20))
        let message = try ReadMessage(bytes)
        #expect(message.messageClass == .request)
        #expect(message.method == STUNMessage.binding)
        #expect(message.hasFingerprint == fingerprint && message.hasValidFingerprint)
        #expect(message.integrity == .none && message.username.isEmpty)
        #expect(client.handles(message.transactionID))
        #expect(!client.handles(STUNTransactionID(high: message.transactionID.high, low: 0)))
        var other = try self.client(seed: 2)
        #expect(try ReadMessage(try firstRequest(&other)).transactionID != message.transactionID)
    }

    @Test func `seven requests double their distance and the end is named`() throws {
        var client = try client()
        var times: [Int64] = []
        var ids: Set<STUNTransactionID> = []
        var now = start
        while client.nextDeadline != .never {
            now = client.nextDeadline
            client.handleTimeout(now: now)
            for datagram in drain(&client, now: now) {
                times.append((now - start) / 1_000_000)
                ids.insert(try ReadMessage(datagram.bytes).transactionID)
            }
            #expect(client.nextDeadline > now)
        }
        #expect(times == [0, 250, 750, 1_750, 3_750, 7_750, 15_750])
        #expect(now - start == .milliseconds(19_750))
        // Repeats are one transaction (RFC 8489 §6.2.1).
        #expect(ids.count == 1)
        #expect(events(&client) == [.failed(.timedOut)])
        #expect(client.counters.requestsSent == 7)
        #expect(drain(&client, now: now + .seconds(60)).isEmpty)
    }

    @Test(arguments: 0..<7) func `an answer to any one request is enough`(survivor: Int) throws {
        var client = try client()
        let reflexive = try address("203.0.113.7", 61_000)
        var count = 0
        var now = start
        while client.nextDeadline != .never {
            now = client.nextDeadline
            client.handleTimeout(now: now)
            for datagram in drain(&client, now: now) {
                defer { count += 1 }
                guard count == survivor else { continue }
                let answer = try mapped(datagram.bytes, as: reflexive)
                #expect(client.take(answer, try path(), at: now + .milliseconds(80)) == .accepted)
                // A second answer, to another repeat, finds nobody.
                #expect(client.take(answer, try path(), at: now + .milliseconds(81)) == .dropped(.ended))
            }
        }
        #expect(count == survivor + 1)
        #expect(events(&client) == [.mapped(reflexive)])
        #expect(client.isFinished)
    }

    @Test func `the old MAPPED-ADDRESS is enough and the XORed one is preferred`() throws {
        let (right, wrong) = (try address("203.0.113.7", 61_000), try address("10.0.0.1", 5))
        var old = try client()
        #expect(
            old.take(try mapped(try firstRequest(&old), as: right, isXORed: false), try path(), at: start) == .accepted)
        #expect(events(&old) == [.mapped(right)])
        var both = try client()
        let answer = try answer(try firstRequest(&both), fingerprint: false) { (writer, out) throws(STUNError) in
            try writer.append(address: wrong, isXORed: false, into: &out)
            try writer.append(address: right, into: &out)
        }
        #expect(both.take(answer, try path(), at: start) == .accepted)
        #expect(events(&both) == [.mapped(right)])
    }

    @Test func `ICE-17: an IPv4-mapped address is told as IPv4`() throws {
        var client = try client()
        var answer = try mapped(try firstRequest(&client), as: try address("2001:db8::1", 61_000))
        // ::ffff:203.0.113.7 in the XORed form.
        let plain: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 203, 0, 113, 7]
        for index in 0..<16 { answer[28 + index] = plain[index] ^ answer[4 + index] }
        let bytes = Array(answer[..<44])
        var unsigned = bytes
        unsigned[3] = 24
        #expect(client.take(unsigned, try path(), at: start) == .accepted)
        #expect(events(&client) == [.mapped(try address("203.0.113.7", 61_000))])
    }

    @Test func `answers from elsewhere, bent or empty are counted and end nothing`() throws {
        var client = try client()
        let request = try firstRequest(&client)
        let right = try mapped(request, as: try address("203.0.113.7", 61_000))
        let stranger = NetworkPath(local: try path().local, remote: try address("198.51.100.10", 3_478))
        #expect(client.take(right, stranger, at: start) == .dropped(.asymmetricResponse))
        let otherSocket = NetworkPath(local: try address("192.0.2.1", 40_001), remote: try path().remote)
        #expect(client.take(right, otherSocket, at: start) == .dropped(.asymmetricResponse))
        var bent = right
        bent[bent.count - 1] ^= 1
        #expect(client.take(bent, try path(), at: start) == .dropped(.badFingerprint))
        let empty = try answer(request) { (_, _) throws(STUNError) in }
        #expect(client.take(empty, try path(), at: start) == .dropped(.malformed))
        for useless in ["0.0.0.0", "224.0.0.1"] {
            let answer = try mapped(request, as: try address(useless, 1))
            #expect(client.take(answer, try path(), at: start) == .dropped(.malformed))
        }
        #expect(client.counters.responsesDropped == 6)
        var foreign = right
        foreign[19] ^= 1
        #expect(client.take(foreign, try path(), at: start) == .dropped(.unknownTransaction))
        #expect(client.take(request, try path(), at: start) == .dropped(.unknownTransaction))
        #expect(client.take([0x80, 1, 2], try path(), at: start) == .dropped(.malformed))
        #expect(events(&client).isEmpty)
        #expect(client.take(right, try path(), at: start) == .accepted)
    }

    @Test(arguments: [UInt16(300), 400, 401, 420, 438, 699])
    func `an error is a typed failure and ALTERNATE-SERVER is not followed`(code: UInt16) throws {
        var client = try client()
        let answer = try error(try firstRequest(&client), code: code)
        #expect(client.take(answer, try path(), at: start) == .accepted)
        #expect(events(&client) == [.failed(.refused(code))])
        #expect(client.isFinished && drain(&client, now: start + .seconds(1)).isEmpty)
    }

    @Test func `a server error is asked again as a new transaction and is told at the end`() throws {
        var client = try client()
        let first = try firstRequest(&client)
        #expect(client.take(try error(first, code: 500), try path(), at: start) == .accepted)
        #expect(!client.handles(try ReadMessage(first).transactionID))
        let second = drain(&client, now: start + .milliseconds(250))
        #expect(second.count == 1)
        #expect(client.handles(try ReadMessage(try #require(second.first).bytes).transactionID))
        client.handleTimeout(now: start + .milliseconds(19_750))
        #expect(events(&client) == [.failed(.refused(500))])
        #expect(client.counters.serverErrors == 1)
    }

    @Test func `an unknown comprehension-required attribute fails the transaction`() throws {
        var client = try client()
        let request = try firstRequest(&client)
        var answer = try answer(request, fingerprint: false) { (writer, out) throws(STUNError) in
            try writer.append(.realm, [1, 2, 3, 4], into: &out)
        }
        answer[20] = 0x7F
        answer[21] = 0x01
        #expect(client.take(answer, try path(), at: start) == .accepted)
        #expect(events(&client) == [.failed(.unknownAttribute(0x7F01))])
    }

    @Test func `nothing before the start, nothing after cancel, and a small span costs only a counter`() throws {
        var client = try client()
        let guess = try mapped(try Request().bytes(), as: try address("203.0.113.7", 61_000))
        #expect(client.take(guess, try path(), at: start - 1) == .dropped(.unknownTransaction))
        var transmit: Transmit?
        let bytes = written(27) { (out) in transmit = client.pollTransmit(into: &out, now: start) }
        #expect(transmit == nil && bytes.isEmpty && client.counters.noRoom == 1)
        #expect(drain(&client, now: start).count == 1)
        client.cancel()
        #expect(client.nextDeadline == .never)
        client.handleTimeout(now: start + .seconds(60))
        #expect(events(&client).isEmpty && drain(&client, now: start + .seconds(60)).isEmpty)
    }

    @Test func `answers bent by seed never trap and never map a wrong address with a right FINGERPRINT`() throws {
        var randomness = Randomness.seeded(0x5354)
        let reflexive = try address("203.0.113.7", 61_000)
        for seed in 0..<2_000 {
            var client = try client(seed: UInt64(seed))
            var bytes = try mapped(try firstRequest(&client), as: reflexive)
            for _ in 0..<Int.random(in: 1...3, using: &randomness) {
                bytes[Int.random(in: 0..<bytes.count, using: &randomness)] ^= UInt8.random(
                    in: 1...255, using: &randomness)
            }
            _ = client.take(bytes, try path(), at: start)
            if (try? ReadMessage(bytes))?.hasFingerprint == true {
                for event in events(&client) { #expect(event == .mapped(reflexive), "seed \(seed)") }
            }
            for length in 0..<bytes.count { _ = client.take(Array(bytes[..<length]), try path(), at: start) }
        }
    }
}

extension STUNBindingClient {
    /// `handle` for an array; a span cannot pass through an expectation.
    mutating func take(_ bytes: [UInt8], _ path: NetworkPath, at now: Instant) -> ICEVerdict {
        handle(bytes.span.bytes, path: path, now: now)
    }
}
