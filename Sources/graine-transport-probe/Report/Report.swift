/// The report of a command: schema `graine.probe/1`, changed only by additions.
struct Report: Sendable {
    static let schema = "graine.probe/1"

    enum Level: String, CaseIterable, Sendable { case good, degraded, poor, blocked, error }

    struct Verdict: Equatable, Sendable {
        var level: Level
        /// Codes that `explain` knows, the most important first.
        var codes: [String]
        /// One sentence for each code that needs something done.
        var advice: [String]

        /// The level for a person; a call too short to be judged is not called degraded.
        var text: String { codes == ["too_short"] ? "too short to tell" : level.rawValue }
    }

    /// One thing that was looked at.
    struct Check: Equatable, Sendable {
        enum Status: String, CaseIterable, Sendable { case pass, warn, fail, skip, error }

        var id: String
        var title: String
        var status: Status
        /// Milliseconds since the command started; nil when it never started.
        var started: Double?
        var duration: Double?
        /// A code that `explain` knows.
        var code: String?
        var detail: String?
        var advice: String?
        var values: [JSONValue.Member] = []
    }

    enum Abort: Equatable, Sendable { case interrupted, timedOut }

    /// ISO 8601, UTC.
    var startedAt: String
    var elapsedMilliseconds: Double
    /// nil: the self-test.
    var target: String?
    var options: JSONValue
    var abort: Abort?
    var isSelfTest: Bool
    /// The setup timing over all calls; `connect` only.
    var connect: ConnectSummary?
    var verdict: Verdict
    var checks: [Check]
    var calls: [CallResult]

    var json: JSONValue {
        var members: [JSONValue.Member] = [
            .init(key: "schema", value: .string(Self.schema)),
            .init(
                key: "tool",
                value: ["name": .string(HelpText.programName), "version": .string(HelpText.version)]),
            .init(key: "started_at", value: .string(startedAt)),
            .init(key: "elapsed_ms", value: .measured(elapsedMilliseconds)),
            .init(key: "target", value: .optional(target)), .init(key: "options", value: options),
            .init(key: "aborted", value: .bool(abort != nil)), .init(key: "bytes", value: bytes),
            .init(
                key: "verdict",
                value: [
                    "level": .string(verdict.level.rawValue), "codes": .array(verdict.codes.map(JSONValue.string)),
                    "advice": .array(verdict.advice.map(JSONValue.string)),
                ]), .init(key: "checks", value: .array(checks.map(\.json))),
            .init(key: "calls", value: .array(calls.map(\.json))),
        ]
        if let connect { members.append(.init(key: "connect", value: connect.json)) }
        // A command that places one call repeats its sections where a reader of one call looks for them.
        if !isSelfTest, connect.map({ $0.asked == 1 }) ?? true, let first = calls.first { members += first.sections }
        return .object(members)
    }

    private var bytes: JSONValue {
        var section = ReportSection(reason: "not counted in every call")
        section.add("sent", total(\.bytesSent))
        section.add("received", total(\.bytesReceived))
        return section.json
    }

    private func total(_ count: KeyPath<CallResult, Int?>) -> Int? {
        var sum = 0
        for call in calls {
            guard let value = call[keyPath: count] else { return nil }
            sum += value
        }
        return calls.isEmpty ? nil : sum
    }
}

extension Report.Check {
    var json: JSONValue {
        [
            "id": .string(id), "title": .string(title), "status": .string(status.rawValue),
            "started_ms": .measured(started), "duration_ms": .measured(duration), "code": .optional(code),
            "detail": .optional(detail), "advice": .optional(advice), "values": .object(values),
        ]
    }
}
