internal import Foundation
internal import ICELite
internal import Transport

/// One flag: its name, whether it takes a value, which commands it means something to, and what it does.
struct Flag: Sendable {
    typealias Apply = @Sendable (inout ProbeOptions, String) throws(ProbeError) -> Void

    let name: String
    /// What stands for the value in `--help`; nil: the flag takes none.
    let valueName: String?
    let help: String
    /// nil: every command.
    let commands: Set<ProbeCommand>?
    let apply: Apply

    /// `GRAINE_PROBE_TOKEN_FILE` for `--token-file`; nil for the short ones.
    var environmentName: String? {
        guard name.hasPrefix("--") else { return nil }
        return "GRAINE_PROBE_" + name.dropFirst(2).uppercased().replacing("-", with: "_")
    }

    init(
        _ name: String, _ valueName: String?, _ help: String, commands: Set<ProbeCommand>? = nil,
        _ apply: @escaping Apply
    ) {
        self.name = name
        self.valueName = valueName
        self.help = help
        self.commands = commands
        self.apply = apply
    }

    /// A flag without a value.
    init(_ name: String, _ help: String, commands: Set<ProbeCommand>? = nil, _ apply: @escaping Apply) {
        self.init(name, nil, help, commands: commands, apply)
    }
}

extension Flag {
    /// Every flag, in the order of `--help`.
    static let all: [Flag] = output + call + recovery + connection + judgement + serving + later

    static let placing: Set<ProbeCommand> = [
        .check, .call, .connect, .quality, .recover, .conform, .nat, .path,
    ]

    /// Those that do more than print a text.
    private static let running = placing.union([.serve])

    private static let output: [Flag] = [
        Flag("--json", "FILE", "write the report as JSON; - is standard output", commands: placing) {
            (o, v) throws(ProbeError) in
            o.json = try output("--json", v)
        },
        Flag("--ndjson", "FILE", "write events as JSON lines as they come; - is standard output", commands: placing) {
            (o, v) throws(ProbeError) in
            o.ndjson = try output("--ndjson", v)
        },
        Flag("--quiet", "no progress and no text report; serve: no log", commands: running) {
            (o, _) throws(ProbeError) in o.verbosity = .quiet
        },
        Flag("--verbose", "every step", commands: running) { (o, _) throws(ProbeError) in o.verbosity = .verbose },
        Flag("--no-color", "plain text; so does NO_COLOR") { (o, _) throws(ProbeError) in o.color = false },
        Flag("--redact", "full|partial|none", "hide addresses and host names in the report", commands: placing) {
            (o, v) throws(ProbeError) in o.redaction = try word("--redact", v)
        },
    ]

    private static let call: [Flag] = [
        Flag("--transport", "auto|websocket|webrtc", "the carriage to ask for", commands: placing) {
            (o, v) throws(ProbeError) in o.preference = try word("--transport", v)
        },
        Flag("--audio", "IN.wav", "what to say: PCM WAV, 8 to 48 kHz, mono or stereo", commands: [.check, .call]) {
            (o, v) throws(ProbeError) in o.audio = v
        },
        Flag("--record", "OUT.wav", "write what came back: 48 kHz, mono, 16 bit", commands: [.call, .recover]) {
            (o, v) throws(ProbeError) in o.record = v
        },
        Flag("--duration", "SECONDS", "length of the active call; connect: 0 unless given", commands: placing) {
            (o, v) throws(ProbeError) in
            o.duration = try seconds("--duration", v)
        },
        Flag("--timeout", "SECONDS", "for the whole command", commands: placing) { (o, v) throws(ProbeError) in
            o.timeout = try seconds("--timeout", v)
        },
        Flag("--seed", "N", "of the impairment", commands: placing) { (o, v) throws(ProbeError) in
            guard let seed = UInt64(v) else { throw .usage("--seed must be a number from 0 to 18446744073709551615") }
            o.seed = seed
        },
        Flag("--impair", "SPEC", "loss=2,delay=50,line.delay=50,udp=drop …", commands: placing) {
            (o, v) throws(ProbeError) in
            o.impairment = try ImpairmentSpec.parse(v)
            o.impairmentText = v
        },
    ]

    private static let connection: [Flag] = [
        Flag("-4", "IPv4 only", commands: placing) { (o, _) throws(ProbeError) in o.family = .v4 },
        Flag("-6", "IPv6 only", commands: placing) { (o, _) throws(ProbeError) in o.family = .v6 },
        Flag("--bind", "ADDR", "local address; serve: several with commas, or any", commands: running) {
            (o, v) throws(ProbeError) in
            o.bind = v.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            let isList = o.command == .serve
            guard isList || o.bind.count == 1,
                o.bind.allSatisfy({ AddressText.isBindable($0) || isList && $0 == "any" })
            else { throw .usage("--bind must be an IP address" + (isList ? ", several, or any" : " of this machine")) }
            guard isList || IPAddress(v)?.isUnspecified == false else {
                throw .usage("--bind must be one address of this machine, not all of them")
            }
        },
        Flag(
            "--stun", "URL", "ask this STUN server for the call's address: stun:HOST[:PORT], several with commas",
            commands: placing
        ) {
            (o, v) throws(ProbeError) in
            o.stun = v.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            guard o.stun.allSatisfy({ STUNServer(url: $0) != nil }) else {
                throw .usage("--stun must be stun:HOST[:PORT], or several with commas")
            }
        },
        Flag(
            "--without", "STEP",
            "leave steps of a quick handshake out, several with commas: "
                + HandshakeStep.allCases.map(\.rawValue).joined(separator: ", "),
            commands: placing
        ) {
            (o, v) throws(ProbeError) in
            for name in v.split(separator: ",", omittingEmptySubsequences: false) {
                o.without.insert(try word("--without", String(name)))
            }
        },
        Flag("--proxy", "URL|env|none", "proxy for the line; only none is supported yet", commands: placing) {
            (o, v) throws(ProbeError) in
            o.proxyIsExplicit = true
            switch v {
            case "env": o.proxy = .fromEnvironment
            case "none": o.proxy = .off
            default:
                guard v.hasPrefix("http://") || v.hasPrefix("https://"), v.count > 8 else {
                    throw .usage("--proxy must be an http:// URL, env or none")
                }
                o.proxy = .url(v)
            }
        },
        Flag("--ca", "FILE", "trust these certificates (PEM) instead of the system's", commands: placing) {
            (o, v) throws(ProbeError) in o.caFile = v
        },
        Flag("--insecure", "trust any certificate; literal loopback targets only", commands: placing) {
            (o, _) throws(ProbeError) in o.insecure = true
        },
        Flag("--token-file", "FILE", "read the key from a file", commands: running) {
            (o, v) throws(ProbeError) in o.key = .file(v)
        },
        Flag("--token-env", "NAME", "read the key from an environment variable", commands: running) {
            (o, v) throws(ProbeError) in
            o.key = .environment(v)
        },
    ]

    private static let judgement: [Flag] = [
        Flag("--threshold", "rtt=150,jitter=30,loss=1", "above these a call is poor (ms, ms, %)", commands: placing) {
            (o, v) throws(ProbeError) in o.thresholds = try Thresholds.parse(v)
        },
        Flag("--expect", "NAME=TRANSPORT/REASON", "change what the self-test expects of a call", commands: [.check]) {
            (o, v) throws(ProbeError) in
            let (name, value) = try KeyedItem.split(v[...], option: "--expect")
            o.expectations[name] = try SelfTest.Expectation.parse(value, call: name)
        },
        Flag("--fail-on", "warn", "exit 1 when degraded", commands: placing) { (o, v) throws(ProbeError) in
            guard v == "warn" else { throw .usage("--fail-on must be warn") }
            o.failOnWarn = true
        },
    ]

    private static let serving: [Flag] = [
        Flag("--port", "N", "TCP port; 0 takes a free one", commands: [.serve]) { (o, v) throws(ProbeError) in
            o.port = try port("--port", v)
        },
        Flag("--udp-port", "N", "UDP port; 0 takes a free one", commands: [.serve]) { (o, v) throws(ProbeError) in
            o.udpPort = try port("--udp-port", v)
        },
        Flag("--cert", "FILE", "certificate chain (PEM), with --cert-key", commands: [.serve]) {
            (o, v) throws(ProbeError) in o.certificateFile = v
        },
        Flag("--cert-key", "FILE", "its private key (PEM)", commands: [.serve]) { (o, v) throws(ProbeError) in
            o.privateKeyFile = v
        },
        Flag("--ca-out", "FILE", "where to write the own certificate", commands: [.serve]) {
            (o, v) throws(ProbeError) in o.certificateOutput = v
        },
    ]

    private static let later: [Flag] = [
        Flag("--repeat", "N", "how many calls, 1 to 10000", commands: [.connect]) { (o, v) throws(ProbeError) in
            guard let count = Int(v), (1...10_000).contains(count) else {
                throw .usage("--repeat must be a number from 1 to 10000")
            }
            o.repeatCount = count
        },
        Flag("--path", "rtp|ws|both", "which stream", commands: [.quality]) { (o, v) throws(ProbeError) in
            o.path = try word("--path", v)
        },
    ]

    private static func output(_ name: String, _ value: String) throws(ProbeError) -> ProbeOptions.Output {
        guard !value.hasPrefix("--") else { throw .usage("\(name) needs a file; - is standard output") }
        return value == "-" ? .standardOutput : .file(value)
    }

    static func word<Word: RawRepresentable & CaseIterable>(
        _ name: String, _ value: String
    ) throws(ProbeError) -> Word where Word.RawValue == String {
        guard let word = Word(rawValue: value) else {
            throw .usage("\(name) must be \(Word.allCases.map(\.rawValue).joined(separator: ", ")), not \"\(value)\"")
        }
        return word
    }

    private static func seconds(_ name: String, _ value: String) throws(ProbeError) -> Double {
        let number = try KeyedItem.number(value, name: name, option: name, in: 0...86_400)
        guard number > 0 else { throw .usage("\(name) must be more than 0 seconds") }
        return number
    }

    private static func port(_ name: String, _ value: String) throws(ProbeError) -> UInt16 {
        guard let port = UInt16(value) else { throw .usage("\(name) must be a port from 0 to 65535") }
        return port
    }
}
