import ICELite

/// What the kernel has said about this machine's interfaces and addresses so far.
///
/// A dump's answers and the news that come between them are taken in the order they come: that is the order they
/// happened in.
package struct InterfaceTable: Sendable {
    /// Interfaces, and addresses, that are kept at most; further ones are counted.
    package static let limit = NetworkInterfaces.limit

    private var links: [NetlinkMessage.Link] = []
    private var held: [NetlinkMessage.Address] = []
    /// Rises whenever something changes.
    package private(set) var version: UInt64 = 0
    /// Interfaces and addresses beyond the limit.
    package private(set) var overflow = 0

    package init() {}

    /// Forgets everything: a dump begins.
    mutating func removeAll() {
        links.removeAll(keepingCapacity: true)
        held.removeAll(keepingCapacity: true)
        version &+= 1
    }

    mutating func apply(_ content: NetlinkMessage.Content) {
        switch content {
        case .link(let link): insert(link)
        case .linkGone(let index):
            links.removeAll { $0.index == index }
            held.removeAll { $0.index == index }
            version &+= 1
        case .address(let address): insert(address)
        case .addressGone(let address):
            held.removeAll { $0.index == address.index && $0.ip == address.ip }
            version &+= 1
        case .defaultRoute, .done, .failed, .other: break
        }
    }

    private mutating func insert(_ link: NetlinkMessage.Link) {
        if let position = links.firstIndex(where: { $0.index == link.index }) {
            guard links[position] != link else { return }
            links[position] = link
        } else if links.count < Self.limit {
            links.append(link)
        } else {
            overflow += 1
            return
        }
        version &+= 1
    }

    private mutating func insert(_ address: NetlinkMessage.Address) {
        if let position = held.firstIndex(where: { $0.index == address.index && $0.ip == address.ip }) {
            guard held[position] != address else { return }
            held[position] = address
        } else if held.count < Self.limit {
            held.append(address)
        } else {
            overflow += 1
            return
        }
        version &+= 1
    }

    /// The addresses that can be bound to and sent from now, in the kernel's order: of interfaces that are up and have carrier,
    /// without those whose duplicate detection runs or failed (RFC 4862 §5.4).
    package var usable: [NetworkInterfaces.Address] {
        held.compactMap { address in
            guard let link = links.first(where: { $0.index == address.index }), link.isUsable,
                address.flags & (NetlinkMessage.Address.tentative | NetlinkMessage.Address.failedDetection) == 0,
                !address.ip.isUnspecified, !address.ip.isMulticast
            else { return nil }
            var usable = NetworkInterfaces.Address(
                interface: link.name, index: link.index, ip: address.ip,
                isLoopback: link.flags & NetlinkMessage.Link.loopback != 0 || address.ip.isLoopback)
            usable.isTemporary = address.ip.family == .v6 && address.flags & NetlinkMessage.Address.temporary != 0
            usable.isDeprecated = address.flags & NetlinkMessage.Address.deprecated != 0
            return usable
        }
    }
}
