import Foundation
import ICELite
import Testing
import TransportRuntime

@testable import TransportMedia

/// After a call its keys are nowhere in the process's memory. The memory is read through the kernel, as a core dump or a
/// debugger would: the keys are found while the session lives, so the search itself is proved each time. One after another:
/// one search's buffer holds what another one looks for.
@Suite("SRTP key wipe", .serialized) struct SRTPKeyWipeTests {
    /// A secret that this test never writes down in one piece: each byte is hidden by the mask.
    private struct Hidden {
        static let mask: UInt8 = 0xA5
        let masked: [UInt8]

        /// Runs `body` on the secret and overwrites it then.
        func reveal<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
            let room = UnsafeMutableRawBufferPointer.allocate(byteCount: masked.count, alignment: 16)
            defer {
                for index in room.indices { room[index] = 0 }
                room.deallocate()
            }
            for index in room.indices { room[index] = masked[index] ^ Self.mask }
            return try body(UnsafeRawBufferPointer(room))
        }
    }

    /// How often `secret` stands in writable memory, this search's own buffers excepted.
    private static func occurrences(of secret: Hidden) throws -> Int {
        let maps = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8)
        let memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC)
        try #require(memory >= 0)
        defer { close(memory) }
        let overlap = secret.masked.count - 1
        let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
        defer {
            for index in chunk.indices { chunk[index] = 0 }
            chunk.deallocate()
        }
        return try secret.reveal { needle in
            let start = try #require(chunk.baseAddress)
            let first = try #require(needle.baseAddress)
            let own = [UnsafeRawBufferPointer(chunk), needle].map { bytes -> ClosedRange<UInt> in
                let start = UInt(bitPattern: bytes.baseAddress)
                return start...(start + UInt(bytes.count))
            }
            var count = 0
            for line in maps.split(separator: "\n") where line.contains(" rw") {
                let ends = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
                guard ends.count == 2, !line.contains("[vvar") else { continue }
                var at = ends[0]
                while at < ends[1] {
                    let wanted = min(chunk.count, Int(ends[1] - at))
                    let got = pread(memory, start, wanted, off_t(at))
                    guard got > overlap else { break }
                    var from = 0
                    while got - from > overlap,
                        let hit = memchr(start + from, Int32(needle[0]), got - from - overlap)
                    {
                        let offset = UnsafeRawPointer(hit) - UnsafeRawPointer(start)
                        from = offset + 1
                        guard memcmp(hit, first, needle.count) == 0 else { continue }
                        if !own.contains(where: { $0.contains(at + UInt(offset)) }) { count += 1 }
                    }
                    if got < wanted || at + UInt(got) >= ends[1] { break }
                    at += UInt(got - overlap)
                }
            }
            return count
        }
    }

    private static func hidden(_ seed: UInt64) -> Hidden {
        var randomness = Randomness.seeded(seed)
        return Hidden(masked: randomness.bytes(60))
    }

    // In processes of their own: what other suites map, and give back, meanwhile is not searched.
    @Test("Master keys and salts are gone once the session and its keys are") func masterKeys() async {
        await #expect(processExitsWith: .success) { try Self.checkMasterKeys(profile: .aeadAES128GCM) }
        await #expect(processExitsWith: .success) { try Self.checkMasterKeys(profile: .aes128CMHMACSHA1_80) }
    }

    private static func checkMasterKeys(profile: SRTPProfile) throws {
        let exported = Self.hidden(0xC0FF_EE00 + UInt64(profile.rawValue))
        let material = 2 * (profile.keyLength + profile.saltLength)
        // The salts as well: the allocator writes over the first 16 bytes of what is freed, where the keys stand.
        let salt = profile.saltLength
        let secrets = [0..<16, 16..<32, 32..<(32 + salt), (32 + salt)..<(32 + 2 * salt)]
            .map { Hidden(masked: Array(exported.masked[$0])) }
        func run() throws -> [Int] {
            let session = try SRTPSession(
                keys: exported.reveal { bytes in
                    try SRTPKeys(
                        profile: profile,
                        exported: RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: bytes[..<material])),
                        role: .client)
                }, localSSRC: 1)
            let found = try secrets.map { try Self.occurrences(of: $0) }
            _ = consume session
            return found
        }
        #expect(try run().allSatisfy { $0 >= 1 })
        #expect(try secrets.map { try Self.occurrences(of: $0) } == [0, 0, 0, 0])
    }

    /// The session key of our RTP, hidden, with nothing left of how it was derived.
    private static func sessionKey(_ profile: SRTPProfile, of master: Hidden) throws -> Hidden {
        try master.reveal { bytes in
            var key = Array(bytes[..<16])
            var salt = Array(bytes[32..<(32 + profile.saltLength)])
            var derived = try SRTPReference.derive(.rtpEncryption, key: key, salt: salt, count: 16)
            let masked = derived.map { $0 ^ Hidden.mask }
            for index in derived.indices { derived[index] = 0 }
            for index in key.indices { key[index] = 0 }
            for index in salt.indices { salt[index] = 0 }
            return Hidden(masked: masked)
        }
    }

    @Test("Session keys are gone, too, after packets were protected with them") func sessionKeys() async {
        await #expect(processExitsWith: .success) { try Self.checkSessionKeys(profile: .aeadAES128GCM) }
        await #expect(processExitsWith: .success) { try Self.checkSessionKeys(profile: .aes128CMHMACSHA1_80) }
    }

    private static func checkSessionKeys(profile: SRTPProfile) throws {
        let exported = Self.hidden(0xC0FF_EE10 + UInt64(profile.rawValue))
        let material = 2 * (profile.keyLength + profile.saltLength)
        let key = try Self.sessionKey(profile, of: exported)
        #expect(try Self.occurrences(of: key) == 0)
        func run() throws -> Int {
            var session = try SRTPSession(
                keys: exported.reveal { bytes in
                    try SRTPKeys(
                        profile: profile,
                        exported: RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: bytes[..<material])),
                        role: .client)
                }, localSSRC: 1)
            let end = SRTPSessionTests()
            for sequence in UInt16(1)...20 { _ = try end.protect(SRTPSessionTests.rtp(sequence, ssrc: 1), &session) }
            let found = try Self.occurrences(of: key)
            _ = consume session
            return found
        }
        #expect(try run() >= 1)
        #expect(try Self.occurrences(of: key) == 0)
    }
}
