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
        #expect(expected > 100 && abs(Double(reception.jitter) - expected) <= 2)
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
