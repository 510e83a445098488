/// Turns measurements into checks and a verdict. The only place where a call is called good or poor.
struct Judge: Sendable {
    /// The levels of the returned speech must correlate at least this well …
    static let leastCorrelation = 0.97
    /// … and this share of its audible frames must be there.
    static let leastPresentShare = 0.98
    /// From this share of a threshold on a call is degraded.
    static let warningShare = 2.0 / 3.0

    let thresholds: Thresholds

    /// The checks of one call, in the order in which a call lives.
    func checks(of call: CallResult) -> [Report.Check] {
        var checks = [lineCheck(call)]
        guard call.failure == nil, call.wasActive else { return checks }
        checks.append(carriageCheck(call))
        checks.append(threshold(call, "rtt", "round trip", call.media.rtt.p50, thresholds.rttMilliseconds, "rtt_high"))
        checks.append(
            threshold(call, "jitter", "jitter", call.media.jitter, thresholds.jitterMilliseconds, "jitter_high"))
        checks.append(threshold(call, "loss", "loss", call.media.lossPercent, thresholds.lossPercent, "loss_high"))
        checks += echoChecks(call)
        return checks
    }

    /// The verdict over `checks`: the worst of them, its codes in order, an advice for each.
    func verdict(_ checks: [Report.Check], calls: [CallResult]) -> Report.Verdict {
        let bad = checks.filter { $0.status != .pass && $0.status != .skip }
        var codes: [String] = []
        for code in bad.compactMap(\.code) where !codes.contains(code) { codes.append(code) }
        let level: Report.Level =
            if calls.isEmpty || bad.contains(where: { $0.status == .error }) {
                .error
            } else if bad.contains(where: { $0.id.hasSuffix("carriage") && $0.status == .fail }) {
                .blocked
            } else if bad.contains(where: { $0.status == .fail }) {
                .poor
            } else {
                bad.isEmpty ? .good : .degraded
            }
        return Report.Verdict(
            level: level, codes: codes, advice: codes.compactMap { ReasonCatalogue.entry($0)?.advice })
    }

    private func lineCheck(_ call: CallResult) -> Report.Check {
        var check = Report.Check(
            id: id(call, "line"), title: "the call connects", status: .pass, started: 0, duration: call.setup.active)
        if let failure = call.failure {
            check.status = .error
            check.code = call.failureCode ?? "network"
            check.detail = failure.message
        } else if !call.wasActive {
            check.status = .error
            check.code = "not_active"
            check.detail = "the call ended in state \(call.state)"
        }
        check.advice = check.code.flatMap { ReasonCatalogue.entry($0)?.advice }
        return check
    }

    private func carriageCheck(_ call: CallResult) -> Report.Check {
        var check = Report.Check(
            id: id(call, "carriage"), title: "the carriage that was asked for", status: .pass,
            started: call.setup.hello, duration: nil)
        check.detail = call.transport?.rawValue
        if call.wantedWebRTC, call.transport != .webrtc {
            check.status = .fail
            check.code = call.fallback?.reason ?? "internal_error"
            check.detail = call.fallback.map { "\($0.stage): \($0.detail)" } ?? "no reason was given"
            check.advice = check.code.flatMap { ReasonCatalogue.entry($0)?.advice }
        }
        return check
    }

    private func threshold(
        _ call: CallResult, _ name: String, _ title: String, _ value: Double?, _ limit: Double, _ code: String
    ) -> Report.Check {
        var check = Report.Check(id: id(call, name), title: title, status: .pass)
        check.values = [
            .init(key: "value", value: .measured(value)), .init(key: "threshold", value: .measured(limit)),
        ]
        guard let value else {
            check.status = .skip
            check.detail = "not measured"
            return check
        }
        if value > limit {
            check.status = .fail
        } else if value > limit * Self.warningShare {
            check.status = .warn
        }
        if check.status != .pass {
            check.code = code
            check.advice = ReasonCatalogue.entry(code)?.advice
        }
        return check
    }

    private func echoChecks(_ call: CallResult) -> [Report.Check] {
        guard let returned = call.returned else { return [] }
        var marker = Report.Check(id: id(call, "marker"), title: "the echo's marker", status: .pass)
        marker.values = [
            .init(key: "expected", value: .integer(returned.marker.expected)),
            .init(key: "heard", value: .integer(returned.marker.heard)),
        ]
        if returned.marker.expected == 0 {
            marker.status = .skip
            marker.detail = "the call was too short for one"
        } else if returned.marker.heard == 0 {
            // No echo at all: the target is perhaps a real agent, which answers with its own words.
            marker.status = .warn
            marker.code = "no_echo"
        } else if returned.marker.heard < returned.marker.expected {
            marker.status = .warn
            marker.code = "marker_missed"
        }
        marker.advice = marker.code.flatMap { ReasonCatalogue.entry($0)?.advice }
        guard returned.marker.heard > 0, let correlation = returned.levels.correlation else { return [marker] }
        var levels = Report.Check(id: id(call, "levels"), title: "the speech that came back", status: .pass)
        let present = returned.levels.presentShare
        levels.values = [
            .init(key: "correlation", value: .measured(correlation)),
            .init(key: "frames_present_pct", value: .measured(present.map { $0 * 100 })),
        ]
        if correlation < Self.leastCorrelation {
            levels.status = .warn
            levels.code = "level_mismatch"
        } else if let present, present < Self.leastPresentShare {
            levels.status = .warn
            levels.code = "frames_missing"
        }
        levels.advice = levels.code.flatMap { ReasonCatalogue.entry($0)?.advice }
        return [marker, levels]
    }

    /// `webrtc.rtt` in the self-test, where there are four of each; `rtt` alone elsewhere.
    private func id(_ call: CallResult, _ check: String) -> String {
        call.name == "call" ? check : "\(call.name).\(check)"
    }
}
