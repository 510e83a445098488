package import ICELite

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

/// What an RTCP compound of the peer's meant to its taker.
package struct RTCPNews: Hashable, Sendable {
    /// It held a report on our stream.
    package var isAboutUs = false
    /// It said goodbye to the stream we hear. That ends nothing by itself: the call does. RFC 3550 §6.6.
    package var saidGoodbye = false

    package init() {}
}
