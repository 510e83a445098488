/// A STUN server by name, from configuration or welcome.
package struct STUNServer: Hashable, Sendable {
    /// Longest host that is taken, bytes (RFC 1035 §2.3.4).
    private static let hostLimit = 255
    private static let defaultPort: UInt16 = 3_478

    /// A name, or a literal address without brackets.
    package let host: String
    package let port: UInt16

    /// Reads `stun:host[:port]` (RFC 7064 §3.1), also with `//` as some write it and `?transport=udp`.
    ///
    /// Nil for other schemes and transports (`stuns:`, `turn:`, TCP) and what is malformed: they are of no use here.
    package init?(url: String) {
        guard url.utf8.count <= Self.hostLimit + 32, url.lowercased().hasPrefix("stun:") else { return nil }
        var rest = url.dropFirst(5)
        if rest.hasPrefix("//") { rest = rest.dropFirst(2) }
        if let query = rest.firstIndex(of: "?") {
            guard rest[query...].lowercased() == "?transport=udp" else { return nil }
            rest = rest[..<query]
        }
        var port = Self.defaultPort
        if rest.hasPrefix("[") {
            guard let end = rest.firstIndex(of: "]") else { return nil }
            let behind = rest[rest.index(after: end)...]
            rest = rest[rest.index(after: rest.startIndex)..<end]
            guard rest.contains(":") else { return nil }
            if !behind.isEmpty {
                guard behind.hasPrefix(":"), let number = Self.port(behind.dropFirst()) else { return nil }
                port = number
            }
        } else if let colon = rest.firstIndex(of: ":") {
            guard let number = Self.port(rest[rest.index(after: colon)...]) else { return nil }
            port = number
            rest = rest[..<colon]
        }
        let isPlain = rest.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x2F && $0 != 0x40 }
        guard !rest.isEmpty, rest.utf8.count <= Self.hostLimit, isPlain else { return nil }
        host = String(rest)
        self.port = port
    }

    private static func port(_ text: Substring) -> UInt16? {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(text), number > 0 else {
            return nil
        }
        return number
    }
}
