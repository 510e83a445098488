internal import ICELite
internal import TransportRuntime

/// What an endpoint tells a client of where its media sockets are reached.
struct AnnouncedAddresses: Sendable {
    /// Candidates in one answer at most.
    static let limit = 16

    private let listening: [IPAddress]
    private let substitutes: [IPAddress: IPAddress]

    /// - Parameter substitutes: `EndpointConfiguration.announcedAddresses`.
    /// - Throws: `invalidOptions`, naming the entry that is wrong.
    init(listening: ListenAddresses, substitutes: [String: String]) throws(TransportError) {
        self.listening = listening.ips
        var checked: [IPAddress: IPAddress] = [:]
        for (text, announced) in substitutes {
            guard let local = IPAddress(text)?.unmapped, let ip = IPAddress(announced)?.unmapped, !ip.isUnspecified,
                !ip.isMulticast, local.family == ip.family
            else { throw .invalidOptions("announcedAddresses: \(text) to \(announced) are not two addresses alike") }
            checked[local] = ip
        }
        self.substitutes = checked
    }

    /// Whether `interfaces` are needed to know the addresses.
    var needsInterfaces: Bool { listening.contains(where: \.isUnspecified) }

    /// Every address listened on, wildcards as the addresses of the interfaces, loopback after the others.
    func reachable(interfaces: [NetworkInterfaces.Address]) -> [IPAddress] {
        var found: [IPAddress] = []
        for ip in listening {
            guard ip.isUnspecified else {
                found.append(ip)
                continue
            }
            let family = interfaces.filter { $0.ip.family == ip.family }
            found += family.filter { !$0.isLoopback && !$0.ip.isLinkLocal }.map(\.ip)
            found += family.filter { $0.isLoopback || $0.ip.isLinkLocal }.map(\.ip)
        }
        var seen: Set<IPAddress> = []
        return found.filter { seen.insert($0).inserted }
    }

    /// The addresses for the answer to a client whose line came to `lineLocal`: that one first, then the families in turn
    /// (RFC 8421 §4). Loopback only to a line on loopback (RFC 8445 §5.1.1.1); link-local only to a line on that link,
    /// where the client's zone is known to be the same (RFC 4007 §6).
    func candidates(lineLocal: IPAddress?, interfaces: [NetworkInterfaces.Address]) -> [IPAddress] {
        let here = lineLocal?.unmapped
        var known = reachable(interfaces: interfaces)
        // A wildcard also answers where no interface has the address: a whole network may be routed here.
        if let here, !known.contains(here), listening.contains(where: { $0.isUnspecified && $0.family == here.family })
        {
            known.append(here)
        }
        let usable = known.filter { ip in
            if ip.isLoopback { return here?.isLoopback == true }
            if ip.isLinkLocal { return here?.isLinkLocal == true && here?.family == ip.family && here?.zone == ip.zone }
            return true
        }
        let first = usable.filter { $0 == here }
        let rest = usable.filter { $0 != here }
        let v6 = rest.filter { $0.family == .v6 }
        let v4 = rest.filter { $0.family == .v4 }
        var ordered = first
        for index in 0..<max(v4.count, v6.count) {
            if index < v6.count { ordered.append(v6[index]) }
            if index < v4.count { ordered.append(v4[index]) }
        }
        var seen: Set<IPAddress> = []
        let announced = ordered.map(substitute).filter { seen.insert($0).inserted }
        return Array(announced.prefix(Self.limit))
    }

    /// A wildcard's entry stands for every address of its family that others could reach.
    private func substitute(_ ip: IPAddress) -> IPAddress {
        if let own = substitutes[ip] { return own }
        guard !ip.isLoopback, !ip.isLinkLocal else { return ip }
        return substitutes[ip.family == .v4 ? .anyV4 : .anyV6] ?? ip
    }
}
