import ICELite
import Testing
import Transport

@Suite("Line: control messages") struct LineControlMessageTests {
    private func decode(_ text: String) throws -> ControlMessage.Decoded { try ControlMessage.decode(Array(text.utf8)) }

    private static var hello: Hello {
        var hello = Hello(callID: "c-1")
        hello.preference = "auto"
        hello.transports = ["webrtc", "websocket"]
        hello.client = Hello.Client(sdk: "graine-swift", version: "1.0", appVersion: "2", platform: "linux")
        hello.audio = PayloadType(111).map { LineAudio(opus: $0, ssrc: SSRC(4_294_967_295)) }
        hello.livenessMilliseconds = 5_000
        hello.webrtc = PathDescription(sdp: "v=0\r\na=x/y", dtls: ["Zg=="])
        return hello
    }

    private static var welcome: Welcome {
        var welcome = Welcome()
        welcome.session = "s"
        welcome.callAudio = "standard"
        welcome.webrtcDeclined = Welcome.Declined(word: "busy", detail: "full")
        return welcome
    }

    private static let golden: [(ControlMessage, String)] = [
        (
            .hello(hello),
            #"{"audio":{"codecs":["opus/48000/2"],"payload_types":{"opus/48000/2":111},"ptime":20,"red":[],"#
                + #""ssrc":4294967295},"call_id":"c-1","client":{"app_version":"2","platform":"linux","#
                + #""sdk":"graine-swift","version":"1.0"},"liveness_ms":5000,"preference":"auto","#
                + #""transports":["webrtc","websocket"],"type":"transport.hello","version":1,"#
                + #""webrtc":{"dtls":["Zg=="],"sdp":"v=0\r\na=x/y"}}"#
        ),
        (.hello(Hello(callID: "ü\"")), #"{"call_id":"ü\"","type":"transport.hello","version":1}"#),
        (
            .welcome(welcome),
            #"{"call_audio":"standard","session":"s","type":"transport.welcome","version":1,"#
                + #""webrtc_declined":{"detail":"full","word":"busy"}}"#
        ),
        (
            .candidate(TrickleCandidate(candidate: "candidate:1 1 udp 1 127.0.0.1 9 typ host", ufrag: "u")),
            #"{"candidate":"candidate:1 1 udp 1 127.0.0.1 9 typ host","type":"transport.candidate","ufrag":"u"}"#
        ),
        (
            .candidate(TrickleCandidate(candidate: nil, endOfCandidates: true, ufrag: "u")),
            #"{"end_of_candidates":true,"type":"transport.candidate","ufrag":"u"}"#
        ),
        (
            .select(Select(epoch: 1, transport: .webrtc, fallback: nil, heardTo: 70_000)),
            #"{"epoch":1,"fallback":null,"heard_to":70000,"transport":"webrtc","type":"transport.select"}"#
        ),
        (
            .select(
                Select(
                    epoch: 2, transport: .websocket,
                    fallback: TransportFallback(
                        reason: .noCandidates, stage: .candidates, elapsed: .milliseconds(1_234), detail: "d"))),
            #"{"epoch":2,"fallback":{"detail":"d","elapsed_ms":1234,"reason":"no_candidates","stage":"candidates"},"#
                + #""heard_to":null,"transport":"websocket","type":"transport.select"}"#
        ),
        (.selected(Selected(epoch: 2, heard: true)), #"{"epoch":2,"heard":true,"type":"transport.selected"}"#),
        (.fallback(FallbackRequest(word: "drain")), #"{"type":"transport.fallback","word":"drain"}"#),
        (.bye(Bye(by: "client")), #"{"by":"client","type":"transport.bye"}"#),
        (.bye(Bye(by: "failure", message: "m")), #"{"by":"failure","message":"m","type":"transport.bye"}"#),
        (
            .error(LineError(code: "rate_limited", message: "m", retryAfterSeconds: 3)),
            #"{"code":"rate_limited","message":"m","retry_after_s":3,"type":"transport.error"}"#
        ),
    ]

    @Test("Each message is written as it was agreed, and read back the same")
    func golden() throws {
        for (message, json) in Self.golden {
            #expect(String(decoding: message.encoded(), as: UTF8.self) == json)
            #expect(try decode(json) == .transport(message))
        }
    }

    @Test("Unknown keys, unknown words and unknown types are no error")
    func unknown() throws {
        #expect(
            try decode(#" {"x":{"y":[1,null]},"by":"moon","type":"transport.bye"} "#)
                == .transport(.bye(Bye(by: "moon"))))
        #expect(try decode(#"{"type":"transport.hologram","by":7}"#) == .unknown(type: "transport.hologram"))
        #expect(try decode(#"{"type":"transport."}"#) == .unknown(type: "transport."))
        #expect(try decode(#"{"type":"transports"}"#) == .application(type: "transports"))
        #expect(try decode(#"{"type":"","by":[]}"#) == .application(type: ""))
        #expect(try decode(#"{"type":"caption","words":["a"]}"#) == .application(type: "caption"))
        guard
            case .transport(.select(let select)) = try decode(
                #"{"type":"transport.select","epoch":1,"transport":"pigeon","fallback":{"reason":"new_word","stage":"?"}}"#
            )
        else {
            Issue.record("no select")
            return
        }
        #expect(select.transport == "pigeon" && select.heardTo == nil)
        #expect(select.fallback?.fallback.reason == .unknown("new_word"))
        #expect(select.fallback?.fallback.stage == .checks)
    }

    @Test(
        "A wrong shape is an error that names the field and holds none of the content",
        arguments: [
            (#"{"type":"transport.hello","version":1}"#, "call_id"),
            (#"{"type":"transport.hello","call_id":"secret"}"#, "version"),
            (#"{"type":"transport.hello","version":"secret","call_id":"c"}"#, "version"),
            (#"{"type":"transport.hello","version":1,"call_id":null}"#, "call_id"),
            (#"{"type":"transport.hello","version":1,"call_id":"c","webrtc":{"dtls":[]}}"#, "webrtc.sdp"),
            (
                #"{"type":"transport.hello","version":1,"call_id":"c","webrtc":{"sdp":"","dtls":["a",2]}}"#,
                "webrtc.dtls"
            ),
            (
                #"{"type":"transport.hello","version":1,"call_id":"c","audio":{"codecs":[],"payload_types":{},"ssrc":-1}}"#,
                "number"
            ),
            (
                #"{"type":"transport.hello","version":1,"call_id":"c","audio":{"codecs":[],"payload_types":{},"ssrc":4294967296}}"#,
                "number"
            ),
            (#"{"type":"transport.selected","epoch":1,"heard":1}"#, "heard"),
            (#"{"type":"transport.select","epoch":1e999,"transport":"webrtc"}"#, ""),
            (#"{"type":"transport.select","epoch":99999999999999999999999,"transport":"webrtc"}"#, "number"),
            (#"{"type":"transport.select","epoch":1.5,"transport":"webrtc"}"#, "number"),
            (#"{"type":"transport.bye"}"#, "by"), (#"{"type":7}"#, "type"), (#"{"type":null}"#, "type"), ("{}", "type"),
            ("[]", ""), ("7", ""), ("null", ""), ("", ""), ("{", ""), (#"{"type":"a"}x"#, ""),
            (#"{'type':'a'}"#, ""), ("\u{0}", ""), (#""transport.bye""#, ""),
        ])
    func wrongShapes(text: String, field: String) {
        do {
            let decoded = try decode(text)
            Issue.record("read as \(decoded): \(text)")
        } catch {
            let words = "\(error)"
            #expect(words.contains(field), "\(words)")
            #expect(!words.contains("secret"))
        }
    }

    @Test("A key of the peer's choosing does not fill the error")
    func longKey() {
        let key = String(repeating: "k", count: 5_000)
        let text =
            #"{"type":"transport.hello","version":1,"call_id":"c","audio":{"codecs":[],"payload_types":{"\#(key)":"x"}}}"#
        #expect { try decode(text) } throws: { "\($0)".count < 200 }
    }

    @Test("Deep nesting, huge numbers, doubled keys and lone surrogates do not trap")
    func extremes() {
        for depth in [100, 511, 513, 10_000, 100_000] {
            _ = try? decode(
                #"{"type":"a","x":"# + String(repeating: "[", count: depth) + String(repeating: "]", count: depth) + "}"
            )
            _ = try? decode(String(repeating: #"{"type":"#, count: depth / 2))
        }
        let odd = [
            #"{"type":"a","n":1e99999}"#, #"{"type":"a","n":-0}"#,
            #"{"type":"a","n":\#(String(repeating: "9", count: 9_000))}"#,
            #"{"type":"transport.bye","type":"a","by":"c","by":"d"}"#, #"{"type":"\ud800"}"#, #"{"type":"\u0000"}"#,
            #"{"type":"transport.select","epoch":9223372036854775807,"transport":"w","heard_to":-9223372036854775808}"#,
            "\u{FEFF}{\"type\":\"a\"}",
        ]
        for text in odd { _ = try? decode(text) }
        guard
            case .transport(.select(let select))? = try? decode(
                #"{"type":"transport.select","epoch":1,"transport":"w","fallback":{"reason":"r","elapsed_ms":9223372036854775807}}"#
            )
        else {
            Issue.record("no select")
            return
        }
        #expect(select.fallback?.fallback.elapsed == .seconds(86_400))
    }

    @Test("Cut short it is an error; changed, it never traps", arguments: 0..<8)
    func inputs(seed: UInt64) {
        var randomness = Randomness.seeded(seed)
        for (message, _) in Self.golden {
            let bytes = message.encoded()
            if seed == 0 {
                for length in 0..<bytes.count {
                    #expect(throws: ControlMessage.DecodeError.self) {
                        try ControlMessage.decode(Array(bytes[..<length]))
                    }
                }
            }
            for _ in 0..<30 { _ = try? ControlMessage.decode(mutated(bytes, &randomness)) }
        }
    }

    @Test("Each error word closes with the code that belongs to it, and each refusing code is a refusal")
    func codes() {
        let expected: [LineErrorCode: UInt16?] = [
            .badMessage: 4_400, .badOrder: 4_400, .badVersion: 4_400, .noCommonCodec: 4_400, .invalidKey: 4_401,
            .notFound: 4_404, .helloTimeout: 4_408, .callExists: 4_409, .superseded: 4_410, .rateLimited: 4_429,
            .unavailable: 4_503, .messageTooLarge: nil,
        ]
        for code in LineErrorCode.allCases {
            #expect(code.closeCode?.rawValue == expected[code] ?? nil)
            #expect(code.closeCode?.isAllowedOnWire != false)
        }
        #expect(LineRefusal(closeCode: 4_401)?.code == .invalidKey)
        #expect(LineRefusal(closeCode: 4_404)?.code == .notFound)
        #expect(LineRefusal(closeCode: 4_429)?.httpStatus == 429)
        #expect(LineRefusal(closeCode: 4_503)?.httpStatus == 503)
        for code: UInt16 in [1_000, 1_006, 4_400, 4_408, 4_410] { #expect(LineRefusal(closeCode: code) == nil) }
    }
}
