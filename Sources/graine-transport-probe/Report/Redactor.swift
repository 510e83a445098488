internal import Foundation
internal import ICELite
internal import Synchronization

/// Hides addresses and host names in what leaves the machine, and keeps what a reader needs: the family, the class and
/// which are equal within the report. Credentials in URLs are hidden at every level.
final class Redactor: Sendable {
    private let level: ProbeOptions.Redaction
    private let hosts: [String]
    private let names = Mutex<[String: String]>([:])

    /// - Parameter hosts: Names that occur in the report besides addresses; addresses among them are found anyway.
    init(_ level: ProbeOptions.Redaction, hosts: [String]) {
        self.level = level
        self.hosts = hosts.filter { IPAddress($0) == nil && !$0.isEmpty }
    }

    /// `value` with every string in it redacted; keys stay.
    func json(_ value: JSONValue) -> JSONValue {
        switch value {
        case .string(let text): .string(self.text(text))
        case .array(let items): .array(items.map(json))
        case .object(let members): .object(members.map { .init(key: $0.key, value: json($0.value)) })
        case .null, .bool, .integer, .number: value
        }
    }

    /// `text` redacted.
    func text(_ text: String) -> String {
        var result = text.replacing(/:\/\/[^\/@\s]+@/, with: "://***@")
        guard level != .none else { return result }
        for host in hosts { result = result.replacing(host, with: name(host, prefix: "host")) }
        return addressesHidden(result)
    }

    private func addressesHidden(_ text: String) -> String {
        var result = ""
        var token = ""
        func flush() {
            result += hidden(token)
            token = ""
        }
        for character in text {
            if character.isHexDigit || character == "." || character == ":" {
                token.append(character)
            } else {
                // A letter that touches the token makes it a word, not an address.
                flush()
                result.append(character)
            }
        }
        flush()
        return result
    }

    /// A token of address characters: an address, an IPv4 address with a port, or neither.
    private func hidden(_ token: String) -> String {
        guard token.contains(where: { $0 == "." || $0 == ":" }) else { return token }
        var core = token[...]
        while let last = core.last, last == "." || (last == ":" && !core.hasSuffix("::")) { core.removeLast() }
        let tail = token[core.endIndex...]
        if let address = IPAddress(core) { return name(address) + tail }
        if let colon = core.lastIndex(of: ":"), let address = IPAddress(core[..<colon]), address.family == .v4 {
            return name(address) + core[colon...] + tail
        }
        return token
    }

    private func name(_ address: IPAddress) -> String {
        let kind = Self.kind(of: address)
        if level == .partial, kind != "public" { return address.description }
        return name(address.description, prefix: (address.family == .v4 ? "ipv4-" : "ipv6-") + kind)
    }

    private func name(_ text: String, prefix: String) -> String {
        names.withLock { names in
            if let known = names[text] { return known }
            let name = "<\(prefix)-\(names.count + 1)>"
            names[text] = name
            return name
        }
    }

    /// RFC 1918, RFC 6598, RFC 3927, RFC 4193.
    static func kind(of address: IPAddress) -> String {
        let address = address.unmapped
        if address.isLoopback { return "loopback" }
        if address.isLinkLocal { return "link-local" }
        if address.isUnspecified { return "unspecified" }
        if address.isMulticast { return "multicast" }
        if address.family == .v6 { return address.high >> 57 == 0xFC >> 1 ? "private" : "public" }
        let value = address.low
        if value >> 24 == 10 || value >> 20 == 0xAC1 || value >> 16 == 0xC0A8 { return "private" }
        if value >> 22 == 0x6440 >> 6 { return "cgnat" }
        return "public"
    }
}
