/// Why bytes are not a WAV file that can be played.
enum WAVError: Error, Equatable, Sendable {
    case empty
    case notRIFF
    case notWAVE
    /// The file ends inside what a header announced.
    case truncated(needed: Int, available: Int)
    case formatMissing
    case dataMissing
    case formatMalformed
    /// Not PCM of 8, 16, 24 or 32 bits or 32-bit float.
    case encodingUnsupported(formatTag: Int, bitsPerSample: Int)
    case sampleRateUnsupported(Int)
    case channelCountUnsupported(Int)
    /// There is a data chunk, but not one sample in it.
    case noSamples
    case tooLong(seconds: Int)

    /// What is wrong, for the end of `error: FILE `.
    var description: String {
        switch self {
        case .empty: "is empty"
        case .notRIFF: "is not a WAV file (no RIFF header)"
        case .notWAVE: "is a RIFF file, but not WAVE"
        case .truncated(let needed, let available): "is cut short (\(available) of \(needed) bytes)"
        case .formatMissing: "has no fmt chunk before its data"
        case .dataMissing: "has no data chunk"
        case .formatMalformed: "has a malformed fmt chunk"
        case .encodingUnsupported(let tag, let bits):
            "has an encoding that is not supported (format \(tag), \(bits) bits); PCM of 8 to 32 bits is"
        case .sampleRateUnsupported(let rate): "has \(rate) Hz; 8000 to 48000 are supported"
        case .channelCountUnsupported(let count): "has \(count) channels; mono and stereo are supported"
        case .noSamples: "holds no samples"
        case .tooLong(let seconds): "is longer than \(seconds) s"
        }
    }
}
