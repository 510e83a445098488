/// Every interval of the ICE agents, with the sentence that fixes it.
public struct ICETiming: Hashable, Sendable {
    /// First interval between checks of a pair, before anything was answered. RFC 8445 §14.3 asks for 500 ms at least;
    /// we go below it on purpose, as each repeat is a transaction of its own and the number of pairs is small.
    public var initialRetransmission: Nanoseconds = .milliseconds(250)
    /// Highest interval before the first answer: the doubling of RFC 8489 §6.2.1 stops here.
    public var unansweredRetransmissionCap: Nanoseconds = .milliseconds(500)
    /// Lowest interval once the round trip is known; above it, 2 × RTT (RFC 8489 §6.2.1 wants an estimate of the RTT).
    public var minimumRetransmission: Nanoseconds = .milliseconds(100)
    /// Highest interval once something was answered.
    public var retransmissionCap: Nanoseconds = .seconds(2)
    /// Ta between the first checks of pairs. RFC 8445 §14.2: 50 ms by default, another value may be used, not under 5
    /// ms.
    public var firstCheckPacing: Nanoseconds = .milliseconds(20)
    /// Ta between all other checks: the default of RFC 8445 §14.2.
    public var pacing: Nanoseconds = .milliseconds(50)
    /// Consent checks: RFC 7675 §5.1 has one each 5 s, each interval randomised between 0.8 and 1.2 of it.
    public var consentInterval: Nanoseconds = .seconds(5)
    /// Consent ends 30 s after the last valid answer (RFC 7675 §5.1). A lite agent counts from the last authenticated
    /// request on the tuple.
    public var consentExpiry: Nanoseconds = .seconds(30)
    /// First interval after which an unanswered consent check is followed by another, or 2 × RTT if that is longer; then
    /// doubling. Each is a transaction of its own: RFC 7675 §5.1 knows no retransmission, and sets no lower bound.
    public var consentRepeat: Nanoseconds = .milliseconds(500)
    /// Highest interval of those: about 25 tries before consent expires.
    public var consentRepeatCap: Nanoseconds = .seconds(1)
    /// Ta of the checks in the first second of an outage that is probed: at most 51 in it.
    public var probeBurstPacing: Nanoseconds = .milliseconds(20)
    /// Ta of the checks of an outage after that: 40 a second.
    public var probePacing: Nanoseconds = .milliseconds(25)
    /// How long `probeBurstPacing` lasts from the first round on.
    public var probeBurst: Nanoseconds = .seconds(1)
    /// Rounds of probes that follow each other within this time belong to one outage, with one burst.
    public var sameOutage: Nanoseconds = .seconds(5)
    /// A pair is silent when `ICELimits.silentAttempts` checks were not answered for this time, or 2 × RTT if that is
    /// longer.
    public var silence: Nanoseconds = .seconds(1)
    /// How long the checks of a generation are answered that a restart has replaced.
    public var retirement: Nanoseconds = .seconds(3)
    /// How long the checks of a restart that the peer asked for wait for its first one.
    public var restartAnswerHold: Nanoseconds = .seconds(2)
    /// First interval after a refused send of a check, doubling to `refusalCap`.
    public var refusalBackoff: Nanoseconds = .milliseconds(250)
    /// Highest interval between checks of a pair whose sends are refused.
    public var refusalCap: Nanoseconds = .seconds(1)

    /// The intervals as they are documented.
    public init() {}
}

/// The bounds of the ICE agents.
public enum ICELimits {
    /// Local addresses of one agent.
    public static let localCandidates = 16
    /// Remote candidates that are kept, signalled and peer-reflexive.
    public static let remoteCandidates = 32
    /// Pairs that are checked (RFC 8445 §6.1.2.5 suggests 100).
    public static let pairs = 64
    /// Tuples of a lite agent.
    public static let tuples = 8
    /// Checks of one generation that may still be answered; the oldest is forgotten. At Ta those of 5 s at least.
    public static let outstandingChecks = 256
    /// Responses that wait to be sent; more are dropped and counted.
    public static let pendingResponses = 32
    /// Events that wait to be polled; more are dropped and counted.
    public static let pendingEvents = 128
    /// Mapped addresses that are remembered as peer-reflexive local candidates.
    public static let reflexiveCandidates = 8
    /// Server-reflexive local candidates.
    public static let serverReflexiveCandidates = 16
    /// Valid pairs besides the selected one in a round of probes. One never answered of each local address comes on top.
    public static let probedPairs = 4
    /// Checks of the selected pair lost just before the one that is answered, with which that does not end the probing.
    public static let strayAfter = 1
    /// Unanswered checks after which a pair may be silent.
    public static let silentAttempts = 3
    /// Checks of a pair of another local address than the selected one's, in all, until it is left alone unanswered.
    public static let warmingChecks: UInt64 = 4
    /// Unanswered nominating checks after which another pair is chosen.
    public static let nominationAttempts = 4
    /// Tokens of one pair that are echoed at once, without the pacing, until the pair has settled; further ones go with its
    /// next check.
    public static let urgentEchoes = 4
    /// Checks that are repeated at once because of a 487, in all; after that they wait their turn.
    public static let conflictRepeats = 8
    /// Room that `pollTransmit` asks of its span: no message of ours is longer.
    public static let messageRoom = 704
    /// Bytes an unconfirmed tuple gets beyond three times what came from it.
    public static let unconfirmedAllowance = 4_096
}
