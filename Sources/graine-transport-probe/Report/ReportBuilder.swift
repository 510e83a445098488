internal import Foundation

/// Puts the report of a run together: checks from the judge, the self-test's expectations, the options as given.
struct ReportBuilder: Sendable {
    let options: ProbeOptions
    let isSelfTest: Bool

    /// - Parameter elapsed: Since the command started.
    func report(_ outcome: CallRun.Outcome, startedAt: String, elapsed: Duration) -> Report {
        let isHere = options.target == nil || options.targetIsLiteralLoopback
        let judge = Judge(thresholds: options.thresholds, hasNoNetwork: isHere && options.impairment.isClear)
        let connect = options.command == .connect ? ConnectSummary(outcome.results, asked: options.repeatCount) : nil
        var checks = connect.map { judge.connectChecks(outcome.results, $0) } ?? []
        for call in outcome.results where connect == nil {
            if isSelfTest {
                let standard = SelfTest.cases.first { $0.name == call.name }?.expectation
                if let expected = options.expectations[call.name] ?? standard {
                    checks.append(call.wasStopped ? Self.stopped(call) : SelfTest.check(call, expected))
                }
                // The carriage is the expectation's business: three of the four are made to fall back.
                checks += judge.checks(of: call).filter { !$0.id.hasSuffix(".carriage") && !$0.id.hasSuffix(".line") }
            } else {
                checks += options.command == .recover ? judge.recoveryChecks(call) : judge.checks(of: call)
            }
        }
        if outcome.abort != nil {
            checks.append(Self.aborted(outcome))
        }
        var verdict = judge.verdict(checks, calls: outcome.results)
        if isSelfTest, verdict.level == .poor { verdict.level = selfTestLevel(checks) }
        return Report(
            startedAt: startedAt, elapsedMilliseconds: elapsed.milliseconds, target: options.target,
            options: optionsJSON, abort: outcome.abort, isSelfTest: isSelfTest, connect: connect, verdict: verdict,
            checks: isSelfTest ? checks.map(demoted) : checks, calls: outcome.results)
    }

    /// What the user or `--timeout` stopped is no unexpected end.
    private static func stopped(_ call: CallResult) -> Report.Check {
        Report.Check(
            id: "\(call.name).expected", title: "ends as expected", status: .skip, detail: "stopped; \(call.stage)")
    }

    private static func aborted(_ outcome: CallRun.Outcome) -> Report.Check {
        let code = outcome.abort == .timedOut ? "timed_out" : "aborted"
        var check = Report.Check(
            id: "complete", title: "the command ran to its end", status: .error, code: code,
            advice: ReasonCatalogue.entry(code)?.advice)
        let stopped = outcome.results.filter(\.wasStopped)
        check.detail = stopped.map { (stopped.count > 1 ? "\($0.name): " : "") + $0.stage }.joined(separator: "; ")
        return check
    }

    /// A self-test fails by its expectations alone: a slow machine's round trip is a warning there.
    private func demoted(_ check: Report.Check) -> Report.Check {
        guard check.status == .fail, !check.id.hasSuffix(".expected") else { return check }
        var check = check
        check.status = .warn
        return check
    }

    private func selfTestLevel(_ checks: [Report.Check]) -> Report.Level {
        checks.contains { $0.status == .fail && $0.id.hasSuffix(".expected") } ? .error : .degraded
    }

    private var optionsJSON: JSONValue {
        [
            "command": .string(options.command.rawValue), "transport": .string(options.preference.rawValue),
            "repeat": options.command == .connect ? .integer(options.repeatCount) : .null,
            "duration_s": .measured(options.duration), "timeout_s": .measured(options.timeout),
            "impair": .optional(options.impairmentText), "seed": options.seed.map { .string(String($0)) } ?? .null,
            "without": .array(HandshakeStep.allCases.filter(options.without.contains).map { .string($0.rawValue) }),
            "cause": .optional(options.cause?.rawValue), "for_s": .measured(OutagePlan(options)?.seconds),
            "recovery": .string(options.recovery.rawValue),
            "audio": .optional(options.audio.map { URL(fileURLWithPath: $0).lastPathComponent }),
            "thresholds": [
                "rtt": .measured(options.thresholds.rttMilliseconds),
                "jitter": .measured(options.thresholds.jitterMilliseconds),
                "loss": .measured(options.thresholds.lossPercent),
            ], "redact": .string(options.redaction.rawValue), "insecure": .bool(options.insecure),
        ]
    }
}

extension Duration {
    /// The length in milliseconds.
    var milliseconds: Double {
        Double(components.seconds) * 1_000 + Double(components.attoseconds) / 1_000_000_000_000_000
    }
}
