package import ICELite

/// Why a text is no URL of a call line.
package enum CallLineURLError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Neither `wss://` nor `ws://`.
    case scheme
    /// `ws://` to a host that is not a literal loopback address, and insecure lines were not asked for.
    case insecure(host: String)
    /// User name or password before the host.
    case userInfo
    /// No host, or one with characters a host cannot have.
    case host
    /// A port that is not 1…65535.
    case port
    /// A `#fragment`, which no server is sent.
    case fragment
    /// White space, a control character or something beyond ASCII: it must be percent-encoded.
    case character
    /// Longer than `CallLineURL.maximumLength`.
    case tooLong

    package var description: String {
        switch self {
        case .scheme: "the URL must begin with wss:// (or ws:// to 127.0.0.1 or [::1])"
        case .insecure(let host):
            "ws:// is only for 127.0.0.0/8 and [::1], and \(host) is neither: use wss://, or allow insecure lines by name"
        case .userInfo: "the URL must not hold a user name or password: the key has a setting of its own"
        case .host: "the URL has no valid host"
        case .port: "the URL's port must be 1…65535"
        case .fragment: "the URL must not hold a #fragment"
        case .character: "the URL holds a character that must be percent-encoded (or a host that needs its xn-- form)"
        case .tooLong: "the URL is longer than \(CallLineURL.maximumLength) characters"
        }
    }
}

/// Where a call line is opened: `wss://host[:port]/path?query`, or `ws://` to the own machine.
package struct CallLineURL: Hashable, Sendable {
    /// Longest URL that is taken, in characters.
    package static let maximumLength = 2_048

    /// Whether TLS is used.
    package let isSecure: Bool
    /// The host in lower case, an IPv6 literal without its brackets.
    package let host: String
    /// The port: as given, else 443 or 80.
    package let port: UInt16
    /// Path and query as the request line has them, at least "/".
    package let path: String
    /// The address when the host is a literal: then nothing is looked up, and TLS sends no SNI.
    package let literal: IPAddress?

    /// Whether the key may go to this host: over TLS, or to a literal loopback address.
    package var mayCarryKey: Bool { isSecure || literal?.isLoopback == true }

    /// The `Host` header's value: host, and the port unless it is the scheme's own.
    package var hostHeader: String {
        let name = literal?.family == .v6 ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }

    /// Parses `text`.
    ///
    /// - Parameter allowInsecure: `ws://` to any host; the key then stays at home unless the host is a literal loopback.
    package init(_ text: String, allowInsecure: Bool = false) throws(CallLineURLError) {
        let characters = Array(text.utf8)
        guard characters.count <= Self.maximumLength else { throw .tooLong }
        guard characters.allSatisfy({ (0x21...0x7E).contains($0) && !#""<>\^`{|}"#.utf8.contains($0) }) else {
            throw .character
        }
        guard let colon = characters.firstIndex(of: UInt8(ascii: ":")) else { throw .scheme }
        switch String(decoding: characters[..<colon], as: UTF8.self).lowercased() {
        case "wss": isSecure = true
        case "ws": isSecure = false
        default: throw .scheme
        }
        var rest = characters[(colon + 1)...]
        guard rest.starts(with: "//".utf8) else { throw .scheme }
        rest = rest.dropFirst(2)
        guard !rest.contains(UInt8(ascii: "#")) else { throw .fragment }
        let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
        let authority = rest[rest.startIndex..<end]
        let target = String(decoding: rest[end...], as: UTF8.self)
        path = target.utf8.first == UInt8(ascii: "/") ? target : "/" + target
        guard !authority.contains(UInt8(ascii: "@")) else { throw .userInfo }

        var name = authority
        var digits = authority[authority.endIndex...]
        if authority.first == UInt8(ascii: "[") {
            guard let bracket = authority.firstIndex(of: UInt8(ascii: "]")) else { throw .host }
            name = authority[(authority.startIndex + 1)..<bracket]
            digits = authority[(bracket + 1)...]
            guard digits.isEmpty || digits.first == UInt8(ascii: ":") else { throw .host }
            host = String(decoding: name, as: UTF8.self).lowercased()
            guard let address = IPAddress(host), address.family == .v6 else { throw .host }
            literal = address
        } else {
            if let separator = authority.firstIndex(of: UInt8(ascii: ":")) {
                name = authority[..<separator]
                digits = authority[separator...]
            }
            host = String(decoding: name, as: UTF8.self).lowercased()
            guard Self.isHostName(host) else { throw .host }
            literal = IPAddress(host)
        }
        if digits.isEmpty {
            port = isSecure ? 443 : 80
        } else {
            let number = digits.dropFirst()
            guard (1...5).contains(number.count), number.allSatisfy({ (0x30...0x39).contains($0) }),
                let value = UInt16(String(decoding: number, as: UTF8.self)), value > 0
            else { throw .port }
            port = value
        }
        guard isSecure || allowInsecure || literal?.isLoopback == true else { throw .insecure(host: host) }
    }

    /// Letters, digits, hyphens and underscores in labels of 1…63, 253 in all; a last label of digits only is an IPv4
    /// address or nothing (so that 0x7f.1 and 127.1 are no way around the loopback rule).
    private static func isHostName(_ name: String) -> Bool {
        guard (1...253).contains(name.utf8.count) else { return false }
        let labels = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let proper = name.utf8.last == UInt8(ascii: ".") ? labels.dropLast() : labels[...]
        guard !proper.isEmpty else { return false }
        for label in proper {
            guard (1...63).contains(label.count), label.first != UInt8(ascii: "-"), label.last != UInt8(ascii: "-"),
                label.allSatisfy({ byte in
                    (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "-")
                        || byte == UInt8(ascii: "_")
                })
            else { return false }
        }
        if let last = proper.last, last.allSatisfy({ (0x30...0x39).contains($0) }) { return IPAddress(name) != nil }
        return true
    }
}
