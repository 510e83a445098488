import Foundation
import ICELite
import Testing

@testable import TransportLine

/// Both ends of a line in memory, and the helpers its tests read as scripts with.
enum LineFixtures {
    static let url = "wss://agent.example/call?agent=support"

    static func vector(_ name: String) throws -> Data {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        return try Data(contentsOf: folder.appendingPathComponent("Vectors/Line/\(name)"))
    }

    static func json<T: Decodable>(_ name: String, as: T.Type) throws -> T {
        try JSONDecoder().decode(T.self, from: vector(name))
    }

    /// The reads of a .hex case, one a line.
    static func reads(_ name: String) throws -> [[UInt8]] {
        String(decoding: try vector(name), as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
            .map { bytes(hex: String($0)) }
    }

    static func bytes(hex: String) -> [UInt8] {
        let digits = Array(hex.utf8)
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(decoding: digits[$0...($0 + 1)], as: UTF8.self), radix: 16)
        }
    }

    static func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: .milliseconds(milliseconds)) }
}

extension ByteQueue {
    /// A copy of what is in the queue.
    var array: [UInt8] { bytes.withUnsafeBytes { Array($0) } }
}

extension UTF8Check {
    /// Feeds an array.
    mutating func feed(_ array: [UInt8]) -> Bool { feed(array.span.bytes) }
}

/// An event with its bytes copied out.
enum Seen: Equatable {
    case upgradeRequested(UpgradeRequest)
    case opened
    case text(String)
    case binary([UInt8])
    case textTooLarge(Int)
    case refused(LineRefusal)
    case closed(UInt16?, String)

    var code: UInt16?? { if case .closed(let code, _) = self { .some(code) } else { nil } }
}

/// A line behind a class, so that a test can hold two.
final class LineEnd {
    var line: LineConnection
    var seen: [Seen] = []

    init(_ line: consuming LineConnection) { self.line = line }

    static func client(key: String? = "key", origin: String? = nil, url: String = LineFixtures.url) throws -> LineEnd {
        LineEnd(
            .client(
                url: try CallLineURL(url), key: key, origin: origin, now: .zero, randomness: .seeded(7)))
    }

    static func server() -> LineEnd { LineEnd(.server(now: .zero, randomness: .seeded(8))) }

    // What the macros cannot read of a value that cannot be copied.
    var hasOutput: Bool { line.hasOutput }
    var isFinished: Bool { line.isFinished }
    var isPinging: Bool { line.isPinging }
    var nextDeadline: Instant { line.nextDeadline }
    var counters: LineCounters { line.counters }
    var shortestRoundTrip: Nanoseconds? { line.shortestRoundTrip }

    @discardableResult func sendText(_ text: [UInt8]) -> Bool { line.sendText(text) }
    @discardableResult func sendText(_ text: String) -> Bool { line.sendText(Array(text.utf8)) }
    @discardableResult func sendBinary(_ packet: [UInt8]) -> Bool { line.sendBinary(packet.span.bytes) }

    func receive(_ bytes: [UInt8], now: Instant = .zero) {
        line.receive(bytes.span.bytes, now: now)
        drain()
    }

    func drain() {
        while let event = line.pollEvent() {
            switch event {
            case .upgradeRequested(let request): seen.append(.upgradeRequested(request))
            case .opened: seen.append(.opened)
            case .text(let range):
                seen.append(.text(String(decoding: copy(range), as: UTF8.self)))
            case .binary(let range): seen.append(.binary(copy(range)))
            case .textTooLarge(let count): seen.append(.textTooLarge(count))
            case .refused(let refusal): seen.append(.refused(refusal))
            case .closed(let code, let reason): seen.append(.closed(code, reason))
            }
        }
    }

    private func copy(_ range: Range<Int>) -> [UInt8] {
        line.withBytes(range) { bytes in bytes.withUnsafeBytes { Array($0) } }
    }

    /// Everything the end has to say, written `chunk` bytes at a time.
    func output(chunk: Int = 65_536) -> [UInt8] {
        var all: [UInt8] = []
        while line.hasOutput {
            let piece = write(chunk)
            if piece.isEmpty { break }
            all += piece
        }
        return all
    }

    func write(_ room: Int) -> [UInt8] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: room, alignment: 1)
        defer { buffer.deallocate() }
        var out = unsafe OutputRawSpan(buffer: buffer, initializedCount: 0)
        let written = line.writeOutput(into: &out)
        let count = unsafe out.finalize(for: buffer)
        #expect(count == written)
        return Array(buffer[0..<count])
    }

    /// Texts and control events that came, newest last; empties the list.
    func take() -> [Seen] {
        defer { seen = [] }
        return seen
    }

    /// An end that is open, as a client that a server with `seed`'s accept has answered.
    static func open() throws -> (client: LineEnd, server: LineEnd) {
        let client = try client()
        let server = server()
        server.receive(client.output())
        server.line.accept(now: .zero)
        server.drain()
        client.receive(server.output())
        #expect(client.take() == [.opened])
        #expect(server.take().last == .opened)
        return (client, server)
    }

    /// Lets both ends talk until neither has anything to say.
    static func settle(_ left: LineEnd, _ right: LineEnd, now: Instant = .zero) {
        for _ in 0..<16 {
            let forth = left.output()
            if !forth.isEmpty { right.receive(forth, now: now) }
            let back = right.output()
            if !back.isEmpty { left.receive(back, now: now) }
            if forth.isEmpty, back.isEmpty { return }
        }
    }
}
