package import ICELite

/// The call line's sizes and times (docs: "The call line, version 1").
package enum LineLimits {
    /// Longest text that is delivered, in bytes.
    package static let maximumTextBytes = 256 * 1_024
    /// Longest text that is skipped and reported; beyond it the line is closed with 1009.
    package static let maximumSkippedBytes = 1_024 * 1_024
    /// Longest binary message: one RTP or RTCP packet.
    package static let maximumBinaryBytes = 1_500
    /// Longest payload of a control frame (RFC 6455 §5.5).
    package static let maximumControlBytes = 125
    /// Bytes of queued text beyond which `sendText` takes no more.
    package static let maximumQueuedBytes = 2 * 1_024 * 1_024
    /// Audio packets that wait at most: 100 ms of 20 ms each.
    package static let audioRingPackets = 5
    /// A buffer that has grown beyond this many bytes is given back once it is empty.
    package static let keptBufferBytes = 32 * 1_024
    /// Longest HTTP head, in bytes, its empty line included.
    package static let maximumHeadBytes = 16 * 1_024
    /// Most header fields in a head.
    package static let maximumHeaderFields = 100
    /// Longest body of a refusal that is read, in bytes.
    package static let maximumBodyBytes = 16 * 1_024

    /// Silence after which a ping is sent.
    package static let pingInterval: Nanoseconds = .seconds(5)
    /// The same during setup and while the line is suspect; also the least time between two pings.
    package static let urgentPingInterval: Nanoseconds = .seconds(1)
    /// Silence after which the line is dead.
    package static let deathInterval: Nanoseconds = .seconds(10)
    /// The same while the line is suspect.
    package static let suspectDeathInterval: Nanoseconds = .seconds(3)
    /// How long a close frame's answer, or the rest of a refusal's body, is waited for.
    package static let closeTimeout: Nanoseconds = .seconds(1)
}
