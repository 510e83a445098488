import Foundation
import ICELite
import Testing
import Transport

@testable import graine_transport_probe

@Suite struct ArgumentParserTests {
    private func parse(_ line: String, _ environment: [String: String] = [:]) throws(ProbeError) -> ProbeOptions {
        try ArgumentParser(environment: environment).parse(line.split(separator: " ").map(String.init))
    }

    private func usage(_ line: String, _ environment: [String: String] = [:]) -> String? {
        do throws(ProbeError) {
            _ = try parse(line, environment)
            return nil
        } catch {
            guard case .usage(let text) = error else { return nil }
            return text
        }
    }

    @Test func nothingMeansTheSelfTest() throws {
        let options = try parse("")
        #expect(options == ProbeOptions())
        #expect(options.command == .check && options.target == nil)
    }

    @Test func aTargetAloneIsChecked() throws {
        #expect(try parse("wss://example.org/call").target == "wss://example.org/call")
        #expect(try parse("example.org:8443").target == "wss://example.org:8443/")
    }

    @Test(arguments: [
        "ws://example.org/", "http://example.org/", "wss://", "wss://u:p@example.org/", "wss://h:0/", "wss://h:70000/",
        "wss://[::1/", "wss://[zz]/",
    ])
    func aBadTargetIsUsage(target: String) {
        #expect(usage("call \(target)") != nil)
    }

    @Test func plainWebSocketIsForLiteralLoopback() throws {
        #expect(try parse("call ws://127.0.0.1:80/").target == "ws://127.0.0.1:80/")
        #expect(try parse("call ws://[::1]:80/").target == "ws://[::1]:80/")
        #expect(usage("call ws://localhost/") != nil)
    }

    @Test func everyFlagHasItsPlace() throws {
        let options = try parse(
            """
            call wss://[::1]:1/ --json - --ndjson e.jsonl --quiet --transport webrtc --timeout 9 --duration 2.5 \
            --seed 7 -6 --bind ::1 --proxy http://p:3128 --insecure --token-file k --redact full \
            --threshold rtt=200,loss=2 --fail-on warn --no-color --audio a.wav --record b.wav \
            --stun stun:a.example,stun:[::1]:5 --without hello-in-offer,early-media
            """.replacing("\n", with: " "))
        #expect(options.json == .standardOutput && options.ndjson == .file("e.jsonl"))
        #expect(options.verbosity == .quiet && options.preference == .webrtc)
        #expect(options.timeout == 9 && options.duration == 2.5 && options.seed == 7)
        #expect(options.family == .v6 && options.bind == ["::1"])
        #expect(options.stun == ["stun:a.example", "stun:[::1]:5"])
        #expect(options.without == [.helloInOffer, .earlyMedia])
        let handshake = HandshakeStep.options(without: options.without)
        #expect(!handshake.helloInOffer && !handshake.earlyMedia)
        #expect(handshake.flightsOnLine && handshake.flightBehindCheck)
        #expect(options.proxy == .url("http://p:3128") && options.proxyIsExplicit)
        #expect(options.insecure && options.key == .file("k") && options.redaction == .full)
        #expect(options.thresholds == Thresholds(rttMilliseconds: 200, jitterMilliseconds: 30, lossPercent: 2))
        #expect(options.failOnWarn && !options.color)
        #expect(options.audio == "a.wav" && options.record == "b.wav")
        #expect(try parse("call --impair loss=1").impairment.packetsUp.lossPercent == 1)
    }

    @Test func aFlagBeatsTheEnvironmentWhichBeatsTheDefault() throws {
        let environment = ["GRAINE_PROBE_TRANSPORT": "websocket", "GRAINE_PROBE_QUIET": "1", "NO_COLOR": "1"]
        #expect(try parse("check", environment).preference == .websocket)
        #expect(try parse("check", environment).verbosity == .quiet)
        #expect(try parse("check", environment).color == false)
        #expect(try parse("check --transport auto", environment).preference == .auto)
        #expect(usage("check", ["GRAINE_PROBE_SEED": "x"])?.hasPrefix("GRAINE_PROBE_SEED") == true)
        #expect(usage("check", ["GRAINE_PROBE_QUIET": "perhaps"]) != nil)
        #expect(try parse("explain", ["GRAINE_PROBE_SEED": "x"]).command == .explain)
    }

    @Test func anUnknownFlagNamesTheNearest() {
        #expect(usage("--jsn x") == "unknown flag --jsn; did you mean --json?")
        #expect(usage("--zzzzzzzzzz") == "unknown flag --zzzzzzzzzz")
        #expect(usage("chekc") == "unknown command \"chekc\"; did you mean check?")
    }

    @Test(arguments: [
        "--json", "--json=", "--quiet=1", "--transport WebRTC", "--timeout 0", "--timeout -1", "--timeout nan",
        "--seed -1", "--bind host", "--proxy socks5://x", "--threshold rtt", "--threshold mos=4", "--fail-on poor",
        "--token secret", "serve --audio x", "explain --seed 1", "schema x", "call wss://h/ extra",
        "--json - --ndjson -",
        "call wss://example.org/ --insecure", "--insecure --ca x", "serve --port 65536", "serve --cert a",
        "call wss://h/ --audio a --record a", "connect wss://h/ --repeat 0", "connect --repeat 10001",
        "connect --audio a",
        "call wss://h/ --repeat 2", "quality wss://h/", "--expect foo=webrtc/none",
        "--expect webrtc=webrtc/what", "explain udp_blocked --json -", "schema --quiet", "serve --json -",
        "call wss://h/ --stun turn:a.example", "call wss://h/ --stun stun:a,", "call wss://h/ --stun a.example:3478",
        "serve --stun stun:a",
        "call wss://h/ --without hello", "call wss://h/ --without hello-in-offer,", "serve --without early-media",
    ])
    func wrongUseIsOneUsageLine(line: String) throws {
        let text = try #require(usage(line))
        #expect(!text.contains("\n") && !text.isEmpty)
    }

    @Test func usageNamesAFlagOnceAndSuggestsTheNearestImpairment() {
        #expect(usage("call --duration -1") == "--duration must be a number from 0 to 86400")
        #expect(usage("call --impair los=5")?.hasSuffix("; did you mean loss?") == true)
        #expect(usage("call --impair qqqqqq=5")?.hasSuffix("blackhole, udp") == true)
    }

    @Test(arguments: [
        "call wss://h/ -4 --bind ::1", "call wss://127.0.0.1/ -6", "call wss://[::1]/ --bind 127.0.0.1",
        "call wss://h/ --bind 0.0.0.0", "call wss://h/ --bind any", "call wss://h/ --bind 10.0.0.1,10.0.0.2",
        "call wss://h/ --bind 10.0.0.1 --impair loss=1", "serve --bind 10.0.0.1,", "serve --bind 224.0.0.1",
        "serve -4",
    ])
    func addressesThatContradictEachOtherAreUsage(line: String) { #expect(usage(line) != nil) }

    @Test func serveTakesSeveralAddressesAndAny() throws {
        #expect(try parse("serve --bind 127.0.0.1,::1").bind == ["127.0.0.1", "::1"])
        #expect(try parse("serve --bind any").bind == ["any"])
        #expect(try parse("serve --bind ::").bind == ["::"])
    }

    /// Help is what people have; a flag it does not name is not there, and one it names must be.
    @Test func helpNamesEveryFlagAndNoOther() throws {
        let lines = HelpText.help.split(separator: "\n")
        let named = lines.filter { $0.hasPrefix("  -") }.map { String($0.dropFirst(2).prefix { $0 != " " }) }
        let available = Flag.all.filter { $0.commands?.contains(where: \.isAvailable) ?? true }
        #expect(named == available.map(\.name) + ["--help", "--version"])
        #expect(Set(named).count == named.count)
        for flag in available {
            let command = flag.commands.map { $0.filter(\.isAvailable) } ?? [.check]
            let text = usage("\(try #require(command.first).rawValue) \(flag.name)")
            #expect(text?.contains("unknown flag") != true && text?.contains("means nothing") != true)
        }
        let commands = lines.filter { line in ProbeCommand.allCases.contains { line.hasPrefix("  \($0.rawValue) ") } }
        #expect(commands.count == ProbeCommand.allCases.filter(\.isAvailable).count)
        #expect(HelpText.help.components(separatedBy: "not in this build").count == 2)
    }

    @Test func helpNamesEveryExitCode() throws {
        let text = try #require(HelpText.help.components(separatedBy: "exit codes\n").last)
        let named = text.matches(of: #/(?:^|\s)(\d+) /#).compactMap { Int32($0.1) }
        #expect(named == ExitCode.allCases.map(\.rawValue).sorted())
    }

    @Test func helpAndVersionWinOverEverything() throws {
        #expect(try parse("call --help").information == .help)
        #expect(try parse("--version").information == .version)
        #expect(HelpText.help.contains("--impair"))
    }

    @Test func theSelfTestsExpectationsCanBeChanged() throws {
        let options = try parse("check --expect udp-dropped=webrtc/none")
        #expect(options.expectations["udp-dropped"] == SelfTest.Expectation(transport: .webrtc, reason: nil))
    }
}
