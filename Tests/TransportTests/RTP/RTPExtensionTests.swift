import ICELite
import Testing

@testable import TransportMedia

/// Header extensions of both forms, contributing sources and padding, written and read. RFC 8285, RFC 6464, RFC 9143.
@Suite("RTP header extensions") struct RTPExtensionTests {
    private static let header = RTPHeader(
        marker: false, payloadType: .defaultOpus, sequenceNumber: SequenceNumber(1), timestamp: 2, ssrc: SSRC(3))

    private func packet(
        _ extensions: RTPHeaderExtensions, withMID: Bool = true, level: AudioLevel = .silence, sources: [SSRC] = [],
        payload: [UInt8] = [1, 2, 3], padding: UInt8 = 0
    ) throws -> [UInt8] {
        try RTPVectors.written { out in
            try Self.header.encode(
                into: &out, sources: sources, extensions: extensions, withMID: withMID, level: level,
                isPadded: padding > 0)
            for byte in payload { out.append(byte, as: UInt8.self) }
            if padding > 0 { try RTPHeader.appendPadding(padding, into: &out) }
        }
    }

    /// Every element of the packet, by id.
    static func elements(_ bytes: [UInt8]) throws -> [UInt8: [UInt8]] {
        let header = try RTPHeader(parsing: bytes.span.bytes)
        guard let block = header.extensions else { return [:] }
        var position = block.firstPosition
        var elements: [UInt8: [UInt8]] = [:]
        while let (id, value) = block.next(&position, in: bytes.span.bytes) {
            if elements[id] == nil { elements[id] = Array(bytes[value]) }
        }
        return elements
    }

    @Test("Our packets carry mid and audio level under the ids that were negotiated, as the RFCs lay them out")
    func layout() throws {
        let both = RTPHeaderExtensions(midID: 4, mid: "0", audioLevelID: 1)
        let voice = AudioLevel(rawValue: 0x80 | 30)
        #expect(try packet(both, level: voice)[12...] == [0xBE, 0xDE, 0, 1, 0x40, 0x30, 0x10, 0x9E, 1, 2, 3])
        #expect(try packet(both, withMID: false)[12...] == [0xBE, 0xDE, 0, 1, 0x10, 0x7F, 0, 0, 1, 2, 3])
        let high = RTPHeaderExtensions(midID: 15, mid: "ab", audioLevelID: 200)
        #expect(
            try packet(high, level: voice)[12...]
                == [0x10, 0, 0, 2, 15, 2, 0x61, 0x62, 200, 1, 0x9E, 0, 1, 2, 3])
        let none = RTPHeaderExtensions(midID: 3, mid: "audio", audioLevelID: nil)
        let plain = try packet(none, withMID: false)
        #expect(plain[0] == 0x80 && plain.count == 15)
    }

    @Test("What is written is read back, whatever ids and names", arguments: UInt64(0)..<4)
    func roundTrip(seed: UInt64) throws {
        var randomness = Randomness.seeded(seed)
        for _ in 0..<400 {
            let midID = UInt8.random(in: 0...255, using: &randomness)
            let levelID = UInt8.random(in: 0...20, using: &randomness)
            let name = String(repeating: "m", count: Int.random(in: 0...40, using: &randomness))
            let extensions = RTPHeaderExtensions(midID: midID, mid: name, audioLevelID: levelID)
            let level = AudioLevel(rawValue: UInt8.random(in: 0...255, using: &randomness))
            let sources = (0..<Int.random(in: 0...15, using: &randomness)).map { _ in SSRC.random(using: &randomness) }
            let payload = randomness.bytes(Int.random(in: 0...40, using: &randomness))
            let padding = UInt8.random(in: 0...255, using: &randomness)
            let bytes = try packet(extensions, level: level, sources: sources, payload: payload, padding: padding)
            let header = try RTPHeader(parsing: bytes.span.bytes)
            #expect(Array(bytes[header.payload]) == payload)
            #expect(header.sourceCount == sources.count)
            for (index, source) in sources.enumerated() {
                let read = header.source(index, in: bytes.span.bytes)
                #expect(read == source)
            }
            var wanted: [UInt8: [UInt8]] = [:]
            if midID > 0, !name.isEmpty { wanted[midID] = Array(name.utf8) }
            if levelID > 0, wanted[levelID] == nil { wanted[levelID] = [level.rawValue] }
            #expect(try Self.elements(bytes) == wanted, "\(midID), \(levelID), \(name.count)")
            let readLevel = extensions.audioLevel(of: header, in: bytes.span.bytes)
            #expect(readLevel == (extensions.audioLevelID == nil ? nil : level))
            let isOther = extensions.namesOtherSection(header, in: bytes.span.bytes)
            #expect(!isOther)
        }
    }

    @Test("Without room nothing is written", arguments: 0...60) func noRoom(capacity: Int) throws {
        let extensions = RTPHeaderExtensions(midID: 4, mid: "audio", audioLevelID: 1)
        let sources = (1...7).map { SSRC($0) }
        let needed = 12 + 28 + extensions.byteCount(withMID: true)
        #expect(needed == 52)
        let bytes = RTPVectors.written(capacity) { out in
            do throws(RTPError) {
                try Self.header.encode(into: &out, sources: sources, extensions: extensions)
                #expect(capacity >= needed)
            } catch {
                #expect(error == .noRoom && capacity < needed)
            }
        }
        #expect(bytes.count == (capacity >= needed ? needed : 0))
    }

    @Test("A packet of another media section is told by its mid") func otherSection() throws {
        let ours = RTPHeaderExtensions(midID: 4, mid: "audio", audioLevelID: nil)
        for (name, isOther) in [("audio", false), ("audi", true), ("video", true), ("audio2", true)] {
            let bytes = try packet(RTPHeaderExtensions(midID: 4, mid: name, audioLevelID: nil))
            let header = try RTPHeader(parsing: bytes.span.bytes)
            let verdict = ours.namesOtherSection(header, in: bytes.span.bytes)
            #expect(verdict == isOther, "\(name)")
        }
        let bytes = try packet(RTPHeaderExtensions())
        let header = try RTPHeader(parsing: bytes.span.bytes)
        let verdict = ours.namesOtherSection(header, in: bytes.span.bytes)
        #expect(!verdict)
    }

    @Test("Two-byte elements: padding, empty ones, the application's bits, one that runs past the block")
    func twoBytes() throws {
        let start = "906f0001 000003c0 1a2b3c4d "
        for (block, elements) in [
            ("1000 0002 00 01 00 00 02 02 aa bb", [1: [], 2: [0xAA, 0xBB]]),
            ("100f 0001 0f 01 cc 00", [15: [0xCC]]),
            ("1005 0001 05 03 aa bb", [:]),
            ("1000 0001 00 00 00 07", [:]),
            ("2000 0001 05 01 aa 00", [:]),
            ("1000 0000", [:]),
            ("1000 0001 07 01 aa 08", [7: [0xAA]]),
        ] as [(String, [UInt8: [UInt8]])] {
            let bytes = RTPVectors.bytes(hex: start + block + " 78 01 02")
            #expect(try Self.elements(bytes) == elements, "\(block)")
            #expect(try RTPHeader(parsing: bytes.span.bytes).payload.count == 3, "\(block)")
        }
    }

    @Test("Bent blocks never reach outside their packet") func hostile() throws {
        var randomness = Randomness.seeded(8)
        let ours = RTPHeaderExtensions(midID: 4, mid: "audio", audioLevelID: 1)
        for seed in [ours, RTPHeaderExtensions(midID: 99, mid: "a longer name than sixteen", audioLevelID: 1)] {
            let good = try packet(seed, sources: [SSRC(5)])
            for count in 0...good.count { try read(Array(good[..<count]), ours) }
            for _ in 0..<3_000 {
                var bent = good
                for _ in 0...2 {
                    bent[Int.random(in: 0..<bent.count, using: &randomness)] = UInt8(
                        truncatingIfNeeded: randomness.next())
                }
                try read(bent, ours)
            }
        }
    }

    private func read(_ bytes: [UInt8], _ ours: RTPHeaderExtensions) throws {
        guard let header = try? RTPHeader(parsing: bytes.span.bytes) else { return }
        _ = ours.audioLevel(of: header, in: bytes.span.bytes)
        _ = ours.namesOtherSection(header, in: bytes.span.bytes)
        guard let block = header.extensions else { return }
        var position = block.firstPosition
        while let (_, value) = block.next(&position, in: bytes.span.bytes) {
            #expect(value.lowerBound > block.firstPosition && value.upperBound <= header.payload.lowerBound)
        }
    }

    // MARK: - Levels

    @Test("The level is the rms below a full-scale square wave, to a decibel") func levels() {
        // A sine is 3 dB below a square wave of its amplitude.
        for (amplitude, level) in [(32_767.0, UInt8(3)), (3_276.7, 23), (327.67, 43), (32.767, 63)] {
            let pcm = (0..<960).map { Int16((amplitude * sine(Double($0) / 96)).rounded()) }
            let told = pcm.withUnsafeBufferPointer { AudioLevel(of: $0) }
            #expect(abs(Int(told.decibelsBelowOverload) - Int(level)) <= 1, "\(amplitude)")
            #expect(told.isVoice == (level <= AudioLevel.voiceThreshold))
        }
        for (sample, level) in [(Int16.min, UInt8(0)), (.max, 0), (1, 90), (0, 127)] {
            let pcm = [Int16](repeating: sample, count: 960)
            let told = pcm.withUnsafeBufferPointer { AudioLevel(of: $0) }
            #expect(told.decibelsBelowOverload == level, "\(sample)")
        }
        let empty = AudioLevel(of: UnsafeBufferPointer(start: nil, count: 0))
        #expect(empty == .silence && !empty.isVoice)
    }

    /// sin(2π x) by its series, good to 1e−6.
    private func sine(_ turns: Double) -> Double {
        let x = (turns - turns.rounded()) * 2 * Double.pi
        var term = x
        var sum = x
        for n in 1..<12 {
            term *= -x * x / Double(2 * n * (2 * n + 1))
            sum += term
        }
        return sum
    }
}
