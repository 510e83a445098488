// The names begin with the id of the case they hold.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Foundation
import ICELite
import Testing

@testable import TransportLine

@Suite struct FrameReaderTests {
    enum Got: Equatable {
        case text(String), binary(Int), tooLarge(Int), ping(String), pong(String), close(UInt16?, String)
        case failed(UInt16)
    }

    static func read(_ pieces: [[UInt8]], fromClient: Bool = false) -> [Got] {
        var reader = FrameReader(fromClient: fromClient)
        var got: [Got] = []
        for piece in pieces {
            reader.append(piece.span.bytes)
            do throws(FrameError) {
                while let next = try reader.next() {
                    switch next {
                    case .text(let range): got.append(.text(string(reader.bytes(range))))
                    case .binary(let range): got.append(.binary(range.count))
                    case .textTooLarge(let count): got.append(.tooLarge(count))
                    case .ping(let range): got.append(.ping(string(reader.bytes(range))))
                    case .pong(let range): got.append(.pong(string(reader.bytes(range))))
                    case .close(let code, let reason): got.append(.close(code?.rawValue, reason))
                    }
                }
            } catch {
                return got + [.failed(error.closeCode.rawValue)]
            }
        }
        return got
    }

    private static func string(_ bytes: borrowing RawSpan) -> String {
        bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    private static func frame(_ opcode: Opcode, _ payload: [UInt8], final: Bool = true, key: UInt32? = nil) -> [UInt8] {
        var queue = ByteQueue()
        let header = FrameHeader(isFinal: final, opcode: opcode, maskingKey: key, payloadCount: payload.count)
        header.encode(into: &queue)
        precondition(queue.count == header.byteCount)
        let start = queue.count
        queue.append(payload)
        if let key { queue.mask(start..<queue.count, key: key) }
        return queue.array
    }

    // MARK: Vectors

    @Test func readsTheExamplesOfRFC6455Section5_7() {
        let hex = LineFixtures.bytes(hex:)
        #expect(Self.read([hex("810548656c6c6f")]) == [.text("Hello")])
        #expect(Self.read([hex("818537fa213d7f9f4d5158")], fromClient: true) == [.text("Hello")])
        #expect(Self.read([hex("010348656c"), hex("80026c6f")]) == [.text("Hello")])
        #expect(Self.read([hex("890548656c6c6f")]) == [.ping("Hello")])
        #expect(Self.read([hex("8a8537fa213d7f9f4d5158")], fromClient: true) == [.pong("Hello")])
        #expect(Self.read([hex("827e0100") + [UInt8](repeating: 0, count: 256)]) == [.binary(256)])
        // The 64 KiB example is binary and beyond our limit; as text it is read.
        #expect(Self.read([hex("827f0000000000010000")]) == [.failed(1_009)])
        let text = [UInt8](repeating: 0x61, count: 65_536)
        #expect(Self.read([hex("817f0000000000010000") + text]) == [.text(String(repeating: "a", count: 65_536))])
    }

    @Test func writesTheExamplesOfRFC6455Section5_7() {
        #expect(Self.frame(.text, Array("Hello".utf8)) == LineFixtures.bytes(hex: "810548656c6c6f"))
        #expect(
            Self.frame(.text, Array("Hello".utf8), key: 0x37FA_213D)
                == LineFixtures.bytes(hex: "818537fa213d7f9f4d5158"))
        #expect(Self.frame(.binary, [UInt8](repeating: 0, count: 256)).prefix(4) == [0x82, 0x7E, 1, 0])
        #expect(
            Self.frame(.text, [UInt8](repeating: 0, count: 65_536)).prefix(10) == [0x81, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0])
    }

    @Test func WS08_pingBetweenFragmentsComesFirst() throws {
        #expect(
            Self.read(try LineFixtures.reads("WS-08.hex")) == [.ping("p1"), .pong("zz"), .ping(""), .text("audio")])
    }

    struct Violation: Decodable {
        var name: String
        var bytes: String
        var close_code: UInt16
        var tolerated: Bool
    }

    @Test func WS09_violationsFailWithTheirCode() throws {
        for violation in try LineFixtures.json("WS-09.json", as: [Violation].self) {
            let got = Self.read([LineFixtures.bytes(hex: violation.bytes)])
            if violation.tolerated {
                #expect(got == [.text("Hello")], "\(violation.name)")
            } else {
                #expect(got.last == .failed(violation.close_code), "\(violation.name)")
            }
        }
    }

    @Test func unmaskedFrameFromAClientFails() {
        #expect(Self.read([LineFixtures.bytes(hex: "810548656c6c6f")], fromClient: true) == [.failed(1_002)])
    }

    struct Close: Decodable {
        var name: String
        var frame: String
        var report: UInt16
        var legal: Bool
        var reply_code: UInt16?
    }

    @Test func WS12_closeCodesAreSorted() throws {
        for close in try LineFixtures.json("WS-12.json", as: [Close].self) {
            let got = Self.read([LineFixtures.bytes(hex: close.frame)])
            if close.legal {
                guard case .close(let code, _) = got.first else {
                    Issue.record("\(close.name): \(got)")
                    continue
                }
                #expect(code ?? 1_005 == close.report, "\(close.name)")
            } else {
                #expect(got == [.failed(close.reply_code ?? 0)], "\(close.name)")
            }
        }
    }

    // MARK: Sizes

    @Test func textAtTheLimitIsDeliveredAndOneMoreIsSkipped() {
        let limit = LineLimits.maximumTextBytes
        let next = Self.frame(.text, [0x62])
        let full = Self.frame(.text, [UInt8](repeating: 0x61, count: limit))
        #expect(Self.read([full + next]).last == .text("b"))
        let over = Self.frame(.text, [UInt8](repeating: 0x61, count: limit + 1))
        #expect(Self.read([over + next]) == [.tooLarge(limit + 1), .text("b")])
    }

    @Test func largeTextInFragmentsIsSkippedAsAWhole() {
        let part = [UInt8](repeating: 0x61, count: 200_000)
        let pieces = [
            Self.frame(.text, part, final: false), Self.frame(.continuation, part, final: false),
            Self.frame(.ping, [0x70]), Self.frame(.continuation, part), Self.frame(.text, [0x62]),
        ]
        #expect(Self.read(pieces) == [.ping("p"), .tooLarge(600_000), .text("b")])
    }

    @Test func beyondAMebibyteFailsBeforeTheBytesCome() {
        #expect(Self.read([LineFixtures.bytes(hex: "817f0000000000100000")]) == [])
        #expect(Self.read([LineFixtures.bytes(hex: "817f0000000000100001")]) == [.failed(1_009)])
        let part = [UInt8](repeating: 0x61, count: 1_000_000)
        #expect(
            Self.read([Self.frame(.text, part, final: false), Self.frame(.continuation, part)]) == [.failed(1_009)])
    }

    @Test func binaryHolds1500Bytes() {
        #expect(Self.read([Self.frame(.binary, [UInt8](repeating: 1, count: 1_500))]) == [.binary(1_500)])
        #expect(Self.read([Self.frame(.binary, [UInt8](repeating: 1, count: 1_501))]) == [.failed(1_009)])
        let half = [UInt8](repeating: 1, count: 800)
        #expect(
            Self.read([Self.frame(.binary, half, final: false), Self.frame(.continuation, half)]) == [.failed(1_009)])
    }

    @Test func codePointCutByFragmentsIsWhole() {
        let euro: [UInt8] = [0xE2, 0x82, 0xAC]
        let pieces = [
            Self.frame(.text, [euro[0]], final: false), Self.frame(.continuation, [euro[1]], final: false),
            Self.frame(.continuation, [euro[2]]),
        ]
        #expect(Self.read(pieces) == [.text("€")])
    }

    // MARK: Junk

    /// A stream with every kind of piece in it.
    static func stream(fromClient: Bool) -> [UInt8] {
        let key: UInt32? = fromClient ? 0xA1B2_C3D4 : nil
        return frame(.text, Array("one €".utf8), key: key) + frame(.binary, [UInt8](repeating: 7, count: 300), key: key)
            + frame(.text, Array("tw".utf8), final: false, key: key) + frame(.ping, [1, 2], key: key)
            + frame(.continuation, Array("o".utf8), key: key) + frame(.pong, [], key: key)
            + frame(.close, [0x03, 0xE8] + Array("done".utf8), key: key)
    }

    @Test(arguments: [true, false]) func anySplitGivesTheSame(fromClient: Bool) {
        let stream = Self.stream(fromClient: fromClient)
        let whole = Self.read([stream], fromClient: fromClient)
        #expect(whole.count == 6 && whole.last == .close(1_000, "done"))
        #expect(Self.read(stream.map { [$0] }, fromClient: fromClient) == whole)
        var random = Randomness.seeded(3)
        for _ in 0..<200 {
            var pieces: [[UInt8]] = []
            var rest = stream[...]
            while !rest.isEmpty {
                let count = Int.random(in: 1...40, using: &random)
                pieces.append(Array(rest.prefix(count)))
                rest = rest.dropFirst(count)
            }
            #expect(Self.read(pieces, fromClient: fromClient) == whole)
        }
    }

    @Test(arguments: [true, false]) func truncatedAtEveryLengthWaits(fromClient: Bool) {
        let stream = Self.stream(fromClient: fromClient)
        let whole = Self.read([stream], fromClient: fromClient)
        for length in 0..<stream.count {
            let got = Self.read([Array(stream.prefix(length))], fromClient: fromClient)
            #expect(got == Array(whole.prefix(got.count)) && got.count < whole.count)
        }
    }

    @Test func mutatedBytesNeverTrap() {
        var random = Randomness.seeded(11)
        for _ in 0..<3_000 {
            let fromClient = Bool.random(using: &random)
            var stream = Self.stream(fromClient: fromClient)
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                stream[Int.random(in: 0..<stream.count, using: &random)] = UInt8(truncatingIfNeeded: random.next())
            }
            _ = Self.read([stream], fromClient: fromClient)
        }
        for _ in 0..<1_000 { _ = Self.read([random.bytes(64)], fromClient: true) }
    }
}

@Suite struct UTF8CheckTests {
    @Test(arguments: [
        "00", "7f", "c280", "dfbf", "e0a080", "ed9fbf", "ee8080", "efbfbf", "f0908080", "f48fbfbf",
    ]) func takesTheEdges(hex: String) {
        let bytes = LineFixtures.bytes(hex: hex)
        var check = UTF8Check()
        let whole = check.feed(bytes) && check.isComplete
        var single = UTF8Check()
        let pieces = bytes.allSatisfy { single.feed([$0]) } && single.isComplete
        #expect(whole && pieces)
    }

    @Test(arguments: [
        "80", "bf", "c0af", "c1bf", "e09fbf", "eda080", "edbfbf", "f08fbfbf", "f4908080", "f5808080", "ff",
    ])
    func refusesWhatLiesBeyond(hex: String) {
        var check = UTF8Check()
        let taken = check.feed(LineFixtures.bytes(hex: hex))
        #expect(!taken)
    }

    @Test func agreesWithTheStandardLibrary() {
        var random = Randomness.seeded(5)
        for _ in 0..<20_000 {
            let bytes = random.bytes(Int.random(in: 1...5, using: &random)).map {
                $0 | (random.next() & 1 == 0 ? 0x80 : 0)
            }
            var check = UTF8Check()
            let valid = check.feed(bytes.span.bytes) && check.isComplete
            #expect(valid == (String(validating: bytes, as: UTF8.self) != nil))
        }
    }
}
