/// What a receiver says of one stream it hears. RFC 3550 §6.4.1.
package struct RTCPReportBlock: Hashable, Sendable {
    /// Bytes of a block.
    package static let byteCount = 24

    /// The stream that is reported on.
    package var ssrc: SSRC
    /// Packets lost since the last report, in 256ths of those expected.
    package var fractionLost: UInt8
    /// Packets lost since the stream began; 24 bits signed, duplicates can make it negative.
    package var cumulativeLost: Int32
    /// Low 16 bits of the rollover counter and the highest sequence number received.
    package var highestSequence: UInt32
    /// Interarrival jitter in RTP ticks.
    package var jitter: UInt32
    /// The middle 32 bits of the NTP time of the last sender report received; 0 for none.
    package var lastSenderReport: UInt32
    /// Delay since that report came, in 65,536ths of a second.
    package var delaySinceLastSenderReport: UInt32

    package init(
        ssrc: SSRC, fractionLost: UInt8, cumulativeLost: Int32, highestSequence: UInt32, jitter: UInt32,
        lastSenderReport: UInt32, delaySinceLastSenderReport: UInt32
    ) {
        self.ssrc = ssrc
        self.fractionLost = fractionLost
        self.cumulativeLost = cumulativeLost
        self.highestSequence = highestSequence
        self.jitter = jitter
        self.lastSenderReport = lastSenderReport
        self.delaySinceLastSenderReport = delaySinceLastSenderReport
    }

    /// The block at `offset`, of which the caller knows that it lies inside.
    init(at offset: Int, in bytes: borrowing RawSpan) {
        ssrc = SSRC(bytes.rtpUInt32(at: offset))
        let lost = bytes.rtpUInt32(at: offset + 4)
        fractionLost = UInt8(lost >> 24)
        cumulativeLost = Int32(bitPattern: lost << 8) >> 8
        highestSequence = bytes.rtpUInt32(at: offset + 8)
        jitter = bytes.rtpUInt32(at: offset + 12)
        lastSenderReport = bytes.rtpUInt32(at: offset + 16)
        delaySinceLastSenderReport = bytes.rtpUInt32(at: offset + 20)
    }

    /// Appends the block; the caller has checked the room.
    @_lifetime(out: copy out)
    func append(to out: inout OutputRawSpan) {
        let lost = min(max(cumulativeLost, -0x80_0000), 0x7F_FFFF)
        out.appendRTP(ssrc.rawValue)
        out.appendRTP(UInt32(fractionLost) << 24 | UInt32(bitPattern: lost) & 0xFF_FFFF)
        out.appendRTP(highestSequence)
        out.appendRTP(jitter)
        out.appendRTP(lastSenderReport)
        out.appendRTP(delaySinceLastSenderReport)
    }
}
