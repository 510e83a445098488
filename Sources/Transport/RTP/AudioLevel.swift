/// How loud a packet's audio is, and whether it is voice. RFC 6464 §3.
///
/// ```
/// |V| level (7 bits, −dBov) |
/// ```
package struct AudioLevel: Hashable, Sendable {
    /// The byte as it stands in the extension.
    package let rawValue: UInt8
    /// Digital silence.
    package static let silence = AudioLevel(rawValue: 127)
    /// Audio at least this loud is told as voice, −dBov: the level of a quiet room is below.
    package static let voiceThreshold: UInt8 = 55

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The level of `pcm`: its rms against a full-scale square wave (RFC 6464 §4), rounded to whole decibels. An empty
    /// frame is silent. Does not allocate.
    package init(of pcm: UnsafeBufferPointer<Int16>) {
        self.init(meanSquare: pcm.isEmpty ? 0 : Double(Self.sumOfSquares(of: pcm)) / Double(pcm.count))
    }

    /// The sum of the squared samples, of fewer than 2³³ of them. Sixteen at a time: every frame is measured more than once.
    static func sumOfSquares(of pcm: UnsafeBufferPointer<Int16>) -> Int64 {
        guard let start = UnsafeRawPointer(pcm.baseAddress) else { return 0 }
        let whole = pcm.count & ~15
        let end = start + whole * MemoryLayout<Int16>.stride
        var at = start
        var sums = SIMD4<UInt64>.zero
        while at < end {
            sums &+= squares(at)
            sums &+= squares(at + 16)
            at += 32
        }
        var sum = Int64(truncatingIfNeeded: sums.wrappedSum())
        for sample in pcm[whole...] { sum &+= Int64(sample) &* Int64(sample) }
        return sum
    }

    /// The squares of the eight samples at `start`, two and two.
    @inline(__always) private static func squares(_ start: UnsafeRawPointer) -> SIMD4<UInt64> {
        let samples = SIMD8<Int32>(truncatingIfNeeded: start.loadUnaligned(as: SIMD8<Int16>.self))
        let squares = samples &* samples
        // Two squares have 32 bits, taken without a sign.
        return SIMD4<UInt64>(truncatingIfNeeded: SIMD4<UInt32>(truncatingIfNeeded: squares.evenHalf &+ squares.oddHalf))
    }

    /// The level of audio whose squared samples have this mean.
    init(meanSquare: Double) {
        // Half a decibel below 0 dBov, then one decibel at a time: no logarithm, which is the C library's.
        var limit = 32_768.0 * 32_768.0 * 0.891_250_938
        var level: UInt8 = 0
        while level < 127, meanSquare < limit {
            level += 1
            limit *= 0.794_328_235
        }
        rawValue = level <= Self.voiceThreshold ? 0x80 | level : level
    }

    /// 0…127: decibels below the loudest possible; 127 is digital silence.
    package var decibelsBelowOverload: UInt8 { rawValue & 0x7F }
    /// The encoder took it for voice.
    package var isVoice: Bool { rawValue & 0x80 != 0 }
}
