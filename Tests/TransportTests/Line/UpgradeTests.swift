import ICELite
import Testing
import Transport

@Suite("Line: upgrade") struct LineUpgradeTests {
    private let good = [
        "GET /call HTTP/1.1", "Host: voice.example", "Upgrade: websocket", "Connection: keep-alive, Upgrade",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Protocol: graine.call.v1",
    ]

    private func text(_ lines: [String]) -> [UInt8] { Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) }
    private func request(_ lines: [String]) -> UpgradeRequest.Parsed { UpgradeRequest.parse(text(lines).span.bytes) }
    private func status(_ bytes: [UInt8]) -> Int? {
        switch UpgradeRequest.parse(bytes.span.bytes) {
        case .bad(let refusal): refusal.status
        case .request: 101
        case .needMore: nil
        }
    }
    private func replaced(_ index: Int, _ line: String) -> [String] {
        var lines = good
        lines[index] = line
        return lines
    }

    @Test("Sec-WebSocket-Accept is that of RFC 6455 section 1.3")
    func accept() {
        #expect(UpgradeRequest.accept(for: "dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }

    @Test("A good request is read, in any case and with optional white space")
    func goodRequest() {
        let bytes = text(good)
        guard case .request(let request, let count) = UpgradeRequest.parse((bytes + [1, 2]).span.bytes) else {
            Issue.record("refused")
            return
        }
        #expect(count == bytes.count)
        #expect(request.path == "/call" && request.key == nil && request.origin == nil)
        let odd = [
            "GET / HTTP/1.1", "hOST:x", "UPGRADE:\tWebSocket ", "connection: UPGRADE",
            "Sec-WebSocket-Key:dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version:  13",
            "Sec-WebSocket-Protocol: other, graine.call.v1", "Content-Length: 0", "Authorization: bearer  abc",
        ]
        guard case .request(let other, _) = self.request(odd) else {
            Issue.record("refused")
            return
        }
        #expect(other.key == "abc")
    }

    @Test("A key may come as a subprotocol, base64url of UTF-8")
    func subprotocolKey() {
        func read(_ word: String) -> UpgradeRequest? {
            guard
                case .request(let request, _) = request(replaced(6, "Sec-WebSocket-Protocol: graine.call.v1, \(word)"))
            else { return nil }
            return request
        }
        let key = "gk_ü-1"
        let browser = read("graine.key." + Base64.encodeURL(Array(key.utf8)))
        #expect(browser?.key == key && browser?.keyFromSubprotocol == true)
        for word in ["graine.key.", "graine.key.A", "graine.key.a+b", "graine.key._w"] {
            #expect(read(word)?.key == nil)
            #expect(read(word)?.keyFromSubprotocol == true)
        }
        #expect(read("graine.keys")?.keyFromSubprotocol == false)
    }

    @Test("What could be read in two ways is refused")
    func smuggling() {
        let wrong: [([String], Int)] = [
            (good + ["Content-Length: 5"], 400), (good + ["Content-Length: 0", "Content-Length: 5"], 400),
            (good + ["Content-Length: 5", "Content-Length: 5"], 400), (good + ["Content-Length: 0, 0"], 400),
            (good + ["Content-Length: +0"], 400), (good + ["Transfer-Encoding: chunked"], 400),
            (good + ["Transfer-Encoding:"], 400), (good + ["Transfer-Encoding: ,"], 400),
            (good + ["Transfer-Encoding : chunked"], 400), (good + [" folded: yes"], 400), (good + ["\tfold"], 400),
            (good + ["no colon"], 400), (good + [": empty"], 400), (good + ["na me: x"], 400),
            (good + ["Naïve: x"], 400), (good + ["X: a\u{0}b"], 400), (good + ["X: a\u{1B}[2J"], 400),
            (good + ["X: a\rb"], 400), (good + ["X: a\nTransfer-Encoding: chunked"], 400),
            (good + ["X: a\r\r\nY: b"], 400), (good + ["Host: other"], 400),
            (good + ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="], 400),
            (good + ["Authorization: Bearer a", "Authorization: Bearer b"], 400),
            (good + ["Origin: https://a", "Origin: https://b"], 400),
            (good + ["Authorization: Bearer \(String(repeating: "k", count: 4_097))"], 400),
            (good + [String](repeating: "X: y", count: 101), 400),
            (replaced(0, "GET  /call HTTP/1.1"), 400), (replaced(0, "GET /call HTTP/1.0"), 400),
            (replaced(0, "GET /call HTTP/1.1 "), 400), (replaced(0, " GET /call HTTP/1.1"), 400),
            (replaced(0, "GET http://a/call HTTP/1.1"), 400), (replaced(0, "GET /a\tb HTTP/1.1"), 400),
            (replaced(0, "GET /ü HTTP/1.1"), 400), (replaced(0, "GET /call"), 400), (replaced(0, ""), 400),
            (replaced(0, "POST /call HTTP/1.1"), 405), (replaced(0, "get /call HTTP/1.1"), 405),
            (replaced(1, "X: y"), 400), (replaced(2, "Upgrade: h2c"), 426), (replaced(3, "Connection: close"), 426),
            (replaced(4, "Sec-WebSocket-Key: dGhl"), 400),
            (replaced(4, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ"), 400),
            (replaced(5, "Sec-WebSocket-Version: 8"), 426), (replaced(5, "Sec-WebSocket-Version: 13, 8"), 426),
            (replaced(6, "Sec-WebSocket-Protocol: graine.call.v2"), 400), (Array(good.dropLast()), 400),
        ]
        for (lines, code) in wrong { #expect(status(text(lines)) == code, "\(lines)") }
        #expect(status(text(good + ["X: " + String(repeating: "y", count: 17_000)])) == 431)
        #expect(status([UInt8](repeating: 0x41, count: 16_385)) == 431)
        #expect(status([UInt8](repeating: 0x41, count: 16_384)) == nil)
    }

    @Test("Cut short anywhere it waits; changed, it never traps", arguments: 0..<10)
    func requestInputs(seed: UInt64) {
        let bytes = text(good + ["Authorization: Bearer abc", "Origin: https://a"])
        if seed == 0 {
            for length in 0..<bytes.count {
                #expect(UpgradeRequest.parse(Array(bytes[..<length]).span.bytes) == .needMore)
            }
        }
        var randomness = Randomness.seeded(seed)
        for _ in 0..<200 { _ = UpgradeRequest.parse(mutated(bytes, &randomness).span.bytes) }
        for _ in 0..<100 { _ = UpgradeRequest.parse((randomness.bytes(60) + Array("\r\n\r\n".utf8)).span.bytes) }
    }

    // MARK: The client

    private func client() throws -> UpgradeClient {
        UpgradeClient(
            url: try CallLineURL("wss://voice.example/call"), key: nil, origin: nil,
            nonce: Array("the sample nonce".utf8))
    }

    private let switching = [
        "HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade",
        "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "Sec-WebSocket-Protocol: graine.call.v1",
    ]

    @Test("The request is what the server reads")
    func clientRequest() throws {
        let sent = String(decoding: try client().request(), as: UTF8.self)
        #expect(sent.hasPrefix("GET /call HTTP/1.1\r\nHost: voice.example\r\n"))
        #expect(sent.contains("\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"))
        guard case .request = UpgradeRequest.parse(Array(sent.utf8).span.bytes) else {
            Issue.record("refused")
            return
        }
    }

    @Test("A 101 is taken only whole and right; interim answers before it are read over")
    func clientAccepts() throws {
        let client = try client()
        let bytes = text(switching)
        #expect(client.parse(bytes.span.bytes) == .accepted(byteCount: bytes.count))
        for length in 0..<bytes.count { #expect(client.parse(Array(bytes[..<length]).span.bytes) == .needMore) }
        let hints = text(["HTTP/1.1 103 Early Hints", "Link: </a>"])
        #expect(client.parse((hints + bytes).span.bytes) == .accepted(byteCount: hints.count + bytes.count))
        #expect(client.parse(hints.span.bytes) == .needMore)
        let endless = Array([[UInt8]](repeating: hints, count: 9).joined())
        guard case .refused = client.parse(endless.span.bytes) else {
            Issue.record("endless hints")
            return
        }
        for index in switching.indices {
            var lines = switching
            lines[index] = index == 0 ? "HTTP/1.0 101 Switching" : "X: y"
            guard case .refused(let refusal) = client.parse(text(lines).span.bytes) else {
                Issue.record("taken without \(switching[index])")
                continue
            }
            #expect(refusal.code == .refused && refusal.status == 101)
        }
        for extra in [
            "Sec-WebSocket-Extensions: permessage-deflate", "Sec-WebSocket-Protocol: graine.call.v1",
            "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
        ] {
            guard case .refused = client.parse(text(switching + [extra]).span.bytes) else {
                Issue.record("taken with \(extra)")
                continue
            }
        }
    }

    @Test(
        "A status is a typed refusal",
        arguments: [
            (301, RefusalCode.refused), (302, .refused), (307, .refused), (308, .refused), (200, .refused),
            (400, .refused), (401, .invalidKey), (403, .originRefused), (404, .notFound), (407, .network),
            (429, .rateLimited), (500, .refused), (503, .unavailable),
        ])
    func statuses(status: Int, code: RefusalCode) throws {
        let answer = text(["HTTP/1.1 \(status) Words here", "Location: https://elsewhere", "Retry-After: 9"])
        guard case .refused(let refusal) = try client().parse(answer.span.bytes) else {
            Issue.record("not refused")
            return
        }
        #expect(refusal.code == code && refusal.status == status)
        #expect(refusal.retryAfterSeconds == ((300...399).contains(status) ? nil : 9))
    }

    @Test("A body is read, bounded and fit for a log; the Retry-After header wins over it")
    func body() throws {
        func refusal(_ json: String, _ extra: [String] = []) throws -> LineRefusal? {
            let head =
                ["HTTP/1.1 429 x", "Content-Type: application/json", "Content-Length: \(json.utf8.count)"] + extra
            guard case .refused(let refusal) = try client().parse((text(head) + Array(json.utf8)).span.bytes) else {
                return nil
            }
            return refusal
        }
        let json = #"{"code":"rate_limited","message":"slow\r\ndown","retryAfterSeconds":30}"#
        #expect(try refusal(json)?.retryAfterSeconds == 30)
        #expect(try refusal(json)?.message == "slow  down")
        #expect(try refusal(json, ["Retry-After: 4"])?.retryAfterSeconds == 4)
        #expect(try refusal(json, ["Retry-After: Wed, 21 Oct 2015 07:28:00 GMT"])?.retryAfterSeconds == 30)
        #expect(try refusal(json, ["Retry-After: 99999999"])?.retryAfterSeconds == 86_400)
        #expect(try refusal(json, ["Retry-After: -4"])?.retryAfterSeconds == 0)
        let standing = "The conversation was refused (429)."
        for broken in ["{", "[]", #"{"retryAfterSeconds":1e999}"#, String(repeating: "[", count: 10_000)] {
            #expect(try refusal(broken)?.message == standing)
        }
        let long = #"{"message":"\#(String(repeating: "m", count: 900))"}"#
        #expect(try refusal(long)?.message.count == LineRefusal.maximumMessageLength)
    }

    @Test("What is no HTTP is refused, and changed bytes never trap", arguments: 0..<10)
    func responseInputs(seed: UInt64) throws {
        let client = try client()
        for line in [
            "SSH-2.0-x", "HTTP/2 101 x", "HTTP/1.1 +101 x", "HTTP/1.1 1010 x", "HTTP/1.1 099 x", "HTTP/1.1", "",
        ] {
            guard case .refused(let refusal) = client.parse(text([line] + switching.dropFirst()).span.bytes) else {
                Issue.record("taken: \(line)")
                continue
            }
            #expect(refusal.code == .refused)
        }
        var randomness = Randomness.seeded(seed)
        let bytes = text(switching)
        for _ in 0..<200 { _ = client.parse(mutated(bytes, &randomness).span.bytes, isWhole: seed % 2 == 0) }
    }
}
