/// What became of a packet that was to be protected or unprotected in place.
package enum SRTPResult: Equatable, Sendable {
    /// The packet is changed, its `count` with it.
    case ok
    /// The packet is not usable any more (under GCM its bytes may have changed): let it go.
    case dropped(SRTPDropReason)
}

/// Why SRTP drops a packet. The raw value is the place in `SRTPStatistics`.
package enum SRTPDropReason: Int, Equatable, Sendable, CaseIterable {
    /// The tag does not verify: forged, damaged, another key, or a rollover counter that we cannot know.
    case authentication
    /// The index was received before.
    case replay
    /// The index is older than the replay window.
    case replayOld
    /// No stream for its SSRC, and it could not be learned.
    case noStream
    /// Shorter than its own headers and tag say, or not version 2.
    case malformed
    /// No room for the tag behind the packet.
    case noRoom
    /// The master key has protected as many packets as it may.
    case keyExpired
    /// libsrtp2 failed in another way.
    case libsrtp
}

/// Counts of one session, since it was made.
package struct SRTPStatistics: Equatable, Sendable {
    /// Packets protected, RTP and RTCP together.
    package internal(set) var protected: UInt64 = 0
    /// Packets unprotected, RTP and RTCP together.
    package internal(set) var unprotected: UInt64 = 0
    /// SSRCs learned from packets that authenticated, 0…4.
    package internal(set) var learnedSSRCs = 0
    /// Packets of an unknown SSRC that were tried on a copy.
    package internal(set) var probes: UInt64 = 0
    private var drops = InlineArray<8, UInt64>(repeating: 0)

    /// Packets dropped for `reason`, both directions.
    package func dropped(_ reason: SRTPDropReason) -> UInt64 { drops[reason.rawValue] }

    mutating func count(_ reason: SRTPDropReason) { drops[reason.rawValue] &+= 1 }

    package static func == (left: SRTPStatistics, right: SRTPStatistics) -> Bool {
        left.protected == right.protected && left.unprotected == right.unprotected
            && left.learnedSSRCs == right.learnedSSRCs && left.probes == right.probes
            && SRTPDropReason.allCases.allSatisfy { left.dropped($0) == right.dropped($0) }
    }
}
