/// Noise at the level of the talker's own background, for pauses and for what concealment cannot bridge.
struct ComfortNoise: Sendable {
    /// The loudest that is made: −50 dBFS rms.
    static let loudest: Float = 104
    /// A frame quieter than this, rms, is silence in any case.
    static let silence: Float = 20

    private var level: Float = 0
    private var state: UInt32 = 0x2545_F491

    /// Rms below which a frame is taken for background.
    var threshold: Float { max(Self.silence, level * 2) }

    /// Rms of `pcm`; 0 for none.
    static func level(of pcm: UnsafeBufferPointer<Int16>) -> Float {
        pcm.isEmpty ? 0 : (Float(AudioLevel.sumOfSquares(of: pcm)) / Float(pcm.count)).squareRoot()
    }

    /// Learns from a decoded frame of rms `rms`: falls at once, rises slowly (factor 2 in about 3.5 s of 20 ms frames).
    mutating func learn(rms: Float) { level = min(rms, level * 1.004 + 0.01, Self.loudest) }

    /// Fills `output`.
    mutating func fill(_ output: UnsafeMutableBufferPointer<Int16>) {
        // Uniform noise of amplitude a has rms a / √3: `loudest` keeps it within 16 bits.
        let amplitude = level * 1.73
        for index in output.indices {
            state = state &* 1_664_525 &+ 1_013_904_223
            output[index] = Int16(Float(Int32(bitPattern: state)) / 2_147_483_648 * amplitude)
        }
    }
}
