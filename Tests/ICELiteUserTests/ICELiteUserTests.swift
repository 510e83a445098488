import Foundation
import ICELite
import Testing

/// ICELite as another package sees it: this target has no access to what is `package`.
@Suite("ICELite from outside") struct ICELiteUserTests {
    @Test func `README prints exactly what is compiled here`() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        let readme = try String(
            contentsOf: folder.deletingLastPathComponent().deletingLastPathComponent().appending(path: "README.md"),
            encoding: .utf8)
        let code = try String(contentsOf: folder.appending(path: "ExampleICE.swift"), encoding: .utf8)
        let parts = readme.components(separatedBy: "<!-- example ice: begin -->")
        try #require(parts.count == 2)
        let block = try #require(parts[1].components(separatedBy: "<!-- example ice: end -->").first)
        #expect(block == "\n```swift\n\(code)```\n")
    }

    @Test func `a full agent connects to a lite one over sockets, and restarts on the pair it has`() throws {
        let clock = ContinuousClock()
        let start = clock.now
        let now = { Instant(sinceEpoch: start.duration(to: clock.now)) }
        var example = try ICEExample(now: now())
        let there = NetworkPath(local: example.clientSocket.address, remote: example.serverSocket.address)
        let back = NetworkPath(local: there.remote, remote: there.local)

        run(&example, now: now) { $0.server.isConfirmed(back) }
        #expect(example.client.selectedPath == there)
        #expect(example.server.selectedPath == back)
        #expect(example.clientEvents.contains(.selected(there)))
        #expect(example.serverEvents.first == .tupleAuthenticated(back))
        #expect(example.client.outcome.pairs == 1)

        let before = example.client.credentials
        example.restart(now: now())
        #expect(example.client.isRestarting)
        #expect(example.client.selectedPath == there, "media goes on")
        run(&example, now: now) { !$0.client.isRestarting && !$0.server.isRestarting }
        #expect(example.clientEvents.contains(.restarted(there)))
        #expect(example.serverEvents.contains(.restartCompleted))
        #expect(example.client.credentials != before)
        #expect(example.client.counters.restarts == 1)
        #expect(example.server.destinations?.first == back)
        #expect(example.server.destinations?.second == nil)

        example.client.end()
        example.server.end()
        #expect(example.client.nextDeadline == .never)
    }

    /// Turns until `isDone`; gives up after 10 s.
    private func run(_ example: inout ICEExample, now: () -> Instant, until isDone: (ICEExample) -> Bool) {
        while true {
            example.turn(now: now())
            if isDone(example) { return }
            guard now() < Instant(sinceEpoch: .seconds(10)) else {
                Issue.record("not there after 10 s: \(example.client.outcome)")
                return
            }
            let deadline = min(example.client.nextDeadline, example.server.nextDeadline)
            LoopbackSocket.wait(
                for: [example.clientSocket, example.serverSocket],
                timeout: min(.nanoseconds(max(0, deadline - now())), .milliseconds(100)))
        }
    }

    @Test func `an endpoint tells datagrams apart and routes checks by ufrag`() throws {
        var random = Randomness.seeded(1)
        let credentials = ICECredentials.random(using: &random)
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: ICELimits.messageRoom, alignment: 1)
        defer { room.deallocate() }
        var out = OutputRawSpan(buffer: room, initializedCount: 0)
        let writer = try STUNWriter(.request, transactionID: .random(using: &random), into: &out)
        try writer.append(username: Array(credentials.ufrag.utf8), Array("peer".utf8), into: &out)
        try writer.append(.sha1, key: STUNKey(password: credentials.password), into: &out)
        try writer.appendFingerprint(into: &out)
        let bytes = Array(room[..<out.finalize(for: room)])

        #expect(DatagramKind(of: bytes.span.bytes) == .stun)
        #expect(stunUsernameFragment(of: bytes.span.bytes) == STUNUsernameFragment(credentials.ufrag))
        let message = try STUNMessage(parsing: bytes.span.bytes)
        let (kind, isWhole) = (message.messageClass, message.hasValidFingerprint)
        #expect(kind == .request && isWhole)
        let isOurs = message.verifies(with: STUNKey(password: credentials.password))
        let isAnothers = message.verifies(with: STUNKey(password: "another"))
        #expect(isOurs && !isAnothers)
    }
}
