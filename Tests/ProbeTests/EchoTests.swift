import Foundation
import Testing

@testable import graine_transport_probe

@Suite struct EchoTests {
    /// Plays `speech` through the echo in frames of `frameSamples`.
    private func echo(_ speech: [Int16], frameSamples: Int = 960) -> [Int16] {
        var processor = EchoProcessor()
        processor.markActive()
        var output: [Int16] = []
        for start in stride(from: 0, to: speech.count, by: frameSamples) {
            var frame = Array(speech[start..<min(speech.count, start + frameSamples)])
            processor.process(&frame)
            output += frame
        }
        return output
    }

    @Test func anImpulseComesBackLateAndDown() {
        var input = [Int16](repeating: 0, count: 48_000)
        input[100] = 20_000
        let output = echo(input)
        #expect(output[14_500] == 10_024)
        #expect(output.enumerated().allSatisfy { $0.offset == 14_500 || $0.element == 0 })
    }

    @Test func theMarkerComesEachSecondUnscaledAndWhole() {
        let output = echo([Int16](repeating: 0, count: 48_000 * 3))
        #expect(output[..<48_000].allSatisfy { $0 == 0 })
        #expect(output[48_000..<50_400].map { abs(Int($0)) }.max() == 3_277)
        #expect(output[50_400..<96_000].allSatisfy { $0 == 0 })
        #expect(output[96_012] == 3_277)
    }

    @Test func theFrameSizeDoesNotMatter() throws {
        let speech = try SpeechSample.load()
        #expect(echo(speech, frameSamples: 960) == echo(speech, frameSamples: 331))
    }

    @Test func noMarkerBeforeActive() {
        var processor = EchoProcessor()
        var frame = [Int16](repeating: 0, count: 96_000)
        processor.process(&frame)
        #expect(frame.allSatisfy { $0 == 0 })
    }

    @Test func everyMarkerInSpeechIsHeard() throws {
        let returned = echo(try SpeechSample.load())
        let result = MarkerDetector.detect(in: returned)
        #expect(result.expected == 8)
        #expect(result.heard == 8)
        for (index, position) in result.positions.enumerated() {
            #expect(abs(position - (index + 1) * 48_000) <= 960)
        }
    }

    @Test func aDelayedEchoIsStillHeard() throws {
        let late = [Int16](repeating: 0, count: 4_800) + echo(try SpeechSample.load())
        let result = MarkerDetector.detect(in: late)
        #expect(result.expected >= 7 && result.heard == result.expected)
    }

    @Test func aMarkerThatWasLostIsMissed() throws {
        var returned = echo(try SpeechSample.load())
        for index in 143_000..<148_000 { returned[index] = 0 }
        let result = MarkerDetector.detect(in: returned)
        #expect(result.heard == result.expected - 1)
    }

    @Test func speechAloneHasNoMarkers() throws {
        let result = MarkerDetector.detect(in: try SpeechSample.load())
        #expect(result.heard <= 1)
        #expect(MarkerDetector.detect(in: []).expected == 0)
        #expect(MarkerDetector.detect(in: [Int16](repeating: 0, count: 200_000)).heard == 0)
    }
}

@Suite struct LevelCorrelationTests {
    private func echoed(_ speech: [Int16]) -> [Int16] {
        var processor = EchoProcessor()
        processor.markActive()
        var output = speech + [Int16](repeating: 0, count: 24_000)
        processor.process(&output)
        return output
    }

    private func compare(_ original: [Int16], _ returned: [Int16]) -> LevelCorrelation {
        ReturnedAudio(original: original, returned: returned).levels
    }

    @Test func aPerfectEchoCorrelates() throws {
        let speech = try SpeechSample.load()
        let result = compare(speech, echoed(speech))
        #expect(try #require(result.correlation) > 0.99)
        #expect(try #require(result.presentShare) > 0.99)
        #expect(abs(try #require(result.delayMilliseconds) - 300) <= 5)
        #expect(result.frameCount > 300)
    }

    @Test func aJumpInTheDelayIsFollowed() throws {
        let speech = try SpeechSample.load()
        var returned = echoed(speech)
        returned.insert(contentsOf: [Int16](repeating: 0, count: 4_800), at: 192_000)
        let result = compare(speech, returned)
        #expect(try #require(result.correlation) > 0.95)
    }

    @Test func missingSpeechIsMissing() throws {
        let speech = try SpeechSample.load()
        var returned = echoed(speech)
        for index in 120_000..<168_000 { returned[index] = 0 }
        let result = compare(speech, returned)
        #expect(try #require(result.presentShare) < 0.95)
        #expect(try #require(result.correlation) < 0.97)
    }

    @Test func otherSpeechDoesNotCorrelate() throws {
        let speech = try SpeechSample.load()
        let result = compare(speech, echoed(speech.reversed()))
        #expect(try #require(result.correlation) < 0.9)
    }

    /// 440 Hz at half scale.
    private func tone(seconds: Double, hertz: Double = 440) -> [Int16] {
        (0..<Int(seconds * 48_000)).map { Int16(16_000 * sin(2 * Double.pi * hertz * Double($0) / 48_000)) }
    }

    @Test(arguments: [1.0, 6.0]) func aSteadyToneHasNoCorrelationAndAllItsFrames(seconds: Double) throws {
        let result = compare(tone(seconds: seconds), echoed(tone(seconds: seconds)))
        #expect(result.correlation == nil && !result.levelVaries)
        #expect(try #require(result.presentShare) > 0.99 && result.longestGapMilliseconds == 0)
        #expect(abs(try #require(result.delayMilliseconds) - 300) <= 20)
    }

    @Test func aGapInASteadyToneIsFoundAndMeasured() throws {
        var returned = echoed(tone(seconds: 6))
        for index in 120_000..<129_600 { returned[index] = 0 }
        for index in 216_000..<220_800 { returned[index] = 0 }
        let result = compare(tone(seconds: 6), returned)
        #expect(try #require(result.presentShare) < 0.98)
        #expect(abs(try #require(result.longestGapMilliseconds) - 200) <= 20)
    }

    @Test func speechThatNeverCameBackIsMissing() throws {
        let speech = try SpeechSample.load()
        let result = compare(speech, echoed([Int16](repeating: 0, count: speech.count)))
        #expect(try #require(result.presentShare) < 0.1)
    }

    @Test func audioThatCoversTheMarkerIsKnown() throws {
        let covering = tone(seconds: 4, hertz: 1_000)
        #expect(ReturnedAudio(original: covering, returned: echoed(covering)).hidesMarkers)
        var lost = echoed(try SpeechSample.load())
        for index in 143_000..<148_000 { lost[index] = 0 }
        #expect(!ReturnedAudio(original: try SpeechSample.load(), returned: lost).hidesMarkers)
    }

    @Test func silenceAndNothingAreUnknown() throws {
        let speech = try SpeechSample.load()
        #expect(compare(speech, []).correlation == nil)
        #expect(compare([], speech).correlation == nil)
        #expect(compare([Int16](repeating: 0, count: 96_000), speech).presentShare == nil)
    }
}
