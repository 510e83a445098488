package import ICELite

/// Sends our RTCP reports in time and learns from the peer's. RFC 3550 §6, RFC 4585 (no 5 s minimum), RFC 5506.
package struct RTCPReporter: Sendable {
    /// Reduced-size reports go without a description for this long at most: somebody must know whose stream it is.
    package static let descriptionInterval: Nanoseconds = .seconds(5)

    /// Our stream.
    package let localSSRC: SSRC
    /// The peer takes reports without description (`a=rtcp-rsize`). RFC 5506.
    package var isReducedSize = false
    /// When `pollReport` has something; `.never` before `start` and after a goodbye.
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

    /// The 5 % share.
    package private(set) var interval: RTCPInterval
    private let cname: [UInt8]
    private var randomness: Randomness
    private var startedAt = Instant.never
    private var lastReportAt = Instant.never
    private var lastDescriptionAt = Instant.never
    /// Packets sent by the last report and by the one before.
    private var sentByReport: (last: Int64, before: Int64) = (0, 0)
    /// Packets received by the last report.
    private var receivedByReport: Int64 = 0
    private var isLossy = false

    /// A reporter of the stream `localSSRC`, named `cname` (cut at 255 bytes), which draws its intervals from `randomness`.
    ///
    /// - Parameter sessionBitsPerSecond: what the call takes both ways; reports keep to 5 % of it.
    package init(
        localSSRC: SSRC, cname: String, sessionBitsPerSecond: Int = RTCPInterval.audioBitsPerSecond,
        randomness: Randomness
    ) {
        self.localSSRC = localSSRC
        self.cname = Array(cname.utf8.prefix(255))
        self.randomness = randomness
        interval = RTCPInterval(firstByteCount: 52 + Self.descriptionByteCount(cname: self.cname))
        interval.sessionBitsPerSecond = sessionBitsPerSecond
    }

    /// Arms the deadline of the first report: call when the keys are there.
    package mutating func start(now: Instant) {
        guard startedAt == .never else { return }
        startedAt = now
        nextDeadline = now + RTCPInterval.drawFirst(using: &randomness)
    }

    /// Appends the report that is due: SR when we have sent lately, else RR, with SDES CNAME unless it may be left out.
    /// False, with `out` untouched, when none is due. Does not allocate.
    ///
    /// - Parameter reception: of the stream we hear; nil before its first packet.
    /// - Throws: `noRoom` (needs `byteCountAtMost`); the report is then skipped.
    @_lifetime(out: copy out)
    package mutating func pollReport(
        into out: inout OutputRawSpan, sent: RTPSenderCounters, reception: inout RTPReceptionStatistics?, now: Instant
    ) throws(RTPError) -> Bool {
        guard now >= nextDeadline else { return false }
        // RFC 3550 §6.3.6, reconsideration: the compounds that came since may have been large.
        if lastReportAt != .never {
            let reconsidered = lastReportAt + interval.drawShare(using: &randomness)
            if reconsidered > now {
                nextDeadline = reconsidered
                return false
            }
        }
        let block = reception?.makeReportBlock(now: now)
        let received = reception?.packetsReceived ?? 0
        // A stream that stands still shows no loss: nothing was expected since.
        let isStill = received > 0 && received == receivedByReport || (remote?.standstills ?? 0) > 0
        receivedByReport = received
        isLossy =
            isStill || (block?.fractionLost ?? 0) > 0 || (remote?.fractionLost ?? 0) > 0
            || now - startedAt < RTCPInterval.early
        schedule(now: now)
        guard out.freeCapacity >= byteCountAtMost else { throw .noRoom }
        let needsDescription =
            !isReducedSize || lastDescriptionAt == .never || now - lastDescriptionAt >= Self.descriptionInterval
        let before = out.byteCount
        try append(sent: sent, block: block, describes: needsDescription, into: &out, now: now)
        interval.note(byteCount: out.byteCount - before)
        reportsSent += 1
        return true
    }

    private mutating func schedule(now: Instant) {
        lastReportAt = now
        nextDeadline =
            now
            + max(
                interval.drawShare(using: &randomness),
                RTCPInterval.drawWanted(isLossy: isLossy, using: &randomness))
    }

    private static func descriptionByteCount(cname: [UInt8]) -> Int { 4 + (6 + cname.count + 4) / 4 * 4 }

    /// Room a compound needs: SR with a block, SDES, BYE.
    package var byteCountAtMost: Int { 52 + Self.descriptionByteCount(cname: cname) + 8 }

    /// Appends a whole compound, due or not, with a goodbye of our stream. RFC 3550 §6.3.7. No report follows.
    ///
    /// - Returns: false, with `out` untouched, when nothing was ever sent: then nobody is to be told.
    /// - Throws: `noRoom`, with `out` untouched.
    @_lifetime(out: copy out)
    package mutating func writeGoodbye(
        into out: inout OutputRawSpan, sent: RTPSenderCounters, reception: inout RTPReceptionStatistics?, now: Instant
    ) throws(RTPError) -> Bool {
        nextDeadline = .never
        guard reportsSent > 0 || sent.packetsSent > 0 else { return false }
        guard out.freeCapacity >= byteCountAtMost else { throw .noRoom }
        try append(sent: sent, block: reception?.makeReportBlock(now: now), describes: true, into: &out, now: now)
        try RTCPWriter.goodbye(of: localSSRC, into: &out)
        reportsSent += 1
        return true
    }

    @_lifetime(out: copy out)
    private mutating func append(
        sent: RTPSenderCounters, block: RTCPReportBlock?, describes: Bool, into out: inout OutputRawSpan, now: Instant
    ) throws(RTPError) {
        // RFC 3550 §6.4: a sender is who has sent since the last report or the one before.
        if let lastPacketAt = sent.lastPacketAt, sent.packetsSent > sentByReport.before {
            let elapsed = min(max(0, now - lastPacketAt), .seconds(60)) * 48 / 1_000_000
            let info = RTCPSenderInfo(
                ntpTime: NTPTime.full(now), rtpTimestamp: sent.lastTimestamp &+ UInt32(elapsed),
                packetCount: UInt32(truncatingIfNeeded: sent.packetsSent),
                octetCount: UInt32(truncatingIfNeeded: sent.bytesSent))
            try RTCPWriter.senderReport(from: localSSRC, info, block: block, into: &out)
        } else {
            try RTCPWriter.receiverReport(from: localSSRC, block: block, into: &out)
        }
        sentByReport = (sent.packetsSent, sentByReport.last)
        guard describes else { return }
        try RTCPWriter.sourceDescription(of: localSSRC, cname: cname, into: &out)
        lastDescriptionAt = now
    }

    /// Learns from the (authenticated) compound `bytes` of the peer, and says what it meant. A malformed compound is used
    /// up to its fault and counted. Does not allocate.
    @discardableResult
    package mutating func handle(
        _ bytes: borrowing RawSpan, reception: inout RTPReceptionStatistics?, now: Instant
    ) -> RTCPNews {
        var reader = RTCPReader()
        var news = RTCPNews()
        interval.note(byteCount: bytes.byteCount)
        do throws(RTPError) {
            while let packet = try reader.next(in: bytes) {
                switch packet {
                case .senderReport(let ssrc, let info, let blocks):
                    if reception == nil { reception = RTPReceptionStatistics(ssrc: ssrc) }
                    if reception?.ssrc == ssrc { reception?.receive(senderReport: info, now: now) }
                    if learn(blocks, in: bytes, now: now) { news.isAboutUs = true }
                case .receiverReport(_, let blocks):
                    if learn(blocks, in: bytes, now: now) { news.isAboutUs = true }
                case .goodbye(let sources):
                    if let ssrc = reception?.ssrc, sources.contains(ssrc, in: bytes) { news.saidGoodbye = true }
                case .sourceDescription: break
                case .unknown: unknownPackets += 1
                }
            }
        } catch {
            malformed += 1
        }
        if news.saidGoodbye { remoteGoodbye = true }
        return news
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
            if block.fractionLost > 0 || isStill { hasten(now: now) }
            return true
        }
        return false
    }

    /// Loss begins: the next report does not wait for a quiet interval's end.
    private mutating func hasten(now: Instant) {
        guard !isLossy, lastReportAt != .never, nextDeadline != .never else { return }
        isLossy = true
        let wanted = lastReportAt + RTCPInterval.drawWanted(isLossy: true, using: &randomness)
        nextDeadline = min(nextDeadline, max(now, wanted))
    }
}
