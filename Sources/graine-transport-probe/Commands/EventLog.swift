internal import Foundation
internal import Synchronization

/// The stream of `--ndjson`: one JSON object a line, written as it happens.
///
/// `begin` (schema, command, target, started_at), then for each call by its name `state`, `transport`, `recovering`
/// and, in `recover`, `outage`, `call` with the call's part of the report once it is over, and last `end` with the verdict. All but `begin` have `at_ms`.
final class EventLog: Sendable {
    static let schema = "graine.probe.events/1"

    private let write: @Sendable (String) -> Bool
    private let path: String?
    private let redactor: Redactor
    private let began: ContinuousClock.Instant
    private let failed = Mutex(false)

    /// Opens the file, emptied, or takes standard output.
    ///
    /// - Throws: `resource` when the file cannot be written.
    init(
        _ output: ProbeOptions.Output, standardOutput: @escaping @Sendable (String) -> Void, redactor: Redactor,
        began: ContinuousClock.Instant
    ) throws(ProbeError) {
        self.redactor = redactor
        self.began = began
        switch output {
        case .standardOutput:
            path = nil
            write = {
                standardOutput($0)
                return true
            }
        case .file(let path):
            self.path = path
            guard
                FileManager.default.fileExists(atPath: path)
                    || FileManager.default.createFile(atPath: path, contents: nil),
                let file = FileHandle(forWritingAtPath: path)
            else { throw .resource("\(path) cannot be written") }
            try? file.truncate(atOffset: 0)
            let held = Mutex(file)
            write = { text in
                held.withLock { file in (try? file.write(contentsOf: Data(text.utf8))) != nil }
            }
        }
    }

    /// Writes the first line.
    func begin(_ options: ProbeOptions, startedAt: String) {
        add(
            "begin",
            [
                .init(key: "schema", value: .string(Self.schema)),
                .init(key: "command", value: .string(options.command.rawValue)),
                .init(key: "target", value: .optional(options.target)),
                .init(key: "started_at", value: .string(startedAt)),
            ])
    }

    /// Writes what happens in the call called `name`.
    func add(_ moment: CallMoment, call name: String) {
        var members: [JSONValue.Member] = [at, .init(key: "call", value: .string(name))]
        switch moment {
        case .state(let state):
            members.append(.init(key: "state", value: .string(state)))
            add("state", members)
        case .transport(let transport, let reason):
            members.append(.init(key: "transport", value: .string(transport)))
            members.append(.init(key: "transportFallbackReason", value: .optional(reason)))
            add("transport", members)
        case .outage(let cause, let how):
            members.append(.init(key: "cause", value: .string(cause.rawValue)))
            members.append(.init(key: "how", value: .string(how.rawValue)))
            add("outage", members)
        case .recovering(let isOn):
            members.append(.init(key: "recovering", value: .bool(isOn)))
            add("recovering", members)
        }
    }

    /// Writes the result of a call that is over.
    func add(_ result: CallResult) { add("call", [at, .init(key: "result", value: result.json)]) }

    /// Writes the last line.
    ///
    /// - Throws: `resource` when a line could not be written.
    func end(_ report: Report) throws(ProbeError) {
        let whole = report.json
        let keys = ["aborted", "verdict"].compactMap { key in whole[key].map { JSONValue.Member(key: key, value: $0) } }
        add("end", [at] + keys)
        if failed.withLock({ $0 }) { throw .resource("\(path ?? "standard output") cannot be written") }
    }

    private var at: JSONValue.Member {
        .init(key: "at_ms", value: .measured((ContinuousClock.now - began).milliseconds))
    }

    private func add(_ event: String, _ members: [JSONValue.Member]) {
        let line = JSONValue.object([.init(key: "event", value: .string(event))] + members)
        if !write(redactor.json(line).text(indented: false) + "\n") { failed.withLock { $0 = true } }
    }
}
