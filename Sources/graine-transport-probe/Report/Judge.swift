/// Turns measurements into checks and a verdict. The only place where a call is called good or poor.
struct Judge: Sendable {
    /// The levels of the returned speech must correlate at least this well …
    static let leastCorrelation = 0.97
    /// … and this share of its audible frames must be there.
    static let leastPresentShare = 0.98
    /// So few missing frames are the jitter buffer finding its length, however short the call.
    static let toleratedMissingFrames = 4
    /// From this many compared 20 ms frames on (4 s) the correlation says something: the beginning, where the delay still
    /// moves, weighs too much before.
    static let leastComparedFrames = 200
    /// From this share of a threshold on a call is degraded.
    static let warningShare = 2.0 / 3.0

    let thresholds: Thresholds
    /// The call stays on this machine and nothing is impaired: there is no network to blame.
    var hasNoNetwork = false

    /// The checks of one call, in the order in which a call lives.
    func checks(of call: CallResult) -> [Report.Check] {
        var checks = [lineCheck(call)]
        guard call.failure == nil, call.wasActive else { return checks }
        checks.append(endCheck(call))
        checks.append(carriageCheck(call))
        checks.append(
            threshold(
                id(call, "rtt"), "round trip", call.media.rtt.p50 ?? call.setup.rtt, thresholds.rttMilliseconds,
                "rtt_high"))
        checks.append(
            threshold(
                id(call, "jitter"), "jitter", call.media.jitter, thresholds.jitterMilliseconds, "jitter_high"))
        checks.append(
            threshold(id(call, "loss"), "loss", call.media.lossPercent, thresholds.lossPercent, "loss_high"))
        checks += echoChecks(call)
        guard let lateness = call.media.timerLateness, lateness.isBusy(withoutNetwork: hasNoNetwork) else {
            return checks
        }
        let judged = checks.map(excused)
        // Lateness that spoilt nothing is none.
        return judged == checks ? checks : [machineCheck(call, lateness)] + judged
    }

    private func machineCheck(_ call: CallResult, _ lateness: TimerLateness) -> Report.Check {
        var check = Report.Check(id: id(call, "machine"), title: "this machine keeps time", status: .warn)
        check.code = "machine_busy"
        let share = Int(((lateness.lateShare ?? 0) * 100).rounded())
        check.detail = "timers came up to \(Int(lateness.worst)) ms late, \(share) % of them by a frame or more"
        check.advice = ReasonCatalogue.entry("machine_busy")?.advice
        return check
    }

    /// On a busy machine what depends on times says nothing about the network; nor does loss where there is none.
    private func excused(_ check: Report.Check) -> Report.Check {
        guard let code = check.code, check.status == .warn || check.status == .fail else { return check }
        let timed: Set = ["rtt_high", "jitter_high", "marker_missed", "level_mismatch", "frames_missing"]
        guard timed.contains(code) || code == "loss_high" && hasNoNetwork else { return check }
        var check = check
        check.status = .warn
        check.code = "machine_busy"
        check.detail = "\(code), but this machine was too busy to tell"
        check.advice = nil
        return check
    }

    private func endCheck(_ call: CallResult) -> Report.Check {
        var check = Report.Check(
            id: id(call, "end"), title: "the call lasts until this end hangs up", status: .pass,
            started: call.setup.active, duration: call.ending?.afterMilliseconds)
        switch call.ending?.by {
        case .remote: check.detail = "the far end hung up"
        case .failed:
            check.status = .fail
            check.code = "call_lost"
            check.detail = call.outcome["error"].flatMap { if case .string(let text) = $0 { text } else { nil } }
            check.advice = ReasonCatalogue.entry("call_lost")?.advice
        case .local, nil: break
        }
        return check
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
            check.code = call.failureCode
            check.detail = failure.message
        } else if !call.wasActive, call.wasStopped {
            check.status = .skip
            check.detail = "stopped; \(call.stage)"
        } else if !call.wasActive {
            check.status = .error
            check.code = "not_active"
            check.detail = call.stage
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

    func threshold(
        _ id: String, _ title: String, _ value: Double?, _ limit: Double, _ code: String
    ) -> Report.Check {
        var check = Report.Check(id: id, title: title, status: .pass)
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
            marker.status = .warn
            marker.code = "too_short"
        } else if returned.hidesMarkers {
            marker.status = .skip
            marker.code = "audio_unsuitable"
            marker.detail = "cannot be judged: the audio covers the marker"
        } else if returned.marker.heard == 0 {
            // No echo at all: the target is perhaps a real agent, which answers with its own words.
            marker.status = .warn
            marker.code = "no_echo"
        } else if returned.marker.heard < returned.marker.expected {
            marker.status = .warn
            marker.code = "marker_missed"
        }
        marker.advice = marker.code.flatMap { ReasonCatalogue.entry($0)?.advice }
        guard returned.marker.heard > 0 else { return [marker] }
        return [marker, levelCheck(call, returned.levels), frameCheck(call, returned.levels)]
    }

    private func levelCheck(_ call: CallResult, _ returned: LevelCorrelation) -> Report.Check {
        var levels = Report.Check(id: id(call, "levels"), title: "the speech that came back", status: .pass)
        levels.values = [.init(key: "correlation", value: .measured(returned.correlation))]
        if !returned.levelVaries {
            levels.status = .skip
            levels.code = "audio_unsuitable"
            levels.detail = "cannot be judged: the audio's level does not vary"
        } else if returned.frameCount < Self.leastComparedFrames {
            levels.status = .skip
            levels.detail = "too short to tell"
        } else if let correlation = returned.correlation {
            if correlation < Self.leastCorrelation {
                levels.status = .warn
                levels.code = "level_mismatch"
            }
        } else {
            levels.status = .skip
            levels.detail = "nothing to compare came back"
        }
        levels.advice = levels.code.flatMap { ReasonCatalogue.entry($0)?.advice }
        return levels
    }

    private func frameCheck(_ call: CallResult, _ returned: LevelCorrelation) -> Report.Check {
        var frames = Report.Check(id: id(call, "frames"), title: "all of the audio came back", status: .pass)
        frames.values = [
            .init(key: "frames_present_pct", value: .measured(returned.presentShare.map { $0 * 100 })),
            .init(key: "longest_gap_ms", value: .measured(returned.longestGapMilliseconds)),
        ]
        if let present = returned.presentShare {
            if present < Self.leastPresentShare, returned.missingCount > Self.toleratedMissingFrames {
                frames.status = .warn
                frames.code = "frames_missing"
            }
        } else {
            frames.status = .skip
            frames.detail = "nothing audible was sent"
        }
        frames.advice = frames.code.flatMap { ReasonCatalogue.entry($0)?.advice }
        return frames
    }

    /// `webrtc.rtt` in the self-test, where there are four of each; `rtt` alone elsewhere.
    private func id(_ call: CallResult, _ check: String) -> String {
        call.name == "call" ? check : "\(call.name).\(check)"
    }
}
