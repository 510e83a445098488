package import ICELite
internal import TransportLine

/// Reads along on a client's line: the texts it has sent, in order.
package final class LineSpy {
    /// Texts, in order.
    package private(set) var texts: [String] = []
    private var line = LineConnection.server(now: .zero, randomness: Randomness.seeded(9))

    package init() {}

    /// Takes bytes as they were sent.
    package func receive(_ bytes: [UInt8], now: Instant) {
        line.receive(bytes.span.bytes, now: now)
        while let event = line.pollEvent() {
            switch event {
            case .upgradeRequested: line.accept(now: now)
            case .text(let range):
                let bytes = line.bytes(range).copiedBytes
                texts.append(String(decoding: bytes, as: UTF8.self))
            default: break
            }
        }
    }

    /// The messages of one type.
    package func messages(_ type: String) -> [String] { texts.filter { $0.contains("\"transport.\(type)\"") } }
}
