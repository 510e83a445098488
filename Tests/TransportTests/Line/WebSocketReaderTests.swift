import ICELite
import Testing
import Transport

@Suite("Line: WebSocket reader") struct LineWebSocketReaderTests {
    private let key: [UInt8] = [0x37, 0xFA, 0x21, 0x3D]
    private let hello = Array("Hello".utf8)

    @Test("The examples of RFC 6455 section 5.7 read as they say")
    func examples() {
        #expect(heard([[0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F]]) == [.text(hello)])
        let masked: [UInt8] = [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]
        #expect(heard([masked], isServer: true) == [.text(hello)])
        #expect(heard([[0x01, 0x03, 0x48, 0x65, 0x6C], [0x80, 0x02, 0x6C, 0x6F]]) == [.text(hello)])
        #expect(heard([[0x89, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F]]) == [.ping(hello)])
        let pong: [UInt8] = [0x8A, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]
        #expect(heard([pong], isServer: true) == [.pong])
        let binary = [UInt8](repeating: 7, count: 256)
        #expect(heard([[0x82, 0x7E, 0x01, 0x00] + binary]) == [.binary(binary)])
        let large = [UInt8](repeating: 0x41, count: 65_536)
        #expect(heard([[0x81, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0] + large]) == [.text(large)])
    }

    /// Fragments with control between, text, binary, and a close.
    private func stream() -> ([UInt8], [Heard]) {
        let euro: [UInt8] = [0xE2, 0x82, 0xAC]
        let long = [UInt8](repeating: 0x62, count: 300)
        var bytes = frame(1, [0x61, 0xE2], final: false, mask: key)
        bytes += frame(9, [1, 2, 3], mask: key)
        bytes += frame(0, [0x82], final: false, mask: [9, 8, 7, 6])
        bytes += frame(0, [], final: false, mask: key)
        bytes += frame(10, [], mask: key)
        bytes += frame(0, [0xAC], mask: key)
        bytes += frame(2, long, mask: [0xFF, 0, 0xFF, 1])
        bytes += frame(2, [1], final: false, mask: key) + frame(0, [2], mask: key)
        bytes += frame(1, [], mask: key)
        bytes += frame(8, [0x03, 0xE8] + Array("end".utf8), mask: key)
        return (
            bytes,
            [
                .ping([1, 2, 3]), .pong, .text([0x61] + euro), .binary(long), .binary([1, 2]), .text([]),
                .close(1_000, "end"),
            ]
        )
    }

    @Test("Every way to cut the stream in two gives the same")
    func splits() {
        let (bytes, expected) = stream()
        for at in 0...bytes.count {
            #expect(heard([Array(bytes[..<at]), Array(bytes[at...])], isServer: true) == expected)
        }
        #expect(heard(bytes.map { [$0] }, isServer: true) == expected)
    }

    @Test("Cut short anywhere, it gives a part of the same and waits")
    func truncated() {
        let (bytes, expected) = stream()
        for length in 0..<bytes.count {
            let items = heard([Array(bytes[..<length])], isServer: true)
            #expect(items == Array(expected.prefix(items.count)))
        }
    }

    @Test("Changed bytes never trap", arguments: 0..<40)
    func mutations(seed: UInt64) {
        let (bytes, _) = stream()
        var randomness = Randomness.seeded(seed)
        for _ in 0..<50 {
            let input = mutated(bytes, &randomness)
            let whole = heard([input], isServer: true)
            #expect(whole == heard(pieces(input, &randomness), isServer: true))
            _ = heard([input], isServer: false)
        }
        for _ in 0..<50 { _ = heard(pieces(randomness.bytes(200), &randomness), isServer: seed % 2 == 0) }
    }

    @Test("Text of 256 KiB is delivered; one byte more is thrown away and the line lives")
    func textLimit() {
        let limit = 256 * 1_024
        let most = [UInt8](repeating: 0x61, count: limit)
        #expect(heard([frame(1, most)]) == [.text(most)])
        let after = frame(1, hello)
        let more = [UInt8](repeating: 0x61, count: limit + 1)
        #expect(heard([frame(1, more) + after]) == [.tooLarge(limit + 1), .text(hello)])
        let hard = [UInt8](repeating: 0x61, count: 1 << 20)
        #expect(heard([frame(1, hard) + after]) == [.tooLarge(1 << 20), .text(hello)])
        #expect(heard([frame(1, hard + [0x61]) + after]) == [.failure(1_009)])
    }

    @Test("Too large in fragments: thrown away, control between is heard, the next text is checked afresh")
    func largeFragments() {
        let half = [UInt8](repeating: 0x61, count: 200_000)
        // The first fragment ends inside a character.
        var bytes = frame(1, half + [0xE2], final: false) + frame(9, [5]) + frame(0, half, final: false)
        bytes += frame(10, []) + frame(0, [], final: false) + frame(0, half)
        #expect(heard([bytes + frame(1, hello)]) == [.ping([5]), .pong, .tooLarge(600_001), .text(hello)])
        let emptyEnd = frame(1, half, final: false) + frame(0, half, final: false) + frame(0, [])
        #expect(heard([emptyEnd + frame(1, hello)]) == [.tooLarge(400_000), .text(hello)])
        let beyond = (0..<6).reduce(into: frame(1, [], final: false)) { bytes, _ in
            bytes += frame(0, half, final: false)
        }
        #expect(heard([beyond]) == [.failure(1_009)])
    }

    @Test("Binary beyond 1500 bytes closes with 1009, from the header alone and over fragments")
    func binaryLimit() {
        let most = [UInt8](repeating: 1, count: 1_500)
        #expect(heard([frame(2, most)]) == [.binary(most)])
        #expect(heard([Array(frame(2, most + [1]).prefix(4))]) == [.failure(1_009)])
        #expect(heard([frame(2, most, final: false) + frame(0, [1])]) == [.failure(1_009)])
        #expect(heard([[0x82, 0x7F, 0x7F, 255, 255, 255, 255, 255, 255, 255]]) == [.failure(1_009)])
        let overflow: [UInt8] = [0x80, 0x7F, 0x7F, 255, 255, 255, 255, 255, 255, 255]
        #expect(heard([frame(1, [1], final: false) + overflow]) == [.failure(1_009)])
    }

    @Test("What RFC 6455 forbids closes with 1002, and nothing is read after it")
    func protocolErrors() {
        let wrong: [[UInt8]] = [
            frame(9, [UInt8](repeating: 0, count: 126)), frame(9, [], final: false), frame(8, [], final: false),
            frame(1, [], reserved: 0x40), frame(1, [], reserved: 0x20), frame(1, [], reserved: 0x10),
            frame(3, []), frame(7, []), frame(11, []), frame(15, []),
            frame(0, hello), frame(1, hello, final: false) + frame(1, hello),
            frame(1, hello, final: false) + frame(2, hello),
            // Lengths that are not in their shortest form, or negative.
            [0x81, 126, 0, 5] + hello, [0x81, 127, 0, 0, 0, 0, 0, 0, 0, 5] + hello,
            [0x81, 127, 0x80, 0, 0, 0, 0, 0, 0, 5] + hello,
            frame(1, hello, mask: key), frame(8, [3]),
        ]
        for bytes in wrong { #expect(heard([bytes + frame(1, hello)]) == [.failure(1_002)], "\(bytes.prefix(12))") }
        #expect(heard([frame(1, hello)], isServer: true) == [.failure(1_002)])
    }

    @Test("Text that is not UTF-8 closes with 1007, across fragments too")
    func utf8() {
        let wrong: [[UInt8]] = [
            [0x80], [0xC0, 0xAF], [0xC1, 0x81], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80], [0xF0, 0x8F, 0xBF, 0xBF],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF], [0xE2, 0x82], [0xF0, 0x9F, 0x98], [0xC3, 0x28],
        ]
        for bytes in wrong {
            #expect(heard([frame(1, bytes)]) == [.failure(1_007)], "\(bytes)")
            var fragments = frame(1, [], final: false)
            for byte in bytes { fragments += frame(0, [byte], final: false) }
            #expect(heard([fragments + frame(0, [])]) == [.failure(1_007)], "\(bytes) in fragments")
        }
        let fine: [[UInt8]] = [
            [0xC2, 0x80], [0xE0, 0xA0, 0x80], [0xED, 0x9F, 0xBF], [0xEE, 0x80, 0x80], [0xEF, 0xBF, 0xBF],
            [0xF0, 0x90, 0x80, 0x80], [0xF4, 0x8F, 0xBF, 0xBF], [0xF1, 0x80, 0x80, 0x80], [0],
        ]
        for bytes in fine {
            var fragments = frame(1, [], final: false)
            for byte in bytes { fragments += frame(0, [byte], final: false) }
            #expect(heard([frame(1, bytes), fragments + frame(0, [])]) == [.text(bytes), .text(bytes)], "\(bytes)")
        }
    }

    @Test("Close codes that may not travel are refused")
    func closeCodes() {
        func close(_ code: UInt16) -> [Heard] { heard([frame(8, [UInt8(code >> 8), UInt8(code & 0xFF)])]) }
        for code: UInt16 in [1_000, 1_001, 1_002, 1_003, 1_007, 1_011, 1_014, 3_000, 4_400, 4_999] {
            #expect(close(code) == [.close(code, "")])
        }
        for code: UInt16 in [0, 999, 1_004, 1_005, 1_006, 1_015, 1_016, 2_999, 5_000, 65_535] {
            #expect(close(code) == [.failure(1_002)])
        }
        #expect(heard([frame(8, [])]) == [.close(nil, "")])
        #expect(heard([frame(8, [3, 0xE8, 0xE2, 0x82])]) == [.failure(1_007)])
    }
}
