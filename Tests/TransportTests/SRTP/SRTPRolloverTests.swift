import ICELite
import Testing
import TransportRuntime

@testable import TransportMedia

/// The rollover counter over wraps and over gaps that went by on another carriage. Every packet is compared with the
/// reference, so that a counter that both ends have wrong alike shows.
@Suite("SRTP rollover") struct SRTPRolloverTests {
    private let end = SRTPSessionTests()
    private static let ssrc: UInt32 = 0xCAFE_BABE

    private func plain(_ index: UInt64) -> [UInt8] {
        SRTPSessionTests.rtp(UInt16(truncatingIfNeeded: index), ssrc: Self.ssrc)
    }

    private func protected(_ index: UInt64, _ session: inout SRTPSession) throws -> [UInt8] {
        var packet = try end.packet(plain(index))
        let result = session.protectRTP(&packet, index: index)
        #expect(result == .ok, "index \(index)")
        return end.contents(packet)
    }

    private func receiver(_ profile: SRTPProfile) throws -> SRTPSession {
        var receiver = try SRTPVectorTests.session(profile)
        receiver.addRemoteSSRC(Self.ssrc)
        return receiver
    }

    private static let gaps: [UInt64] = [
        1, 16_383, 16_384, 32_767, 32_768, 32_769, 40_000, 65_535, 65_536, 65_537, 100_000, 500_000, 1 << 33,
    ]

    @Test("Numbers that went by on the line are counted: any gap, then two more wraps", arguments: SRTPProfile.allCases)
    func gaps(profile: SRTPProfile) throws {
        let reference = try SRTPReference(profile: profile, master: SRTPVectorTests.master(profile))
        for start in [UInt64(1), 20_000, 32_767, 32_768, 32_769, 65_535] {
            for gap in Self.gaps {
                var sender = try SRTPVectorTests.session(profile)
                var receiver = try receiver(profile)
                #expect(try end.unprotect(protected(start, &sender), &receiver).result == .ok)
                let resumed = start + gap
                receiver.advanceReceiver(of: Self.ssrc, to: resumed - 1)
                for index in stride(from: resumed, to: resumed + 140_000, by: 9_973) {
                    let packet = try protected(index, &sender)
                    let expected = try reference.protectRTP(plain(index), index: index)
                    #expect(packet == expected, "start \(start), gap \(gap), index \(index)")
                    let got = try end.unprotect(packet, &receiver)
                    #expect(got.result == .ok && got.bytes == plain(index), "start \(start), gap \(gap), \(index)")
                }
            }
        }
    }

    @Test("A receiver that heard nothing before the gap begins in the right round", arguments: SRTPProfile.allCases)
    func nothingBefore(profile: SRTPProfile) throws {
        for index in [UInt64(70_000), 131_071, 131_072, 300_000] {
            var sender = try SRTPVectorTests.session(profile)
            var receiver = try receiver(profile)
            receiver.advanceReceiver(of: Self.ssrc, to: index - 1)
            for next in index..<(index + 3) {
                #expect(try end.unprotect(protected(next, &sender), &receiver).result == .ok, "\(next)")
            }
        }
    }

    @Test("A stream that only the line has told of is received where its numbers are", arguments: SRTPProfile.allCases)
    func toldByLine(profile: SRTPProfile) throws {
        var sender = try SRTPVectorTests.session(profile)
        var receiver = try SRTPVectorTests.session(profile)
        receiver.learnablePayloadTypes = [111]
        receiver.advanceReceiver(of: Self.ssrc, to: 131_072)
        #expect(receiver.remoteSSRCs == [Self.ssrc])
        #expect(try end.unprotect(protected(131_073, &sender), &receiver).result == .ok)
        for ssrc in UInt32(1)...20 { receiver.advanceReceiver(of: ssrc, to: 9) }
        #expect(receiver.remoteSSRCs.count == SRTPSession.maximumRemoteSSRCs)
        #expect(receiver.statistics.learnedSSRCs == 0 && receiver.statistics.probes == 0)
    }

    @Test("After a gap a packet of the round before the wrap is still taken", arguments: SRTPProfile.allCases)
    func lateAfterGap(profile: SRTPProfile) throws {
        var sender = try SRTPVectorTests.session(profile)
        var receiver = try receiver(profile)
        let packets = try [UInt64(5), 131_070, 131_071, 131_072, 131_073].map { try protected($0, &sender) }
        #expect(try end.unprotect(packets[0], &receiver).result == .ok)
        receiver.advanceReceiver(of: Self.ssrc, to: 131_073)
        // One of the round to come first, then the two that are late.
        for position in [3, 1, 2, 4] {
            #expect(try end.unprotect(packets[position], &receiver).result == .ok, "\(position)")
            #expect(try end.unprotect(packets[position], &receiver).result == .dropped(.replay), "\(position)")
        }
        // And the other way round: the late ones first.
        var other = try self.receiver(profile)
        other.advanceReceiver(of: Self.ssrc, to: 131_073)
        for position in 1...4 { #expect(try end.unprotect(packets[position], &other).result == .ok, "\(position)") }
    }

    @Test("A forged packet after a gap moves nothing", arguments: SRTPProfile.allCases)
    func forgedAfterGap(profile: SRTPProfile) throws {
        var sender = try SRTPVectorTests.session(profile)
        var receiver = try receiver(profile)
        #expect(try end.unprotect(protected(7, &sender), &receiver).result == .ok)
        receiver.advanceReceiver(of: Self.ssrc, to: 200_000)
        let genuine = try protected(200_001, &sender)
        for position in [2, 3, 20, genuine.count - 1] {
            var forged = genuine
            forged[position] ^= 0x80
            #expect(try end.unprotect(forged, &receiver).result == .dropped(.authentication), "byte \(position)")
        }
        #expect(try end.unprotect(genuine, &receiver).result == .ok)
    }

    @Test("The sender's counter never goes back, and no number is protected twice", arguments: SRTPProfile.allCases)
    func neverLower(profile: SRTPProfile) throws {
        var sender = try SRTPVectorTests.session(profile)
        let reference = try SRTPReference(profile: profile, master: SRTPVectorTests.master(profile))
        _ = try protected(200_000, &sender)
        for index in [UInt64(200_000), 199_999, 134_464, 3_392, 0] {
            var packet = try end.packet(plain(index))
            let result = sender.protectRTP(&packet, index: index)
            #expect(result == .dropped(.replay), "index \(index)")
        }
        // A number that is not the packet's own, and one beyond 48 bits.
        for index: UInt64 in [200_002, 1 << 48 | 200_001] {
            var packet = try end.packet(plain(200_001))
            let result = sender.protectRTP(&packet, index: index)
            #expect(result == .dropped(.malformed), "index \(index)")
        }
        let next = try protected(200_001, &sender)
        #expect(try next == reference.protectRTP(plain(200_001), index: 200_001))
    }

    @Test("The receiver's counter never goes back", arguments: SRTPProfile.allCases)
    func receiverNeverLower(profile: SRTPProfile) throws {
        var sender = try SRTPVectorTests.session(profile)
        var receiver = try receiver(profile)
        receiver.advanceReceiver(of: Self.ssrc, to: 400_000)
        for lower in [UInt64(0), 5, 399_999, 1 << 48, .max] { receiver.advanceReceiver(of: Self.ssrc, to: lower) }
        #expect(try end.unprotect(protected(400_001, &sender), &receiver).result == .ok)
        receiver.advanceReceiver(of: Self.ssrc, to: 100_000)
        #expect(try end.unprotect(protected(400_002, &sender), &receiver).result == .ok)
    }

    /// What follows from it is `SequenceNumber.randomInitial`.
    @Test(
        "A stream that begins near 65,535 and loses its first packets is lost for ever", arguments: SRTPProfile.allCases
    )
    func beginsTooHigh(profile: SRTPProfile) throws {
        var sender = try SRTPVectorTests.session(profile)
        var receiver = try receiver(profile)
        for index in UInt64(65_534)...65_535 { _ = try protected(index, &sender) }
        for index in UInt64(65_536)..<65_836 {
            #expect(try end.unprotect(protected(index, &sender), &receiver).result == .dropped(.authentication))
        }
        #expect(receiver.statistics.dropped(.authentication) == 300)
    }

    @Test("A stream that begins at 1…32,767 may lose its first 32,768 packets", arguments: SRTPProfile.allCases)
    func beginsLowEnough(profile: SRTPProfile) throws {
        var randomness = Randomness.seeded(17)
        for turn in 0..<40 {
            let first = UInt64(SequenceNumber.randomInitial(using: &randomness).rawValue)
            let lost = turn == 0 ? 32_767 : UInt64.random(in: 0...32_767, using: &randomness)
            var sender = try SRTPVectorTests.session(profile)
            var receiver = try receiver(profile)
            _ = try protected(first, &sender)
            for index in (first + lost + 1)..<(first + lost + 4) {
                #expect(try end.unprotect(protected(index, &sender), &receiver).result == .ok, "\(first), \(lost)")
            }
        }
    }
}
