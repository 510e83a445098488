import Foundation
import Testing

@testable import TransportMedia

@Suite("PCM ring") struct PCMRingTests {
    @Test("What does not fit is refused and counted, what is not there is missed") func bounds() {
        let ring = PCMRing(minimumCapacity: 1_000)
        #expect(ring.capacity == 1_024 && ring.availableToWrite == 1_024)
        let taken = Sound.sine(count: 1_500).withUnsafeBufferPointer { ring.write($0) }
        #expect(taken == 1_024 && ring.droppedSamples == 476 && ring.availableToRead == 1_024)
        var output = [Int16](repeating: 7, count: 2_000)
        let read = output.withUnsafeMutableBufferPointer { ring.read(into: $0) }
        #expect(read == 1_024 && ring.missedSamples == 976 && output[1_024] == 7)
        #expect(Array(output[..<1_024]) == Sound.sine(count: 1_024))
    }

    @Test("Two threads: every sample once, in order, across many turns") func twoThreads() {
        let ring = PCMRing(minimumCapacity: 2_048)
        let total = 960 * 3_000
        let writer = Thread {
            var sent = 0
            var block = [Int16](repeating: 0, count: 960)
            while sent < total {
                for index in 0..<960 { block[index] = Int16(truncatingIfNeeded: sent + index) }
                var offset = 0
                while offset < 960 {
                    let count = min(960 - offset, ring.availableToWrite)
                    if count == 0 { continue }
                    offset += block[offset..<(offset + count)].withUnsafeBufferPointer { ring.write($0) }
                }
                sent += 960
            }
        }
        writer.start()
        var received = 0
        var isInOrder = true
        var block = [Int16](repeating: 0, count: 480)
        while received < total {
            if ring.availableToRead == 0 { continue }
            let count = block.withUnsafeMutableBufferPointer { ring.read(into: $0) }
            for index in 0..<count where block[index] != Int16(truncatingIfNeeded: received + index) {
                isInOrder = false
            }
            received += count
        }
        #expect(isInOrder && ring.droppedSamples == 0 && ring.availableToRead == 0)
    }

    @Test("Discarding empties the ring") func discard() {
        let ring = PCMRing(minimumCapacity: 64)
        _ = Sound.sine(count: 40).withUnsafeBufferPointer { ring.write($0) }
        #expect(ring.discardAll() == 40 && ring.availableToRead == 0)
    }
}

@Suite("Resampler") struct ResamplerTests {
    private func run(_ resampler: inout Resampler, _ input: [Int16], channels: Int = 1, block: Int) -> [Int16] {
        var result: [Int16] = []
        var start = 0
        while start < input.count {
            let end = min(input.count, start + block)
            var output = [Int16](
                repeating: 0, count: resampler.outputFramesAtMost(for: end - start) * channels)
            let frames = input[start..<end].withUnsafeBufferPointer { source in
                output.withUnsafeMutableBufferPointer { resampler.process(source, into: $0) }
            }
            result += output[..<(frames * channels)]
            start = end
        }
        return result
    }

    @Test(
        "A tone keeps its level and its place at every rate",
        arguments: [8_000, 11_025, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000])
    func rates(rate: Int) {
        for (from, to) in [(rate, 48_000), (48_000, rate)] {
            var resampler = Resampler(inputRate: from, outputRate: to)
            let made = run(&resampler, Sound.sine(count: from, rate: Double(from)), block: from / 100)
            #expect(abs(made.count - to) <= 400)
            let middle = made[(to / 4)..<(3 * to / 4)]
            #expect(abs(Sound.rms(middle) / (8_000 / 2.0.squareRoot()) - 1) < 0.02, "\(from) → \(to)")
            // What is left after the best-fitting tone of the same frequency is taken out.
            var sine = 0.0
            var cosine = 0.0
            for (index, value) in middle.enumerated() {
                let angle = 2 * Double.pi * 440 * Double(index) / Double(to)
                sine += Double(value) * sin(angle) * 2 / Double(middle.count)
                cosine += Double(value) * cos(angle) * 2 / Double(middle.count)
            }
            var rest = 0.0
            for (index, value) in middle.enumerated() {
                let angle = 2 * Double.pi * 440 * Double(index) / Double(to)
                let error = Double(value) - sine * sin(angle) - cosine * cos(angle)
                rest += error * error
            }
            let noise = (rest / Double(middle.count)).squareRoot() / Sound.rms(middle)
            #expect(noise < 0.005, "\(from) → \(to)")
        }
    }

    @Test("Blocks of any size give the same samples") func streaming() {
        let input = Sound.sine(1_000, count: 44_100, rate: 44_100)
        var whole = Resampler(inputRate: 44_100, outputRate: 48_000)
        var pieces = Resampler(inputRate: 44_100, outputRate: 48_000)
        #expect(run(&whole, input, block: 44_100) == run(&pieces, input, block: 37))
    }

    @Test("What the lower rate cannot hold is taken away") func aliasing() {
        var resampler = Resampler(inputRate: 48_000, outputRate: 8_000)
        let made = run(&resampler, Sound.sine(6_000, count: 48_000), block: 480)
        #expect(Sound.rms(made[2_000...]) < 30)
    }

    @Test("Stereo is averaged in and doubled out") func stereo() {
        var resampler = Resampler(inputRate: 48_000, inputChannels: 2, outputRate: 48_000, outputChannels: 2)
        let mono = Sound.sine(count: 9_600)
        let made = run(&resampler, mono.flatMap { [$0, 0] }, channels: 2, block: 960)
        #expect(stride(from: 0, to: made.count, by: 2).allSatisfy { made[$0] == made[$0 + 1] })
        #expect(abs(Sound.rms(made[4_000...]) / Sound.rms(mono) - 0.5) < 0.02)
    }
}
