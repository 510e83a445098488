import Testing

@testable import ICELite

/// RFC 2202 §3 and RFC 4231 §4, every vector, and the CRC's check value.
@Suite struct HMACPadsTests {
    struct Known: Sendable, CustomTestStringConvertible {
        var key: [UInt8]
        var data: [UInt8]
        var sha1: String?
        var sha256: String?
        var testDescription: String { "\(key.count)-byte key, \(data.count)-byte data" }
    }

    static let counting = (1...25).map { UInt8($0) }
    static let vectors: [Known] = [
        Known(
            key: .init(repeating: 0x0B, count: 20), data: Array("Hi There".utf8),
            sha1: "b617318655057264e28bc0b6fb378c8ef146be00",
            sha256: "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
        Known(
            key: Array("Jefe".utf8), data: Array("what do ya want for nothing?".utf8),
            sha1: "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79",
            sha256: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
        Known(
            key: .init(repeating: 0xAA, count: 20), data: .init(repeating: 0xDD, count: 50),
            sha1: "125d7342b9ac11cd91a39af48aa17b4f63f175d3",
            sha256: "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
        Known(
            key: counting, data: .init(repeating: 0xCD, count: 50),
            sha1: "4c9007f4026250c6bc8414f9bf50c86c2d7235da",
            sha256: "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"),
        Known(
            key: .init(repeating: 0x0C, count: 20), data: Array("Test With Truncation".utf8),
            sha1: "4c1a03424b55e07fe7f27be1d58bb9324a9a5a04", sha256: "a3b6167473100ee06e0c796c2955552b"),
        Known(
            key: .init(repeating: 0xAA, count: 80),
            data: Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            sha1: "aa4ae5e15272d00e95705637ce8a3b55ed402112"),
        Known(
            key: .init(repeating: 0xAA, count: 80),
            data: Array("Test Using Larger Than Block-Size Key and Larger Than One Block-Size Data".utf8),
            sha1: "e8e99d0f45237d786d6bbaa7965c7808bbff1a91"),
        Known(
            key: .init(repeating: 0xAA, count: 131),
            data: Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            sha256: "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"),
        Known(
            key: .init(repeating: 0xAA, count: 131),
            data: Array(
                ("This is a test using a larger than block-size key and a larger than block-size data. "
                    + "The key needs to be hashed before being used by the HMAC algorithm.").utf8),
            sha256: "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"),
    ]

    private func hmac(_ pads: HMACPads, _ integrity: STUNIntegrity, _ data: [UInt8]) -> [UInt8] {
        let head = data.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let rest = Array(data.dropFirst(4))
        let digest = pads.digest(integrity, head: head, rest: rest.span.bytes)
        return (0..<(integrity == .sha1 ? 20 : 32)).map { digest[$0] }
    }

    @Test(arguments: vectors) func `the published values come out, and again from the same pads`(known: Known) throws {
        let pads = try #require(HMACPads(key: known.key))
        for _ in 0..<2 {
            if let sha1 = known.sha1 { #expect(hmac(pads, .sha1, known.data) == Vector.unhex(sha1)) }
            if let sha256 = known.sha256 {
                let expected = try #require(Vector.unhex(sha256))
                #expect(Array(hmac(pads, .sha256, known.data).prefix(expected.count)) == expected)
            }
        }
    }

    @Test func `an empty key signs and verifies nothing`() throws {
        #expect(HMACPads(key: []) == nil)
        let bytes = try Request().bytes()
        let message = try ReadMessage(bytes)
        #expect(!message.verifies(with: STUNKey(bytes: [])))
        #expect(throws: STUNError.noRoom) { try Request(password: "").bytes() }
    }

    @Test func `keys are equal when they sign alike`() {
        let keys = [STUNKey(password: "VOkJxbRl1RmTxUk/WvJxBt"), STUNKey(password: "VOkJxbRl1RmTxUk/WvJxBT")]
        #expect(keys[0] == STUNKey(bytes: Array("VOkJxbRl1RmTxUk/WvJxBt".utf8)))
        #expect(keys[0] != keys[1])
        #expect(keys[0] != STUNKey(bytes: []) && STUNKey(bytes: []) == STUNKey(bytes: []))
        #expect(Set(keys + keys + [STUNKey(bytes: [])]).count == 3)
    }

    private func equal(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
        var digest = InlineArray<32, UInt8>(repeating: 0)
        for index in 0..<32 { digest[index] = UInt8(index) }
        return STUNKey.equal(digest, bytes.span.bytes, range)
    }

    @Test func `the comparison sees a difference in any byte and takes at most 32`() {
        let same = (0..<40).map { UInt8($0) }
        #expect(equal(same, 0..<20))
        #expect(equal(same, 0..<32))
        #expect(!equal(same, 0..<33))
        #expect(!equal(same, 1..<21))
        for index in 0..<20 {
            var other = same
            other[index] ^= 0x80
            #expect(!equal(other, 0..<20), "byte \(index)")
        }
    }

    private func fingerprint(_ bytes: [UInt8], _ range: Range<Int>) -> UInt32 {
        STUNChecksum.fingerprint(of: bytes.span.bytes, in: range)
    }

    @Test func `the CRC has its check value, at every length and offset the bitwise value`() {
        let digits = Array("123456789".utf8)
        #expect(fingerprint(digits, 0..<9) ^ STUNChecksum.mask == 0xCBF4_3926)
        var randomness = Randomness.seeded(32)
        let bytes = randomness.bytes(80)
        for start in 0..<9 {
            for end in start...80 {
                var crc: UInt32 = 0xFFFF_FFFF
                for byte in bytes[start..<end] {
                    crc ^= UInt32(byte)
                    for _ in 0..<8 { crc = crc & 1 == 1 ? 0xEDB8_8320 ^ (crc >> 1) : crc >> 1 }
                }
                #expect(fingerprint(bytes, start..<end) == ~crc ^ STUNChecksum.mask, "\(start)..<\(end)")
            }
        }
    }
}
