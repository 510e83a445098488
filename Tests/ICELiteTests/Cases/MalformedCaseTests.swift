// The names of cases keep their ids.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Testing

@testable import ICELite

/// Malformed messages (ICE-15): the samples, and what a seed makes of them.
@Suite struct MalformedCaseTests {
    @Test(arguments: CaseEnd.Kind.allCases)
    func `ICE_15 none of the malformed datagrams traps, succeeds or changes state`(kind: CaseEnd.Kind) throws {
        #expect(try PublicCase.read("ICE-15").expect["each"].text == "no_success_no_crash")
        let vectors = try Vector.read("ICE-15")
        #expect(vectors.count == 16)
        for vector in vectors {
            let outcome = try CaseEnd.hand(vector.bytes, to: kind)
            #expect(outcome.verdict != .accepted, "\(vector)")
            #expect(!outcome.hasChangedState, "\(vector)")
            for answer in outcome.answers {
                #expect(answer.messageClass == .error && answer.errorCode == 400, "\(vector)")
            }
        }
    }

    @Test(arguments: CaseEnd.Kind.allCases)
    func `ICE_15 neither do 200 mutations of each, cut anywhere, nor with a right CRC`(kind: CaseEnd.Kind) throws {
        var randomness = Randomness.seeded(15)
        var refused = 0
        for vector in try Vector.read("ICE-15") {
            for turn in 0..<200 {
                var bytes = bend(vector.bytes, using: &randomness)
                // The CRC keeps most from getting any further: half of them have a right one.
                if turn % 2 == 0 { mendFingerprint(of: &bytes) }
                let outcome = try CaseEnd.hand(bytes, to: kind)
                #expect(outcome.verdict != .accepted && !outcome.hasChangedState, "\(vector) turn \(turn): \(bytes)")
                #expect(outcome.answers.allSatisfy { $0.messageClass == .error }, "\(vector) turn \(turn): \(bytes)")
                refused += outcome.answers.count
            }
        }
        #expect(refused > 20, "some went past the form and were judged")
    }

    @Test(arguments: CaseEnd.Kind.allCases)
    func `ICE_15 a good request bent by seed is refused unless it is good still`(kind: CaseEnd.Kind) throws {
        var randomness = Randomness.seeded(16)
        let good = try Request(useCandidate: true, nomination: 3, token: 9).bytes()
        for turn in 0..<2_000 {
            var bytes = bend(good, using: &randomness)
            if turn % 2 == 0 { mendFingerprint(of: &bytes) }
            let outcome = try CaseEnd.hand(bytes, to: kind)
            if outcome.verdict == .accepted {
                // What the integrity covers is as it was signed, but for the length, which it counts without what follows.
                let signed = 4..<(good.count - 8)
                #expect(bytes.count >= signed.upperBound && bytes[signed] == good[signed], "turn \(turn): \(bytes)")
            } else {
                #expect(!outcome.hasChangedState, "turn \(turn): \(bytes)")
            }
        }
    }

    /// One to four of: a byte changed, taken out or put in, the end cut, the header's length made to fit.
    private func bend(_ original: [UInt8], using randomness: inout Randomness) -> [UInt8] {
        var bytes = original
        for _ in 0..<Int.random(in: 1...4, using: &randomness) where !bytes.isEmpty {
            let index = Int.random(in: 0..<bytes.count, using: &randomness)
            switch Int.random(in: 0..<5, using: &randomness) {
            case 0: bytes[index] = .random(in: 0...255, using: &randomness)
            case 1: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &randomness)
            case 2: bytes.remove(at: index)
            case 3: bytes.insert(.random(in: 0...255, using: &randomness), at: index)
            default: bytes.removeLast(bytes.count - index)
            }
        }
        if bytes.count >= 20, Bool.random(using: &randomness) {
            bytes.removeLast(bytes.count % 4)
            let length = UInt16(bytes.count - 20)
            bytes[2] = UInt8(length >> 8)
            bytes[3] = UInt8(length & 0xFF)
        }
        return bytes
    }

    /// Puts a right FINGERPRINT at the end, in place of the one there is.
    private func mendFingerprint(of bytes: inout [UInt8]) {
        guard bytes.count >= 20, bytes.count < 1_400 else { return }
        bytes.removeLast(bytes.count % 4)
        if bytes.count >= 28, Array(bytes.suffix(8).prefix(4)) == [0x80, 0x28, 0, 4] { bytes.removeLast(8) }
        let length = UInt16(bytes.count - 20 + 8)
        bytes[2] = UInt8(length >> 8)
        bytes[3] = UInt8(length & 0xFF)
        let value = STUNChecksum.fingerprint(of: bytes.span.bytes, in: 0..<bytes.count)
        bytes += [0x80, 0x28, 0, 4] + (0..<4).map { UInt8(value >> (24 - 8 * $0) & 0xFF) }
    }
}
