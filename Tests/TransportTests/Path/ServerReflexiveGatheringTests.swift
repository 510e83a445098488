import ICELite
import Testing

@testable import Transport

@Suite("Server-reflexive candidates") struct ServerReflexiveGatheringTests {
    private func address(_ text: String, _ port: UInt16) throws -> SocketAddress {
        SocketAddress(ip: try #require(IPAddress(text)), port: port)
    }

    private func gathering() -> ServerReflexiveGathering { ServerReflexiveGathering(randomness: Randomness.seeded(3)) }

    private func poll(_ gathering: inout ServerReflexiveGathering, now: Instant) -> (path: NetworkPath, bytes: [UInt8])?
    {
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 512, alignment: 16)
        defer { room.deallocate() }
        var out = OutputRawSpan(buffer: room, initializedCount: 0)
        let transmit = gathering.pollTransmit(into: &out, now: now)
        let count = out.finalize(for: room)
        return transmit.map { ($0.path, Array(room[..<count])) }
    }

    private func answer(_ request: [UInt8], _ mapped: SocketAddress) throws -> [UInt8] {
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 512, alignment: 16)
        defer { room.deallocate() }
        var out = OutputRawSpan(buffer: room, initializedCount: 0)
        let id = try STUNMessage(parsing: request.span.bytes).transactionID
        let writer = try STUNWriter(.success, transactionID: id, into: &out)
        try writer.append(address: mapped, isXORed: true, into: &out)
        let count = out.finalize(for: room)
        return Array(room[..<count])
    }

    /// All requests sent until `end`, with their times.
    private func requests(
        _ gathering: inout ServerReflexiveGathering, until end: Instant
    ) -> [(at: Instant, path: NetworkPath, bytes: [UInt8])] {
        var sent: [(at: Instant, path: NetworkPath, bytes: [UInt8])] = []
        while gathering.nextDeadline <= end {
            let now = gathering.nextDeadline
            gathering.handleTimeout(now: now)
            while let request = poll(&gathering, now: now) { sent.append((now, request.path, request.bytes)) }
            while gathering.pollEvent() != nil {}
        }
        return sent
    }

    @Test("Each server is asked from each socket of its family, at the pace, whichever is known first")
    func asks() throws {
        var gathering = gathering()
        let v4 = try address("192.0.2.1", 5_000)
        let v6 = try address("2001:db8::1", 5_000)
        let server4 = try address("198.51.100.1", 3_478)
        let server6 = try address("2001:db8:1::1", 3_478)
        gathering.addServer(server4, now: .zero)
        gathering.setSockets([v6, v4], now: .zero)
        gathering.addServer(server6, now: .zero)
        gathering.addServer(server6, now: .zero)
        let sent = requests(&gathering, until: .zero + .milliseconds(100))
        #expect(sent.map(\.path) == [NetworkPath(local: v4, remote: server4), NetworkPath(local: v6, remote: server6)])
        #expect(sent.map(\.at) == [Instant.zero, Instant.zero + ServerReflexiveGathering.pace])
    }

    @Test("An answer is told with its base, and ends the request")
    func answered() throws {
        var gathering = gathering()
        let socket = try address("192.0.2.1", 5_000)
        let server = try address("198.51.100.1", 3_478)
        let mapped = try address("203.0.113.1", 40_000)
        gathering.setSockets([socket], now: .zero)
        gathering.addServer(server, now: .zero)
        let polled = poll(&gathering, now: .zero)
        let request = try #require(polled)
        let reply = try answer(request.bytes, mapped)
        let elsewhere = NetworkPath(local: socket, remote: mapped)
        let takesForged = gathering.handle(reply.span.bytes, path: elsewhere, now: .zero)
        let early = gathering.pollEvent()
        #expect(takesForged && early == nil)
        let takes = gathering.handle(reply.span.bytes, path: request.path, now: .zero)
        let event = gathering.pollEvent()
        #expect(takes && event == .mapped(mapped, base: socket))
        #expect(gathering.isFinished && gathering.nextDeadline == .never)
        // It is nobody's now.
        let takesAgain = gathering.handle(reply.span.bytes, path: request.path, now: .zero)
        #expect(!takesAgain)
    }

    @Test("A silent server costs one event in the end, and what is no STUN is somebody else's")
    func silent() throws {
        var gathering = gathering()
        gathering.setSockets([try address("192.0.2.1", 5_000)], now: .zero)
        gathering.addServer(try address("198.51.100.1", 3_478), now: .zero)
        var events: [ServerReflexiveGathering.Event] = []
        while gathering.nextDeadline != .never {
            let now = gathering.nextDeadline
            gathering.handleTimeout(now: now)
            while poll(&gathering, now: now) != nil {}
            while let event = gathering.pollEvent() { events.append(event) }
        }
        #expect(events == [.failed(.timedOut)])
        for length in 0..<40 {
            let bytes = [UInt8](repeating: 0, count: length)
            let path = NetworkPath(local: try address("192.0.2.1", 1), remote: try address("192.0.2.2", 2))
            let takes = gathering.handle(bytes.span.bytes, path: path, now: .zero)
            #expect(!takes)
        }
    }

    @Test("Requests of a socket that is gone are dropped, and a new one is asked about")
    func networkChange() throws {
        var gathering = gathering()
        let old = try address("192.0.2.1", 5_000)
        let new = try address("192.0.2.9", 5_001)
        let server = try address("198.51.100.1", 3_478)
        gathering.setSockets([old], now: .zero)
        gathering.addServer(server, now: .zero)
        let before = poll(&gathering, now: .zero)
        #expect(before?.path.local == old)
        gathering.setSockets([new], now: .zero + .seconds(1))
        let sent = requests(&gathering, until: .zero + .seconds(2))
        #expect(!sent.isEmpty && sent.allSatisfy { $0.path.local == new })
    }

    @Test("Servers and requests are bounded, however often the network changes")
    func bounded() throws {
        var gathering = gathering()
        for number in 1...20 { gathering.addServer(try address("198.51.100.\(number)", 3_478), now: .zero) }
        #expect(gathering.overflow == 20 - ServerReflexiveGathering.serverLimit)
        for round in 1...50 as ClosedRange<UInt16> {
            gathering.setSockets([try address("192.0.2.1", round)], now: .zero)
        }
        let asked = ServerReflexiveGathering.requestLimit / ServerReflexiveGathering.serverLimit
        #expect(
            gathering.overflow == 20 - ServerReflexiveGathering.serverLimit
                + (50 - asked) * ServerReflexiveGathering.serverLimit)
        #expect(gathering.isFinished)
    }

    @Test("Loopback sockets ask loopback servers, others the others")
    func scopes() throws {
        var gathering = gathering()
        gathering.setSockets([try address("127.0.0.1", 5_000), try address("fe80::1%2", 5_000)], now: .zero)
        gathering.addServer(try address("198.51.100.1", 3_478), now: .zero)
        gathering.addServer(try address("2001:db8::5", 3_478), now: .zero)
        #expect(gathering.isFinished)
        gathering.addServer(try address("127.0.0.1", 3_478), now: .zero)
        #expect(!gathering.isFinished)
    }

    @Test(
        "A server's URL is read",
        arguments: [
            ("stun:stun.example.net", "stun.example.net", 3_478), ("stun:192.0.2.1:5000", "192.0.2.1", 5_000),
            ("STUN://host.example:1?transport=udp", "host.example", 1), ("stun:[2001:db8::1]:9", "2001:db8::1", 9),
            ("stun:[2001:db8::1]", "2001:db8::1", 3_478),
        ])
    func urls(url: String, host: String, port: Int) throws {
        let server = try #require(STUNServer(url: url))
        #expect(server.host == host && Int(server.port) == port)
    }

    @Test(
        "A URL of no use is none",
        arguments: [
            "", "stun:", "stun:?", "stun::3478", "turn:a.example", "stuns:a.example", "stun:a?transport=tcp",
            "stun:a:0", "stun:a:65536", "stun:a:x", "stun:[::1", "stun:[::1]x", "stun:[name]", "stun:a b", "stun:u@h",
            "stun:a/b", "stun:" + String(repeating: "a", count: 300), "stun:::1", "stun:a:+1",
        ])
    func noServer(url: String) { #expect(STUNServer(url: url) == nil) }
}
