// The names of cases keep their ids.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Testing

@testable import ICELite

/// Cases from public bug reports about STUN messages: both agents are asked, and what a case expects is read from its
/// file. Behind each sample comes its whole kind.
@Suite struct STUNCaseTests {
    typealias Kind = CaseEnd.Kind

    @Test func `ICE_01 the published messages verify and padding is covered as received`() throws {
        let expect = try PublicCase.read("ICE-01").expect
        #expect(expect["all_valid"].flag == true)
        let key = STUNKey(password: try expect["password"].string)
        let vectors = try Vector.read("ICE-01")
        #expect(vectors.count == 3)
        let request = try ReadMessage(vectors[0].bytes)
        #expect(String(decoding: request.username, as: UTF8.self) == expect["username"].text)
        #expect(request.priority == (try UInt32(expect["priority"].integer)))
        let tieBreaker = try expect["controlled_tiebreaker"].string
        #expect(request.iceControlled == UInt64(tieBreaker, radix: 16))
        let mapped = try vectors.dropFirst().map { try ReadMessage($0.bytes).xorMappedAddress?.description }
        #expect(mapped == expect["mapped"].list.map(\.text))
        for vector in vectors {
            let message = try ReadMessage(vector.bytes)
            #expect(message.verifies(with: key) && message.hasFingerprint && message.hasValidFingerprint)
        }
        // The padding is 0x20. Another one reads the same and fails integrity and CRC.
        for (vector, text) in [(vectors[0], "h6vY   "), (vectors[1], "vector "), (vectors[2], "vector ")] {
            let range = try #require(vector.bytes.firstRange(of: Array(text.utf8)))
            let spaces = range.filter { vector.bytes[$0] == 0x20 }
            #expect(!spaces.isEmpty)
            for index in spaces {
                var bytes = vector.bytes
                bytes[index] = 0
                let message = try ReadMessage(bytes)
                let before = try ReadMessage(vector.bytes)
                #expect(message.username == before.username && message.software == before.software)
                #expect(!message.verifies(with: key) && !message.hasValidFingerprint)
            }
        }
        // And so does every other bit: nothing that was changed under way passes both. (One that hides the FINGERPRINT
        // leaves a message without one, which the integrity alone carries.)
        for vector in vectors {
            for bit in 0..<(8 * vector.bytes.count) {
                var bytes = vector.bytes
                bytes[bit / 8] ^= 1 << (bit % 8)
                guard let message = try? ReadMessage(bytes) else { continue }
                let passes = message.verifies(with: key) && message.hasFingerprint && message.hasValidFingerprint
                #expect(!passes, "\(vector) bit \(bit)")
            }
        }
    }

    @Test(arguments: Kind.allCases) func `ICE_02 a wrong FINGERPRINT is discarded in silence and counted`(
        kind: Kind
    ) throws {
        let expected = try PublicCase.read("ICE-02").expect.list
        let vectors = try Vector.read("ICE-02")
        #expect(expected.count == vectors.count)
        for (vector, expected) in zip(vectors, expected) {
            let outcome = try CaseEnd.hand(vector.bytes, to: kind)
            try outcome.expect(expected, to: vector.bytes, "\(vector)")
            outcome.expectSilence(.badFingerprint, "\(vector)")
            // It is STUN by its first byte: nobody else is asked.
            #expect(DatagramKind(of: vector.bytes.span.bytes) == .stun)
        }
        // Any bit of the CRC.
        let good = try Request().bytes()
        for bit in 0..<32 {
            var bytes = good
            bytes[good.count - 4 + bit / 8] ^= 1 << (bit % 8)
            try CaseEnd.hand(bytes, to: kind).expectSilence(.badFingerprint, "bit \(bit)")
        }
    }

    @Test(arguments: Kind.allCases) func `ICE_03 a message fills its datagram exactly, whatever the buffer's size`(
        kind: Kind
    ) throws {
        let expected = try PublicCase.read("ICE-03").expect.list
        let vectors = try Vector.read("ICE-03")
        #expect(vectors.count == 3 && expected.count == 3)
        for (vector, expected) in zip(vectors, expected) {
            try CaseEnd.hand(vector.bytes, to: kind).expect(expected, to: vector.bytes, "\(vector)")
        }
        // As received: the first bytes of a larger buffer.
        let exact = vectors[0].bytes
        let buffer = exact + [UInt8](repeating: 0xAA, count: 2_048 - exact.count)
        #expect(sliceParses(buffer, exact.count))
        for count in 0..<exact.count {
            try CaseEnd.hand(Array(exact.prefix(count)), to: kind).expectSilence(.malformed, "\(count) bytes")
        }
        for count in (exact.count + 1)...(exact.count + 64) {
            try CaseEnd.hand(Array(buffer.prefix(count)), to: kind).expectSilence(.malformed, "\(count) bytes")
        }
    }

    /// Whether the first `count` bytes of a larger buffer are a message whose CRC is right.
    private func sliceParses(_ buffer: [UInt8], _ count: Int) -> Bool {
        guard let message = try? STUNMessage(parsing: buffer.span.bytes.extracting(0..<count)) else { return false }
        return message.hasFingerprint && message.hasValidFingerprint
    }

    @Test(arguments: Kind.allCases) func `ICE_05 an unknown comprehension-required attribute is answered 420`(
        kind: Kind
    ) throws {
        let expected = try PublicCase.read("ICE-05").expect.list
        let vectors = try Vector.read("ICE-05")
        #expect(expected.count == vectors.count)
        for (vector, expected) in zip(vectors, expected) {
            let outcome = try CaseEnd.hand(vector.bytes, to: kind)
            try outcome.expect(expected, to: vector.bytes, "\(vector)")
            #expect(outcome.verdict == .dropped(.unknownAttribute))
        }
        // Every such type, of any length; one that stands behind the integrity was signed by nobody, and is passed over
        // (RFC 8489 §14.5).
        let known = Set(STUNAttributeType.allCases.map(\.rawValue))
        for type in stride(from: UInt16(2), to: 0x8000, by: 89) where !known.contains(type) {
            let value = [UInt8](repeating: 7, count: Int(type) % 9)
            let request = try Request(useCandidate: true).bytes(with: [(type, value)])
            let outcome = try CaseEnd.hand(request, to: kind)
            #expect(outcome.verdict == .dropped(.unknownAttribute), "\(type)")
            #expect(!outcome.hasChangedState && !outcome.isNominated, "\(type)")
            let answer = try #require(outcome.answers.first)
            #expect(answer.errorCode == 420 && answer.verifies(with: CaseEnd.localKey), "\(type)")
            #expect(answer.unknownAttributes == [UInt8(type >> 8), UInt8(type & 0xFF)], "\(type)")
            let behind = try Request().bytes(behindIntegrity: [(type, value)])
            try CaseEnd.hand(behind, to: kind).expectSuccess(to: behind, "\(type) behind")
        }
        // More than we can name: some are named, and it is refused all the same.
        let many = (0..<12).map { (type: UInt16(0x7F00 + $0), value: [UInt8]()) }
        let outcome = try CaseEnd.hand(try Request().bytes(with: many), to: kind)
        #expect(outcome.verdict == .dropped(.unknownAttribute))
        let named = try #require(outcome.answers.first).unknownAttributes
        #expect(named.count == 2 * STUNUnknownAttributes.capacity)
        #expect(named.prefix(4) == [0x7F, 0x00, 0x7F, 0x01])
    }

    @Test(arguments: Kind.allCases) func `ICE_06 unknown comprehension-optional attributes are ignored`(
        kind: Kind
    ) throws {
        let expected = try PublicCase.read("ICE-06").expect.list
        let vectors = try Vector.read("ICE-06")
        #expect(expected.count == vectors.count)
        for (vector, expected) in zip(vectors, expected) {
            try CaseEnd.hand(vector.bytes, to: kind).expect(expected, to: vector.bytes, "\(vector)")
        }
        let known = Set(STUNAttributeType.allCases.map(\.rawValue))
        for type in stride(from: UInt16(0x8000), to: 0xFFFF, by: 89) where !known.contains(type) {
            let value = [UInt8](repeating: 7, count: Int(type) % 9)
            let request = try Request().bytes(with: [(type, value), (type, value)])
            try CaseEnd.hand(request, to: kind).expectSuccess(to: request, "\(type)")
        }
    }

    @Test(arguments: Kind.allCases) func `ICE_08 both integrity attributes side by side are accepted`(
        kind: Kind
    ) throws {
        let expected = try PublicCase.read("ICE-08").expect.list
        let vectors = try Vector.read("ICE-08")
        #expect(expected.count == vectors.count)
        for (vector, expected) in zip(vectors, expected) {
            let message = try ReadMessage(vector.bytes)
            #expect(message.unknown.isEmpty, "0x001C is known: never a 420")
            #expect(message.hasValidFingerprint && message.verifies(with: CaseEnd.localKey))
            try CaseEnd.hand(vector.bytes, to: kind).expect(expected, to: vector.bytes, "\(vector)")
        }
        // The SHA-256 value alone is right, too: its HMAC counts another length than the first.
        let alone = try Request(integrity: .sha256).bytes()
        #expect(try ReadMessage(alone).verifies(with: CaseEnd.localKey))
        let outcome = try CaseEnd.hand(alone, to: kind)
        #expect(outcome.verdict == .accepted)
        #expect(try #require(outcome.answers.first).integrity == .sha256)
    }

    @Test(arguments: Kind.allCases) func `ICE_09 USERNAME's order and what is missing decide the error`(
        kind: Kind
    ) throws {
        let vectors = try Vector.read("ICE-09")
        let expected = try PublicCase.read("ICE-09").expect.list
        #expect(vectors.count == 6 && expected.count == 6)
        for (vector, expected) in zip(vectors, expected) {
            let outcome = try CaseEnd.hand(vector.bytes, to: kind)
            if !outcome.answers.isEmpty { try outcome.expect(expected, to: vector.bytes, "\(vector)") }
            // Silence is acceptable for what does not authenticate, success never.
            #expect(outcome.verdict != .accepted, "\(vector)")
            #expect(!outcome.hasChangedState, "\(vector): no candidate learned, no pair")
            for answer in outcome.answers {
                // Only the one without PRIORITY has shown that it knows the key.
                #expect((answer.integrity == .none) == (vector.bytes != vectors[5].bytes), "\(vector)")
            }
        }
        #expect(try CaseEnd.hand(vectors[0].bytes, to: kind).answers.first?.errorCode == 401, "one is answered at all")
        // A user name that is not exactly ours, a colon and more. What stands there decides nothing (RFC 8445 §7.3).
        for name in [
            "", ":", "LocU", ":RemU", "RemU", "locU:RemU", "LocUx:RemU", "LocU.RemU", " LocU:RemU", "Loc:RemU",
            "LocU\0:R",
        ] {
            let outcome = try CaseEnd.hand(try Request(username: name, useCandidate: true).bytes(), to: kind)
            #expect(outcome.verdict != .accepted && !outcome.hasChangedState, "\(name)")
            #expect(outcome.answers.allSatisfy { $0.errorCode == 401 && $0.integrity == .none }, "\(name)")
        }
        for name in ["LocU:", "LocU:Rem", "LocU:RemUx", "LocU:RemU:x", "LocU:remU"] {
            let outcome = try CaseEnd.hand(try Request(username: name).bytes(), to: kind)
            #expect(outcome.verdict == .accepted, "\(name)")
        }
    }

    @Test(arguments: Kind.allCases) func `ICE_13 one id is answered each time and only the nomination is new`(
        kind: Kind
    ) throws {
        let vectors = try Vector.read("ICE-13")
        let expected = try PublicCase.read("ICE-13").expect.list
        #expect(vectors.count == 3 && expected.count == 3)
        var end = try CaseEnd(kind)
        // Something else is in use, so that nominating shows on a lite end, too.
        let other = NetworkPath(local: try CaseEnd.path().local, remote: try address("192.0.2.50", 9))
        _ = try end.take(try Request(id: 99).bytes(), on: other)
        for (vector, expected) in zip(vectors, expected) {
            try end.take(vector.bytes).expect(expected, to: vector.bytes, "\(vector)")
        }
        // An error is not remembered by its id, whatever it was.
        for wrong in [Request(password: "someone else's password"), Request(priority: nil), Request(username: "x:y")] {
            let outcome = try end.take(try wrong.bytes())
            #expect(outcome.verdict != .accepted)
            let request = try Request().bytes()
            try end.take(request).expectSuccess(to: request, "after an error")
        }
    }

    @Test(arguments: Kind.allCases) func `ICE_17 IPv6 is XORed with the id, and IPv4-mapped sources are IPv4`(
        kind: Kind
    ) throws {
        // As a dual-stack socket reports it.
        let dual = NetworkPath(
            local: try address("::ffff:192.0.2.1", 1_000), remote: try address("::ffff:192.0.2.50", 2_000))
        let request = try Request().bytes()
        try CaseEnd.hand(request, to: kind, on: dual).expectSuccess(to: request, "dual-stack")
        // Any address under any id is read as it was written.
        var randomness = Randomness.seeded(17)
        for turn in 0..<200 {
            let ip =
                turn % 2 == 0
                ? IPAddress(v4: UInt32(truncatingIfNeeded: randomness.next()))
                : IPAddress(v6High: randomness.next() >> 3, low: randomness.next())
            let mapped = SocketAddress(ip: ip, port: UInt16(truncatingIfNeeded: randomness.next()))
            let id = STUNTransactionID.random(using: &randomness)
            let message = try ReadMessage(try response(to: id, mapped: mapped))
            #expect(message.xorMappedAddress == mapped, "turn \(turn)")
        }
    }

    @Test func `ICE_17 the answer with an IPv6 address is accepted and its address learned`() throws {
        let expected = try #require(try PublicCase.read("ICE-17").expect.list.first)
        #expect(expected["action"].text == "accept_response")
        let mapped = try expected["mapped"].string
        let answer = try Vector.read("ICE-17")[0].bytes
        #expect(try ReadMessage(answer).xorMappedAddress?.description == mapped)
        for isDual in [false, true] {
            var agent = try vectorAgent(.controlling)
            agent.addRemoteCandidate(ICECandidate(host: try vectorPath().remote, localPreference: 1), now: .zero)
            _ = drain(&agent, now: .zero)
            // The vector's id stands for the one we drew.
            agent.generations[0].outstanding.remember(
                OutstandingChecks.Check(
                    id: try ReadMessage(answer).transactionID, pairID: agent.generations[0].pairs[0].id, sentAt: .zero,
                    role: .controlling))
            var path = try vectorPath()
            if isDual {
                path = NetworkPath(
                    local: try address("::ffff:192.0.2.1", 1_000), remote: try address("::ffff:192.0.2.50", 2_000))
            }
            #expect(agent.take(answer, path) == .accepted)
            #expect(agent.isValid(try vectorPath()))
            #expect(agent.reflexiveCandidates.map(\.address.description) == [mapped])
        }
    }

    @Test func `ICE_18 the first byte tells the protocols apart, and what is too short is none`() throws {
        let file = try PublicCase.scenario("ICE-18")
        #expect(file["table"].list.count == 18 && file["short"].list.count == 3)
        let kinds: [String: DatagramKind] = ["stun": .stun, "dtls": .dtls, "rtp/rtcp": .media]
        for row in file["table"].list {
            let first = UInt8(try row["first_byte"].integer)
            let bytes = [first] + [UInt8](repeating: 0, count: 40)
            let expected = kinds[try row["cls"].string] ?? .other
            #expect(kind(of: bytes) == expected, "\(first)")
        }
        for short in file["short"].list {
            #expect(short["cls"].text == "drop")
            let bytes = try #require(Vector.unhex(short["hex"].string))
            #expect(kind(of: bytes) == .other)
        }
        // RFC 7983 §7, every value.
        for first in UInt8.min...UInt8.max {
            let expected: DatagramKind =
                switch first {
                case 0...3: .stun
                case 20...63: .dtls
                case 128...191: .media
                default: .other
                }
            #expect(kind(of: [first] + [UInt8](repeating: 0, count: 40)) == expected, "\(first)")
            #expect(kind(of: [first]) == .other, "\(first)")
        }
        for (first, least, expected) in [(0, 20, DatagramKind.stun), (22, 13, .dtls), (200 & 191, 8, .media)] {
            let bytes = [UInt8(first)] + [UInt8](repeating: 0, count: least - 1)
            #expect(kind(of: bytes) == expected && kind(of: bytes.dropLast()) == .other, "\(first)")
        }
    }

    private func kind(of bytes: [UInt8]) -> DatagramKind { DatagramKind(of: bytes.span.bytes) }
}
