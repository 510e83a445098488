internal import ICELite
internal import TransportMedia

/// A script for both ends of a DTLS handshake and for who stands between them: he delivers, holds back, doubles, bends and
/// splices what they say, and writes records of his own.
struct DTLSFuzz: ~Copyable {
    /// One end, with what it has told.
    private struct End: ~Copyable {
        var session: DTLSSession
        var isDescribed = false
        var keys: SRTPKeys?
        var isCompleted = false
        var isOver = false
        /// What it has sent, to be delivered in order.
        var sent: [[UInt8]] = []
        var delivered = 0
    }

    private static let maximumSteps = 120
    private static let maximumDatagram = 400
    /// Datagrams that a script can still take up.
    private static let remembered = 64
    private static let certificates = (try? DTLSCertificate(), try? DTLSCertificate())

    private var script: Script
    private var client: End
    private var server: End
    private var now = Instant.zero

    static func run(_ bytes: [UInt8]) throws(FuzzFinding) {
        guard var fuzz = DTLSFuzz(bytes) else { throw FuzzFinding(text: "OpenSSL makes no session") }
        try fuzz.settle()
        var steps = 0
        while !fuzz.script.isEnded, steps < maximumSteps {
            steps += 1
            try fuzz.step()
            try fuzz.settle()
        }
        try fuzz.finish()
    }

    private init?(_ bytes: [UInt8]) {
        script = Script(bytes)
        let mtu = script.byte() & 1 == 0 ? 1_200 : Self.maximumDatagram
        guard let one = Self.certificates.0, let two = Self.certificates.1,
            let first = try? DTLSSession(role: .client, certificate: one, maximumDatagram: mtu),
            let second = try? DTLSSession(role: .server, certificate: two, maximumDatagram: mtu)
        else { return nil }
        client = End(session: first)
        server = End(session: second)
        client.session.start(now: now)
        server.session.start(now: now)
    }

    private mutating func step() throws(FuzzFinding) {
        let action = script.byte()
        let toServer = action & 0x80 == 0
        let carriage: DTLSCarriage = action & 0x40 == 0 ? .udp : .line
        switch action & 0x0F {
        // The next one, as it should be.
        case 0...3: if let datagram = next(toServer: toServer) { give(datagram, toServer: toServer, carriage) }
        case 4: give(old(toServer: toServer), toServer: toServer, carriage)
        case 5: give(AgentScript.bend(old(toServer: toServer), &script), toServer: toServer, carriage)
        case 6:
            // The head of one and the tail of another, also of the other direction.
            let head = old(toServer: toServer)
            let tail = old(toServer: script.byte() & 1 == 0)
            give(
                Array(head.prefix(Int(script.byte()) * 2) + tail.suffix(Int(script.byte()) * 2)), toServer: toServer,
                carriage)
        case 7:
            // Under a new record number: past the replay window.
            var datagram = old(toServer: toServer)
            if datagram.count >= 13 { datagram[10] = datagram[10] &+ script.byte() }
            give(datagram, toServer: toServer, carriage)
        case 8: give(record(), toServer: toServer, carriage)
        case 9: give(script.datagram(), toServer: toServer, carriage)
        case 10: now = now + script.duration()
        case 11:
            let deadline = min(client.session.nextDeadline, server.session.nextDeadline)
            if deadline != .never { now = max(now, deadline) }
        case 12: describe(server: toServer, rightly: script.byte() & 7 != 0)
        case 13: arm(server: toServer)
        case 14: if toServer { server.session.requeueFlight() } else { client.session.requeueFlight() }
        default:
            if script.byte() & 3 != 0 {
                if toServer { server.session.discardQueuedDatagrams() } else { client.session.discardQueuedDatagrams() }
            } else {
                if toServer { server.session.close() } else { client.session.close() }
            }
        }
    }

    // MARK: - Steps

    private mutating func next(toServer: Bool) -> [UInt8]? {
        toServer ? Self.next(&client) : Self.next(&server)
    }

    private static func next(_ end: inout End) -> [UInt8]? {
        guard end.delivered < end.sent.count else { return nil }
        defer { end.delivered += 1 }
        return end.sent[end.delivered]
    }

    /// One that has been sent before, delivered or not.
    private mutating func old(toServer: Bool) -> [UInt8] {
        let index = Int(script.byte())
        let sent = toServer ? client.sent : server.sent
        return sent.isEmpty ? [] : sent[index % sent.count]
    }

    /// A record with a right header around whatever the script says.
    private mutating func record() -> [UInt8] {
        let flags = script.flags()
        let body = script.datagram()
        let epoch: UInt8 = flags & 0x08 == 0 ? 0 : 1
        return [20 + (flags & 7), 0xFE, 0xFD, 0, epoch, 0, 0, 0, 0, 0, script.byte() & 0x3F]
            + [UInt8(body.count >> 8), UInt8(body.count & 0xFF)] + body
    }

    private mutating func give(_ bytes: [UInt8], toServer: Bool, _ carriage: DTLSCarriage) {
        if toServer {
            _ = server.session.handle(bytes.span.bytes, carriage: carriage, now: now)
        } else {
            _ = client.session.handle(bytes.span.bytes, carriage: carriage, now: now)
        }
    }

    private mutating func describe(server isServer: Bool, rightly: Bool) {
        guard let one = Self.certificates.0?.fingerprint, let two = Self.certificates.1?.fingerprint else { return }
        if isServer {
            if !server.isDescribed { server.session.setRemoteFingerprints([rightly ? one : two]) }
            server.isDescribed = server.isDescribed || rightly
        } else {
            if !client.isDescribed { client.session.setRemoteFingerprints([rightly ? two : one]) }
            client.isDescribed = client.isDescribed || rightly
        }
    }

    private mutating func arm(server isServer: Bool) {
        let interval = script.duration()
        if isServer {
            server.session.armRetransmission(interval: interval, now: now)
        } else {
            client.session.armRetransmission(interval: interval, now: now)
        }
    }

    // MARK: - What must hold

    private mutating func settle() throws(FuzzFinding) {
        try Self.settle(&client, now: now)
        try Self.settle(&server, now: now)
    }

    private static func settle(_ end: inout End, now: Instant) throws(FuzzFinding) {
        end.session.handleTimeout(now: now)
        try expect(end.session.nextDeadline > now, "the deadline is not ahead: busy loop")
        while let event = end.session.pollEvent() {
            try expect(!end.isOver, "an event after the last")
            switch event {
            case .keys(let keys):
                try expect(end.keys == nil, "keys twice")
                try expect(end.isDescribed, "keys without the right description")
                end.keys = keys
            case .completed:
                try expect(end.keys != nil && !end.isCompleted, "completed without keys, or twice")
                end.isCompleted = true
            case .failed: end.isOver = true
            case .closed:
                try expect(end.isCompleted, "closed before it was complete")
                end.isOver = true
            }
        }
        var count = 0
        while let datagram = poll(&end.session, now: now) {
            count += 1
            try expect(count <= DTLSSession.maximumQueuedDatagrams, "\(count) datagrams at once")
            try expect(isWellFormed(datagram), "no whole records sent")
            if end.sent.count < Self.remembered { end.sent.append(datagram) }
        }
        try expect(end.session.statistics.repeatsMissing == 0, "a flight without repeats")
        try expect(
            end.session.statistics.lastFlightResends <= DTLSSession.maximumLastFlightResends + maximumSteps,
            "the last flight again and again")
    }

    private static func poll(_ session: inout DTLSSession, now: Instant) -> [UInt8]? {
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 1_500, alignment: 8)
        defer { room.deallocate() }
        var out = unsafe OutputRawSpan(buffer: room, initializedCount: 0)
        let written = session.pollDatagram(into: &out, now: now)
        let count = unsafe out.finalize(for: room)
        return written == nil ? nil : unsafe Array(room[..<count])
    }

    /// Whole records, at most 1,200 bytes in all.
    private static func isWellFormed(_ datagram: [UInt8]) -> Bool {
        var rest = datagram[...]
        while rest.count >= 13 {
            let start = rest.startIndex
            let length = 13 + (Int(rest[start + 11]) << 8 | Int(rest[start + 12]))
            guard (20...23).contains(rest[start]), rest.count >= length else { return false }
            rest = rest.dropFirst(length)
        }
        return rest.isEmpty && (13...1_200).contains(datagram.count)
    }

    private func finish() throws(FuzzFinding) {
        guard client.isCompleted, server.isCompleted, let ours = client.keys, let theirs = server.keys else { return }
        let one = ours.withLocal { Array($0) } + ours.withRemote { Array($0) }
        let other = theirs.withRemote { Array($0) } + theirs.withLocal { Array($0) }
        try expect(one == other, "both are complete, with different keys")
    }
}
