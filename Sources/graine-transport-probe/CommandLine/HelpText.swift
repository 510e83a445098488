internal import Foundation

/// What `--help` and `--version` print.
enum HelpText {
    static let programName = "graine-transport-probe"
    /// The version of the tool; the package's, until it has releases of its own.
    static let version = "0.1.0"

    /// What is answered instead of running a command.
    static let information = [(name: "--help", help: "this; so does -h"), (name: "--version", help: "the version")]

    static var help: String {
        var lines = [
            "\(programName) [COMMAND] [TARGET] [FLAGS]",
            "",
            "Says what a call would do here: which transport, how soon, how it would sound, and if it would fall back, why.",
            "TARGET is wss://host[:port]/path. Without one, check runs the self-test against an endpoint in this process.",
            "",
            "commands",
        ]
        for command in ProbeCommand.allCases where command.isAvailable {
            let left = (command.rawValue + " " + command.argument).padding(to: 20)
            lines.append("  \(left) \(command.summary)")
        }
        lines += ["", "flags (also as GRAINE_PROBE_NAME; a flag beats the environment)"]
        for flag in Flag.all where flag.commands.map({ $0.contains(where: \.isAvailable) }) ?? true {
            let left = (flag.name + (flag.valueName.map { " " + $0 } ?? "")).padding(to: 38)
            lines.append("  \(left) \(flag.help)")
        }
        for flag in information { lines.append("  \(flag.name.padding(to: 38)) \(flag.help)") }
        lines += [
            "", "exit codes",
            "  0 good   1 degraded with --fail-on warn   2 poor   3 media blocked   4 no path   64 usage   65 bad input",
            "  69 unreachable   70 internal, or a failed self-test   71 a port or file cannot be had   77 refused",
            "  124 timeout   130 interrupted", "",
            "not in this build yet: "
                + ProbeCommand.allCases.filter { !$0.isAvailable }.map(\.rawValue).joined(separator: ", "),
        ]
        return lines.joined(separator: "\n")
    }
}

extension String {
    /// The text with spaces after it up to `width` characters; longer text stays whole.
    func padding(to width: Int) -> String {
        count >= width ? self : self + String(repeating: " ", count: width - count)
    }
}
