/// Why the probe stops without a report: each case is one line on stderr and one exit code.
enum ProbeError: Error, Equatable, Sendable {
    /// The command line or an environment variable is wrong (64).
    case usage(String)
    /// A file given as input cannot be used (65).
    case badInput(String)
    /// DNS, TCP or TLS did not reach the target (69).
    case unreachable(String)
    /// The target was reached and said no: key, origin, certificate (77).
    case refused(String)
    /// Neither carriage carries audio (4).
    case noPath(String)
    /// A port or file of this machine cannot be had (71).
    case resource(String)
    /// A mistake of ours (70).
    case internalFailure(String)
    /// `--timeout` ran out (124).
    case timedOut(String)
    /// Ctrl-C (130).
    case interrupted

    /// What went wrong, without the `error: ` in front, always on one line and without control characters: some of it is a
    /// server's, and a terminal obeys what it prints.
    var message: String {
        let text =
            switch self {
            case .usage(let text), .badInput(let text), .unreachable(let text), .refused(let text), .noPath(let text),
                .resource(let text), .internalFailure(let text), .timedOut(let text):
                text
            case .interrupted: "interrupted"
            }
        // CR and LF are one Character together, and make one space.
        let line = String(text.map { $0.isNewline || $0 == "\t" ? " " : $0 })
        return String(
            String.UnicodeScalarView(line.unicodeScalars.filter { $0.properties.generalCategory != .control }))
    }

    /// The exit code that goes with it.
    var exitCode: ExitCode {
        switch self {
        case .usage: .usage
        case .badInput: .badInput
        case .unreachable: .unreachable
        case .refused: .refused
        case .noPath: .noPath
        case .resource: .resource
        case .internalFailure: .internalFailure
        case .timedOut: .timedOut
        case .interrupted: .interrupted
        }
    }
}
