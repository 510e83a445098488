import Foundation
import Testing

@testable import TransportMedia

/// Reads the vectors beside the tests.
enum RTPVectors {
    static func url(_ name: String, file: String = #filePath) -> URL {
        URL(filePath: file).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Vectors").appending(path: name)
    }

    /// The packets of a file of hexadecimal lines; `#` begins a comment.
    static func packets(_ name: String) throws -> [[UInt8]] {
        try String(contentsOf: url("RTP/" + name), encoding: .utf8).split(separator: "\n")
            .filter { !$0.hasPrefix("#") }.map { bytes(hex: String($0)) }
    }

    static func json<T: Decodable>(_ name: String, as type: T.Type) throws -> T {
        try JSONDecoder().decode(type, from: Data(contentsOf: url("RTP/" + name)))
    }

    static func bytes(hex: String) -> [UInt8] {
        let digits = hex.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
        return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
    }

    /// What `body` writes.
    static func written(
        _ capacity: Int = 2_048, _ body: (inout OutputRawSpan) throws -> Void
    ) rethrows -> [UInt8] {
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 16)
        defer { room.deallocate() }
        var out = OutputRawSpan(buffer: room, initializedCount: 0)
        try body(&out)
        let count = out.finalize(for: room)
        return Array(room[..<count])
    }
}

/// A case of a public bug report, as `Vectors/RTP/srtp-rtp.json` has it.
enum RTPCase {
    private struct Missing: Error { var id: String }

    /// What the case called `id` expects.
    static func expect<T: Decodable>(_ id: String, as type: T.Type = T.self) throws -> T {
        let data = try Data(contentsOf: RTPVectors.url("RTP/srtp-rtp.json"))
        guard let cases = try JSONSerialization.jsonObject(with: data) as? [[String: Any]],
            let expect = cases.first(where: { $0["id"] as? String == id })?["expect"]
        else { throw Missing(id: id) }
        return try JSONDecoder().decode(
            type, from: JSONSerialization.data(withJSONObject: expect, options: .fragmentsAllowed))
    }
}
