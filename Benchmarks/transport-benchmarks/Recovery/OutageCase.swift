internal import ICELite
internal import Transport

/// One kind of outage: what a row of the table is about.
enum OutageCase: String, CaseIterable, Sendable {
    case rebind
    case interface
    case stall = "stall 500 ms"
    case dead4 = "udp dead 4 s"
    case up4 = "up dead 4 s"
    case down4 = "down dead 4 s"
    case dead = "udp dead for good"
    case deadEndCall = "udp dead for good, end-call"

    /// How long the path is dead, milliseconds; nil for good, or no matter of length.
    var length: Int? {
        switch self {
        case .stall: 500
        case .dead4, .up4, .down4: 4_000
        case .rebind, .interface, .dead, .deadEndCall: nil
        }
    }

    /// Whether the way up, and the way down, is dead meanwhile.
    var kills: (up: Bool, down: Bool) {
        switch self {
        case .rebind, .interface: (false, false)
        case .up4: (true, false)
        case .down4: (false, true)
        case .stall, .dead4, .dead, .deadEndCall: (true, true)
        }
    }

    var policy: RecoveryPolicy { self == .deadEndCall ? .endCall : .continueOnWebSocket }

    /// How long the call is followed after the outage began, milliseconds.
    var watched: Int {
        switch self {
        case .rebind, .interface, .stall: 4_000
        case .dead4, .up4, .down4: 8_000
        case .dead, .deadEndCall: 14_000
        }
    }
}

/// What one call's outage took, in milliseconds.
struct OutageSample: Sendable {
    /// The library's account of it at the client; nil: it noticed none.
    var outage: Outage?
    /// The longest silence heard, at the client and at the server.
    var heardGap = 0.0
    var heardGapAtServer: Double?
    /// The call is active at the end of the watch.
    var isActive = false
    /// `webrtc`, or `websocket` with its reason.
    var carriage = "none"

    /// `webrtc, recovered`.
    var end: String {
        isActive ? carriage : "ended failed"
    }
}

/// The calls of one case, counted.
struct OutageCell: TrialCell {
    let outageCase: OutageCase
    let samples: [OutageSample]

    private var outages: [Outage] { samples.compactMap(\.outage) }

    static let header = """
        | outage | noticed: p50 / p95 / worst ms | back after | gap, by the library | frames lost | gap heard | \
        at the server | by | outcome | the call is on | calls |
        |---|---|---|---|---|---|---|---|---|---|---|
        """

    var line: String {
        let columns = [
            outageCase.rawValue, TrialRun.spread(detections), TrialRun.spread(repairs), TrialRun.spread(gaps),
            TrialRun.spread(framesLost), TrialRun.spread(samples.map(\.heardGap)),
            TrialRun.spread(samples.compactMap(\.heardGapAtServer)),
            TrialRun.counts(mechanisms), TrialRun.counts(outcomes), TrialRun.counts(samples.map(\.end)),
            "\(samples.count)",
        ]
        return "| " + columns.joined(separator: " | ") + " |"
    }

    private var detections: [Double] { outages.map { $0.detection / .milliseconds(1) } }
    private var repairs: [Double] { outages.compactMap(\.repair).map { $0 / .milliseconds(1) } }
    private var gaps: [Double] { outages.map { $0.gap / .milliseconds(1) } }
    private var framesLost: [Double] { outages.map { Double($0.framesLost) } }
    private var mechanisms: [String] { samples.map { $0.outage?.mechanism.rawValue ?? "none" } }
    private var outcomes: [String] { samples.map { $0.outage?.outcome.rawValue ?? "not noticed" } }

    var json: String {
        """
            {"case": "\(outageCase.rawValue)", "calls": \(samples.count), "detect_ms": \(TrialRun.json(detections)), \
        "repair_ms": \(TrialRun.json(repairs)), "gap_ms": \(TrialRun.json(gaps)), \
        "frames_lost": \(TrialRun.json(framesLost)), "heard_gap_ms": \(TrialRun.json(samples.map(\.heardGap))), \
        "heard_gap_at_server_ms": \(TrialRun.json(samples.compactMap(\.heardGapAtServer))), \
        "mechanisms": \(TrialRun.json(mechanisms)), "outcomes": \(TrialRun.json(outcomes)), \
        "ends": \(TrialRun.json(samples.map(\.end)))}
        """
    }
}
