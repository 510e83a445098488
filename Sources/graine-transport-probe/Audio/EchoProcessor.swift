internal import Foundation

/// The echo that `serve` and the self-test's endpoint answer with: what was heard, 300 ms late and 6 dB down, and a
/// 1 kHz marker at each full second since active, so that what comes back proves it went there.
///
/// Counts samples, reads no clock: the marker's phase goes on across the frames it falls into.
struct EchoProcessor: Sendable {
    static let sampleRate = 48_000
    /// 300 ms.
    static let delaySamples = 14_400
    /// −6 dB.
    static let gain = Float(0.501_187_2)
    static let markerFrequency = 1_000
    /// 50 ms: 50 whole periods, so it begins and ends at a zero crossing.
    static let markerSamples = 2_400
    /// −20 dBFS peak.
    static let markerPeak = Float(3_276.8)

    private var delayLine = [Int16](repeating: 0, count: EchoProcessor.delaySamples)
    private var position = 0
    /// Samples output since ``markActive()``; nil before.
    private var samplesSinceActive: Int?

    init() {}

    /// Starts the seconds of the marker: the first one comes one second from here.
    mutating func markActive() { samplesSinceActive = samplesSinceActive ?? 0 }

    /// Turns `frame` (48 kHz, mono, any length) into what is sent back in its place.
    mutating func process(_ frame: inout [Int16]) {
        for index in frame.indices {
            let delayed = delayLine[position]
            delayLine[position] = frame[index]
            position = position + 1 == delayLine.count ? 0 : position + 1
            let value = Float(delayed) * Self.gain + nextMarkerSample()
            frame[index] = Int16(max(-32_768, min(32_767, value.rounded())))
        }
    }

    private mutating func nextMarkerSample() -> Float {
        guard let count = samplesSinceActive else { return 0 }
        samplesSinceActive = count + 1
        let offset = count % Self.sampleRate
        guard count >= Self.sampleRate, offset < Self.markerSamples else { return 0 }
        return Self.markerPeak * Self.sineTable[offset % Self.sineTable.count]
    }

    /// One period of the marker: 48 samples.
    private static let sineTable: [Float] = (0..<(sampleRate / markerFrequency)).map {
        Float(sin(2 * Double.pi * Double($0 * markerFrequency) / Double(sampleRate)))
    }
}
