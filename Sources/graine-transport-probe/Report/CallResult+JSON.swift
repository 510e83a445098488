/// Builds a section that may hold unknowns: each null in it that is unknown is named in `unknown_because`.
struct ReportSection {
    private var members: [JSONValue.Member] = []
    private var unknown: [JSONValue.Member] = []
    /// Why a value is missing unless it says so itself.
    let reason: String

    init(reason: String) { self.reason = reason }

    mutating func add(_ key: String, _ value: JSONValue, because: String? = nil) {
        members.append(.init(key: key, value: value))
        if value == .null { unknown.append(.init(key: key, value: .string(because ?? reason))) }
    }

    mutating func add(_ key: String, _ value: Double?, because: String? = nil) {
        add(key, .measured(value), because: because)
    }

    mutating func add(_ key: String, _ value: Int?, because: String? = nil) {
        add(key, value.map(JSONValue.integer) ?? .null, because: because)
    }

    mutating func add(_ key: String, _ value: String?, because: String? = nil) {
        add(key, .optional(value), because: because)
    }

    /// The section; `unknown_because` is always there, and empty when everything is known.
    var json: JSONValue { .object(members + [.init(key: "unknown_because", value: .object(unknown))]) }
}

extension CallResult {
    /// The sections of one call, in the order of the schema.
    var sections: [JSONValue.Member] {
        [
            .init(key: "call", value: callJSON), .init(key: "setup", value: setupJSON),
            .init(key: "media", value: mediaJSON), .init(key: "dtls", value: dtlsJSON),
            .init(key: "ice", value: iceJSON), .init(key: "recovery", value: recoveryJSON),
        ]
    }

    /// The call as an element of `calls[]`.
    var json: JSONValue { .object([.init(key: "name", value: .string(name))] + sections) }

    private var callJSON: JSONValue {
        [
            "state": .string(state), "transport": .optional(transport?.rawValue),
            "transportFallbackReason": .optional(fallback?.reason),
            "fallback": fallback.map {
                [
                    "stage": .string($0.stage), "elapsed_ms": .measured($0.elapsedMilliseconds),
                    "detail": .string($0.detail),
                ]
            } ?? .null,
            "outcome": outcome, "snapshot": .null, "error": .optional(failure?.message),
            "ended": ending.map { ["by": .string($0.by.rawValue), "after_ms": .measured($0.afterMilliseconds)] }
                ?? .null,
            "unknown_because": ["snapshot": "its numbers are in setup, media, dtls and ice"],
        ]
    }

    private var setupJSON: JSONValue {
        var section = ReportSection(reason: "the call did not get that far")
        let mediaReason = transport == .websocket ? "the call is on the WebSocket" : nil
        section.add("dns_ms", setup.dns, because: "the target is an address")
        section.add("tcp_ms", setup.tcp)
        section.add("tls_ms", setup.tls)
        section.add("upgrade_ms", setup.upgrade)
        section.add("hello_ms", setup.hello)
        section.add("welcome_ms", setup.welcome)
        section.add("first_check_ms", setup.firstCheck, because: mediaReason)
        section.add("ice_ms", setup.ice, because: mediaReason)
        section.add("dtls_ms", setup.dtls, because: mediaReason)
        section.add("first_audio_ms", setup.firstAudio)
        section.add("active_ms", setup.active)
        section.add("offer_to_first_audio_ms", setup.offerToFirstAudio, because: mediaReason)
        section.add("rtt_ms", setup.rtt, because: "no round trip was measured")
        section.add("rtt_multiple", setup.roundTripMultiple, because: "the round trip is unknown or below 1 ms")
        return section.json
    }

    private var mediaJSON: JSONValue {
        var section = ReportSection(reason: wasActive ? "not measured in this call" : "the call was never active")
        section.add("path", transport.map { $0 == .webrtc ? "rtp" : "ws" })
        section.add("sent", media.sent)
        section.add("received", media.received)
        section.add("lost", media.lost)
        section.add("loss_pct", media.lossPercent)
        section.add("duplicate", media.duplicate)
        section.add("reordered", media.reordered)
        section.add(
            "burst",
            [
                "count": media.burstCount.map(JSONValue.integer) ?? .null,
                "max_packets": media.burstMaxPackets.map(JSONValue.integer) ?? .null,
            ])
        section.add("jitter_ms", media.jitter)
        section.add(
            "rtt",
            [
                "min": .measured(media.rtt.minimum), "avg": .measured(media.rtt.average),
                "p50": .measured(media.rtt.p50),
                "p95": .measured(media.rtt.p95), "max": .measured(media.rtt.maximum),
            ])
        section.add("concealed_pct", media.concealedPercent)
        section.add(
            "playout_delay_ms",
            [
                "p50": .measured(media.playoutDelay.p50), "p95": .measured(media.playoutDelay.p95),
            ])
        section.add(
            "mouth_to_ear_ms",
            [
                "p50": .measured(media.mouthToEar.p50), "p95": .measured(media.mouthToEar.p95),
            ])
        section.add("longest_gap_ms", media.longestGap)
        let marker = returned?.marker
        section.add(
            "marker",
            [
                "expected": marker.map { .integer($0.expected) } ?? .null,
                "heard": marker.map { .integer($0.heard) } ?? .null,
            ])
        section.add(
            "mos",
            media.mos.flatMap { mos in
                media.mosModel.map { ["value": .measured(mos), "model": .string($0)] }
            } ?? .null)
        let levels = returned?.levels
        let lateness = media.timerLateness
        section.add(
            "timers_late",
            [
                "worst_ms": .measured(lateness?.worst), "share_pct": .measured(lateness?.lateShare.map { $0 * 100 }),
            ])
        section.add(
            "level_correlation", levels?.correlation,
            because: levels?.levelVaries == false
                ? "the audio's level does not vary" : "nothing to compare came back")
        section.add(
            "frames_present_pct", levels?.presentShare.map { $0 * 100 }, because: "nothing to compare came back")
        section.add("echo_delay_ms", levels?.delayMilliseconds, because: "nothing to compare came back")
        return section.json
    }

    private var dtlsJSON: JSONValue {
        guard let dtls else { return .null }
        var section = ReportSection(reason: "the handshake did not get that far")
        section.add("version", dtls.version)
        section.add("cipher", dtls.cipher)
        section.add("srtp_profile", dtls.srtpProfile)
        section.add("role", dtls.role)
        section.add("retransmits", dtls.retransmits)
        section.add("hello_in_offer", dtls.helloInOffer.map(JSONValue.bool) ?? .null)
        section.add("flights_on_line", dtls.flightsOnLine)
        section.add("flights_behind_checks", dtls.flightsBehindChecks)
        section.add("early_packets", dtls.earlyPackets)
        return section.json
    }

    private var iceJSON: JSONValue {
        guard let ice else { return .null }
        var section = ReportSection(reason: "no pair was selected")
        let pair: JSONValue =
            ice.local == nil && ice.remote == nil
            ? .null : ["local": .optional(ice.local), "remote": .optional(ice.remote)]
        section.add("pair", pair)
        section.add(
            "reflexive", ice.reflexive.map { .array($0.map(JSONValue.string)) } ?? .null,
            because: "not measured in this call")
        section.add("checks_sent", ice.checksSent, because: "not measured in this call")
        section.add("first_response_ms", ice.firstResponse, because: "no check was answered")
        section.add(
            "nominated_ms", ice.nominated,
            because: pair == .null
                ? "no pair was selected" : "the library does not say when; first_response_ms is before")
        return section.json
    }
}
