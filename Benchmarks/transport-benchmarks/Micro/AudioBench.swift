internal import ICELite
internal import Transport

/// An Opus encoder and decoder, a jitter buffer, and a second of something like a voice.
final class AudioBench {
    private var encoder: OpusEncoder
    private var decoder: OpusDecoder
    private var jitter = FixedDelayJitterBuffer()
    private let samples: [Int16]
    private let packets: [[UInt8]]
    private let output = UnsafeMutableBufferPointer<Int16>.allocate(capacity: AudioFormat.maximumPacketSampleCount)
    private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 1_500, alignment: 16)
    private var frame = 0
    private var now = Instant(nanoseconds: 1_000_000_000)

    init() throws(OpusError) {
        encoder = try OpusEncoder()
        decoder = try OpusDecoder()
        // A saw-tooth of 140 Hz that swells and falls, with some noise.
        var random = Randomness.seeded(1)
        samples = (0..<AudioFormat.sampleRate).map { index in
            let tone = (index * 140 % AudioFormat.sampleRate) * 12_000 / AudioFormat.sampleRate - 6_000
            let swell = abs(index * 8 % AudioFormat.sampleRate - AudioFormat.sampleRate / 2)
            return Int16(tone * swell / (AudioFormat.sampleRate / 2) + Int(random.next() % 400) - 200)
        }
        output.initialize(repeating: 0)
        packets = try Self.encode(samples, with: OpusEncoder(), room)
    }

    deinit {
        output.deallocate()
        room.deallocate()
    }

    private static func encode(
        _ samples: [Int16], with encoder: consuming OpusEncoder, _ room: UnsafeMutableRawBufferPointer
    ) throws(OpusError) -> [[UInt8]] {
        var packets: [[UInt8]] = []
        for frame in 0..<(samples.count / AudioFormat.frameSampleCount) {
            packets.append(Array(room[..<(try Self.encode(samples, frame, &encoder, room))]))
        }
        return packets
    }

    private static func encode(
        _ samples: [Int16], _ frame: Int, _ encoder: inout OpusEncoder, _ room: UnsafeMutableRawBufferPointer
    ) throws(OpusError) -> Int {
        var count = 0
        var failure: OpusError?
        samples.withUnsafeBufferPointer { all in
            let start = frame * AudioFormat.frameSampleCount
            let pcm = UnsafeBufferPointer(rebasing: all[start..<(start + AudioFormat.frameSampleCount)])
            var out = OutputRawSpan(buffer: room, initializedCount: 0)
            do throws(OpusError) { count = try encoder.encode(pcm, into: &out) } catch { failure = error }
            _ = out.finalize(for: room)
        }
        if let failure { throw failure }
        return count
    }

    func encodeFrame() {
        frame = (frame + 1) % packets.count
        _ = try? Self.encode(samples, frame, &encoder, room)
    }

    func decodeFrame() {
        frame = (frame + 1) % packets.count
        let packet = packets[frame]
        _ = try? decoder.decode(packet.span.bytes, into: output)
    }

    /// 20 ms of a call: a packet in, two pulls of 10 ms out.
    func jitterFrame() {
        frame += 1
        let stamp = AudioPacketStamp(
            sequence: SequenceNumber(UInt16(truncatingIfNeeded: frame)),
            timestamp: UInt32(truncatingIfNeeded: frame &* AudioFormat.frameSampleCount), marker: frame == 1,
            carriage: .path)
        let packet = packets[frame % packets.count]
        _ = jitter.insert(packet.span.bytes, as: stamp, now: now)
        let half = UnsafeMutableBufferPointer(rebasing: output[..<AudioFormat.pullSampleCount])
        for _ in 0..<2 {
            _ = jitter.pull(into: half, decoder: &decoder, now: now)
            now = now + .milliseconds(10)
        }
    }
}
