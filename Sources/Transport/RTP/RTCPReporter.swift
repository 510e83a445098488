package import ICELite

/// What our sender has done so far: the numbers of a sender report.
package struct RTPSenderCounters: Hashable, Sendable {
    /// RTP packets sent.
    package var packetsSent: Int64 = 0
    /// Payload bytes sent.
    package var bytesSent: Int64 = 0
    /// Header bytes sent.
    package var headerBytesSent: Int64 = 0
    /// Timestamp of the last packet.
    package var lastTimestamp: UInt32 = 0
    /// When the last packet was made; nil before the first.
    package var lastPacketAt: Instant?

    package init() {}
}

/// What the peer last reported of our stream.
package struct RTCPRemoteReport: Hashable, Sendable {
    /// Low 16 bits of its rollover counter and the highest sequence number it has received.
    package var highestSequence: UInt32
    /// Loss since its report before, 0…1.
    package var fractionLost: Double
    /// Packets of ours that it missed since the stream began.
    package var cumulativeLost: Int32
    /// Jitter it sees, in RTP ticks.
    package var jitter: UInt32
    /// Round trip at this report; nil if the report does not say.
    package var roundTrip: Nanoseconds?
    /// When the report came.
    package var receivedAt: Instant
    /// Reports in a row, this one included, whose highest number was the one before's: 0 while it moves.
    package var standstills: Int
}

/// Sends our RTCP reports in time and learns from the peer's. RFC 3550 §6, RFC 4585 (no 5 s minimum).
package struct RTCPReporter: Sendable {
    /// Between reports while nothing is lost.
    package static let interval: Nanoseconds = .seconds(1)
    /// Between reports while there is loss in either direction.
    package static let lossInterval: Nanoseconds = .milliseconds(500)
    /// Before the first report.
    package static let firstInterval: Nanoseconds = .milliseconds(500)

    /// Our stream.
    package let localSSRC: SSRC
    /// When `pollReport` has something; `.never` before `start`.
    package private(set) var nextDeadline: Instant = .never
    /// The peer's last report about our stream.
    package private(set) var remote: RTCPRemoteReport?
    /// Sum of the round trips measured.
    package private(set) var totalRoundTripTime: Nanoseconds = 0
    /// How many were measured.
    package private(set) var roundTripTimeMeasurements = 0
    /// Compounds written.
    package private(set) var reportsSent = 0
    /// Reports about our stream received.
    package private(set) var reportsReceived = 0
    /// Compounds that were malformed, wholly or from some packet on.
    package private(set) var malformed = 0
    /// RTCP packets of a type that is not known here.
    package private(set) var unknownPackets = 0
    /// The peer said goodbye to the stream we hear.
    package private(set) var remoteGoodbye = false

    private let cname: [UInt8]

    /// A reporter of the stream `localSSRC`, named `cname` (cut at 255 bytes).
    package init(localSSRC: SSRC, cname: String) {
        self.localSSRC = localSSRC
        self.cname = Array(cname.utf8.prefix(255))
    }

    /// Arms the deadline of the first report: call when the keys are there.
    package mutating func start(now: Instant) {
        if nextDeadline == .never { nextDeadline = now + Self.firstInterval }
    }

    /// Appends the compound that is due: SR when we have sent, else RR, with SDES CNAME. False, with `out` untouched,
    /// when none is due. Does not allocate.
    ///
    /// - Parameter reception: of the stream we hear; nil before its first packet.
    /// - Throws: `noRoom` (needs `byteCountAtMost`); the report is then skipped.
    @_lifetime(out: copy out)
    package mutating func pollReport(
        into out: inout OutputRawSpan, sent: RTPSenderCounters, reception: inout RTPReceptionStatistics?, now: Instant
    ) throws(RTPError) -> Bool {
        guard now >= nextDeadline else { return false }
        let block = reception?.makeReportBlock(now: now)
        let isLossy = (block?.fractionLost ?? 0) > 0 || (remote?.fractionLost ?? 0) > 0
        nextDeadline = now + (isLossy ? Self.lossInterval : Self.interval)
        guard out.freeCapacity >= byteCountAtMost else { throw .noRoom }
        try append(sent: sent, block: block, into: &out, now: now)
        reportsSent += 1
        return true
    }

    /// Room a compound needs: SR with a block, SDES, BYE.
    package var byteCountAtMost: Int { 52 + 4 + (6 + cname.count + 4) / 4 * 4 + 8 }

    /// Appends a report, due or not, and a goodbye of our stream. RFC 3550 §6.3.7. No report follows.
    ///
    /// - Throws: `noRoom`, with `out` untouched.
    @_lifetime(out: copy out)
    package mutating func writeGoodbye(
        into out: inout OutputRawSpan, sent: RTPSenderCounters, reception: inout RTPReceptionStatistics?, now: Instant
    ) throws(RTPError) {
        guard out.freeCapacity >= byteCountAtMost else { throw .noRoom }
        nextDeadline = .never
        try append(sent: sent, block: reception?.makeReportBlock(now: now), into: &out, now: now)
        try RTCPWriter.goodbye(of: localSSRC, into: &out)
        reportsSent += 1
    }

    @_lifetime(out: copy out)
    private func append(
        sent: RTPSenderCounters, block: RTCPReportBlock?, into out: inout OutputRawSpan, now: Instant
    ) throws(RTPError) {
        if let lastPacketAt = sent.lastPacketAt {
            let elapsed = min(max(0, now - lastPacketAt), .seconds(60)) * 48 / 1_000_000
            let info = RTCPSenderInfo(
                ntpTime: NTPTime.full(now), rtpTimestamp: sent.lastTimestamp &+ UInt32(elapsed),
                packetCount: UInt32(truncatingIfNeeded: sent.packetsSent),
                octetCount: UInt32(truncatingIfNeeded: sent.bytesSent))
            try RTCPWriter.senderReport(from: localSSRC, info, block: block, into: &out)
        } else {
            try RTCPWriter.receiverReport(from: localSSRC, block: block, into: &out)
        }
        try RTCPWriter.sourceDescription(of: localSSRC, cname: cname, into: &out)
    }

    /// Learns from the (authenticated) compound `bytes` of the peer. Returns whether it held a report on our stream.
    /// A malformed compound is used up to its fault and counted. Does not allocate.
    @discardableResult
    package mutating func handle(
        _ bytes: borrowing RawSpan, reception: inout RTPReceptionStatistics?, now: Instant
    ) -> Bool {
        var reader = RTCPReader()
        var isAboutUs = false
        do throws(RTPError) {
            while let packet = try reader.next(in: bytes) {
                switch packet {
                case .senderReport(let ssrc, let info, let blocks):
                    if reception?.ssrc == ssrc { reception?.receive(senderReport: info, now: now) }
                    isAboutUs = learn(blocks, in: bytes, now: now) || isAboutUs
                case .receiverReport(_, let blocks):
                    isAboutUs = learn(blocks, in: bytes, now: now) || isAboutUs
                case .goodbye(let sources):
                    if let ssrc = reception?.ssrc, sources.contains(ssrc, in: bytes) { remoteGoodbye = true }
                case .sourceDescription: break
                case .unknown: unknownPackets += 1
                }
            }
        } catch {
            malformed += 1
        }
        return isAboutUs
    }

    private mutating func learn(_ blocks: RTCPReportBlocks, in bytes: borrowing RawSpan, now: Instant) -> Bool {
        for index in 0..<blocks.count {
            let block = blocks.block(index, in: bytes)
            guard block.ssrc == localSSRC else { continue }
            reportsReceived += 1
            let roundTrip = RTPReceptionStatistics.roundTrip(of: block, now: now)
            if let roundTrip {
                totalRoundTripTime += roundTrip
                roundTripTimeMeasurements += 1
            }
            let isStill = remote?.highestSequence == block.highestSequence
            remote = RTCPRemoteReport(
                highestSequence: block.highestSequence, fractionLost: Double(block.fractionLost) / 256,
                cumulativeLost: block.cumulativeLost, jitter: block.jitter, roundTrip: roundTrip, receivedAt: now,
                standstills: isStill ? (remote?.standstills ?? 0) + 1 : 0)
            if block.fractionLost > 0 { nextDeadline = min(nextDeadline, now + Self.lossInterval) }
            return true
        }
        return false
    }
}
