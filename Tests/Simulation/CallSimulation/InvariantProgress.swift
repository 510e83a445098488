import ICELite

/// Rule 8: a machine that was drained waits for something ahead, and nothing turns in circles.
enum InvariantProgress {
    static func take(
        _ figures: CallFigures, of end: CallEnd, at now: Instant, picture: JudgePicture,
        findings: inout JudgeFindings
    ) {
        // A machine that is not run, or whose input waits for its handler, has not been drained; nor, perhaps, one whose
        // deadline is this very instant.
        if figures.nextDeadline + picture[end].stall < now, !picture[end].isSuspended {
            findings.report(
                .progress, at: now,
                "the \(end)'s deadline \(JudgeText.seconds(figures.nextDeadline)) is behind \(JudgeText.seconds(now))"
            )
        }
        if figures.eventsWaiting > 0 {
            findings.report(.progress, at: now, "\(figures.eventsWaiting) events of the \(end) wait after a drain")
        }
        if figures.timesStuck > 0 {
            findings.report(.progress, at: now, "the \(end) was polled more than 32 times at one instant")
        }
    }

    static func finish(_ call: ObservedCall, findings: inout JudgeFindings) {
        let facts = call.facts
        if facts.isStuck { findings.report(.progress, at: facts.endedAt, "the clock stood still") }
        if facts.timesStuck > 0 {
            findings.report(
                .progress, at: facts.endedAt,
                "\(facts.timesStuck) times a host was polled more than 32 times at one instant")
        }
        if facts.deadlinesUnmoved > 0 {
            findings.report(
                .progress, at: facts.endedAt, "\(facts.deadlinesUnmoved) times a timer came twice with nothing changed")
        }
    }
}
