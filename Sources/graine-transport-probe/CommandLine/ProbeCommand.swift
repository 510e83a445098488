/// The commands of the probe.
enum ProbeCommand: String, CaseIterable, Sendable {
    case check, call, connect, quality, recover, nat, path, serve, conform, explain, schema

    /// Whether this build can run it. The others are named, so that asking for one says "not yet" and not "unknown".
    var isAvailable: Bool {
        switch self {
        case .check, .call, .connect, .recover, .serve, .explain, .schema: true
        case .quality, .nat, .path, .conform: false
        }
    }

    /// One line for `--help`.
    var summary: String {
        switch self {
        case .check: "what a call would do here; without TARGET: the self-test, no network needed"
        case .call: "one call, with --audio IN.wav, --record OUT.wav, --duration SECONDS"
        case .connect: "setup timing by stage: p50, p95 and worst of --repeat N calls, one after the other"
        case .quality: "a media-shaped stream"
        case .recover: "cause an outage in a call (--cause) and say how it came back: detection, repair, gap"
        case .nat: "mapping, filtering, hairpin"
        case .path: "PMTU, DSCP and ECN survival, IPv4 and IPv6"
        case .serve: "an endpoint that echoes; prints one line READY line=… udp=… ca=FILE"
        case .conform: "judges a server against the call line's protocol"
        case .explain: "what a reason or check code means and what to do; offline"
        case .schema: "the JSON Schema of the report"
        }
    }

    /// What stands after the command in `--help`.
    var argument: String {
        switch self {
        case .check, .call, .connect, .recover: "[TARGET]"
        case .quality, .nat, .path, .conform: "TARGET"
        case .explain: "[CODE]"
        case .serve, .schema: ""
        }
    }
}
