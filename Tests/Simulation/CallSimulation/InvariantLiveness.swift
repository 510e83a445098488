import ICELite
import Transport
import TransportMedia

/// Rule 12: 12 s after the last fault the call runs on one carriage without gaps, or has ended as the rules allow.
struct InvariantLiveness {
    private var isChecked = false
    private var healedAt: Instant?
    private var healed: AudioCarriage?
    private var gapAtClient = 0
    private var gapAtServer = 0
    /// An end has rightly given up the line that carried the call.
    private var isLineGivenUp = false

    mutating func begin(_ call: ObservedCall) {
        self = InvariantLiveness()
        healedAt = call.facts.healingSince.map { $0 + JudgeLimits.healed }
        healed = call.facts.healedCarriage
    }

    mutating func take(
        _ played: Played, at end: CallEnd, now: Instant, picture: JudgePicture, findings: inout JudgeFindings
    ) {
        guard let healedAt, now > healedAt else { return }
        let isFrame = if case .frame = played { true } else { false }
        if end == .client {
            gapAtClient = isFrame ? 0 : gapAtClient + 1
        } else {
            gapAtServer = isFrame ? 0 : gapAtServer + 1
        }
        let talker = picture[end.peer]
        guard !isFrame, isHealed(picture[end].transport),
            let runs = picture.bothRunSince,
            let talks = talker.talksSince,
            now - talker.capturedAt <= JudgeLimits.talking,
            now - max(talks, runs) >= 2 * picture.roundTrip + JudgeLimits.carriableAfter
        else { return }
        let gap = Int64(end == .client ? gapAtClient : gapAtServer) * JudgeLimits.pull
        if gap > JudgeLimits.healedGap {
            findings.report(
                .liveness, at: now,
                "nothing to hear at the \(end) for \(JudgeText.milliseconds(gap)), \(JudgeText.seconds(now - healedAt + JudgeLimits.healed)) after the last fault"
            )
        }
    }

    /// Whether a call on `transport` is on the carriage that was made good: the other one does not help it.
    private func isHealed(_ transport: TransportKind?) -> Bool {
        healed.map { ($0 == .path) == (transport == .webrtc) } ?? true
    }

    /// Time has come to `now`: 12 s after the last fault the call has found its carriage.
    mutating func pass(to now: Instant, picture: JudgePicture, findings: inout JudgeFindings) {
        guard !isChecked, let healedAt, now > healedAt else { return }
        isChecked = true
        for end in CallEnd.allCases where picture[end].state == .active {
            // What breaks behind the last fault is the carriage's own that was not made good.
            if !isHealed(picture[end].transport), let since = picture[end].suspectSince,
                now - since <= JudgeLimits.healed
            {
                continue
            }
            if picture[end].isRecovering {
                findings.report(.liveness, at: now, "the \(end) still recovers 12 s after the last fault")
            } else if picture[end].isBridgeAsked {
                findings.report(.liveness, at: now, "the \(end) still asks for the bridge 12 s after the last fault")
            }
        }
    }

    mutating func take(
        _ outcome: CallOutcome, of end: CallEnd, at now: Instant, picture: JudgePicture,
        findings: inout JudgeFindings
    ) {
        guard let healedAt else { return }
        let message: String
        switch outcome {
        case .ended(.failed(let why)): message = why
        case .failed:
            // Set-up on a line that was not made good may fail, and its end ends both: the server may be active already.
            if picture[end].transport == .websocket, !isHealed(.websocket) { isLineGivenUp = true }
            return
        case .ended(.local), .ended(.remote): return
        }
        guard now > healedAt else { return }
        let silence = picture[end].lineHeardAt.map { now - $0 } ?? 0
        switch picture[end].transport {
        // A call on the media path lives 30 s without its line, which no fault need have touched any more.
        case .webrtc: if silence >= JudgeLimits.lineLost { return }
        // A line that was not made good may die, and its end ends both.
        case .websocket:
            guard !isHealed(.websocket) else { break }
            if isLineGivenUp || silence >= JudgeLimits.lineDead {
                isLineGivenUp = true
                return
            }
        case nil: break
        }
        findings.report(
            .liveness, at: now,
            "the \(end) failed \(JudgeText.seconds(now - healedAt + JudgeLimits.healed)) after the last fault: \(message)"
        )
    }
}
