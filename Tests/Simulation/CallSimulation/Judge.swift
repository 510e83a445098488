package import ICELite
package import Transport
import TransportMedia

/// Reads a call once, from its first observation to its last, and says which rules it broke.
///
/// One judge judges many calls, one after the other; what it keeps is emptied, not given back.
package struct Judge {
    private var picture = JudgePicture()
    private var ledger = JudgeLedger()
    private var findings = JudgeFindings()
    private var decidedInTime = InvariantDecidedInTime()
    private var agreement = InvariantAgreement()
    private var reason = InvariantReason()
    private var playedOnce = InvariantPlayedOnce()
    private var heard = InvariantHeard()
    private var messages = InvariantMessages()
    private var bounded = InvariantBounded()
    private var delay = InvariantDelay()
    private var calm = InvariantCalm()
    private var security = InvariantSecurity()
    private var liveness = InvariantLiveness()
    private var sometimes = SometimesWatch()
    private var faultsMet: [JudgeVerdict.FaultMet] = []
    private var milestones: [Milestone] = []
    private var clientOutcomes: [CallOutcome] = []

    package init() {}

    /// What there is to say of `call`.
    package mutating func judge(_ call: ObservedCall) -> JudgeVerdict {
        begin(call)
        var last = Instant.zero
        for index in call.observations.indices {
            let at = call.observations[index].at
            if at > last {
                last = at
                pass(to: at)
            }
            take(call.observations[index].what, at: at, call: call)
        }
        if call.facts.endedAt > last { pass(to: call.facts.endedAt) }
        return finish(call)
    }

    private mutating func begin(_ call: ObservedCall) {
        picture = JudgePicture(call)
        ledger.begin()
        findings.begin()
        decidedInTime = InvariantDecidedInTime()
        agreement = InvariantAgreement()
        reason.begin()
        playedOnce = InvariantPlayedOnce()
        heard.begin(call)
        messages.begin()
        bounded.begin()
        delay = InvariantDelay()
        calm = InvariantCalm()
        security.begin()
        liveness.begin(call)
        sometimes.begin(call)
        faultsMet.removeAll(keepingCapacity: true)
        milestones.removeAll(keepingCapacity: true)
        clientOutcomes.removeAll(keepingCapacity: true)
    }

    /// What should have happened before `now`?
    private mutating func pass(to now: Instant) {
        picture.pass(to: now)
        decidedInTime.pass(to: now, picture: picture, findings: &findings)
        agreement.pass(to: now, picture: picture, findings: &findings)
        liveness.pass(to: now, picture: picture, findings: &findings)
    }

    private mutating func take(_ what: Observation, at now: Instant, call: ObservedCall) {
        switch what {
        case .sent(let end, let wire, _, let frame): send(frame, from: end, on: wire, at: now)
        case .arrived(let end, let wire, _, let frame): arrive(frame, at: end, on: wire, now: now)
        case .captured(let end, let frame):
            let could = picture.bothRunSince != nil && picture.carriesSince != nil
            if !ledger.capture(frame, of: end, at: now, couldBeHeard: could) {
                findings.report(.playedOnce, at: now, "the \(end) numbered a frame \(frame) out of turn")
            }
        case .played(let end, let played):
            playedOnce.take(played, at: end, now: now, ledger: ledger, picture: picture, findings: &findings)
            heard.take(played, at: end, now: now, picture: picture, findings: &findings)
            liveness.take(played, at: end, now: now, picture: picture, findings: &findings)
            if case .frame(let id, _, _) = played { ledger.hear(id, of: end.peer) }
            return
        case .handed(let end, let frame, let begunAt):
            return delay.hand(frame, from: end, at: begunAt, ledger: ledger, picture: picture, findings: &findings)
        case .figures(let end, let figures): take(figures, of: end, at: now)
        case .outcome(let end, let outcome):
            if end == .client { clientOutcomes.append(outcome) }
            liveness.take(outcome, of: end, at: now, picture: picture, findings: &findings)
        case .accepted, .delivered: messages.take(what, at: now, findings: &findings)
        case .fault(let index, isBeginning: true):
            if call.scenario.faults.indices.contains(index) {
                faultsMet.append(
                    JudgeVerdict.FaultMet(verb: call.scenario.faults[index].verb, state: picture.coverageState))
            }
        case .milestone(let milestone): milestones.append(milestone)
        case .state, .choice, .bridge, .suspicion, .network, .fault: break
        }
        sometimes.noteState(before: what, picture: picture)
        sometimes.take(what, at: now, picture: picture, scenario: call.scenario)
        picture.take(what, at: now)
        decide(what, at: now, call: call)
    }

    /// What changes the call's course, and the line's bytes.
    private mutating func decide(_ what: Observation, at now: Instant, call: ObservedCall) {
        agreement.take(what, at: now, picture: picture, findings: &findings)
        switch what {
        case .state, .choice, .bridge, .milestone:
            decidedInTime.take(what, at: now, picture: picture, findings: &findings)
            reason.take(what, at: now, call: call, picture: picture, findings: &findings)
            calm.take(what, at: now, scenario: call.scenario, findings: &findings)
        case .fault: decidedInTime.take(what, at: now, picture: picture, findings: &findings)
        default: break
        }
    }

    private mutating func send(_ frame: UInt32?, from end: CallEnd, on wire: Wire, at now: Instant) {
        bounded.send(frame, from: end, on: wire, at: now, picture: picture, findings: &findings)
        switch wire {
        case .path(let path):
            security.send(path, from: end, isAudio: frame != nil, at: now, picture: picture, findings: &findings)
        case .line: break
        }
    }

    private mutating func arrive(_ frame: UInt32?, at end: CallEnd, on wire: Wire, now: Instant) {
        if case .path(let path) = wire { security.arrive(path, at: end, now: now) }
        guard let frame else { return }
        let isPath = if case .path = wire { true } else { false }
        ledger.arrive(frame, of: end.peer, on: isPath ? .path : .line, at: now)
    }

    private mutating func take(_ figures: CallFigures, of end: CallEnd, at now: Instant) {
        playedOnce.take(figures, of: end, at: now, findings: &findings)
        bounded.take(figures, of: end, at: now, picture: picture, findings: &findings)
        InvariantProgress.take(figures, of: end, at: now, picture: picture, findings: &findings)
        delay.take(figures, of: end, at: now, picture: picture, findings: &findings)
    }

    private mutating func finish(_ call: ObservedCall) -> JudgeVerdict {
        agreement.finish(call, picture: picture, findings: &findings)
        heard.finish(findings: &findings)
        reason.finish(call, findings: &findings)
        messages.finish(call, picture: picture, findings: &findings)
        bounded.finish(call, picture: picture, findings: &findings)
        security.finish(call, findings: &findings)
        InvariantProgress.finish(call, findings: &findings)
        var verdict = JudgeVerdict(violations: findings.violations, repeats: findings.repeats)
        (verdict.couldBeHeard, verdict.heard) = ledger.oracle(until: call.facts.endedAt - JudgeLimits.oracleTail)
        verdict.longestGap = heard.longest
        verdict.calmSuspicions = calm.suspicions
        verdict.situations = sometimes.seen
        verdict.hadOutage = sometimes.hadOutage
        verdict.wasActive = picture.client.activeSince != nil
        verdict.reasons = reason.claims.map(\.fallback.reason)
        verdict.faultsMet = faultsMet
        verdict.milestones = milestones
        verdict.clientOutcomes = clientOutcomes
        return verdict
    }
}

/// What the judge has to say of one call.
package struct JudgeVerdict: Sendable {
    /// The first breach of each rule that was broken, in the order they were found.
    package var violations: [Violation]
    /// Breaches beside the first of each rule.
    package var repeats: Int
    /// Frames that a sender with knowledge of the schedule could have had at the ear, and those that were heard.
    package var couldBeHeard = 0
    package var heard = 0
    /// The longest gap in time that a carriage was good.
    package var longestGap: Nanoseconds = 0
    /// Suspicions of a calm call.
    package var calmSuspicions = 0

    /// Situations of the sometimes-list that came up.
    package var situations = SometimesSet()
    package var hadOutage = false
    package var wasActive = false
    /// Reasons the client gave, in order.
    package var reasons: [TransportFallbackReason] = []
    /// The faults that began, and where the call was then.
    package var faultsMet: [FaultMet] = []
    /// The milestones that were reached, in order.
    package var milestones: [Milestone] = []
    /// How the call ended at the client: once, or not.
    package var clientOutcomes: [CallOutcome] = []

    /// A fault, and where it met the call.
    package struct FaultMet: Hashable, Sendable {
        package var verb: FaultVerb
        package var state: CoverageState
    }

    package init(violations: [Violation] = [], repeats: Int = 0) {
        self.violations = violations
        self.repeats = repeats
    }

    /// Whether the call broke `invariant`.
    package func breaks(_ invariant: Invariant) -> Bool { violations.contains { $0.invariant == invariant } }
}
