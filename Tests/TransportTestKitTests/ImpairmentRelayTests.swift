import Foundation
import Glibc
import ICELite
import Testing
import TransportTestKit

/// Real sockets on loopback. Waits are limits, never measurements; one at a time, as descriptors are counted.
@Suite("Impairment relay", .serialized) struct ImpairmentRelayTests {
    private func relay(
        udp: [SocketAddress?] = [], tcp: SocketAddress? = nil,
        _ change: (inout ImpairmentRelay.Configuration) -> Void = { _ in }
    ) throws -> ImpairmentRelay {
        var configuration = ImpairmentRelay.Configuration()
        configuration.udpTargets = udp
        configuration.tcpTarget = tcp
        change(&configuration)
        return try ImpairmentRelay(configuration)
    }

    // MARK: - UDP

    @Test("Datagrams go to the target and answers back to the client that asked") func udpBothWays() throws {
        let targets = [RelayPeer.udp(), RelayPeer.udp()]
        let relay = try relay(udp: targets.map(\.address))
        defer { relay.stop() }
        for index in 0...1 {
            let clients = [RelayPeer.udp(to: relay.udpAddresses[index]), .udp(to: relay.udpAddresses[index])]
            for (number, client) in clients.enumerated() {
                client.send([UInt8(index), UInt8(number)])
                let seen = try #require(targets[index].receive())
                #expect(seen.bytes == [UInt8(index), UInt8(number)])
                targets[index].send(seen.bytes + [9], to: seen.from)
                #expect(client.receive()?.bytes == [UInt8(index), UInt8(number), 9])
            }
        }
        relay.stop()
        #expect(relay.counters.udpUp.delivered == 4 && relay.counters.udpDown.delivered == 4)
    }

    @Test("What does not pass by its content vanishes, both ways") func udpFilter() throws {
        let target = RelayPeer.udp()
        let relay = try relay(udp: [target.address]) { $0.passes = { $0.first == 1 } }
        defer { relay.stop() }
        let client = RelayPeer.udp(to: relay.udpAddresses[0])
        for bytes in [[2, 0], [1, 1]] as [[UInt8]] { client.send(bytes) }
        let seen = try #require(target.receive())
        #expect(seen.bytes == [1, 1])
        for bytes in [[2, 2], [1, 3]] as [[UInt8]] { target.send(bytes, to: seen.from) }
        #expect(client.receive()?.bytes == [1, 3])
        relay.stop()
        #expect(relay.counters.udpUp.sent == 1 && relay.counters.udpDown.sent == 1)
    }

    @Test("The delay of each direction is kept at least") func udpDelay() throws {
        let target = RelayPeer.udp()
        let relay = try relay(udp: [target.address]) {
            $0.udpUp.delay = .milliseconds(60)
            $0.udpDown.delay = .milliseconds(40)
        }
        defer { relay.stop() }
        let client = RelayPeer.udp(to: relay.udpAddresses[0])
        let clock = ContinuousClock()
        let start = clock.now
        client.send([1])
        let seen = try #require(target.receive())
        #expect(clock.now - start >= .milliseconds(60))
        target.send([2], to: seen.from)
        _ = try #require(client.receive())
        #expect(clock.now - start >= .milliseconds(100))
    }

    @Test("Loss, copies and order are those of the model with the same seed") func udpLoss() throws {
        let target = RelayPeer.udp()
        let relay = try relay(udp: [target.address]) {
            $0.udpUp.loss = .independent(percent: 30)
            $0.udpUp.duplicatePercent = 20
            $0.seed = 11
        }
        defer { relay.stop() }
        let client = RelayPeer.udp(to: relay.udpAddresses[0])
        for index in 0..<200 { client.send([UInt8(index)]) }
        var received: [UInt8] = []
        while let next = target.receive(within: 0.3) { received.append(next.bytes[0]) }
        let counters = relay.counters
        #expect(counters.udpUp.sent == 200)
        #expect(counters.udpUp.delivered + counters.udpUp.lost == 200)
        #expect((30...90).contains(counters.udpUp.lost))
        #expect((10...50).contains(counters.udpUp.duplicated))
        #expect(received.count == Int(counters.udpUp.delivered + counters.udpUp.duplicated))
        #expect(received == received.sorted())
    }

    @Test("A relay that rejects makes the kernel answer, and can be opened again on the same port") func udpReject()
        throws
    {
        let target = RelayPeer.udp()
        let relay = try relay(udp: [target.address]) { $0.udpUp.reachability = .reject }
        defer { relay.stop() }
        let client = RelayPeer.udp(to: relay.udpAddresses[0])
        client.send([1])
        #expect(client.receive() == nil)
        #expect(client.failure == ECONNREFUSED)

        relay.setUDP(up: LinkModel(), down: LinkModel())
        try waitFor(client: client, to: target)

        var reject = LinkModel()
        reject.reachability = .reject
        relay.setUDP(up: reject, down: LinkModel())
        var refused = false
        for _ in 0..<100 where !refused {
            client.send([2])
            refused = client.receive(within: 0.05) == nil && client.failure == ECONNREFUSED
        }
        #expect(refused)
    }

    /// Sends until the target hears of it: a command to the relay takes a turn of its loop.
    private func waitFor(client: RelayPeer, to target: RelayPeer) throws {
        for _ in 0..<100 {
            client.send([7])
            if target.receive(within: 0.05) != nil { return }
        }
        Issue.record("nothing came through")
    }

    @Test("Without a target datagrams vanish, and a target may come later") func udpWithoutTarget() throws {
        let relay = try relay(udp: [nil])
        defer { relay.stop() }
        let client = RelayPeer.udp(to: relay.udpAddresses[0])
        client.send([1])
        #expect(client.receive(within: 0.1) == nil && client.failure == 0)
        let target = RelayPeer.udp()
        relay.setUDPTarget(target.address)
        try waitFor(client: client, to: target)
        #expect(relay.counters.undeliverable == 1)
    }

    @Test("An outage swallows datagrams until it ends, a rebinding changes the client's port") func udpOutage() throws {
        let target = RelayPeer.udp()
        let relay = try relay(udp: [target.address])
        defer { relay.stop() }
        let client = RelayPeer.udp(to: relay.udpAddresses[0])
        client.send([1])
        let before = try #require(target.receive())
        relay.rebind()
        var after = before.from
        for _ in 0..<100 where after == before.from {
            client.send([2])
            after = target.receive(within: 1)?.from ?? before.from
        }
        #expect(after != before.from)
        target.send([3], to: after)
        #expect(client.receive()?.bytes == [3])

        relay.blockUDP(for: .seconds(60))
        var swallowed = false
        for _ in 0..<100 where !swallowed {
            client.send([4])
            swallowed = target.receive(within: 0.05) == nil
        }
        #expect(swallowed)
        relay.blockUDP(for: .zero)
        try waitFor(client: client, to: target)
    }

    @Test("A client that is one too many makes the quietest go") func manyClients() throws {
        let target = RelayPeer.udp()
        let relay = try relay(udp: [target.address])
        defer { relay.stop() }
        // Kept, so that no port is used twice.
        var clients: [RelayPeer] = []
        for index in 0..<(ImpairmentRelay.maximumClients + 4) {
            let client = RelayPeer.udp(to: relay.udpAddresses[0])
            clients.append(client)
            client.send([UInt8(truncatingIfNeeded: index)])
            #expect(target.receive() != nil)
        }
        relay.stop()
        #expect(relay.counters.evictedClients == 4)
    }

    // MARK: - TCP

    private func connect(
        _ relay: ImpairmentRelay, _ listener: RelayPeer
    ) throws -> (client: RelayPeer, server: RelayPeer) {
        let address = try #require(relay.tcpAddress)
        return (try #require(RelayPeer.tcp(to: address)), try #require(listener.accept()))
    }

    @Test("A stream passes both ways byte for byte, with loss and jitter, and ends in order") func tcpBothWays() throws
    {
        let listener = RelayPeer.listener()
        let bad = LinkModel(
            delay: .milliseconds(2), jitter: .uniform(spread: .milliseconds(2)), loss: .independent(percent: 1))
        let relay = try relay(tcp: listener.address) {
            $0.lineUp = bad
            $0.lineDown = bad
        }
        defer { relay.stop() }
        let (client, server) = try connect(relay, listener)
        let bytes = (0..<60_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        #expect(client.send(bytes) == bytes.count)
        #expect(server.receive(count: bytes.count) == bytes)
        #expect(server.send(bytes) == bytes.count)
        shutdown(server.descriptor, Int32(SHUT_WR))
        #expect(client.receive(count: bytes.count) == bytes)
        #expect(client.receive()?.bytes == [])
        // The other direction is still open.
        #expect(client.send([1]) == 1)
        #expect(server.receive()?.bytes == [1])
        shutdown(client.descriptor, Int32(SHUT_WR))
        #expect(server.receive()?.bytes == [])
        relay.stop()
        #expect(relay.counters.lineUpBytes == 60_001 && relay.counters.lineDownBytes == 60_000)
        #expect(relay.counters.connections == 1)
    }

    @Test("A stream is not faster than its rate, and what it cannot carry is left with the sender") func tcpRate()
        throws
    {
        let listener = RelayPeer.listener()
        let relay = try relay(tcp: listener.address) { $0.lineUp.bitsPerSecond = 800_000 }
        defer { relay.stop() }
        let (client, server) = try connect(relay, listener)
        let clock = ContinuousClock()
        let start = clock.now
        #expect(client.send([UInt8](repeating: 1, count: 40_000)) == 40_000)
        #expect(server.receive(count: 40_000).count == 40_000)
        #expect(clock.now - start >= .milliseconds(399))
    }

    @Test("A reader that is slow loses nothing, and a connection that both ends have ended is gone")
    func slowReader() throws {
        let listener = RelayPeer.listener()
        let relay = try relay(tcp: listener.address)
        defer { relay.stop() }
        let (client, server) = try connect(relay, listener)
        shutdown(server.descriptor, Int32(SHUT_WR))
        #expect(client.receive()?.bytes == [])
        // More than the kernel and the relay hold together, so that the relay must wait for room.
        let byteCount = 16 * 1_024 * 1_024
        let descriptor = client.descriptor
        let sender = Thread {
            let part = [UInt8](repeating: 3, count: 65_536)
            for _ in 0..<(byteCount / part.count) {
                var sent = 0
                while sent < part.count {
                    let count = part[sent...].withUnsafeBytes {
                        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                    }
                    guard count > 0 else { return }
                    sent += count
                }
            }
            shutdown(descriptor, Int32(SHUT_WR))
        }
        sender.start()
        // The slow reader: meanwhile the sender fills kernel and relay. Shorter would test less, and fail nothing.
        usleep(300_000)
        #expect(server.receive(count: byteCount).count == byteCount)
        #expect(server.receive()?.bytes == [])
        // The relay counts on its own thread.
        for _ in 0..<3_000 where relay.counters.openConnections > 0 { usleep(10_000) }
        #expect(relay.counters.openConnections == 0)
        withExtendedLifetime(client) {}
    }

    @Test("Lines are cut by close, reset and silence; new ones are accepted") func tcpCuts() throws {
        let listener = RelayPeer.listener()
        let relay = try relay(tcp: listener.address)
        defer { relay.stop() }
        for cut in [ImpairmentRelay.Cut.close, .reset, .silence] {
            let (client, server) = try connect(relay, listener)
            client.send([1])
            #expect(server.receive()?.bytes == [1])
            relay.cutLines(cut)
            switch cut {
            case .close:
                #expect(client.receive()?.bytes == [] && server.receive()?.bytes == [])
            case .reset:
                #expect(client.receive() == nil && client.failure == ECONNRESET)
                #expect(server.receive() == nil && server.failure == ECONNRESET)
            case .silence:
                // The cut takes a turn of the loop; then nothing comes.
                var last = server.receive(within: 0.05)
                for _ in 0..<100 {
                    client.send([2])
                    last = server.receive(within: 0.05)
                    if last == nil { break }
                }
                #expect(last == nil && server.failure == 0)
            }
        }
    }

    @Test("A target that refuses and a line that rejects reset the client") func tcpRefused() throws {
        var closed: RelayPeer? = .listener()
        let address = try #require(closed?.address)
        closed = nil
        let relay = try relay(tcp: address)
        let front = try #require(relay.tcpAddress)
        let client = try #require(RelayPeer.tcp(to: front))
        #expect(client.receive() == nil && client.failure == ECONNRESET)
        relay.stop()
        #expect(relay.counters.refusedConnections == 1)

        let listener = RelayPeer.listener()
        let rejecting = try self.relay(tcp: listener.address) { $0.lineUp.reachability = .reject }
        let rejectingFront = try #require(rejecting.tcpAddress)
        let second = try #require(RelayPeer.tcp(to: rejectingFront))
        #expect(second.receive() == nil && second.failure == ECONNRESET)
        rejecting.stop()
        #expect(rejecting.counters.refusedConnections == 1)
    }

    // MARK: - Life

    @Test("Stopping closes every socket and ends the thread, however often, also with traffic under way")
    func stopIsClean() async {
        // In a process of its own: other suites have descriptors open, too.
        await #expect(processExitsWith: .success) { try ImpairmentRelayTests().stopCleanly() }
    }

    private func stopCleanly() throws {
        let udpTarget = RelayPeer.udp()
        let listener = RelayPeer.listener()
        let before = ProcessFigures.now().descriptors
        for _ in 0..<10 {
            let relay = try relay(udp: [udpTarget.address, nil], tcp: listener.address) {
                $0.udpUp.delay = .seconds(10)
                $0.lineUp.delay = .seconds(10)
            }
            let (client, server) = try connect(relay, listener)
            client.send([1])
            #expect(RelayPeer.relayThreads() == 1)
            let sender = RelayPeer.udp(to: relay.udpAddresses[0])
            sender.send([1])
            relay.stop()
            relay.stop()
            #expect(server.receive() == nil && server.failure == ECONNRESET)
        }
        // Dropped without stop.
        _ = try relay(udp: [udpTarget.address])
        // Its thread ends by itself, which nothing tells of, and the peers' last descriptors close with their objects.
        // A library may open two once, whenever it likes; each relay that was forgotten would be five.
        let limit = before + 2
        for _ in 0..<1_000 where RelayPeer.relayThreads() > 0 || ProcessFigures.now().descriptors > limit {
            usleep(10_000)
        }
        #expect(ProcessFigures.now().descriptors <= limit, "\(before) before, \(ProcessFigures.descriptorKinds())")
        #expect(RelayPeer.relayThreads() == 0)
    }

    @Test("A port that is taken is an error, not a crash") func portTaken() throws {
        let taken = RelayPeer.udp()
        #expect(throws: RelayError.system(call: "bind", code: EADDRINUSE)) {
            try relay(udp: [nil]) { $0.udpPort = taken.address.port }
        }
    }

    @Test("IPv6 is relayed, also to an IPv4 target") func ipv6() throws {
        let target = RelayPeer.udp()
        let relay = try relay(udp: [target.address]) { $0.bind = .loopbackV6 }
        defer { relay.stop() }
        #expect(relay.udpAddresses[0].ip == .loopbackV6)
        // Through a second relay, whose target is the first one's address.
        let front = try self.relay(udp: [relay.udpAddresses[0]])
        defer { front.stop() }
        let client = RelayPeer.udp(to: front.udpAddresses[0])
        client.send([6])
        let seen = try #require(target.receive())
        target.send([4], to: seen.from)
        #expect(client.receive()?.bytes == [4])
    }
}
