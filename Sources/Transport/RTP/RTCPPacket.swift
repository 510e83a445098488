/// RTCP packet types that are known here. RFC 3550 §12.1.
enum RTCPType {
    static let senderReport: UInt8 = 200
    static let receiverReport: UInt8 = 201
    static let sourceDescription: UInt8 = 202
    static let goodbye: UInt8 = 203
}

/// What a sender report says of its sender. RFC 3550 §6.4.1.
package struct RTCPSenderInfo: Hashable, Sendable {
    /// NTP time of the report, 32.32 fixed point.
    package var ntpTime: UInt64
    /// The same moment on the stream's media clock.
    package var rtpTimestamp: UInt32
    /// RTP packets sent since the stream began.
    package var packetCount: UInt32
    /// Payload bytes sent since the stream began.
    package var octetCount: UInt32

    package init(ntpTime: UInt64, rtpTimestamp: UInt32, packetCount: UInt32, octetCount: UInt32) {
        self.ntpTime = ntpTime
        self.rtpTimestamp = rtpTimestamp
        self.packetCount = packetCount
        self.octetCount = octetCount
    }
}

/// One packet inside an RTCP compound. Lists are positions in the compound they were read from: nothing is copied.
package enum RTCPPacket: Hashable, Sendable {
    /// A sender report and its blocks.
    case senderReport(SSRC, RTCPSenderInfo, blocks: RTCPReportBlocks)
    /// A receiver report and its blocks.
    case receiverReport(SSRC, blocks: RTCPReportBlocks)
    /// The first chunk of a source description: whose it is (nil without a chunk), and where its CNAME's text lies.
    case sourceDescription(SSRC?, cname: Range<Int>?)
    /// Streams that end.
    case goodbye(RTCPSources)
    /// A type that is not known here; skipped by its length.
    case unknown(type: UInt8)
}

/// The report blocks of a report: positions in its compound.
package struct RTCPReportBlocks: Hashable, Sendable {
    let start: Int
    /// How many there are, 0…31.
    package let count: Int

    /// Block `index` (0..<count), read from the bytes the report was read from.
    package func block(_ index: Int, in bytes: borrowing RawSpan) -> RTCPReportBlock {
        precondition((0..<count).contains(index), "no such report block")
        return RTCPReportBlock(at: start + index * RTCPReportBlock.byteCount, in: bytes)
    }
}

/// The streams of a goodbye: positions in its compound.
package struct RTCPSources: Hashable, Sendable {
    let start: Int
    /// How many there are, 0…31.
    package let count: Int

    /// Whether `ssrc` is among them, read from the bytes the goodbye was read from.
    package func contains(_ ssrc: SSRC, in bytes: borrowing RawSpan) -> Bool {
        for index in 0..<count where bytes.rtpUInt32(at: start + 4 * index) == ssrc.rawValue { return true }
        return false
    }
}
