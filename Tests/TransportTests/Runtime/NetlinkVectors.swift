import Foundation
import ICELite
import Testing

@testable import TransportRuntime

/// Routing messages as a kernel (Linux 6.18) wrote them about a namespace with a loopback and two ends of a veth, `va` (3)
/// and `vb` (2): the dumps, then what it said as `va` was changed. One datagram a line, a comment before each part.
enum NetlinkVectors {
    static let va: UInt32 = 3

    /// The parts of the recording by their headings.
    static func parts() throws -> [String: [[UInt8]]] {
        let url = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Vectors/Runtime/netlink.hex")
        var parts: [String: [[UInt8]]] = [:]
        var name = ""
        for line in try String(contentsOf: url, encoding: .utf8).split(separator: "\n") {
            if line.hasPrefix("# ") {
                name = String(line.dropFirst(2))
            } else {
                let digits = Array(line)
                parts[name, default: []].append(
                    try stride(from: 0, to: digits.count, by: 2).map { index in
                        try #require(UInt8(String(digits[index...index + 1]), radix: 16))
                    })
            }
        }
        return parts
    }

    static func part(_ name: String) throws -> [[UInt8]] { try #require(try parts()[name]) }

    /// A message about a route (rtnetlink(7), `struct rtmsg`) with the attributes `attribute`.
    static func route(
        kind: UInt8 = 24, family: UInt8 = 2, prefixLength: UInt8 = 0, table: UInt8 = 254, attribute: [UInt8] = []
    ) -> [UInt8] {
        octets(UInt8(28 + attribute.count), 0, 0, 0, kind, 0, 0, 0) + [UInt8](repeating: 0, count: 8)
            + octets(family, prefixLength, 0, 0, table, 3, 0, 1, 0, 0, 0, 0) + attribute
    }

    /// `datagram` with another sequence number in each of its messages.
    static func renumbered(_ datagram: [UInt8], _ sequence: UInt32) -> [UInt8] {
        var bytes = datagram
        var start = 0
        while start + 16 <= bytes.count {
            withUnsafeBytes(of: sequence) { bytes.replaceSubrange(start + 8..<start + 12, with: $0) }
            let length = Int(bytes[start]) | Int(bytes[start + 1]) << 8
            start += (length + 3) & ~3
        }
        return bytes
    }
}
