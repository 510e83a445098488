import ICELite
import Testing

@testable import TransportMedia

/// When reports go, what they say, and what is learned from the peer's.
@Suite("RTCP reporter") struct RTCPReporterTests {
    private func header(_ sequence: Int) -> RTPHeader {
        RTPHeader(
            marker: false, payloadType: .defaultOpus,
            sequenceNumber: SequenceNumber(UInt16(truncatingIfNeeded: sequence)),
            timestamp: UInt32(truncatingIfNeeded: sequence * 960), ssrc: SSRC(2))
    }

    private func reporter(_ seed: UInt64 = 1) -> RTCPReporter {
        RTCPReporter(localSSRC: SSRC(1), cname: "alice", randomness: .seeded(seed))
    }

    /// Types of the packets in `bytes`, in order.
    private func types(_ bytes: [UInt8]) -> [UInt8] {
        var types: [UInt8] = []
        var at = 0
        while at + 4 <= bytes.count {
            types.append(bytes[at + 1])
            at += 4 + 4 * (Int(bytes[at + 2]) << 8 | Int(bytes[at + 3]))
        }
        #expect(at == bytes.count)
        return types
    }

    /// Runs `reporter` for `length`, with a packet each 20 ms unless `losing` says that it is lost; tells each report.
    private func run(
        _ reporter: inout RTCPReporter, reception: inout RTPReceptionStatistics?, from start: Nanoseconds = 0,
        for length: Nanoseconds, sent: RTPSenderCounters = RTPSenderCounters(), losing: (Int) -> Bool = { _ in false }
    ) throws -> [(at: Nanoseconds, bytes: [UInt8])] {
        var reports: [(at: Nanoseconds, bytes: [UInt8])] = []
        var index = Int(start / 20_000_000)
        var packetAt = start
        while true {
            let next = min(packetAt, reporter.nextDeadline - .zero)
            guard next < start + length else { return reports }
            let now = Instant.zero + next
            if next == packetAt {
                if !losing(index) { reception?.receive(header(index), byteCount: 52, now: now) }
                index += 1
                packetAt += 20_000_000
            }
            let bytes = try RTPVectors.written { out in
                _ = try reporter.pollReport(into: &out, sent: sent, reception: &reception, now: now)
            }
            if !bytes.isEmpty { reports.append((next, bytes)) }
        }
    }

    private func gaps(_ reports: [(at: Nanoseconds, bytes: [UInt8])]) -> [Nanoseconds] {
        zip(reports, reports.dropFirst()).map { $1.at - $0.at }
    }

    // MARK: - Intervals

    @Test("Early, and while there is loss, a report goes each 0.5–1 s; else each 1–3 s", arguments: UInt64(0)..<8)
    func intervals(seed: UInt64) throws {
        var reporter = reporter(seed)
        var reception: RTPReceptionStatistics? = RTPReceptionStatistics(ssrc: SSRC(2))
        reporter.start(now: .zero)
        let early = try run(&reporter, reception: &reception, for: .seconds(10))
        #expect((250_000_000...750_000_000).contains(early[0].at))
        #expect(gaps(early).allSatisfy { (500_000_000...1_000_000_000).contains($0) })
        let quiet = try run(&reporter, reception: &reception, from: .seconds(10), for: .seconds(300))
        let quietGaps = gaps(quiet)
        #expect(quietGaps.allSatisfy { (1_000_000_000...3_000_000_000).contains($0) })
        #expect(Set(quietGaps).count > quietGaps.count / 2, "they are drawn")
        let mean = quietGaps.reduce(0, +) / Int64(quietGaps.count)
        #expect(abs(mean - .seconds(2)) < .milliseconds(250))
        let lossy = try run(
            &reporter, reception: &reception, from: .seconds(310), for: .seconds(60), losing: { $0 % 10 == 0 })
        // The quiet interval that is running ends first.
        #expect(gaps(lossy).allSatisfy { (500_000_000...1_000_000_000).contains($0) })
    }

    @Test("Also while nothing comes any more, which shows no loss, a report goes each 0.5–1 s")
    func standstill() throws {
        var reporter = reporter()
        var reception: RTPReceptionStatistics? = RTPReceptionStatistics(ssrc: SSRC(2))
        reporter.start(now: .zero)
        _ = try run(&reporter, reception: &reception, for: .seconds(30))
        let outage = try run(
            &reporter, reception: &reception, from: .seconds(30), for: .seconds(20), losing: { _ in true })
        #expect(gaps(outage).dropFirst().allSatisfy { (500_000_000...1_000_000_000).contains($0) })
        #expect(outage.count >= 18)
    }

    @Test("Loss that the peer reports hastens the next report, within the share") func hastened() throws {
        var reporter = reporter()
        var reception: RTPReceptionStatistics? = RTPReceptionStatistics(ssrc: SSRC(2))
        reporter.start(now: .zero)
        let quiet = try run(&reporter, reception: &reception, for: .seconds(60))
        let last = try #require(quiet.last?.at)
        let report = try RTPVectors.written {
            try RTCPWriter.receiverReport(
                from: SSRC(2),
                block: RTCPReportBlock(
                    ssrc: SSRC(1), fractionLost: 20, cumulativeLost: 3, highestSequence: 9, jitter: 0,
                    lastSenderReport: 0, delaySinceLastSenderReport: 0), into: &$0)
        }
        let now = Instant.zero + last + .milliseconds(100)
        reporter.handle(report.span.bytes, reception: &reception, now: now)
        #expect((500_000_000...1_000_000_000).contains(reporter.nextDeadline - .zero - last))
        // Late in a quiet interval: at once.
        var late = self.reporter(2)
        late.start(now: .zero)
        let reports = try run(&late, reception: &reception, for: .seconds(60))
        let lateNow = Instant.zero + (try #require(reports.last?.at)) + .milliseconds(990)
        late.handle(report.span.bytes, reception: &reception, now: lateNow)
        #expect(late.nextDeadline - lateNow <= .milliseconds(10))
    }

    @Test("Both ends together keep to 5 % of the session, however little that is", arguments: [4_000, 8_000, 16_000])
    func share(sessionBitsPerSecond: Int) throws {
        var interval = RTCPInterval(firstByteCount: 72)
        interval.sessionBitsPerSecond = sessionBitsPerSecond
        var randomness = Randomness.seeded(3)
        // RFC 3550 §A.7: average size × members / (5 % of the bandwidth).
        let wanted = 120.0 * 2 / (Double(sessionBitsPerSecond) / 8 * 0.05)
        #expect(abs(Double(interval.deterministic) / 1e9 - wanted) < 0.001)
        for _ in 0..<1_000 {
            let drawn = Double(interval.drawShare(using: &randomness)) / 1e9 / wanted
            #expect((0.5 / 1.21829...1.5 / 1.21827).contains(drawn))
        }
        // With the timer's reconsideration the mean is what was computed: over a long call, to a tenth.
        var reporter = RTCPReporter(
            localSSRC: SSRC(1), cname: "alice", sessionBitsPerSecond: sessionBitsPerSecond, randomness: .seeded(4))
        var reception: RTPReceptionStatistics? = RTPReceptionStatistics(ssrc: SSRC(2))
        reporter.start(now: .zero)
        let length = 6_000.0
        let reports = try run(
            &reporter, reception: &reception, for: .seconds(6_000), losing: { $0 % 10 == 0 })
        let bytes = reports.map { Double($0.bytes.count + RTCPInterval.overhead) }.reduce(0, +)
        let share = Double(sessionBitsPerSecond) / 8 * 0.05 / 2 * length
        #expect((0.8...1.05).contains(bytes / share), "\(bytes / share) of our half")
    }

    @Test("The mean size follows what is sent and received by sixteenths") func meanSize() {
        var interval = RTCPInterval(firstByteCount: 52)
        #expect(interval.averageByteCount == 100)
        interval.note(byteCount: 212)
        #expect(interval.averageByteCount == 110)
        var reporter = reporter()
        var reception: RTPReceptionStatistics?
        let before = reporter.interval.averageByteCount
        reporter.handle([UInt8](repeating: 0, count: 1_000).span.bytes, reception: &reception, now: .zero)
        #expect(reporter.interval.averageByteCount > before + 50 && reporter.malformed == 1)
    }

    // MARK: - What goes

    @Test("Compounds carry the name; reduced-size ones only the first time and every 5 s", arguments: [false, true])
    func descriptions(isReducedSize: Bool) throws {
        var reporter = reporter()
        reporter.isReducedSize = isReducedSize
        var reception: RTPReceptionStatistics? = RTPReceptionStatistics(ssrc: SSRC(2))
        reporter.start(now: .zero)
        let reports = try run(&reporter, reception: &reception, for: .seconds(60), losing: { $0 % 10 == 0 })
        #expect(reports.count > 50)
        var lastDescription: Nanoseconds?
        for (at, bytes) in reports {
            let types = types(bytes)
            #expect(types == [201, 202] || isReducedSize && types == [201])
            if types.contains(202) {
                lastDescription = at
            } else {
                #expect(at - (try #require(lastDescription)) < .seconds(5))
            }
        }
        let described = reports.filter { types($0.bytes).contains(202) }.count
        #expect(isReducedSize ? (11...13).contains(described) : described == reports.count)
    }

    @Test("Who has sent since the report before the last one writes a sender report, else a receiver report")
    func senderOrReceiver() throws {
        var reporter = reporter()
        var reception: RTPReceptionStatistics?
        reporter.start(now: .zero)
        var sent = RTPSenderCounters()
        var kinds: [UInt8] = []
        for (turn, packets) in [0, 3, 3, 3, 3, 8].enumerated() {
            sent.packetsSent = Int64(packets)
            sent.bytesSent = Int64(packets) * 60
            if packets > 0 { sent.lastPacketAt = .zero + .seconds(5) }
            let bytes = try RTPVectors.written { out in
                _ = try reporter.pollReport(
                    into: &out, sent: sent, reception: &reception, now: .zero + .seconds(5 * Int64(turn + 1)))
            }
            kinds.append(try #require(types(bytes).first))
        }
        #expect(kinds == [201, 200, 200, 201, 201, 200])
    }

    @Test("A sender report tells the media time of its own moment, and what was sent") func senderReport() throws {
        var reporter = reporter()
        var reception: RTPReceptionStatistics?
        reporter.start(now: .zero)
        var sent = RTPSenderCounters()
        sent.packetsSent = 500
        sent.bytesSent = 30_000
        sent.lastTimestamp = 0xFFFF_FF00
        sent.lastPacketAt = .zero + .milliseconds(990)
        let now = Instant.zero + .seconds(1)
        let bytes = try RTPVectors.written { out in
            _ = try reporter.pollReport(into: &out, sent: sent, reception: &reception, now: now)
        }
        var reader = RTCPReader()
        guard case .senderReport(SSRC(1), let info, let blocks)? = try reader.next(in: bytes.span.bytes) else {
            Issue.record("\(bytes)")
            return
        }
        #expect(info.ntpTime == NTPTime.full(now) && info.rtpTimestamp == 0xFFFF_FF00 &+ 480)
        #expect(info.packetCount == 500 && info.octetCount == 30_000 && blocks.count == 0)
        #expect(NTPTime.full(.zero + .milliseconds(500)) - NTPTime.full(.zero) == 1 << 31)
    }

    // MARK: - Two ends

    @Test("Two reporters learn the round trip and the loss of each other, and say goodbye") func reporters() throws {
        var alice = reporter()
        var bob = RTCPReporter(localSSRC: SSRC(2), cname: "bob", randomness: .seeded(2))
        var heardByAlice: RTPReceptionStatistics? = RTPReceptionStatistics(ssrc: SSRC(2))
        var heardByBob: RTPReceptionStatistics?
        var sent = RTPSenderCounters()
        sent.packetsSent = 5
        sent.lastPacketAt = .zero
        alice.start(now: .zero)
        bob.start(now: .zero)
        let early = try RTPVectors.written {
            let isDue = try alice.pollReport(into: &$0, sent: sent, reception: &heardByAlice, now: .zero)
            #expect(!isDue)
        }
        #expect(early.isEmpty)
        // 40 ms there, 300 ms of waiting, 60 ms back. The report comes before the first packet of its stream.
        let first = try RTPVectors.written {
            let isDue = try alice.pollReport(
                into: &$0, sent: sent, reception: &heardByAlice, now: .zero + .milliseconds(800))
            #expect(isDue)
        }
        let toBob = bob.handle(first.span.bytes, reception: &heardByBob, now: .zero + .milliseconds(840))
        #expect(!toBob.isAboutUs && !toBob.saidGoodbye)
        for index in 0..<8 where index % 4 != 2 {
            let packet = RTPHeader(
                marker: false, payloadType: .defaultOpus, sequenceNumber: SequenceNumber(UInt16(index)),
                timestamp: UInt32(index) * 960, ssrc: SSRC(1))
            heardByBob?.receive(packet, byteCount: 52, now: .zero + .milliseconds(850 + Int64(index) * 20))
        }
        let second = try RTPVectors.written {
            let isDue = try bob.pollReport(
                into: &$0, sent: RTPSenderCounters(), reception: &heardByBob, now: .zero + .milliseconds(1_140))
            #expect(isDue)
        }
        let toAlice = alice.handle(second.span.bytes, reception: &heardByAlice, now: .zero + .milliseconds(1_200))
        #expect(toAlice.isAboutUs && !toAlice.saidGoodbye)
        let report = try #require(alice.remote)
        let roundTrip = try #require(report.roundTrip)
        #expect(abs(roundTrip - .milliseconds(100)) < .milliseconds(1))
        #expect(report.highestSequence == 7 && report.cumulativeLost == 2 && report.fractionLost == 0.25)
        #expect(alice.roundTripTimeMeasurements == 1 && report.standstills == 0)
        alice.handle(second.span.bytes, reception: &heardByAlice, now: .zero + .milliseconds(1_201))
        #expect(alice.remote?.standstills == 1)
        let end = try RTPVectors.written {
            let isWritten = try alice.writeGoodbye(
                into: &$0, sent: sent, reception: &heardByAlice, now: .zero + .seconds(2))
            #expect(isWritten)
        }
        #expect(types(end).last == 203 && types(end).contains(202))
        let farewell = bob.handle(end.span.bytes, reception: &heardByBob, now: .zero + .seconds(2))
        #expect(farewell.saidGoodbye && bob.remoteGoodbye && bob.nextDeadline != .never)
        #expect(alice.nextDeadline == .never && bob.malformed == 0)
        #expect(end.count <= alice.byteCountAtMost)
    }

    @Test("Who never sent anything says no goodbye; a goodbye to another stream is none to ours") func goodbyes() throws
    {
        var reporter = reporter()
        var reception: RTPReceptionStatistics? = RTPReceptionStatistics(ssrc: SSRC(2))
        reporter.start(now: .zero)
        let nothing = try RTPVectors.written {
            let isWritten = try reporter.writeGoodbye(
                into: &$0, sent: RTPSenderCounters(), reception: &reception, now: .zero)
            #expect(!isWritten)
        }
        #expect(nothing.isEmpty)
        let other = try RTPVectors.written { try RTCPWriter.goodbye(of: SSRC(3), into: &$0) }
        let news = reporter.handle(other.span.bytes, reception: &reception, now: .zero)
        #expect(!news.saidGoodbye && !reporter.remoteGoodbye)
        // Several at once, with a reason: RFC 3550 §6.6.
        let many: [UInt8] =
            [0x82, 203, 0, 5, 0, 0, 0, 3, 0, 0, 0, 2, 11] + Array("hung up now".utf8)
        let second = reporter.handle(many.span.bytes, reception: &reception, now: .zero)
        #expect(second.saidGoodbye && reporter.malformed == 0)
    }
}
