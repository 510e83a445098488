/// The exit codes of the probe and, in one place, what leads to which.
enum ExitCode: Int32, Equatable, Sendable, CaseIterable {
    /// Good, or degraded without `--fail-on warn`; self-test: every call ended as expected.
    case good = 0
    /// Degraded, and `--fail-on warn` was given.
    case warned = 1
    /// Usable, below thresholds.
    case poor = 2
    /// The WebSocket carries the call although WebRTC was wanted.
    case mediaBlocked = 3
    /// No path at all.
    case noPath = 4
    /// Usage.
    case usage = 64
    /// Bad input.
    case badInput = 65
    /// Target unreachable (DNS, TCP, TLS).
    case unreachable = 69
    /// Internal, or a self-test that went wrong.
    case internalFailure = 70
    /// A port or file of this machine cannot be had.
    case resource = 71
    /// Refused.
    case refused = 77
    /// The overall timeout ran out.
    case timedOut = 124
    /// Interrupted.
    case interrupted = 130

    /// The code of a finished report.
    ///
    /// An abort comes first (the verdict is then about half a measurement), then the self-test's own rule, then the
    /// verdict's level; an `error` verdict takes the code of the first call that failed.
    static func of(_ report: Report, failOnWarn: Bool) -> ExitCode {
        switch report.abort {
        case .interrupted: return .interrupted
        case .timedOut: return .timedOut
        case nil: break
        }
        if report.isSelfTest {
            // No port for the endpoint says nothing about the library.
            if report.calls.contains(where: { $0.failure?.exitCode == .resource }) { return .resource }
            let wentWrong = report.calls.isEmpty || report.checks.contains { $0.status == .fail || $0.status == .error }
            if wentWrong { return .internalFailure }
            return report.verdict.level == .degraded && failOnWarn ? .warned : .good
        }
        switch report.verdict.level {
        case .good: return .good
        case .degraded: return failOnWarn ? .warned : .good
        case .poor: return .poor
        case .blocked: return .mediaBlocked
        case .error:
            let failure = report.calls.lazy.compactMap(\.failure).first
            return failure?.exitCode ?? .noPath
        }
    }
}
