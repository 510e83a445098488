internal import Foundation

/// Compares what was said with what came back by its 20 ms levels, aligned second by second.
///
/// Two Opus codings leave little of a waveform (some 7 dB), but they keep the levels: so the levels are compared.
struct LevelCorrelation: Equatable, Sendable {
    /// Pearson correlation of the levels (RMS), −1 to 1; nil when nothing could be compared, and where the original's level
    /// does not vary: then it says nothing.
    var correlation: Double?
    /// Whether the original's level varies enough to be recognised; a steady tone's does not.
    var levelVaries = true
    /// Share of the original's audible frames that came back, 0 to 1.
    var presentShare: Double?
    /// Audible frames that did not come back.
    var missingCount = 0
    /// Median delay over the seconds, milliseconds, the echo's 300 ms included.
    var delayMilliseconds: Double?
    /// The longest run of audible frames that did not come back, milliseconds; nil when none could be compared.
    var longestGapMilliseconds: Double?
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
    /// From this ratio of standard deviation to mean on a level varies. A tone's 20 ms levels stay below 0.02, speech is
    /// near 1.
    private static let leastVariation = 0.1

    /// - Parameters:
    ///   - original: What was sent since active, 48 kHz mono.
    ///   - returned: What was heard since active, 48 kHz mono.
    ///   - markers: Where the echo's markers are in `returned`; frames they touch are left out.
    static func compare(original: [Int16], returned: [Int16], markers: [Int]) -> LevelCorrelation {
        let sent = SquareSums(original, step: stepSamples)
        let heard = SquareSums(returned, step: stepSamples)
        var result = LevelCorrelation(frameCount: 0)
        let frameCount = original.count / frameSamples
        result.levelVaries = varies((0..<frameCount).map { sent.level($0 * stepsPerFrame, stepsPerFrame) })
        let correlated =
            result.levelVaries
            ? bestDelay(sent, heard, frames: 0..<frameCount, near: nil, markers: markers) : nil
        guard
            let whole = correlated ?? delayOfPresence(sent, heard, frameCount: frameCount, markers: markers)
        else { return result }
        var pairs: [(sent: Double, heard: Double)] = []
        var delays: [Int] = []
        var audible = 0
        var present = 0
        var gap = 0
        var longestGap = 0
        let framesPerSecond = sampleRate / frameSamples
        var delay = whole
        for first in stride(from: 0, to: frameCount, by: framesPerSecond) {
            let frames = first..<min(frameCount, first + framesPerSecond)
            if correlated != nil {
                delay = bestDelay(sent, heard, frames: frames, near: whole, markers: markers) ?? whole
            }
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
                    let isPresent = isPresent(returnedLevel, of: level)
                    if isPresent { present += 1 }
                    gap = isPresent ? 0 : gap + 1
                    longestGap = max(longestGap, gap)
                }
            }
            delays.append(delay)
        }
        result.frameCount = pairs.count
        result.correlation = result.levelVaries ? pearson(pairs) : nil
        result.presentShare = audible > 0 ? Double(present) / Double(audible) : nil
        result.missingCount = audible - present
        result.longestGapMilliseconds = audible > 0 ? Double(longestGap) * 20 : nil
        result.delayMilliseconds = delays.isEmpty ? nil : Double(delays.sorted()[delays.count / 2]) * 2.5
        return result
    }

    /// The delay in steps at which most frames are there, the longest of several: it needs no level that varies. Before it
    /// the beginning is missing, after it the end. Nil when the original is silent.
    private static func delayOfPresence(
        _ sent: SquareSums, _ heard: SquareSums, frameCount: Int, markers: [Int]
    ) -> Int? {
        let levels = (0..<frameCount).map { sent.level($0 * stepsPerFrame, stepsPerFrame) }
        guard levels.contains(where: { $0 >= audibleLevel }) else { return nil }
        var best = (delay: 0, count: -1)
        for delay in 0...(longestDelayMilliseconds * 2 / 5) {
            var count = 0
            for (frame, level) in levels.enumerated() where level >= audibleLevel {
                let place = frame * stepsPerFrame + delay
                guard place + stepsPerFrame <= heard.stepCount else { break }
                guard !touchesMarker(place, markers) else { continue }
                if isPresent(heard.level(place, stepsPerFrame), of: level) { count += 1 }
            }
            if count >= best.count { best = (delay, count) }
        }
        return best.count > 0 ? best.delay : 0
    }

    private static func isPresent(_ heard: Double, of sent: Double) -> Bool {
        heard >= sent * Double(EchoProcessor.gain) * presentShareOfLevel
    }

    /// Whether the ratio of standard deviation to mean reaches ``leastVariation``.
    private static func varies(_ levels: [Double]) -> Bool {
        guard !levels.isEmpty else { return false }
        let mean = levels.reduce(0, +) / Double(levels.count)
        let variance = levels.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(levels.count)
        return mean > 0 && variance.squareRoot() >= leastVariation * mean
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
        let (spreadX, spreadY) = (n * sumXX - sumX * sumX, n * sumYY - sumY * sumY)
        // Without variance the differences are rounding.
        guard spreadX > 1e-9 * n * sumXX, spreadY > 1e-9 * n * sumYY else { return nil }
        return (n * sumXY - sumX * sumY) / (spreadX * spreadY).squareRoot()
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
