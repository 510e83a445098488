/// Finds the longest time without a voice in the echo of ``SteadyVoice``.
///
/// The echo has the gap of both directions, 300 ms apart: where both are silent it is up to 300 ms longer than either, and
/// what the jitter buffer conceals shortens it.
enum HeardGap {
    /// 10 ms.
    private static let stepSamples = 480
    /// A step is silent below this share of the voice's lowest level (−12 dB).
    private static let silentShare = 0.25

    /// Milliseconds, in steps of 10; nil when nothing was heard after `start` at all.
    ///
    /// - Parameters:
    ///   - samples: what came back since active, 48 kHz mono. Its end is no gap: the call is over there.
    ///   - start: milliseconds since active.
    static func longest(in samples: [Int16], after start: Double) -> Double? {
        let limit = SteadyVoice.leastLevel * Double(EchoProcessor.gain) * silentShare
        let first = max(0, Int(start) * RecordingResampler.callSampleRate / 1_000)
        guard first + stepSamples <= samples.count else { return nil }
        var longest = 0
        var run = 0
        for step in stride(from: first, through: samples.count - stepSamples, by: stepSamples) {
            let power = samples[step..<(step + stepSamples)].reduce(0.0) { $0 + Double($1) * Double($1) }
            if (power / Double(stepSamples)).squareRoot() < limit {
                run += 1
                longest = max(longest, run)
            } else {
                run = 0
            }
        }
        return Double(longest) * 10
    }
}
