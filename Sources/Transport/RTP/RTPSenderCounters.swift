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
