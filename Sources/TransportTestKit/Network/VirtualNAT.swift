package import ICELite

/// A NAT in front of an interface: endpoint-independent mapping, address-and-port-dependent filtering (RFC 4787), the
/// kind that most homes have.
package struct VirtualNAT: Sendable {
    /// Mappings a NAT keeps; the oldest makes room.
    package static let maximumMappings = 256
    /// Remote addresses a mapping lets in; the oldest makes room.
    package static let maximumPermissions = 64
    /// RFC 4787 REQ-5 asks for two minutes at least; many NATs take 30 seconds.
    package static let defaultTimeout: Nanoseconds = .seconds(30)
    /// The first port that is given out.
    package static let firstPort: UInt16 = 40_000

    private struct Permission {
        var remote: SocketAddress
        var lastUse: Instant
    }

    private struct Mapping {
        var local: SocketAddress
        var port: UInt16
        var lastUse: Instant
        var permissions: [Permission]
    }

    /// The address that the outside sees.
    package let publicIP: IPAddress
    /// Silence after which a mapping or a permission is forgotten.
    package let timeout: Nanoseconds
    /// Whether only remote addresses that were sent to before may send.
    package let filters: Bool
    /// Datagrams from outside that were not let in.
    package private(set) var refused: UInt64 = 0

    private var mappings: [Mapping] = []
    private var nextPort = Self.firstPort

    /// A NAT without mappings.
    package init(publicIP: IPAddress, timeout: Nanoseconds = Self.defaultTimeout, filters: Bool = true) {
        self.publicIP = publicIP
        self.timeout = timeout
        self.filters = filters
    }

    /// The source address that `local`'s datagram to `remote` leaves with; makes or refreshes the mapping.
    package mutating func outgoing(from local: SocketAddress, to remote: SocketAddress, now: Instant) -> SocketAddress {
        // By index: a mapping handed to a closure is copied, and every datagram comes by here.
        if mappings.indices.contains(where: { now - mappings[$0].lastUse > timeout }) {
            mappings.removeAll { now - $0.lastUse > timeout }
        }
        let index: Int
        if let known = mappings.indices.first(where: { mappings[$0].local == local }) {
            index = known
        } else {
            if mappings.count >= Self.maximumMappings { mappings.removeFirst() }
            mappings.append(Mapping(local: local, port: nextPort, lastUse: now, permissions: []))
            nextPort = nextPort == .max ? Self.firstPort : nextPort + 1
            index = mappings.count - 1
        }
        mappings[index].lastUse = now
        if let known = mappings[index].permissions.firstIndex(where: { $0.remote == remote }) {
            mappings[index].permissions[known].lastUse = now
        } else {
            if mappings[index].permissions.count >= Self.maximumPermissions {
                mappings[index].permissions.removeFirst()
            }
            mappings[index].permissions.append(Permission(remote: remote, lastUse: now))
        }
        return SocketAddress(ip: publicIP, port: mappings[index].port)
    }

    /// The inside address that a datagram from `remote` to `port` goes to; nil, counted, when it is not let in.
    package mutating func incoming(from remote: SocketAddress, to port: UInt16, now: Instant) -> SocketAddress? {
        guard let index = mappings.indices.first(where: { mappings[$0].port == port }),
            now - mappings[index].lastUse <= timeout,
            !filters
                || mappings[index].permissions.contains(where: { $0.remote == remote && now - $0.lastUse <= timeout })
        else {
            refused += 1
            return nil
        }
        return mappings[index].local
    }

    /// Forgets every mapping, as a restarted router does: the next datagrams leave from new ports.
    package mutating func rebind() { mappings.removeAll() }
}
