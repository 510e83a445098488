/// The outage that `recover` causes in an active call.
struct OutagePlan: Equatable, Sendable {
    /// How a line that is dead for good dies.
    enum LineCut: String, CaseIterable, Sendable { case silence, reset }

    /// From active to the outage, seconds.
    static let delay = 2.0
    /// How long UDP is dead unless `--for` says otherwise, seconds.
    static let standardLength = 4.0
    /// The recovery window, in which an outage for good is decided, seconds.
    private static let window = 10.0
    /// What a call goes on for after that, or after the outage, seconds.
    private static let rest = 4.0

    var cause: ProbeOptions.OutageCause
    /// Seconds; nil: for good, or no matter of length.
    var seconds: Double?
    var lineCut = LineCut.silence

    /// The outage `options` ask for; nil for another command than `recover`.
    init?(_ options: ProbeOptions) {
        guard options.command == .recover, let cause = options.cause else { return nil }
        self.cause = cause
        lineCut = options.lineCut
        seconds = options.outageSeconds ?? (cause == .udpDead ? Self.standardLength : 0)
        if seconds == 0 { seconds = nil }
    }

    /// Length of the active call unless `--duration` says otherwise, seconds: it sees the outage's end.
    var callDuration: Double {
        switch cause {
        case .rebind: Self.delay + Self.rest
        case .interface, .udpDead, .lineDead: Self.delay + (seconds ?? Self.window) + Self.rest
        }
    }
}
