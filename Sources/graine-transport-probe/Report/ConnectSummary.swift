/// What `connect` is for: the setup timing of several calls, by stage.
///
/// A call that never was active, or that Ctrl-C or `--timeout` stopped, is counted and gives no times.
struct ConnectSummary: Equatable, Sendable {
    /// One stage of set-up over all calls that have it.
    struct Stage: Equatable, Sendable {
        /// Its key in the report, that of `setup`.
        var key: String
        /// Its label in the table.
        var label: String
        /// Calls that were measured.
        var count: Int
        /// Milliseconds, but for `rtt_multiple`.
        var times: CallResult.Percentiles
    }

    /// Calls asked for.
    var asked: Int
    /// Calls placed: fewer after an abort, and where the first one found nobody.
    var placed: Int
    /// Calls that were active, by carriage.
    var onWebRTC: Int
    var onWebSocket: Int
    /// Calls that ended without ever being active, but for those that were stopped.
    var failed: Int
    /// Calls that Ctrl-C or `--timeout` stopped before they were active.
    var stopped: Int
    /// Why calls are on the WebSocket although they wanted WebRTC: word and count, the most frequent first.
    var fallbacks: [(reason: String, count: Int)]
    var stages: [Stage]

    init(_ calls: [CallResult], asked: Int) {
        self.asked = asked
        placed = calls.count
        let active = calls.filter(\.wasActive)
        onWebRTC = active.count { $0.transport == .webrtc }
        onWebSocket = active.count { $0.transport == .websocket }
        stopped = calls.count { !$0.wasActive && $0.wasStopped }
        failed = calls.count - active.count - stopped
        let counts = Dictionary(active.compactMap { $0.fallback?.reason }.map { ($0, 1) }, uniquingKeysWith: +)
        fallbacks = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { ($0.key, $0.value) }
        stages = Self.stages.map { key, label, value in
            let times = active.compactMap { value($0.setup) }
            return Stage(key: key, label: label, count: times.count, times: CallResult.Percentiles(times))
        }
    }

    /// The calls that wanted WebRTC and did not get it: `3 of 100: ice_no_response ×2, udp_blocked`.
    var fallbackText: String {
        let reasons = fallbacks.map { $0.reason + ($0.count > 1 ? " ×\($0.count)" : "") }
        return "\(fallbacks.reduce(0) { $0 + $1.count }) of \(placed): " + reasons.joined(separator: ", ")
    }

    /// The median round trip, which the threshold is for.
    var medianRoundTrip: Double? { stages.first { $0.key == "rtt_ms" }?.times.p50 }

    var json: JSONValue {
        [
            "asked": .integer(asked), "placed": .integer(placed), "webrtc": .integer(onWebRTC),
            "websocket": .integer(onWebSocket), "failed": .integer(failed), "stopped": .integer(stopped),
            "fallbacks": .object(fallbacks.map { .init(key: $0.reason, value: .integer($0.count)) }),
            "stages": .object(stages.map { .init(key: $0.key, value: $0.json) }),
        ]
    }

    static func == (one: Self, other: Self) -> Bool { one.json == other.json }

    typealias Row = (key: String, label: String, value: @Sendable (CallResult.Setup) -> Double?)

    /// The stages in the order in which a call lives; keys as in `setup`.
    static let stages: [Row] = [
        ("dns_ms", "line: dns", { $0.dns }), ("tcp_ms", "      tcp", { $0.tcp }), ("tls_ms", "      tls", { $0.tls }),
        ("upgrade_ms", "      upgrade", { $0.upgrade }), ("hello_ms", "      hello", { $0.hello }),
        ("welcome_ms", "      welcome", { $0.welcome }), ("first_check_ms", "path: first check", { $0.firstCheck }),
        ("ice_ms", "      ice", { $0.ice }), ("dtls_ms", "      dtls", { $0.dtls }),
        ("first_audio_ms", "first audio", { $0.firstAudio }), ("active_ms", "active", { $0.active }),
        ("offer_to_first_audio_ms", "offer to first audio", { $0.offerToFirstAudio }),
        ("rtt_ms", "round trip of the line", { $0.rtt }),
        ("rtt_multiple", "offer to first audio, in round trips", { $0.roundTripMultiple }),
    ]
}

extension ConnectSummary.Stage {
    fileprivate var json: JSONValue {
        var section = ReportSection(reason: "no call was measured there")
        section.add("count", count)
        section.add("p50", times.p50)
        section.add("p95", times.p95)
        section.add("worst", times.maximum)
        return section.json
    }
}
