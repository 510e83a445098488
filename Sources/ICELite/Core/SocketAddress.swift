/// An IPv4 or IPv6 address; a link-local one carries its zone.
public struct IPAddress: Hashable, Sendable {
    /// The two versions of the protocol.
    public enum Family: UInt8, Hashable, Sendable {
        case v4 = 4
        case v6 = 6
    }

    /// Which version of IP this is an address of.
    public let family: Family
    /// The first 8 bytes of an IPv6 address as a big-endian number; 0 for IPv4.
    public let high: UInt64
    /// The last 8 bytes of an IPv6 address, or the IPv4 address in the low 32 bits.
    public let low: UInt64
    /// RFC 4007 zone: the interface index of a link-local IPv6 address, 0 for every other.
    public let zone: UInt32

    /// An IPv4 address from its 32-bit value: 127.0.0.1 is `0x7F00_0001`.
    public init(v4 value: UInt32) {
        family = .v4
        high = 0
        low = UInt64(value)
        zone = 0
    }

    /// An IPv6 address from its two halves, most significant first. The zone is dropped unless the address is link-local.
    public init(v6High high: UInt64, low: UInt64, zone: UInt32 = 0) {
        family = .v6
        self.high = high
        self.low = low
        self.zone = high >> 54 == 0xFE80 >> 6 ? zone : 0
    }

    /// 127.0.0.1.
    public static let loopbackV4 = IPAddress(v4: 0x7F00_0001)
    /// ::1.
    public static let loopbackV6 = IPAddress(v6High: 0, low: 1)
    /// 0.0.0.0, the address of a socket bound to every IPv4 interface.
    public static let anyV4 = IPAddress(v4: 0)
    /// ::, the address of a socket bound to every interface.
    public static let anyV6 = IPAddress(v6High: 0, low: 0)

    /// 127.0.0.0/8 or ::1.
    public var isLoopback: Bool { family == .v4 ? low >> 24 == 127 : high == 0 && low == 1 }
    /// 169.254.0.0/16 or fe80::/10.
    public var isLinkLocal: Bool { family == .v4 ? low >> 16 == 0xA9FE : high >> 54 == 0xFE80 >> 6 }
    /// 0.0.0.0 or ::.
    public var isUnspecified: Bool { high == 0 && low == 0 }
    /// 224.0.0.0/4 or ff00::/8.
    public var isMulticast: Bool { family == .v4 ? low >> 28 == 0xE : high >> 56 == 0xFF }

    /// The IPv4 address inside an IPv4-mapped IPv6 address (::ffff:a.b.c.d); the address itself when it is none.
    public var unmapped: IPAddress {
        family == .v6 && high == 0 && low >> 32 == 0xFFFF ? IPAddress(v4: UInt32(truncatingIfNeeded: low)) : self
    }
}

/// An IP address and a UDP or TCP port.
public struct SocketAddress: Hashable, Sendable {
    /// The host.
    public var ip: IPAddress
    /// The port, 0…65535, in host order.
    public var port: UInt16

    public init(ip: IPAddress, port: UInt16) {
        self.ip = ip
        self.port = port
    }
}

// MARK: - Text

extension IPAddress: CustomStringConvertible {
    /// Parses dotted-quad IPv4 or RFC 4291 §2.2 IPv6 text, with an optional `%zone` of digits. Nil when it is neither.
    public init?(_ text: some StringProtocol) {
        if text.utf8.contains(UInt8(ascii: ":")) {
            guard let address = Self.parseV6(Array(text.utf8)) else { return nil }
            self = address
        } else {
            guard let value = Self.parseV4(Array(text.utf8)[...]) else { return nil }
            self.init(v4: value)
        }
    }

    /// Dotted quad, or the canonical form of RFC 5952, with `%zone` when there is one.
    public var description: String {
        if family == .v4 { return (0..<4).map { String(low >> (24 - 8 * UInt64($0)) & 0xFF) }.joined(separator: ".") }
        let groups = (0..<8).map { index in
            UInt16(truncatingIfNeeded: (index < 4 ? high : low) >> (48 - 16 * UInt64(index % 4)))
        }
        let suffix = zone == 0 ? "" : "%\(zone)"
        if high == 0, low >> 32 == 0xFFFF { return "::ffff:\(unmapped)" }
        // RFC 5952 §4.2: the longest run of two or more zero groups becomes "::", the first of equals.
        var best = 0..<0
        var start = 0
        for index in 0...8 where index == 8 || groups[index] != 0 {
            if index - start > max(1, best.count) { best = start..<index }
            start = index + 1
        }
        let text = { (part: ArraySlice<UInt16>) in part.map { String($0, radix: 16) }.joined(separator: ":") }
        if best.isEmpty { return text(groups[...]) + suffix }
        return text(groups[..<best.lowerBound]) + "::" + text(groups[best.upperBound...]) + suffix
    }

    private static func parseV4(_ text: ArraySlice<UInt8>) -> UInt32? {
        var value: UInt32 = 0
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        for part in parts {
            guard (1...3).contains(part.count), part.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            let octet = part.reduce(0) { $0 * 10 + UInt32($1 - 0x30) }
            // A leading zero is refused: some parsers read it as octal.
            guard octet <= 255, part.count == 1 || part.first != 0x30 else { return nil }
            value = value << 8 | octet
        }
        return value
    }

    private static func parseV6(_ text: [UInt8]) -> IPAddress? {
        var text = text[...]
        var zone: UInt32 = 0
        if let percent = text.firstIndex(of: UInt8(ascii: "%")) {
            let digits = String(decoding: text[(percent + 1)...], as: UTF8.self)
            guard let number = UInt32(digits), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
                return nil
            }
            zone = number
            text = text[..<percent]
        }
        var head: [UInt16] = []
        var tail: [UInt16] = []
        var compressed = false
        if text.starts(with: [0x3A, 0x3A]) {
            compressed = true
            text = text.dropFirst(2)
        }
        while let first = text.first {
            if first == 0x3A {
                guard !compressed, !head.isEmpty else { return nil }
                compressed = true
                text = text.dropFirst()
                if text.isEmpty { break }
            }
            let end = text.firstIndex(of: 0x3A) ?? text.endIndex
            let part = text[text.startIndex..<end]
            var groups: [UInt16]
            if part.contains(0x2E) {
                guard end == text.endIndex, let v4 = parseV4(part) else { return nil }
                groups = [UInt16(v4 >> 16), UInt16(truncatingIfNeeded: v4)]
            } else {
                guard (1...4).contains(part.count),
                    let group = UInt16(String(decoding: part, as: UTF8.self), radix: 16),
                    part.first != UInt8(ascii: "+"), part.first != UInt8(ascii: "-")
                else { return nil }
                groups = [group]
            }
            if compressed { tail += groups } else { head += groups }
            guard head.count + tail.count <= 8 else { return nil }
            text = text[end...]
            if text.isEmpty { break }
            text = text.dropFirst()
            if text.isEmpty { return nil }
        }
        let missing = 8 - head.count - tail.count
        guard compressed ? missing >= 1 : missing == 0 else { return nil }
        let groups = head + Array(repeating: 0, count: missing) + tail
        let half = { (part: ArraySlice<UInt16>) in part.reduce(UInt64(0)) { $0 << 16 | UInt64($1) } }
        return IPAddress(v6High: half(groups[..<4]), low: half(groups[4...]), zone: zone)
    }
}

extension SocketAddress: CustomStringConvertible {
    /// `192.0.2.1:3478`, `[2001:db8::1]:3478`.
    public var description: String { ip.family == .v4 ? "\(ip):\(port)" : "[\(ip)]:\(port)" }
}
