import Foundation
import ICELite
import Testing

@testable import TransportMedia

/// Sound to test with.
enum Sound {
    /// `count` samples of a sine of `frequency` Hz at `rate` Hz, from sample `start` on.
    static func sine(
        _ frequency: Double = 440, count: Int, from start: Int = 0, rate: Double = 48_000, amplitude: Double = 8_000
    ) -> [Int16] {
        (0..<count).map { Int16(amplitude * sin(2 * .pi * frequency * Double(start + $0) / rate)) }
    }

    static func rms(_ pcm: some Collection<Int16>) -> Double {
        pcm.isEmpty ? 0 : (pcm.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(pcm.count)).squareRoot()
    }
}

@Suite("Opus") struct OpusTests {
    private func encode(_ encoder: inout OpusEncoder, _ pcm: [Int16]) throws -> [UInt8] {
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 1_500, alignment: 16)
        defer { room.deallocate() }
        var out = OutputRawSpan(buffer: room, initializedCount: 0)
        let count = try pcm.withUnsafeBufferPointer { try encoder.encode($0, into: &out) }
        #expect(out.byteCount == count)
        return Array(room[..<out.finalize(for: room)])
    }

    private func decode(_ decoder: inout OpusDecoder, _ packet: [UInt8], room: Int = 5_760) throws -> [Int16] {
        let pcm = UnsafeMutableBufferPointer<Int16>.allocate(capacity: room)
        defer { pcm.deallocate() }
        return Array(pcm[..<(try decoder.decode(packet.span.bytes, into: pcm))])
    }

    @Test("A tone comes through with its level, at about the rate asked for") func roundTrip() throws {
        var encoder = try OpusEncoder()
        var decoder = try OpusDecoder()
        var heard: [Int16] = []
        var bytes = 0
        for frame in 0..<100 {
            let packet = try encode(&encoder, Sound.sine(count: 960, from: frame * 960))
            let count = OpusDecoder.sampleCount(of: packet.span.bytes)
            #expect(count == 960)
            bytes += packet.count
            heard += try decode(&decoder, packet)
        }
        #expect(heard.count == 96_000)
        #expect(abs(Sound.rms(heard[48_000...]) / Sound.rms(Sound.sine(count: 48_000)) - 1) < 0.1)
        #expect((12_000...36_000).contains(bytes * 8 / 2))
    }

    @Test("Concealment fills exactly what is missing, and fades") func concealment() throws {
        var encoder = try OpusEncoder()
        var decoder = try OpusDecoder()
        for frame in 0..<20 { _ = try decode(&decoder, encode(&encoder, Sound.sine(count: 960, from: frame * 960))) }
        var levels: [Double] = []
        let pcm = UnsafeMutableBufferPointer<Int16>.allocate(capacity: 480)
        defer { pcm.deallocate() }
        for _ in 0..<20 {
            try decoder.conceal(into: pcm)
            levels.append(Sound.rms(pcm))
        }
        #expect(levels[0] > 1_000 && levels[19] < 50)
        let odd = UnsafeMutableBufferPointer(rebasing: pcm[..<479])
        #expect(throws: OpusError.badFrameSize) { try decoder.conceal(into: odd) }
    }

    @Test("Garbage is an error of its own and the decoder goes on") func garbage() throws {
        var encoder = try OpusEncoder()
        var decoder = try OpusDecoder()
        var randomness = Randomness.seeded(4)
        for _ in 0..<3_000 {
            let junk = randomness.bytes(Int.random(in: 0...200, using: &randomness))
            let claimed = OpusDecoder.sampleCount(of: junk.span.bytes)
            let made = try? decode(&decoder, junk).count
            if let claimed { #expect((120...5_760).contains(claimed) && (made == nil || made == claimed)) }
        }
        #expect(throws: OpusError.invalidPacket) { _ = try decode(&decoder, []) }
        let packet = try encode(&encoder, Sound.sine(count: 960))
        #expect(throws: OpusError.badFrameSize) { _ = try decode(&decoder, packet, room: 480) }
        let heard = try decode(&decoder, packet)
        #expect(heard.count == 960)
    }

    @Test("RTP-28: the duration of every kind of packet is known") func durations() throws {
        struct Row: Decodable {
            var name: String
            var packet: String
            var samples48k: Int
        }
        for row in try RTPVectors.json("RTP-28.json", as: [Row].self) {
            let bytes = RTPVectors.bytes(hex: row.packet)
            let count = OpusDecoder.sampleCount(of: bytes.span.bytes)
            #expect(count == row.samples48k, "\(row.name)")
        }
    }

    @Test("Settings out of range are refused and the old ones stay") func settings() throws {
        var encoder = try OpusEncoder()
        #expect(throws: OpusError.badSetting) { try encoder.change(OpusEncoderSettings(bitsPerSecond: 100)) }
        #expect(throws: OpusError.badSetting) { _ = try OpusEncoder(OpusEncoderSettings(complexity: 11)) }
        #expect(encoder.settings.bitsPerSecond == 24_000)
        #expect(throws: OpusError.badFrameSize) { _ = try encode(&encoder, Sound.sine(count: 959)) }
        #expect(OpusEncoderSettings.Bandwidth(sampleRate: 16_000) == .wide)
        #expect(OpusEncoderSettings.Bandwidth(sampleRate: 48_000) == .full)
    }
}

@Suite("Audio sender") struct AudioSenderTests {
    private func packet(_ sender: inout AudioSender, _ pcm: [Int16]?, _ now: Instant) -> [UInt8]? {
        var made = false
        let bytes = RTPVectors.written { out in
            if let pcm {
                pcm.withUnsafeBufferPointer { made = sender.next(pcm: $0, into: &out, now: now) }
            } else {
                made = sender.next(pcm: nil, into: &out, now: now)
            }
        }
        #expect(made == !bytes.isEmpty)
        return made ? bytes : nil
    }

    @Test("Numbers count by one, timestamps by 960, the first packet is marked") func stream() throws {
        var randomness = Randomness.seeded(9)
        var sender = try AudioSender(ssrc: SSRC(5), payloadType: .defaultOpus, randomness: &randomness)
        let first = sender.nextSequence
        #expect((1...32_767).contains(first.rawValue))
        var headers: [RTPHeader] = []
        for index in 0..<10 {
            let bytes = try #require(
                packet(&sender, index % 2 == 0 ? nil : Sound.sine(count: 960), .zero + .milliseconds(Int64(index) * 20))
            )
            headers.append(try RTPHeader(parsing: bytes.span.bytes))
        }
        for index in 0..<10 {
            #expect(headers[index].sequenceNumber == SequenceNumber(UInt16(first.rawValue) + UInt16(index)))
            #expect(headers[index].timestamp == headers[0].timestamp &+ UInt32(960 * index))
            #expect(headers[index].marker == (index == 0))
        }
        #expect(sender.counters.packetsSent == 10 && sender.counters.headerBytesSent == 120)
        #expect(sender.counters.bytesSent == Int64(headers.reduce(0) { $0 + $1.payload.count }))
    }

    @Test("RTP-25: through DTX the timestamp goes on, the number does not, speech is marked") func dtx() throws {
        var randomness = Randomness.seeded(9)
        var sender = try AudioSender(
            ssrc: SSRC(5), payloadType: .defaultOpus, settings: OpusEncoderSettings(usesDTX: true),
            randomness: &randomness)
        var sent: [(slot: Int, header: RTPHeader)] = []
        for slot in 0..<250 {
            let pcm = slot < 20 || slot >= 200 ? Sound.sine(count: 960, from: slot * 960) : nil
            if let bytes = packet(&sender, pcm, .zero + .milliseconds(Int64(slot) * 20)) {
                sent.append((slot, try RTPHeader(parsing: bytes.span.bytes)))
            }
        }
        #expect(sender.framesKeptBack > 50)
        for (earlier, later) in zip(sent, sent.dropFirst()) {
            #expect(later.header.sequenceNumber == earlier.header.sequenceNumber.next)
            #expect(later.header.timestamp &- earlier.header.timestamp == UInt32(960 * (later.slot - earlier.slot)))
            // No silence is longer than liveness_ms.
            #expect(later.slot - earlier.slot <= 5)
        }
        #expect(sent.first { $0.slot >= 200 }?.header.marker == true)
    }

    @Test("Missed capture moves the timestamp and marks") func skip() throws {
        var randomness = Randomness.seeded(9)
        var sender = try AudioSender(ssrc: SSRC(5), payloadType: .defaultOpus, randomness: &randomness)
        let firstBytes = try #require(packet(&sender, nil, .zero))
        let first = try RTPHeader(parsing: firstBytes.span.bytes)
        sender.skip(samples: 9_600)
        let secondBytes = try #require(packet(&sender, nil, .zero))
        let second = try RTPHeader(parsing: secondBytes.span.bytes)
        #expect(second.timestamp &- first.timestamp == 10_560 && second.marker)
    }

    @Test("Without room nothing is written and the failure is counted") func noRoom() throws {
        var randomness = Randomness.seeded(9)
        var sender = try AudioSender(ssrc: SSRC(5), payloadType: .defaultOpus, randomness: &randomness)
        let before = sender.nextSequence
        for capacity in [0, 11, 12] {
            let bytes = RTPVectors.written(capacity) { out in
                let made = sender.next(pcm: nil, into: &out, now: .zero)
                #expect(!made)
            }
            #expect(bytes.isEmpty)
        }
        #expect(sender.framesFailed == 3 && sender.nextSequence == before)
    }
}
