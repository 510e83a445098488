extension Judge {
    /// The checks of `connect`: one for each thing over all calls, so that a thousand calls are read like one. The worst call
    /// decides.
    func connectChecks(_ calls: [CallResult], _ summary: ConnectSummary) -> [Report.Check] {
        var checks = [connected(calls, summary)]
        guard calls.contains(where: \.wasActive) else { return checks }
        checks.append(lasting(calls))
        checks.append(carriage(calls, summary))
        checks.append(threshold("rtt", "round trip", summary.medianRoundTrip, thresholds.rttMilliseconds, "rtt_high"))
        return checks
    }

    private func connected(_ calls: [CallResult], _ summary: ConnectSummary) -> Report.Check {
        var check = Report.Check(id: "line", title: "the calls connect", status: .pass)
        check.values = [
            .init(key: "placed", value: .integer(summary.placed)),
            .init(key: "failed", value: .integer(summary.failed)),
        ]
        if summary.failed > 0 {
            let first = calls.first { !$0.wasActive && !$0.wasStopped }
            check.status = .error
            check.code = first?.failureCode ?? "not_active"
            let counted = summary.placed > 1 ? "\(summary.failed) of \(summary.placed) never active; the first: " : ""
            check.detail = counted + (first?.failure?.message ?? first?.stage ?? "")
            check.advice = check.code.flatMap { ReasonCatalogue.entry($0)?.advice }
        } else if summary.stopped == summary.placed {
            check.status = .skip
            check.detail = calls.first.map { "stopped; \($0.stage)" }
        }
        return check
    }

    private func lasting(_ calls: [CallResult]) -> Report.Check {
        var check = Report.Check(id: "end", title: "the calls last until this end hangs up", status: .pass)
        let lost = calls.count { $0.ending?.by == .failed }
        guard lost > 0 else { return check }
        check.status = .fail
        check.code = "call_lost"
        check.detail = "\(lost) of \(calls.count) broke off"
        check.advice = ReasonCatalogue.entry("call_lost")?.advice
        return check
    }

    private func carriage(_ calls: [CallResult], _ summary: ConnectSummary) -> Report.Check {
        var check = Report.Check(id: "carriage", title: "the carriage that was asked for", status: .pass)
        check.values = [
            .init(key: "webrtc", value: .integer(summary.onWebRTC)),
            .init(key: "websocket", value: .integer(summary.onWebSocket)),
        ]
        let fallen = calls.filter { $0.wasActive && $0.wantedWebRTC && $0.transport != .webrtc }
        guard !fallen.isEmpty else { return check }
        check.status = .fail
        check.code = summary.fallbacks.first?.reason ?? "internal_error"
        let detail = fallen.lazy.compactMap(\.fallback).first.map { "; the first at \($0.stage): \($0.detail)" }
        check.detail = summary.fallbackText + (detail ?? "")
        check.advice = check.code.flatMap { ReasonCatalogue.entry($0)?.advice }
        return check
    }
}
