import ICELite
import Transport

/// Rule 9: what is heard and what a sender holds is not old. The buffer's way back to its target is judged with the
/// adaptive buffer.
struct InvariantDelay {
    private var isHeldUntil = Instant(nanoseconds: .min / 2)

    mutating func take(
        _ figures: CallFigures, of end: CallEnd, at now: Instant, picture: JudgePicture,
        findings: inout JudgeFindings
    ) {
        if picture.faultsInEffect > 0 || picture[end].isSuspended { isHeldUntil = now + JudgeLimits.delayAfterHold }
        guard picture[end].state == .active, now > isHeldUntil,
            now - picture.faultAt > JudgeLimits.delayAfterHold
        else { return }
        // Milliseconds with a fraction; a figure that no playout delay can have counts as the longest.
        let delay =
            figures.playoutDelay.isFinite && figures.playoutDelay < 1e9
            ? Nanoseconds(figures.playoutDelay * 1_000_000) : .max
        guard delay > JudgeLimits.playoutDelay else { return }
        findings.report(
            .delay, at: now,
            "the \(end) plays \(JudgeText.milliseconds(delay)) behind, limit "
                + JudgeText.milliseconds(JudgeLimits.playoutDelay))
    }

    /// A frame is handed to the line while it is fresh: at its first byte, for what is begun has to go on.
    func hand(
        _ frame: UInt32, from end: CallEnd, at now: Instant, ledger: JudgeLedger, picture: JudgePicture,
        findings: inout JudgeFindings
    ) {
        guard let captured = ledger.frame(frame, of: end)?.capturedAt else { return }
        let limit = JudgeLimits.senderHolds + picture[end].stall
        // What a machine that was not run had in its ring is older without its fault.
        guard now - max(captured, picture[end].resumedAt) > limit else { return }
        findings.report(
            .delay, at: now,
            "the \(end) hands frame \(frame) to the line \(JudgeText.milliseconds(now - captured)) after it was made, limit "
                + JudgeText.milliseconds(limit))
    }
}
