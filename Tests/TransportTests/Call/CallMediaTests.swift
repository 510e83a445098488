import ICELite
import Testing
import Transport
import TransportMedia
import TransportRuntime

/// What becomes of captured audio that does not come in whole frames: the packets are compared, byte for byte, with those
/// of a sender that was given the frames as they should be.
@Suite("A call's captured audio") struct CallMediaTests {
    private struct EmptyPool: Error {}
    private static let millisecond = 48

    /// Sends what `capture` was given: `pieces[k]` samples come before the packet of tick `k`.
    private func packets(of pieces: [[Int]], voice: [Int16]) throws -> [[UInt8]] {
        var randomness = Randomness.seeded(11)
        let capture = PCMRing(minimumCapacity: 48_000)
        var media = CallMedia(
            sender: try AudioSender(ssrc: SSRC(1), payloadType: .defaultOpus, randomness: &randomness),
            receiver: try AudioReceiver(payloadType: .defaultOpus), capture: capture,
            playout: PCMRing(minimumCapacity: 480))
        media.startSending(now: .zero)
        let pool = PacketPool(size: 1)
        var at = 0
        var packets: [[UInt8]] = []
        for (tick, pieces) in pieces.enumerated() {
            for count in pieces {
                at += voice[at..<(at + count)].withUnsafeBufferPointer { capture.write($0) }
            }
            guard var packet = pool.take() else { throw EmptyPool() }
            let isSent = media.nextPacket(
                into: &packet, live: true, discard: false, now: .zero + Int64(tick) * CallMedia.packetInterval)
            #expect(isSent)
            packets.append(packet.bytes.withUnsafeBytes { Array($0) })
        }
        return packets
    }

    /// The packets of these frames; nil is silence.
    private func packets(ofFrames frames: [[Int16]?]) throws -> [[UInt8]] {
        var randomness = Randomness.seeded(11)
        var sender = try AudioSender(ssrc: SSRC(1), payloadType: .defaultOpus, randomness: &randomness)
        let pool = PacketPool(size: 1)
        return try frames.enumerated().map { tick, frame in
            guard var packet = pool.take() else { throw EmptyPool() }
            let now = Instant.zero + Int64(tick) * CallMedia.packetInterval
            let isSent =
                switch frame {
                case .some(let frame): frame.withUnsafeBufferPointer { sender.next(pcm: $0, into: &packet, now: now) }
                case .none: sender.next(pcm: nil, into: &packet, now: now)
                }
            #expect(isSent)
            return packet.bytes.withUnsafeBytes { Array($0) }
        }
    }

    private let voice = (0..<48_000).map { Int16(truncatingIfNeeded: ($0 % 109) * 140 - 7_630) }

    private func frame(_ index: Int) -> [Int16] { Array(voice[(index * 960)..<((index + 1) * 960)]) }

    @Test("Pieces of 7 and 13 ms: a frame that is not whole waits for its rest, and the speech has no gap")
    func unevenPieces() throws {
        let (seven, thirteen) = (7 * Self.millisecond, 13 * Self.millisecond)
        let pieces = [[seven]] + Array(repeating: [thirteen, seven], count: 30)
        let expected: [[Int16]?] = [nil] + (0..<30).map { frame($0) }
        #expect(try packets(of: pieces, voice: voice) == packets(ofFrames: expected))
    }

    @Test("The last, shorter piece goes out, padded, once nothing has come behind it")
    func lastPiece() throws {
        let rest = Array(voice[960..<(960 + 336)]) + [Int16](repeating: 0, count: 960 - 336)
        #expect(
            try packets(of: [[960 + 336], [], [], []], voice: voice)
                == packets(ofFrames: [frame(0), nil, rest, nil]))
    }

    @Test("Time that passes without packets, stopped or not run, is in the next one's timestamp, which is marked")
    func pauses() throws {
        var randomness = Randomness.seeded(11)
        var media = CallMedia(
            sender: try AudioSender(ssrc: SSRC(1), payloadType: .defaultOpus, randomness: &randomness),
            receiver: try AudioReceiver(payloadType: .defaultOpus), capture: PCMRing(minimumCapacity: 960),
            playout: PCMRing(minimumCapacity: 480))
        let pool = PacketPool(size: 1)
        func header(at milliseconds: Int64) throws -> RTPHeader {
            guard var packet = pool.take() else { throw EmptyPool() }
            let now = Instant.zero + .milliseconds(milliseconds)
            #expect(media.nextPacket(into: &packet, live: true, discard: false, now: now))
            return try RTPHeader(parsing: packet.bytes)
        }
        media.startSending(now: .zero)
        let first = try header(at: 0)
        // 200 ms late are caught up; 2.4 s are not.
        #expect(try header(at: 220).timestamp == first.timestamp &+ 960)
        let slept = try header(at: 2_445)
        #expect(slept.timestamp == first.timestamp &+ UInt32(960 * 122) && slept.marker)
        #expect(slept.sequenceNumber == SequenceNumber(first.sequenceNumber.rawValue &+ 2))
        media.stopSending()
        media.stopSending()
        media.startSending(now: .zero + .milliseconds(3_465))
        let started = try header(at: 3_465)
        #expect(started.timestamp == slept.timestamp &+ UInt32(960 * 51) && started.marker)
    }

    @Test("Before the call is active silence goes out, and what the client captured meanwhile is thrown away")
    func silenceBeforeActive() throws {
        var randomness = Randomness.seeded(11)
        let capture = PCMRing(minimumCapacity: 48_000)
        var media = CallMedia(
            sender: try AudioSender(ssrc: SSRC(1), payloadType: .defaultOpus, randomness: &randomness),
            receiver: try AudioReceiver(payloadType: .defaultOpus), capture: capture,
            playout: PCMRing(minimumCapacity: 480))
        media.startSending(now: .zero)
        let pool = PacketPool(size: 1)
        let silence = try packets(ofFrames: [nil, nil])
        for (tick, discard) in [false, true].enumerated() {
            _ = voice[..<960].withUnsafeBufferPointer { capture.write($0) }
            guard var packet = pool.take() else { throw EmptyPool() }
            let isSent = media.nextPacket(
                into: &packet, live: false, discard: discard, now: .zero + Int64(tick) * CallMedia.packetInterval)
            #expect(isSent)
            #expect(packet.bytes.withUnsafeBytes { Array($0) } == silence[tick])
            #expect(capture.availableToRead == (discard ? 0 : 960))
        }
    }
}
