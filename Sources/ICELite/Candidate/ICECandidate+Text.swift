extension ICECandidate {
    /// Longest attribute that is read, bytes.
    public static let maximumTextLength = 1_024

    /// Reads `candidate:…` or `a=candidate:…`, with or without a line end (RFC 8839 §5.1). The transport is compared in
    /// any case.
    ///
    /// - Throws: `.skip` for what is well-formed and not for us, `.malformed` for what is neither.
    public init(parsing text: String) throws(ICECandidateError) {
        guard text.utf8.count <= Self.maximumTextLength else { throw .malformed(.length) }
        var bytes = Array(text.utf8)[...]
        while let last = bytes.last, last == 0x0D || last == 0x0A || last == 0x20 { bytes.removeLast() }
        if bytes.starts(with: Array("a=".utf8)) { bytes = bytes.dropFirst(2) }
        let prefix = Array("candidate:".utf8)
        guard bytes.starts(with: prefix) else { throw .malformed(.prefix) }
        let fields = bytes.dropFirst(prefix.count).split(separator: 0x20, omittingEmptySubsequences: true)
            .map { String(decoding: $0, as: UTF8.self) }
        guard fields.count >= 8 else { throw .malformed(.length) }

        guard (1...32).contains(fields[0].utf8.count), fields[0].utf8.allSatisfy(ICECredentials.isICECharacter) else {
            throw .malformed(.foundation)
        }
        guard let component = Self.number(fields[1], as: UInt16.self), (1...256).contains(component) else {
            throw .malformed(.component)
        }
        guard let priority = Self.number(fields[3], as: UInt32.self) else { throw .malformed(.priority) }
        guard let port = Self.number(fields[5], as: UInt16.self) else { throw .malformed(.port) }
        guard fields[6].lowercased() == "typ" else { throw .malformed(.type) }
        guard fields[2].lowercased() == "udp" else { throw .skip(.transport) }
        guard let kind = Kind(rawValue: fields[7].lowercased()) else { throw .skip(.type) }
        let ip = try Self.address(fields[4])
        guard port != 0 else { throw .malformed(.port) }

        self.init(
            foundation: fields[0], component: component, priority: priority,
            address: SocketAddress(ip: ip, port: port), kind: kind)
        try readExtensions(fields.dropFirst(8))
    }

    private static func address(_ text: String) throws(ICECandidateError) -> IPAddress {
        guard let ip = IPAddress(withoutZone(text))?.unmapped else {
            if text.lowercased().hasSuffix(".local") { throw .skip(.mdnsName) }
            let isName = text.utf8.allSatisfy {
                ICECredentials.isICECharacter($0) && $0 != 0x2B && $0 != 0x2F || $0 == 0x2E || $0 == 0x2D
            }
            guard isName, text.utf8.contains(where: { $0 > 0x39 }) else { throw .malformed(.address) }
            throw .skip(.hostName)
        }
        guard !ip.isUnspecified, !ip.isMulticast else { throw .skip(.address) }
        return ip
    }

    /// The text of an IPv6 address up to its zone, which means something only on the host that names it and may be a
    /// name (RFC 4007 §11).
    private static func withoutZone(_ text: String) -> Substring {
        guard text.utf8.contains(UInt8(ascii: ":")), let percent = text.firstIndex(of: "%"),
            text.index(after: percent) < text.endIndex
        else { return text[...] }
        return text[..<percent]
    }

    /// The pairs behind the type: `raddr`, `rport`, `ufrag`, and extensions that are passed over.
    private mutating func readExtensions(_ fields: ArraySlice<String>) throws(ICECandidateError) {
        guard fields.count % 2 == 0 else { throw .malformed(.extensions) }
        var ip: IPAddress?
        var port: UInt16?
        for index in stride(from: fields.startIndex, to: fields.endIndex, by: 2) {
            let value = fields[index + 1]
            switch fields[index].lowercased() {
            case "raddr":
                // A name is allowed here, and of no use.
                ip = IPAddress(value)
            case "rport":
                guard let number = Self.number(value, as: UInt16.self) else { throw .malformed(.relatedAddress) }
                port = number
            case "ufrag":
                guard (4...256).contains(value.utf8.count), value.utf8.allSatisfy(ICECredentials.isICECharacter) else {
                    throw .malformed(.extensions)
                }
                ufrag = value
            default:
                break
            }
        }
        if let ip, let port { relatedAddress = SocketAddress(ip: ip, port: port) }
    }

    /// Digits alone: no sign, which `init(_:)` would take.
    private static func number<T: FixedWidthInteger>(_ text: String, as type: T.Type) -> T? {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? T(text) : nil
    }

    /// The attribute's text, `candidate:…`, without `a=` and line end. Zone ids are never written.
    public var attribute: String {
        var text = "candidate:\(foundation) \(component) udp \(priority) \(Self.text(address.ip)) \(address.port)"
        text += " typ \(kind.rawValue)"
        if let relatedAddress {
            text += " raddr \(Self.text(relatedAddress.ip)) rport \(relatedAddress.port)"
        } else if kind != .host {
            // RFC 8839 §5.1: both must be there for a reflexive or relayed candidate; these say nothing.
            text += address.ip.family == .v4 ? " raddr 0.0.0.0 rport 9" : " raddr :: rport 9"
        }
        if let ufrag { text += " ufrag \(ufrag)" }
        return text
    }

    private static func text(_ ip: IPAddress) -> String {
        ip.zone == 0 ? ip.description : IPAddress(v6High: ip.high, low: ip.low).description
    }
}
