import Foundation
import ICELite
import Testing
import TransportRuntime

@testable import TransportMedia

@Suite("SRTP sessions") struct SRTPSessionTests {
    static func keys(_ profile: SRTPProfile, swapped: Bool = false, seed: UInt8 = 0) throws -> SRTPKeys {
        let length = profile.keyLength + profile.saltLength
        let one = (0..<length).map { UInt8($0) &+ seed }
        let two = (0..<length).map { UInt8($0) &* 3 &+ 7 &+ seed }
        return try SRTPKeys(profile: profile, local: swapped ? two : one, remote: swapped ? one : two)
    }

    static func rtp(_ sequence: UInt16, ssrc: UInt32 = 0x1111, payloadType: UInt8 = 111, payload: Int = 40) -> [UInt8] {
        var bytes: [UInt8] = [0x80, payloadType, UInt8(sequence >> 8), UInt8(sequence & 255), 0, 0, 0, 1]
        for shift in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: ssrc >> UInt32(shift))) }
        return bytes + (0..<payload).map { UInt8(truncatingIfNeeded: $0) &+ UInt8(sequence & 255) }
    }

    static func rtcp(ssrc: UInt32 = 0x1111) -> [UInt8] {
        var bytes: [UInt8] = [0x80, 201, 0, 1]
        for shift in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: ssrc >> UInt32(shift))) }
        return bytes
    }

    let pool = PacketPool(size: 4)

    func packet(_ bytes: [UInt8]) throws -> Packet {
        guard var packet = pool.take() else { throw CancellationError() }
        packet.assign(bytes.span.bytes)
        return packet
    }

    func contents(_ packet: borrowing Packet) -> [UInt8] {
        Array(UnsafeRawBufferPointer(start: packet.base, count: packet.count))
    }

    func protect(_ bytes: [UInt8], _ session: inout SRTPSession, rtcp: Bool = false) throws -> [UInt8] {
        var packet = try packet(bytes)
        #expect((rtcp ? session.protectRTCP(&packet) : session.protectRTP(&packet)) == .ok)
        return contents(packet)
    }

    func unprotect(
        _ bytes: [UInt8], _ session: inout SRTPSession, rtcp: Bool = false
    ) throws -> (result: SRTPResult, bytes: [UInt8]) {
        var packet = try packet(bytes)
        let result = rtcp ? session.unprotectRTCP(&packet) : session.unprotectRTP(&packet)
        return (result, contents(packet))
    }

    @Test("What is protected is unprotected, RTP and RTCP; replays are told", arguments: SRTPProfile.allCases)
    func roundTrip(profile: SRTPProfile) throws {
        var sender = try SRTPSession(keys: Self.keys(profile), localSSRC: 0x1111)
        var receiver = try SRTPSession(keys: Self.keys(profile, swapped: true), localSSRC: 0x2222)
        receiver.addRemoteSSRC(0x1111)
        for sequence in UInt16(1)...20 {
            let plain = Self.rtp(sequence)
            let protected = try protect(plain, &sender)
            #expect(protected.count == plain.count + profile.rtpTagLength)
            #expect(protected[12...] != plain[12...])
            let first = try unprotect(protected, &receiver)
            #expect(first.result == .ok && first.bytes == plain)
            #expect(try unprotect(protected, &receiver).result == .dropped(.replay))
            let report = try protect(Self.rtcp(), &sender, rtcp: true)
            #expect(report.count == Self.rtcp().count + profile.rtcpTrailerLength)
            let got = try unprotect(report, &receiver, rtcp: true)
            #expect(got.result == .ok && got.bytes == Self.rtcp())
            #expect(try unprotect(report, &receiver, rtcp: true).result == .dropped(.replay))
        }
        #expect(receiver.statistics.dropped(.replay) == 40)
        #expect(receiver.statistics.unprotected == 40)
        #expect(pool.taken == 0)
    }

    @Test("One index is never protected twice", arguments: SRTPProfile.allCases)
    func noReuse(profile: SRTPProfile) throws {
        var sender = try SRTPSession(keys: Self.keys(profile), localSSRC: 0x1111)
        _ = try protect(Self.rtp(5), &sender)
        var again = try packet(Self.rtp(5, payload: 10))
        #expect(sender.protectRTP(&again) == .dropped(.replay))
    }

    @Test("Tampered and cut packets, and another key, are refused", arguments: SRTPProfile.allCases)
    func tampered(profile: SRTPProfile) throws {
        var sender = try SRTPSession(keys: Self.keys(profile), localSSRC: 0x1111)
        var receiver = try SRTPSession(keys: Self.keys(profile, swapped: true), localSSRC: 0x2222)
        receiver.addRemoteSSRC(0x1111)
        var stranger = try SRTPSession(keys: Self.keys(profile, swapped: true, seed: 9), localSSRC: 0x2222)
        stranger.addRemoteSSRC(0x1111)
        let plain = Self.rtp(1)
        let good = try protect(plain, &sender)
        let report = try protect(Self.rtcp(), &sender, rtcp: true)
        for length in 0..<good.count { #expect(try unprotect(Array(good[..<length]), &receiver).result != .ok) }
        for length in 0..<report.count {
            #expect(try unprotect(Array(report[..<length]), &receiver, rtcp: true).result != .ok)
        }
        for index in good.indices {
            var bad = good
            bad[index] ^= 0x40
            #expect(try unprotect(bad, &receiver).result != .ok, "byte \(index)")
        }
        for index in report.indices {
            var bad = report
            bad[index] ^= 0x40
            #expect(try unprotect(bad, &receiver, rtcp: true).result != .ok, "byte \(index)")
        }
        #expect(try unprotect(good, &stranger).result == .dropped(.authentication))
        let genuine = try unprotect(good, &receiver)
        #expect(genuine.result == .ok && genuine.bytes == plain)
        #expect(try unprotect(report, &receiver, rtcp: true).result == .ok)
    }

    @Test("Random bytes never trap", arguments: SRTPProfile.allCases)
    func random(profile: SRTPProfile) throws {
        var receiver = try SRTPSession(keys: Self.keys(profile), localSSRC: 0x2222)
        var random = Randomness.seeded(3)
        for _ in 0..<2_000 {
            var bytes = random.bytes(Int(random.next() % 120))
            if !bytes.isEmpty { bytes[0] = bytes[0] & 0x3F | 0x80 }
            #expect(try unprotect(bytes, &receiver).result != .ok)
            #expect(try unprotect(bytes, &receiver, rtcp: true).result != .ok)
        }
        #expect(receiver.remoteSSRCs.isEmpty)
    }

    @Test("An unsignalled SSRC is learned when it authenticates, four at most", arguments: SRTPProfile.allCases)
    func learned(profile: SRTPProfile) throws {
        var receiver = try SRTPSession(keys: Self.keys(profile, swapped: true), localSSRC: 0x2222)
        receiver.learnablePayloadTypes = [111]
        for ssrc in UInt32(1)...5 {
            var sender = try SRTPSession(keys: Self.keys(profile), localSSRC: ssrc)
            let foreign = try protect(Self.rtp(8, ssrc: ssrc, payloadType: 96), &sender)
            #expect(try unprotect(foreign, &receiver).result == .dropped(.noStream))
            let plain = Self.rtp(9, ssrc: ssrc)
            let good = try protect(plain, &sender)
            var forged = good
            forged[20] ^= 1
            #expect(try unprotect(forged, &receiver).result != .ok)
            #expect(!receiver.remoteSSRCs.contains(ssrc))
            let got = try unprotect(good, &receiver)
            #expect(got.result == (ssrc <= 4 ? .ok : .dropped(.noStream)))
            if ssrc <= 4 {
                #expect(got.bytes == plain)
                #expect(try unprotect(good, &receiver).result == .dropped(.replay))
            }
        }
        #expect(receiver.statistics.learnedSSRCs == 4)
    }

    @Test("The rollover counter goes on over the wrap", arguments: SRTPProfile.allCases)
    func rollover(profile: SRTPProfile) throws {
        var sender = try SRTPSession(keys: Self.keys(profile), localSSRC: 0x1111)
        var receiver = try SRTPSession(keys: Self.keys(profile, swapped: true), localSSRC: 0x2222)
        receiver.addRemoteSSRC(0x1111)
        for index in stride(from: 20_000, through: 200_000, by: 10_000) {
            let plain = Self.rtp(UInt16(truncatingIfNeeded: index))
            let got = try unprotect(protect(plain, &sender), &receiver)
            #expect(got.result == .ok && got.bytes == plain, "index \(index)")
        }
    }

    @Test("Key material of the wrong length is refused") func keyLength() {
        #expect(throws: SRTPError.keyLength(expected: 28, actual: 30)) {
            try SRTPKeys(
                profile: .aeadAES128GCM, local: Array(repeating: 0, count: 30), remote: Array(repeating: 0, count: 30))
        }
    }
}
