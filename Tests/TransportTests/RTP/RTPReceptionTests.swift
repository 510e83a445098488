import ICELite
import Testing

@testable import TransportMedia

/// The arithmetic of report blocks against RFC 3550's own program: §A.1, §A.3, §A.8, and §6.4.1 for LSR and DLSR.
@Suite("RTP reception") struct RTPReceptionTests {
    /// `source` of RFC 3550, written down from its appendix, with the arrival in RTP ticks.
    private struct Appendix {
        var baseSequence = 0
        var maxSequence = 0
        var cycles = 0
        var received = 0
        var expectedPrior = 0
        var receivedPrior = 0
        var transit = 0
        var jitter = 0

        mutating func receive(_ sequence: Int, timestamp: Int, arrival: Int) {
            if received == 0 {
                baseSequence = sequence
                maxSequence = sequence
                transit = arrival - timestamp
            } else {
                let step = (sequence - maxSequence) & 0xFFFF
                if step < 3_000 {
                    if sequence < maxSequence { cycles += 65_536 }
                    maxSequence = sequence
                }
                let now = arrival - timestamp
                let difference = abs(now - transit)
                transit = now
                jitter += difference - ((jitter + 8) >> 4)
            }
            received += 1
        }

        mutating func report() -> (fraction: Int, lost: Int, highest: Int, jitter: Int) {
            let extended = cycles + maxSequence
            let expected = extended - baseSequence + 1
            let expectedInterval = expected - expectedPrior
            let lostInterval = expectedInterval - (received - receivedPrior)
            expectedPrior = expected
            receivedPrior = received
            let fraction = expectedInterval == 0 || lostInterval <= 0 ? 0 : (lostInterval << 8) / expectedInterval
            return (fraction, expected - received, extended, jitter >> 4)
        }
    }

    private func header(_ sequence: Int, _ timestamp: Int) -> RTPHeader {
        RTPHeader(
            marker: false, payloadType: .defaultOpus,
            sequenceNumber: SequenceNumber(UInt16(truncatingIfNeeded: sequence)),
            timestamp: UInt32(truncatingIfNeeded: timestamp), ssrc: SSRC(1))
    }

    @Test("Blocks are those of RFC 3550's appendix, with loss, reordering, late and double packets, over wraps")
    func appendix() throws {
        for seed in UInt64(0)..<20 {
            var randomness = Randomness.seeded(seed)
            var reception = RTPReceptionStatistics(ssrc: SSRC(1))
            var appendix = Appendix()
            // Every other run skips numbers, as a sender does whose packets go elsewhere, and wraps twice.
            let step = seed.isMultiple(of: 2) ? 1 : 20
            let first = Int.random(in: 62_000...65_535, using: &randomness)
            var arrivals: [(position: Int, at: Int)] = []
            for position in 0..<4_000 {
                if Int.random(in: 0..<10, using: &randomness) == 0, position > 0 { continue }
                let at = position * 20 + Int.random(in: 0...45, using: &randomness)
                arrivals.append((position, at))
                if Int.random(in: 0..<30, using: &randomness) == 0 { arrivals.append((position, at + 3)) }
            }
            arrivals.sort { ($0.at, $0.position) < ($1.at, $1.position) }
            // The stream's first packet comes first: what is older than the first one heard is another story.
            arrivals.sort { $0.position == 0 && $1.position != 0 }
            for (turn, (position, at)) in arrivals.enumerated() {
                let sequence = (first + position * step) & 0xFFFF
                let timestamp = 4_294_000_000 + position * 960
                reception.receive(
                    header(sequence, timestamp), byteCount: 52, now: .zero + .milliseconds(Int64(at)))
                appendix.receive(sequence, timestamp: timestamp, arrival: at * 48)
                guard turn % 37 == 0 else { continue }
                let written = reception.makeReportBlock(now: .zero)
                let block = try #require(written)
                let wanted = appendix.report()
                #expect(Int(block.fractionLost) == min(255, wanted.fraction), "seed \(seed), turn \(turn)")
                #expect(Int(block.cumulativeLost) == min(wanted.lost, 0x7F_FFFF), "seed \(seed), turn \(turn)")
                #expect(Int(block.highestSequence) == wanted.highest, "seed \(seed), turn \(turn)")
            }
        }
    }

    @Test("Jitter is that of RFC 3550 §A.8 tick for tick when every packet comes in order") func jitter() {
        for seed in UInt64(0)..<10 {
            var randomness = Randomness.seeded(seed)
            var reception = RTPReceptionStatistics(ssrc: SSRC(1))
            var appendix = Appendix()
            var nanoseconds: Int64 = 86_400_000_000_000
            for index in 0..<500 {
                nanoseconds += 20_000_000 + Int64.random(in: -7_000_000...7_000_000, using: &randomness)
                reception.receive(header(index, index * 960), byteCount: 52, now: .zero + nanoseconds)
                appendix.receive(index, timestamp: index * 960, arrival: Int(nanoseconds) / 1_000 * 48 / 1_000)
                #expect(abs(Int(reception.jitter) - appendix.report().jitter) <= 1, "seed \(seed), packet \(index)")
            }
            #expect(reception.jitter > 50)
        }
    }

    @Test("A steady stream whose packets come between ticks shows no jitter") func noJitter() {
        var reception = RTPReceptionStatistics(ssrc: SSRC(1))
        for index in 0..<2_000 {
            // A third of a nanosecond short of 20 ms cannot add up to a tick.
            reception.receive(header(index, index * 960), byteCount: 52, now: .zero + Int64(index) * 20_000_000 + 13)
        }
        #expect(reception.jitter == 0)
    }

    @Test("All lost but the last is 255 of 256, and the sum keeps to 24 bits, signed") func extremes() throws {
        var reception = RTPReceptionStatistics(ssrc: SSRC(1))
        reception.receive(header(1, 0), byteCount: 52, now: .zero)
        _ = reception.makeReportBlock(now: .zero)
        reception.receive(header(2_900, 0), byteCount: 52, now: .zero)
        let lossy = reception.makeReportBlock(now: .zero)
        #expect(lossy?.fractionLost == 255 && lossy?.cumulativeLost == 2_898)
        for (lost, read) in [(Int32(-5), Int32(-5)), (9_000_000, 0x7F_FFFF), (-9_000_000, -0x80_0000), (-1, -1)] {
            let block = RTCPReportBlock(
                ssrc: SSRC(9), fractionLost: 1, cumulativeLost: lost, highestSequence: 0, jitter: 0,
                lastSenderReport: 0, delaySinceLastSenderReport: 0)
            let bytes = RTPVectors.written { block.append(to: &$0) }
            #expect(bytes.count == RTCPReportBlock.byteCount)
            #expect(RTCPReportBlock(at: 0, in: bytes.span.bytes).cumulativeLost == read)
        }
        // Every packet twice: what is lost is negative, its fraction 0.
        var doubled = RTPReceptionStatistics(ssrc: SSRC(1))
        for index in 0..<50 {
            for _ in 0..<2 { doubled.receive(header(index, index * 960), byteCount: 52, now: .zero) }
        }
        let block = doubled.makeReportBlock(now: .zero)
        #expect(block?.cumulativeLost == -50 && block?.fractionLost == 0)
    }

    @Test("LSR is the middle of the report's NTP time, DLSR the wait since, both 0 before one") func senderReports() {
        var reception = RTPReceptionStatistics(ssrc: SSRC(1))
        #expect(reception.makeReportBlock(now: .zero) == nil)
        reception.receive(header(1, 0), byteCount: 52, now: .zero)
        let before = reception.makeReportBlock(now: .zero + .seconds(1))
        #expect(before?.lastSenderReport == 0 && before?.delaySinceLastSenderReport == 0)
        let info = RTCPSenderInfo(ntpTime: 0x0123_4567_89AB_CDEF, rtpTimestamp: 0, packetCount: 0, octetCount: 0)
        reception.receive(senderReport: info, now: .zero + .seconds(2))
        for (wait, ticks) in [(Nanoseconds(0), UInt32(0)), (.milliseconds(1_500), 98_304), (.seconds(70_000), .max)] {
            let block = reception.makeReportBlock(now: .zero + .seconds(2) + wait)
            #expect(block?.lastSenderReport == 0x4567_89AB && block?.delaySinceLastSenderReport == ticks)
        }
    }

    @Test("A gap that another carriage filled is no loss: two numbers in a row begin anew") func otherCarriage() {
        var reception = RTPReceptionStatistics(ssrc: SSRC(1))
        for index in 0..<50 { reception.receive(header(index, index * 960), byteCount: 52, now: .zero) }
        for index in 40_000..<40_050 { reception.receive(header(index, index * 960), byteCount: 52, now: .zero) }
        #expect(reception.packetsLost == 0 && reception.restarts == 1 && reception.packetsReceived == 99)
        #expect(reception.bytesReceived == 0 && reception.headerBytesReceived == 99 * 52)
    }
}
