import Foundation
import Testing

@testable import TransportMedia

/// What libsrtp2 needs is there before a call needs it.
@Suite("Setting libsrtp2 up") struct SRTPLibraryTests {
    /// NSS's own libraries that are loaded now; none where libsrtp2 is built on something else.
    private func loaded() throws -> Set<String> {
        let maps = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8)
        let names = maps.split(separator: "\n").compactMap { $0.split(separator: "/").last.map(String.init) }
        return Set(names.filter { $0.hasPrefix("libsoftokn") || $0.hasPrefix("libfreebl") })
    }

    @Test("Behind it no session loads anything, and what is loaded stays when the last one goes")
    func preparedOnce() throws {
        SRTPSession.prepareLibrary()
        let prepared = try loaded()
        for profile in SRTPProfile.allCases {
            var session = try SRTPSession(keys: SRTPSessionTests.keys(profile), localSSRC: 1)
            session.addRemoteSSRC(2)
            #expect(try loaded() == prepared, "\(profile)")
        }
        #expect(try loaded() == prepared)
    }

    /// So a packet of an SSRC that is not known is tried on a copy, and one that failed is dropped, never tried again.
    @Test("A packet that fails under GCM has lost its bytes: mended it fails again; under CM it has kept them")
    func failedInPlace() throws {
        let end = SRTPSessionTests()
        for profile in SRTPProfile.allCases {
            var sender = try SRTPSession(keys: SRTPSessionTests.keys(profile), localSSRC: 0x1111)
            var receiver = try SRTPSession(keys: SRTPSessionTests.keys(profile, swapped: true), localSSRC: 0x2222)
            receiver.addRemoteSSRC(0x1111)
            let good = try end.protect(SRTPSessionTests.rtp(7), &sender)
            var bent = good
            bent[bent.count - 1] ^= 1
            let failed = try end.unprotect(bent, &receiver)
            #expect(failed.result == .dropped(.authentication))
            #expect((failed.bytes == bent) == (profile == .aes128CMHMACSHA1_80), "\(profile)")
            var mended = failed.bytes
            mended[mended.count - 1] ^= 1
            let again = try end.unprotect(mended, &receiver).result
            #expect((again == .ok) == (profile == .aes128CMHMACSHA1_80), "\(profile)")
            // The packet itself has lost nothing by it.
            if profile == .aeadAES128GCM { #expect(try end.unprotect(good, &receiver).result == .ok) }
        }
    }
}
