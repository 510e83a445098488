import TransportRuntime

/// Changes the rate and the channels of a stream of 16-bit PCM: a windowed-sinc polyphase filter, mono inside.
///
/// Stereo in is averaged, stereo out gets the same in both channels. Latency is half the filter: 16 periods of the lower
/// rate. Processing does not allocate. Confined to one owner.
package struct Resampler: ~Copyable {
    /// Zero crossings of the sinc on each side.
    static let halfCrossings = 16
    /// Phases of the filter at most; rates that would need more use the nearest phase.
    static let maximumPhaseCount = 1_024
    /// Frames (samples a channel) that are taken in at once.
    static let blockFrameCount = 1_024

    /// Frames a second that go in, 8,000…48,000.
    package let inputRate: Int
    /// Frames a second that come out, 8,000…48,000.
    package let outputRate: Int
    private let inputChannels: Int
    private let outputChannels: Int
    private let up: Int
    private let down: Int
    private let phaseCount: Int
    private let tapCount: Int
    private let taps: UnsafeMutablePointer<Float>
    private let history: UnsafeMutablePointer<Float>
    private var held: Int
    private var phase = 0

    /// A resampler from `inputRate` to `outputRate` Hz (both 8,000…48,000), interleaved, with 1 or 2 channels each.
    package init(inputRate: Int, inputChannels: Int = 1, outputRate: Int, outputChannels: Int = 1) {
        precondition((8_000...48_000).contains(inputRate), "input rate is 8,000…48,000 Hz")
        precondition((8_000...48_000).contains(outputRate), "output rate is 8,000…48,000 Hz")
        precondition((1...2).contains(inputChannels) && (1...2).contains(outputChannels), "one or two channels")
        self.inputRate = inputRate
        self.outputRate = outputRate
        self.inputChannels = inputChannels
        self.outputChannels = outputChannels
        var divisor = inputRate
        var rest = outputRate
        while rest != 0 { (divisor, rest) = (rest, divisor % rest) }
        up = outputRate / divisor
        down = inputRate / divisor
        phaseCount = min(up, Self.maximumPhaseCount)
        // Below the lower of both Nyquist frequencies; in cycles an input sample.
        let cutoff = 0.5 * min(1, Double(outputRate) / Double(inputRate)) * 0.94
        let half = Int((Double(Self.halfCrossings) * max(1, Double(inputRate) / Double(outputRate))).rounded(.up))
        tapCount = 2 * half
        taps = .allocate(capacity: phaseCount * tapCount)
        for phase in 0..<phaseCount {
            let fraction = Double(phase) / Double(phaseCount)
            var sum = 0.0
            for tap in 0..<tapCount {
                let distance = Double(tap - half + 1) - fraction
                let angle = 2 * Double.pi * cutoff * distance
                let sinc = abs(angle) < 1e-9 ? 1 : ElementaryFunctions.sine(angle) / angle
                let place = min(max(distance / Double(half), -1), 1)
                let window =
                    0.42 + 0.5 * ElementaryFunctions.cosine(Double.pi * place) + 0.08
                    * ElementaryFunctions.cosine(2 * Double.pi * place)
                (taps + phase * tapCount + tap).initialize(to: Float(sinc * window))
                sum += sinc * window
            }
            // Each phase passes a constant unchanged.
            for tap in 0..<tapCount { taps[phase * tapCount + tap] /= Float(sum) }
        }
        history = .allocate(capacity: tapCount + Self.blockFrameCount)
        history.initialize(repeating: 0, count: tapCount + Self.blockFrameCount)
        held = tapCount - 1
    }

    deinit {
        taps.deallocate()
        history.deallocate()
    }

    /// Frames of output that `inputFrames` more frames can make at most: the room to offer.
    package func outputFramesAtMost(for inputFrames: Int) -> Int { inputFrames * up / down + 2 }

    /// Takes in all of `input` and writes what it makes.
    ///
    /// - Parameters:
    ///   - input: whole frames, interleaved, at the input rate.
    ///   - output: room for `outputFramesAtMost(for:)` frames, interleaved, at the output rate.
    /// - Returns: frames written. Does not allocate.
    package mutating func process(
        _ input: UnsafeBufferPointer<Int16>, into output: UnsafeMutableBufferPointer<Int16>
    ) -> Int {
        let frames = input.count / inputChannels
        precondition(
            output.count / outputChannels >= outputFramesAtMost(for: frames), "too little room for the resampled frames"
        )
        var taken = 0
        var made = 0
        while taken < frames {
            let count = min(Self.blockFrameCount, frames - taken, tapCount + Self.blockFrameCount - held)
            for frame in taken..<(taken + count) {
                let value =
                    inputChannels == 1
                    ? Float(input[frame]) : (Float(input[2 * frame]) + Float(input[2 * frame + 1])) * 0.5
                history[held] = value
                held += 1
            }
            taken += count
            made = drain(into: output, from: made)
        }
        return made
    }

    private mutating func drain(into output: UnsafeMutableBufferPointer<Int16>, from already: Int) -> Int {
        var made = already
        var start = 0
        while start + tapCount <= held {
            let row = taps + (phaseCount == up ? phase : phase * phaseCount / up) * tapCount
            var sum: Float = 0
            for tap in 0..<tapCount { sum += history[start + tap] * row[tap] }
            let sample = Int16(min(max(sum.rounded(), -32_768), 32_767))
            for channel in 0..<outputChannels { output[made * outputChannels + channel] = sample }
            made += 1
            phase += down
            start += phase / up
            phase %= up
        }
        // A step is shorter than the filter, so the next output begins inside what is held.
        history.update(from: history + start, count: held - start)
        held -= start
        return made
    }
}
