import ICELite
import Testing
import TransportRuntime

@testable import TransportMedia

/// Which SSRCs are received, and what a packet that does not authenticate changes.
@Suite("SRTP sources") struct SRTPSourceTests {
    private let end = SRTPSessionTests()

    private func receiver(_ profile: SRTPProfile) throws -> SRTPSession {
        var receiver = try SRTPSession(keys: SRTPSessionTests.keys(profile, swapped: true), localSSRC: 0x2222)
        receiver.learnablePayloadTypes = [111, 63]
        return receiver
    }

    private func sender(_ profile: SRTPProfile, _ ssrc: UInt32) throws -> SRTPSession {
        try SRTPSession(keys: SRTPSessionTests.keys(profile), localSSRC: ssrc)
    }

    @Test(
        "An SSRC is learned from its reports, but its RTP only with our payload type", arguments: SRTPProfile.allCases)
    func reportsFirst(profile: SRTPProfile) throws {
        var receiver = try receiver(profile)
        var sender = try sender(profile, 7)
        let report = try end.protect(SRTPSessionTests.rtcp(ssrc: 7), &sender, rtcp: true)
        let got = try end.unprotect(report, &receiver, rtcp: true)
        #expect(got.result == .ok && got.bytes == SRTPSessionTests.rtcp(ssrc: 7))
        #expect(try end.unprotect(report, &receiver, rtcp: true).result == .dropped(.replay))
        #expect(receiver.statistics.learnedSSRCs == 1 && receiver.remoteSSRCs == [7])
        let foreign = try end.protect(SRTPSessionTests.rtp(9, ssrc: 7, payloadType: 96), &sender)
        #expect(try end.unprotect(foreign, &receiver).result == .dropped(.noStream))
        for (sequence, payloadType) in [(UInt16(10), UInt8(63)), (11, 111), (12, 96)] {
            let plain = SRTPSessionTests.rtp(sequence, ssrc: 7, payloadType: payloadType)
            let got = try end.unprotect(end.protect(plain, &sender), &receiver)
            #expect(got.result == .ok && got.bytes == plain, "\(sequence)")
        }
        #expect(receiver.statistics.learnedSSRCs == 1 && receiver.statistics.probes == 1)
    }

    @Test("Forged packets of unknown SSRCs are tried and counted, and leave nothing", arguments: SRTPProfile.allCases)
    func forgedSources(profile: SRTPProfile) throws {
        var receiver = try receiver(profile)
        for ssrc in UInt32(1)...200 {
            var stranger = try SRTPSession(keys: SRTPSessionTests.keys(profile, seed: 9), localSSRC: ssrc)
            let isReport = ssrc > 100
            let plain = isReport ? SRTPSessionTests.rtcp(ssrc: ssrc) : SRTPSessionTests.rtp(1, ssrc: ssrc)
            let forged = try end.protect(plain, &stranger, rtcp: isReport)
            #expect(try end.unprotect(forged, &receiver, rtcp: isReport).result == .dropped(.authentication))
        }
        #expect(receiver.remoteSSRCs.isEmpty && receiver.statistics.learnedSSRCs == 0)
        #expect(receiver.statistics.probes == 200 && receiver.statistics.dropped(.authentication) == 200)
        var genuine = try sender(profile, 55)
        #expect(try end.unprotect(end.protect(SRTPSessionTests.rtp(3, ssrc: 55), &genuine), &receiver).result == .ok)
    }

    @Test("Eight SSRCs are received at most, four of them learned", arguments: SRTPProfile.allCases)
    func bounds(profile: SRTPProfile) throws {
        var receiver = try receiver(profile)
        for ssrc in UInt32(1)...6 { receiver.addRemoteSSRC(ssrc) }
        for ssrc in UInt32(100)...103 {
            var sender = try sender(profile, ssrc)
            let result = try end.unprotect(end.protect(SRTPSessionTests.rtp(3, ssrc: ssrc), &sender), &receiver).result
            #expect(result == (ssrc <= 101 ? .ok : .dropped(.noStream)), "\(ssrc)")
        }
        let answers = [receiver.addRemoteSSRC(200), receiver.addRemoteSSRC(101)]
        #expect(answers == [false, true])
        #expect(receiver.remoteSSRCs == [1, 2, 3, 4, 5, 6, 100, 101])
        #expect(receiver.statistics.learnedSSRCs == 2 && receiver.statistics.dropped(.noStream) == 2)
    }

    @Test("A failed unprotect changes the buffer under GCM: mended in place it fails, a copy that was kept does not")
    func neverRetriedInPlace() throws {
        var sender = try sender(.aeadAES128GCM, 7)
        var receiver = try receiver(.aeadAES128GCM)
        receiver.addRemoteSSRC(7)
        let plain = SRTPSessionTests.rtp(1, ssrc: 7)
        let genuine = try end.protect(plain, &sender)
        var damaged = genuine
        damaged[genuine.count - 1] ^= 1
        var packet = try end.packet(damaged)
        #expect(receiver.unprotectRTP(&packet) == .dropped(.authentication))
        let after = end.contents(packet)
        #expect(after.count == damaged.count && after != damaged)
        let mended: [UInt8] = after.dropLast() + [genuine[genuine.count - 1]]
        packet.assign(mended.span.bytes)
        #expect(receiver.unprotectRTP(&packet) == .dropped(.authentication))
        let got = try end.unprotect(genuine, &receiver)
        #expect(got.result == .ok && got.bytes == plain)
    }

    @Test("A packet of ours that comes back is no packet of the peer's", arguments: SRTPProfile.allCases)
    func echo(profile: SRTPProfile) throws {
        var ours = try sender(profile, 7)
        ours.addRemoteSSRC(7)
        let packet = try end.protect(SRTPSessionTests.rtp(1, ssrc: 7), &ours)
        let report = try end.protect(SRTPSessionTests.rtcp(ssrc: 7), &ours, rtcp: true)
        #expect(try end.unprotect(packet, &ours).result == .dropped(.authentication))
        #expect(try end.unprotect(report, &ours, rtcp: true).result == .dropped(.authentication))
    }
}
