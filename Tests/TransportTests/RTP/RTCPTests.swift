import ICELite
import Testing

@testable import TransportMedia

@Suite("RTCP") struct RTCPTests {
    private func types(_ bytes: [UInt8]) -> (packets: [RTCPPacket], error: RTPError?) {
        var reader = RTCPReader()
        var packets: [RTCPPacket] = []
        do throws(RTPError) {
            while let packet = try reader.next(in: bytes.span.bytes) { packets.append(packet) }
            return (packets, nil)
        } catch {
            return (packets, error)
        }
    }

    @Test("Unknown types in a compound are skipped by their length") func unknownTypes() throws {
        let bytes = try RTPVectors.packets("RTP-16.hex")[0]
        let (packets, error) = types(bytes)
        #expect(error == nil)
        guard packets.count == 6 else {
            Issue.record("\(packets)")
            return
        }
        guard case .senderReport(_, let info, _) = packets[0], case .sourceDescription(_, let name) = packets[1],
            case .receiverReport(_, let blocks) = packets[5]
        else {
            Issue.record("\(packets)")
            return
        }
        #expect(info.packetCount == 5 && info.octetCount == 600)
        #expect(name.map { String(decoding: bytes[$0], as: UTF8.self) } == "case@example")
        #expect(packets[2...4] == [.unknown(type: 205), .unknown(type: 207), .unknown(type: 211)])
        let block = blocks.block(0, in: bytes.span.bytes)
        #expect(block.fractionLost == 64 && block.cumulativeLost == 3 && block.highestSequence == 65_541)
    }

    @Test("Malformed packets are refused or used in part") func malformed() throws {
        let outcomes = try RTPVectors.packets("RTP-18.hex").map { types($0).error }
        #expect(
            outcomes == [
                .truncated, .badLength, .badLength, .badLength, nil, .badVersion(1), .badPadding, .truncated,
            ])
    }

    @Test("Truncated at every length and mutated, nothing traps") func hostile() throws {
        var randomness = Randomness.seeded(2)
        for packet in try RTPVectors.packets("RTP-16.hex") + RTPVectors.packets("RTP-18.hex") {
            var reception: RTPReceptionStatistics? = RTPReceptionStatistics(ssrc: SSRC(0x1A2B_3C4D))
            var reporter = RTCPReporter(localSSRC: SSRC(7), cname: "x")
            for count in 0...packet.count {
                let cut = types(Array(packet[..<count]))
                #expect(cut.packets.count <= packet.count / 4)
                if !count.isMultiple(of: 4) { #expect(cut.error != nil, "\(count)") }
                reporter.handle(Array(packet[..<count]).span.bytes, reception: &reception, now: .zero)
            }
            for _ in 0..<2_000 {
                var changed = packet
                for _ in 0...3 {
                    changed[Int.random(in: 0..<packet.count, using: &randomness)] = UInt8(
                        truncatingIfNeeded: randomness.next())
                }
                reporter.handle(changed.span.bytes, reception: &reception, now: .zero + .seconds(1))
            }
        }
    }

    @Test("Reports, descriptions and goodbyes are read back") func roundTrip() throws {
        let block = RTCPReportBlock(
            ssrc: SSRC(9), fractionLost: 200, cumulativeLost: -5, highestSequence: 0x0001_0002, jitter: 77,
            lastSenderReport: 0xAABB_CCDD, delaySinceLastSenderReport: 65_536)
        let info = RTCPSenderInfo(ntpTime: 0x0102_0304_0506_0708, rtpTimestamp: 5, packetCount: 6, octetCount: 7)
        for length in 0...9 {
            let name = Array("abcdefghi".utf8.prefix(length))
            let bytes = try RTPVectors.written {
                try RTCPWriter.senderReport(from: SSRC(1), info, block: block, into: &$0)
                try RTCPWriter.receiverReport(from: SSRC(1), block: nil, into: &$0)
                try RTCPWriter.sourceDescription(of: SSRC(1), cname: name, into: &$0)
                try RTCPWriter.goodbye(of: SSRC(1), into: &$0)
            }
            #expect(bytes.count % 4 == 0)
            let (packets, error) = types(bytes)
            #expect(error == nil && packets.count == 4)
            guard case .senderReport(SSRC(1), info, let blocks) = packets[0],
                case .sourceDescription(SSRC(1), let text?) = packets[2], case .goodbye(let sources) = packets[3]
            else {
                Issue.record("\(packets)")
                return
            }
            let blockRead = blocks.block(0, in: bytes.span.bytes)
            #expect(blockRead == block)
            #expect(Array(bytes[text]) == name)
            let isOne = sources.contains(SSRC(1), in: bytes.span.bytes)
            let isTwo = sources.contains(SSRC(2), in: bytes.span.bytes)
            #expect(isOne && !isTwo)
        }
    }

    // MARK: - Statistics

    private func header(_ sequence: Int, _ timestamp: Int) -> RTPHeader {
        RTPHeader(
            marker: false, payloadType: .defaultOpus,
            sequenceNumber: SequenceNumber(UInt16(truncatingIfNeeded: sequence)),
            timestamp: UInt32(truncatingIfNeeded: timestamp), ssrc: SSRC(1))
    }

    @Test("Loss is counted per interval and since the beginning, through the wrap") func loss() throws {
        var reception = RTPReceptionStatistics(ssrc: SSRC(1))
        for index in 0..<100 where index % 4 != 3 {
            reception.receive(
                header(65_500 + index, index * 960), byteCount: 52, now: .zero + .milliseconds(Int64(index) * 20))
        }
        // Of 99 expected (the last one, a loss, is not known of) 24 are missing.
        let firstBlock = reception.makeReportBlock(now: .zero)
        var block = try #require(firstBlock)
        #expect(block.cumulativeLost == 24 && block.fractionLost == UInt8(24 * 256 / 99))
        #expect(block.highestSequence == 65_500 + 98)
        for index in 100..<200 {
            reception.receive(
                header(65_500 + index, index * 960), byteCount: 52, now: .zero + .milliseconds(Int64(index) * 20))
        }
        let secondBlock = reception.makeReportBlock(now: .zero)
        block = try #require(secondBlock)
        #expect(block.cumulativeLost == 25 && block.fractionLost == UInt8(256 / 101))
        // A second copy lowers what is lost.
        reception.receive(header(65_500 + 199, 199 * 960), byteCount: 52, now: .zero + .seconds(4))
        #expect(reception.packetsLost == 24)
    }

    @Test("Jitter follows RFC 3550 §A.8 and ignores pauses") func jitter() {
        var reception = RTPReceptionStatistics(ssrc: SSRC(1))
        var expected = 0.0
        var last: (Int64, Int)?
        for index in 0..<200 {
            let arrival = Int64(index) * 20 + (index % 3 == 0 ? 6 : 0)
            reception.receive(header(index, index * 960), byteCount: 52, now: .zero + .milliseconds(arrival))
            if let last { expected += (abs(Double((arrival - last.0) * 48) - Double(960)) - expected) / 16 }
            last = (arrival, index)
        }
        #expect(abs(Double(reception.jitter) - expected) <= 2)
        let before = reception.jitter
        reception.receive(header(200, 200 * 960 + 48_000), byteCount: 52, now: .zero + .milliseconds(9_000))
        #expect(reception.jitter == before)
    }

    @Test("One wild number is passed over, two in a row begin anew") func restart() {
        var reception = RTPReceptionStatistics(ssrc: SSRC(1))
        for index in 0..<10 { reception.receive(header(index, 0), byteCount: 52, now: .zero) }
        reception.receive(header(30_000, 0), byteCount: 52, now: .zero)
        reception.receive(header(10, 0), byteCount: 52, now: .zero)
        #expect(reception.packetsLost == 0 && reception.highest?.rawValue == 10 && reception.restarts == 0)
        for index in 0..<3 { reception.receive(header(30_000 + index, 0), byteCount: 52, now: .zero) }
        #expect(reception.restarts == 1 && reception.highest?.rawValue == 30_002)
    }

    @Test("Two reporters learn the round trip and the loss of each other") func reporters() throws {
        var alice = RTCPReporter(localSSRC: SSRC(1), cname: "alice")
        var bob = RTCPReporter(localSSRC: SSRC(2), cname: "bob")
        var heardByAlice: RTPReceptionStatistics? = RTPReceptionStatistics(ssrc: SSRC(2))
        var heardByBob: RTPReceptionStatistics? = RTPReceptionStatistics(ssrc: SSRC(1))
        var sent = RTPSenderCounters()
        sent.packetsSent = 5
        sent.lastPacketAt = .zero
        alice.start(now: .zero)
        bob.start(now: .zero)
        #expect(alice.nextDeadline == .zero + .milliseconds(500))
        for index in 0..<8 where index % 4 != 2 {
            heardByBob?.receive(
                header(index, index * 960), byteCount: 52, now: .zero + .milliseconds(Int64(index) * 20))
        }
        let early = try RTPVectors.written {
            let isDue = try alice.pollReport(into: &$0, sent: sent, reception: &heardByAlice, now: .zero)
            #expect(!isDue)
        }
        #expect(early.isEmpty)
        // 40 ms there, 300 ms of waiting, 60 ms back.
        let first = try RTPVectors.written {
            let isDue = try alice.pollReport(
                into: &$0, sent: sent, reception: &heardByAlice, now: .zero + .milliseconds(500))
            #expect(isDue)
        }
        let isAboutBob = bob.handle(first.span.bytes, reception: &heardByBob, now: .zero + .milliseconds(540))
        #expect(!isAboutBob)
        let second = try RTPVectors.written {
            let isDue = try bob.pollReport(
                into: &$0, sent: RTPSenderCounters(), reception: &heardByBob, now: .zero + .milliseconds(840))
            #expect(isDue)
        }
        // Bob saw loss: he is back after half a second.
        #expect(bob.nextDeadline == .zero + .milliseconds(1_340))
        let isAboutAlice = alice.handle(second.span.bytes, reception: &heardByAlice, now: .zero + .milliseconds(900))
        #expect(isAboutAlice)
        let report = try #require(alice.remote)
        let roundTrip = try #require(report.roundTrip)
        #expect(abs(roundTrip - .milliseconds(100)) < .milliseconds(1))
        #expect(report.highestSequence == 7 && report.cumulativeLost == 2 && report.fractionLost == 0.25)
        #expect(alice.roundTripTimeMeasurements == 1 && report.standstills == 0)
        alice.handle(second.span.bytes, reception: &heardByAlice, now: .zero + .milliseconds(901))
        #expect(alice.remote?.standstills == 1)
        let end = try RTPVectors.written {
            try alice.writeGoodbye(into: &$0, sent: sent, reception: &heardByAlice, now: .zero + .seconds(1))
        }
        bob.handle(end.span.bytes, reception: &heardByBob, now: .zero + .seconds(1))
        #expect(bob.remoteGoodbye && alice.nextDeadline == .never && bob.malformed == 0)
        #expect(end.count <= alice.byteCountAtMost)
    }

    @Test("A round trip is 0 within rounding, nil when it makes no sense") func roundTripBounds() {
        let block = { (lsr: UInt32, dlsr: UInt32) in
            RTCPReportBlock(
                ssrc: SSRC(1), fractionLost: 0, cumulativeLost: 0, highestSequence: 0, jitter: 0, lastSenderReport: lsr,
                delaySinceLastSenderReport: dlsr)
        }
        let now = Instant.zero + .seconds(100)
        let compact = NTPTime.compact(now)
        #expect(RTPReceptionStatistics.roundTrip(of: block(0, 0), now: now) == nil)
        #expect(RTPReceptionStatistics.roundTrip(of: block(compact, 3), now: now) == 0)
        #expect(RTPReceptionStatistics.roundTrip(of: block(compact &+ 65_536, 0), now: now) == nil)
        #expect(RTPReceptionStatistics.roundTrip(of: block(compact &- 61 * 65_536, 0), now: now) == nil)
        let half = RTPReceptionStatistics.roundTrip(of: block(compact &- 65_536, 32_768), now: now) ?? 0
        #expect(abs(half - .milliseconds(500)) < .microseconds(50))
    }
}
