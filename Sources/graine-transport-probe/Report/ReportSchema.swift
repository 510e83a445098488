/// The JSON Schema (draft 2020-12) of the report, as `schema` prints it.
enum ReportSchema {
    static var json: JSONValue {
        var properties: [JSONValue.Member] = [
            .init(key: "schema", value: ["const": .string(Report.schema)]),
            .init(key: "tool", value: object(["name": string, "version": string], required: ["version"])),
            .init(key: "started_at", value: ["type": "string", "description": "ISO 8601, UTC"]),
            .init(key: "elapsed_ms", value: number), .init(key: "target", value: stringOrNull),
            .init(key: "options", value: ["type": "object"]), .init(key: "aborted", value: ["type": "boolean"]),
            .init(key: "bytes", value: section(["sent": countOrNull, "received": countOrNull])),
            .init(
                key: "verdict",
                value: object([
                    "level": words(Report.Level.allCases.map(\.rawValue)), "codes": list(string),
                    "advice": list(string),
                ])), .init(key: "checks", value: list(reference("check"))),
            .init(key: "calls", value: list(reference("named_call"))),
        ]
        let required = properties.map { JSONValue.string($0.key) }
        properties += sectionProperties
        properties.append(.init(key: "connect", value: reference("connect")))
        return [
            "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": .string("urn:" + Report.schema),
            "title": "Report of graine-transport-probe",
            "description":
                "Additive changes only. Unknown is null and named in unknown_because. Times in milliseconds.",
            "type": "object", "properties": .object(properties), "required": .array(required), "$defs": definitions,
        ]
    }

    private static let sectionNames = ["call", "setup", "media", "dtls", "ice", "recovery"]

    private static var sectionProperties: [JSONValue.Member] {
        sectionNames.map { .init(key: $0, value: reference($0)) }
    }

    private static var definitions: JSONValue {
        [
            "check": object([
                "id": string, "title": string, "status": words(Report.Check.Status.allCases.map(\.rawValue)),
                "started_ms": numberOrNull, "duration_ms": numberOrNull, "code": stringOrNull, "detail": stringOrNull,
                "advice": stringOrNull, "values": ["type": "object"],
            ]),
            "named_call": .object([
                .init(key: "type", value: "object"),
                .init(key: "properties", value: .object([.init(key: "name", value: string)] + sectionProperties)),
                .init(key: "required", value: .array((["name"] + sectionNames).map(JSONValue.string))),
            ]),
            "call": section([
                "state": words(["idle", "ringing", "connecting", "active", "recovering", "ended"]),
                "transport": wordsOrNull(["webrtc", "websocket"]), "transportFallbackReason": stringOrNull,
                "fallback": orNull(object(["stage": string, "elapsed_ms": number, "detail": string])),
                "outcome": objectOrNull, "snapshot": objectOrNull, "error": stringOrNull,
                "ended": orNull(
                    object(["by": words(CallResult.Ending.Party.allCases.map(\.rawValue)), "after_ms": number])),
            ]),
            "setup": section([
                "dns_ms": numberOrNull, "tcp_ms": numberOrNull, "tls_ms": numberOrNull, "upgrade_ms": numberOrNull,
                "hello_ms": numberOrNull, "welcome_ms": numberOrNull, "first_check_ms": numberOrNull,
                "ice_ms": numberOrNull, "dtls_ms": numberOrNull, "first_audio_ms": numberOrNull,
                "active_ms": numberOrNull, "offer_to_first_audio_ms": numberOrNull, "rtt_ms": numberOrNull,
                "rtt_multiple": numberOrNull,
            ]), "media": media,
            "dtls": orNull(
                section([
                    "version": stringOrNull, "cipher": stringOrNull, "srtp_profile": stringOrNull, "role": stringOrNull,
                    "retransmits": countOrNull, "hello_in_offer": ["type": ["boolean", "null"]],
                    "flights_on_line": countOrNull,
                    "flights_behind_checks": countOrNull, "early_packets": countOrNull,
                ])),
            "ice": orNull(
                section([
                    "pair": orNull(object(["local": stringOrNull, "remote": stringOrNull])),
                    "reflexive": orNull(list(string)), "checks_sent": countOrNull,
                    "first_response_ms": numberOrNull, "nominated_ms": numberOrNull,
                ])),
            "connect": connect,
            "recovery": recovery,
        ]
    }

    /// Over all calls of `connect`; other commands leave it out.
    private static var connect: JSONValue {
        let stage = section(["count": count, "p50": numberOrNull, "p95": numberOrNull, "worst": numberOrNull])
        return object([
            "asked": count, "placed": count, "webrtc": count, "websocket": count, "failed": count, "stopped": count,
            "fallbacks": ["type": "object", "additionalProperties": count],
            "stages": object(.object(ConnectSummary.stages.map { .init(key: $0.key, value: stage) })),
        ])
    }

    private static var media: JSONValue {
        section([
            "path": wordsOrNull(["rtp", "ws"]), "sent": countOrNull, "received": countOrNull, "lost": integerOrNull,
            "loss_pct": numberOrNull, "duplicate": countOrNull, "reordered": countOrNull,
            "burst": object(["count": countOrNull, "max_packets": countOrNull]), "jitter_ms": numberOrNull,
            "rtt": object([
                "min": numberOrNull, "avg": numberOrNull, "p50": numberOrNull, "p95": numberOrNull, "max": numberOrNull,
            ]), "concealed_pct": numberOrNull,
            "playout_delay_ms": object(["p50": numberOrNull, "p95": numberOrNull]),
            "mouth_to_ear_ms": object(["p50": numberOrNull, "p95": numberOrNull]), "longest_gap_ms": numberOrNull,
            "marker": object(["expected": countOrNull, "heard": countOrNull]),
            "timers_late": object(["worst_ms": numberOrNull, "share_pct": numberOrNull]),
            "mos": orNull(object(["value": number, "model": string])),
            "level_correlation": ["type": ["number", "null"], "minimum": .integer(-1), "maximum": .integer(1)],
            "frames_present_pct": numberOrNull, "echo_delay_ms": numberOrNull,
        ])
    }

    // MARK: Building blocks

    static let string: JSONValue = ["type": "string"]
    static let stringOrNull: JSONValue = ["type": ["string", "null"]]
    static let number: JSONValue = ["type": "number", "minimum": .integer(0)]
    static let numberOrNull: JSONValue = ["type": ["number", "null"], "minimum": .integer(0)]
    static let count: JSONValue = ["type": "integer", "minimum": .integer(0)]
    static let countOrNull: JSONValue = ["type": ["integer", "null"], "minimum": .integer(0)]
    static let integerOrNull: JSONValue = ["type": ["integer", "null"]]
    static let objectOrNull: JSONValue = ["type": ["object", "null"]]

    static func words(_ words: [String]) -> JSONValue { ["enum": .array(words.map(JSONValue.string))] }

    static func wordsOrNull(_ words: [String]) -> JSONValue {
        ["enum": .array(words.map(JSONValue.string) + [.null])]
    }

    static func list(_ item: JSONValue) -> JSONValue { ["type": "array", "items": item] }

    static func reference(_ name: String) -> JSONValue { ["$ref": .string("#/$defs/" + name)] }

    static func orNull(_ schema: JSONValue) -> JSONValue { ["anyOf": .array([schema, ["type": "null"]])] }

    static func object(_ properties: JSONValue, required: [String]? = nil) -> JSONValue {
        guard case .object(let members) = properties else { return ["type": "object"] }
        return [
            "type": "object", "properties": properties,
            "required": .array((required ?? members.map(\.key)).map(JSONValue.string)),
        ]
    }

    /// An object whose unknown values are explained.
    static func section(_ properties: JSONValue) -> JSONValue {
        guard case .object(let members) = properties else { return ["type": "object"] }
        let reasons: JSONValue = ["type": "object", "additionalProperties": string]
        return object(.object(members + [.init(key: "unknown_because", value: reasons)]))
    }
}
