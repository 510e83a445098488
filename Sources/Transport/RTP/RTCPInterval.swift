package import ICELite

/// How long to wait from one report to the next.
///
/// RTCP takes 5 % of the session's bandwidth at most (RFC 3550 §6.2, §A.7); under the feedback profile there is no minimum
/// of 5 s (RFC 4585 §3.4), so a call may report several times a second. It need not: twice a second is enough while there
/// is loss, every other second without.
package struct RTCPInterval: Sendable {
    /// Between reports while there is loss, and early in the call.
    package static let whileLossy: ClosedRange<Nanoseconds> = .milliseconds(500) ... .seconds(1)
    /// Between reports else, on average: the `trr-int` of RFC 4585 §3.4, drawn from 0.5…1.5 of it.
    package static let whileQuiet: Nanoseconds = .seconds(2)
    /// Before the first report, on average, drawn alike.
    package static let first: Nanoseconds = .milliseconds(500)
    /// How long a call counts as early.
    package static let early: Nanoseconds = .seconds(10)
    /// Both ends of a call report: the members of RFC 3550 §6.3. Both send, so the share is not divided by roles.
    static let members = 2
    /// What a compound is on the wire beyond itself: SRTCP's index and tag, UDP and IPv4.
    static let overhead = 4 + 16 + 28
    /// Makes up for what the timer's reconsideration adds to an interval: e − 3/2. RFC 3550 §6.3.1.
    static let compensation = 1.218_28

    /// Two streams of Opus at 24 kbit/s in packets of 20 ms, lower layers included, in bits a second.
    package static let audioBitsPerSecond = 92_000

    /// What the call takes both ways, lower layers included, in bits a second.
    package var sessionBitsPerSecond = audioBitsPerSecond
    /// Mean size on the wire of compounds sent and received, in bytes. RFC 3550 §6.3.3.
    package private(set) var averageByteCount: Double

    /// - Parameter firstByteCount: the likely size of the first compound.
    package init(firstByteCount: Int) { averageByteCount = Double(firstByteCount + Self.overhead) }

    /// A compound of `byteCount` bytes was sent or received.
    package mutating func note(byteCount: Int) {
        averageByteCount += (Double(byteCount + Self.overhead) - averageByteCount) / 16
    }

    /// The interval that keeps both ends at 5 % together.
    package var deterministic: Nanoseconds {
        let bytesPerSecond = Double(max(sessionBitsPerSecond, 1_000)) / 8 * 0.05
        return Nanoseconds(averageByteCount * Double(Self.members) / bytesPerSecond * 1_000_000_000)
    }

    /// An interval of the 5 % share: 0.5…1.5 of `deterministic`, compensated.
    package func drawShare(using randomness: inout Randomness) -> Nanoseconds {
        Nanoseconds(Double(Self.spread(deterministic, using: &randomness)) / Self.compensation)
    }

    /// An interval as short as is wanted, whatever the share allows.
    package static func drawWanted(isLossy: Bool, using randomness: inout Randomness) -> Nanoseconds {
        isLossy ? Int64.random(in: whileLossy, using: &randomness) : spread(whileQuiet, using: &randomness)
    }

    /// The time before the first report.
    package static func drawFirst(using randomness: inout Randomness) -> Nanoseconds {
        spread(first, using: &randomness)
    }

    private static func spread(_ length: Nanoseconds, using randomness: inout Randomness) -> Nanoseconds {
        Int64.random(in: (length / 2)...(length + length / 2), using: &randomness)
    }
}
