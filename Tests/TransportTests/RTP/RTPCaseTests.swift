// The names are the keys of the vector files.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import ICELite
import Testing

@testable import TransportMedia

/// Cases of public bug reports on RTP and RTCP: each test asserts what its case expects.
@Suite("RTP cases") struct RTPCaseTests {
    private struct Outcome: Decodable, Equatable {
        var payload_len: Int?
        var counts_sequence: Bool?
        var error: Bool?
    }

    /// What becomes of the packet; whether its sequence number counts is asked of the statistics.
    private func outcome(_ bytes: [UInt8], like wanted: Outcome) -> Outcome {
        do throws(RTPError) {
            let header = try RTPHeader(parsing: bytes.span.bytes)
            var reception = RTPReceptionStatistics(ssrc: header.ssrc)
            reception.receive(header, byteCount: bytes.count, now: .zero)
            let counts = reception.packetsReceived == 1 && reception.packetsLost == 0 && reception.highest != nil
            return Outcome(
                payload_len: header.payload.count, counts_sequence: wanted.counts_sequence == nil ? nil : counts)
        } catch {
            return Outcome(error: true)
        }
    }

    @Test("RTP-11, RTP-12: padding and odd headers", arguments: ["RTP-11", "RTP-12"]) func headers(id: String) throws {
        let expect = try RTPCase.expect(id, as: [Outcome].self)
        let packets = try RTPVectors.packets("\(id).hex")
        #expect(packets.count == expect.count && expect.count >= 6)
        for (index, (packet, wanted)) in zip(packets, expect).enumerated() {
            #expect(outcome(packet, like: wanted) == wanted, "\(id), packet \(index)")
        }
    }

    @Test("RTP-11: packets of padding alone are no loss, no audio, and leave the audio around them alone")
    func paddingInStream() throws {
        let pool = try RTPVectors.packets("RTP-11.hex")
        #expect(try RTPCase.expect("RTP-11", as: [Outcome].self)[1] == Outcome(payload_len: 0, counts_sequence: true))
        var reception = RTPReceptionStatistics(ssrc: SSRC(0x1A2B_3C4D))
        var audio: [UInt16] = []
        for sequence in UInt16(0)..<200 {
            // Every third packet is padding, of any length.
            var bytes = sequence % 3 == 0 ? pool[1] : RTPVectors.bytes(hex: "806f0000 000003c0 1a2b3c4d 78616263")
            if sequence % 3 == 0 {
                bytes = Array(bytes[..<12]) + Array(repeating: 0, count: Int(sequence)) + [UInt8(sequence) + 1]
            }
            bytes[2] = UInt8(sequence >> 8)
            bytes[3] = UInt8(sequence & 255)
            let header = try RTPHeader(parsing: bytes.span.bytes)
            reception.receive(header, byteCount: bytes.count, now: .zero)
            if !header.payload.isEmpty { audio.append(sequence) }
        }
        #expect(reception.packetsLost == 0 && reception.packetsReceived == 200)
        #expect(audio == (UInt16(0)..<200).filter { $0 % 3 != 0 })
    }

    @Test("RTP-13: one-byte elements end where they must, and the payload stays where it is") func extensions() throws {
        let expect = try RTPCase.expect("RTP-13", as: [[String: String]].self)
        let packets = try RTPVectors.packets("RTP-13.hex")
        #expect(packets.count == expect.count && expect.count == 6)
        for (index, (packet, wanted)) in zip(packets, expect).enumerated() {
            let elements = try RTPExtensionTests.elements(packet)
            let told = Dictionary(
                uniqueKeysWithValues: elements.map { id, value in
                    (String(id), value.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())
                })
            #expect(told == wanted, "packet \(index)")
            #expect(try RTPHeader(parsing: packet.span.bytes).payload.count == 12, "packet \(index)")
        }
    }

    @Test("RTP-15: the second byte, marker and all, tells RTCP from RTP") func demultiplexing() throws {
        struct Row: Decodable {
            var first_two: String
            var second: Int
            var cls: String
        }
        let sentence = try RTPCase.expect("RTP-15", as: String.self)
        let bounds = sentence.split { !$0.isNumber }.compactMap { Int($0) }
        #expect(bounds == [192, 223])
        let rows = try RTPVectors.json("RTP-15.json", as: [Row].self)
        #expect(rows.count == 11)
        for row in rows {
            let bytes = RTPVectors.bytes(hex: row.first_two)
            let verdict = isRTCP(bytes.span.bytes)
            #expect(verdict == row.cls.hasPrefix("rtcp"), "\(row.cls)")
            #expect(verdict == (bounds[0]...bounds[1]).contains(row.second), "\(row.cls)")
        }
        // All of them, behind every first byte of version 2.
        for second in 0...255 {
            for first in [0x80, 0x9F, 0xA0, 0xBF] {
                let verdict = isRTCP([UInt8(first), UInt8(second)].span.bytes)
                #expect(verdict == (bounds[0]...bounds[1]).contains(second), "\(second)")
            }
        }
        let short = isRTCP([0x80].span.bytes)
        #expect(!short)
    }

    // MARK: - RTCP

    private struct Compound: Decodable {
        struct Report: Decodable {
            var fraction_lost: UInt8
            var cumulative: Int32
            var ehsn: UInt32
        }
        var known: [UInt8]
        var skipped: [UInt8]
        var rr: Report
    }

    private func read(_ bytes: [UInt8]) -> (packets: [RTCPPacket], error: RTPError?) {
        var reader = RTCPReader()
        var packets: [RTCPPacket] = []
        do throws(RTPError) {
            while let packet = try reader.next(in: bytes.span.bytes) { packets.append(packet) }
            return (packets, nil)
        } catch {
            return (packets, error)
        }
    }

    @Test("RTP-16: unknown types in a compound are skipped by their length, and counted") func unknownTypes() throws {
        let expect = try RTPCase.expect("RTP-16", as: Compound.self)
        let bytes = try RTPVectors.packets("RTP-16.hex")[0]
        let (packets, error) = read(bytes)
        #expect(error == nil)
        var known: [UInt8] = []
        var skipped: [UInt8] = []
        var report: RTCPReportBlock?
        for packet in packets {
            switch packet {
            case .senderReport: known.append(200)
            case .receiverReport(_, let blocks):
                known.append(201)
                report = blocks.block(0, in: bytes.span.bytes)
            case .sourceDescription: known.append(202)
            case .goodbye: known.append(203)
            case .unknown(let type): skipped.append(type)
            }
        }
        #expect(known == expect.known && skipped == expect.skipped)
        #expect(report?.fractionLost == expect.rr.fraction_lost)
        #expect(report?.cumulativeLost == expect.rr.cumulative)
        #expect(report?.highestSequence == expect.rr.ehsn)
        // The reporter whose stream the block is about learns the same, and that nothing was malformed.
        let about = try #require(report)
        var reporter = RTCPReporter(localSSRC: about.ssrc, cname: "", randomness: .seeded(1))
        var reception: RTPReceptionStatistics?
        let news = reporter.handle(bytes.span.bytes, reception: &reception, now: .zero)
        #expect(news.isAboutUs && reporter.unknownPackets == expect.skipped.count && reporter.malformed == 0)
        #expect(reporter.remote?.highestSequence == expect.rr.ehsn)
        #expect(reporter.remote?.cumulativeLost == expect.rr.cumulative)
    }

    @Test("RTP-16: any unknown type at any place of a compound leaves the report behind it") func unknownAnywhere()
        throws
    {
        let expect = try RTPCase.expect("RTP-16", as: Compound.self)
        let block = RTCPReportBlock(
            ssrc: SSRC(7), fractionLost: expect.rr.fraction_lost, cumulativeLost: expect.rr.cumulative,
            highestSequence: expect.rr.ehsn, jitter: 0, lastSenderReport: 0, delaySinceLastSenderReport: 0)
        let report = try RTPVectors.written { try RTCPWriter.receiverReport(from: SSRC(1), block: block, into: &$0) }
        for type in UInt8(192)...223 where !(200...203).contains(type) {
            for words in [0, 1, 5, 40] {
                let unknown = [0x8F, type, 0, UInt8(words)] + [UInt8](repeating: 0xFF, count: 4 * words)
                var reporter = RTCPReporter(localSSRC: SSRC(7), cname: "", randomness: .seeded(1))
                var reception: RTPReceptionStatistics?
                let compound = unknown + report + unknown
                let news = reporter.handle(compound.span.bytes, reception: &reception, now: .zero)
                #expect(news.isAboutUs && reporter.unknownPackets == 2, "type \(type), \(words) words")
                #expect(reporter.remote?.highestSequence == expect.rr.ehsn && reporter.malformed == 0)
            }
        }
    }

    @Test("RTP-18: malformed RTCP is refused or used in part, counted, and nothing traps") func malformed() throws {
        let expect = try RTPCase.expect("RTP-18", as: [String: String].self)
        #expect(expect == ["each": "no_crash"])
        let packets = try RTPVectors.packets("RTP-18.hex")
        #expect(
            packets.map { read($0).error } == [
                .truncated, .badLength, .badLength, .badLength, nil, .badVersion(1), .badPadding, .truncated,
            ])
        var reporter = RTCPReporter(localSSRC: SSRC(1), cname: "", randomness: .seeded(1))
        var reception: RTPReceptionStatistics? = RTPReceptionStatistics(ssrc: SSRC(1))
        for packet in packets { reporter.handle(packet.span.bytes, reception: &reception, now: .zero) }
        #expect(reporter.malformed == 7 && reporter.unknownPackets == 1)
        // Behind a good report each is used up to its fault.
        let block = RTCPReportBlock(
            ssrc: SSRC(1), fractionLost: 0, cumulativeLost: 0, highestSequence: 9, jitter: 0, lastSenderReport: 0,
            delaySinceLastSenderReport: 0)
        let good = try RTPVectors.written { try RTCPWriter.receiverReport(from: SSRC(1), block: block, into: &$0) }
        for packet in packets {
            let news = reporter.handle((good + packet).span.bytes, reception: &reception, now: .zero)
            #expect(news.isAboutUs)
        }
        #expect(reporter.malformed == 14 && reporter.reportsReceived >= packets.count)
    }

    @Test("RTP-18: cut at every length and bent by seed, nothing traps") func hostile() throws {
        #expect(try RTPCase.expect("RTP-18", as: [String: String].self)["each"] == "no_crash")
        var randomness = Randomness.seeded(2)
        for packet in try RTPVectors.packets("RTP-16.hex") + RTPVectors.packets("RTP-18.hex") {
            var reception: RTPReceptionStatistics? = RTPReceptionStatistics(ssrc: SSRC(0x1A2B_3C4D))
            var reporter = RTCPReporter(localSSRC: SSRC(7), cname: "x", randomness: .seeded(1))
            for count in 0...packet.count {
                let cut = Array(packet[..<count])
                let (packets, error) = read(cut)
                #expect(packets.count <= count / 4)
                if !count.isMultiple(of: 4) { #expect(error != nil, "\(count)") }
                reporter.handle(cut.span.bytes, reception: &reception, now: .zero)
            }
            for _ in 0..<2_000 {
                var bent = packet
                for _ in 0...3 {
                    bent[Int.random(in: 0..<packet.count, using: &randomness)] = UInt8(
                        truncatingIfNeeded: randomness.next())
                }
                reporter.handle(bent.span.bytes, reception: &reception, now: .zero + .seconds(1))
            }
            #expect(reporter.malformed > 100)
        }
    }
}
