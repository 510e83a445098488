import ICELite
import Testing

/// RFC 5769, all four vectors, and what happens to them when they are cut and bent.
@Suite struct STUNVectorTests {
    let key = STUNKey(password: "VOkJxbRl1RmTxUk/WvJxBt")
    let longTermKey = STUNKey(username: "マトリックス", realm: "example.org", password: "TheMatrIX")

    @Test func `the sample request reads and verifies`() throws {
        let bytes = try Vector.read("RFC5769")[0].bytes
        let message = try ReadMessage(bytes)
        #expect(message.messageClass == .request)
        #expect(message.method == STUNMessage.binding)
        #expect(message.transactionID == STUNTransactionID(high: 0xb7e7_a701_bc34_d686, low: 0xfa87_dfae))
        #expect(message.username == Array("evtj:h6vY".utf8))
        #expect(message.software == Array("STUN test client".utf8))
        #expect(message.priority == 1_845_494_271)
        #expect(message.iceControlled == 0x932f_f9b1_5126_3b36)
        #expect(message.iceControlling == nil)
        #expect(message.hasFingerprint)
        #expect(message.hasValidFingerprint)
        #expect(message.verifies(with: key))
        #expect(!message.verifies(with: STUNKey(password: "VOkJxbRl1RmTxUk/WvJxBT")))
        #expect(message.isAddressed(to: Array("evtj".utf8), from: Array("h6vY".utf8)))
        #expect(message.isAddressed(to: Array("evtj".utf8), from: nil))
        #expect(!message.isAddressed(to: Array("evt".utf8), from: nil))
        #expect(!message.isAddressed(to: Array("evtj".utf8), from: Array("h6v".utf8)))
        #expect(fragment(of: bytes) == STUNUsernameFragment("evtj"))
    }

    @Test(arguments: [(1, "192.0.2.1"), (2, "2001:db8:1234:5678:11:2233:4455:6677")])
    func `the sample responses read and verify`(index: Int, ip: String) throws {
        let bytes = try Vector.read("RFC5769")[index].bytes
        let message = try ReadMessage(bytes)
        #expect(message.messageClass == .success)
        #expect(message.software == Array("test vector".utf8))
        let mapped = try address(ip, 32_853)
        #expect(message.xorMappedAddress == mapped)
        #expect(message.hasValidFingerprint)
        #expect(message.verifies(with: key))
        #expect(fragment(of: bytes) == nil)
    }

    @Test func `the long-term request verifies with the MD5 key`() throws {
        let bytes = try Vector.read("RFC5769")[3].bytes
        let message = try ReadMessage(bytes)
        #expect(message.username == Array("マトリックス".utf8))
        #expect(message.nonce == Array("f//499k954d6OL34oL9FSTvy64sA".utf8))
        #expect(message.realm == Array("example.org".utf8))
        #expect(!message.hasFingerprint)
        #expect(message.verifies(with: longTermKey))
        #expect(!message.verifies(with: key))
    }

    @Test func `a message cut at any length is refused`() throws {
        for vector in try Vector.read("RFC5769") {
            for length in 0..<vector.bytes.count {
                let cut = Array(vector.bytes[..<length])
                #expect(throws: STUNError.self, "\(vector) cut at \(length)") { try ReadMessage(cut) }
                _ = fragment(of: cut)
            }
        }
    }

    @Test func `a bit flipped anywhere fails the form, the fingerprint or the integrity`() throws {
        for vector in try Vector.read("RFC5769").prefix(3) {
            for bit in 0..<(8 * vector.bytes.count) {
                var bent = vector.bytes
                bent[bit / 8] ^= 1 << UInt8(bit % 8)
                guard let message = try? ReadMessage(bent) else { continue }
                let passes = message.hasFingerprint && message.hasValidFingerprint && message.verifies(with: key)
                #expect(!passes, "\(vector) bit \(bit)")
            }
        }
    }

    @Test func `the padding is covered by the integrity`() throws {
        var bytes = try Vector.read("RFC5769")[0].bytes
        let padding = try #require(bytes.firstRange(of: Array("h6vY   ".utf8))).upperBound - 1
        bytes[padding] = 0
        let message = try ReadMessage(bytes)
        #expect(!message.verifies(with: key))
        #expect(!message.hasValidFingerprint)
    }

    @Test func `mutated bytes never trap`() throws {
        var vectors = try Vector.read("RFC5769")
        for name in ["ICE-05", "ICE-06", "ICE-08", "ICE-15", "ICE-17"] { vectors += try Vector.read(name) }
        var randomness = Randomness.seeded(0x5354_554E)
        for _ in 0..<20_000 {
            var bytes = vectors[Int.random(in: 0..<vectors.count, using: &randomness)].bytes
            for _ in 0..<Int.random(in: 1...6, using: &randomness) {
                let index = Int.random(in: 0..<bytes.count, using: &randomness)
                bytes[index] = UInt8.random(in: 0...255, using: &randomness)
            }
            _ = fragment(of: bytes)
            guard let message = try? ReadMessage(bytes) else { continue }
            _ = message.hasValidFingerprint
            _ = message.verifies(with: key)
            _ = message.isAddressed(to: [1, 2, 3, 4], from: [5])
        }
    }

    @Test func `malformed datagrams are refused, or say nothing that could be taken`() throws {
        let local = try credentials("LocU", "VerySecretLocalPwd123456")
        let path = NetworkPath(local: try address("192.0.2.1", 1_000), remote: try address("192.0.2.2", 2_000))
        for vector in try Vector.read("ICE-15") {
            var agent = ICELiteAgent(credentials: local, peerCredentials: nil, randomness: .seeded(1))
            let verdict = agent.take(vector.bytes, path, at: .zero)
            #expect(verdict != .accepted, "\(vector)")
            #expect(agent.tupleCount == 0)
            for answer in drain(&agent, now: .zero) { #expect(try ReadMessage(answer.bytes).messageClass == .error) }
        }
    }

    @Test func `an IPv6 mapped address is XORed with the transaction id too`() throws {
        let bytes = try Vector.read("ICE-17")[0].bytes
        let mapped = try address("2001:db8::99", 50_000)
        #expect(try ReadMessage(bytes).xorMappedAddress == mapped)
    }
}
