import ICELite
import Transport

/// Rule 3: a reason is there exactly when the call wanted WebRTC and runs on the WebSocket, is set once, and is true.
struct InvariantReason {
    private var reason: TransportFallbackReason?
    private var isActive = false
    private var selectedPathAt: Instant?
    private var isDTLSDone = false
    private var goodPathSince: Instant?
    private var told: [(epoch: Int, reason: TransportFallbackReason?)] = []
    /// A reason, its stage and what stood when it was given; its truth is judged when all facts are in.
    private(set) var claims: [Claim] = []

    /// A reason as the client gave it.
    struct Claim {
        var at: Instant
        var fallback: TransportFallback
        var wasActive: Bool
        var selectedPathAt: Instant?
        var isDTLSDone: Bool
        /// Since when the path had been good, both ways, and both ends had been awake.
        var goodPathSince: Instant?
        /// Since when the line had been.
        var goodLineSince: Instant?
    }

    mutating func begin() {
        self = InvariantReason()
    }

    mutating func take(
        _ what: Observation, at now: Instant, call: ObservedCall, picture: JudgePicture,
        findings: inout JudgeFindings
    ) {
        switch what {
        case .milestone(.dtlsDone): isDTLSDone = true
        case .state(.client, .active, _): isActive = true
        case .choice(.client, let epoch, let transport, let fallback):
            told.append((epoch, fallback?.reason))
            take(transport, fallback, at: now, call: call, picture: picture, findings: &findings)
        case .choice(.server, let epoch, _, let fallback):
            if let client = told.last(where: { $0.epoch == epoch }), client.reason != fallback?.reason {
                findings.report(
                    .reason, at: now,
                    "epoch \(epoch) is \(Self.word(client.reason)) at the client and \(Self.word(fallback?.reason)) at the server"
                )
            }
        default: break
        }
    }

    private static func word(_ reason: TransportFallbackReason?) -> String { reason?.wire ?? "without a reason" }

    private mutating func take(
        _ transport: TransportKind?, _ fallback: TransportFallback?, at now: Instant, call: ObservedCall,
        picture: JudgePicture, findings: inout JudgeFindings
    ) {
        let isWanted = Self.wantsPath(call.scenario)
        let isNeeded = isWanted && transport == .websocket
        if isNeeded != (fallback != nil) {
            findings.report(
                .reason, at: now,
                "the call \(isWanted ? "wanted" : "did not want") WebRTC, is on \(transport?.rawValue ?? "nothing") and is "
                    + Self.word(fallback?.reason))
        }
        if transport == .webrtc { selectedPathAt = selectedPathAt ?? now }
        guard let fallback else {
            if let reason { findings.report(.reason, at: now, "\(reason.wire) was taken back") }
            return
        }
        if let reason, reason != fallback.reason {
            findings.report(.reason, at: now, "\(reason.wire) became \(fallback.reason.wire)")
        }
        guard reason == nil else { return }
        reason = fallback.reason
        let isLate = fallback.reason == .recoveryFailed || fallback.reason == .serverRequested
        if isActive, !isLate { findings.report(.reason, at: now, "\(fallback.reason.wire) after the call was active") }
        if isActive, call.scenario.client.recovery == .endCall {
            findings.report(.reason, at: now, "\(fallback.reason.wire) after active, where the call is to end")
        }
        claims.append(
            Claim(
                at: now, fallback: fallback, wasActive: isActive, selectedPathAt: selectedPathAt,
                isDTLSDone: isDTLSDone, goodPathSince: picture.usablePathSince, goodLineSince: picture.line.bothSince))
    }

    /// Whether the call was to run on WebRTC if it could.
    static func wantsPath(_ scenario: Scenario) -> Bool {
        switch scenario.client.preference {
        case .websocket: false
        case .webrtc: true
        case .auto:
            scenario.client.hasMediaPath && !scenario.client.isStandard && scenario.server.answer != .standard
        }
    }

    /// All facts are in: were the reasons true?
    func finish(_ call: ObservedCall, findings: inout JudgeFindings) {
        for claim in claims {
            guard let lie = InvariantReasonTruth.lie(claim, in: call) else { continue }
            findings.report(.reason, at: claim.at, "\(claim.fallback.reason.wire), but \(lie)")
        }
    }
}
