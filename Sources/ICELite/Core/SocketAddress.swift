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
        let bytes = Array(text.utf8)
        self.init(bytes.span)
    }

    /// Bytes of eight groups, the last two as IPv4, with a zone: nothing longer is an address.
    private static var maximumTextLength: Int { 45 + 11 }

    /// Parses the same from ASCII bytes. Does not allocate.
    init?(_ text: borrowing Span<UInt8>) {
        guard text.count <= Self.maximumTextLength else { return nil }
        var isV6 = false
        for index in text.indices where text[index] == UInt8(ascii: ":") { isV6 = true }
        if isV6 {
            guard let address = Self.parseV6(text) else { return nil }
            self = address
        } else {
            guard let value = Self.parseV4(text, in: 0..<text.count) else { return nil }
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

    private static func parseV4(_ text: borrowing Span<UInt8>, in range: Range<Int>) -> UInt32? {
        var value: UInt32 = 0
        var octet: UInt32 = 0
        var digits = 0
        var dots = 0
        for index in range {
            switch text[index] {
            case UInt8(ascii: "."):
                guard digits > 0, dots < 3 else { return nil }
                value = value << 8 | octet
                dots += 1
                octet = 0
                digits = 0
            case let byte where (0x30...0x39).contains(byte):
                // A leading zero is refused: some parsers read it as octal.
                guard digits == 0 || octet != 0 else { return nil }
                octet = octet * 10 + UInt32(byte - 0x30)
                digits += 1
                guard octet <= 255 else { return nil }
            default: return nil
            }
        }
        return digits > 0 && dots == 3 ? value << 8 | octet : nil
    }

    private static func parseV6(_ text: borrowing Span<UInt8>) -> IPAddress? {
        let colon = UInt8(ascii: ":")
        var end = 0
        while end < text.count, text[end] != UInt8(ascii: "%") { end += 1 }
        guard let zone = zone(text, from: end) else { return nil }
        // The groups as they come, and how many stand ahead of "::".
        var groups = InlineArray<8, UInt16>(repeating: 0)
        var count = 0
        var head: Int?
        var index = 0
        if end >= 2, text[0] == colon, text[1] == colon {
            head = 0
            index = 2
        }
        while index < end {
            if text[index] == colon {
                guard head == nil, count > 0 else { return nil }
                head = count
                index += 1
                if index == end { break }
            }
            let start = index
            var group: UInt32 = 0
            var isV4 = false
            while index < end, text[index] != colon {
                if let digit = hexDigit(text[index]) {
                    group = group << 4 | UInt32(digit)
                } else if text[index] == UInt8(ascii: ".") {
                    isV4 = true
                } else {
                    return nil
                }
                index += 1
            }
            if isV4 {
                guard index == end, count <= 6, let v4 = parseV4(text, in: start..<end) else { return nil }
                groups[count] = UInt16(v4 >> 16)
                groups[count + 1] = UInt16(truncatingIfNeeded: v4)
                count += 2
            } else {
                guard (1...4).contains(index - start), count < 8 else { return nil }
                groups[count] = UInt16(truncatingIfNeeded: group)
                count += 1
            }
            guard index < end else { break }
            index += 1
            if index == end { return nil }
        }
        guard head == nil ? count == 8 : count < 8 else { return nil }
        return address(of: groups, count: count, head: head ?? 8, zone: zone)
    }

    /// Puts the zeros in that "::" stands for, behind the first `head` of `count` groups.
    private static func address(
        of groups: InlineArray<8, UInt16>, count: Int, head: Int, zone: UInt32
    ) -> IPAddress {
        var halves: (high: UInt64, low: UInt64) = (0, 0)
        for place in 0..<8 {
            let group = place < head ? place : place - (8 - count)
            let value = group >= 0 && (place < head || group >= head) ? UInt64(groups[group]) : 0
            if place < 4 { halves.high = halves.high << 16 | value } else { halves.low = halves.low << 16 | value }
        }
        return IPAddress(v6High: halves.high, low: halves.low, zone: zone)
    }

    /// The digits behind the `%` at `index`; 0 when the text ends there.
    private static func zone(_ text: borrowing Span<UInt8>, from index: Int) -> UInt32? {
        guard index < text.count else { return 0 }
        guard index + 1 < text.count else { return nil }
        var zone: UInt32 = 0
        for index in (index + 1)..<text.count {
            guard (0x30...0x39).contains(text[index]) else { return nil }
            let (product, isTooLong) = zone.multipliedReportingOverflow(by: 10)
            let (sum, isTooMuch) = product.addingReportingOverflow(UInt32(text[index] - 0x30))
            guard !isTooLong, !isTooMuch else { return nil }
            zone = sum
        }
        return zone
    }

    private static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }
}

extension SocketAddress: CustomStringConvertible {
    /// `192.0.2.1:3478`, `[2001:db8::1]:3478`.
    public var description: String { ip.family == .v4 ? "\(ip):\(port)" : "[\(ip)]:\(port)" }
}
