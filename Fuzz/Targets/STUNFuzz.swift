internal import ICELite

/// One datagram, as it is and with its header put right, so that the fuzzer need not guess cookie and length.
enum STUNFuzz {
    private static let key = STUNKey(password: "VOkJxbRl1RmTxUk/WvJxBt")

    static func run(_ bytes: [UInt8]) throws(FuzzFinding) {
        try read(bytes)
        guard (STUNMessage.headerSize...STUNMessage.maximumSize).contains(bytes.count) else { return }
        var repaired = bytes
        repaired.removeLast(bytes.count % 4)
        let length = repaired.count - STUNMessage.headerSize
        repaired.replaceSubrange(
            0..<8,
            with: [bytes[0] & 0x3F, bytes[1], UInt8(length >> 8), UInt8(length & 0xFF)] + [0x21, 0x12, 0xA4, 0x42])
        try read(repaired)
    }

    private static func read(_ bytes: [UInt8]) throws(FuzzFinding) {
        let span = bytes.span.bytes
        let isSTUN = STUNMessage.isSTUN(span)
        let fragment = stunUsernameFragment(of: span)
        let message: STUNMessage
        do throws(STUNError) {
            message = try STUNMessage(parsing: span)
        } catch {
            // Whatever error it is, a message has none.
            return
        }
        // RFC 7983 §7 leaves STUN the first bytes 0…3: methods up to 0x0FF. RFC 8489 §5 knows more.
        try expect(isSTUN == (bytes[0] < 4), "parsed, and told apart wrongly")
        _ = message.hasValidFingerprint
        _ = message.verifies(with: key)
        _ = message.isAddressed(to: [0x61], from: [0x62])
        _ = message.isAddressed(to: [], from: nil)
        let username = message.username.copiedBytes
        let colon = username.firstIndex(of: UInt8(ascii: ":"))
        if let fragment, message.hasUsername {
            let first = colon.map { Array(username[..<$0]) } ?? []
            try expect(Array(fragment.description.utf8).count >= first.count, "routed by another user name")
            try expect(message.isAddressed(to: first, from: nil), "not addressed to its own first half")
        }
        try expect(!message.verifies(with: STUNKey(bytes: [])), "verified with no key")
        try expect(message.unknown.count <= STUNUnknownAttributes.capacity, "more unknown attributes than are kept")
        if let code = message.errorCode { try expect((300...699).contains(code), "error code \(code)") }
        try expect(username.count <= 513, "user name of \(username.count)")
        try roundTrip(message)
    }

    /// Writes anew all that the reader tells, signed, and reads that again.
    private static func roundTrip(_ message: borrowing STUNMessage) throws(FuzzFinding) {
        for integrity in [STUNIntegrity.none, .sha1, .sha256] {
            let bytes: [UInt8]
            do throws(STUNError) {
                bytes = try rewritten(message, integrity)
            } catch {
                // All of 2,048 bytes were taken; the signature has no room.
                try expect(error == .noRoom, "writing: \(error)")
                continue
            }
            try readAgain(bytes, message, integrity)
        }
    }

    private static func readAgain(
        _ bytes: [UInt8], _ message: borrowing STUNMessage, _ integrity: STUNIntegrity
    ) throws(FuzzFinding) {
        let again: STUNMessage
        do throws(STUNError) {
            again = try STUNMessage(parsing: bytes.span.bytes)
        } catch {
            throw FuzzFinding(text: "own message refused: \(error)")
        }
        try expect(again.hasFingerprint && again.hasValidFingerprint, "own FINGERPRINT wrong")
        try expect(again.verifies(with: key) == (integrity != .none), "own integrity wrong")
        try expect(again.integrity == integrity, "own integrity of another kind")
        try expectEqual(message, again)
    }

    private static func rewritten(
        _ message: borrowing STUNMessage, _ integrity: STUNIntegrity
    ) throws(STUNError) -> [UInt8] {
        let capacity = 2_304
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 8)
        defer { room.deallocate() }
        var out = unsafe OutputRawSpan(buffer: room, initializedCount: 0)
        let writer = try STUNWriter(
            message.messageClass, method: message.method, transactionID: message.transactionID, into: &out)
        if message.hasUsername { try writer.append(.username, message.username.copiedBytes, into: &out) }
        if !message.realm.isEmpty { try writer.append(.realm, message.realm.copiedBytes, into: &out) }
        if !message.nonce.isEmpty { try writer.append(.nonce, message.nonce.copiedBytes, into: &out) }
        if !message.software.isEmpty { try writer.append(.software, message.software.copiedBytes, into: &out) }
        if let priority = message.priority { try writer.append(.priority, priority, into: &out) }
        if message.useCandidate { try writer.append(flag: .useCandidate, into: &out) }
        if let value = message.nomination { try writer.append(.nomination, value, into: &out) }
        if let value = message.routabilityToken { try writer.append(.routabilityToken, value, into: &out) }
        if let value = message.iceControlled { try writer.append(.iceControlled, value, into: &out) }
        if let value = message.iceControlling { try writer.append(.iceControlling, value, into: &out) }
        if let address = message.xorMappedAddress { try writer.append(address: address, into: &out) }
        if let address = message.mappedAddress { try writer.append(address: address, isXORed: false, into: &out) }
        if let code = message.errorCode, let known = STUNErrorCode(rawValue: code) {
            try writer.append(error: known, into: &out)
        }
        if !message.unknown.isEmpty { try writer.append(unknown: message.unknown, into: &out) }
        try writer.append(integrity, key: key, into: &out)
        try writer.appendFingerprint(into: &out)
        let count = unsafe out.finalize(for: room)
        return unsafe Array(room[..<count])
    }

    private static func expectEqual(
        _ left: borrowing STUNMessage, _ right: borrowing STUNMessage
    ) throws(FuzzFinding) {
        try expect(left.messageClass == right.messageClass && left.method == right.method, "type changed")
        try expect(left.transactionID == right.transactionID, "transaction id changed")
        try expect(left.username.copiedBytes == right.username.copiedBytes, "USERNAME changed")
        try expect(left.realm.copiedBytes == right.realm.copiedBytes, "REALM changed")
        try expect(left.nonce.copiedBytes == right.nonce.copiedBytes, "NONCE changed")
        try expect(left.software.copiedBytes == right.software.copiedBytes, "SOFTWARE changed")
        try expect(left.priority == right.priority, "PRIORITY changed")
        try expect(left.useCandidate == right.useCandidate, "USE-CANDIDATE changed")
        try expect(left.nomination == right.nomination, "NOMINATION changed")
        try expect(left.routabilityToken == right.routabilityToken, "token changed")
        try expect(left.iceControlled == right.iceControlled, "ICE-CONTROLLED changed")
        try expect(left.iceControlling == right.iceControlling, "ICE-CONTROLLING changed")
        try expect(left.xorMappedAddress == right.xorMappedAddress, "XOR-MAPPED-ADDRESS changed")
        try expect(left.mappedAddress == right.mappedAddress, "MAPPED-ADDRESS changed")
        if let code = right.errorCode { try expect(left.errorCode == code, "ERROR-CODE changed") }
        for index in 0..<left.unknown.count {
            let type = left.unknown[index]
            let bytes = right.unknownAttributes.copiedBytes
            try expect(
                bytes.count >= 2 * index + 2 && bytes[2 * index] == UInt8(type >> 8)
                    && bytes[2 * index + 1] == UInt8(type & 0xFF), "UNKNOWN-ATTRIBUTES changed")
        }
    }
}
