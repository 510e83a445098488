internal import ICELite

/// The addresses an endpoint listens on, checked, each once.
struct ListenAddresses: Hashable, Sendable {
    /// Addresses at most: each has a socket of its own for either protocol.
    static let limit = 16
    /// The word for both wildcards.
    static let anyWord = "any"

    /// In the order given; a wildcard stands alone in its family.
    let ips: [IPAddress]
    /// Families that this machine may lack: `any` asks for both and is content with one.
    let optionalFamilies: Set<IPAddress.Family>

    /// Reads literals and `any`.
    ///
    /// - Throws: `invalidOptions`, naming the address that is wrong.
    init(_ texts: [String]) throws(TransportError) {
        var ips: [IPAddress] = []
        var isAny = false
        for text in texts {
            if text == Self.anyWord {
                isAny = true
                ips += [.anyV4, .anyV6]
            } else if let ip = IPAddress(text)?.unmapped, !ip.isMulticast {
                ips.append(ip)
            } else {
                throw .invalidOptions("listenAddresses: \(text) is not an IP address")
            }
        }
        // Every address of a family is the wildcard's already; a second socket would meet its port in use.
        let wild = Set(ips.filter(\.isUnspecified).map(\.family))
        var seen: Set<IPAddress> = []
        self.ips = ips.filter { ($0.isUnspecified || !wild.contains($0.family)) && seen.insert($0).inserted }
        optionalFamilies = isAny ? [.v4, .v6] : []
        guard (1...Self.limit).contains(self.ips.count) else {
            throw .invalidOptions("listenAddresses must name 1…\(Self.limit) addresses")
        }
    }
}
