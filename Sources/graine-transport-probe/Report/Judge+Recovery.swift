internal import Transport

extension Judge {
    /// A gap up to this is a recovery as it is meant to be, milliseconds.
    static let longestGap = 700.0

    /// The checks of `recover`: whether the outage was caused, how the call came out of it, and how long it was silent.
    func recoveryChecks(_ call: CallResult) -> [Report.Check] {
        let all = checks(of: call)
        guard call.failure == nil, call.wasActive else { return all }
        // What the outage does to the figures of the whole call is not judged.
        let kept = all.filter { ["line", "carriage", "machine"].contains($0.id) }
        return kept + [causedCheck(call), outcomeCheck(call), gapCheck(call)]
    }

    private func causedCheck(_ call: CallResult) -> Report.Check {
        var check = Report.Check(id: "outage", title: "the outage was caused", status: .pass)
        check.started = call.recovery?.causedAt
        if let how = call.recovery?.how {
            check.detail = how.rawValue
        } else if call.wasStopped {
            check.status = .skip
            check.detail = "stopped before it was due, \(Int(OutagePlan.delay)) s after active"
        } else {
            check.status = .warn
            check.code = "not_caused"
            check.detail =
                "the call was on \(call.transport?.rawValue ?? "no carriage") for \(Int(call.ending?.afterMilliseconds ?? 0)) ms"
            check.advice = ReasonCatalogue.entry("not_caused")?.advice
        }
        return check
    }

    private func outcomeCheck(_ call: CallResult) -> Report.Check {
        var check = Report.Check(id: "recovery", title: "the call comes out of the outage", status: .pass)
        check.duration = call.recovery?.outage?.repair?.milliseconds
        check.detail = call.recoveryOutcome?.rawValue
        switch call.recoveryOutcome {
        case .recovered, .continued: break
        case .failed:
            check.status = .error
            check.code = "call_lost"
            if case .string(let text)? = call.outcome["error"] { check.detail = text }
            check.advice = ReasonCatalogue.entry("call_lost")?.advice
        case nil:
            check.status = .skip
            check.detail =
                call.recovery?.how == nil
                ? "nothing was caused" : "the call was over before the outage was; give it a longer --duration"
        }
        return check
    }

    private func gapCheck(_ call: CallResult) -> Report.Check {
        let gap = call.recovery?.outage.map(\.gap.milliseconds)
        var check = Report.Check(id: "gap", title: "the gap is short", status: .pass)
        check.values = [
            .init(key: "gap_ms", value: .measured(gap)),
            .init(key: "heard_gap_ms", value: .measured(call.recovery?.heardGap)),
            .init(key: "threshold", value: .measured(Self.longestGap)),
        ]
        // Where the library noticed nothing, what was heard tells.
        guard let longest = gap ?? call.recovery?.heardGap, call.recovery?.how != nil, call.recoveryOutcome != .failed
        else {
            check.status = .skip
            check.detail =
                call.recovery?.how == nil
                ? "nothing was caused"
                : call.recoveryOutcome == .failed
                    ? "the call ended in the outage" : "nothing was recorded after the outage began"
            return check
        }
        guard longest > Self.longestGap else { return check }
        check.status = .warn
        check.code = "gap_long"
        check.advice = ReasonCatalogue.entry("gap_long")?.advice
        return check
    }
}
