internal import Foundation

/// A buzz with the rhythm of syllables and without pauses: what `recover` says, so that a gap in it is a gap of the call.
enum SteadyVoice {
    /// Harmonics of 200 Hz; the fifth is the echo's marker and left out.
    private static let harmonics = [1, 2, 3, 4, 6, 7, 8]
    private static let fundamental = 200.0
    /// Syllables a second.
    private static let rhythm = 4.0
    private static let peak = 9_000.0
    /// Between syllables the level is this share of its peak.
    static let leastShare = 0.5
    /// RMS where it is lowest, of 32,768.
    static let leastLevel = 0.16 * peak * leastShare

    /// `seconds` of it, 48 kHz mono.
    static func samples(seconds: Double) -> [Int16] {
        let rate = Double(RecordingResampler.callSampleRate)
        // One syllable holds whole periods of every harmonic: it is made once.
        let syllable = (0..<Int(rate / rhythm)).map { index -> Int16 in
            let time = Double(index) / rate
            let wave = harmonics.reduce(0.0) { sum, harmonic in
                sum + sin(2 * .pi * fundamental * Double(harmonic) * time) / Double(harmonic)
            }
            let swell = (1 + leastShare) / 2 - (1 - leastShare) / 2 * cos(2 * .pi * rhythm * time)
            return Int16(peak * swell * wave / 2)
        }
        return (0..<Int(seconds * rate)).map { syllable[$0 % syllable.count] }
    }
}
