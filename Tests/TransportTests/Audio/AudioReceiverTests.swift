import Foundation
import ICELite
import Testing

@testable import TransportMedia

/// A receiver in virtual time: packets come when a test says, a pull is made every 10 ms.
struct VirtualListener: ~Copyable {
    struct Arrival {
        /// Microseconds.
        var at: Int64
        var packet: [UInt8]
        var carriage = AudioCarriage.path
    }

    var receiver: AudioReceiver
    var heard: [Int16] = []
    var verdicts: [PullVerdict] = []
    var inserted: [AudioReceiveVerdict] = []
    var pulls = 0

    init() throws { receiver = try AudioReceiver(payloadType: .defaultOpus) }

    /// Plays `arrivals` and pulls until `end` (milliseconds).
    mutating func run(_ arrivals: [Arrival], until end: Int64) throws {
        var waiting = arrivals.sorted { $0.at < $1.at }[...]
        let output = UnsafeMutableBufferPointer<Int16>.allocate(capacity: 480)
        defer { output.deallocate() }
        while Int64(pulls) * 10 < end {
            let now = Int64(pulls) * 10_000
            while let next = waiting.first, next.at <= now {
                waiting = waiting.dropFirst()
                let header = try RTPHeader(parsing: next.packet.span.bytes)
                inserted.append(
                    receiver.receive(
                        next.packet.span.bytes, header: header, carriage: next.carriage,
                        now: Instant(nanoseconds: next.at * 1_000)))
            }
            output.update(repeating: 12_345)
            verdicts.append(receiver.pull(into: output, now: Instant(nanoseconds: now * 1_000)))
            heard += output
            pulls += 1
        }
    }
}

/// Frames of a talker, encoded once.
enum Talker {
    /// `count` Opus packets of 20 ms of a tone of `amplitude`.
    static func payloads(_ count: Int, amplitude: Double = 8_000) throws -> [[UInt8]] {
        var encoder = try OpusEncoder(OpusEncoderSettings(complexity: 5))
        return try (0..<count).map { frame in
            try RTPVectors.written { out in
                try Sound.sine(count: 960, from: frame * 960, amplitude: amplitude).withUnsafeBufferPointer {
                    _ = try encoder.encode($0, into: &out)
                }
            }
        }
    }

    static func packet(
        _ payload: [UInt8], sequence: Int, timestamp: Int, ssrc: UInt32 = 1, marker: Bool = false, type: UInt8 = 111
    ) throws -> [UInt8] {
        let header = RTPHeader(
            marker: marker, payloadType: PayloadType(maskingHeaderByte: type),
            sequenceNumber: SequenceNumber(UInt16(truncatingIfNeeded: sequence)),
            timestamp: UInt32(truncatingIfNeeded: timestamp), ssrc: SSRC(ssrc))
        return try RTPVectors.written { try header.encode(into: &$0) } + payload
    }
}

@Suite("Audio receiver") struct AudioReceiverTests {
    private typealias Arrival = VirtualListener.Arrival

    /// An even stream: packet k at 20 k ms plus `delay(k)` µs, from `sequence` and `timestamp` on; nil is lost.
    private func stream(
        _ count: Int, sequence: Int = 100, timestamp: Int = 5_000, amplitude: Double = 8_000,
        delay: (Int) -> Int64? = { _ in 0 }
    ) throws -> [Arrival] {
        try Talker.payloads(count, amplitude: amplitude).enumerated().compactMap { index, payload in
            guard let late = delay(index) else { return nil }
            return Arrival(
                at: Int64(index) * 20_000 + late,
                packet: try Talker.packet(payload, sequence: sequence + index, timestamp: timestamp + index * 960))
        }
    }

    private func check(_ listener: borrowing VirtualListener, _ comment: Comment? = nil) {
        let counted = listener.receiver.statistics
        #expect(listener.heard.count == listener.pulls * 480, comment)
        #expect(counted.buffer.totalSamplesReceived == Int64(listener.pulls * 480), comment)
        #expect(counted.buffer.concealedSamples <= counted.buffer.totalSamplesReceived, comment)
        #expect(counted.buffer.silentConcealedSamples <= counted.buffer.concealedSamples, comment)
        #expect(!listener.heard.contains(12_345) || listener.heard.count(where: { $0 == 12_345 }) < 20, comment)
    }

    @Test("A clean stream is played as it comes and whole") func clean() throws {
        var listener = try VirtualListener()
        try listener.run(stream(100), until: 2_000)
        check(listener)
        let counted = listener.receiver.statistics
        #expect(counted.buffer.concealedSamples == 0 && counted.buffer.removedSamplesForAcceleration == 0)
        #expect(counted.packetsLostOnPath == 0 && counted.packetsReceivedOnPath == 100)
        #expect(listener.verdicts[0] == .played)
        #expect(abs(Sound.rms(listener.heard[48_000...]) / (8_000 / 2.0.squareRoot()) - 1) < 0.1)
    }

    @Test("Before the first packet there is silence that is not concealment") func before() throws {
        var listener = try VirtualListener()
        try listener.run([], until: 100)
        #expect(listener.verdicts.allSatisfy { $0 == .waiting } && listener.heard.allSatisfy { $0 == 0 })
        #expect(listener.receiver.statistics.buffer.concealedSamples == 0)
    }

    @Test("RTP-22: order, wrap and one duplicate") func wrap() throws {
        struct Row: Decodable {
            var t: Int64
            var seq: Int
            var ts: Int
        }
        struct Case: Decodable {
            var frames: [Row]
            var duplicates: Int64
        }
        let rows = try RTPVectors.json("RTP-22.json", as: Case.self)
        let payloads = try Talker.payloads(5)
        var listener = try VirtualListener()
        try listener.run(
            rows.frames.map {
                Arrival(
                    at: $0.t * 1_000,
                    packet: try Talker.packet(payloads[$0.ts / 960], sequence: $0.seq, timestamp: $0.ts))
            }, until: 300)
        check(listener)
        let counted = listener.receiver.statistics
        #expect(counted.buffer.duplicates == rows.duplicates && counted.buffer.packetsDiscarded == 0)
        #expect(counted.buffer.jitterBufferEmittedCount == 5 * 960)
        #expect(counted.packetsLostOnPath == -1)
    }

    @Test("Timestamp and sequence number wrap without a sound") func bothWrap() throws {
        var listener = try VirtualListener()
        try listener.run(stream(100, sequence: 65_500, timestamp: 0xFFFF_FFFF - 40 * 960), until: 2_000)
        check(listener)
        #expect(listener.receiver.statistics.buffer.concealedSamples == 0)
        #expect(listener.receiver.statistics.buffer.resyncs == 0)
    }

    @Test("Single losses are concealed for exactly what was lost once there is delay") func loss() throws {
        var listener = try VirtualListener()
        // The first spike makes the delay; from then on loss costs only what was lost.
        try listener.run(
            stream(300) { index in index == 5 ? 70_000 : (index > 50 && index % 10 == 0 ? nil : 0) }, until: 6_000)
        check(listener)
        let counted = listener.receiver.statistics
        #expect(counted.packetsLostOnPath == 24)
        let made = counted.buffer.concealedSamples
        #expect(made >= 24 * 960 && made <= 24 * 960 + 9_600, "\(made)")
        #expect(counted.buffer.packetsDiscarded == 0)
    }

    @Test("A copy by the other carriage is a duplicate, the first one wins") func bridge() throws {
        let path = try stream(100) { $0 >= 40 && $0 < 60 ? nil : 0 }
        let line = try stream(100) { _ in 30_000 }.map { Arrival(at: $0.at, packet: $0.packet, carriage: .line) }
        var listener = try VirtualListener()
        try listener.run(path + line, until: 2_100)
        check(listener)
        let counted = listener.receiver.statistics
        #expect(counted.buffer.duplicates == 80 && counted.packetsLostOnPath == 20 && counted.packetsLostOnLine == 0)
        #expect(counted.buffer.jitterBufferEmittedCount == 96_000 - counted.buffer.removedSamplesForAcceleration)
        // Going to the slower carriage costs its lag once.
        let made = counted.buffer.concealedSamples - counted.buffer.silentConcealedSamples
        #expect(made <= 480 * 14, "\(made)")
    }

    @Test("RTP-24: pauses of DTX are comfort, not loss, and leave the delay alone") func dtx() throws {
        struct Row: Decodable {
            var t: Int64
            var seq: Int
            var ts: Int
            var marker: Bool?
        }
        struct Case: Decodable { var frames: [Row] }
        let rows = try RTPVectors.json("RTP-24.json", as: Case.self).frames
        let speech = try Talker.payloads(rows.count)
        let silence = try Talker.payloads(rows.count, amplitude: 0)
        var arrivals: [Arrival] = []
        for (index, row) in rows.enumerated() {
            let isPause = index > 0 && row.ts - rows[index - 1].ts > 960 && !(row.marker ?? false) || index == 9
            arrivals.append(
                Arrival(
                    at: row.t * 1_000,
                    packet: try Talker.packet(
                        isPause ? silence[index] : speech[index], sequence: row.seq, timestamp: row.ts,
                        marker: row.marker ?? false)))
        }
        var listener = try VirtualListener()
        try listener.run(arrivals, until: (rows.last?.t ?? 0) + 200)
        check(listener)
        let counted = listener.receiver.statistics
        #expect(counted.packetsLostOnPath == 0 && counted.buffer.packetsDiscarded == 0)
        #expect(counted.buffer.targetDelay <= 80 && counted.buffer.playoutDelay <= 100)
    }

    @Test("RTP-20: another SSRC is heard at once") func newSource() throws {
        let first = try stream(50, sequence: 30_117, timestamp: 1_000_000)
        let payloads = try Talker.payloads(50)
        let second = try payloads.enumerated().map { index, payload in
            Arrival(
                at: 1_000_000 + Int64(index) * 20_000,
                packet: try Talker.packet(payload, sequence: 9_042 + index, timestamp: 77 + index * 960, ssrc: 2))
        }
        var listener = try VirtualListener()
        try listener.run(first + second, until: 2_000)
        check(listener)
        let counted = listener.receiver.statistics
        #expect(counted.sourceChanges == 1 && counted.packetsLostOnPath == 0)
        #expect(counted.buffer.jitterBufferEmittedCount == 100 * 960 - counted.buffer.removedSamplesForAcceleration)
        #expect(counted.buffer.concealedSamples <= 4_800)
    }

    @Test("One wild timestamp is dropped; three begin a new stream") func wild() throws {
        let payloads = try Talker.payloads(200)
        var arrivals: [Arrival] = []
        for index in 0..<200 {
            var timestamp = index * 960
            if index == 50 { timestamp += 10_000_000 }
            if index >= 100 { timestamp += 500_000_000 }
            arrivals.append(
                Arrival(
                    at: Int64(index) * 20_000,
                    packet: try Talker.packet(payloads[index], sequence: index, timestamp: timestamp)))
        }
        var listener = try VirtualListener()
        try listener.run(arrivals, until: 4_000)
        check(listener)
        let counted = listener.receiver.statistics.buffer
        #expect(counted.resyncs == 1 && counted.wildPackets == 4)
        #expect(listener.verdicts[250...].allSatisfy { $0 == .played })
    }

    @Test("What comes of a new stream from before its beginning is late: nothing of it is played among the last one's")
    func beforeTheStream() throws {
        let payloads = try Talker.payloads(200)
        func packet(_ index: Int, at milliseconds: Int64) throws -> Arrival {
            let timestamp = index * 960 + (index >= 100 ? 500_000_000 : 0)
            return Arrival(
                at: milliseconds * 1_000,
                packet: try Talker.packet(payloads[index], sequence: index, timestamp: timestamp))
        }
        // Of the last stream, held by the network for a second, two are lost just where the two first of the new one would lie,
        // which come behind the three that begin it.
        var arrivals = try (0..<100).filter { $0 != 96 && $0 != 97 }.map {
            try packet($0, at: max(1_000, Int64($0) * 20))
        }
        arrivals += try (102..<200).map { try packet($0, at: Int64($0) * 20) }
        arrivals += try [packet(100, at: 2_110), packet(101, at: 2_130)]
        var listener = try VirtualListener()
        try listener.run(arrivals, until: 4_000)
        check(listener)
        #expect(listener.receiver.statistics.buffer.resyncs == 1)
        #expect(listener.inserted.count { $0 == .audio(.late) } == 2)
    }

    @Test("A pause of both ends' is none of another stream, though what came before it is read behind it")
    func bothAsleep() throws {
        let payloads = try Talker.payloads(120)
        var listener = try VirtualListener()
        func packet(_ index: Int, timestamp: Int, at: Int64) throws -> Arrival {
            Arrival(at: at * 1_000, packet: try Talker.packet(payloads[index], sequence: index, timestamp: timestamp))
        }
        // Ten packets wait in the socket from 1 s to 10.5 s; the sender goes on there, 9.5 s later by its timestamps.
        let before = try (0..<50).map { try packet($0, timestamp: $0 * 960, at: Int64($0) * 20) }
        let waiting = try (50..<60).map { try packet($0, timestamp: $0 * 960, at: 10_500) }
        let after = try (60..<120).map {
            try packet($0, timestamp: $0 * 960 + 9_300 * 48, at: 10_520 + Int64($0 - 60) * 20)
        }
        try listener.run(before, until: 1_000)
        listener.pulls = 1_050
        listener.receiver.noteStandstill(for: .milliseconds(9_500), now: Instant.zero + .milliseconds(10_500))
        try listener.run(waiting + after, until: 11_700)
        let counted = listener.receiver.statistics.buffer
        #expect(counted.resyncs == 0 && counted.wildPackets == 0)
    }

    @Test("What a network has held for 14 s is late, however much of it comes at once, and no new stream")
    func heldForLong() throws {
        let path = try stream(1_000) { (100..<800).contains($0) ? Int64(800 - $0) * 20_000 : 0 }
        let line = try stream(1_000) { (100..<800).contains($0) ? 30_000 : nil }
            .map { Arrival(at: $0.at, packet: $0.packet, carriage: .line) }
        var listener = try VirtualListener()
        try listener.run(path + line, until: 20_000)
        check(listener)
        let counted = listener.receiver.statistics.buffer
        #expect(counted.resyncs == 0 && counted.wildPackets == 0)
        #expect(listener.verdicts[1_620...].allSatisfy { $0 == .played })
    }

    @Test("Where the delay is far below its target a lost frame costs 100 ms, not all that is missing")
    func lossBelowTarget() throws {
        // A stall of the line makes the target 700 ms; the path comes 600 ms later, so that the delay is 100 ms by it.
        let arrivals = try stream(600) { index in
            if index == 450 { return nil }
            if index >= 150 { return 600_000 }
            return (65..<100).contains(index) ? Int64(100 - index) * 20_000 : 0
        }.enumerated().map { Arrival(at: $1.at, packet: $1.packet, carriage: $0 < 150 ? .line : .path) }
        var listener = try VirtualListener()
        try listener.run(arrivals, until: 12_600)
        check(listener)
        let counted = listener.receiver.statistics.buffer
        #expect(counted.targetDelay >= 400, "\(counted.targetDelay)")
        let made = listener.verdicts[950..<1_150].count { $0 != .played }
        #expect((2...11).contains(made), "\(made)")
    }

    @Test("Where the delay is far above its target what is missing goes, not the voice between it")
    func lossAboveTarget() throws {
        // What was held comes at once, up to 800 ms late; then of a second each twelfth frame.
        let arrivals = try stream(400) { index in
            if (145..<195).contains(index) { return index % 12 == 0 ? 0 : nil }
            return (100..<140).contains(index) ? Int64(140 - index) * 20_000 : 0
        }
        var listener = try VirtualListener()
        try listener.run(arrivals, until: 8_000)
        check(listener)
        var longest = 0
        var run = 0
        for verdict in listener.verdicts[290...] {
            run = verdict == .played ? 0 : run + 1
            longest = max(longest, run)
        }
        // 11 frames of 20 ms are missing in a row.
        #expect(longest <= 24, "\(longest)")
    }

    @Test("An outage of 3 s is comfort noise, and the call goes on behind it") func outage() throws {
        var listener = try VirtualListener()
        try listener.run(stream(400) { (100..<250).contains($0) ? nil : 0 }, until: 8_000)
        check(listener)
        let counted = listener.receiver.statistics.buffer
        #expect(counted.resyncs == 0)
        #expect(listener.verdicts[530...].allSatisfy { $0 == .played })
        #expect(Sound.rms(listener.heard[(480 * 300)..<(480 * 400)]) < 200)
    }

    @Test("A stall of TCP ends in a late burst: it is drained, and steadily so") func stall() throws {
        // Nothing for 1 s, then all at once, 1 s late at first.
        var listener = try VirtualListener()
        let arrivals = try stream(500) { index in
            (100..<150).contains(index) ? Int64(150 - index) * 20_000 : 0
        }.map { Arrival(at: $0.at, packet: $0.packet, carriage: .line) }
        try listener.run(arrivals, until: 10_000)
        check(listener)
        let counted = listener.receiver.statistics.buffer
        #expect(counted.playoutDelay <= counted.targetDelay + 110, "\(counted.playoutDelay) \(counted.targetDelay)")
        #expect(counted.removedSamplesForAcceleration > 24_000)
        #expect(listener.verdicts[800...].allSatisfy { $0 == .played })
    }

    @Test("RTP-30, -11: foreign types, empty and invalid packets are counted and not lost") func foreign() throws {
        var listener = try VirtualListener()
        try listener.run(
            try RTPVectors.packets("RTP-30.hex").enumerated().map { Arrival(at: Int64($0) * 20_000, packet: $1) },
            until: 200)
        check(listener)
        var counted = listener.receiver.statistics
        #expect(counted.foreignPayloadTypes == 2 && counted.packetsLostOnPath == 0)
        #expect(counted.buffer.jitterBufferEmittedCount + counted.buffer.invalidPackets * 960 >= 4 * 480)
        var other = try VirtualListener()
        let payload = try Talker.payloads(1)[0]
        try other.run(
            [
                Arrival(at: 0, packet: try Talker.packet(payload, sequence: 1, timestamp: 0)),
                Arrival(at: 0, packet: try Talker.packet([], sequence: 2, timestamp: 960)),
                Arrival(at: 0, packet: try Talker.packet([0xFF, 0xFF], sequence: 3, timestamp: 960)),
            ], until: 50)
        counted = other.receiver.statistics
        #expect(counted.emptyPackets == 1 && counted.buffer.invalidPackets == 1)
        #expect(other.inserted == [.audio(.accepted), .empty, .audio(.invalid)])
    }

    @Test("A flood is bounded: the oldest go") func overflow() throws {
        let payload = try Talker.payloads(1)[0]
        let arrivals = try (0..<400).map {
            Arrival(at: 0, packet: try Talker.packet(payload, sequence: $0, timestamp: $0 * 960))
        }
        var listener = try VirtualListener()
        try listener.run(arrivals, until: 20)
        let counted = listener.receiver.statistics.buffer
        #expect(counted.packetsHeld <= 100 && counted.packetsDiscarded >= 300)
        #expect(listener.inserted.contains(.audio(.overflow)))
    }

    @Test("A flush throws away what is held before the mark") func flush() throws {
        var listener = try VirtualListener()
        let arrivals = try stream(8) { -Int64($0) * 20_000 }
        try listener.run(arrivals, until: 10)
        let gone = listener.receiver.flush(before: SequenceNumber(105))
        // Four frames and half a frame that was decoded.
        #expect(gone == 4 * 20 + 10)
        try listener.run([], until: 30)
        check(listener)
        #expect(listener.receiver.statistics.buffer.flushedSamples == Int64(gone * 48))
        let rest = listener.receiver.flush(before: nil)
        #expect(rest > 0)
    }

    @Test("Quiet makes the delay the target; loud speech is left alone") func growth() throws {
        var quiet = try VirtualListener()
        try quiet.run(stream(100, amplitude: 3), until: 2_000)
        check(quiet)
        let counted = quiet.receiver.statistics.buffer
        #expect((50...70).contains(counted.playoutDelay), "\(counted.playoutDelay)")
        #expect(counted.insertedSamplesForDeceleration > 0)
        var loud = try VirtualListener()
        try loud.run(stream(100), until: 2_000)
        #expect(loud.receiver.statistics.buffer.insertedSamplesForDeceleration == 0)
    }

    @Test("RTP-27: skew for long stays near the target", arguments: [200.0, -200.0]) func skew(ppm: Double) throws {
        // One loud and one quiet second in turn, as in talk. Ten minutes here: 120 ms of drift.
        let loud = try Talker.payloads(50)
        let quiet = try Talker.payloads(50, amplitude: 3)
        var listener = try VirtualListener()
        let frames = 30_000
        var worst = 0.0
        for block in 0..<(frames / 500) {
            let arrivals = try (0..<500).map { offset in
                let index = block * 500 + offset
                return Arrival(
                    at: Int64(Double(index) * 20_000 * (1 + ppm / 1e6)),
                    packet: try Talker.packet(
                        index / 50 % 2 == 0 ? loud[index % 50] : quiet[index % 50], sequence: index,
                        timestamp: index * 960))
            }
            // Packets of a slower talker that are not there yet come with the next block's first pulls.
            try listener.run(arrivals, until: Int64(Double((block + 1) * 10_000) * (1 + ppm / 1e6)) + 10)
            listener.heard.removeAll(keepingCapacity: true)
            let counted = listener.receiver.statistics.buffer
            if block > 2 { worst = max(worst, abs(counted.playoutDelay - counted.targetDelay)) }
        }
        #expect(worst <= 50, "\(worst) ms")
        #expect(listener.receiver.statistics.buffer.packetsDiscarded == 0)
    }

    @Test("Packets of 2.5 to 120 ms in one stream are played whole") func durations() throws {
        var encoder = try OpusEncoder()
        var arrivals: [Arrival] = []
        var timestamp = 0
        for index in 0..<120 {
            let count = [120, 240, 480, 960, 1_920, 2_880][index % 6]
            let payload = try RTPVectors.written { out in
                try Sound.sine(count: count, from: timestamp).withUnsafeBufferPointer {
                    _ = try encoder.encode($0, into: &out)
                }
            }
            // A packet can leave only when its last sample is there.
            arrivals.append(
                Arrival(
                    at: Int64(timestamp + count) * 1_000 / 48,
                    packet: try Talker.packet(payload, sequence: index, timestamp: timestamp)))
            timestamp += count
        }
        var listener = try VirtualListener()
        try listener.run(arrivals, until: Int64(timestamp / 48) + 300)
        check(listener)
        let counted = listener.receiver.statistics.buffer
        #expect(
            counted.jitterBufferEmittedCount + counted.removedSamplesForAcceleration == Int64(timestamp)
                && counted.packetsDiscarded == 0)
    }

    @Test("Loss, reordering, copies and jitter by seed: the sums hold", arguments: 0..<12) func seeded(seed: Int) throws
    {
        var randomness = Randomness.seeded(UInt64(seed))
        let count = 1_000
        let payloads = try Talker.payloads(50)
        var arrivals: [Arrival] = []
        var time: Int64 = 0
        for index in 0..<count {
            time += 20_000
            if Int.random(in: 0..<10, using: &randomness) == 0 { continue }
            let late = Int64.random(in: 0...60_000, using: &randomness)
            var packet = try Talker.packet(
                payloads[index % 50], sequence: 65_000 + index, timestamp: 0xFFFF_0000 + index * 960,
                marker: Int.random(in: 0..<50, using: &randomness) == 0)
            if Int.random(in: 0..<40, using: &randomness) == 0 {
                packet[Int.random(in: 0..<packet.count, using: &randomness)] = UInt8(
                    truncatingIfNeeded: randomness.next())
                packet[0] = 0x80
            }
            arrivals.append(Arrival(at: time + late, packet: packet))
            if Int.random(in: 0..<8, using: &randomness) == 0 {
                arrivals.append(
                    Arrival(
                        at: time + late + Int64.random(in: 0...500_000, using: &randomness), packet: packet,
                        carriage: .line))
            }
        }
        var listener = try VirtualListener()
        try listener.run(arrivals, until: 21_000)
        check(listener, "seed \(seed)")
        let counted = listener.receiver.statistics.buffer
        let audible = counted.concealedSamples - counted.silentConcealedSamples
        #expect(Double(audible) / Double(counted.totalSamplesReceived) < 0.25, "seed \(seed)")
        #expect(counted.playoutDelay < 500, "seed \(seed)")
    }

    @Test("The same input gives the same sound") func deterministic() throws {
        var heard: [[Int16]] = []
        for _ in 0..<2 {
            var listener = try VirtualListener()
            try listener.run(stream(200) { $0 % 7 == 0 ? nil : Int64($0 % 5) * 9_000 }, until: 4_000)
            heard.append(listener.heard)
        }
        #expect(heard[0] == heard[1])
    }
}
