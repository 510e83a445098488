internal import Foundation
internal import ICELite

/// Reads arguments and `GRAINE_PROBE_*` into ``ProbeOptions``: a flag beats the environment, which beats the default.
struct ArgumentParser {
    /// The variables that are looked at; the process's, or a test's.
    let environment: [String: String]

    /// - Parameter arguments: Without the program's name.
    /// - Throws: ``ProbeError/usage(_:)``, one line that names what is wrong.
    func parse(_ arguments: [String]) throws(ProbeError) -> ProbeOptions {
        var options = ProbeOptions()
        var given: [(flag: Flag, value: String)] = []
        var positional: [String] = []
        var index = 0
        var onlyPositional = false
        while index < arguments.count {
            let argument = arguments[index]
            index += 1
            if onlyPositional || !argument.hasPrefix("-") || argument == "-" {
                positional.append(argument)
                continue
            }
            switch argument {
            case "--":
                onlyPositional = true
                continue
            case "--help", "-h":
                options.information = .help
                continue
            case "--version":
                options.information = options.information ?? .version
                continue
            default: break
            }
            let (name, attached) = Self.splitAttached(argument)
            let flag = try Self.flag(named: name)
            if flag.valueName == nil {
                guard attached == nil else { throw .usage("\(name) takes no value") }
                given.append((flag, ""))
            } else if let value = attached {
                guard !value.isEmpty else { throw .usage("\(name) needs a value") }
                given.append((flag, value))
            } else {
                guard index < arguments.count, !arguments[index].isEmpty else { throw .usage("\(name) needs a value") }
                given.append((flag, arguments[index]))
                index += 1
            }
        }
        if options.information != nil { return options }
        try readPositional(positional, into: &options)
        try applyEnvironment(to: &options)
        for (flag, value) in given {
            if let commands = flag.commands, !commands.contains(options.command) {
                throw .usage("\(flag.name) means nothing to \(options.command.rawValue)")
            }
            try flag.apply(&options, value)
        }
        try validate(options)
        return options
    }

    /// `check`, `call` … first; a word with a scheme, a dot or a colon may stand alone and is a target to check.
    private func readPositional(_ words: [String], into options: inout ProbeOptions) throws(ProbeError) {
        var rest = words[...]
        if let first = rest.first {
            if let command = ProbeCommand(rawValue: first) {
                options.command = command
                rest.removeFirst()
            } else if !first.contains(where: { $0 == ":" || $0 == "." || $0 == "/" }) {
                let hint = Spelling.nearest(to: first, among: ProbeCommand.allCases.map(\.rawValue))
                throw .usage("unknown command \"\(first)\"" + (hint.map { "; did you mean \($0)?" } ?? ""))
            }
        }
        guard options.command.isAvailable else {
            throw .usage("\(options.command.rawValue) is not in this build yet")
        }
        switch options.command {
        case .explain: options.target = rest.popFirst()
        case .serve, .schema: break
        default: if let target = rest.popFirst() { options.target = try CallTarget.url(parsing: target) }
        }
        if let extra = rest.first { throw .usage("\(options.command.rawValue) takes no argument \"\(extra)\" there") }
    }

    private func applyEnvironment(to options: inout ProbeOptions) throws(ProbeError) {
        if let noColor = environment["NO_COLOR"], !noColor.isEmpty { options.color = false }
        for flag in Flag.all {
            guard let name = flag.environmentName, let value = environment[name], !value.isEmpty else { continue }
            if let commands = flag.commands, !commands.contains(options.command) { continue }
            do throws(ProbeError) {
                if flag.valueName != nil {
                    try flag.apply(&options, value)
                } else if try Self.isOn(value) {
                    try flag.apply(&options, "")
                }
            } catch {
                throw .usage("\(name): \(error.message)")
            }
        }
    }

    private static func isOn(_ value: String) throws(ProbeError) -> Bool {
        switch value.lowercased() {
        case "1", "true", "yes", "on": return true
        case "0", "false", "no", "off": return false
        default: throw .usage("must be 1 or 0")
        }
    }

    private func validate(_ options: ProbeOptions) throws(ProbeError) {
        if options.insecure, !(options.target == nil || options.targetIsLiteralLoopback) {
            throw .usage("--insecure is for literal loopback targets (127.0.0.0/8, [::1]) only")
        }
        if options.insecure, options.caFile != nil { throw .usage("--insecure and --ca exclude each other") }
        if options.json == .standardOutput, options.ndjson == .standardOutput {
            throw .usage("--json and --ndjson cannot both go to standard output")
        }
        if options.command != .serve { try validateAddresses(options) }
        if options.command == .recover { try validateOutage(options) }
        if (options.certificateFile == nil) != (options.privateKeyFile == nil) {
            throw .usage("--cert and --cert-key belong together")
        }
        if case .file(let path) = options.json, let record = options.record, path == record {
            throw .usage("--json and --record name the same file")
        }
        if let audio = options.audio, let record = options.record, audio == record {
            throw .usage("--audio and --record name the same file")
        }
    }

    private func validateOutage(_ options: ProbeOptions) throws(ProbeError) {
        guard let cause = options.cause else {
            let words = ProbeOptions.OutageCause.allCases.map(\.rawValue).joined(separator: "|")
            throw .usage("recover needs --cause \(words)")
        }
        if options.outageSeconds != nil, cause == .rebind { throw .usage("--for means nothing to --cause rebind") }
        if options.lineCut != .silence, cause != .lineDead || (options.outageSeconds ?? 0) > 0 {
            throw .usage("--cut is for a line that is dead for good (--cause line-dead)")
        }
        if options.preference == .websocket, cause != .lineDead {
            throw .usage("--cause \(cause.rawValue) means nothing to a call on the WebSocket")
        }
        if options.bind.first != nil, options.target != nil {
            throw .usage(
                "--bind and recover exclude each other: the relay that causes the outage has an address of its own")
        }
    }

    /// What contradicts itself is said before a name is looked up.
    private func validateAddresses(_ options: ProbeOptions) throws(ProbeError) {
        let bind = options.bind.first.flatMap { IPAddress($0) }
        if let family = options.family, let bind, bind.family != family {
            throw .usage("-\(family.rawValue) and --bind \(bind) exclude each other")
        }
        let literal = options.target.flatMap(CallTarget.host).flatMap { IPAddress($0) }
        if let wanted = options.family ?? bind?.family, let literal, literal.family != wanted {
            throw .usage("\(literal) is no IPv\(wanted.rawValue) address")
        }
        if bind != nil, options.target != nil, !options.impairment.isClear {
            throw .usage("--bind and --impair exclude each other: the relay of --impair has an address of its own")
        }
    }

    /// `--name=value` in two; anything else whole.
    private static func splitAttached(_ argument: String) -> (name: String, value: String?) {
        guard argument.hasPrefix("--"), let equals = argument.firstIndex(of: "=") else { return (argument, nil) }
        return (String(argument[..<equals]), String(argument[argument.index(after: equals)...]))
    }

    private static func flag(named name: String) throws(ProbeError) -> Flag {
        if let flag = Flag.all.first(where: { $0.name == name }) { return flag }
        if ["--token", "--key", "--password"].contains(name) {
            throw .usage("a key is never given on the command line; use --token-file or --token-env")
        }
        let hint = Spelling.nearest(to: name, among: Flag.all.map(\.name) + HelpText.information.map(\.name))
        throw .usage("unknown flag \(name)" + (hint.map { "; did you mean \($0)?" } ?? ""))
    }
}
