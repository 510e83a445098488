internal import ICELite
internal import Transport
import TransportRuntime

/// A client's call line, a server's, and audio packets that go between them.
final class WebSocketBench {
    private let pool = PacketPool(size: 2)
    private var client: LineConnection
    private var server = LineConnection.server(now: .zero, randomness: .seeded(2))
    private let payload = [UInt8](repeating: 0x5A, count: 12 + SRTPBench.payloadByteCount)
    /// Packets that arrived whole.
    private(set) var received = 0

    /// Opens the line between the two.
    init() throws {
        client = LineConnection.client(
            url: try CallLineURL("ws://127.0.0.1/"), key: nil, now: .zero, randomness: .seeded(1))
        for _ in 0..<4 {
            carry(&client, &server)
            while let event = server.pollEvent() { if case .upgradeRequested = event { server.accept(now: .zero) } }
            carry(&server, &client)
            while client.pollEvent() != nil {}
        }
    }

    func turn() {
        let payload = payload
        _ = client.sendBinary(payload.span.bytes)
        carry(&client, &server)
        while let event = server.pollEvent() {
            if case .binary(let range) = event, range.count == payload.count { received += 1 }
        }
    }

    private func carry(_ source: inout LineConnection, _ target: inout LineConnection) {
        guard var packet = pool.take() else { return }
        _ = packet.write { source.writeOutput(into: &$0) }
        if packet.count > 0 { target.receive(packet.bytes, now: .zero) }
    }
}
