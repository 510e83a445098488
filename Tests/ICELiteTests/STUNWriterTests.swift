import ICELite
import Testing

@Suite struct STUNWriterTests {
    let id = STUNTransactionID(high: 0x0102_0304_0506_0708, low: 0x090A_0B0C)
    let key = STUNKey(password: "0123456789012345678901")

    @Test(arguments: ["192.0.2.7", "2001:db8::7", "::ffff:192.0.2.7"], [true, false])
    func `an address comes back`(ip: String, isXORed: Bool) throws {
        let sent = try address(ip, 49_152)
        let bytes = try written { (out) throws(STUNError) in
            let writer = try STUNWriter(.success, transactionID: id, into: &out)
            try writer.append(address: sent, isXORed: isXORed, into: &out)
        }
        let message = try ReadMessage(bytes)
        let expected = SocketAddress(ip: sent.ip.unmapped, port: sent.port)
        #expect((isXORed ? message.xorMappedAddress : message.mappedAddress) == expected)
    }

    @Test(arguments: [STUNIntegrity.sha1, .sha256])
    func `every attribute comes back and verifies`(integrity: STUNIntegrity) throws {
        let bytes = try written { (out) throws(STUNError) in
            let writer = try STUNWriter(.request, transactionID: id, into: &out)
            try writer.append(username: Array("abcd".utf8), Array("efghi".utf8), into: &out)
            try writer.append(.realm, Array("r".utf8), into: &out)
            try writer.append(.nonce, Array("nn".utf8), into: &out)
            try writer.append(.software, Array("sss".utf8), into: &out)
            try writer.append(.priority, UInt32(0x7EFF_FFFF), into: &out)
            try writer.append(flag: .useCandidate, into: &out)
            try writer.append(.iceControlled, UInt64(1), into: &out)
            try writer.append(.iceControlling, UInt64.max, into: &out)
            try writer.append(.nomination, UInt32(9), into: &out)
            try writer.append(.routabilityToken, UInt64(77), into: &out)
            try writer.append(integrity, key: key, into: &out)
            try writer.appendFingerprint(into: &out)
        }
        let message = try ReadMessage(bytes)
        #expect(message.transactionID == id)
        #expect(message.username == Array("abcd:efghi".utf8))
        #expect(message.realm == Array("r".utf8))
        #expect(message.nonce == Array("nn".utf8))
        #expect(message.software == Array("sss".utf8))
        #expect(message.priority == 0x7EFF_FFFF)
        #expect(message.useCandidate)
        #expect(message.iceControlled == 1)
        #expect(message.iceControlling == .max)
        #expect(message.nomination == 9)
        #expect(message.routabilityToken == 77)
        #expect(message.unknown.isEmpty)
        #expect(message.integrity == integrity)
        #expect(message.hasValidFingerprint)
        #expect(message.verifies(with: key))
        #expect(!message.verifies(with: STUNKey(password: "another password of 22c")))
    }

    @Test(arguments: [STUNErrorCode.badRequest, .unauthenticated, .unknownAttribute, .roleConflict])
    func `an error comes back`(code: STUNErrorCode) throws {
        var unknown = STUNUnknownAttributes()
        for type in UInt16(0x7001)...0x7006 { unknown.insert(type) }
        #expect(unknown.count == 4)
        let bytes = try written { (out) throws(STUNError) in
            let writer = try STUNWriter(.error, transactionID: id, into: &out)
            try writer.append(error: code, into: &out)
            try writer.append(unknown: unknown, into: &out)
        }
        let message = try ReadMessage(bytes)
        #expect(message.messageClass == .error)
        #expect(message.errorCode == code.rawValue)
        #expect(message.unknownAttributes == [0x70, 1, 0x70, 2, 0x70, 3, 0x70, 4])
    }

    @Test func `what does not fit is refused and the span stays readable`() throws {
        for capacity in 0..<120 {
            var complete = false
            let bytes = written(capacity) { (out) in
                do throws(STUNError) {
                    let writer = try STUNWriter(.request, transactionID: id, into: &out)
                    try writer.append(.software, Array("twelve bytes".utf8), into: &out)
                    try writer.append(.sha1, key: key, into: &out)
                    try writer.appendFingerprint(into: &out)
                    complete = true
                } catch {
                    #expect(error == .noRoom)
                }
            }
            #expect(complete == (capacity >= 20 + 16 + 24 + 8))
            if !bytes.isEmpty { _ = try ReadMessage(bytes) }
        }
    }

    @Test func `a message may begin behind other bytes`() throws {
        let bytes = try written { (out) throws(STUNError) in
            out.append(0xAA, as: UInt8.self)
            let writer = try STUNWriter(.request, transactionID: id, into: &out)
            try writer.append(.sha1, key: key, into: &out)
        }
        let message = Array(bytes.dropFirst())
        #expect(try ReadMessage(message).verifies(with: key))
    }

    @Test(arguments: [(0, true), (3, true), (4, false), (20, false), (64, false), (128, false)])
    func `the first byte and the cookie tell STUN apart`(first: UInt8, isSTUN: Bool) throws {
        var bytes = try Vector.read("RFC5769")[0].bytes
        bytes[0] = first
        #expect(looksLikeSTUN(bytes) == isSTUN)
        bytes[5] ^= 1
        #expect(!looksLikeSTUN(bytes))
        #expect(!looksLikeSTUN([0, 1]))
    }

    @Test func `the routing ufrag is inline, at most 32 bytes`() throws {
        for length in [1, 8, 31, 32, 33] {
            let ufrag = String(repeating: "u", count: length)
            let bytes = try Request(username: "\(ufrag):x").bytes()
            let found = fragment(of: bytes)
            #expect(found?.description == (length <= 32 ? ufrag : nil))
            #expect(found == STUNUsernameFragment(ufrag))
        }
        for username in [":x", "nocolon", ""] {
            let bytes = try Request(username: username).bytes()
            #expect(fragment(of: bytes) == nil)
        }
        let bytes = try Request(username: nil).bytes()
        #expect(fragment(of: bytes) == nil)
    }
}
