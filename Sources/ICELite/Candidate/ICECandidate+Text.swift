extension ICECandidate {
    /// Longest attribute that is read, bytes.
    public static let maximumTextLength = 1_024

    /// Most fields that are read, names and values of extensions counted apart; browsers write 22 at most.
    public static let maximumFields = 40

    /// Reads `candidate:…` or `a=candidate:…`, with or without a line end (RFC 8839 §5.1). The transport is compared in
    /// any case. O(`maximumTextLength`); what is refused allocates nothing.
    ///
    /// - Throws: `.skip` for what is well-formed and not for us, `.malformed` for what is neither.
    public init(parsing text: String) throws(ICECandidateError) {
        guard text.utf8.count <= Self.maximumTextLength else { throw .malformed(.length) }
        try self.init(ICECandidateFields(text.utf8Span.span))
    }

    private init(_ fields: consuming ICECandidateFields) throws(ICECandidateError) {
        _ = fields.skip("a=")
        guard fields.skip("candidate:") else { throw .malformed(.prefix) }
        guard let foundation = fields.next(), let componentField = fields.next(), let transport = fields.next(),
            let priorityField = fields.next(), let addressField = fields.next(), let portField = fields.next(),
            let typ = fields.next(), let type = fields.next()
        else { throw .malformed(.length) }

        guard foundation.count <= 32, fields.isICEText(foundation) else { throw .malformed(.foundation) }
        guard let component = fields.number(componentField, upTo: 256), component > 0 else {
            throw .malformed(.component)
        }
        guard let priority = fields.number(priorityField, upTo: .max) else { throw .malformed(.priority) }
        guard let port = fields.port(portField) else { throw .malformed(.port) }
        guard fields.word(typ) == .typ else { throw .malformed(.type) }
        guard fields.word(transport) == .udp else { throw .skip(.transport) }
        guard let kind = Kind(fields.word(type)) else { throw .skip(.type) }
        let ip = try fields.candidateAddress(addressField)
        guard port != 0 else { throw .malformed(.port) }
        let extensions = try fields.extensions()

        self.init(
            foundation: fields.text(foundation), component: UInt16(component), priority: priority,
            address: SocketAddress(ip: ip, port: port), kind: kind, relatedAddress: extensions.relatedAddress,
            ufrag: extensions.ufrag.map { fields.text($0) })
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

extension ICECandidate.Kind {
    fileprivate init?(_ word: ICECandidateFields.Word) {
        switch word {
        case .host: self = .host
        case .srflx: self = .serverReflexive
        case .prflx: self = .peerReflexive
        case .relay: self = .relayed
        default: return nil
        }
    }
}

extension ICECandidateFields {
    /// What stands behind the type and is of use.
    fileprivate struct Extensions {
        var relatedAddress: SocketAddress?
        var ufrag: Range<Int>?
    }

    fileprivate func port(_ field: Range<Int>) -> UInt16? { number(field, upTo: UInt32(UInt16.max)).map(UInt16.init) }

    /// Longest name that can be one (RFC 1035 §2.3.4), bytes; every address is shorter.
    private static var maximumName: Int { 255 }

    fileprivate func candidateAddress(_ field: Range<Int>) throws(ICECandidateError) -> IPAddress {
        guard field.count <= Self.maximumName else { throw .malformed(.address) }
        guard let ip = IPAddress(bytes.extracting(withoutZone(field)))?.unmapped else {
            if field.count >= 6, word((field.upperBound - 6)..<field.upperBound) == .local { throw .skip(.mdnsName) }
            guard isHostName(field) else { throw .malformed(.address) }
            throw .skip(.hostName)
        }
        guard !ip.isUnspecified, !ip.isMulticast else { throw .skip(.address) }
        return ip
    }

    /// An IPv6 address up to its zone, which means something only on the host that names it and may be a name (RFC 4007
    /// §11).
    private func withoutZone(_ field: Range<Int>) -> Range<Int> {
        var isV6 = false
        for index in field {
            if bytes[index] == UInt8(ascii: ":") { isV6 = true }
            guard bytes[index] == UInt8(ascii: "%"), isV6, index + 1 < field.upperBound else { continue }
            return field.lowerBound..<index
        }
        return field
    }

    /// Letters, digits, dots and hyphens, of which one is a letter.
    private func isHostName(_ field: Range<Int>) -> Bool {
        var hasLetter = false
        for index in field {
            switch bytes[index] {
            case 0x41...0x5A, 0x61...0x7A: hasLetter = true
            case 0x30...0x39, 0x2D, 0x2E: break
            default: return false
            }
        }
        return hasLetter
    }

    /// Reads the pairs behind the type: `raddr`, `rport`, `ufrag`, and extensions that are passed over.
    fileprivate mutating func extensions() throws(ICECandidateError) -> Extensions {
        var extensions = Extensions()
        var ip: IPAddress?
        var port: UInt16?
        var fields = 8
        while let name = next() {
            guard let value = next() else { throw .malformed(.extensions) }
            fields += 2
            guard fields <= ICECandidate.maximumFields else { throw .malformed(.length) }
            // As long as those we know.
            guard name.count == 5 else { continue }
            switch word(name) {
            case .raddr:
                // A name is allowed here, and of no use.
                ip = IPAddress(bytes.extracting(value))
            case .rport:
                guard let number = self.port(value) else { throw .malformed(.relatedAddress) }
                port = number
            case .ufrag:
                guard (4...256).contains(value.count), isICEText(value) else { throw .malformed(.extensions) }
                extensions.ufrag = value
            default:
                break
            }
        }
        if let ip, let port { extensions.relatedAddress = SocketAddress(ip: ip, port: port) }
        return extensions
    }
}
