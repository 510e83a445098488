import ICELite
import Testing
import Transport

@Suite("Line: connection") struct LineConnectionTests {
    private let url: CallLineURL
    private let secure: CallLineURL

    init() throws {
        url = try CallLineURL("ws://127.0.0.1:8080/call?agent=7")
        secure = try CallLineURL("wss://voice.example/call")
    }

    private func at(_ milliseconds: Int64) -> Instant { Instant.zero + .milliseconds(milliseconds) }

    private func opened(piece: Int = 4_096) -> LinePair {
        var pair = LinePair(url)
        pair.piece = piece
        pair.run()
        return pair
    }

    @Test("Client and server open, speak both ways and close", arguments: [1, 7, 4_096])
    func call(piece: Int) throws {
        var pair = LinePair(url, origin: "https://shop.example")
        pair.piece = piece
        pair.run()
        #expect(pair.clientEvents == [.opened])
        guard case .upgradeRequested(let request) = pair.serverEvents.first else {
            Issue.record("no upgrade request")
            return
        }
        #expect(request.path == "/call?agent=7")
        #expect(request.key == "key-1" && !request.keyFromSubprotocol)
        #expect(request.origin == "https://shop.example")
        #expect(pair.serverEvents.last == .opened)
        #expect(pair.client.isOpen == true)
        #expect(pair.server.isOpen == true)

        let large = [UInt8](repeating: 0x7A, count: 70_000)
        pair.client.sendText(large.span.bytes)
        pair.client.sendBinary(([1, 2, 3] as [UInt8]).span.bytes)
        pair.server.sendText(Array("grüße".utf8).span.bytes)
        pair.server.sendBinary(([4, 5] as [UInt8]).span.bytes)
        pair.run()
        #expect(pair.atServer == [large, [1, 2, 3]])
        #expect(pair.atClient == [Array("grüße".utf8), [4, 5]])

        pair.client.close(code: 1_000, reason: "bye", now: pair.now)
        pair.run()
        #expect(pair.serverEvents.last == .closed(code: 1_000, reason: "bye"))
        #expect(pair.clientEvents.last == .closed(code: 1_000, reason: "bye"))
        #expect(pair.client.isFinished == true)
        #expect(pair.server.isFinished == true)
        #expect(pair.client.hasOutput == false)
        #expect(pair.server.hasOutput == false)
    }

    @Test("The server closes with a code of its own; a long reason is cut between characters")
    func serverCloses() {
        var pair = opened()
        pair.server.sendText(Array("last".utf8).span.bytes)
        pair.server.close(code: 4_410, reason: String(repeating: "ü", count: 100), now: pair.now)
        pair.run()
        #expect(pair.atClient == [Array("last".utf8)])
        #expect(pair.clientEvents.last == .closed(code: 4_410, reason: String(repeating: "ü", count: 61)))
        #expect(pair.serverEvents.count { if case .closed = $0 { true } else { false } } == 1)
        pair.client.sendText(([0x61] as [UInt8]).span.bytes)
        #expect(pair.client.hasOutput == false)
        #expect(pair.client.nextDeadline == .never)
    }

    @Test("Both close at once; and one whose close is not answered is over after a second")
    func closing() {
        var pair = opened()
        pair.client.close(code: 1_000, reason: "a", now: pair.now)
        pair.server.close(code: 4_503, reason: "b", now: pair.now)
        pair.run()
        #expect(pair.clientEvents.last == .closed(code: 1_000, reason: "a"))
        #expect(pair.serverEvents.last == .closed(code: 4_503, reason: "b"))

        var alone = opened()
        alone.client.close(code: 1_000, reason: "", now: at(10))
        #expect(alone.client.nextDeadline == at(1_010))
        alone.client.handleTimeout(now: at(1_009))
        #expect(alone.client.pollEvent() == nil)
        alone.client.handleTimeout(now: at(1_010))
        #expect(alone.client.pollEvent() == .closed(code: 1_000, reason: ""))
        #expect(alone.client.pollEvent() == nil)
    }

    @Test(
        "A refusal arrives with its status and wait",
        arguments: [
            LineRefusal(code: .invalidKey, status: 401, message: "no \"such\" key"),
            LineRefusal(code: .rateLimited, status: 429, message: "busy", retryAfterSeconds: 17),
            LineRefusal(code: .originRefused, status: 403, message: "origin"),
            LineRefusal(code: .notFound, status: 404, message: "agent"),
            LineRefusal(code: .unavailable, status: 503, message: "draining", retryAfterSeconds: 2),
        ])
    func refusal(_ refusal: LineRefusal) {
        for piece in [1, 4_096] {
            var pair = LinePair(url, refusal: refusal)
            pair.piece = piece
            pair.run()
            #expect(pair.clientEvents == [.refused(refusal), .closed(code: 1_006, reason: refusal.message)])
            #expect(pair.server.isFinished == true)
            pair.server.peerClosed(now: pair.now)
            pair.client.peerClosed(now: pair.now)
            #expect(pair.client.pollEvent() == nil)
        }
    }

    @Test("A refusal whose body is cut short by the end of the stream keeps its status")
    func cutRefusal() {
        var line = LineConnection.client(url: url, key: nil, now: .zero, randomness: .seeded(1))
        let head =
            "HTTP/1.1 429 Slow\r\nContent-Type: application/json\r\nContent-Length: 50\r\nRetry-After: 5\r\n\r\n{\"mes"
        line.receive(Array(head.utf8).span.bytes, now: .zero)
        #expect(line.pollEvent() == nil)
        line.peerClosed(now: .zero)
        let message = "The conversation was refused (429)."
        #expect(
            line.pollEvent()
                == .refused(
                    LineRefusal(code: .rateLimited, status: 429, message: message, retryAfterSeconds: 5)))
        #expect(line.pollEvent() == .closed(code: 1_006, reason: message))
        #expect(line.pollEvent() == nil)
    }

    @Test("The end of the stream: 1006, after what came before it")
    func endOfStream() {
        var pair = opened()
        pair.server.sendText(Array("bye".utf8).span.bytes)
        let bytes = collected { pair.server.writeOutput(into: &$0) }
        pair.client.receive(bytes.span.bytes, now: pair.now)
        pair.client.peerClosed(now: pair.now)
        pair.poll()
        #expect(pair.atClient == [Array("bye".utf8)])
        #expect(pair.clientEvents.last == .closed(code: 1_006, reason: "the peer closed the connection"))
        #expect(pair.client.isClosed == true)

        var early = LineConnection.server(now: .zero, randomness: .seeded(1))
        early.peerClosed(now: .zero)
        #expect(early.pollEvent() == .closed(code: 1_006, reason: "the peer closed the connection"))
        #expect(early.pollEvent() == nil)

        var closing = opened()
        closing.client.close(code: 1_000, reason: "done", now: .zero)
        closing.client.peerClosed(now: .zero)
        #expect(closing.client.pollEvent() == .closed(code: 1_000, reason: "done"))
        #expect(closing.client.pollEvent() == nil)
    }

    @Test("Silence: a ping after 5 s, each second then, dead after 10 s")
    func keepAlive() {
        var pair = opened()
        #expect(pair.client.nextDeadline == at(5_000))
        var pings: [Int64] = []
        for second in Int64(1)...9 {
            pair.client.handleTimeout(now: at(second * 1_000))
            let bytes = collected { pair.client.writeOutput(into: &$0) }
            if !bytes.isEmpty {
                #expect(heard([bytes], isServer: true) == [.ping([])])
                pings.append(second)
            }
        }
        #expect(pings == [5, 6, 7, 8, 9])
        pair.client.handleTimeout(now: at(10_000))
        #expect(pair.client.pollEvent() == .closed(code: 1_006, reason: "nothing was heard on the line"))
        #expect(pair.client.nextDeadline == .never)
    }

    @Test("An answered ping is life")
    func answered() {
        var pair = opened()
        for second in Int64(1)...60 {
            pair.now = at(second * 1_000)
            pair.client.handleTimeout(now: pair.now)
            pair.server.handleTimeout(now: pair.now)
            pair.run()
        }
        #expect(pair.clientEvents == [.opened])
        #expect(pair.server.isOpen == true)
        #expect(pair.server.pingsAnswered + pair.client.pingsAnswered >= 11)
    }

    @Test("Urgent: a ping each second, dead after 3 s; after earlier silence there is time for an answer")
    func urgent() {
        var pair = opened()
        pair.client.isUrgent = true
        #expect(pair.client.nextDeadline == at(1_000))
        for second in Int64(1)...2 { pair.client.handleTimeout(now: at(second * 1_000)) }
        #expect(pair.client.nextDeadline == at(3_000))
        pair.client.handleTimeout(now: at(3_000))
        #expect(pair.client.pollEvent() == .closed(code: 1_006, reason: "nothing was heard on the line"))

        var quiet = opened()
        quiet.client.isUrgent = false
        quiet.client.handleTimeout(now: at(4_000))
        quiet.client.isUrgent = true
        quiet.now = at(4_000)
        quiet.client.handleTimeout(now: quiet.now)
        #expect(quiet.client.isOpen == true)
        quiet.run()
        #expect(quiet.client.nextDeadline == at(5_000))

        var dead = opened()
        dead.client.isUrgent = true
        dead.client.handleTimeout(now: at(4_000))
        dead.client.handleTimeout(now: at(5_999))
        #expect(dead.client.isOpen == true)
        dead.client.handleTimeout(now: at(6_000))
        #expect(dead.client.isClosed == true)
    }

    @Test("A ping is answered with its payload; a flood of them fills no queue")
    func pings() {
        var pair = opened()
        pair.client.receive(frame(9, [1, 2, 3]).span.bytes, now: .zero)
        #expect(pair.client.pollEvent() == nil)
        let pong = collected { pair.client.writeOutput(into: &$0) }
        #expect(pong[0] == 0x8A)
        #expect(pong == frame(10, [1, 2, 3], mask: Array(pong[2..<6])))
        for _ in 0..<5_000 { pair.client.receive(frame(9, [UInt8](repeating: 1, count: 125)).span.bytes, now: .zero) }
        #expect(pair.client.pollEvent() == nil)
        #expect(pair.client.queuedBytes == 131)
        #expect(pair.client.isOpen == true)
        pair.client.close(code: 1_000, reason: "", now: .zero)
        #expect(heard([collected { pair.client.writeOutput(into: &$0) }], isServer: true) == [.close(1_000, "")])
    }

    @Test("A close without a code is answered by one without, and told as 1005")
    func bareClose() {
        var pair = opened()
        pair.client.receive(frame(8, []).span.bytes, now: .zero)
        #expect(pair.client.pollEvent() == .closed(code: 1_005, reason: ""))
        #expect(heard([collected { pair.client.writeOutput(into: &$0) }], isServer: true) == [.close(nil, "")])
    }

    @Test("A text beyond 256 KiB is told and the line lives; a broken frame closes it with 1002")
    func limits() {
        var pair = opened()
        pair.server.sendText([UInt8](repeating: 0x61, count: 300_000).span.bytes)
        pair.server.sendText(([0x62] as [UInt8]).span.bytes)
        pair.run()
        #expect(pair.clientEvents.contains(.textTooLarge(300_000)))
        #expect(pair.atClient == [[0x62]])
        pair.server.receive(frame(1, [0x61]).span.bytes, now: .zero)
        pair.poll()
        pair.run()
        #expect(pair.serverEvents.last == .closed(code: 1_002, reason: "a frame is not masked"))
        #expect(pair.clientEvents.last == .closed(code: 1_002, reason: "a frame is not masked"))
    }

    @Test("Frames that come with the head are not lost")
    func early() throws {
        var client = LineConnection.client(url: url, key: nil, now: .zero, randomness: .seeded(1))
        var server = LineConnection.server(now: .zero, randomness: .seeded(2))
        let request = collected { client.writeOutput(into: &$0) } + frame(1, [0x61], mask: [1, 2, 3, 4])
        server.receive(request.span.bytes, now: .zero)
        guard case .upgradeRequested = server.pollEvent() else {
            Issue.record("no request")
            return
        }
        server.receive(frame(2, [9], mask: [1, 2, 3, 4]).span.bytes, now: .zero)
        server.accept(now: .zero)
        server.sendText(([0x7A] as [UInt8]).span.bytes)
        #expect(server.pollEvent() == .opened)
        guard case .text(let text) = server.pollEvent() else {
            Issue.record("no text")
            return
        }
        #expect(server.copyBytes(text) == [0x61])
        guard case .binary = server.pollEvent() else {
            Issue.record("no binary")
            return
        }
        client.receive(collected { server.writeOutput(into: &$0) }.span.bytes, now: .zero)
        #expect(client.pollEvent() == .opened)
        guard case .text = client.pollEvent() else {
            Issue.record("no text")
            return
        }
    }

    @Test("The key stays at home on an insecure line, and one that would split the request is refused at once")
    func keys() throws {
        let insecure = try CallLineURL("ws://voice.example/", allowInsecure: true)
        func request(_ url: CallLineURL, _ key: String?, _ origin: String? = nil) -> String {
            var line = LineConnection.client(url: url, key: key, origin: origin, now: .zero, randomness: .seeded(1))
            return String(decoding: collected { line.writeOutput(into: &$0) }, as: UTF8.self)
        }
        #expect(!request(insecure, "secret").contains("secret"))
        #expect(request(secure, "secret").contains("\r\nAuthorization: Bearer secret\r\n"))
        for key in ["a\r\nX: y", "a b", "", "ü", "a\u{0}", String(repeating: "k", count: 4_097)] {
            #expect(request(secure, key).isEmpty)
            var line = LineConnection.client(url: secure, key: key, now: .zero, randomness: .seeded(1))
            guard case .refused(let refusal) = line.pollEvent() else {
                Issue.record("not refused")
                continue
            }
            #expect(refusal.code == .invalidKey)
            guard case .closed(1_006, _) = line.pollEvent() else {
                Issue.record("not closed")
                continue
            }
        }
        #expect(request(secure, nil, "https://a\r\nb").isEmpty)
    }

    @Test("Changed bytes in either direction never trap", arguments: 0..<20)
    func mutations(seed: UInt64) {
        var randomness = Randomness.seeded(seed)
        for round in 0..<30 {
            var client = LineConnection.client(url: url, key: "k", now: .zero, randomness: .seeded(1))
            var server = LineConnection.server(now: .zero, randomness: .seeded(2))
            var up = collected { client.writeOutput(into: &$0) }
            if round % 2 == 0 { up = mutated(up, &randomness) }
            up += mutated(frame(1, [0x61, 0x62], mask: [1, 2, 3, 4]) + frame(9, [], mask: [0, 0, 0, 0]), &randomness)
            for piece in pieces(up, &randomness) { server.receive(piece.span.bytes, now: .zero) }
            while let event = server.pollEvent() { if case .upgradeRequested = event { server.accept(now: .zero) } }
            server.sendText(([0x7A] as [UInt8]).span.bytes)
            let down = mutated(collected { server.writeOutput(into: &$0) }, &randomness)
            for piece in pieces(down, &randomness) {
                client.receive(piece.span.bytes, now: .zero)
                while client.pollEvent() != nil {}
            }
            client.peerClosed(now: .zero)
            while client.pollEvent() != nil {}
            #expect(client.isClosed == true)
        }
    }
}
