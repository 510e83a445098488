import Foundation
import Testing

@testable import graine_transport_probe

@Suite struct WAVFileTests {
    /// A WAV of one encoding with `frames` frames of a 440 Hz tone at half scale.
    private func wav(
        tag: Int = 1, bits: Int = 16, rate: Int = 16_000, channels: Int = 1, frames: Int = 100,
        extensible: Bool = false,
        extraChunk: Bool = false
    ) -> [UInt8] {
        var data: [UInt8] = []
        func put(_ value: Int, _ count: Int, into bytes: inout [UInt8]) {
            for index in 0..<count { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * index))) }
        }
        for frame in 0..<frames {
            let value = 0.5 * sin(2 * Double.pi * 440 * Double(frame) / Double(rate))
            for _ in 0..<channels {
                if tag == 3 {
                    put(Int(Float(value).bitPattern), 4, into: &data)
                } else if bits == 8 {
                    put(Int((value * 128).rounded()) + 128, 1, into: &data)
                } else {
                    put(Int((value * Double(1 << (bits - 1))).rounded()), bits / 8, into: &data)
                }
            }
        }
        var format: [UInt8] = []
        put(extensible ? 0xFFFE : tag, 2, into: &format)
        put(channels, 2, into: &format)
        put(rate, 4, into: &format)
        put(rate * channels * bits / 8, 4, into: &format)
        put(channels * bits / 8, 2, into: &format)
        put(bits, 2, into: &format)
        if extensible {
            put(22, 2, into: &format)
            put(bits, 2, into: &format)
            put(0, 4, into: &format)
            put(tag, 2, into: &format)
            format += [UInt8](repeating: 0, count: 14)
        }
        var body = Array("WAVE".utf8)
        func chunk(_ id: String, _ bytes: [UInt8]) {
            body += Array(id.utf8)
            put(bytes.count, 4, into: &body)
            body += bytes
            if bytes.count % 2 == 1 { body.append(0) }
        }
        if extraChunk { chunk("LIST", [1, 2, 3]) }
        chunk("fmt ", format)
        if extraChunk { chunk("fact", [0, 0, 0, 0]) }
        chunk("data", data)
        var bytes = Array("RIFF".utf8)
        put(body.count, 4, into: &bytes)
        return bytes + body
    }

    @Test(arguments: [(1, 8, 0.01), (1, 16, 1e-4), (1, 24, 1e-6), (1, 32, 1e-6), (3, 32, 1e-6)], [1, 2])
    func everyEncodingGivesTheSameTone(encoding: (Int, Int, Double), channels: Int) throws {
        let (tag, bits, tolerance) = encoding
        for extensible in [false, true] {
            let bytes = wav(tag: tag, bits: bits, channels: channels, extensible: extensible, extraChunk: true)
            let file = try WAVFile(parsing: bytes)
            #expect(file.sampleRate == 16_000 && file.channelCount == channels && file.samples.count == 100)
            for (index, sample) in file.samples.enumerated() {
                let expected = 0.5 * sin(2 * Double.pi * 440 * Double(index) / 16_000)
                #expect(abs(Double(sample) - expected) <= tolerance)
            }
        }
    }

    @Test func truncatedAtEveryLengthIsATypedError() {
        let bytes = wav(frames: 20, extraChunk: true)
        for length in 0..<bytes.count {
            #expect(throws: WAVError.self) { try WAVFile(parsing: Array(bytes.prefix(length))) }
        }
    }

    @Test func mutatedBytesNeverTrap() {
        var random = SplitMix(seed: 42)
        let sound = wav(frames: 20, extensible: true, extraChunk: true)
        for _ in 0..<5_000 {
            var bytes = sound
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            if let file = try? WAVFile(parsing: bytes) { _ = file.callSamples.count }
        }
    }

    @Test func whatIsNotSupportedIsNamed() {
        #expect(throws: WAVError.empty) { try WAVFile(parsing: []) }
        #expect(throws: WAVError.notRIFF) { try WAVFile(parsing: Array("OggS and more of it".utf8)) }
        #expect(throws: WAVError.noSamples) { try WAVFile(parsing: wav(frames: 0)) }
        #expect(throws: WAVError.sampleRateUnsupported(96_000)) { try WAVFile(parsing: wav(rate: 96_000)) }
        #expect(throws: WAVError.channelCountUnsupported(3)) { try WAVFile(parsing: wav(channels: 3)) }
        #expect(throws: WAVError.encodingUnsupported(formatTag: 7, bitsPerSample: 8)) {
            try WAVFile(parsing: wav(tag: 7, bits: 8))
        }
    }

    @Test func writtenAndReadAgainIsTheSame() throws {
        var random = SplitMix(seed: 1)
        let samples = (0..<500).map { _ in Int16.random(in: .min ... .max, using: &random) }
        let file = try WAVFile(parsing: WAVWriter.encode(samples, sampleRate: 48_000))
        #expect(file.callSamples == samples)
    }

    @Test func writingLeavesNothingBehindWhenItFails() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "wav-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let good = folder.appending(path: "a.wav").path
        try WAVWriter.write([1, 2, 3], sampleRate: 48_000, path: good)
        #expect(try WAVFile.read(path: good).callSamples == [1, 2, 3])
        let bad = folder.appending(path: "missing/b.wav").path
        #expect(throws: ProbeError.self) { try WAVWriter.write([1], sampleRate: 48_000, path: bad) }
        #expect(throws: ProbeError.self) { try OutputFile.preflight(path: bad) }
        #expect(throws: ProbeError.self) { try OutputFile.preflight(path: folder.path) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a.wav"])
    }

    @Test(arguments: [8_000, 11_025, 16_000, 22_050, 32_000, 44_100])
    func resamplingKeepsLengthPitchAndLevel(rate: Int) throws {
        let seconds = 1
        let tone = (0..<(rate * seconds)).map { Float(0.5 * sin(2 * Double.pi * 1_000 * Double($0) / Double(rate))) }
        let output = RecordingResampler.callSamples(tone, sampleRate: rate)
        #expect(output.count == 48_000)
        // Away from the ends it is the same tone at 48 kHz.
        for index in 4_000..<44_000 {
            let expected = 0.5 * sin(2 * Double.pi * 1_000 * Double(index) / 48_000)
            #expect(abs(Double(output[index]) / 32_768 - expected) < 0.003)
            if abs(Double(output[index]) / 32_768 - expected) >= 0.003 { return }
        }
    }

    @Test func theShippedSpeechIsThereAndLongEnough() throws {
        let speech = try SpeechSample.load()
        #expect(speech.count >= 7 * 48_000 && speech.count <= 10 * 48_000)
        #expect(speech.contains { abs(Int($0)) > 16_000 })
    }
}
