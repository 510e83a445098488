/// What made a call believe that its media path was broken. `rawValue` is the word of reports.
public enum OutageCause: String, Hashable, Sendable, CaseIterable {
    /// Nothing authenticated came for longer than the path's own rhythm explains.
    case silence
    /// The local address that the selected pair used is gone.
    case networkChange = "network_change"
    /// This machine refused to send on the selected pair (EPERM, ENETUNREACH and the like).
    case sendRefused = "send_refused"
    /// The other end asked for the bridge: it does not hear us.
    case peer
    /// The other end's reports show that nothing of ours arrives any more.
    case oneWay = "one_way"
    /// Consent to send has expired (RFC 7675), or the server asked for an ICE restart.
    case consent
    /// The application said that the network may have changed, or the machine's default route leaves by another interface.
    case hint
    /// This process did not run for a while: it was stopped, or the machine slept.
    case stall
}

/// By what the media path came back.
public enum RepairMechanism: String, Hashable, Sendable, CaseIterable {
    /// By nothing of ours: audio came again before a check was answered.
    case none
    /// A check on the pair that was in use was answered.
    case samePair = "same_pair"
    /// Another pair was selected: another interface, family or port.
    case otherPair = "other_pair"
    /// An ICE restart found a pair.
    case restart
}

/// How an outage of the media path ended.
public enum OutageOutcome: String, Hashable, Sendable, CaseIterable {
    case ongoing
    /// The path had only been quiet for a moment: audio came again by itself within a second.
    case falseAlarm = "false_alarm"
    /// The path carries the call again.
    case recovered
    /// The path did not come back in its window: the call goes on over the line.
    case continued
    /// The path did not come back and the call ended as failed.
    case failed
    /// The call ended otherwise meanwhile.
    case hungUp = "hung_up"
}

/// One outage of a call's media path: from its suspicion to audio on the path again, or to what became of the call.
///
/// Suspicions that follow the end of one within 5 s are the same outage: its window is one.
public struct Outage: Hashable, Sendable {
    /// What was seen first.
    public var cause: OutageCause
    /// When it was suspected, since the call was active.
    public var at: Duration
    /// From the last packet heard on the path to the suspicion.
    public var detection: Duration
    /// From the suspicion to the first audio on the path that stayed; nil while there is none.
    public var repair: Duration?
    /// The longest time without a new audio packet on any carriage, from the last one before the suspicion on.
    public var gap: Duration
    /// Packets of audio that were concealed meanwhile, 20 ms each.
    public var framesLost: Int
    /// By what the path came back.
    public var mechanism: RepairMechanism
    public var outcome: OutageOutcome
    /// How often the path broke again within it.
    public var relapses: Int
    /// Connectivity checks sent for it.
    public var checksSent: Int

    package init(cause: OutageCause, at: Duration, detection: Duration) {
        self.cause = cause
        self.at = at
        self.detection = detection
        gap = detection
        framesLost = 0
        mechanism = .none
        outcome = .ongoing
        relapses = 0
        checksSent = 0
    }
}

/// What the call knows of its media path's outages.
public struct RecoverySnapshot: Hashable, Sendable {
    /// Outages that are kept; older ones are only counted.
    public static let keptOutages = 32

    /// The path is broken and being repaired; the line carries the audio meanwhile, if it can.
    public var isRecovering = false
    /// The newest outages, in order, at most `keptOutages`.
    public var outages: [Outage] = []
    /// All outages.
    public var outageCount = 0
    /// Suspicions that turned out to be nothing.
    public var falseAlarms = 0
    /// Times that this end asked for the bridge, and how long audio went on both carriages.
    public var bridges = 0
    public var bridged: Duration = .zero
    /// Silence of the path after which it is suspected, now.
    public var suspicionThreshold: Duration = .zero

    public init() {}
}
