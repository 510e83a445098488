import ICELite
import TransportMedia

/// Rule 5: while a carriage is good, nobody hears a longer gap than suspicion and a switch cost.
struct InvariantHeard {
    private struct Run {
        var pulls = 0
        var began = Instant.zero
        /// It began within reach of a rebinding and of nothing else.
        var isRebinding = false
        var longest: Nanoseconds = 0
        /// The limit that it has passed, and when; nil while it has not.
        var broken: (limit: Nanoseconds, at: Instant)?

        var length: Nanoseconds { Int64(pulls) * JudgeLimits.pull }

        /// The next one is another.
        mutating func begin() {
            pulls = 0
            broken = nil
        }
    }

    private var atClient = Run()
    private var atServer = Run()
    /// The suspicion threshold that the path's own jitter and loss allow.
    private var threshold: Nanoseconds = 0
    private var roundTrip: Nanoseconds = 0
    private var allowance: Nanoseconds = 0
    /// What it takes from the suspicion to the audio: over the line, and to another pair of the path.
    private var bridging: Nanoseconds = 0
    private var moving: Nanoseconds = 0
    private var losesChecks = false

    mutating func begin(_ call: ObservedCall) {
        self = InvariantHeard()
        roundTrip = max(call.facts.lineRoundTrip, call.facts.pathRoundTrip)
        allowance = JudgeLimits.heardMargin + 2 * (call.scenario.client.stall + call.scenario.server.stall)
        // What was heard last came with the path's jitter, what is heard next with the line's.
        bridging = roundTrip + max(call.facts.lineJitter, call.facts.pathJitter)
        // A check there and back, the nomination and the audio there or the audio back, on a pair that may be the slowest.
        moving = max(2 * call.facts.slowestRoundTrip, bridging) + JudgeLimits.probeRound
        threshold = Self.suspicion(call.scenario)
        losesChecks = call.scenario.networks.contains { $0.udp.loss > JudgeLimits.rebindLoss }
    }

    /// The longest gap at either end in time that counts.
    var longest: Nanoseconds { max(atClient.longest, atServer.longest) }

    /// The suspicion threshold that the path's jitter and loss allow: the 95th percentile of its gaps and 4 × its jitter. Beyond
    /// 5 % of loss both are as long as its bursts are.
    private static func suspicion(_ scenario: Scenario) -> Nanoseconds {
        var most = JudgeLimits.suspicion
        for network in scenario.networks {
            if network.udp.loss > JudgeLimits.seldomLost { return JudgeLimits.suspicionMost }
            let frame = Nanoseconds.milliseconds(20)
            switch network.udp.jitter {
            case .none: break
            case .normal(let sigma): most = max(most, frame + 7 * sigma)
            case .uniform(let spread): most = max(most, frame + 5 * spread)
            case .trace: return JudgeLimits.suspicionMost
            }
        }
        return min(most, JudgeLimits.suspicionMost)
    }

    mutating func take(
        _ played: Played, at end: CallEnd, now: Instant, picture: JudgePicture, findings: inout JudgeFindings
    ) {
        var isHeard = false
        if case .frame = played { isHeard = true }
        guard !isHeard, isCarriable(to: end, now: now, picture: picture) else {
            return finish(at: end, findings: &findings)
        }
        // Silence alone is no gap; what began with concealment goes on when it has faded.
        let isConcealed = played == .concealed
        switch end {
        case .client: grow(&atClient, isConcealed: isConcealed, at: .client, now: now, picture: picture)
        case .server: grow(&atServer, isConcealed: isConcealed, at: .server, now: now, picture: picture)
        }
    }

    /// The call is over: a gap that lasts has its length.
    mutating func finish(findings: inout JudgeFindings) {
        finish(at: .client, findings: &findings)
        finish(at: .server, findings: &findings)
    }

    /// A gap at `end` is over, or nothing carries any more. It is told with its whole length.
    private mutating func finish(at end: CallEnd, findings: inout JudgeFindings) {
        let run = end == .client ? atClient : atServer
        guard run.pulls > 0 else { return }
        if let broken = run.broken {
            findings.report(
                .heard, at: broken.at,
                "nothing to hear at the \(end) for \(JudgeText.milliseconds(run.length)) since "
                    + "\(JudgeText.seconds(run.began)), limit \(JudgeText.milliseconds(broken.limit))"
                    + (run.isRebinding ? " for a rebinding" : ""))
        }
        if end == .client { atClient.begin() } else { atServer.begin() }
    }

    private func grow(
        _ run: inout Run, isConcealed: Bool, at end: CallEnd, now: Instant, picture: JudgePicture
    ) {
        if run.pulls == 0 {
            guard isConcealed else { return }
            run.began = now
            run.isRebinding = isAfterRebinding(now: now, picture: picture)
        }
        run.pulls += 1
        run.longest = max(run.longest, run.length)
        guard run.broken == nil else { return }
        let limit = limit(at: end, of: run, now: now, picture: picture)
        if run.length > limit { run.broken = (limit, now) }
    }

    private func isAfterRebinding(now: Instant, picture: JudgePicture) -> Bool {
        guard let rebindAt = picture.rebindAt, picture.lineGoneAt == nil, picture.faultsInEffect == 0 else {
            return false
        }
        guard let lineSince = picture.line.bothSince, lineSince <= rebindAt else { return false }
        return now - rebindAt <= JudgeLimits.rebindReach && picture.faultAt + JudgeLimits.rebindReach < rebindAt
    }

    private func limit(at end: CallEnd, of run: Run, now: Instant, picture: JudgePicture) -> Nanoseconds {
        if run.isRebinding, !losesChecks {
            return 2 * roundTrip + JudgeLimits.rebindMargin + bridging - roundTrip + allowance - JudgeLimits.heardMargin
        }
        let isLineGood = picture.lineGoneAt == nil && (picture.line.bothSince ?? .never) <= run.began
        let suspicion =
            isLineGood || end == .client
            ? inForce(at: end, now: now, picture: picture) : suspicionOfTheClient(run, now: now, picture: picture)
        guard isLineGood else { return suspicion + moving + allowance }
        let limit = suspicion + bridging + allowance
        guard roundTrip <= JudgeLimits.shortRoundTrip, suspicion == JudgeLimits.suspicion else { return limit }
        return min(limit, JudgeLimits.heardAbsolutely)
    }

    /// When the client moves for what the server does not hear. Without the line it is not asked: it knows by its own silence,
    /// or by reports on what it sends.
    private func suspicionOfTheClient(_ run: Run, now: Instant, picture: JudgePicture) -> Nanoseconds {
        guard let askedAt = picture.client.bridgeAskedAt else { return JudgeLimits.reportsOfStandstill }
        let own = inForce(at: .server, now: now, picture: picture)
        let clients = inForce(at: .client, now: now, picture: picture)
        return max(own, clients, min(askedAt - run.began, JudgeLimits.reportsOfStandstill))
    }

    /// The threshold that is in force at `end`, as far as the path allows it.
    private func inForce(at end: CallEnd, now: Instant, picture: JudgePicture) -> Nanoseconds {
        let alarms = [picture.client.bridgeOffAt, picture.server.bridgeOffAt].compactMap { $0 }
        let hasAlarmed = alarms.contains { now - $0 <= JudgeLimits.doubledFor }
        var most = hasAlarmed ? 2 * threshold : threshold
        // What faults do to the rhythm of the path is in its gaps for as long.
        if let stirredAt = picture.stirredAt, now - stirredAt <= JudgeLimits.gapsKept {
            most = JudgeLimits.suspicionMost
        }
        return min(max(picture[end].suspectsAfter ?? 0, JudgeLimits.suspicion), min(most, JudgeLimits.suspicionMost))
    }

    /// Whether the peer could make itself heard at `end`: it talks, both ends run, and a carriage of theirs is good, all for
    /// long enough.
    private func isCarriable(to end: CallEnd, now: Instant, picture: JudgePicture) -> Bool {
        guard let carries = picture.carriesSince, let run = picture.bothRunSince,
            let talks = picture[end.peer].talksSince, now - picture[end.peer].capturedAt <= JudgeLimits.talking
        else { return false }
        return now - max(carries, max(run, talks)) >= 2 * roundTrip + JudgeLimits.carriableAfter
    }
}
