internal import ICELite
internal import TransportMedia

/// The first byte chooses: a packet as it is, a packet of our own making, or a stream of headers for the statistics.
enum RTPFuzz {
    private static let ours = RTPHeaderExtensions(midID: 4, mid: "audio", audioLevelID: 1)

    static func run(_ bytes: [UInt8]) throws(FuzzFinding) {
        var script = Script(bytes)
        switch script.choice(3) {
        case 0: try read(Array(bytes.dropFirst()))
        case 1: try roundTrip(&script)
        default: try count(&script)
        }
    }

    // MARK: - Reading

    private static func read(_ bytes: [UInt8]) throws(FuzzFinding) {
        let header: RTPHeader
        do throws(RTPError) {
            header = try RTPHeader(parsing: bytes.span.bytes)
        } catch {
            return
        }
        try expect(header.payload.lowerBound >= 12, "the payload begins inside the fixed header")
        try expect(header.payload.upperBound <= bytes.count, "the payload ends outside")
        try expect(header.sourceCount <= 15, "\(header.sourceCount) sources")
        for index in 0..<header.sourceCount { _ = header.source(index, in: bytes.span.bytes) }
        _ = ours.audioLevel(of: header, in: bytes.span.bytes)
        _ = ours.namesOtherSection(header, in: bytes.span.bytes)
        _ = isRTCP(bytes.span.bytes)
        guard let block = header.extensions else { return }
        var position = block.firstPosition
        var count = 0
        while let (id, value) = block.next(&position, in: bytes.span.bytes) {
            count += 1
            try expect(id > 0, "an element called 0")
            try expect(value.lowerBound > block.firstPosition, "an element before its block")
            try expect(value.upperBound <= header.payload.lowerBound, "an element behind its block")
            try expect(position == value.upperBound && count <= bytes.count, "no progress")
        }
    }

    // MARK: - Writing

    private static func roundTrip(_ script: inout Script) throws(FuzzFinding) {
        let extensions = RTPHeaderExtensions(
            midID: script.byte(), mid: String(decoding: script.datagram(), as: UTF8.self), audioLevelID: script.byte())
        let level = AudioLevel(rawValue: script.byte())
        let withMID = script.byte() & 1 == 0
        var sources: [SSRC] = []
        for _ in 0..<script.choice(16) { sources.append(SSRC(UInt32(script.byte()) &* 0x0101_0101)) }
        let padding = script.byte()
        let payload = script.datagram()
        let header = RTPHeader(
            marker: script.byte() & 1 == 0, payloadType: PayloadType(maskingHeaderByte: script.byte()),
            sequenceNumber: SequenceNumber(UInt16(script.byte()) << 8 | 0xFF), timestamp: UInt32(script.byte()) << 24,
            ssrc: SSRC(7))
        var bytes: [UInt8] = []
        do throws(RTPError) {
            bytes = try written { (out) throws(RTPError) in
                try header.encode(
                    into: &out, sources: sources, extensions: extensions, withMID: withMID, level: level,
                    isPadded: padding > 0)
                for byte in payload { out.append(byte, as: UInt8.self) }
                if padding > 0 { try RTPHeader.appendPadding(padding, into: &out) }
            }
        } catch {
            throw FuzzFinding(text: "writing: \(error)")
        }
        try read(bytes)
        let again: RTPHeader
        do throws(RTPError) {
            again = try RTPHeader(parsing: bytes.span.bytes)
        } catch {
            throw FuzzFinding(text: "own packet refused: \(error)")
        }
        try expect(Array(bytes[again.payload]) == payload, "the payload changed")
        try expect(again.marker == header.marker && again.payloadType == header.payloadType, "marker or type changed")
        try expect(again.sequenceNumber == header.sequenceNumber && again.ssrc == header.ssrc, "numbers changed")
        try expect(again.timestamp == header.timestamp && again.sourceCount == sources.count, "time or sources changed")
        for (index, source) in sources.enumerated() {
            try expect(again.source(index, in: bytes.span.bytes) == source, "source \(index) changed")
        }
        let read = extensions.audioLevel(of: again, in: bytes.span.bytes)
        try expect(read == (extensions.audioLevelID == nil ? nil : level), "the audio level changed")
        try expect(!extensions.namesOtherSection(again, in: bytes.span.bytes), "the mid changed")
    }

    // MARK: - Counting

    private static func count(_ script: inout Script) throws(FuzzFinding) {
        var reception = RTPReceptionStatistics(ssrc: SSRC(7))
        var tracker = SequenceNumberTracker()
        var now = Instant.zero
        var packets: Int64 = 0
        while !script.isEnded {
            let flags = script.flags()
            if flags & 0x80 != 0 { now = now + script.duration() }
            if flags & 0x40 != 0 {
                let info = RTCPSenderInfo(
                    ntpTime: UInt64(script.byte()) << 56, rtpTimestamp: 0, packetCount: 0, octetCount: 0)
                reception.receive(senderReport: info, now: now)
            }
            let sequence = SequenceNumber(UInt16(script.byte()) << 8 | UInt16(script.byte()))
            let header = RTPHeader(
                marker: false, payloadType: .defaultOpus, sequenceNumber: sequence,
                timestamp: UInt32(script.byte()) << UInt32(flags & 0x1F), ssrc: SSRC(7))
            reception.receive(header, byteCount: 12, now: now)
            packets += 1
            let extended = tracker.update(sequence)
            try expect(extended.sequenceNumber == sequence, "the extended number is another's")
            try expect(reception.packetsReceived <= packets, "more packets received than came")
            guard flags & 0x20 != 0, let block = reception.makeReportBlock(now: now) else { continue }
            try expect((-0x80_0000...0x7F_FFFF).contains(block.cumulativeLost), "more than 24 bits lost")
            _ = RTPReceptionStatistics.roundTrip(of: block, now: now)
        }
    }
}

/// What `body` writes into 2,304 bytes of room.
func written(_ body: (inout OutputRawSpan) throws(RTPError) -> Void) throws(RTPError) -> [UInt8] {
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 2_304, alignment: 8)
    defer { room.deallocate() }
    var out = unsafe OutputRawSpan(buffer: room, initializedCount: 0)
    try body(&out)
    let count = unsafe out.finalize(for: room)
    return unsafe Array(room[..<count])
}
