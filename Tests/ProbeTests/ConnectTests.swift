import Foundation
import Synchronization
import Testing

@testable import graine_transport_probe

/// Calls whose times are their number: what a table of percentiles is made of, known beforehand.
private final class NumberedCalls: CallPlacing {
    let change: @Sendable (Int, inout CallResult) throws -> Void
    /// The plans of the calls that were placed, in order.
    let placed = Mutex<[CallPlan]>([])

    init(_ change: @escaping @Sendable (Int, inout CallResult) throws -> Void = { _, _ in }) { self.change = change }

    func place(
        _ plan: CallPlan, tell: @escaping @Sendable (CallMoment) -> Void
    ) async throws(ProbeError) -> CallResult {
        let number = placed.withLock { plans in
            plans.append(plan)
            return plans.count
        }
        var result = CallResult(name: plan.name, preference: plan.preference)
        result.state = "ended"
        result.transport = .webrtc
        result.setup.hello = 5
        result.setup.firstAudio = 5 + Double(number)
        result.setup.offerToFirstAudio = Double(number)
        result.setup.active = 10 + Double(number)
        result.setup.rtt = 2
        result.ending = .init(by: .local, afterMilliseconds: 0)
        do {
            try change(number, &result)
        } catch let error as ProbeError {
            throw error
        } catch {
            throw .internalFailure("\(error)")
        }
        if result.setup.active == nil, result.failure == nil { try? await Task.sleep(for: .seconds(3_600)) }
        return result
    }
}

@Suite("connect") struct ConnectTests {
    private func run(
        _ line: String, _ calls: any CallPlacing
    ) async throws -> (code: ExitCode, output: String, error: String) {
        let output = Mutex("")
        let error = Mutex("")
        let runner = ProbeRunner(environment: [:], placer: calls) { text in
            output.withLock { $0 += text }
        } errorOutput: { text in
            error.withLock { $0 += text }
        }
        let code = await runner.run(line.split(separator: " ").map(String.init))
        return (code, output.withLock { $0 }, error.withLock { $0 })
    }

    private func json(_ text: String) throws -> JSONValue {
        try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
    }

    private func stage(_ key: String, in report: JSONValue) -> JSONValue? { report["connect"]?["stages"]?[key] }

    @Test("Percentiles are those of all calls, the report follows its schema, every call is in it")
    func percentiles() async throws {
        let calls = NumberedCalls()
        let result = try await run("connect wss://h/ --repeat 100 --json -", calls)
        #expect(result.code == .good)
        let report = try json(result.output)
        #expect(SchemaValidator(schema: ReportSchema.json).problems(report) == [])
        let audio = try #require(stage("offer_to_first_audio_ms", in: report))
        #expect(audio["p50"] == .integer(50) && audio["p95"] == .integer(95) && audio["worst"] == .integer(100))
        #expect(audio["count"] == .integer(100))
        #expect(stage("active_ms", in: report)?["worst"] == .integer(110))
        // Of the offer, in round trips of 2 ms.
        #expect(stage("rtt_multiple", in: report)?["p50"] == .integer(25))
        // No call looked a name up.
        let dns = try #require(stage("dns_ms", in: report))
        #expect(dns["count"] == .integer(0) && dns["p50"] == .null && dns["unknown_because"]?["p50"] != nil)
        guard case .array(let list)? = report["calls"] else { throw ProbeError.internalFailure("no calls") }
        #expect(list.count == 100 && list.first?["name"] == "call-1" && list.last?["name"] == "call-100")
        #expect(report["setup"] == nil && report["options"]?["repeat"] == .integer(100))
    }

    @Test("Calls come one after the other, silent, hung up at once, each with a network of its own")
    func plans() async throws {
        let calls = NumberedCalls()
        _ = try await run("connect wss://h/ --repeat 3 --seed 7 --impair loss=1", calls)
        let plans = calls.placed.withLock { $0 }
        #expect(plans.map(\.seed) == [7, 8, 9])
        #expect(plans.allSatisfy { !$0.speaks && $0.duration == 0 && $0.audio.isEmpty && !$0.impairment.isClear })
    }

    @Test("A single call repeats its sections at top level")
    func single() async throws {
        let report = try json(try await run("connect wss://h/ --json -", NumberedCalls()).output)
        #expect(SchemaValidator(schema: ReportSchema.json).problems(report) == [])
        #expect(report["setup"]?["active_ms"] == .integer(11))
        #expect(report["connect"]?["asked"] == .integer(1))
    }

    @Test("One call that fell back is said, with its reason, and 3 is the exit code")
    func fallback() async throws {
        let calls = NumberedCalls { number, call in
            guard number == 2 else { return }
            call.transport = .websocket
            call.fallback = .init(
                reason: "ice_no_response", stage: "checks", elapsedMilliseconds: 3_000, detail: "no answer")
        }
        let result = try await run("connect wss://h/ --repeat 3", calls)
        #expect(result.code == .mediaBlocked)
        #expect(result.output.contains("3 calls: 2 on WebRTC, 1 on the WebSocket (1 of 3: ice_no_response)"))
        #expect(result.output.contains("fail  carriage  ice_no_response"))
        let wanted = NumberedCalls { _, call in call.transport = .websocket }
        #expect(try await run("connect wss://h/ --transport websocket --repeat 3", wanted).code == .good)
    }

    @Test("A call that fails is counted, gives no times, and decides the exit code")
    func failing() async throws {
        let calls = NumberedCalls { number, call in
            if number == 2 { throw ProbeError.noPath("it broke") }
        }
        let result = try await run("connect wss://h/ --repeat 4 --json -", calls)
        #expect(result.code == .noPath && result.error.contains("error: it broke\n"))
        let report = try json(result.output)
        #expect(report["connect"]?["failed"] == .integer(1) && report["connect"]?["placed"] == .integer(4))
        #expect(stage("active_ms", in: report)?["count"] == .integer(3))
        #expect(report["verdict"]?["level"] == "error")
        // Nor does one that came as far as its hello and no further.
        let half = NumberedCalls { number, call in
            guard number == 2 else { return }
            call.setup.active = nil
            call.failure = .noPath("it broke")
        }
        let other = try json(try await run("connect wss://h/ --repeat 4 --json -", half).output)
        #expect(other["connect"]?["failed"] == .integer(1) && other["connect"]?["stopped"] == .integer(0))
        #expect(stage("hello_ms", in: other)?["count"] == .integer(3))
    }

    @Test(
        "Where the first call finds nobody no further one is placed",
        arguments: [(ProbeError.unreachable("refused"), ExitCode.unreachable), (.refused("401"), .refused)])
    func nobody(error: ProbeError, code: ExitCode) async throws {
        let calls = NumberedCalls { _, _ in throw error }
        let result = try await run("connect wss://h/ --repeat 50", calls)
        #expect(result.code == code && calls.placed.withLock(\.count) == 1)
        #expect(result.error.contains("error: \(error.message)\n"))
    }

    @Test("The timeout keeps what was measured, and no further call is placed")
    func stopped() async throws {
        let calls = NumberedCalls { number, call in if number == 3 { call.setup.active = nil } }
        let result = try await run("connect wss://h/ --repeat 9 --timeout 10 --json -", calls)
        #expect(result.code == .timedOut)
        let report = try json(result.output)
        #expect(SchemaValidator(schema: ReportSchema.json).problems(report) == [])
        #expect(report["aborted"] == .bool(true) && calls.placed.withLock(\.count) == 3)
        #expect(report["connect"]?["placed"] == .integer(3) && report["connect"]?["stopped"] == .integer(1))
        #expect(report["connect"]?["failed"] == .integer(0))
        #expect(stage("active_ms", in: report)?["worst"] == .integer(12))
    }

    @Test("A round trip above its threshold is poor, a call that broke off too")
    func poor() async throws {
        #expect(try await run("connect wss://h/ --repeat 2 --threshold rtt=1.5", NumberedCalls()).code == .poor)
        let broken = NumberedCalls { number, call in
            if number == 2 { call.ending = .init(by: .failed, afterMilliseconds: 3) }
        }
        let result = try await run("connect wss://h/ --repeat 2", broken)
        #expect(result.code == .poor && result.output.contains("call_lost: 1 of 2 broke off"))
    }

    @Test("The table has a row a stage, p50, p95 and worst, and fits a terminal")
    func table() async throws {
        let result = try await run("connect wss://h/ --repeat 100", NumberedCalls())
        let lines = result.output.split(separator: "\n")
        let row = try #require(lines.first { $0.hasPrefix("offer to first audio ") })
        #expect(row.split(separator: " ").suffix(7) == ["50.0", "ms", "95.0", "ms", "100", "ms", "100"])
        #expect(lines.allSatisfy { $0.count <= 100 })
        #expect(!result.output.contains("dns"))
        // At most 20 lines of progress for a hundred calls, and the heading.
        #expect(result.error.split(separator: "\n").count <= CallRun.progressLines + 1)
    }

    @Test("Real calls through the relay take two round trips at least from the offer to the first audio")
    func live() async throws {
        let result = try await run(
            "connect --repeat 2 --impair delay=15,line.delay=15 --json -", LiveCalls.placer)
        #expect(result.code == .good, "\(result.error)")
        let report = try json(result.output)
        #expect(SchemaValidator(schema: ReportSchema.json).problems(report) == [])
        #expect(report["connect"]?["webrtc"] == .integer(2))
        for key in ["tcp_ms", "hello_ms", "welcome_ms", "ice_ms", "dtls_ms", "first_audio_ms", "active_ms"] {
            #expect(stage(key, in: report)?["count"] == .integer(2), "\(key)")
        }
        func least(_ key: String, in call: JSONValue) -> Double {
            switch call["setup"]?[key] {
            case .integer(let value)?: Double(value)
            case .number(let value)?: value
            default: 0
            }
        }
        guard case .array(let list)? = report["calls"] else { throw ProbeError.internalFailure("no calls") }
        for call in list {
            #expect(least("rtt_ms", in: call) >= 30)
            #expect(least("offer_to_first_audio_ms", in: call) >= 60)
        }
    }
}
