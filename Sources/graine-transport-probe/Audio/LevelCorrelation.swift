internal import Foundation

/// Compares what was said with what came back by its 20 ms levels, aligned second by second.
///
/// Two Opus codings leave little of a waveform (some 7 dB), but they keep the levels: so the levels are compared.
struct LevelCorrelation: Equatable, Sendable {
    /// Pearson correlation of the levels (RMS), −1 to 1; nil when nothing could be compared.
    var correlation: Double?
    /// Share of the original's audible frames that came back, 0 to 1.
    var presentShare: Double?
    /// Median delay over the seconds, milliseconds, the echo's 300 ms included.
    var delayMilliseconds: Double?
    /// Frames compared.
    var frameCount: Int

    private static let sampleRate = 48_000
    private static let frameSamples = 960
    /// Alignment steps of 2.5 ms.
    private static let stepSamples = 120
    private static let stepsPerFrame = frameSamples / stepSamples
    /// Delays that are looked at.
    static let longestDelayMilliseconds = 2_500
    /// How far a second's delay may be from the whole recording's.
    private static let driftSteps = 120
    /// Below −55 dBFS a frame of the original counts as silent.
    private static let audibleLevel = 32_768 * 0.001_778
    /// A frame is there if it has at least this share of the level expected (−12 dB) …
    private static let presentShareOfLevel = 0.25

    /// - Parameters:
    ///   - original: What was sent since active, 48 kHz mono.
    ///   - returned: What was heard since active, 48 kHz mono.
    ///   - markers: Where the echo's markers are in `returned`; frames they touch are left out.
    static func compare(original: [Int16], returned: [Int16], markers: [Int]) -> LevelCorrelation {
        let sent = SquareSums(original, step: stepSamples)
        let heard = SquareSums(returned, step: stepSamples)
        var result = LevelCorrelation(frameCount: 0)
        guard
            let whole = bestDelay(sent, heard, frames: 0..<(original.count / frameSamples), near: nil, markers: markers)
        else { return result }
        var pairs: [(sent: Double, heard: Double)] = []
        var delays: [Int] = []
        var audible = 0
        var present = 0
        let frameCount = original.count / frameSamples
        let framesPerSecond = sampleRate / frameSamples
        var delay = whole
        for first in stride(from: 0, to: frameCount, by: framesPerSecond) {
            let frames = first..<min(frameCount, first + framesPerSecond)
            delay = bestDelay(sent, heard, frames: frames, near: whole, markers: markers) ?? whole
            for frame in frames {
                let place = frame * stepsPerFrame + delay
                // What had not come back when the call ended cannot be missing.
                guard place + stepsPerFrame <= heard.stepCount else { continue }
                guard !touchesMarker(place, markers) else { continue }
                let level = sent.level(frame * stepsPerFrame, stepsPerFrame)
                let returnedLevel = heard.level(place, stepsPerFrame)
                pairs.append((level, returnedLevel))
                if level >= audibleLevel {
                    audible += 1
                    if returnedLevel >= level * Double(EchoProcessor.gain) * presentShareOfLevel { present += 1 }
                }
            }
            delays.append(delay)
        }
        result.frameCount = pairs.count
        result.correlation = pearson(pairs)
        result.presentShare = audible > 0 ? Double(present) / Double(audible) : nil
        result.delayMilliseconds = delays.isEmpty ? nil : Double(delays.sorted()[delays.count / 2]) * 2.5
        return result
    }

    /// The delay in steps at which the levels of `frames` correlate best; nil when there is nothing to go by.
    private static func bestDelay(
        _ sent: SquareSums, _ heard: SquareSums, frames: Range<Int>, near: Int?, markers: [Int]
    ) -> Int? {
        let longest = longestDelayMilliseconds * 2 / 5
        let range = near.map { max(0, $0 - driftSteps)...min(longest, $0 + driftSteps) } ?? 0...longest
        let levels = frames.map { sent.level($0 * stepsPerFrame, stepsPerFrame) }
        guard levels.contains(where: { $0 >= audibleLevel }) else { return nil }
        var best: (delay: Int, score: Double)?
        for delay in range {
            var pairs: [(sent: Double, heard: Double)] = []
            pairs.reserveCapacity(levels.count)
            for (index, frame) in frames.enumerated() {
                let place = frame * stepsPerFrame + delay
                guard place + stepsPerFrame <= heard.stepCount else { break }
                guard !touchesMarker(place, markers) else { continue }
                pairs.append((levels[index], heard.level(place, stepsPerFrame)))
            }
            guard pairs.count >= min(20, frames.count / 2), let score = pearson(pairs) else { continue }
            if score > best?.score ?? -2 { best = (delay, score) }
        }
        return best?.delay
    }

    /// Whether the frame at `step` of the returned audio overlaps a marker (and 10 ms around it).
    private static func touchesMarker(_ step: Int, _ markers: [Int]) -> Bool {
        let start = step * stepSamples
        return markers.contains {
            start + frameSamples > $0 - 480 && start < $0 + EchoProcessor.markerSamples + 480
        }
    }

    private static func pearson(_ pairs: [(sent: Double, heard: Double)]) -> Double? {
        guard pairs.count >= 3 else { return nil }
        let n = Double(pairs.count)
        var (sumX, sumY, sumXX, sumYY, sumXY) = (0.0, 0.0, 0.0, 0.0, 0.0)
        for (x, y) in pairs {
            sumX += x
            sumY += y
            sumXX += x * x
            sumYY += y * y
            sumXY += x * y
        }
        let spread = (n * sumXX - sumX * sumX) * (n * sumYY - sumY * sumY)
        guard spread > 0 else { return nil }
        return (n * sumXY - sumX * sumY) / spread.squareRoot()
    }
}

/// Running sums of squares at every step, so that a level of any place costs two look-ups.
private struct SquareSums {
    let stepCount: Int
    private let step: Int
    private let sums: [Double]

    init(_ samples: [Int16], step: Int) {
        self.step = step
        stepCount = samples.count / step
        var sums = [0.0]
        sums.reserveCapacity(stepCount + 1)
        var total = 0.0
        for index in 0..<stepCount {
            for sample in samples[(index * step)..<((index + 1) * step)] { total += Double(sample) * Double(sample) }
            sums.append(total)
        }
        self.sums = sums
    }

    /// RMS of `count` steps from `start` on.
    func level(_ start: Int, _ count: Int) -> Double {
        max(0, (sums[start + count] - sums[start]) / Double(count * step)).squareRoot()
    }
}
