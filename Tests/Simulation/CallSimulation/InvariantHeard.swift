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
    }

    private var atClient = Run()
    private var atServer = Run()
    private var threshold: Nanoseconds = 0
    private var roundTrip: Nanoseconds = 0
    private var allowance: Nanoseconds = 0

    mutating func begin(_ call: ObservedCall) {
        self = InvariantHeard()
        roundTrip = max(call.facts.lineRoundTrip, call.facts.pathRoundTrip)
        allowance =
            call.facts.lineJitter + JudgeLimits.heardMargin + 2
            * (call.scenario.client.stall + call.scenario.server.stall)
        threshold = Self.suspicion(call.scenario)
    }

    /// The longest gap at either end in time that counts.
    var longest: Nanoseconds { max(atClient.longest, atServer.longest) }

    /// The suspicion threshold that the path's jitter and loss allow: the 95th percentile of its gaps and 4 × its jitter.
    private static func suspicion(_ scenario: Scenario) -> Nanoseconds {
        var most = JudgeLimits.suspicion
        for network in scenario.networks {
            let frame = Nanoseconds.milliseconds(20)
            // Losses of 5 % and more make the 95th percentile one frame longer, each factor of 20 again.
            let lost = network.udp.loss >= 5_000 ? 2 * frame : frame
            switch network.udp.jitter {
            case .none: most = max(most, lost)
            case .normal(let sigma): most = max(most, lost + 7 * sigma)
            case .uniform(let spread): most = max(most, lost + 5 * spread)
            case .trace: most = JudgeLimits.suspicionMost
            }
        }
        return min(most, JudgeLimits.suspicionMost)
    }

    mutating func take(
        _ played: Played, at end: CallEnd, now: Instant, picture: JudgePicture, findings: inout JudgeFindings
    ) {
        if case .frame = played {
            if end == .client { atClient.pulls = 0 } else { atServer.pulls = 0 }
            return
        }
        guard isCarriable(to: end, now: now, picture: picture) else {
            if end == .client { atClient.pulls = 0 } else { atServer.pulls = 0 }
            return
        }
        // Silence alone is no gap; what began with concealment goes on when it has faded.
        let isConcealed = played == .concealed
        if end == .client {
            grow(&atClient, isConcealed: isConcealed, at: .client, now: now, picture: picture, findings: &findings)
        } else {
            grow(&atServer, isConcealed: isConcealed, at: .server, now: now, picture: picture, findings: &findings)
        }
    }

    private func grow(
        _ run: inout Run, isConcealed: Bool, at end: CallEnd, now: Instant, picture: JudgePicture,
        findings: inout JudgeFindings
    ) {
        if run.pulls == 0 {
            guard isConcealed else { return }
            run.began = now
            run.isRebinding = isAfterRebinding(now: now, picture: picture)
        }
        run.pulls += 1
        let length = Int64(run.pulls) * JudgeLimits.pull
        run.longest = max(run.longest, length)
        let limit = limit(at: end, isRebinding: run.isRebinding, now: now, picture: picture)
        guard length > limit else { return }
        findings.report(
            .heard, at: now,
            "nothing to hear at the \(end) for \(JudgeText.milliseconds(length)) since \(JudgeText.seconds(run.began)), "
                + "limit \(JudgeText.milliseconds(limit))\(run.isRebinding ? " for a rebinding" : "")")
    }

    private func isAfterRebinding(now: Instant, picture: JudgePicture) -> Bool {
        guard let rebindAt = picture.rebindAt, picture.lineGoneAt == nil, picture.faultsInEffect == 0 else {
            return false
        }
        guard let lineSince = picture.line.bothSince, lineSince <= rebindAt else { return false }
        return now - rebindAt <= JudgeLimits.rebindReach && picture.faultAt + JudgeLimits.rebindReach < rebindAt
    }

    private func limit(at end: CallEnd, isRebinding: Bool, now: Instant, picture: JudgePicture) -> Nanoseconds {
        if isRebinding { return 2 * roundTrip + JudgeLimits.rebindMargin + allowance - JudgeLimits.heardMargin }
        let hasAlarmed = picture[end].bridgeOffAt.map { now - $0 <= JudgeLimits.doubledFor } ?? false
        let suspicion = hasAlarmed ? min(2 * threshold, JudgeLimits.suspicionMost) : threshold
        let limit = suspicion + roundTrip + allowance
        guard roundTrip <= JudgeLimits.shortRoundTrip, suspicion == JudgeLimits.suspicion else { return limit }
        return min(limit, JudgeLimits.heardAbsolutely)
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
