import ICELite
import Testing
import Transport

@testable import TransportRuntime

@Suite("STUN servers of a call on sockets", .timeLimit(.minutes(10))) struct STUNServerCallTests {
    @Test("A session asks the STUN server that its configuration names, and is active though that is silent")
    func asks() async throws {
        try await withLoop { loop in
            let asked = Happenings<Int>()
            let socket = Box(try UDPSocket.open(bind: SocketAddress(ip: .loopbackV4, port: 0)))
            await loop.run {
                let pool = PacketPool(size: 8)
                try? loop.register(socket.value.fd, interest: .readable) { _ in
                    socket.value.receive(into: pool) { packet, _, _ in
                        if STUNMessage.isSTUN(packet.bytes) { asked.add(packet.count) }
                    }
                }
            }
            let site = try LoopbackCallTests.Site()
            var configuration = site.configuration()
            configuration.stunServers = ["stun:localhost:\(socket.value.localAddress.port)"]
            let session = try TransportSession(configuration: configuration)
            try session.start()
            #expect(await asked.next() == 28)
            var isActive = false
            for await event in session.events {
                if case .stateChanged(.active) = event {
                    isActive = true
                    break
                }
            }
            #expect(isActive && session.snapshot.transport == .webrtc)
            session.end()
            site.endpoint.stop()
            await loop.run {
                loop.unregister(socket.value.fd)
                socket.value.close()
            }
        }
    }

    @Test("A server that is no stun URL is refused when the session is made")
    func refused() throws {
        var configuration = TransportConfiguration(url: "wss://example.com/call")
        configuration.stunServers = ["turn:example.com"]
        #expect(throws: TransportError.invalidOptions("stunServers: turn:example.com is not stun:host[:port]")) {
            try TransportSession(configuration: configuration)
        }
    }
}
