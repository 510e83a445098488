/// A PCM WAV file, read: RIFF chunks in any order, unknown ones skipped, samples mixed to mono.
///
/// ```
/// "RIFF" size "WAVE"  { id[4] size[4, little endian] body[size] pad to even }…
/// fmt : tag[2] channels[2] rate[4] bytes/s[4] block[2] bits[2]  (tag 0xFFFE: + size[2] valid[2] mask[4] GUID[16])
/// ```
struct WAVFile: Equatable, Sendable {
    /// Frames a second, 8,000 to 48,000.
    let sampleRate: Int
    /// 1 or 2, as in the file.
    let channelCount: Int
    /// Mono, −1 to 1: the mean of the channels.
    let samples: [Float]

    /// Longest recording that is read.
    static let lengthLimitSeconds = 3_600
    /// Most chunks that are walked before the data is found.
    static let chunkLimit = 1_000

    private static let pcmTag = 1
    private static let floatTag = 3
    private static let extensibleTag = 0xFFFE

    private struct Format {
        var tag: Int
        var channels: Int
        var rate: Int
        var block: Int
        var bits: Int
    }

    var durationSeconds: Double { Double(samples.count) / Double(sampleRate) }

    /// Reads `bytes`. A data chunk that claims more than is there is an error, never a shorter recording.
    init(parsing bytes: [UInt8]) throws(WAVError) {
        guard !bytes.isEmpty else { throw .empty }
        let reader = LittleEndianReader(bytes: bytes)
        guard bytes.count >= 4 else { throw .truncated(needed: 12, available: bytes.count) }
        guard reader.tag(at: 0) == "RIFF" else { throw .notRIFF }
        guard bytes.count >= 12 else { throw .truncated(needed: 12, available: bytes.count) }
        guard reader.tag(at: 8) == "WAVE" else { throw .notWAVE }
        var offset = 12
        var format: Format?
        for _ in 0..<Self.chunkLimit {
            guard offset < bytes.count else { break }
            guard offset + 8 <= bytes.count else { throw .truncated(needed: offset + 8, available: bytes.count) }
            let size = reader.integer(at: offset + 4, bytes: 4)
            let body = offset + 8
            guard size <= bytes.count - body else { throw .truncated(needed: body + size, available: bytes.count) }
            switch reader.tag(at: offset) {
            case "fmt ": format = try Self.format(reader, body..<(body + size))
            case "data":
                guard let format else { throw .formatMissing }
                self.sampleRate = format.rate
                self.channelCount = format.channels
                self.samples = try Self.decode(reader, body..<(body + size), format)
                return
            default: break
            }
            offset = body + size + (size & 1)
        }
        throw format == nil ? .formatMissing : .dataMissing
    }

    private static func format(_ reader: LittleEndianReader, _ body: Range<Int>) throws(WAVError) -> Format {
        guard body.count >= 16 else { throw .formatMalformed }
        let start = body.lowerBound
        var format = Format(
            tag: reader.integer(at: start, bytes: 2), channels: reader.integer(at: start + 2, bytes: 2),
            rate: reader.integer(at: start + 4, bytes: 4), block: reader.integer(at: start + 12, bytes: 2),
            bits: reader.integer(at: start + 14, bytes: 2))
        if format.tag == extensibleTag {
            guard body.count >= 40 else { throw .formatMalformed }
            format.tag = reader.integer(at: start + 24, bytes: 2)
        }
        switch (format.tag, format.bits) {
        case (pcmTag, 8), (pcmTag, 16), (pcmTag, 24), (pcmTag, 32), (floatTag, 32): break
        default: throw .encodingUnsupported(formatTag: format.tag, bitsPerSample: format.bits)
        }
        guard (1...2).contains(format.channels) else { throw .channelCountUnsupported(format.channels) }
        guard (8_000...48_000).contains(format.rate) else { throw .sampleRateUnsupported(format.rate) }
        guard format.block == format.channels * format.bits / 8 else { throw .formatMalformed }
        return format
    }

    private static func decode(
        _ reader: LittleEndianReader, _ body: Range<Int>, _ format: Format
    ) throws(WAVError) -> [Float] {
        let frameCount = body.count / format.block
        guard frameCount > 0 else { throw .noSamples }
        guard frameCount / format.rate < lengthLimitSeconds else { throw .tooLong(seconds: lengthLimitSeconds) }
        let width = format.bits / 8
        var samples: [Float] = []
        samples.reserveCapacity(frameCount)
        for frame in 0..<frameCount {
            var sum: Float = 0
            for channel in 0..<format.channels {
                sum += sample(reader, body.lowerBound + frame * format.block + channel * width, format)
            }
            samples.append(sum / Float(format.channels))
        }
        return samples
    }

    private static func sample(_ reader: LittleEndianReader, _ offset: Int, _ format: Format) -> Float {
        let raw = UInt32(truncatingIfNeeded: reader.integer(at: offset, bytes: format.bits / 8))
        if format.tag == floatTag {
            let value = Float(bitPattern: raw)
            return value.isFinite ? min(max(value, -1), 1) : 0
        }
        // Eight bits are unsigned around 128, all wider ones two's complement.
        if format.bits == 8 { return (Float(raw) - 128) / 128 }
        let shifted = Int32(bitPattern: raw << UInt32(32 - format.bits))
        return Float(shifted) / 2_147_483_648
    }
}

/// Little-endian integers from an array whose bounds the caller has checked.
private struct LittleEndianReader {
    let bytes: [UInt8]

    func integer(at offset: Int, bytes count: Int) -> Int {
        var value = 0
        for index in (0..<count).reversed() { value = value << 8 | Int(bytes[offset + index]) }
        return value
    }

    func tag(at offset: Int) -> String { String(decoding: bytes[offset..<(offset + 4)], as: UTF8.self) }
}
