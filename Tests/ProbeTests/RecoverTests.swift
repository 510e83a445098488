import Foundation
import Synchronization
import Testing
import Transport
import TransportTestKit

@testable import graine_transport_probe

/// The line has one of its own.
private typealias JSONValue = graine_transport_probe.JSONValue

@Suite("recover") struct RecoverTests {
    /// A call with an outage two seconds after active, as a real placer would give it.
    private static func calls(
        _ outcome: OutageOutcome?, _ mechanism: RepairMechanism = .samePair, heardGap: Double? = 320,
        change: @escaping @Sendable (inout CallResult) -> Void = { _ in }
    ) -> ScriptedCalls {
        ScriptedCalls(change: { call in
            var figures = RecoverySnapshot()
            if let outcome {
                var earlier = Outage(cause: .silence, at: .milliseconds(700), detection: .milliseconds(300))
                earlier.outcome = .falseAlarm
                var outage = Outage(cause: .silence, at: .milliseconds(2_310), detection: .milliseconds(305))
                (outage.outcome, outage.mechanism) = (outcome, mechanism)
                (outage.gap, outage.framesLost, outage.checksSent) = (.milliseconds(345), 16, 9)
                outage.repair = outcome == .recovered ? .milliseconds(50.5) : nil
                figures.outages = [earlier, outage]
                (figures.outageCount, figures.falseAlarms, figures.bridges) = (2, 1, 2)
                figures.bridged = .seconds(4)
                figures.suspicionThreshold = .milliseconds(600)
            }
            call.ending = .init(by: .local, afterMilliseconds: 6_000)
            call.returned = nil
            var recovery = CallResult.Recovery(asked: nil, figures: figures)
            recovery.heardGap = heardGap
            (recovery.causedAt, recovery.how) = (2_001, .relay)
            recovery.asked = call.recovery?.asked
            call.recovery = recovery
            change(&call)
        })
    }

    private func run(
        _ line: String, _ calls: any CallPlacing
    ) async throws -> (code: ExitCode, output: String, error: String) {
        let output = Mutex("")
        let error = Mutex("")
        let runner = ProbeRunner(environment: [:], placer: Asking(calls: calls)) { text in
            output.withLock { $0 += text }
        } errorOutput: { text in
            error.withLock { $0 += text }
        }
        let code = await runner.run(line.split(separator: " ").map(String.init))
        return (code, output.withLock { $0 }, error.withLock { $0 })
    }

    /// Puts what was asked for into the scripted result, as the plan has it.
    private struct Asking: CallPlacing {
        let calls: any CallPlacing

        func place(
            _ plan: CallPlan, tell: @escaping @Sendable (CallMoment) -> Void
        ) async throws(ProbeError) -> CallResult {
            if let outage = plan.outage {
                tell(.outage(outage.cause, how: .relay))
                tell(.recovering(true))
                tell(.recovering(false))
            }
            var result = try await calls.place(plan, tell: tell)
            result.recovery?.asked = plan.outage
            return result
        }
    }

    private func json(_ text: String) throws -> JSONValue {
        try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
    }

    /// What the report's `recovery` says of a value that it does not have.
    private func why(_ report: JSONValue, _ key: String) -> String {
        if case .string(let text)? = report["recovery"]?["unknown_because"]?[key] { text } else { "" }
    }

    private func checks(_ report: JSONValue) -> [JSONValue] {
        guard case .array(let checks)? = report["checks"] else { return [] }
        return checks
    }

    @Test("A recovered call is good; its section follows the schema and is about the outage that was caused")
    func recovered() async throws {
        let result = try await run("recover --cause udp-dead --json -", Self.calls(.recovered))
        #expect(result.code == .good)
        let report = try json(result.output)
        #expect(SchemaValidator(schema: ReportSchema.json).problems(report) == [])
        let section = try #require(report["recovery"])
        #expect(section["cause"] == "udp-dead" && section["how"] == "relay")
        #expect(section["detect_ms"] == .integer(305) && section["repair_ms"] == .number(50.5))
        #expect(section["gap_ms"] == .integer(345) && section["heard_gap_ms"] == .integer(320))
        #expect(section["frames_lost"] == .integer(16) && section["mechanism"] == "same_pair")
        #expect(section["outcome"] == "recovered" && section["unknown_because"] == .object([]))
        #expect(section["outage_count"] == .integer(2) && section["bridged_ms"] == .integer(4_000))
        guard case .array(let outages)? = section["outages"] else { throw ProbeError.internalFailure("no outages") }
        #expect(outages.map { $0["outcome"] } == ["false_alarm", "recovered"])
        #expect(outages[1]["at_ms"] == .integer(2_310) && outages[1]["checks_sent"] == .integer(9))
        #expect(report["options"]?["for_s"] == .integer(4) && report["options"]?["recovery"] == "continue")
    }

    @Test(
        "Continued on the line is 3, ended as failed 4",
        arguments: [(true, ExitCode.mediaBlocked), (false, .noPath)])
    func ends(continues: Bool, code: ExitCode) async throws {
        let calls = Self.calls(continues ? .continued : .failed, .none) { call in
            if continues {
                call.transport = .websocket
                call.fallback = .init(
                    reason: "recovery_failed", stage: "recovery", elapsedMilliseconds: 12_400, detail: "silence")
            } else {
                call.ending = .init(by: .failed, afterMilliseconds: 12_300)
                call.outcome = ["outcome": "ended", "reason": "failed", "error": "the media path was lost"]
            }
        }
        let result = try await run("recover --cause udp-dead --for 0 --json -", calls)
        #expect(result.code == code)
        let report = try json(result.output)
        #expect(SchemaValidator(schema: ReportSchema.json).problems(report) == [])
        #expect(report["recovery"]?["outcome"] == (continues ? "continued" : "failed"))
        #expect(report["recovery"]?["repair_ms"] == .null)
        #expect(why(report, "repair_ms").hasPrefix("the path did not come back"))
        #expect(why(report, "repair_ms").contains(continues ? "call.fallback" : "call.outcome"))
        #expect(report["options"]?["for_s"] == .null)
    }

    @Test("An outage the library never noticed is judged by what was heard, and says so")
    func unnoticed() async throws {
        let short = try await run("recover --cause rebind --json -", Self.calls(nil, heardGap: 90))
        #expect(short.code == .good)
        let report = try json(short.output)
        #expect(SchemaValidator(schema: ReportSchema.json).problems(report) == [])
        #expect(report["recovery"]?["outcome"] == "recovered" && report["recovery"]?["gap_ms"] == .null)
        #expect(why(report, "gap_ms").contains("heard_gap_ms says what was heard"))
        let long = try json(try await run("recover --cause rebind --json -", Self.calls(nil, heardGap: 900)).output)
        #expect(checks(long).first { $0["id"] == "gap" }?["code"] == "gap_long")
    }

    @Test("An outage that an earlier one goes on in is that one, if it relapsed or still lasted")
    func relapsed() async throws {
        let calls = Self.calls(.recovered) { call in
            call.recovery?.causedAt = 4_000
            call.recovery?.figures.outages[1].relapses = 1
        }
        let report = try json(try await run("recover --cause udp-dead --json -", calls).output)
        #expect(report["recovery"]?["detect_ms"] == .integer(305))
        let other = Self.calls(.recovered) { $0.recovery?.causedAt = 4_000 }
        let unnoticed = try json(try await run("recover --cause udp-dead --json -", other).output)
        #expect(unnoticed["recovery"]?["detect_ms"] == .null)
        let within = Self.calls(.recovered) { call in
            call.recovery?.causedAt = 4_000
            call.recovery?.figures.outages[1].repair = .milliseconds(1_700)
        }
        let prolonged = try json(try await run("recover --cause udp-dead --json -", within).output)
        #expect(prolonged["recovery"]?["repair_ms"] == .integer(1_700))
    }

    @Test("An outage that could not be caused is no good recovery")
    func notCaused() async throws {
        let calls = Self.calls(nil, heardGap: nil) { call in
            call.recovery?.causedAt = nil
            call.recovery?.how = nil
            call.ending = .init(by: .remote, afterMilliseconds: 1_200)
        }
        let result = try await run("recover --cause rebind --json - --fail-on warn", calls)
        #expect(result.code == .warned)
        let report = try json(result.output)
        #expect(SchemaValidator(schema: ReportSchema.json).problems(report) == [])
        #expect(checks(report).first { $0["id"] == "outage" }?["code"] == "not_caused")
        #expect(report["recovery"]?["outcome"] == .null)
        #expect(why(report, "how").contains("over 1200 ms after active") && why(report, "how").contains("--duration 3"))
        #expect(why(report, "gap_ms") == why(report, "how") && why(report, "heard_gap_ms") == why(report, "how"))
        let elsewhere = Self.calls(nil, heardGap: nil) { call in
            call.recovery?.causedAt = nil
            call.recovery?.how = nil
            call.transport = .websocket
            call.fallback = .init(reason: "udp_blocked", stage: "checks", elapsedMilliseconds: 3, detail: "")
        }
        let blocked = try json(try await run("recover --cause udp-dead --json -", elsewhere).output)
        #expect(why(blocked, "how").contains("explain udp_blocked") && why(blocked, "how").contains("line-dead"))
    }

    @Test("A call that was hung up in the outage has no outcome; a line that is gone for good leaves the path")
    func undecided() async throws {
        let hungUp = try json(try await run("recover --cause udp-dead --json -", Self.calls(.hungUp)).output)
        #expect(hungUp["recovery"]?["outcome"] == .null)
        #expect(checks(hungUp).first { $0["id"] == "recovery" }?["status"] == "skip")
        #expect(why(hungUp, "outcome").contains("longer --duration"))
        let line = try await run("recover --cause line-dead --cut reset --json -", Self.calls(nil, heardGap: 0))
        #expect(line.code == .good)
        let dead = try json(line.output)
        #expect(dead["recovery"]?["outcome"] == "continued")
        #expect(why(dead, "gap_ms").hasPrefix("a dead line is no outage of the media path"))
    }

    @Test("Any call tells of its outages; one that had none says why the rest is unknown")
    func otherCommands() async throws {
        let calls = Self.calls(.recovered) { call in
            call.recovery?.causedAt = nil
            call.recovery?.how = nil
            call.recovery?.heardGap = nil
        }
        let report = try json(try await run("call --json -", calls).output)
        #expect(SchemaValidator(schema: ReportSchema.json).problems(report) == [])
        #expect(report["recovery"]?["cause"] == "silence" && report["recovery"]?["gap_ms"] == .integer(345))
        #expect(why(report, "how") == "this command causes no outage; recover does")
        let calm = try json(try await run("call --json -", ScriptedCalls()).output)
        #expect(calm["recovery"] == .null)
    }

    @Test("The text names the outage, what noticed it and when, and fits a terminal")
    func text() async throws {
        let text = try await run("recover --cause udp-dead --no-color", Self.calls(.recovered)).output
        for part in [
            "outage udp-dead in a call to an endpoint in this process", "udp-dead for 4.0 s, by the relay", "305 ms",
            "same_pair", "345 ms, 320 ms heard in the echo", "recovered", "2, 1 false alarms; bridged for 4.0 s",
        ] { #expect(text.contains(part), "\(part) in \(text)") }
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 100 })
    }

    @Test("The outage and what follows it are events")
    func events() async throws {
        let text = try await run("recover --cause rebind --ndjson -", Self.calls(nil)).output
        let lines = try text.split(separator: "\n").map { try json(String($0)) }
        #expect(
            lines.map { $0["event"] } == [
                "begin", "outage", "recovering", "recovering", "state", "transport", "call", "end",
            ])
        #expect(lines[1]["cause"] == "rebind" && lines[1]["how"] == "relay")
        #expect(lines[2]["recovering"] == .bool(true) && lines[3]["recovering"] == .bool(false))
    }

    @Test("A call that fails, the timeout and Ctrl-C end recover as they end the others")
    func stopped() async throws {
        var calls = ScriptedCalls(hangs: true)
        #expect(try await run("recover --cause rebind --timeout 0.05", calls).code == .timedOut)
        calls = ScriptedCalls(failure: .unreachable("no route"))
        let failed = try await run("recover wss://h/ --cause rebind", calls)
        #expect(failed.code == .unreachable && failed.error.contains("error: no route"))
    }

    @Test("Every cause, mechanism and outcome is explained")
    func explained() throws {
        let words =
            OutageCause.allCases.map(\.rawValue) + RepairMechanism.allCases.map(\.rawValue)
            + OutageOutcome.allCases.map(\.rawValue)
        #expect(ReasonCatalogue.outages.map(\.code) == words)
        #expect(try ReasonCatalogue.explain(nil).contains("outage causes (recovery.outages[].cause)"))
        #expect(Set(ReasonCatalogue.outages.map(\.source)).count == words.count, "each has evidence of its own")
    }

    @Test("docs/reasons.md explains every key and every word that the report's recovery can hold") func documented()
        throws
    {
        let page = try String(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/reasons.md"),
            encoding: .utf8)
        func words(_ schema: JSONValue) -> [String] {
            switch schema {
            case .object(let members):
                members.flatMap { member in
                    switch (member.key, member.value) {
                    case ("properties", .object(let properties)):
                        properties.map(\.key) + properties.flatMap { words($0.value) }
                    case ("enum", .array(let values)):
                        values.compactMap { if case .string(let word) = $0 { word } else { nil } }
                    default: words(member.value)
                    }
                }
            case .array(let values): values.flatMap(words)
            default: []
            }
        }
        let all = Set(words(ReportSchema.recovery))
        #expect(
            all.isSuperset(of: ["cause", "udp-dead", "namespace", "false_alarm", "suspicion_ms", "unknown_because"]))
        for word in all.sorted() { #expect(page.contains("`\(word)`"), "\(word)") }
    }

    // MARK: What is asked

    private func options(_ line: String) throws(ProbeError) -> ProbeOptions {
        try ArgumentParser(environment: [:]).parse(line.split(separator: " ").map(String.init))
    }

    @Test("Each cause has its length; 0 is for good; the call sees the end of it")
    func lengths() throws {
        func plan(_ line: String) throws -> OutagePlan { try #require(OutagePlan(try options("recover " + line))) }
        #expect(try plan("--cause udp-dead").seconds == 4)
        #expect(try plan("--cause udp-dead").callDuration == 10)
        #expect(try plan("--cause udp-dead --for 0").seconds == nil)
        #expect(try plan("--cause udp-dead --for 0").callDuration == 16)
        #expect(try plan("--cause line-dead --for 1.5").seconds == 1.5)
        #expect(try plan("--cause line-dead").seconds == nil)
        #expect(try plan("--cause line-dead --cut reset").lineCut == .reset)
        #expect(try plan("--cause rebind").callDuration == 6)
        #expect(OutagePlan(try options("call --recovery end-call")) == nil)
        #expect(try options("call --recovery end-call").recovery == .endCall)
    }

    @Test(
        "What makes no sense is usage",
        arguments: [
            "recover", "recover --cause flood", "recover --cause rebind --for 2", "recover --cause udp-dead --for -1",
            "recover --cause udp-dead --cut reset", "recover --cause line-dead --for 2 --cut reset",
            "recover --cause rebind --transport websocket", "call --cause rebind",
            "recover --cause rebind --recovery no",
            "recover wss://127.0.0.1/ --cause rebind --bind 127.0.0.1", "serve --recovery continue",
        ])
    func usage(line: String) {
        #expect {
            try options(line)
        } throws: {
            if case .usage? = $0 as? ProbeError { true } else { false }
        }
    }

    // MARK: What is heard

    @Test("The voice never falls silent, and a gap in its echo is found where it is looked for", arguments: [100, 500])
    func heardGap(milliseconds: Int) throws {
        let voice = SteadyVoice.samples(seconds: 4)
        #expect(voice.count == 4 * 48_000)
        // As the echo sends it back.
        var echo = voice.map { Int16(Float($0) * EchoProcessor.gain) }
        #expect(HeardGap.longest(in: echo, after: 0) == 0)
        for index in 96_000..<(96_000 + milliseconds * 48) { echo[index] = 0 }
        for index in 4_800..<33_600 { echo[index] = 0 }
        #expect(HeardGap.longest(in: echo, after: 1_900) == Double(milliseconds))
        #expect(HeardGap.longest(in: echo, after: 0) == 600)
        #expect(HeardGap.longest(in: echo, after: 4_000) == nil)
    }

    @Test("A repeated black hole comes again and again")
    func repeatedHole() throws {
        let hole = try #require(try ImpairmentSpec.parse("blackhole=500ms@5/20").packetsUp.blackHoles.first)
        let windows = hole.windows
        #expect(windows.count == ImpairmentSpec.BlackHole.repeatLimit)
        #expect(windows[3].start == .seconds(65) && windows[3].length == .milliseconds(500))
        #expect(try ImpairmentSpec.parse("blackhole=2@5").packetsUp.blackHoles.first?.windows.count == 1)
        for text in ["blackhole=2@5/", "blackhole=2@5/2", "blackhole=2@5/6/7", "blackhole=2@5/x"] {
            #expect(throws: ProbeError.self) { try ImpairmentSpec.parse(text) }
        }
    }

    // MARK: Real calls

    @Test("A real call through the relay comes out of a rebinding and of UDP that is dead for two seconds")
    func live() async throws {
        for cause in ["rebind", "udp-dead --for 2"] {
            let output = Mutex("")
            let runner = ProbeRunner(environment: [:]) { text in
                output.withLock { $0 += text }
            } errorOutput: { _ in
            }
            let line = "recover --cause \(cause) --quiet --json -"
            let code = await runner.run(line.split(separator: " ").map(String.init))
            let report = try json(output.withLock { $0 })
            #expect(SchemaValidator(schema: ReportSchema.json).problems(report) == [])
            #expect(code == .good, "\(cause): \(report["recovery"]?.text(indented: true) ?? "")")
            #expect(report["recovery"]?["outcome"] == "recovered")
            #expect(report["call"]?["transport"] == "webrtc" && report["call"]?["transportFallbackReason"] == .null)
            let caused = try #require(report["recovery"]?["caused_at_ms"])
            #expect(caused != .null)
            if cause != "rebind" { #expect(report["recovery"]?["detect_ms"] != .null) }
        }
    }
}
