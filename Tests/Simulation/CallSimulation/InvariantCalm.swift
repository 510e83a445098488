import ICELite
import Transport

/// Rule 10: on a calm network nothing happens. Suspicions are counted and weighed against the time of all calm calls.
struct InvariantCalm {
    private(set) var suspicions = 0
    private var isAsked = false

    mutating func take(
        _ what: Observation, at now: Instant, scenario: Scenario, findings: inout JudgeFindings
    ) {
        guard scenario.isCalm else { return }
        switch what {
        case .state(let end, _, isRecovering: true): findings.report(.calm, at: now, "the \(end) recovers")
        case .milestone(.restartSent): findings.report(.calm, at: now, "an ICE restart was sent")
        case .bridge(_, let isAsked):
            if isAsked, !self.isAsked { suspicions += 1 }
            self.isAsked = isAsked
        case .choice(let end, _, .websocket, let fallback):
            guard InvariantReason.wantsPath(scenario), Self.isUsable(scenario) else { return }
            findings.report(.calm, at: now, "the \(end) fell back: \(fallback?.reason.wire ?? "no reason")")
        default: break
        }
    }

    /// Nothing in the set-up stands against the media path.
    private static func isUsable(_ scenario: Scenario) -> Bool {
        scenario.server.answer == .usable && scenario.client.hasMediaPath && !scenario.client.isStandard
            && scenario.server.refusal == nil
    }
}
