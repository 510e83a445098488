import Foundation
import Testing

@testable import ICELite

/// Cases from public bug reports about STUN: both agents are asked, and each sentence of what a case expects is asserted.
@Suite struct STUNCaseTests {
    enum Kind: CaseIterable { case lite, full }

    /// What became of one datagram that was handed to a fresh agent.
    struct Outcome {
        var verdict: ICEVerdict
        /// Answers only; a full agent's own checks are left out.
        var answers: [ReadMessage]
        var answerPaths: [NetworkPath]
        /// A tuple, pair or candidate came of it, or a path is selected.
        var hasChangedState: Bool
        var isNominated: Bool
        var drops: [ICEDropReason]
    }

    static let localKey = STUNKey(password: "VerySecretLocalPwd123456")

    private func path() throws -> NetworkPath {
        NetworkPath(local: try address("192.0.2.1", 1_000), remote: try address("192.0.2.50", 2_000))
    }

    private func hand(_ bytes: [UInt8], to kind: Kind, on path: NetworkPath? = nil) throws -> Outcome {
        let path = try path ?? self.path()
        let ours = try credentials("LocU", "VerySecretLocalPwd123456")
        let theirs = try credentials("RemU", "peerPasswordpeerPassword")
        switch kind {
        case .lite:
            var agent = ICELiteAgent(credentials: ours, peerCredentials: theirs, randomness: .seeded(4))
            let verdict = agent.take(bytes, path)
            let counters = agent.counters
            return try outcome(
                verdict, drain(&agent, now: .zero), counters,
                hasChangedState: agent.tupleCount > 0 || agent.selectedPath != nil,
                isNominated: agent.selectedPath != nil)
        case .full:
            var agent = ICEFullAgent(role: .controlled, credentials: ours, randomness: .seeded(4))
            _ = agent.addLocalCandidate(try self.path().local, now: .zero)
            agent.setRemote(credentials: theirs, isLite: false, supportsRenomination: false, now: .zero)
            let verdict = agent.take(bytes, path)
            let counters = agent.counters
            return try outcome(
                verdict, drain(&agent, now: .zero), counters,
                hasChangedState: agent.outcome.pairs > 0 || !agent.remoteCandidates.isEmpty
                    || !agent.reflexiveCandidates.isEmpty || agent.selectedPath != nil,
                isNominated: agent.selectedPath != nil)
        }
    }

    private func outcome(
        _ verdict: ICEVerdict, _ sent: [Datagram], _ counters: ICECounters, hasChangedState: Bool, isNominated: Bool
    ) throws -> Outcome {
        var answers: [ReadMessage] = []
        var paths: [NetworkPath] = []
        for datagram in sent {
            let message = try ReadMessage(datagram.bytes)
            guard message.messageClass != .request else { continue }
            answers.append(message)
            paths.append(datagram.path)
        }
        return Outcome(
            verdict: verdict, answers: answers, answerPaths: paths, hasChangedState: hasChangedState,
            isNominated: isNominated, drops: ICEDropReason.allCases.filter { counters[$0] > 0 })
    }

    /// A success response to `request`, signed, to where it came from.
    private func expectSuccess(_ outcome: Outcome, to request: [UInt8], _ note: String) throws {
        #expect(outcome.verdict == .accepted, "\(note)")
        let answer = try #require(outcome.answers.first, "\(note)")
        #expect(outcome.answerPaths == [try path()], "\(note)")
        #expect(answer.messageClass == .success, "\(note)")
        #expect(answer.transactionID == (try ReadMessage(request).transactionID), "\(note)")
        #expect(answer.xorMappedAddress == (try path().remote), "\(note)")
        #expect(answer.verifies(with: Self.localKey), "\(note)")
        #expect(answer.hasFingerprint && answer.hasValidFingerprint, "\(note)")
        #expect(outcome.drops.isEmpty, "\(note)")
    }

    private func expectSilence(_ outcome: Outcome, _ reason: ICEDropReason, _ note: String) {
        #expect(outcome.verdict == .dropped(reason), "\(note)")
        #expect(outcome.drops == [reason], "\(note)")
        #expect(outcome.answers.isEmpty && !outcome.hasChangedState, "\(note)")
    }

    @Test func `ICE-01 the published messages verify and padding is covered as received`() throws {
        let key = STUNKey(password: "VOkJxbRl1RmTxUk/WvJxBt")
        let vectors = try Vector.read("ICE-01")
        #expect(vectors.count == 3)
        let request = try ReadMessage(vectors[0].bytes)
        #expect(request.username == Array("evtj:h6vY".utf8))
        #expect(request.priority == 1_845_494_271)
        #expect(request.iceControlled == 0x932f_f9b1_5126_3b36)
        let mapped = [try address("192.0.2.1", 32_853), try address("2001:db8:1234:5678:11:2233:4455:6677", 32_853)]
        #expect(try vectors.dropFirst().map { try ReadMessage($0.bytes).xorMappedAddress } == mapped)
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
    }

    @Test(arguments: Kind.allCases) func `ICE-02 a wrong FINGERPRINT is discarded in silence and counted`(
        kind: Kind
    ) throws {
        for vector in try Vector.read("ICE-02") {
            expectSilence(try hand(vector.bytes, to: kind), .badFingerprint, "\(vector)")
        }
    }

    @Test(arguments: Kind.allCases) func `ICE-03 a message fills its datagram exactly, whatever the buffer's size`(
        kind: Kind
    ) throws {
        let vectors = try Vector.read("ICE-03")
        #expect(vectors.count == 3)
        // As received: a slice of a larger buffer.
        let buffer = vectors[0].bytes + [UInt8](repeating: 0xAA, count: 2_048 - vectors[0].bytes.count)
        let received = Array(buffer[..<vectors[0].bytes.count])
        try expectSuccess(try hand(received, to: kind), to: received, "exact")
        #expect(sliceParses(buffer, vectors[0].bytes.count))
        expectSilence(try hand(vectors[1].bytes, to: kind), .malformed, "trailing bytes")
        expectSilence(try hand(vectors[2].bytes, to: kind), .malformed, "cut")
    }

    /// Whether the first `count` bytes of a larger buffer are a message whose CRC is right.
    private func sliceParses(_ buffer: [UInt8], _ count: Int) -> Bool {
        guard let message = try? STUNMessage(parsing: buffer.span.bytes.extracting(0..<count)) else { return false }
        return message.hasFingerprint && message.hasValidFingerprint
    }

    @Test(arguments: Kind.allCases) func `ICE-05 an unknown comprehension-required attribute is answered 420`(
        kind: Kind
    ) throws {
        for vector in try Vector.read("ICE-05") {
            let outcome = try hand(vector.bytes, to: kind)
            #expect(outcome.verdict == .dropped(.unknownAttribute))
            #expect(outcome.answerPaths == [try path()])
            let answer = try #require(outcome.answers.first)
            #expect(Array(answer.bytes.prefix(2)) == [0x01, 0x11])
            #expect(answer.errorCode == 420)
            #expect(answer.unknownAttributes == [0x7F, 0x01])
            #expect(answer.integrity == .sha1 && answer.verifies(with: Self.localKey))
            #expect(answer.hasFingerprint && answer.hasValidFingerprint)
            #expect(answer.transactionID == (try ReadMessage(vector.bytes).transactionID))
            #expect(!outcome.isNominated && !outcome.hasChangedState)
        }
    }

    @Test(arguments: Kind.allCases) func `ICE-06 unknown comprehension-optional attributes are ignored`(
        kind: Kind
    ) throws {
        for vector in try Vector.read("ICE-06") {
            try expectSuccess(try hand(vector.bytes, to: kind), to: vector.bytes, "\(vector)")
        }
    }

    @Test(arguments: Kind.allCases) func `ICE-08 both integrity attributes side by side are accepted`(
        kind: Kind
    ) throws {
        for vector in try Vector.read("ICE-08") {
            let message = try ReadMessage(vector.bytes)
            #expect(message.unknown.isEmpty, "0x001C is known: never a 420")
            #expect(message.hasValidFingerprint && message.verifies(with: Self.localKey))
            try expectSuccess(try hand(vector.bytes, to: kind), to: vector.bytes, "\(vector)")
        }
        // The SHA-256 value alone is right, too: its HMAC counts another length than the first.
        let alone = try Request(integrity: .sha256).bytes()
        #expect(try ReadMessage(alone).verifies(with: Self.localKey))
        let outcome = try hand(alone, to: kind)
        #expect(outcome.verdict == .accepted)
        #expect(try #require(outcome.answers.first).integrity == .sha256)
    }

    @Test(arguments: Kind.allCases) func `ICE-09 USERNAME's order and what is missing decide the error`(
        kind: Kind
    ) throws {
        let vectors = try Vector.read("ICE-09")
        let codes: [UInt16] = [401, 401, 400, 400, 401, 400]
        #expect(vectors.count == codes.count)
        for (vector, code) in zip(vectors, codes) {
            let outcome = try hand(vector.bytes, to: kind)
            #expect(outcome.verdict != .accepted, "\(vector)")
            #expect(!outcome.hasChangedState, "\(vector): no candidate learned, no pair")
            // Silence is acceptable for what does not authenticate, success never.
            #expect(outcome.answers.count <= 1, "\(vector)")
            for answer in outcome.answers {
                #expect(answer.messageClass == .error && answer.errorCode == code, "\(vector)")
                // Only the one without PRIORITY has shown that it knows the key.
                #expect((answer.integrity == .none) == (vector.bytes != vectors[5].bytes), "\(vector)")
                #expect(answer.hasFingerprint && answer.hasValidFingerprint, "\(vector)")
            }
        }
        #expect(try hand(vectors[0].bytes, to: kind).answers.first?.errorCode == 401, "one is answered at all")
    }

    @Test(arguments: Kind.allCases) func `ICE-15 none of the malformed datagrams traps, succeeds or changes state`(
        kind: Kind
    ) throws {
        let vectors = try Vector.read("ICE-15")
        #expect(vectors.count == 16)
        for vector in vectors {
            let outcome = try hand(vector.bytes, to: kind)
            #expect(outcome.verdict != .accepted, "\(vector)")
            #expect(!outcome.hasChangedState, "\(vector)")
            for answer in outcome.answers {
                #expect(answer.messageClass == .error && answer.errorCode == 400, "\(vector)")
            }
        }
    }

    @Test(arguments: Kind.allCases) func `ICE-17 IPv6 is XORed with the id, and IPv4-mapped sources are IPv4`(
        kind: Kind
    ) throws {
        let mapped = try address("2001:db8::99", 50_000)
        #expect(try ReadMessage(try Vector.read("ICE-17")[0].bytes).xorMappedAddress == mapped)
        // As a dual-stack socket reports it.
        let dual = NetworkPath(
            local: try address("::ffff:192.0.2.1", 1_000), remote: try address("::ffff:192.0.2.50", 2_000))
        let request = try Request().bytes()
        try expectSuccess(try hand(request, to: kind, on: dual), to: request, "dual-stack")
    }

    @Test func `ICE-18 the first byte tells the protocols apart, and what is too short is none`() throws {
        struct Table: Decodable {
            struct Row: Decodable {
                var firstByte: UInt8
                var cls: String
            }
            struct Short: Decodable {
                var hex: String
                var cls: String
            }
            var table: [Row]
            var short: [Short]
        }
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Vectors/ICE-18.json")
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let cases = try decoder.decode(Table.self, from: try Data(contentsOf: file))
        #expect(cases.table.count == 18 && cases.short.count == 3)
        let kinds: [String: DatagramKind] = ["stun": .stun, "dtls": .dtls, "rtp/rtcp": .media]
        for row in cases.table {
            let bytes = [row.firstByte] + [UInt8](repeating: 0, count: 40)
            #expect(kind(of: bytes) == kinds[row.cls] ?? .other, "\(row.firstByte)")
        }
        for short in cases.short {
            #expect(short.cls == "drop")
            #expect(kind(of: try #require(Vector.unhex(short.hex))) == .other, "\(short.hex)")
        }
        for (first, least, expected) in [(0, 20, DatagramKind.stun), (22, 13, .dtls), (200 & 191, 8, .media)] {
            let bytes = [UInt8(first)] + [UInt8](repeating: 0, count: least - 1)
            #expect(kind(of: bytes) == expected && kind(of: bytes.dropLast()) == .other, "\(first)")
        }
    }

    private func kind(of bytes: [UInt8]) -> DatagramKind { DatagramKind(of: bytes.span.bytes) }
}
