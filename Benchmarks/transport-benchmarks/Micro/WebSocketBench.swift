internal import ICELite
internal import Transport

/// A client's WebSocket writer, a server's reader, and RTP that goes between them.
final class WebSocketBench {
    private let pool = PacketPool(size: 2)
    private var writer = WebSocketWriter(isClient: true, randomness: .seeded(1))
    private var reader = WebSocketReader(isServer: true)
    private let payload = [UInt8](repeating: 0x5A, count: 12 + SRTPBench.payloadByteCount)
    private(set) var received = 0

    func turn() {
        guard var packet = pool.take() else { return }
        let payload = payload
        writer.appendAudio(payload.span.bytes)
        _ = packet.write { writer.drain(into: &$0) }
        reader.receive(packet.bytes)
        if case .binary(let range) = reader.next(), range.count == payload.count { received += 1 }
        _ = reader.next()
    }
}
