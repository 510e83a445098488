internal import ICELite
internal import TransportMedia

/// A script for a reporter: compounds of its peer's, packets of the stream it hears, and the clock.
struct RTCPFuzz {
    /// Steps of one script at most.
    private static let maximumSteps = 300

    private var reporter: RTCPReporter
    private var reception: RTPReceptionStatistics?
    private var sent = RTPSenderCounters()
    private var now = Instant.zero + .seconds(1)
    private var script: Script
    private var lastReportAt: Instant?
    private var compounds = 0

    static func run(_ bytes: [UInt8]) throws(FuzzFinding) {
        var fuzz = RTCPFuzz(bytes)
        var steps = 0
        while !fuzz.script.isEnded, steps < maximumSteps {
            steps += 1
            try fuzz.step()
        }
        try fuzz.finish()
    }

    private init(_ bytes: [UInt8]) {
        script = Script(bytes)
        let flags = script.flags()
        reporter = RTCPReporter(
            localSSRC: SSRC(7), cname: String(repeating: "c", count: Int(flags >> 3)), randomness: .seeded(1))
        reporter.isReducedSize = flags & 1 != 0
        if flags & 2 != 0 { reception = RTPReceptionStatistics(ssrc: SSRC(9)) }
        if flags & 4 != 0 { reporter.start(now: now) }
    }

    private mutating func step() throws(FuzzFinding) {
        switch script.choice(6) {
        case 0: try take(script.datagram())
        case 1: try take(repaired(script.datagram()))
        case 2:
            now = now + script.duration()
            try report()
        case 3:
            let header = RTPHeader(
                marker: false, payloadType: .defaultOpus,
                sequenceNumber: SequenceNumber(UInt16(script.byte()) << 8 | UInt16(script.byte())), timestamp: 0,
                ssrc: SSRC(9))
            if reception == nil { reception = RTPReceptionStatistics(ssrc: SSRC(9)) }
            reception?.receive(header, byteCount: 12, now: now)
        case 4:
            sent.packetsSent += Int64(script.byte())
            sent.lastTimestamp &+= UInt32(script.byte()) << 24
            sent.lastPacketAt = now
        default: reporter.start(now: now)
        }
    }

    /// Puts version and length of the first packet right, which the fuzzer would guess byte by byte.
    private mutating func repaired(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.count >= 4 else { return bytes }
        var bytes = bytes
        bytes.removeLast(bytes.count % 4)
        let words = bytes.count / 4 - 1
        bytes[0] = 0x80 | bytes[0] & 0x3F
        bytes[1] = 200 + bytes[1] % 8
        bytes[2] = UInt8(words >> 8)
        bytes[3] = UInt8(words & 0xFF)
        return bytes
    }

    private mutating func take(_ bytes: [UInt8]) throws(FuzzFinding) {
        let span = bytes.span.bytes
        var reader = RTCPReader()
        var packets = 0
        var isBroken = false
        do throws(RTPError) {
            while let packet = try reader.next(in: span) {
                packets += 1
                switch packet {
                case .senderReport(_, _, let blocks), .receiverReport(_, let blocks):
                    for index in 0..<blocks.count { _ = blocks.block(index, in: span) }
                case .sourceDescription(_, let name):
                    if let name, name.upperBound > bytes.count { throw RTPError.badLength }
                case .goodbye(let sources): _ = sources.contains(SSRC(9), in: span)
                case .unknown: break
                }
            }
        } catch {
            isBroken = true
        }
        try expect(packets <= bytes.count / 4, "\(packets) packets in \(bytes.count) bytes")
        let malformed = reporter.malformed
        let news = reporter.handle(span, reception: &reception, now: now)
        compounds += 1
        try expect(reporter.malformed - malformed == (isBroken ? 1 : 0), "malformed is not counted")
        try expect(!news.saidGoodbye || reporter.remoteGoodbye, "a goodbye is forgotten")
        if let remote = reporter.remote {
            try expect((0..<1).contains(remote.fractionLost), "\(remote.fractionLost) lost")
            try expect(remote.roundTrip.map { (0 ... .seconds(60)).contains($0) } ?? true, "no round trip")
            try expect(remote.standstills >= 0 && remote.standstills <= 31 * compounds, "standstills")
        }
        try expect(reporter.interval.averageByteCount > 0, "no mean size")
    }

    private mutating func report() throws(FuzzFinding) {
        var isDue = false
        var bytes: [UInt8] = []
        let deadline = reporter.nextDeadline
        do throws(RTPError) {
            bytes = try written { (out) throws(RTPError) in
                isDue = try reporter.pollReport(into: &out, sent: sent, reception: &reception, now: now)
            }
        } catch {
            throw FuzzFinding(text: "a report: \(error)")
        }
        try expect(isDue == !bytes.isEmpty, "due, and \(bytes.count) bytes")
        try expect(!isDue || deadline <= now, "a report before its time")
        try expect(reporter.nextDeadline > now, "the deadline is not ahead: busy loop")
        guard isDue else { return }
        if let lastReportAt {
            try expect(now - lastReportAt >= RTCPInterval.whileLossy.lowerBound, "two reports within half a second")
        }
        lastReportAt = now
        try readBack(bytes)
    }

    private func readBack(_ bytes: [UInt8]) throws(FuzzFinding) {
        try expect(bytes.count <= reporter.byteCountAtMost, "\(bytes.count) bytes of a report")
        var reader = RTCPReader()
        var packets = 0
        do throws(RTPError) {
            while try reader.next(in: bytes.span.bytes) != nil { packets += 1 }
        } catch {
            throw FuzzFinding(text: "own report refused: \(error)")
        }
        try expect((1...3).contains(packets), "\(packets) packets in a report")
    }

    private mutating func finish() throws(FuzzFinding) {
        var isWritten = false
        var bytes: [UInt8] = []
        do throws(RTPError) {
            bytes = try written { (out) throws(RTPError) in
                isWritten = try reporter.writeGoodbye(into: &out, sent: sent, reception: &reception, now: now)
            }
        } catch {
            throw FuzzFinding(text: "a goodbye: \(error)")
        }
        try expect(isWritten == !bytes.isEmpty && reporter.nextDeadline == .never, "a deadline after the goodbye")
        if isWritten { try readBack(bytes) }
    }
}
