/// Which addresses a lite end announces for the local ones it is bound to: for hosts behind a 1:1 NAT.
///
/// Only what is signalled changes: packets come to and leave from the local addresses, and the NAT rewrites them. The
/// announced address is a host candidate, as a lite end has no other kind (RFC 8445 §5.2).
package struct AnnouncedAddresses: Hashable, Sendable {
    private struct Entry: Hashable {
        /// nil: every local address of the family of `announced`.
        var local: IPAddress?
        var announced: IPAddress
    }

    private var entries: [Entry] = []

    /// Announces local addresses as they are.
    package init() {}

    /// Announces `announced` in place of `local`. Several for one local address are all announced, in this order.
    ///
    /// - Parameters:
    ///   - local: the local address; nil for every local address of the family of `announced`.
    ///   - announced: the address peers reach it by.
    /// - Returns: false, with nothing changed, for an unspecified or multicast `announced`, for two families, and past
    ///   `ICELimits.announcedAddresses` (32) entries.
    package mutating func add(_ announced: IPAddress, for local: IPAddress? = nil) -> Bool {
        let announced = announced.unmapped
        let local = local?.unmapped
        guard !announced.isUnspecified, !announced.isMulticast, local?.family ?? announced.family == announced.family,
            entries.count < ICELimits.announcedAddresses
        else { return false }
        entries.append(Entry(local: local, announced: announced))
        return true
    }

    /// The addresses to announce for `local`, ports kept: its own entries, else those for its family, else itself.
    package func announced(for local: SocketAddress) -> [SocketAddress] {
        let ip = local.ip.unmapped
        var chosen = entries.filter { $0.local == ip }
        if chosen.isEmpty { chosen = entries.filter { $0.local == nil && $0.announced.family == ip.family } }
        guard !chosen.isEmpty else { return [SocketAddress(ip: ip, port: local.port)] }
        return chosen.map { SocketAddress(ip: $0.announced, port: local.port) }
    }

    /// The host candidates that a lite end bound to `locals` signals: each address once, earlier ones preferred.
    package func candidates(for locals: [SocketAddress]) -> [ICECandidate] {
        var seen: Set<SocketAddress> = []
        return locals.flatMap(announced(for:)).filter { seen.insert($0).inserted }.enumerated().map {
            ICECandidate(host: $1, localPreference: UInt16(clamping: 65_535 - $0))
        }
    }
}
