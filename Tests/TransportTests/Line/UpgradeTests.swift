// The names begin with the id of the case they hold.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Foundation
import ICELite
import Testing

@testable import TransportLine

@Suite struct UpgradeTests {
    static let nonce = "dGhlIHNhbXBsZSBub25jZQ=="

    static func head(_ text: String) throws -> HTTPHead {
        var queue = ByteQueue()
        queue.append(Array(text.utf8))
        var searched = 0
        let parsed = try HTTPHead.parse(queue, searched: &searched)
        return try #require(parsed).head
    }

    static func request(_ edit: (inout [String]) -> Void = { _ in }) -> String {
        var lines = [
            "GET /call?agent=a HTTP/1.1", "Host: agent.example", "Upgrade: websocket", "Connection: Upgrade",
            "Sec-WebSocket-Key: \(nonce)", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Protocol: graine.call.v1",
        ]
        edit(&lines)
        return lines.joined(separator: "\r\n") + "\r\n\r\n"
    }

    @Test func aHeadThatComesByteByByteIsSearchedOnce() throws {
        let bytes = Array(Self.request().utf8)
        var queue = ByteQueue()
        var searched = 0
        for (index, byte) in bytes.enumerated() {
            queue.append(byte)
            let parsed = try HTTPHead.parse(queue, searched: &searched)
            #expect(searched == index + 1)
            #expect((parsed?.byteCount == bytes.count) == (index + 1 == bytes.count))
        }
        // What was searched is not looked at again: here the end is in it.
        let again = try HTTPHead.parse(queue, searched: &searched)
        #expect(again == nil)
    }

    @Test func acceptIsThatOfRFC6455Section1_3() {
        #expect(UpgradeKey.accept(for: Self.nonce) == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }

    struct Answer: Decodable {
        var response: String
        var ok: Bool?
        var result: String?
    }

    /// The cases were made for a client that asks for no subprotocol; ours always does, so the check is told so here.
    @Test(arguments: ["WS-02.json", "WS-05.json"]) func WS02_WS05_answersAreChecked(file: String) throws {
        for answer in try LineFixtures.json(file, as: [Answer].self) {
            let head = try Self.head(answer.response)
            if answer.ok == true {
                try UpgradeResponse.validate(head, webSocketKey: Self.nonce, subprotocol: nil)
                #expect(throws: LineRefusal.self) { try UpgradeResponse.validate(head, webSocketKey: Self.nonce) }
            } else {
                #expect(throws: LineRefusal.self) {
                    try UpgradeResponse.validate(head, webSocketKey: Self.nonce, subprotocol: nil)
                }
            }
        }
    }

    @Test func repeatedAcceptIsRefused() throws {
        let good = String(decoding: UpgradeResponse.accept(webSocketKey: Self.nonce), as: UTF8.self)
        try UpgradeResponse.validate(try Self.head(good), webSocketKey: Self.nonce)
        let twice = good.replacingOccurrences(
            of: "Connection:", with: "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nConnection:")
        let head = try Self.head(twice)
        #expect(throws: LineRefusal.self) { try UpgradeResponse.validate(head, webSocketKey: Self.nonce) }
    }

    /// The case's own result words differ from ours (house style): the status and the code are what counts.
    @Test func WS06_otherAnswersAreTyped() throws {
        let expected: [String: RefusalCode] = [
            "redirect": .refused, "redirect_refused_downgrade": .refused, "not_found": .notFound,
            "rejected": .refused, "retry_after_7": .rateLimited, "retry_after_date": .unavailable,
            "retryable": .refused, "interception": .refused,
        ]
        for answer in try LineFixtures.json("WS-06.json", as: [Answer].self) {
            let client = try LineEnd.client()
            _ = client.output()
            client.receive(Array(answer.response.utf8))
            guard case .refused(let refusal) = client.seen.last else {
                Issue.record("\(answer): \(client.seen)")
                continue
            }
            #expect(client.seen.count == 1 && client.isFinished)
            #expect(refusal.status == UpgradeResponse.status(of: try Self.head(answer.response)))
            if answer.result == "auth" {
                #expect(refusal.code == (refusal.status == 401 ? .invalidKey : .originRefused))
            } else {
                #expect(refusal.code == expected[answer.result ?? ""], "\(answer)")
            }
            if answer.result == "retry_after_7" { #expect(refusal.retryAfterSeconds == 7) }
        }
    }

    @Test func retryAfterDateIsMeasuredFromTheResponsesOwnDate() throws {
        let head = try Self.head(
            "HTTP/1.1 503 x\r\nDate: Wed, 21 Oct 2026 07:27:30 GMT\r\nRetry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\n\r\n"
        )
        #expect(UpgradeResponse.refusal(status: 503, head: head, body: []).retryAfterSeconds == 30)
        #expect(HTTPDate.seconds("Sun, 06 Nov 1994 08:49:37 GMT") == 784_111_777)
        #expect(HTTPDate.seconds("Thu, 01 Jan 1970 00:00:00 GMT") == 0)
        #expect(HTTPDate.seconds("Thu, 29 Feb 2024 00:00:00 GMT") == 1_709_164_800)
        #expect(HTTPDate.seconds("Sunday, 06-Nov-94 08:49:37 GMT") == nil)
    }

    @Test func bodySaysMoreAndTheHeaderWins() throws {
        let body = Array(#"{"code":"rate_limited","message":"Slow down.","retryAfterSeconds":12.2,"x":1}"#.utf8)
        let bare = try Self.head("HTTP/1.1 429 x\r\nContent-Type: application/json; charset=utf-8\r\n\r\n")
        #expect(
            UpgradeResponse.refusal(status: 429, head: bare, body: body)
                == LineRefusal(code: .rateLimited, status: 429, message: "Slow down.", retryAfterSeconds: 13))
        let timed = try Self.head("HTTP/1.1 429 x\r\nRetry-After: 3\r\n\r\n")
        #expect(UpgradeResponse.refusal(status: 429, head: timed, body: body).retryAfterSeconds == 3)
        let huge = try Self.head("HTTP/1.1 429 x\r\nRetry-After: 99999999999999999999999\r\n\r\n")
        #expect(
            UpgradeResponse.refusal(status: 429, head: huge, body: Array(#"{"retryAfterSeconds":1e300}"#.utf8))
                .retryAfterSeconds == LineRefusal.maximumRetryAfterSeconds)
        #expect(UpgradeResponse.refusal(status: 401, head: bare, body: body).code == .invalidKey)
        #expect(UpgradeResponse.refusal(status: 400, head: bare, body: body).code == .rateLimited)
        #expect(UpgradeResponse.refusal(status: 500, head: bare, body: Array("{".utf8)).message.contains("500"))
        #expect(UpgradeResponse.refusal(status: 407, head: bare, body: body).code == .network)
    }

    // MARK: Requests

    @Test func requestRoundTrips() throws {
        let url = try CallLineURL("wss://agent.example:8443/call?a=b")
        let bytes = try #require(
            UpgradeRequest.encode(url: url, key: "s3cret", origin: "https://app.example", webSocketKey: Self.nonce))
        let request = try UpgradeRequest(parsing: try Self.head(String(decoding: bytes, as: UTF8.self)))
        #expect(
            request
                == UpgradeRequest(
                    path: "/call?a=b", host: "agent.example:8443", key: "s3cret", origin: "https://app.example",
                    webSocketKey: Self.nonce))
        #expect(!"\(request)".contains("s3cret") && !"\(request)".contains("a=b"))
    }

    @Test func keyStaysAtHomeWithoutTLS() throws {
        let far = try CallLineURL("ws://agent.example/", allowInsecure: true)
        let near = try CallLineURL("ws://127.0.0.1:9/")
        for (url, sent) in [(far, false), (near, true)] {
            let bytes = try #require(UpgradeRequest.encode(url: url, key: "k", origin: nil, webSocketKey: Self.nonce))
            #expect(String(decoding: bytes, as: UTF8.self).contains("Authorization") == sent)
        }
    }

    @Test(arguments: ["", "a\r\nX: y", "a\0", "é", " a", "a\n"]) func keyThatNoHeaderHoldsIsNotSent(key: String) throws
    {
        let client = try LineEnd.client(key: key)
        client.drain()
        guard case .refused(let refusal) = client.seen.first else {
            Issue.record("\(client.seen)")
            return
        }
        #expect(refusal.code == .invalidKey && client.output().isEmpty)
    }

    @Test func browsersKeyIsReadFromTheSubprotocol() throws {
        let text = Self.request {
            $0[6] = "Sec-WebSocket-Protocol: graine.call.v1, graine.key.\(Base64.encodeURL(Array("kéy".utf8)))"
        }
        let request = try UpgradeRequest(parsing: try Self.head(text))
        #expect(request.key == "kéy" && request.keyFromSubprotocol)
        let padded = Self.request { $0[6] = "Sec-WebSocket-Protocol: graine.call.v1, graine.key.Zg==" }
        #expect(try UpgradeRequest(parsing: try Self.head(padded)).key == nil)
        let answer = String(decoding: UpgradeResponse.accept(webSocketKey: Self.nonce), as: UTF8.self)
        #expect(answer.contains("Sec-WebSocket-Protocol: graine.call.v1\r\n"))
    }

    static let malformed: [(String, Int)] = [
        (request { $0[0] = "POST /call HTTP/1.1" }, 400), (request { $0[0] = "GET /call HTTP/1.0" }, 400),
        (request { $0[0] = "GET  /call HTTP/1.1" }, 400), (request { $0[0] = "GET http://x/ HTTP/1.1" }, 400),
        (request { $0[0] = "GET /call#x HTTP/1.1" }, 400), (request { $0.remove(at: 1) }, 400),
        (request { $0.append("Host: other") }, 400), (request { $0[2] = "Upgrade: h2c" }, 400),
        (request { $0[3] = "Connection: close" }, 400), (request { $0[4] = "Sec-WebSocket-Key: short" }, 400),
        (request { $0.append("Sec-WebSocket-Key: \(nonce)") }, 400),
        (request { $0[5] = "Sec-WebSocket-Version: 8" }, 426),
        (request { $0[6] = "Sec-WebSocket-Protocol: chat" }, 400), (request { $0.remove(at: 6) }, 400),
        (request { $0.append("Content-Length: 5") }, 400), (request { $0.append("Transfer-Encoding: chunked") }, 400),
        (request { $0.append("X : y") }, 400), (request { $0.append(" folded: y") }, 400),
        (request { $0.append("X: a\nY: b") }, 400), (request { $0.append("X: a\rY: b") }, 400),
        (request { $0.append("X: a\0b") }, 400), (request { $0.append(": y") }, 400),
        (request { $0.append("no colon") }, 400),
        (request { $0 += (0..<101).map { "X-\($0): y" } }, 400),
        (request { $0.append("X: " + String(repeating: "x", count: 16_384)) }, 400),
        (
            request {
                $0.append("Authorization: Bearer a"); $0.append("Authorization: Bearer b")
            }, 400
        ),
    ]

    @Test(arguments: malformed) func malformedRequestsAreRefused(text: String, status: Int) {
        let server = LineEnd.server()
        server.receive(Array(text.utf8))
        guard case .refused(let refusal) = server.seen.last else {
            Issue.record("\(server.seen)")
            return
        }
        #expect(refusal.status == status && server.seen.count == 1)
        let response = String(decoding: server.output(), as: UTF8.self)
        #expect(response.hasPrefix("HTTP/1.1 \(status) ") && response.contains("Connection: close"))
        #expect(server.isFinished)
    }

    @Test func endlessHeadIsRefusedAtItsLimit() {
        let server = LineEnd.server()
        for _ in 0..<17 where server.seen.isEmpty { server.receive([UInt8](repeating: 0x61, count: 1_024)) }
        guard case .refused = server.seen.last else {
            Issue.record("\(server.seen)")
            return
        }
    }

    @Test func truncatedRequestWaitsAndMutatedOnesNeverTrap() {
        let text = Array(Self.request().utf8)
        for length in 0..<text.count {
            let server = LineEnd.server()
            server.receive(Array(text.prefix(length)))
            #expect(server.seen.isEmpty)
        }
        var random = Randomness.seeded(2)
        for _ in 0..<2_000 {
            var bytes = text
            for _ in 0..<3 {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8(truncatingIfNeeded: random.next())
            }
            LineEnd.server().receive(bytes)
            if let client = try? LineEnd.client() { client.receive(bytes) }
        }
    }
}
