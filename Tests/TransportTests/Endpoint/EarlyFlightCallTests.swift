import ICELite
import Testing

@testable import Transport
@testable import TransportRuntime

/// A relay between a client's media socket and an endpoint's that lets no check pass before a handshake record.
///
/// `@unchecked Sendable`: confined to `loop` but for its address.
private final class ChecklessRelay: @unchecked Sendable {
    let address: SocketAddress
    private let socket: UDPSocket
    private let loop: EventLoop
    private let endpoint: SocketAddress
    private let pool = PacketPool(size: 64)
    private var client: SocketAddress?
    private var hasFlightPassed = false

    init(to endpoint: SocketAddress, loop: EventLoop) throws {
        self.endpoint = endpoint
        self.loop = loop
        socket = try UDPSocket.open(bind: SocketAddress(ip: .loopbackV4, port: 0))
        address = socket.localAddress
    }

    func start() throws {
        try loop.register(socket.fd, interest: .readable) { [unowned self] _ in
            socket.receive(into: pool) { packet, from, _ in pass(packet, from) }
        }
    }

    func stop() {
        loop.unregister(socket.fd)
        socket.close()
    }

    private func pass(_ packet: consuming Packet, _ from: SocketAddress) {
        if from == endpoint {
            if let client { _ = socket.send(packet.bytes, to: client) }
            return
        }
        client = from
        if DatagramKind(of: packet.bytes) == .dtls { hasFlightPassed = true }
        if hasFlightPassed { _ = socket.send(packet.bytes, to: endpoint) }
    }
}

@Suite("Calls whose handshake overtakes the check", .serialized) struct EarlyFlightCallTests {
    @Test("A flight that comes before the first check waits for it at the endpoint, and is taken") func waits()
        async throws
    {
        var configuration = EndpointConfiguration()
        configuration.identity = .none
        let driver = try EndpointDriver(configuration) { call in
            for await _ in call.events {}
        }
        defer { driver.stop() }
        let line = try #require(driver.lineAddresses.first)
        try await withLoop { loop in
            let relay = try ChecklessRelay(
                to: SocketAddress(ip: .loopbackV4, port: driver.udpPort), loop: loop)
            await loop.run { try? relay.start() }
            var configuration = TransportConfiguration(url: "ws://\(line)/")
            configuration.localAddress = .loopbackV4
            configuration.pathDetour = { [address = relay.address] _ in address }
            let session = try TransportSession(configuration: configuration)
            try session.start()
            for await event in session.events {
                guard case .stateChanged(.active) = event else { continue }
                #expect(session.snapshot.transport == .webrtc, "\(String(describing: session.snapshot.fallback))")
                session.end()
            }
            _ = await session.outcome()
            #expect(driver.loop.perform { driver.earlyFlights.claimed } ?? 0 >= 1)
            await loop.run { relay.stop() }
        }
    }
}
