internal import Foundation

/// Looks for the echo's marker (1 kHz, 50 ms, each second) in what came back.
struct MarkerDetector: Sendable {
    /// What was found.
    struct Result: Equatable, Sendable {
        /// Markers that were due within the recording.
        var expected: Int
        /// Those of them that were heard.
        var heard: Int
        /// Sample positions of those heard (their beginning, to about 10 ms).
        var positions: [Int]
    }

    private static let sampleRate = EchoProcessor.sampleRate
    /// 40 ms: neighbours at ±60 Hz fall outside the Hann window's main lobe.
    private static let windowSamples = 1_920
    /// 10 ms.
    private static let hopSamples = 480
    private static let hopsPerSecond = sampleRate / hopSamples
    /// How far from its second a marker may be: a jitter buffer that stretches moves it.
    private static let toleranceHops = 8
    /// Least and greatest share of the sent amplitude that counts.
    private static let amplitudeRange = 0.45...2.2
    /// The mean of the neighbours' amplitudes must stay below this share of the marker's.
    private static let neighbourShare = 0.6
    /// 70 ms before and after a burst its amplitude must have fallen below this share: a vowel lasts longer.
    private static let outsideShare = 0.6
    private static let outsideHops = 7

    /// - Parameters:
    ///   - samples: What came back, 48 kHz mono, from the client's active on.
    /// - Returns: `expected` counts the markers of second 1, 2, … at the phase that fits best; a recording too short
    ///   for one expects none.
    static func detect(in samples: [Int16]) -> Result {
        let scores = markerScores(samples)
        guard !scores.isEmpty else { return Result(expected: 0, heard: 0, positions: []) }
        let phase = bestPhase(scores)
        var result = Result(expected: 0, heard: 0, positions: [])
        var drift = 0
        var second = 1
        while true {
            let due = second * hopsPerSecond + phase
            // Due if the whole burst and its tolerance would fit.
            guard due * hopSamples + EchoProcessor.markerSamples + toleranceHops * hopSamples <= samples.count else {
                break
            }
            result.expected += 1
            let centre = due + drift
            let low = max(0, centre - toleranceHops)
            let high = min(scores.count - 1, centre + toleranceHops)
            if low <= high, let best = (low...high).max(by: { scores[$0] < scores[$1] }), scores[best] > 0 {
                result.heard += 1
                result.positions.append(max(0, best * hopSamples - (EchoProcessor.markerSamples - windowSamples) / 2))
                drift = best - due
            }
            second += 1
        }
        return result
    }

    /// For each hop the marker's amplitude as a share of the one sent, or 0 where there is no marker.
    private static func markerScores(_ samples: [Int16]) -> [Double] {
        guard samples.count >= windowSamples else { return [] }
        let window = (0..<windowSamples).map { 0.5 - 0.5 * cos(2 * Double.pi * Double($0) / Double(windowSamples)) }
        let sent = Double(EchoProcessor.markerPeak)
        let shares = (0...((samples.count - windowSamples) / hopSamples)).map {
            amplitude(samples, $0 * hopSamples, window, 1_000) / sent
        }
        return shares.indices.map { hop in
            let share = shares[hop]
            guard amplitudeRange.contains(share) else { return 0 }
            for outside in [hop - outsideHops, hop + outsideHops] where shares.indices.contains(outside) {
                guard shares[outside] < share * outsideShare else { return 0 }
            }
            let start = hop * hopSamples
            let neighbours = [880.0, 940, 1_060, 1_120].map { amplitude(samples, start, window, $0) / sent }
            let mean = neighbours.reduce(0, +) / Double(neighbours.count)
            return mean < share * neighbourShare ? min(share, 1) : 0
        }
    }

    /// Goertzel: the amplitude of `frequency` in one window.
    private static func amplitude(_ samples: [Int16], _ start: Int, _ window: [Double], _ frequency: Double) -> Double {
        let coefficient = 2 * cos(2 * Double.pi * frequency / Double(sampleRate))
        var previous = 0.0
        var beforeThat = 0.0
        for index in 0..<windowSamples {
            let value = Double(samples[start + index]) * window[index] + coefficient * previous - beforeThat
            beforeThat = previous
            previous = value
        }
        let power = previous * previous + beforeThat * beforeThat - coefficient * previous * beforeThat
        // A Hann window halves the sum; a sine of amplitude A gives A × n / 2 × 1/2.
        return power.squareRoot() * 4 / Double(windowSamples)
    }

    /// The offset within a second, in hops, at which the markers of all seconds together score best.
    private static func bestPhase(_ scores: [Double]) -> Int {
        var sums = [Double](repeating: 0, count: hopsPerSecond)
        for (hop, score) in scores.enumerated() where hop >= hopsPerSecond { sums[hop % hopsPerSecond] += score }
        // Smoothed over ±30 ms, as jitter moves single bursts.
        let smooth = sums.indices.map { centre in
            (-3...3).reduce(0.0) { $0 + sums[(centre + $1 + hopsPerSecond) % hopsPerSecond] }
        }
        return smooth.indices.max { smooth[$0] < smooth[$1] } ?? 0
    }
}
