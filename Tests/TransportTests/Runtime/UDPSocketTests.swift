import Glibc
import ICELite
import Testing

@testable import TransportRuntime

@Suite(.timeLimit(.minutes(10)))
struct UDPSocketTests {
    private struct Arrival: Equatable {
        var bytes: [UInt8]
        var from: SocketAddress
        var local: SocketAddress
    }

    private func receive(_ count: Int, on socket: UDPSocket, pool: PacketPool) -> [Arrival] {
        var arrivals: [Arrival] = []
        for _ in 0..<200 where arrivals.count < count {
            var poll = pollfd(fd: socket.fd, events: Int16(POLLIN), revents: 0)
            _ = Glibc.poll(&poll, 1, 100)
            socket.receive(into: pool) { packet, from, local in
                let bytes = packet.bytes.withUnsafeBytes { Array($0) }
                arrivals.append(Arrival(bytes: bytes, from: from, local: local))
            }
        }
        return arrivals
    }

    private func enqueue(
        _ byte: UInt8, on socket: UDPSocket, pool: PacketPool, to remote: SocketAddress,
        from local: SocketAddress? = nil
    ) {
        guard var packet = pool.take() else {
            Issue.record("the pool is empty")
            return
        }
        packet.write { $0.append(byte, as: UInt8.self) }
        socket.enqueue(packet, to: remote, from: local)
    }

    @Test(arguments: IPAddress.loopbacks)
    func batchesGoOutAndComeInInOrderAndGiveTheirBuffersBack(ip: IPAddress) throws {
        let pool = PacketPool(size: 64)
        let receiver = try UDPSocket.open(bind: SocketAddress(ip: ip, port: 0))
        let sender = try UDPSocket.open(bind: SocketAddress(ip: ip, port: 0))
        for index in 0..<100 as Range<UInt8> {
            enqueue(index, on: sender, pool: pool, to: receiver.localAddress)
        }
        #expect(sender.flush() == .sent)
        let arrivals = receive(100, on: receiver, pool: pool)
        #expect(arrivals.map(\.bytes) == (0..<100).map { [$0] })
        #expect(arrivals.allSatisfy { $0.from == sender.localAddress && $0.local == receiver.localAddress })
        #expect(pool.taken == 0)
        #expect(sender.counters.sent == 100)
        #expect(receiver.counters.received == 100)
    }

    @Test func whatComesIsAnsweredInItsOwnBufferWhileTheRestIsHandedOn() throws {
        let pool = PacketPool(size: 64)
        let relay = try UDPSocket.open(bind: SocketAddress(ip: .loopbackV4, port: 0))
        let peer = try UDPSocket.open(bind: SocketAddress(ip: .loopbackV4, port: 0))
        for index in 0..<100 as Range<UInt8> {
            enqueue(index, on: peer, pool: pool, to: relay.localAddress)
        }
        #expect(peer.flush() == .sent)
        var answered = 0
        for _ in 0..<200 where answered < 100 {
            var poll = pollfd(fd: relay.fd, events: Int16(POLLIN), revents: 0)
            _ = Glibc.poll(&poll, 1, 100)
            answered += relay.receiveTurn(into: pool) { packet, from, local in
                relay.enqueue(packet, to: from, from: local)
            }
            relay.flush()
        }
        #expect(receive(100, on: peer, pool: pool).map(\.bytes) == (0..<100).map { [$0] })
        #expect(pool.taken == 0 && relay.counters.sent == 100)
    }

    @Test func aTurnLeavesTheRestOfAFloodInTheSocket() throws {
        let pool = PacketPool(size: 64)
        let receiver = try UDPSocket.open(bind: SocketAddress(ip: .loopbackV4, port: 0))
        let sender = try UDPSocket.open(bind: SocketAddress(ip: .loopbackV4, port: 0))
        let turn = UDPSocket.turnLimit * UDPSocket.batchLimit
        for _ in 0..<(turn + 10) { enqueue(1, on: sender, pool: pool, to: receiver.localAddress) }
        #expect(sender.flush() == .sent)
        var turns: [Int] = []
        for _ in 0..<3 { turns.append(receiver.receiveTurn(into: pool) { _, _, _ in }) }
        #expect(turns == [turn, 10, 0])
    }

    @Test func anEmptyPoolLeavesTheDatagramInTheSocket() throws {
        let pool = PacketPool(size: 1)
        let socket = try UDPSocket.open(bind: SocketAddress(ip: .loopbackV4, port: 0))
        #expect(socket.send(octets(1, 2).span.bytes, to: socket.localAddress) == .sent)
        do {
            let held = pool.take()
            let isHeld = held != nil
            #expect(isHeld)
            #expect(socket.receive(into: pool) { _, _, _ in } == 0)
        }
        #expect(socket.counters.withoutBuffer == 1)
        #expect(receive(1, on: socket, pool: pool).map(\.bytes) == [[1, 2]])
    }

    @Test func aDatagramLongerThanAPacketIsDroppedAndCounted() throws {
        let pool = PacketPool(size: 4)
        let socket = try UDPSocket.open(bind: SocketAddress(ip: .loopbackV4, port: 0))
        let long = [UInt8](repeating: 7, count: PacketPool.packetCapacity + 1)
        #expect(socket.send(long.span.bytes, to: socket.localAddress) == .sent)
        #expect(socket.send(octets(9).span.bytes, to: socket.localAddress) == .sent)
        #expect(receive(1, on: socket, pool: pool).map(\.bytes) == [[9]])
        #expect(socket.counters.truncated == 1)
    }

    @Test func aWildcardSocketAnswersFromTheAddressItWasAsked() throws {
        let pool = PacketPool(size: 8)
        let server = try UDPSocket.open(bind: SocketAddress(ip: .anyV4, port: 0))
        let client = try UDPSocket.open(bind: SocketAddress(ip: .loopbackV4, port: 0))
        let asked = SocketAddress(ip: IPAddress(v4: 0x7F00_0007), port: server.localAddress.port)
        #expect(client.send(octets(1).span.bytes, to: asked) == .sent)
        let request = try #require(receive(1, on: server, pool: pool).first)
        #expect(request.local == asked)
        #expect(server.send(octets(2).span.bytes, to: request.from, from: request.local) == .sent)
        enqueue(3, on: server, pool: pool, to: request.from, from: request.local)
        server.flush()
        #expect(receive(2, on: client, pool: pool).map(\.from) == [asked, asked])
    }

    @Test func aWildcardIPv6SocketLearnsItsAddress() throws {
        let pool = PacketPool(size: 8)
        let server = try UDPSocket.open(bind: SocketAddress(ip: .anyV6, port: 0))
        let client = try UDPSocket.open(bind: SocketAddress(ip: .loopbackV6, port: 0))
        let asked = SocketAddress(ip: .loopbackV6, port: server.localAddress.port)
        #expect(client.send(octets(1).span.bytes, to: asked) == .sent)
        let request = try #require(receive(1, on: server, pool: pool).first)
        #expect(request.local == asked)
        #expect(server.send(octets(2).span.bytes, to: request.from, from: request.local) == .sent)
        #expect(receive(1, on: client, pool: pool).map(\.from) == [asked])
    }

    @Test(arguments: IPAddress.loopbacks)
    func portUnreachableIsReadFromTheErrorQueueWithItsReporter(ip: IPAddress) throws {
        let closed = try UDPSocket.open(bind: SocketAddress(ip: ip, port: 0)).localAddress
        let socket = try UDPSocket.open(bind: SocketAddress(ip: ip, port: 0))
        #expect(socket.send(octets(1).span.bytes, to: closed) == .sent)
        var errors: [DatagramError] = []
        for _ in 0..<50 where errors.isEmpty {
            var poll = pollfd(fd: socket.fd, events: 0, revents: 0)
            _ = Glibc.poll(&poll, 1, 100)
            socket.drainErrors { errors.append($0) }
        }
        let error = try #require(errors.first)
        #expect(error.destination == closed)
        #expect(error.errno == ECONNREFUSED)
        #expect(error.icmpType == (ip.family == .v4 ? 3 : 1))
        #expect(error.icmpCode == (ip.family == .v4 ? 3 : 4))
        #expect(error.reporter == ip)
        #expect(!error.isLocal)
    }

    @Test func anErrorThatAnEarlierDatagramLeftCostsTheNextOneNothing() throws {
        let pool = PacketPool(size: 8)
        let closed = try UDPSocket.open(bind: SocketAddress(ip: .loopbackV4, port: 0)).localAddress
        let receiver = try UDPSocket.open(bind: SocketAddress(ip: .loopbackV4, port: 0))
        let socket = try UDPSocket.open(bind: SocketAddress(ip: .loopbackV4, port: 0))
        for batched in [false, true] {
            #expect(socket.send(octets(1).span.bytes, to: closed) == .sent)
            var poll = pollfd(fd: socket.fd, events: 0, revents: 0)
            #expect(Glibc.poll(&poll, 1, 2_000) == 1)
            if batched {
                enqueue(2, on: socket, pool: pool, to: receiver.localAddress)
                #expect(socket.flush() == .sent)
            } else {
                #expect(socket.send(octets(2).span.bytes, to: receiver.localAddress) == .sent)
            }
            #expect(receive(1, on: receiver, pool: pool).map(\.bytes) == [[2]])
            var errors: [DatagramError] = []
            socket.drainErrors { errors.append($0) }
            #expect(errors.map(\.destination) == [closed])
        }
        #expect(socket.counters.staleErrors == 2)
    }

    @Test func aDatagramThatIsTooLongIsRefusedLocallyAndTheSocketLives() throws {
        let socket = try UDPSocket.open(bind: SocketAddress(ip: .loopbackV4, port: 0))
        let long = [UInt8](repeating: 0, count: 65_536)
        #expect(socket.send(long.span.bytes, to: socket.localAddress) == .failed(errno: EMSGSIZE))
        #expect(
            socket.send(octets(1).span.bytes, to: SocketAddress(ip: .loopbackV6, port: 9))
                == .failed(errno: EAFNOSUPPORT))
        #expect(socket.send(octets(1).span.bytes, to: socket.localAddress) == .sent)
        #expect(socket.counters.failed == 2)
    }

    @Test(arguments: IPAddress.loopbacks)
    func whatThisMachineRefusesIsToldOnceAndNotByTheErrorQueueAsWell(ip: IPAddress) throws {
        let socket = try UDPSocket.open(bind: SocketAddress(ip: ip, port: 0))
        // Fits a UDP length and no IP packet: the kernel refuses it, and writes about it into the queue.
        let long = [UInt8](repeating: 0, count: 65_530)
        for _ in 0..<3 {
            #expect(socket.send(long.span.bytes, to: socket.localAddress) == .failed(errno: EMSGSIZE))
        }
        var errors: [DatagramError] = []
        socket.drainErrors { errors.append($0) }
        #expect(errors.isEmpty)
        var poll = pollfd(fd: socket.fd, events: 0, revents: 0)
        #expect(Glibc.poll(&poll, 1, 0) == 0)
        #expect(socket.counters.failed == 3)
    }

    @Test func aTakenPortIsNamed() throws {
        let first = try UDPSocket.open(bind: SocketAddress(ip: .loopbackV4, port: 0))
        #expect(throws: SocketError.addressInUse(first.localAddress)) { try UDPSocket.open(bind: first.localAddress) }
        let foreign = SocketAddress(ip: IPAddress(v4: 0xC000_0201), port: 0)
        #expect(throws: SocketError.addressNotAvailable(foreign)) { try UDPSocket.open(bind: foreign) }
    }

    @Test func interfacesNameTheLoopbackAndTheSourceTowardsIt() {
        #expect(NetworkInterfaces.addresses(includingLoopback: true).contains(.loopbackV4))
        #expect(!NetworkInterfaces.addresses().contains(.loopbackV4))
        let target = SocketAddress(ip: .loopbackV4, port: 5_000)
        #expect(NetworkInterfaces.localAddress(towards: target) == .loopbackV4)
    }

    @Test func addressesSurviveTheirCForm() {
        let addresses = [
            SocketAddress(ip: .loopbackV4, port: 65_535), SocketAddress(ip: .loopbackV6, port: 0),
            SocketAddress(ip: IPAddress(v6High: 0xFE80 << 48, low: 7, zone: 3), port: 1_234),
        ]
        for address in addresses { #expect(SocketAddress(.init(address)) == address) }
        #expect(SocketAddress(nil, length: 0) == nil)
        for length in 0..<16 as Range<UInt32> {
            var raw = sockaddr()
            raw.sa_family = UInt16(AF_INET)
            #expect(SocketAddress(&raw, length: length) == nil)
        }
    }
}
