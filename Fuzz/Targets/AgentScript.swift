internal import ICELite

/// What the scripts of both agents share: addresses, credentials and messages made from a few bytes.
enum AgentScript {
    /// Local addresses a script chooses from, of every kind that pairing tells apart.
    static let locals: [SocketAddress] = [
        SocketAddress(ip: IPAddress(v4: 0xC000_0201), port: 4_000),
        SocketAddress(ip: IPAddress(v4: 0xC000_0202), port: 4_001),
        SocketAddress(ip: IPAddress(v6High: 0x2001_0DB8 << 32, low: 1), port: 4_002),
        SocketAddress(ip: IPAddress(v6High: 0xFE80 << 48, low: 1, zone: 2), port: 4_003),
        SocketAddress(ip: .loopbackV4, port: 4_004),
        SocketAddress(ip: .loopbackV6, port: 4_005),
        SocketAddress(ip: IPAddress(v6High: 0, low: 0xFFFF_C000_0203), port: 4_006),
        SocketAddress(ip: IPAddress(v4: 0xA9FE_0001), port: 4_007),
    ]

    /// One of 256 remote addresses, most of them reachable from some local one.
    static func remote(_ byte: UInt8) -> SocketAddress {
        let port = 5_000 + UInt16(byte >> 3)
        switch byte & 7 {
        case 0: return SocketAddress(ip: IPAddress(v6High: 0x2001_0DB8 << 32, low: 99), port: port)
        case 1: return SocketAddress(ip: IPAddress(v6High: 0xFE80 << 48, low: 99, zone: 7), port: port)
        case 2: return SocketAddress(ip: .loopbackV4, port: port)
        case 3: return SocketAddress(ip: IPAddress(v6High: 0, low: 0xFFFF_C633_6409), port: port)
        case 4: return SocketAddress(ip: IPAddress(v4: 0xE000_0001), port: byte == 4 ? 0 : port)
        default: return SocketAddress(ip: IPAddress(v4: 0xC633_6400 | UInt32(byte & 7)), port: port)
        }
    }

    /// The credentials of generation `number`, modulo 4, of one end.
    static func credentials(_ end: Character, _ number: Int) -> ICECredentials? {
        ICECredentials(ufrag: "\(end)uf\(number % 4)", password: "\(end)PasswordOfGeneration0\(number % 4)")
    }

    static func path(_ script: inout Script) -> NetworkPath {
        NetworkPath(local: locals[script.choice(locals.count)], remote: remote(script.byte()))
    }

    /// A request made as `flags` and further bytes of the script say: mostly right, sometimes wrong in one way.
    ///
    /// - Parameter token: what is echoed when the script says so.
    static func request(_ script: inout Script, local: ICECredentials, remote: ICECredentials, token: UInt64) -> [UInt8]
    {
        let flags = script.flags()
        let id = STUNTransactionID(high: UInt64(script.byte()), low: 1)
        let integrity: STUNIntegrity = flags & 0x40 == 0 ? .sha1 : .sha256
        let key = flags & 0xB0 == 0xB0 ? STUNKey(password: "wrong") : STUNKey(password: local.password)
        return bytes { (out) throws(STUNError) in
            let writer = try STUNWriter(.request, transactionID: id, into: &out)
            try writer.append(username: Array(local.ufrag.utf8), Array(remote.ufrag.utf8), into: &out)
            if flags & 0x70 != 0x70 { try writer.append(.priority, UInt32(script.byte()) << 16 | 1, into: &out) }
            if flags & 1 != 0 { try writer.append(flag: .useCandidate, into: &out) }
            if flags & 2 != 0 { try writer.append(.nomination, UInt32(script.byte() & 7), into: &out) }
            if flags & 4 != 0 { try writer.append(.routabilityToken, script.byte() & 1 == 0 ? 0 : token, into: &out) }
            if flags & 8 != 0 {
                let role: STUNAttributeType = flags & 0x10 == 0 ? .iceControlling : .iceControlled
                try writer.append(role, UInt64(script.byte()) << 56, into: &out)
            }
            try writer.append(flags & 0xE0 == 0xE0 ? .none : integrity, key: key, into: &out)
            if flags & 0x20 == 0 { try writer.appendFingerprint(into: &out) }
        }
    }

    /// What `body` writes; nothing if there is no room.
    static func bytes(_ body: (inout OutputRawSpan) throws(STUNError) -> Void) -> [UInt8] {
        do throws(STUNError) { return try encoded(body) } catch { return [] }
    }

    /// Changes one byte as the script says.
    static func bend(_ bytes: [UInt8], _ script: inout Script) -> [UInt8] {
        guard !bytes.isEmpty else { return bytes }
        var bytes = bytes
        bytes[Int(script.byte()) % bytes.count] ^= script.byte()
        return bytes
    }

    /// Drains all that `machine` wants to send at `now`, with what every output must keep to.
    static func drain<M: Machine>(
        _ machine: inout M, now: Instant, limit: Int, _ take: (NetworkPath, [UInt8]) throws(FuzzFinding) -> Void
    ) throws(FuzzFinding) {
        var count = 0
        while true {
            var transmit: Transmit?
            let bytes = bytes { (out) throws(STUNError) in transmit = machine.pollTransmit(into: &out, now: now) }
            guard let transmit else {
                try expect(bytes.isEmpty, "nil, and \(bytes.count) bytes written")
                break
            }
            count += 1
            try expect(count <= limit, "more than \(limit) datagrams at once")
            try expect(transmit.byteCount == bytes.count, "\(transmit.byteCount) told, \(bytes.count) written")
            try expect(isWellFormed(bytes), "no well-formed STUN message sent")
            try take(transmit.path, bytes)
        }
        try expect(machine.nextDeadline > now, "the deadline is not ahead after the drain: busy loop")
        var events = 0
        while machine.pollEvent() != nil { events += 1 }
        try expect(events <= ICELimits.pendingEvents, "\(events) events")
    }

    private static func isWellFormed(_ bytes: [UInt8]) -> Bool {
        do throws(STUNError) {
            let message = try STUNMessage(parsing: bytes.span.bytes)
            return message.hasFingerprint && message.hasValidFingerprint && message.method == STUNMessage.binding
        } catch {
            return false
        }
    }
}
