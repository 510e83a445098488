internal import ICELite

/// What the command line and the environment asked for, validated.
struct ProbeOptions: Equatable, Sendable {
    /// Where a report goes.
    enum Output: Equatable, Sendable {
        case standardOutput
        case file(String)
    }

    enum Verbosity: Equatable, Sendable { case quiet, normal, verbose }

    /// Which carriage to ask for; the words of `callTransport`.
    enum Preference: String, CaseIterable, Sendable { case auto, websocket, webrtc }

    enum Proxy: Equatable, Sendable {
        case fromEnvironment
        case off
        case url(String)
    }

    /// Where the key comes from; the key itself is never an argument.
    enum KeySource: Equatable, Sendable {
        case file(String)
        case environment(String)
    }

    enum Redaction: String, CaseIterable, Sendable { case full, partial, none }

    enum StreamPath: String, CaseIterable, Sendable { case rtp, ws, both }

    enum OutageCause: String, CaseIterable, Sendable {
        case rebind, interface
        case udpDead = "udp-dead"
        case lineDead = "line-dead"
    }

    /// What becomes of a call whose media path is lost for good.
    enum Recovery: String, CaseIterable, Sendable {
        /// It continues on the line.
        case continues = "continue"
        /// It ends as failed.
        case endCall = "end-call"
    }

    /// What the process does besides the commands.
    enum Information: Equatable, Sendable { case help, version }

    var command = ProbeCommand.check
    var information: Information?
    /// The URL to call, or the code to explain.
    var target: String?
    var json: Output?
    var ndjson: Output?
    var verbosity = Verbosity.normal
    var preference = Preference.auto
    /// Seconds for the whole command; nil: the command's own deadlines alone.
    var timeout: Double?
    /// Seconds of active call; nil: the length of the audio.
    var duration: Double?
    var seed: UInt64?
    /// The only version of IP to use; nil: both.
    var family: IPAddress.Family?
    /// Local addresses: one to call from; one or more, or `any`, to serve at.
    var bind: [String] = []
    /// STUN servers to ask for the call's addresses, as `stun:host[:port]`.
    var stun: [String] = []
    /// Steps of a quick handshake to leave out.
    var without: Set<HandshakeStep> = []
    /// TCP port of `serve`; 0 takes a free one.
    var port: UInt16 = 0
    /// UDP port of `serve`; 0 takes a free one.
    var udpPort: UInt16 = 0
    var proxy = Proxy.fromEnvironment
    /// Whether `--proxy` was given: an explicit one beats the loopback bypass.
    var proxyIsExplicit = false
    var caFile: String?
    var insecure = false
    /// PEM files of `serve`; nil: a certificate of its own, made for the address.
    var certificateFile: String?
    var privateKeyFile: String?
    /// Where `serve` writes its own certificate; nil: a file in the temporary directory.
    var certificateOutput: String?
    var key: KeySource?
    var redaction = Redaction.none
    var thresholds = Thresholds()
    var failOnWarn = false
    var color = true
    var audio: String?
    var record: String?
    var repeatCount = 1
    var path = StreamPath.both
    var cause: OutageCause?
    /// Length of the outage, seconds; 0: for good; nil: as the cause has it.
    var outageSeconds: Double?
    var lineCut = OutagePlan.LineCut.silence
    var recovery = Recovery.continues
    var impairment = ImpairmentSpec()
    /// The text `impairment` was read from, for the report.
    var impairmentText: String?
    /// What the self-test's calls are to end as, where it differs from the default: name to `transport/reason`.
    var expectations: [String: SelfTest.Expectation] = [:]

    /// Whether `target` names this machine by a literal loopback address, which is where `--insecure` is allowed.
    var targetIsLiteralLoopback: Bool {
        guard let target, let host = CallTarget.host(of: target) else { return false }
        return CallTarget.isLiteralLoopback(host)
    }
}
