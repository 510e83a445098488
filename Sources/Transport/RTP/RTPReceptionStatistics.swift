package import ICELite

/// What RFC 3550 has a receiver know of one stream: extended highest number, loss, jitter. §A.1, §A.3, §A.8.
///
/// Packets are counted per carriage before any repair: keep one for each. Does not allocate.
package struct RTPReceptionStatistics: Sendable {
    /// A sequence number that jumps further ahead than this is believed when the next packet confirms it. §A.1.
    package static let maximumDropout = 3_000
    /// A number that is further behind than this counts as a jump. §A.1.
    package static let maximumMisorder = 100
    /// A jump of the timestamp by more than this, in ticks, is a pause and says nothing of jitter (120 ms).
    static let longestPacket: Int64 = 5_760

    /// The stream.
    package let ssrc: SSRC
    /// Packets received, duplicates included.
    package private(set) var packetsReceived: Int64 = 0
    /// Payload bytes received.
    package private(set) var bytesReceived: Int64 = 0
    /// Header and padding bytes received.
    package private(set) var headerBytesReceived: Int64 = 0
    /// When the last packet came.
    package private(set) var lastArrival: Instant?
    /// Times that the numbering began anew.
    package private(set) var restarts = 0

    private let clockRate: Int64
    private var tracker = SequenceNumberTracker()
    private var base: Int64 = 0
    private var receivedSinceBase: Int64 = 0
    private var lostBefore: Int64 = 0
    private var expectedPrior: Int64 = 0
    private var receivedPrior: Int64 = 0
    private var suspectNext: SequenceNumber?
    private var scaledJitter: Int64 = 0
    private var lastTimestamp: UInt32 = 0
    private var lastSequence = SequenceNumber(0)
    private var lastSenderReport: (compact: UInt32, arrival: Instant)?

    /// Statistics of the stream `ssrc`, whose timestamps count `clockRate` (1…200,000) ticks a second.
    package init(ssrc: SSRC, clockRate: Int = 48_000) {
        precondition((1...200_000).contains(clockRate), "an RTP clock counts 1…200,000 ticks a second")
        self.ssrc = ssrc
        self.clockRate = Int64(clockRate)
    }

    /// The highest extended sequence number; nil before the first packet.
    package var highest: ExtendedSequenceNumber? { tracker.highest }
    /// Interarrival jitter in RTP ticks. §A.8.
    package var jitter: UInt32 { UInt32(clamping: scaledJitter >> 4) }
    /// Packets lost; may fall, and be negative when packets came twice. §A.3.
    package var packetsLost: Int64 { lostBefore + expected - receivedSinceBase }

    private var expected: Int64 { tracker.highest.map { $0.rawValue - base + 1 } ?? 0 }

    /// Counts a packet of the stream that came (authenticated) at `now`.
    package mutating func receive(_ header: RTPHeader, byteCount: Int, now: Instant) {
        let sequence = header.sequenceNumber
        if let highest = tracker.highest {
            let distance = sequence.distance(from: highest.sequenceNumber)
            if distance >= Self.maximumDropout || distance < -Self.maximumMisorder {
                // §A.1: one wild number is a straggler; two in a row are a sender that began anew.
                guard suspectNext == sequence else {
                    suspectNext = sequence.next
                    return
                }
                lostBefore = packetsLost
                restarts += 1
                tracker = SequenceNumberTracker()
                receivedSinceBase = 0
                expectedPrior = 0
                receivedPrior = 0
                lastArrival = nil
            }
        }
        packetsReceived += 1
        bytesReceived += Int64(header.payload.count)
        headerBytesReceived += Int64(byteCount - header.payload.count)
        suspectNext = nil
        let isFirst = tracker.highest == nil
        let extended = tracker.update(sequence)
        if isFirst || extended.rawValue < base { base = extended.rawValue }
        receivedSinceBase += 1
        updateJitter(header, now: now)
        lastArrival = now
        lastTimestamp = header.timestamp
        lastSequence = sequence
    }

    private mutating func updateJitter(_ header: RTPHeader, now: Instant) {
        guard let lastArrival else { return }
        let ticks = Int64(Int32(bitPattern: header.timestamp &- lastTimestamp))
        let packets = Int64(header.sequenceNumber.distance(from: lastSequence))
        // A pause of DTX, a jump or a second copy: not a statement about the network.
        guard ticks != 0, abs(ticks) <= max(1, abs(packets)) * Self.longestPacket, abs(ticks) < 10 * clockRate
        else { return }
        // Of two moments in ticks, not of their difference: what is rounded off one packet is given back by the next.
        let elapsed = min(max(rtpTicks(now) - rtpTicks(lastArrival), -10 * clockRate), 10 * clockRate)
        let difference = abs(elapsed - ticks)
        scaledJitter += difference - ((scaledJitter + 8) >> 4)
    }

    private func rtpTicks(_ instant: Instant) -> Int64 {
        let (seconds, rest) = instant.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return seconds &* clockRate &+ rest * clockRate / 1_000_000_000
    }

    /// Remembers a sender report of the stream that came at `now`, for LSR and DLSR.
    package mutating func receive(senderReport info: RTCPSenderInfo, now: Instant) {
        lastSenderReport = (UInt32(truncatingIfNeeded: info.ntpTime >> 16), now)
    }

    /// The block for the next report; nil before the first packet. Each call ends an interval of `fractionLost`.
    package mutating func makeReportBlock(now: Instant) -> RTCPReportBlock? {
        guard let highest = tracker.highest else { return nil }
        let expectedNow = expected
        let expectedInterval = expectedNow - expectedPrior
        let lostInterval = expectedInterval - (receivedSinceBase - receivedPrior)
        expectedPrior = expectedNow
        receivedPrior = receivedSinceBase
        let fraction = expectedInterval <= 0 || lostInterval <= 0 ? 0 : min(255, (lostInterval << 8) / expectedInterval)
        return RTCPReportBlock(
            ssrc: ssrc, fractionLost: UInt8(fraction),
            cumulativeLost: Int32(clamping: min(max(packetsLost, -0x80_0000), 0x7F_FFFF)),
            highestSequence: UInt32(truncatingIfNeeded: highest.rawValue), jitter: jitter,
            lastSenderReport: lastSenderReport?.compact ?? 0,
            delaySinceLastSenderReport: lastSenderReport.map { NTPTime.compactDuration(now - $0.arrival) } ?? 0)
    }

    /// The round trip that a block about our stream shows: now − LSR − DLSR. §6.4.1.
    ///
    /// Nil without LSR, and when the peer's numbers make it negative or longer than 60 s.
    package static func roundTrip(of block: RTCPReportBlock, now: Instant) -> Nanoseconds? {
        guard block.lastSenderReport != 0 else { return nil }
        let compact = NTPTime.compact(now) &- block.lastSenderReport &- block.delaySinceLastSenderReport
        // A difference just below zero is rounding.
        if Int32(bitPattern: compact) < 0 { return Int32(bitPattern: compact) > -66 ? 0 : nil }
        let length = NTPTime.nanoseconds(compact: compact)
        return length <= .seconds(60) ? length : nil
    }
}
