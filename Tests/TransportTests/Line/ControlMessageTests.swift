import Foundation
import ICELite
import Testing

@testable import TransportLine

@Suite struct ControlMessageTests {
    static let audio = ControlMessage.AudioDescription(
        codecs: ["opus/48000/2"], payloadTypes: ["red/48000/2": 63, "opus/48000/2": 111], ssrc: 4_294_967_295,
        red: [1, 2])
    static let audioText =
        #"{"codecs":["opus/48000/2"],"payload_types":{"opus/48000/2":111,"red/48000/2":63},"ssrc":4294967295,"#
        + #""ptime":20,"red":[1,2]}"#

    /// Every message with the text it must be, byte for byte.
    static let golden: [(ControlMessage, String)] = [
        (
            .hello(
                .init(
                    callID: "call_1", preference: "auto", prepare: true, transports: ["websocket", "webrtc"],
                    client: .init(sdk: "swift", version: "1.2", appVersion: "3", platform: "linux"), audio: audio,
                    livenessMilliseconds: 600, webrtc: .init(sdp: "v=0\r\n", dtls: [[0x16, 0xFE, 0xFD]]),
                    application: ["b": .array([.integer(1), .null, .bool(true)]), "a": .string("x\"\\\u{1}\n")])),
            #"{"type":"transport.hello","version":1,"call_id":"call_1","preference":"auto","prepare":true,"#
                + #""transports":["websocket","webrtc"],"client":{"sdk":"swift","version":"1.2","app_version":"3","#
                + #""platform":"linux"},"audio":"# + audioText + #","liveness_ms":600,"#
                + #""webrtc":{"sdp":"v=0\r\n","dtls":["Fv79"]},"#
                + #""application":{"a":"x\"\\\u0001\n","b":[1,null,true]}}"#
        ),
        (
            .hello(.init(callID: "c", resume: .init(token: "t", received: 7, epoch: 2))),
            #"{"type":"transport.hello","version":1,"call_id":"c","resume":{"token":"t","received":7,"epoch":2}}"#
        ),
        (
            .welcome(
                .init(
                    session: "s", resume: "t", callAudio: "auto", audio: audio, livenessMilliseconds: 500,
                    iceServers: [.init(urls: ["turn:t.example"], username: "u", credential: "c", ttlSeconds: 60)],
                    webrtc: .init(sdp: "v=0"), serverSPKI: ["abc"])),
            #"{"type":"transport.welcome","version":1,"session":"s","resume":"t","call_audio":"auto","audio":"#
                + audioText + #","liveness_ms":500,"ice_servers":[{"urls":["turn:t.example"],"username":"u","#
                + #""credential":"c","ttl_s":60}],"webrtc":{"sdp":"v=0"},"server_spki":["abc"]}"#
        ),
        (
            .welcome(
                .init(
                    session: "s", audio: audio, webrtcDeclined: .init(word: "busy", detail: "d"), received: 3, epoch: 4,
                    transport: "webrtc", bridge: .init(client: true, server: false))),
            #"{"type":"transport.welcome","version":1,"session":"s","call_audio":"auto","audio":"# + audioText
                + #","webrtc_declined":{"word":"busy","detail":"d"},"received":3,"epoch":4,"transport":"webrtc","#
                + #""bridge":{"client":true,"server":false}}"#
        ),
        (
            .candidate(.init(candidate: "candidate:1 1 udp 1 192.0.2.1 9 typ host", ufrag: "u")),
            #"{"type":"transport.candidate","candidate":"candidate:1 1 udp 1 192.0.2.1 9 typ host","ufrag":"u"}"#
        ),
        (
            .candidate(.init(candidate: nil, ufrag: "u")),
            #"{"type":"transport.candidate","end_of_candidates":true,"ufrag":"u"}"#
        ),
        (
            .dtls(.init(datagrams: [[1], [2, 3]], ufrag: "u")),
            #"{"type":"transport.dtls","datagrams":["AQ==","AgM="],"ufrag":"u"}"#
        ),
        (
            .select(.init(epoch: 1, transport: "webrtc")),
            #"{"type":"transport.select","epoch":1,"transport":"webrtc","fallback":null,"heard_to":null}"#
        ),
        (
            .select(
                .init(
                    epoch: 2, transport: "websocket",
                    fallback: .init(reason: "udp_blocked", stage: "checks", elapsedMilliseconds: 3_000, detail: "111"),
                    heardTo: 65_540)),
            #"{"type":"transport.select","epoch":2,"transport":"websocket","fallback":{"reason":"udp_blocked","#
                + #""stage":"checks","elapsed_ms":3000,"detail":"111"},"heard_to":65540}"#
        ),
        (.selected(.init(epoch: 2, heard: true)), #"{"type":"transport.selected","epoch":2,"heard":true}"#),
        (.bridge(.init(on: true, epoch: 2)), #"{"type":"transport.bridge","on":true,"epoch":2}"#),
        (.restart(.init(ufrag: "u", sdp: "v=0")), #"{"type":"transport.restart","ufrag":"u","sdp":"v=0"}"#),
        (.restarted(.init(ufrag: "u", sdp: "v=0")), #"{"type":"transport.restarted","ufrag":"u","sdp":"v=0"}"#),
        (.restartNeeded, #"{"type":"transport.restart_needed"}"#),
        (
            .fallback(.init(word: "policy", detail: "d")),
            #"{"type":"transport.fallback","word":"policy","detail":"d"}"#
        ),
        (.check, #"{"type":"transport.check"}"#),
        (.flush(.init(stream: "server")), #"{"type":"transport.flush","stream":"server","before":null}"#),
        (.flush(.init(stream: "client", before: 9)), #"{"type":"transport.flush","stream":"client","before":9}"#),
        (
            .flushed(.init(stream: "server", before: 9, playedMilliseconds: 20)),
            #"{"type":"transport.flushed","stream":"server","before":9,"played_ms":20}"#
        ),
        (.mark(.init(id: "m", at: 70_000)), #"{"type":"transport.mark","id":"m","at":70000}"#),
        (.marked(.init(id: "m", played: false)), #"{"type":"transport.marked","id":"m","played":false}"#),
        (.ack(.init(received: 32)), #"{"type":"transport.ack","received":32}"#),
        (.bye(.init(by: "client")), #"{"type":"transport.bye","by":"client"}"#),
        (.bye(.init(by: "failure", message: "m")), #"{"type":"transport.bye","by":"failure","message":"m"}"#),
        (
            .error(.init(code: "rate_limited", message: "m", retryAfterSeconds: 3)),
            #"{"type":"transport.error","code":"rate_limited","message":"m","retry_after_s":3}"#
        ),
    ]

    static func decode(_ text: String) throws(ControlMessageError) -> ControlMessage.Decoded {
        try ControlMessage.decode(Array(text.utf8))
    }

    @Test(arguments: golden) func isWrittenAsItMustBeAndReadBack(message: ControlMessage, text: String) throws {
        #expect(String(decoding: message.encoded(), as: UTF8.self) == text)
        #expect(try Self.decode(text) == .transport(message))
    }

    @Test(arguments: golden) func truncatedOrMutatedNeverTraps(message: ControlMessage, text: String) {
        let bytes = Array(text.utf8)
        for length in 0..<bytes.count {
            #expect(throws: ControlMessageError.notAnObject) { try ControlMessage.decode(Array(bytes.prefix(length))) }
        }
        var random = Randomness.seeded(31)
        for _ in 0..<100 {
            var mutated = bytes
            for _ in 0..<3 {
                mutated[Int.random(in: 0..<mutated.count, using: &random)] = UInt8(truncatingIfNeeded: random.next())
            }
            _ = try? ControlMessage.decode(mutated)
        }
    }

    @Test func sortsTypes() throws {
        #expect(try Self.decode(#"{"a":{"type":1},"type":"caption","text":"x"}"#) == .application(type: "caption"))
        #expect(try Self.decode(#"{"type":"transport.newer","x":[]}"#) == .unknownTransport(type: "transport.newer"))
        #expect(try Self.decode(#"{"type":"transportx"}"#) == .application(type: "transportx"))
    }

    @Test func unknownKeysAndWordsPass() throws {
        #expect(
            try Self.decode(#"{"type":"transport.bye","by":"martian","x":{"y":[1e5]}}"#)
                == .transport(.bye(.init(by: "martian"))))
        #expect(
            try Self.decode(#"{"type":"transport.select","epoch":1,"transport":"quic","fallback":{"reason":"new"}}"#)
                == .transport(
                    .select(
                        .init(
                            epoch: 1, transport: "quic",
                            fallback: .init(reason: "new", stage: "", elapsedMilliseconds: 0)))))
    }

    static let wrong: [(String, ControlMessageError)] = [
        ("", .notAnObject), ("[]", .notAnObject), ("1", .notAnObject), ("null", .notAnObject), (#""x""#, .notAnObject),
        ("{}", .noType), (#"{"type":1}"#, .noType), (#"{"type":null}"#, .noType),
        (#"{"type":"transport.ack"}"#, .missing("received")),
        (#"{"type":"transport.ack","received":null}"#, .missing("received")),
        (#"{"type":"transport.ack","received":"1"}"#, .invalid("received")),
        (#"{"type":"transport.ack","received":-1}"#, .invalid("received")),
        (#"{"type":"transport.ack","received":1.5}"#, .invalid("received")),
        (#"{"type":"transport.ack","received":1e400}"#, .invalid("received")),
        (#"{"type":"transport.ack","received":99999999999999999999999999}"#, .invalid("received")),
        (#"{"type":"transport.select","epoch":4294967296,"transport":"w"}"#, .invalid("epoch")),
        (#"{"type":"transport.selected","epoch":1,"heard":1}"#, .invalid("heard")),
        (#"{"type":"transport.candidate","ufrag":"u"}"#, .missing("candidate")),
        (#"{"type":"transport.candidate","ufrag":"u","end_of_candidates":false}"#, .missing("candidate")),
        (#"{"type":"transport.dtls","ufrag":"u","datagrams":["AQ"]}"#, .invalid("datagrams")),
        (#"{"type":"transport.dtls","ufrag":"u","datagrams":[""]}"#, .invalid("datagrams")),
        (#"{"type":"transport.dtls","ufrag":"u","datagrams":[1]}"#, .invalid("datagrams.0")),
        (
            #"{"type":"transport.hello","version":1,"call_id":"c","preference":"auto","transports":[],"audio":{}}"#,
            .missing("audio.codecs")
        ),
        (
            #"{"type":"transport.hello","version":1,"call_id":"c","preference":"auto","transports":[],"#
                + #""audio":{"codecs":["o"],"payload_types":{"o":128},"ssrc":1}}"#, .invalid("audio.payload_types")
        ),
        (
            #"{"type":"transport.hello","version":1,"call_id":"c","preference":"auto","transports":[],"#
                + #""audio":{"codecs":["o"],"payload_types":{"o":64},"ssrc":1}}"#, .invalid("audio.payload_types")
        ),
        (
            #"{"type":"transport.hello","version":1,"call_id":"c","preference":"auto","transports":[],"#
                + #""audio":{"codecs":["o"],"payload_types":{"o":95},"ssrc":1}}"#, .invalid("audio.payload_types")
        ),
        (
            #"{"type":"transport.hello","version":1,"call_id":"c","preference":"auto","transports":[]}"#,
            .missing("audio")
        ),
        (#"{"type":"transport.hello","version":1,"call_id":""}"#, .invalid("call_id")),
        (#"{"type":"transport.welcome","version":1,"session":"s"}"#, .missing("audio")),
    ]

    @Test(arguments: wrong) func wrongShapesNameTheirField(text: String, error: ControlMessageError) {
        #expect(throws: error) { try Self.decode(text) }
    }

    @Test func boundsHold() {
        let nine = #"["# + Array(repeating: #""AQ==""#, count: 9).joined(separator: ",") + "]"
        #expect(throws: ControlMessageError.invalid("datagrams")) {
            try Self.decode(#"{"type":"transport.dtls","ufrag":"u","datagrams":"# + nine + "}")
        }
        let long = Base64.encode([UInt8](repeating: 1, count: 1_501))
        #expect(throws: ControlMessageError.invalid("datagrams")) {
            try Self.decode(#"{"type":"transport.dtls","ufrag":"u","datagrams":[""# + long + #""]}"#)
        }
        #expect(throws: ControlMessageError.invalid("ufrag")) {
            try Self.decode(
                #"{"type":"transport.candidate","end_of_candidates":true,"ufrag":""#
                    + String(repeating: "u", count: 1_025) + #""}"#)
        }
        #expect(throws: ControlMessageError.notAnObject) {
            try ControlMessage.decode([UInt8](repeating: 0x20, count: LineLimits.maximumTextBytes + 1))
        }
    }

    @Test func depthDuplicatesAndOtherEncodingsDoNotTrap() {
        let deep = String(repeating: "[", count: 100_000)
        #expect(throws: ControlMessageError.notAnObject) { try Self.decode(#"{"type":"x","a":"# + deep) }
        let closed = String(repeating: #"{"a":"#, count: 20_000) + "1" + String(repeating: "}", count: 20_000)
        #expect(throws: ControlMessageError.notAnObject) {
            try Self.decode(#"{"type":"transport.hello","application":"# + closed + "}")
        }
        #expect(throws: Never.self) { try Self.decode(#"{"type":"transport.ack","received":1,"received":2}"#) }
        let wide = #"{"type":"x"}"#.utf8.flatMap { byte -> [UInt8] in [byte, 0] }
        #expect(throws: ControlMessageError.notAnObject) { try ControlMessage.decode(wide) }
        #expect(throws: ControlMessageError.notAnObject) { try ControlMessage.decode([0xFF, 0xFE] + wide) }
        #expect(throws: ControlMessageError.self) {
            try ControlMessage.decode(Array(#"{"type":""#.utf8) + [0xC3, 0x28, 0x22, 0x7D] as [UInt8])
        }
    }

    @Test func closeCodesGoWithTheirWords() {
        #expect(LineErrorCode.messageTooLarge.closeCode == nil)
        #expect(LineErrorCode.badOrder.closeCode?.rawValue == 4_400)
        #expect(LineErrorCode(rawValue: "call_exists")?.closeCode == .callExists)
        #expect(LineRefusal(closeCode: 4_429)?.code == .rateLimited)
        #expect(LineRefusal(closeCode: 4_400) == nil)
    }
}
