internal import ICELite

/// One call to place: everything that whoever places it needs, and nothing about how it is judged.
struct CallPlan: Sendable {
    /// The call's name in the report.
    var name: String
    /// nil: an endpoint in this process.
    var target: String?
    var preference: ProbeOptions.Preference
    /// For the relay in front of the target; no relay when clear.
    var impairment: ImpairmentSpec
    var seed: UInt64
    /// What to say from active on, 48 kHz mono; silence after it.
    var audio: [Int16]
    /// Length of the active call, seconds.
    var duration: Double
    /// The key, or nil: none is sent.
    var key: String?
    var caFile: String?
    var insecure: Bool
    /// The only version of IP to use; nil: both.
    var family: IPAddress.Family?
    /// The only local address to use; nil: the system's choice. Without a target the endpoint listens there.
    var bind: IPAddress?
    /// STUN servers, as `stun:host[:port]`.
    var stun: [String] = []
    /// Steps of the handshake to leave out.
    var without: Set<HandshakeStep> = []
    /// Whether ``CallResult/recording`` is wanted.
    var keepsRecording: Bool
    /// Whether to speak, listen and compare; else the call is silent and hung up after `duration`.
    var speaks = true
    /// What happens to the active call; nil: nothing is done to it.
    var outage: OutagePlan?
    var recovery = ProbeOptions.Recovery.continues
}

/// Whoever places real calls. The live one runs the library's own call path; tests hand in another.
protocol CallPlacing: Sendable {
    /// Places the call, plays and records, hangs up, and says what became of it.
    ///
    /// Ends within a second of cancellation with what was known by then.
    /// - Parameter tell: Takes what happens, as it happens.
    /// - Throws: Why there was no call at all; a call that failed later is a result with a `failure`.
    func place(_ plan: CallPlan, tell: @escaping @Sendable (CallMoment) -> Void) async throws(ProbeError) -> CallResult
}

/// What happens in a call while it runs: a line of progress, and one of `--ndjson`.
enum CallMoment: Equatable, Sendable {
    /// The call's state, as the library words it.
    case state(String)
    /// What carries the audio now, and the fallback reason, if there is one.
    case transport(String, reason: String?)
    /// The outage that was asked for begins.
    case outage(ProbeOptions.OutageCause, how: CallResult.Recovery.Means)
    /// The media path is being repaired, or is not any more.
    case recovering(Bool)

    /// One short line.
    var text: String {
        switch self {
        case .state(let state): state
        case .transport(let transport, let reason): transport + (reason.map { ", \($0)" } ?? "")
        case .outage(let cause, let how): "\(cause.rawValue) (\(how.rawValue))"
        case .recovering(let isOn): isOn ? "recovering" : "recovering no more"
        }
    }
}

/// Whoever runs the echo endpoint of `serve`.
protocol EchoServing: Sendable {
    /// Serves until cancelled.
    ///
    /// - Parameter log: Takes what becomes of each call.
    /// - Parameter ready: Takes the line `READY line=… udp=… ca=FILE` once the ports are open; `also=…,…` before `ca` when
    ///   there are further addresses.
    func serve(
        _ options: ProbeOptions, key: String?, log: ServeLog, ready: @escaping @Sendable (String) -> Void)
        async throws(ProbeError)
}
