internal import Glibc
internal import Transport

/// A buzz with the rhythm of syllables and no pause, said without end; and the ear for it.
struct TrialVoice {
    private static let rate = 48_000
    /// A quarter of a second: whole periods of all its harmonics, swelling once.
    private static let syllable: [Int16] = (0..<(rate / 4)).map { index in
        let time = Double(index) / Double(rate)
        let wave = (1...8).reduce(0.0) { $0 + sin(2 * .pi * 200 * Double($1) * time) / Double($1) }
        return Int16(4_500 * wave * (0.75 - 0.25 * cos(8 * .pi * time)))
    }
    /// 10 ms.
    private static let stepSamples = 480
    /// A step is silent 12 dB below the voice where it is lowest.
    private static let silence: Double = {
        let levels = stride(from: 0, to: syllable.count - stepSamples, by: stepSamples).map {
            level(syllable[$0..<($0 + stepSamples)])
        }
        return (levels.min() ?? 0) / 4
    }()

    private var said = 0
    private var heard: [Int16] = []
    private var run = 0
    private var hasHeard = false
    /// The longest silence since the last ``listen()``, milliseconds.
    private(set) var longestGap = 0.0
    private var isListening = false

    /// Writes what is due until `milliseconds` of the call.
    mutating func speak(into ring: PCMRing, until milliseconds: Int) {
        while said < milliseconds * Self.rate / 1_000 {
            let start = said % Self.syllable.count
            let count = min(Self.syllable.count - start, milliseconds * Self.rate / 1_000 - said)
            Self.syllable[start..<(start + count)].withUnsafeBufferPointer { _ = ring.write($0) }
            said += count
        }
    }

    /// From now on gaps count.
    mutating func listen() {
        (isListening, longestGap) = (true, 0)
    }

    /// Takes what was played since.
    mutating func hear(from ring: PCMRing) {
        var chunk = [Int16](repeating: 0, count: Self.stepSamples)
        while ring.availableToRead > 0 {
            let count = chunk.withUnsafeMutableBufferPointer { ring.read(into: $0) }
            guard count > 0 else { return }
            heard += chunk[..<count]
            while heard.count >= Self.stepSamples {
                note(isSilent: Self.level(heard[..<Self.stepSamples]) < Self.silence)
                heard.removeFirst(Self.stepSamples)
            }
        }
    }

    private mutating func note(isSilent: Bool) {
        run = isSilent ? run + 1 : 0
        if isListening { longestGap = max(longestGap, Double(run) * 10) }
    }

    private static func level(_ samples: ArraySlice<Int16>) -> Double {
        (samples.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(max(1, samples.count))).squareRoot()
    }
}
