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

    /// The sum of the squared samples, of fewer than 2³³ of them. Eight at a time: every frame is measured more than once.
    static func sumOfSquares(of pcm: UnsafeBufferPointer<Int16>) -> Int64 {
        let bytes = UnsafeRawBufferPointer(pcm)
        var sums = SIMD4<UInt64>.zero
        var index = 0
        while index + 8 <= pcm.count {
            let eight = bytes.loadUnaligned(fromByteOffset: 2 * index, as: SIMD8<Int16>.self)
            let samples = SIMD8<Int32>(truncatingIfNeeded: eight)
            let squares = samples &* samples
            // Two squares have 32 bits, taken without a sign.
            let pairs = SIMD4<UInt32>(truncatingIfNeeded: squares.evenHalf &+ squares.oddHalf)
            sums &+= SIMD4<UInt64>(truncatingIfNeeded: pairs)
            index += 8
        }
        var sum = Int64(truncatingIfNeeded: sums.wrappedSum())
        while index < pcm.count {
            sum &+= Int64(pcm[index]) &* Int64(pcm[index])
            index += 1
        }
        return sum
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
