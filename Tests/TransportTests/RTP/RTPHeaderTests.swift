import ICELite
import Testing

@testable import TransportMedia

@Suite("RTP headers") struct RTPHeaderTests {
    @Test("What is written is read back") func roundTrip() throws {
        let header = RTPHeader(
            marker: true, payloadType: .defaultOpus, sequenceNumber: SequenceNumber(65_535), timestamp: 0xFEDC_BA98,
            ssrc: SSRC(0x1234_5678))
        let bytes = try RTPVectors.written { try header.encode(into: &$0) }
        #expect(bytes == RTPVectors.bytes(hex: "80efffff fedcba98 12345678"))
        let parsed = try RTPHeader(parsing: bytes.span.bytes)
        #expect(parsed == header)
        #expect(throws: RTPError.noRoom) { _ = try RTPVectors.written(11) { try header.encode(into: &$0) } }
    }

    @Test("Every truncation and many mutations neither trap nor reach outside") func hostile() throws {
        var randomness = Randomness.seeded(1)
        for name in ["RTP-11.hex", "RTP-12.hex", "RTP-13.hex"] {
            for packet in try RTPVectors.packets(name) {
                for count in 0...packet.count {
                    let cut = Array(packet[..<count])
                    if let header = try? RTPHeader(parsing: cut.span.bytes) {
                        #expect(header.payload.upperBound <= count)
                    }
                }
                for _ in 0..<500 {
                    var changed = packet
                    for _ in 0...2 {
                        changed[Int.random(in: 0..<packet.count, using: &randomness)] = UInt8(
                            truncatingIfNeeded: randomness.next())
                    }
                    if let header = try? RTPHeader(parsing: changed.span.bytes) {
                        #expect(header.payload.upperBound <= changed.count)
                    }
                }
            }
        }
    }
}

@Suite("Sequence numbers") struct SequenceNumberTests {
    @Test("The distance wraps") func distance() {
        #expect(SequenceNumber(2).distance(from: SequenceNumber(65_534)) == 4)
        #expect(SequenceNumber(65_534).distance(from: SequenceNumber(2)) == -4)
        #expect(SequenceNumber(65_535).next == SequenceNumber(0))
    }

    @Test("Rollovers are counted through reordering at the wrap") func rollover() {
        var tracker = SequenceNumberTracker()
        let extended = [65_533, 65_535, 0, 65_534, 0, 1].map { tracker.update(SequenceNumber($0)).rawValue }
        #expect(extended == [65_533, 65_535, 65_536, 65_534, 65_536, 65_537])
        #expect(tracker.highest?.rollover == 1)
    }

    @Test("Three rounds count three rollovers; a number before the first is negative") func rounds() {
        var tracker = SequenceNumberTracker()
        for value in stride(from: 5, to: 3 * 65_536 + 10, by: 1_000) {
            tracker.update(SequenceNumber(UInt16(truncatingIfNeeded: value)))
        }
        #expect(tracker.highest?.rollover == 2)
        var early = SequenceNumberTracker()
        early.update(SequenceNumber(0))
        #expect(early.update(SequenceNumber(65_535)).rawValue == -1)
    }

    @Test("A first number is 1…32,767") func initial() {
        var randomness = Randomness.seeded(5)
        for _ in 0..<2_000 {
            #expect((1...32_767).contains(SequenceNumber.randomInitial(using: &randomness).rawValue))
        }
    }
}
