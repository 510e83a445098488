internal import ICELite
internal import Transport
internal import TransportMedia
internal import TransportRuntime

/// Datagrams on a media socket: told apart, given to a media path that waits for its checks, and, where they are media, to
/// an SRTP session whose keys are known, so that what lies behind the tag is reached as well.
struct DemuxFuzz: ~Copyable {
    /// Steps of one script at most.
    private static let maximumSteps = 100
    private static let peerSSRC: UInt32 = 0x0102_0304

    private var path: MediaPath
    private var receiver: SRTPSession
    private var sender: SRTPSession
    private let credentials: ICECredentials
    private let peer: ICECredentials
    private let pool = PacketPool(size: 2)
    private var script: Script
    private var now = Instant.zero + .seconds(1)
    private var index: UInt64

    static func run(_ bytes: [UInt8]) throws(FuzzFinding) {
        guard var fuzz = DemuxFuzz(bytes) else { return }
        var steps = 0
        while !fuzz.script.isEnded, steps < maximumSteps {
            steps += 1
            try fuzz.step()
        }
        try fuzz.finish()
    }

    private static func keys(_ profile: SRTPProfile, swapped: Bool) throws(SRTPError) -> SRTPKeys {
        let length = profile.keyLength + profile.saltLength
        let one = [UInt8](repeating: 1, count: length)
        let two = [UInt8](repeating: 2, count: length)
        return try SRTPKeys(profile: profile, local: swapped ? two : one, remote: swapped ? one : two)
    }

    private init?(_ bytes: [UInt8]) {
        var script = Script(bytes)
        let flags = script.flags()
        let profile: SRTPProfile = flags & 1 == 0 ? .aeadAES128GCM : .aes128CMHMACSHA1_80
        guard let ours = AgentScript.credentials("L", 0), let theirs = AgentScript.credentials("R", 0),
            let certificate = DTLSCertificate.shared
        else { return nil }
        let local = LocalMedia(
            ufrag: theirs.ufrag, password: theirs.password, isLite: false,
            fingerprint: certificate.fingerprint.attribute, ssrc: SSRC(Self.peerSSRC), cname: "c", sessionID: 1)
        guard let offer = try? RemoteMedia(offer: SessionDescription.makeOffer(local)),
            let description = try? RemotePathDescription(offer),
            let path = try? MediaPath(
                lite: ours, remote: description, certificate: certificate, localSSRC: 9,
                randomness: .seeded(1), now: now),
            let sender = try? SRTPSession(keys: Self.keys(profile, swapped: true), localSSRC: Self.peerSSRC),
            var receiver = try? SRTPSession(keys: Self.keys(profile, swapped: false), localSSRC: 9)
        else { return nil }
        if flags & 2 == 0 { receiver.addRemoteSSRC(Self.peerSSRC) }
        receiver.learnablePayloadTypes = [111]
        self.path = path
        self.sender = sender
        self.receiver = receiver
        credentials = ours
        peer = theirs
        index = UInt64(flags >> 2) << 9 + 1
        self.script = script
    }

    private mutating func step() throws(FuzzFinding) {
        switch script.choice(6) {
        case 0: try take(script.datagram())
        case 1: try take(AgentScript.request(&script, local: credentials, remote: peer, token: 0))
        case 2: now = now + script.duration()
        case 3: try speak(isReport: false)
        case 4: try speak(isReport: true)
        // Other numbers went by on the call line.
        default:
            index += UInt64(script.byte()) << 9
            receiver.advanceReceiver(of: Self.peerSSRC, to: index)
        }
        try drain()
    }

    /// A datagram from anywhere.
    private mutating func take(_ bytes: [UInt8]) throws(FuzzFinding) {
        let from = AgentScript.path(&script)
        guard var packet = pool.take() else { throw FuzzFinding(text: "a packet is kept") }
        packet.assign(bytes.span.bytes)
        let kind = DatagramKind(of: bytes.span.bytes)
        if let first = bytes.first {
            let least = [DatagramKind.stun: 20, .dtls: 13, .media: 8][kind] ?? 0
            try expect(bytes.count >= least, "\(kind) of \(bytes.count) bytes")
            let range: Set<DatagramKind> = first < 4 ? [.stun] : first < 128 ? [.dtls] : [.media]
            try expect(kind == .other || range.contains(kind), "\(first) is \(kind)")
        }
        if MediaPath.senderSSRC(of: bytes.span.bytes) != nil { try expect(kind == .media, "an SSRC in \(kind)") }
        let verdict = path.handle(&packet, path: from, now: now)
        try expect(verdict == .consumed || verdict == .dropped, "\(verdict) without keys")
        guard kind == .media else { return }
        packet.assign(bytes.span.bytes)
        let result = isRTCP(bytes.span.bytes) ? receiver.unprotectRTCP(&packet) : receiver.unprotectRTP(&packet)
        try expect(result != .ok, "a packet that nobody protected")
        try expect(packet.count <= packet.capacity, "a packet longer than its room")
    }

    /// A packet of the peer's with whatever the script puts behind its header, bent or not.
    private mutating func speak(isReport: Bool) throws(FuzzFinding) {
        guard var packet = pool.take() else { throw FuzzFinding(text: "a packet is kept") }
        let flags = script.flags()
        let body = script.datagram()
        let ssrc = (0..<4).map { UInt8(truncatingIfNeeded: Self.peerSSRC >> (24 - 8 * UInt32($0))) }
        index += 1 + UInt64(flags & 3)
        let number = [UInt8(truncatingIfNeeded: index >> 8), UInt8(truncatingIfNeeded: index)]
        let plain =
            isReport
            ? [0x80 | flags & 0x3F, 200 + flags % 8, 0, 1] + ssrc + body
            : [0x80 | flags & 0x3F, 111] + number + [0, 0, 0, 1] + ssrc + body
        packet.assign(plain.span.bytes)
        let isProtected = isReport ? sender.protectRTCP(&packet) : sender.protectRTP(&packet, index: index)
        // Headers that do not fit their packet are refused; a number is used up all the same.
        guard isProtected == .ok else { return }
        let good = packet.copiedBytes
        let bent = flags & 0x40 == 0 ? good : AgentScript.bend(good, &script)
        if bent != good {
            packet.assign(bent.span.bytes)
            let result = isRTCP(bent.span.bytes) ? receiver.unprotectRTCP(&packet) : receiver.unprotectRTP(&packet)
            try expect(result != .ok, "a bent packet authenticates")
        }
        packet.assign(good.span.bytes)
        let result = isReport ? receiver.unprotectRTCP(&packet) : receiver.unprotectRTP(&packet)
        try expect(result == .ok, "a good packet: \(result)")
        try expect(packet.copiedBytes == plain, "a good packet came out changed")
        packet.assign(good.span.bytes)
        let again = isReport ? receiver.unprotectRTCP(&packet) : receiver.unprotectRTP(&packet)
        try expect(again == .dropped(.replay), "a repeat: \(again)")
    }

    private mutating func drain() throws(FuzzFinding) {
        path.handleTimeout(now: now)
        for turn in 0... {
            guard var packet = pool.take() else { throw FuzzFinding(text: "a packet is kept") }
            guard Self.poll(&path, &packet, now: now) != nil else { break }
            try expect(packet.count > 0 && turn < 200, "\(packet.count) bytes, \(turn) datagrams")
        }
        while path.pollEvent() != nil {}
        try expect(path.nextDeadline > now, "the deadline is not ahead: busy loop")
    }

    private static func poll(_ path: inout MediaPath, _ packet: inout Packet, now: Instant) -> Transmit? {
        packet.write { out in path.pollTransmit(into: &out, now: now) }
    }

    private mutating func finish() throws(FuzzFinding) {
        path.close(now: now)
        for turn in 0... {
            guard var packet = pool.take() else { throw FuzzFinding(text: "a packet is kept") }
            guard Self.poll(&path, &packet, now: now) != nil else { break }
            try expect(turn < 200, "no end of last words")
        }
        try expect(path.nextDeadline == .never, "a deadline after the end")
    }
}
