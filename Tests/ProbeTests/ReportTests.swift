import Foundation
import Synchronization
import Testing

@testable import graine_transport_probe

/// Calls that were never placed, with results as a real placer would give them.
struct ScriptedCalls: CallPlacing {
    var change: @Sendable (inout CallResult) -> Void = { _ in }
    var failure: ProbeError?
    var hangs = false
    /// Runs before a call hangs.
    var whileHanging: @Sendable () -> Void = {}

    func place(
        _ plan: CallPlan, tell: @escaping @Sendable (CallMoment) -> Void
    ) async throws(ProbeError) -> CallResult {
        tell(.state("connecting"))
        if let failure { throw failure }
        var result = CallResult(name: plan.name, preference: plan.preference)
        if hangs {
            whileHanging()
            try? await Task.sleep(for: .seconds(3_600))
            result.state = "ended"
            return result
        }
        result.state = "ended"
        let reason: String? =
            switch plan.impairment.udp {
            case .pass: nil
            case .drop: "ice_no_response"
            case .reject: "udp_blocked"
            }
        let isWebRTC = plan.preference != .websocket && reason == nil
        tell(.transport(isWebRTC ? "webrtc" : "websocket", reason: reason))
        result.transport = isWebRTC ? .webrtc : .websocket
        result.fallback = reason.map {
            .init(
                reason: $0, stage: "checks", elapsedMilliseconds: $0 == "udp_blocked" ? 12 : 3_012,
                detail: "from 10.0.0.7")
        }
        result.setup.hello = 9.5
        result.setup.welcome = 12.25
        result.setup.active = 40
        result.setup.rtt = 2
        result.media.sent = 350
        result.media.received = 350
        result.media.lost = 0
        result.media.jitter = 1.5
        result.media.rtt.p50 = 2
        if isWebRTC {
            result.dtls = .init(version: "DTLSv1.2", cipher: nil, srtpProfile: "SRTP_AEAD_AES_128_GCM", role: "client")
            result.ice = .init(local: "127.0.0.1:5", remote: "127.0.0.1:6", reflexive: ["192.0.2.1:7"], checksSent: 2)
        }
        result.returned = ReturnedAudio(
            marker: .init(expected: 6, heard: 6, positions: []),
            levels: .init(correlation: 0.99, presentShare: 1, delayMilliseconds: 320, frameCount: 300))
        if plan.keepsRecording { result.recording = [1, 2, 3] }
        change(&result)
        return result
    }
}

@Suite struct ReportTests {
    /// Runs a command line against scripted calls.
    private func run(
        _ line: String, _ calls: ScriptedCalls = ScriptedCalls(), environment: [String: String] = [:]
    ) async throws -> (code: ExitCode, output: String, error: String) {
        let output = Mutex("")
        let error = Mutex("")
        let runner = ProbeRunner(environment: environment, placer: calls) { text in
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

    @Test func theSelfTestsReportFollowsItsSchema() async throws {
        let result = try await run("check --json -")
        #expect(result.code == .good)
        let report = try json(result.output)
        #expect(SchemaValidator(schema: ReportSchema.json).problems(report) == [])
        #expect(report["schema"] == "graine.probe/1")
        guard case .array(let calls)? = report["calls"] else { throw ProbeError.internalFailure("no calls") }
        #expect(calls.map { $0["name"] } == ["webrtc", "udp-dropped", "udp-rejected", "websocket"])
        #expect(
            calls.map { $0["call"]?["transportFallbackReason"] } == [.null, "ice_no_response", "udp_blocked", .null])
        #expect(report["setup"] == nil)
    }

    @Test func aSingleCallsSectionsStandAtTopLevelToo() async throws {
        let result = try await run("call wss://example.org/ --json -")
        #expect(result.code == .good)
        let report = try json(result.output)
        #expect(SchemaValidator(schema: ReportSchema.json).problems(report) == [])
        guard case .array(let calls)? = report["calls"] else { throw ProbeError.internalFailure("no calls") }
        #expect(report["setup"] == calls.first?["setup"] && report["media"] == calls.first?["media"])
    }

    @Test func unknownIsNullAndSaysWhy() async throws {
        let report = try json(try await run("call wss://example.org/ --json -").output)
        #expect(report["setup"]?["dns_ms"] == .null)
        #expect(report["setup"]?["unknown_because"]?["dns_ms"] != nil)
        #expect(report["media"]?["concealed_pct"] == .null)
        #expect(report["media"]?["unknown_because"]?["concealed_pct"] != nil)
        #expect(report["media"]?["unknown_because"]?["sent"] == nil)
    }

    @Test func theValidatorSeesWhatIsWrong() async throws {
        let validator = SchemaValidator(schema: ReportSchema.json)
        let report = try json(try await run("check --json -").output)
        guard case .object(let members) = report else { throw ProbeError.internalFailure("no object") }
        #expect(validator.problems(.object(members.filter { $0.key != "verdict" })) != [])
        #expect(validator.problems(.object(members + [.init(key: "zzz", value: .null)])) != [])
        let negative = members.map { $0.key == "elapsed_ms" ? .init(key: $0.key, value: .integer(-1)) : $0 }
        #expect(validator.problems(.object(negative)) != [])
    }

    @Test func oneBrokenExpectationIsSeventy() async throws {
        let result = try await run("check --expect udp-dropped=webrtc/none")
        #expect(result.code == .internalFailure)
        #expect(result.output.contains("websocket/ice_no_response instead of webrtc/none"))
        #expect(result.output.contains("3 of 4 calls"))
    }

    @Test func aMarkerThatWasNotHeardFailsTheSelfTest() async throws {
        let result = try await run("check", ScriptedCalls(change: { $0.returned?.marker.heard = 5 }))
        #expect(result.code == .internalFailure)
    }

    @Test func aSlowChoiceFailsTheSelfTest() async throws {
        let calls = ScriptedCalls(change: { if $0.fallback != nil { $0.fallback?.elapsedMilliseconds = 12_100 } })
        #expect(try await run("check", calls).code == .internalFailure)
    }

    @Test func fallingBackIsThreeUnlessItWasWanted() async throws {
        let change: @Sendable (inout CallResult) -> Void = {
            $0.transport = .websocket
            if $0.wantedWebRTC {
                $0.fallback = .init(
                    reason: "udp_blocked", stage: "checks", elapsedMilliseconds: 5, detail: "ECONNREFUSED")
            }
        }
        let blocked = try await run("call wss://example.org/", ScriptedCalls(change: change))
        #expect(blocked.code == .mediaBlocked)
        #expect(blocked.output.contains("udp_blocked"))
        let wanted = try await run("call wss://example.org/ --transport websocket", ScriptedCalls(change: change))
        #expect(wanted.code == .good)
    }

    @Test func thresholdsMakeACallPoorOrDegraded() async throws {
        let poor = ScriptedCalls(change: { $0.media.rtt.p50 = 151 })
        let degraded = ScriptedCalls(change: { $0.media.rtt.p50 = 140 })
        #expect(try await run("call wss://example.org/", poor).code == .poor)
        #expect(try await run("call wss://example.org/ --threshold rtt=300", poor).code == .good)
        #expect(try await run("call wss://example.org/", degraded).code == .good)
        #expect(try await run("call wss://example.org/ --fail-on warn", degraded).code == .warned)
    }

    @Test(arguments: [
        (ProbeError.unreachable("a: connection refused"), ExitCode.unreachable), (.refused("401\nbad"), .refused),
        (.noPath("nothing"), .noPath), (.resource("port 5 is in use"), .resource),
    ])
    func aFailedCallIsOneErrorLineAndItsCode(error: ProbeError, code: ExitCode) async throws {
        let record = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).wav").path
        let result = try await run("call wss://h/ --quiet --record \(record)", ScriptedCalls(failure: error))
        #expect(result.code == code)
        #expect(result.output == "")
        #expect(result.error.hasPrefix("error: ") && result.error.filter(\.isNewline).count == 1)
        #expect(!FileManager.default.fileExists(atPath: record))
        let report = try json(try await run("call wss://h/ --quiet --json -", ScriptedCalls(failure: error)).output)
        #expect(SchemaValidator(schema: ReportSchema.json).problems(report) == [])
        #expect(report["verdict"]?["level"] == "error")
    }

    @Test func aFailedCallsTextHasItsCodeAndWhatToDo() async throws {
        let error = ProbeError.refused("The conversation was refused (401).")
        let calls = ScriptedCalls(change: { call in
            call.failure = error
            call.failureCode = "invalid_key"
            call.setup.active = nil
        })
        let result = try await run("call wss://h/", calls)
        #expect(result.code == .refused)
        #expect(result.error.contains("error: \(error.message)\n"))
        #expect(result.output.hasPrefix("error  line  invalid_key\n      Check --token-file"))
        #expect(result.output.hasSuffix("verdict: error · explain: invalid_key\n"))
        #expect(!result.output.contains("packets"))
    }

    @Test func aResourceOfThisMachineIsNoNetworkToBlame() async throws {
        let result = try await run("call wss://h/ --json -", ScriptedCalls(failure: .resource("no port")))
        #expect(result.code == .resource && !result.output.contains("\"network\""))
    }

    @Test(arguments: [
        ("--ca /no/such.pem", "--ca: /no/such.pem does not exist"), ("--ca /tmp", "--ca: /tmp is a directory"),
        ("--ca /dev/null", "--ca: /dev/null holds no PEM certificate"),
    ])
    func aBadAuthorityFileIsNamedBeforeAnyCall(flags: String, message: String) async throws {
        let result = try await run("call wss://h/ \(flags)")
        #expect(result.code == .badInput && result.error == "error: \(message)\n")
    }

    @Test(arguments: [
        ("/no/such.pem", "/dev/null", "--cert: /no/such.pem does not exist"),
        ("/dev/null", "/no/such.key", "--cert-key: /no/such.key does not exist"),
        ("/dev/null", "/dev/null", "--cert: /dev/null holds no PEM certificate"),
    ])
    func aBadServerIdentityIsNamed(certificate: String, key: String, message: String) async throws {
        let result = try await run("serve --cert \(certificate) --cert-key \(key)")
        #expect(result.code == .badInput && result.error == "error: \(message)\n")
    }

    @Test func theFarEndsHangUpIsSaidAndNoFault() async throws {
        let calls = ScriptedCalls(change: { $0.ending = .init(by: .remote, afterMilliseconds: 3_210) })
        let result = try await run("call wss://h/", calls)
        #expect(result.code == .good)
        #expect(result.output.contains("the far end hung up after 3.2 s") && result.output.contains("verdict: good"))
        let report = try json(try await run("call wss://h/ --json -", calls).output)
        #expect(report["call"]?["ended"]?["by"] == "remote" && report["call"]?["ended"]?["after_ms"] == .integer(3_210))
    }

    @Test func aCallThatBrokeOffIsPoor() async throws {
        let calls = ScriptedCalls(change: { call in
            call.ending = .init(by: .failed, afterMilliseconds: 12_000)
            call.outcome = ["outcome": "ended", "reason": "failed", "error": "The media path was lost."]
        })
        let result = try await run("call wss://h/", calls)
        #expect(result.code == .poor)
        #expect(result.output.contains("call_lost: The media path was lost."))
    }

    @Test func withoutARoundTripOfThePathTheLinesIsJudged() async throws {
        let slow: @Sendable (inout CallResult) -> Void = { call in
            call.media.rtt = .init()
            call.setup.rtt = 200
        }
        let result = try await run("call wss://h/", ScriptedCalls(change: slow))
        #expect(result.code == .poor && result.output.contains("rtt_high") && result.output.contains("200.0 ms"))
    }

    @Test func aShortCallIsNotDegradedByItsFirstSecond() async throws {
        let calls = ScriptedCalls(change: { call in
            call.returned?.levels.correlation = 0.9
            call.returned?.levels.frameCount = 120
            call.returned?.levels.presentShare = 0.96
            call.returned?.levels.missingCount = 4
        })
        #expect(try await run("call wss://h/ --fail-on warn", calls).code == .good)
        let longer = ScriptedCalls(change: { call in
            calls.change(&call)
            call.returned?.levels.frameCount = 300
            call.returned?.levels.missingCount = 12
        })
        let result = try await run("call wss://h/", longer)
        #expect(result.output.contains("explain: level_mismatch, frames_missing"))
    }

    @Test func percentilesAreOfTheSamples() {
        let samples = CallResult.Percentiles((1...100).map(Double.init).reversed())
        #expect(samples.minimum == 1 && samples.p50 == 50 && samples.p95 == 95 && samples.maximum == 100)
        #expect(samples.average == 50.5 && CallResult.Percentiles([]) == CallResult.Percentiles())
    }

    @Test func aPairWithoutATimeOfNominationIsNotCalledMissing() async throws {
        let report = try json(try await run("call wss://h/ --json -").output)
        #expect(report["ice"]?["pair"] != .null && report["ice"]?["nominated_ms"] == .null)
        guard case .string(let reason)? = report["ice"]?["unknown_because"]?["nominated_ms"] else {
            throw ProbeError.internalFailure("no reason")
        }
        #expect(!reason.contains("no pair"))
        #expect(report["call"]?["unknown_because"]?["snapshot"] != nil)
    }

    @Test func aCallTooShortForAMarkerIsNotCalledGood() async throws {
        let calls = ScriptedCalls(change: { $0.returned?.marker = .init(expected: 0, heard: 0, positions: []) })
        let result = try await run("call wss://h/", calls)
        #expect(result.code == .good && result.output.contains("verdict: too short to tell · explain: too_short"))
        #expect(try await run("call wss://h/ --fail-on warn", calls).code == .warned)
    }

    @Test func audioThatCannotBeJudgedIsNoBadNetwork() async throws {
        let level = ScriptedCalls(change: { call in
            call.returned?.levels.correlation = nil
            call.returned?.levels.levelVaries = false
        })
        let result = try await run("call wss://h/", level)
        #expect(result.output.contains("verdict: good"))
        #expect(result.output.contains("audio_unsuitable: cannot be judged: the audio's level does not vary"))
        let hidden = ScriptedCalls(change: { call in
            call.returned?.hidesMarkers = true
            call.returned?.marker.heard = 0
        })
        #expect(try await run("call wss://h/", hidden).output.contains("verdict: good"))
        #expect(try await run("check", hidden).code == .good)
    }

    private static let late: TimerLateness = {
        var lateness = TimerLateness()
        lateness.note(.milliseconds(150))
        return lateness
    }()

    @Test func aBusyMachineIsSaidInsteadOfBlamingTheNetwork() async throws {
        let calls = ScriptedCalls(change: { call in
            call.media.timerLateness = Self.late
            call.media.jitter = 90
            call.media.lost = 35
            call.returned?.marker.heard = 5
        })
        let selfTest = try await run("check", calls)
        #expect(selfTest.code == .internalFailure)
        #expect(selfTest.output.contains("explain: machine_busy") && !selfTest.output.contains("another network"))
        #expect(selfTest.output.contains("timers came up to 150 ms late"))
        // What was late and spoilt nothing is not mentioned.
        let fine = ScriptedCalls(change: { $0.media.timerLateness = Self.late })
        #expect(try await run("check --fail-on warn", fine).code == .good)
        // Over a network lost packets stay lost.
        let call = try await run("call wss://example.org/", calls)
        #expect(call.output.contains("explain: machine_busy, loss_high"))
    }

    @Test func aFewTicksThatAreALittleLateAreNoBusyMachine() {
        var lateness = TimerLateness()
        for tick in 0..<100 { lateness.note(.milliseconds(tick < 4 ? 25 : 1)) }
        #expect(!lateness.isBusy(withoutNetwork: false) && lateness.worst == 25)
        #expect(lateness.isBusy(withoutNetwork: true))
        var punctual = TimerLateness()
        for _ in 0..<100 { punctual.note(.milliseconds(15)) }
        #expect(!punctual.isBusy(withoutNetwork: true))
        for _ in 0..<2 { lateness.note(.milliseconds(20)) }
        #expect(lateness.isBusy(withoutNetwork: false))
    }

    @Test func badInputIsOneLineAndNoCall() async throws {
        let result = try await run("call wss://h/ --audio /dev/null")
        #expect(result.code == .badInput)
        #expect(result.error == "error: /dev/null is empty\n")
    }

    @Test func theTimeoutEndsACallThatHangs() async throws {
        let result = try await run("call wss://h/ --timeout 0.05 --json -", ScriptedCalls(hangs: true))
        #expect(result.code == .timedOut)
        #expect(try json(result.output)["aborted"] == .bool(true))
    }

    @Test func whatWasStoppedWhileConnectingSaysHowFarItHadCome() async throws {
        let result = try await run("call wss://h/ --timeout 0.05", ScriptedCalls(hangs: true))
        #expect(result.output.contains("timed_out: looking up and connecting to the server"))
        #expect(!result.output.contains("packets") && !result.output.contains("not_active"))
        let selfTest = try await run("check --timeout 0.05", ScriptedCalls(hangs: true))
        #expect(selfTest.code == .timedOut)
        #expect(!selfTest.output.contains("UNEXPECTED") && !selfTest.output.contains("Report it"))
        #expect(selfTest.output.contains("\n      webrtc: looking up and connecting"))
        #expect(selfTest.output.split(separator: "\n").allSatisfy { $0.count <= 100 })
    }

    @Test func theStageIsTheFirstThingThatHadNotHappened() {
        var call = CallResult(name: "call")
        var stages = [call.stage]
        let steps: [(inout CallResult) -> Void] = [
            { $0.setup.tcp = 1 }, { $0.setup.tls = 2 }, { $0.setup.hello = 3 }, { $0.setup.welcome = 4 },
            { $0.setup.firstCheck = 5 }, { $0.setup.ice = 6 }, { $0.setup.dtls = 7 }, { $0.transport = .webrtc },
            { $0.setup.active = 8 },
        ]
        for step in steps {
            step(&call)
            stages.append(call.stage)
        }
        #expect(Set(stages).count == steps.count + 1)
        #expect(stages[1].contains("TLS") && stages[3].contains("welcome") && stages[6].contains("DTLS"))
    }

    @Test func theRecordingIsWritten() async throws {
        let record = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).wav").path
        defer { try? FileManager.default.removeItem(atPath: record) }
        _ = try await run("call wss://h/ --record \(record)")
        #expect(try WAVFile.read(path: record).callSamples == [1, 2, 3])
    }

    @Test func eventsComeAsTheyHappenAndEndWithTheVerdict() async throws {
        let text = try await run("call wss://call.example.org/ --ndjson - --redact full").output
        let lines = try text.split(separator: "\n").map { try json(String($0)) }
        #expect(lines.map { $0["event"] } == ["begin", "state", "transport", "call", "end"])
        #expect(lines[0]["schema"] == "graine.probe.events/1" && lines[0]["target"] == "wss://<host-1>/")
        #expect(lines[1]["call"] == "call" && lines[1]["state"] == "connecting")
        #expect(lines[2]["transport"] == "webrtc" && lines[2]["transportFallbackReason"] == .null)
        #expect(lines[3]["result"]?["name"] == "call")
        #expect(lines[4]["verdict"]?["level"] == "good" && lines[4]["aborted"] == .bool(false))
        #expect(!text.contains("example.org"))
    }

    /// What was written before the timeout is in the file while the call still hangs, and the end follows.
    @Test func eventsAreInTheirFileBeforeTheCallIsOver() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).jsonl").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data("old\n".utf8).write(to: URL(fileURLWithPath: path))
        let seen = Mutex("")
        let calls = ScriptedCalls(hangs: true) {
            seen.withLock { $0 = (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
        }
        let result = try await run("call wss://h/ --timeout 0.05 --quiet --ndjson \(path)", calls)
        #expect(result.code == .timedOut)
        let early = try seen.withLock { $0 }.split(separator: "\n").map { try json(String($0))["event"] }
        #expect(early == ["begin", "state"])
        let whole = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map {
            try json(String($0))
        }
        #expect(whole.map { $0["event"] } == ["begin", "state", "call", "end"])
        #expect(whole.last?["aborted"] == .bool(true))
    }

    @Test func aFileThatCannotBeWrittenIsSeventyOneBeforeAnyCall() async throws {
        let result = try await run("call wss://h/ --ndjson /no/such/folder/e.jsonl")
        #expect(result.code == .resource)
    }

    @Test func aProxyThatWasAskedForIsUsageAndOneNobodyAskedForIsSaid() async throws {
        #expect(try await run("call wss://h/ --proxy http://p:1").code == .usage)
        let proxied = ["https_proxy": "http://p:1"]
        #expect(try await run("call wss://h/ --proxy env", environment: proxied).code == .usage)
        #expect(try await run("call wss://h/ --proxy env").code == .good)
        let note = "https_proxy is set; a proxy is not supported yet, the call goes without\n"
        #expect(try await run("call wss://h/", environment: proxied).error.contains(note))
        #expect(try await run("call wss://h/ --proxy none", environment: proxied).error.contains("proxy") == false)
        #expect(try await run("call wss://127.0.0.1:1/", environment: proxied).error.contains("proxy") == false)
        #expect(try await run("check", environment: proxied).error.contains("proxy") == false)
    }

    @Test func theSelfTestFitsOneScreen() async throws {
        let lines = try await run("check").output.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 30)
        #expect(lines.allSatisfy { $0.count <= 100 })
    }

    @Test func redactionKeepsClassAndEquality() {
        let redactor = Redactor(.full, hosts: ["call.example.org"])
        #expect(
            redactor.text("10.0.0.7:5 to call.example.org, 10.0.0.7 and 100.64.0.1, fe80::1, 8.8.8.8.")
                == "<ipv4-private-2>:5 to <host-1>, <ipv4-private-2> and <ipv4-cgnat-3>, <ipv6-link-local-4>, <ipv4-public-5>."
        )
        #expect(redactor.text("took 12:30:04 for 1.5") == "took 12:30:04 for 1.5")
        #expect(Redactor(.none, hosts: []).text("http://u:p@proxy:1/ 10.0.0.7") == "http://***@proxy:1/ 10.0.0.7")
        #expect(Redactor(.partial, hosts: []).text("10.0.0.7 8.8.8.8") == "10.0.0.7 <ipv4-public-1>")
    }
}

@Suite struct ReasonCatalogueTests {
    @Test func everyFallbackReasonOfTheCallLineIsExplained() {
        let words = [
            "module_missing", "agent_standard", "server_unsupported", "server_declined", "answer_invalid",
            "no_candidates", "udp_blocked", "ice_no_response", "ice_rejected", "dtls_timeout", "dtls_failed",
            "dtls_fingerprint_mismatch", "srtp_profile_mismatch", "media_timeout", "setup_timeout", "recovery_failed",
            "server_requested", "internal_error",
        ]
        #expect(ReasonCatalogue.fallbacks.map(\.code) == words)
        #expect(Set(ReasonCatalogue.all.map(\.code)).count == ReasonCatalogue.all.count)
    }

    @Test func anUnknownCodeNamesTheNearest() {
        #expect(throws: ProbeError.usage("unknown code \"udp_bloked\"; did you mean udp_blocked?")) {
            try ReasonCatalogue.explain("udp_bloked")
        }
    }
}
