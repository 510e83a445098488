package import ICELite

extension NetworkInterfaces {
    /// Addresses a call opens sockets on at most.
    package static let selectionLimit = 8

    /// The addresses to open sockets on: the best one of each interface and family, IPv6 and IPv4 in turn (RFC 8421 §4)
    /// and each family's global ones first.
    ///
    /// Best is global before unique-local before link-local, temporary before permanent (RFC 8445 §5.1.1.1), then the
    /// kernel's order. A deprecated address is not newly used (RFC 4862 §5.5.4).
    /// - Parameters:
    ///   - addresses: what the machine has, in the kernel's order.
    ///   - isLoopback: loopback addresses alone, or all others: the former reach nobody but this machine.
    ///   - open: addresses with a socket; as long as one is there it stays, whatever would be better now.
    package static func selection(
        from addresses: [Address], isLoopback: Bool, open: Set<IPAddress> = []
    ) -> [Address] {
        let usable = addresses.filter {
            $0.isLoopback == isLoopback && (!$0.isDeprecated || open.contains($0.ip))
        }
        var chosen: [IPAddress.Family: [Address]] = [:]
        var seen: Set<Group> = []
        for group in usable.map(Group.init) where seen.insert(group).inserted {
            let members = usable.filter { Group($0) == group }
            let kept = members.filter { open.contains($0.ip) }
            chosen[group.family, default: []] += kept
            guard let best = members.enumerated().min(by: { rank($0) < rank($1) })?.element else { continue }
            if !kept.contains(where: { scope($0.ip) <= scope(best.ip) }) {
                chosen[group.family, default: []].append(best)
            }
        }
        let v6 = globalFirst(chosen[.v6] ?? [])
        let v4 = globalFirst(chosen[.v4] ?? [])
        var mixed: [Address] = []
        for position in 0..<max(v6.count, v4.count) {
            if position < v6.count { mixed.append(v6[position]) }
            if position < v4.count { mixed.append(v4[position]) }
        }
        // What is open goes last when there are too many.
        let first = mixed.filter { open.contains($0.ip) } + mixed.filter { !open.contains($0.ip) }
        let admitted = Set(first.prefix(selectionLimit).map(\.ip))
        return mixed.filter { admitted.contains($0.ip) }
    }

    /// An interface that has nothing but a link-local address is not the way to the world, wherever it stands.
    private static func globalFirst(_ addresses: [Address]) -> [Address] {
        (0...2).flatMap { wanted in addresses.filter { scope($0.ip) == wanted } }
    }

    private struct Group: Hashable {
        let index: UInt32
        let family: IPAddress.Family

        init(_ address: Address) {
            index = address.index
            family = address.ip.family
        }
    }

    private static func rank(_ entry: (offset: Int, element: Address)) -> (Int, Int, Int) {
        (scope(entry.element.ip), entry.element.isTemporary ? 0 : 1, entry.offset)
    }

    /// 0 for a global address, 1 for a unique-local one (fc00::/7), 2 for a link-local one.
    private static func scope(_ ip: IPAddress) -> Int {
        if ip.isLinkLocal { return 2 }
        return ip.family == .v6 && ip.high >> 57 == 0xFC >> 1 ? 1 : 0
    }
}
