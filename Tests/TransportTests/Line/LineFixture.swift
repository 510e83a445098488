import ICELite
import Transport

/// Everything the writer of a line gives, in pieces of at most `piece` bytes.
func collected(piece: Int = 4_096, _ drain: (inout OutputRawSpan) -> Int) -> [UInt8] {
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: piece, alignment: 8)
    defer { room.deallocate() }
    var bytes: [UInt8] = []
    while true {
        var out = unsafe OutputRawSpan(buffer: room, initializedCount: 0)
        let moved = drain(&out)
        let count = unsafe out.finalize(for: room)
        bytes += Array(room[..<count])
        if moved == 0 { return bytes }
    }
}

/// A WebSocket frame, made by hand for the tests.
func frame(
    _ opcode: UInt8, _ payload: [UInt8], final: Bool = true, mask: [UInt8]? = nil, reserved: UInt8 = 0
) -> [UInt8] {
    var bytes: [UInt8] = [(final ? 0x80 : 0) | reserved | opcode]
    let masked: UInt8 = mask == nil ? 0 : 0x80
    switch payload.count {
    case ..<126: bytes.append(masked | UInt8(payload.count))
    case ..<65_536: bytes += [masked | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
    default:
        bytes.append(masked | 127)
        for shift in stride(from: 56, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: UInt64(payload.count) >> UInt64(shift)))
        }
    }
    guard let mask else { return bytes + payload }
    bytes += mask
    for (index, byte) in payload.enumerated() { bytes.append(byte ^ mask[index % 4]) }
    return bytes
}

/// What a reader gave, its bytes copied.
enum Heard: Hashable {
    case text([UInt8])
    case binary([UInt8])
    case tooLarge(Int)
    case ping([UInt8])
    case pong
    case close(UInt16?, String)
    case failure(UInt16)
}

/// Feeds `chunks` to a reader one by one and polls it dry after each.
func heard(_ chunks: [[UInt8]], isServer: Bool = false) -> [Heard] {
    var reader = WebSocketReader(isServer: isServer)
    var all: [Heard] = []
    for chunk in chunks {
        reader.receive(chunk.span.bytes)
        while let item = reader.next() {
            switch item {
            case .text(let range): all.append(.text(reader.bytes(range).withUnsafeBytes { Array($0) }))
            case .binary(let range): all.append(.binary(reader.bytes(range).withUnsafeBytes { Array($0) }))
            case .textTooLarge(let count): all.append(.tooLarge(count))
            case .ping(let range): all.append(.ping(reader.bytes(range).withUnsafeBytes { Array($0) }))
            case .pong: all.append(.pong)
            case .close(let code, let reason): all.append(.close(code, reason))
            case .failure(let code, _): all.append(.failure(code.rawValue))
            }
        }
    }
    return all
}

/// `bytes` cut in pieces of random sizes.
func pieces(_ bytes: [UInt8], _ randomness: inout Randomness) -> [[UInt8]] {
    var pieces: [[UInt8]] = []
    var at = 0
    while at < bytes.count {
        let size = min(bytes.count - at, Int.random(in: 1...40, using: &randomness))
        pieces.append(Array(bytes[at..<(at + size)]))
        at += size
    }
    return pieces
}

/// `bytes` with one to four bytes changed, removed or doubled.
func mutated(_ bytes: [UInt8], _ randomness: inout Randomness) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<Int.random(in: 1...4, using: &randomness) where !bytes.isEmpty {
        let at = Int.random(in: 0..<bytes.count, using: &randomness)
        switch randomness.next() % 4 {
        case 0: bytes[at] = UInt8(truncatingIfNeeded: randomness.next())
        case 1: bytes[at] ^= 1 << UInt8(randomness.next() % 8)
        case 2: bytes.remove(at: at)
        default: bytes.insert(bytes[at], at: at)
        }
    }
    return bytes
}

/// Both ends of a line and the stream between them.
struct LinePair: ~Copyable {
    var client: LineConnection
    var server: LineConnection
    var clientEvents: [LineConnection.Event] = []
    var serverEvents: [LineConnection.Event] = []
    /// The bytes of the messages that came, in order.
    var atClient: [[UInt8]] = []
    var atServer: [[UInt8]] = []
    var now = Instant.zero
    /// What the server says to an upgrade: nil accepts.
    var refusal: LineRefusal?
    var piece = 4_096

    init(_ url: CallLineURL, key: String? = "key-1", origin: String? = nil, refusal: LineRefusal? = nil) {
        client = .client(url: url, key: key, origin: origin, now: .zero, randomness: .seeded(1))
        server = .server(now: .zero, randomness: .seeded(2))
        self.refusal = refusal
    }

    /// Carries bytes both ways until nothing moves, `piece` bytes at a time.
    mutating func run() {
        for _ in 0..<100 {
            let up = collected { client.writeOutput(into: &$0) }
            for start in stride(from: 0, to: up.count, by: piece) {
                server.receive(Array(up[start..<min(start + piece, up.count)]).span.bytes, now: now)
                poll()
            }
            let down = collected { server.writeOutput(into: &$0) }
            for start in stride(from: 0, to: down.count, by: piece) {
                client.receive(Array(down[start..<min(start + piece, down.count)]).span.bytes, now: now)
                poll()
            }
            if up.isEmpty, down.isEmpty { break }
        }
        poll()
    }

    mutating func poll() {
        while let event = server.pollEvent() {
            serverEvents.append(event)
            switch event {
            case .upgradeRequested:
                if let refusal { server.refuse(refusal, now: now) } else { server.accept(now: now) }
            case .text(let range), .binary(let range): atServer.append(server.copyBytes(range))
            case .opened, .textTooLarge, .refused, .closed: break
            }
        }
        while let event = client.pollEvent() {
            clientEvents.append(event)
            switch event {
            case .text(let range), .binary(let range): atClient.append(client.copyBytes(range))
            case .upgradeRequested, .opened, .textTooLarge, .refused, .closed: break
            }
        }
    }
}
