internal import Foundation

/// Brings a whole recording to 48 kHz: a windowed sinc, read from a finely divided table. Not for the packet path.
enum RecordingResampler {
    /// The rate of every call.
    static let callSampleRate = 48_000

    /// Zero crossings of the sinc on each side.
    private static let halfWidth = 16
    /// Table entries between two input samples; between them the table is interpolated linearly.
    private static let phaseCount = 512
    /// Band edge as a share of the input's Nyquist frequency: the rest is the filter's slope.
    private static let bandEdge = 0.95

    /// 16-bit mono at 48 kHz, as long as `samples` to the nearest sample.
    ///
    /// - Parameter sampleRate: 8,000 to 48,000.
    static func callSamples(_ samples: [Float], sampleRate: Int) -> [Int16] {
        precondition(sampleRate > 0 && sampleRate <= callSampleRate, "this resampler only goes up to 48 kHz")
        guard sampleRate != callSampleRate else { return samples.map(quantize) }
        let table = kernel
        let count = (samples.count * callSampleRate + sampleRate / 2) / sampleRate
        let step = Double(sampleRate) / Double(callSampleRate)
        var output: [Int16] = []
        output.reserveCapacity(count)
        for index in 0..<count {
            let position = Double(index) * step
            let centre = Int(position)
            var sum: Float = 0
            for tap in max(0, centre - halfWidth + 1)...max(0, min(samples.count - 1, centre + halfWidth)) {
                let distance = abs(position - Double(tap)) * Double(phaseCount)
                let entry = Int(distance)
                guard entry + 1 < table.count else { continue }
                let fraction = Float(distance - Double(entry))
                sum += samples[tap] * (table[entry] + (table[entry + 1] - table[entry]) * fraction)
            }
            output.append(quantize(sum))
        }
        return output
    }

    /// −1…1 to 16 bits, clipped. −32,768 stays out of reach except by a sample of −1 itself.
    static func quantize(_ sample: Float) -> Int16 {
        let scaled = (sample * 32_768).rounded()
        return Int16(max(-32_768, min(32_767, scaled)))
    }

    /// One half of a Blackman-windowed sinc, `halfWidth` × `phaseCount` + 1 entries.
    private static let kernel: [Float] = (0...(halfWidth * phaseCount)).map { entry in
        let x = Double(entry) / Double(phaseCount)
        let angle = Double.pi * x * bandEdge
        let sinc = entry == 0 ? 1 : sin(angle) / angle
        let w = Double.pi * x / Double(halfWidth)
        return Float(bandEdge * sinc * (0.42 + 0.5 * cos(w) + 0.08 * cos(2 * w)))
    }
}

extension WAVFile {
    /// The recording as a call takes it: 48 kHz, mono, 16 bit.
    var callSamples: [Int16] { RecordingResampler.callSamples(samples, sampleRate: sampleRate) }
}
