// The names begin with the id of the case they hold.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Foundation
import ICELite
import Testing

@testable import TransportLine

@Suite struct LineConnectionTests {
    let at = LineFixtures.at

    // MARK: Upgrade

    @Test func opensEndToEndOneByteAtATime() throws {
        let client = try LineEnd.client(origin: "https://app.example")
        let server = LineEnd.server()
        for byte in client.output(chunk: 1) { server.receive([byte]) }
        guard case .upgradeRequested(let request) = server.seen.first else {
            Issue.record("\(server.seen)")
            return
        }
        #expect(
            request.path == "/call?agent=support" && request.key == "key" && request.origin == "https://app.example")
        server.line.accept(now: .zero)
        server.drain()
        for byte in server.output(chunk: 1) { client.receive([byte]) }
        #expect(client.seen == [.opened] && server.seen.last == .opened)
        client.sendText("hi €")
        server.sendText("ho")
        for byte in client.output(chunk: 1) { server.receive([byte]) }
        for byte in server.output(chunk: 1) { client.receive([byte]) }
        #expect(client.seen.last == .text("ho") && server.seen.last == .text("hi €"))
    }

    @Test func anAnswerBehindALongInterimResponseIsFound() throws {
        let client = try LineEnd.client()
        let server = LineEnd.server()
        server.receive(client.output())
        server.line.accept(now: .zero)
        let links = String(repeating: "x", count: 1_000)
        client.receive(Array("HTTP/1.1 103 Early Hints\r\nLink: \(links)\r\n\r\n".utf8))
        client.receive(server.output())
        #expect(client.seen == [.opened])
    }

    @Test func refusalTravelsWhole() throws {
        let client = try LineEnd.client()
        let server = LineEnd.server()
        server.receive(client.output())
        let refusal = LineRefusal(code: .rateLimited, status: 429, message: "Too many \"calls\".", retryAfterSeconds: 9)
        server.line.refuse(refusal, now: .zero)
        server.drain()
        client.receive(server.output())
        #expect(client.seen == [.refused(refusal)] && server.seen.last == .refused(refusal))
        #expect(client.isFinished && server.isFinished)
    }

    /// What a browser sends whose page offers `new WebSocket(url, ["graine.call.v1", "graine.key.…"])`.
    static func pageRequest(key: String, nonce: String = UpgradeTests.nonce) -> [UInt8] {
        let lines = [
            "GET /call HTTP/1.1", "Host: agent.example", "Connection: Upgrade", "Pragma: no-cache",
            "Cache-Control: no-cache", "User-Agent: Mozilla/5.0", "Upgrade: websocket", "Origin: https://app.example",
            "Sec-WebSocket-Version: 13", "Accept-Encoding: gzip, deflate, br", "Accept-Language: en",
            "Sec-WebSocket-Key: \(nonce)",
            "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits",
            "Sec-WebSocket-Protocol: graine.call.v1, graine.key.\(Base64.encodeURL(Array(key.utf8)))",
        ]
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }

    @Test func aPagesKeyIsRefusedByCloseCodeBecauseItSeesNoStatus() throws {
        let client = try LineEnd.client()
        let server = LineEnd.server()
        _ = client.output()
        // Behind the request a text that nobody may take for a hello.
        let request = Self.pageRequest(key: "wrong", nonce: client.line.webSocketKey)
        server.receive(request + LineFixtures.bytes(hex: "818200000000") + [0x7B, 0x7D])
        server.line.refuse(LineRefusal(status: 401, message: "the key is not known"), now: .zero)
        server.drain()
        #expect(server.seen.count == 1, "neither opened nor text: \(server.seen)")
        let answer = server.output()
        let text = String(decoding: answer, as: UTF8.self)
        #expect(text.hasPrefix("HTTP/1.1 101 ") && text.contains("Sec-WebSocket-Protocol: graine.call.v1\r\n"))
        #expect(!text.contains("graine.key") && !text.contains("wrong"))
        client.receive(answer)
        #expect(
            client.seen == [
                .opened, .text(#"{"type":"transport.error","code":"invalid_key","message":"the key is not known"}"#),
                .closed(4_401, "invalid_key"),
            ])
        server.receive(client.output())
        #expect(server.seen.last == .closed(4_401, "") && server.isFinished)
    }

    @Test func aRefusedPageThatNeverAnswersIsGoneAfterASecond() throws {
        let server = LineEnd.server()
        server.receive(Self.pageRequest(key: "wrong"))
        server.line.refuse(LineRefusal(status: 401, message: "No."), now: .zero)
        server.drain()
        _ = server.output()
        #expect(!server.isFinished && server.nextDeadline == LineFixtures.at(1_000))
        server.line.handleTimeout(now: LineFixtures.at(1_000))
        server.drain()
        #expect(server.seen.last?.code == .some(1_006) && server.isFinished)
    }

    @Test func otherRefusalsOfAPageAndAKeyInAHeaderGetAStatus() throws {
        for (request, refusal, status) in [
            (Self.pageRequest(key: "right"), LineRefusal(status: 503, message: "Full."), "503"),
            (try LineEnd.client(key: "wrong").output(), LineRefusal(status: 401, message: "No."), "401"),
            (try LineEnd.client(key: nil).output(), LineRefusal(status: 401, message: "No."), "401"),
        ] {
            let server = LineEnd.server()
            server.receive(request)
            server.line.refuse(refusal, now: .zero)
            server.drain()
            #expect(String(decoding: server.output(), as: UTF8.self).hasPrefix("HTTP/1.1 \(status) "))
            #expect(server.seen.last == .refused(refusal) && server.isFinished)
        }
    }

    @Test func refusalsBodyIsWaitedForOneSecondOrToTheEnd() throws {
        let start = "HTTP/1.1 503 x\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{\"mess"
        let late = try LineEnd.client()
        late.receive(Array(start.utf8), now: at(100))
        #expect(late.seen.isEmpty && late.nextDeadline == at(1_100))
        late.line.handleTimeout(now: at(1_100))
        late.drain()
        guard case .refused(let refusal) = late.seen.first else {
            Issue.record("\(late.seen)")
            return
        }
        #expect(refusal.code == .unavailable)
        let ended = try LineEnd.client()
        ended.receive(Array("HTTP/1.1 404 x\r\nContent-Type: application/json\r\n\r\n{\"message\":\"No.\"}".utf8))
        #expect(ended.seen.isEmpty)
        ended.line.peerClosed(now: .zero)
        ended.drain()
        #expect(ended.seen == [.refused(LineRefusal(code: .notFound, status: 404, message: "No."))])
    }

    @Test func endDuringTheUpgradeIs1006() throws {
        let client = try LineEnd.client()
        client.line.peerClosed(now: .zero)
        client.drain()
        #expect(client.seen.count == 1 && client.seen.first?.code == 1_006)
    }

    /// As the case has it but for the subprotocol, which ours always asks for: its 101 is replaced by our server's.
    @Test func WS03_frameBehindThe101IsRead() throws {
        let reads = try LineFixtures.reads("WS-03.hex")
        let client = try LineEnd.client()
        let server = LineEnd.server()
        server.receive(client.output())
        server.line.accept(now: .zero)
        let text = String(decoding: reads[0], as: UTF8.self)
        let headCount = try #require(text.range(of: "\r\n\r\n")).upperBound.utf16Offset(in: text)
        client.receive(server.output() + reads[0][headCount...])
        #expect(client.seen == [.opened, .text("hi")])
        client.receive(reads[1])
        #expect(client.output().first == 0x8A)
    }

    @Test func clientMasksAndServerDoesNot() throws {
        let (client, server) = try LineEnd.open()
        client.sendText("Hello")
        server.sendText("Hello")
        let masked = client.output()
        #expect(masked.count == 11 && masked[1] == 0x85 && Array(masked[6...]) != Array("Hello".utf8))
        #expect(server.output() == LineFixtures.bytes(hex: "810548656c6c6f"))
        client.sendText("Hello")
        #expect(client.output() != masked)
    }

    // MARK: Messages

    @Test func audioRingDropsTheOldest() throws {
        let (client, server) = try LineEnd.open()
        for number in 0..<8 { client.sendBinary([UInt8(number), 0]) }
        #expect(client.counters.audioDropped == 3)
        LineEnd.settle(client, server)
        #expect(server.take() == (3..<8).map { .binary([UInt8($0), 0]) })
        #expect(client.counters.binarySent == 5)
    }

    @Test func audioLeavesTheRingOnePacketAtATime() throws {
        let (client, server) = try LineEnd.open()
        for number in 0..<5 { client.sendBinary([UInt8(number), 0]) }
        client.sendText("now")
        var written = client.write(65_536)
        // The stream takes nothing more for a while: what is newer makes room for itself in the ring.
        for number in 5..<10 { client.sendBinary([UInt8(number), 0]) }
        #expect(client.counters.binarySent == 1 && client.counters.audioDropped == 4)
        written += client.output()
        server.receive(written)
        #expect(server.take() == [.text("now"), .binary([0, 0])] + (5..<10).map { .binary([UInt8($0), 0]) })
    }

    @Test(arguments: [0, 1]) func audioThatTheStreamDidNotBeginGoesBackIntoTheRing(_ begun: Int) throws {
        let (client, server) = try LineEnd.open()
        client.sendText("now")
        for number in 0..<5 { client.sendBinary([UInt8(number), 0]) }
        var written = client.write(65_536)
        // A masked frame of 2 bytes is 8 long; the stream has taken the text, and `begun` bytes of it.
        let rest = 8 - begun
        written.removeLast(client.line.withdrawAudio(unwritten: rest))
        #expect(written.count == (begun == 0 ? 9 : 17) && client.counters.binarySent == begun)
        #expect(client.line.withdrawAudio(unwritten: rest) == 0)
        for number in 5..<10 { client.sendBinary([UInt8(number), 0]) }
        #expect(client.counters.audioDropped == (begun == 0 ? 5 : 4))
        written += client.output()
        server.receive(written)
        #expect(
            server.take() == [.text("now")] + (begun == 0 ? [] : [.binary([0, 0])])
                + (5..<10).map { .binary([UInt8($0), 0]) })
    }

    @Test func audioIsNotTakenBackBehindWhatWasQueuedSince() throws {
        let (client, server) = try LineEnd.open()
        client.sendBinary([1, 0])
        let written = client.write(65_536)
        client.sendBinary([2, 0])
        #expect(client.line.withdrawAudio(unwritten: written.count) == 0)
        server.receive(written + client.output())
        #expect(server.take() == [.binary([1, 0]), .binary([2, 0])])
    }

    @Test func controlGoesAheadOfAudioButNotIntoAFrame() throws {
        let (client, server) = try LineEnd.open()
        client.sendBinary([UInt8](repeating: 1, count: 200))
        client.sendBinary([UInt8](repeating: 2, count: 200))
        let begun = client.write(50) + client.write(10)
        client.sendText("now")
        server.receive(begun + client.output())
        #expect(
            server.take() == [
                .binary([UInt8](repeating: 1, count: 200)), .text("now"), .binary([UInt8](repeating: 2, count: 200)),
            ])
    }

    @Test func whatCannotBeSentIsNotTaken() throws {
        let (client, _) = try LineEnd.open()
        #expect(!client.sendBinary([UInt8](repeating: 0, count: 1_501)))
        #expect(!client.sendBinary([]))
        #expect(!client.sendText([UInt8](repeating: 0x61, count: LineLimits.maximumTextBytes + 1)))
        var taken = 0
        while client.sendText([UInt8](repeating: 0x61, count: LineLimits.maximumTextBytes)), taken < 99 { taken += 1 }
        #expect((7...8).contains(taken) && client.counters.textsNotTaken == 2)
        let fresh = try LineEnd.client()
        #expect(!fresh.sendText([0x61]) && !fresh.sendBinary([1]))
    }

    @Test func tooLargeTextIsReportedAndTheLineLives() throws {
        let (client, server) = try LineEnd.open()
        var queue = ByteQueue()
        FrameHeader(opcode: .text, payloadCount: 300_000).encode(into: &queue)
        let header = queue.bytes.withUnsafeBytes { Array($0) }
        client.receive(header + [UInt8](repeating: 0x61, count: 300_000))
        #expect(client.take() == [.textTooLarge(300_000)])
        server.sendText("still here")
        LineEnd.settle(client, server)
        #expect(client.take() == [.text("still here")])
    }

    // MARK: Keep-alive

    @Test func pingsAfterFiveSecondsAndDiesAfterTen() throws {
        let (client, _) = try LineEnd.open()
        #expect(client.nextDeadline == at(5_000))
        client.line.handleTimeout(now: at(4_999))
        #expect(!client.hasOutput)
        client.line.handleTimeout(now: at(5_000))
        #expect(client.output().first == 0x89 && client.nextDeadline == at(10_000))
        client.line.handleTimeout(now: at(10_000))
        client.drain()
        #expect(client.seen.count == 1 && client.seen.first?.code == 1_006 && client.isFinished)
        #expect(client.nextDeadline == .never)
    }

    @Test func answeredPingKeepsItAliveAndMeasures() throws {
        let (client, server) = try LineEnd.open()
        for second in stride(from: Int64(5), through: 60, by: 5) {
            client.line.handleTimeout(now: at(second * 1_000))
            server.receive(client.output(), now: at(second * 1_000 + 20))
            client.receive(server.output(), now: at(second * 1_000 + 40))
            // The next ping is due five seconds after this pong.
            #expect(client.nextDeadline == at(second * 1_000 + 5_040))
            client.line.handleTimeout(now: at(second * 1_000 + 41))
            client.receive([0x8A, 0], now: at(second * 1_000))
        }
        #expect(client.seen.isEmpty && client.counters.pingsSent == 12)
        #expect(client.shortestRoundTrip == .milliseconds(40))
    }

    @Test func aPongThatWasAskedForComesBehindAllThatWasSaid() throws {
        let (client, server) = try LineEnd.open()
        #expect(!client.isPinging)
        client.line.ping(now: at(1_000))
        #expect(client.isPinging && client.hasOutput)
        let ping = client.output()
        server.sendText("said before")
        server.receive(ping, now: at(1_020))
        let answer = server.output()
        client.receive(Array(answer.dropLast(1)), now: at(1_040))
        #expect(client.take() == [.text("said before")] && client.isPinging)
        client.receive(Array(answer.suffix(1)), now: at(1_041))
        #expect(!client.isPinging)
        // A line that is gone has nothing to say any more.
        client.line.ping(now: at(2_000))
        client.line.peerClosed(now: at(2_010))
        client.drain()
        #expect(!client.isPinging)
    }

    @Test func suspectLinePingsEachSecondAndDiesAfterThree() throws {
        let (client, _) = try LineEnd.open()
        client.line.setWatch(.suspect, now: at(4_000))
        var pings = 0
        var now = at(4_000)
        client.line.handleTimeout(now: now)
        while client.nextDeadline != .never, pings < 20 {
            if client.output().first == 0x89 { pings += 1 }
            now = client.nextDeadline
            client.line.handleTimeout(now: now)
        }
        client.drain()
        // It had been quiet for 4 s when it became suspect: it gets its 3 s to answer.
        #expect(now == at(7_000) && pings == 3 && client.seen.first?.code == 1_006)
    }

    @Test func lineOfACallBeingSetUpPingsEachSecondAndLivesForTen() throws {
        let (client, _) = try LineEnd.open()
        client.line.setWatch(.setUp, now: at(0))
        var pings = 0
        var now = at(0)
        while client.nextDeadline != .never, pings < 20 {
            now = client.nextDeadline
            client.line.handleTimeout(now: now)
            if client.output().first == 0x89 { pings += 1 }
        }
        client.drain()
        #expect(now == at(10_000) && pings == 9 && client.seen.first?.code == 1_006)
    }

    @Test func suspicionNeverPutsDeathOff() throws {
        let (client, _) = try LineEnd.open()
        client.line.setWatch(.suspect, now: at(9_000))
        client.line.handleTimeout(now: at(9_000))
        client.line.handleTimeout(now: at(10_000))
        client.drain()
        #expect(client.seen.first?.code == 1_006)
    }

    @Test func WS15_silentLineIsDeadWithinTenSecondsOnce() throws {
        let (client, _) = try LineEnd.open()
        for tick in 0..<250 { client.receive([0x82, 1, 7], now: at(Int64(tick) * 20)) }
        _ = client.take()
        var now = at(4_980)
        while client.nextDeadline != .never {
            now = client.nextDeadline
            client.sendBinary([1, 2])
            client.line.handleTimeout(now: now)
            _ = client.output()
        }
        client.drain()
        #expect(now == at(14_980) && client.seen.count == 1 && client.seen.first?.code == 1_006)
    }

    @Test func WS14_pingFloodIsAnsweredOnceWithTheNewest() throws {
        let (client, _) = try LineEnd.open()
        client.sendBinary([5])
        client.receive((0..<1_000).flatMap { number -> [UInt8] in [0x89, 1, UInt8(truncatingIfNeeded: number)] })
        #expect(client.counters.pongsCoalesced == 999)
        let output = client.output()
        var reader = FrameReader(fromClient: true)
        reader.append(output.span.bytes)
        guard case .pong(let range) = try reader.next() else {
            Issue.record("no pong first")
            return
        }
        let payload = reader.bytes(range).withUnsafeBytes { Array($0) }
        #expect(payload == [UInt8(truncatingIfNeeded: 999)])
        guard case .binary = try reader.next() else {
            Issue.record("the audio is gone")
            return
        }
        let rest = try reader.next()
        #expect(rest == nil)
    }

    // MARK: Closing

    @Test(arguments: [true, false]) func closesBothWays(clientFirst: Bool) throws {
        let (client, server) = try LineEnd.open()
        let (first, second) = clientFirst ? (client, server) : (server, client)
        first.sendText("bye")
        first.sendBinary([1])
        first.line.close(code: .normal, reason: "done", now: .zero)
        #expect(!first.sendText([0x61]))
        LineEnd.settle(first, second)
        #expect(second.take() == [.text("bye"), .closed(1_000, "done")])
        #expect(first.take() == [.closed(1_000, "")])
        #expect(first.isFinished && second.isFinished)
        second.receive([0x81, 0x81])
        second.line.peerClosed(now: .zero)
        second.drain()
        #expect(second.seen.isEmpty)
    }

    @Test func unansweredCloseEndsAfterASecond() throws {
        let (client, _) = try LineEnd.open()
        client.line.close(code: .superseded, now: at(500))
        client.receive([0x81, 1, 0x61], now: at(600))
        #expect(client.nextDeadline == at(1_500) && client.seen.isEmpty)
        client.line.handleTimeout(now: at(1_500))
        client.drain()
        #expect(client.seen.count == 1 && client.seen.first?.code == 1_006)
    }

    @Test func bothClosingAtOnceEndsOnceEach() throws {
        let (client, server) = try LineEnd.open()
        client.line.close(code: .normal, now: .zero)
        server.line.close(code: .superseded, now: .zero)
        let forth = client.output()
        let back = server.output()
        client.receive(back)
        server.receive(forth)
        #expect(client.seen == [.closed(4_410, "")] && server.seen == [.closed(1_000, "")])
        #expect(client.output().isEmpty && server.output().isEmpty)
    }

    @Test func breachIsAnsweredWithItsCodeAndNothingMoreIsRead() throws {
        let (client, server) = try LineEnd.open()
        client.sendBinary([1])
        client.receive([0xC1, 1, 0x78, 0x81, 1, 0x61])
        #expect(client.seen.count == 1 && client.seen.first?.code == 1_002)
        server.receive(client.output())
        #expect(server.seen.last?.code == 1_002 && client.isFinished)
    }

    @Test func endOfStreamDeliversWhatCameBefore() throws {
        let (client, _) = try LineEnd.open()
        let bytes: [UInt8] = [0x81, 1, 0x61, 0x81]
        client.line.receive(bytes.span.bytes, now: .zero)
        client.line.peerClosed(now: .zero)
        client.drain()
        #expect(client.seen.map(\.code) == [nil, 1_006] && client.seen.first == .text("a"), "\(client.seen)")
        #expect(client.isFinished)
    }

    @Test func longReasonIsCutBetweenCharacters() throws {
        let (client, server) = try LineEnd.open()
        client.line.close(code: .badMessage, reason: String(repeating: "€", count: 60), now: .zero)
        LineEnd.settle(client, server)
        #expect(server.take() == [.closed(4_400, String(repeating: "€", count: 41))])
    }

    @Test func randomTrafficSurvivesRandomSplits() throws {
        var random = Randomness.seeded(21)
        let (client, server) = try LineEnd.open()
        var sent: [Seen] = []
        for round in 0..<300 {
            if Bool.random(using: &random) {
                let text = String(repeating: "ü", count: Int.random(in: 0...3_000, using: &random))
                client.sendText(text)
                sent.append(.text(text))
            } else {
                let packet = [UInt8](
                    repeating: UInt8(truncatingIfNeeded: round), count: Int.random(in: 1...1_500, using: &random))
                client.sendBinary(packet)
                sent.append(.binary(packet))
            }
            while client.hasOutput {
                server.receive(client.write(Int.random(in: 1...700, using: &random)))
            }
        }
        #expect(server.take() == sent)
    }
}
