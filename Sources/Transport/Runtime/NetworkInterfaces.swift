import CLinux
import Glibc
package import ICELite

/// The addresses this machine has now.
package enum NetworkInterfaces {
    /// One address of one interface.
    package struct Address: Hashable, Sendable {
        /// The interface's name: `eth0`.
        package var interface: String
        /// The interface's index, 1 and up.
        package var index: UInt32
        /// The address; a link-local one carries its zone.
        package var ip: IPAddress
        /// It is reached from this machine only.
        package var isLoopback: Bool
        /// An IPv6 address that changes, made so that nobody can follow it (RFC 8981).
        package var isTemporary = false
        /// Not for new calls any more (RFC 4862 §5.5.4).
        package var isDeprecated = false
    }

    /// Addresses looked at, at most: a machine with more keeps the first ones the kernel names.
    package static let limit = 256

    /// IPv4 and IPv6 addresses of the interfaces that are up, loopback included, in the kernel's order. Empty when the
    /// kernel does not say.
    ///
    /// The corresponding C function is `getifaddrs`.
    package static func all() -> [Address] {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return [] }
        defer { freeifaddrs(first) }
        var found: [Address] = []
        var next = first
        while let entry = next?.pointee, found.count < limit {
            next = entry.ifa_next
            guard entry.ifa_flags & UInt32(IFF_UP) != 0, let raw = entry.ifa_addr else { continue }
            let isV6 = Int32(raw.pointee.sa_family) == AF_INET6
            let length = isV6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size
            guard let address = SocketAddress(raw, length: UInt32(length)) else { continue }
            let isLoopback = entry.ifa_flags & UInt32(IFF_LOOPBACK) != 0 || address.ip.isLoopback
            found.append(
                Address(
                    interface: String(cString: entry.ifa_name), index: if_nametoindex(entry.ifa_name), ip: address.ip,
                    isLoopback: isLoopback))
        }
        return found
    }

    /// The addresses of `all()`, without the loopback ones unless asked for, each once.
    package static func addresses(includingLoopback: Bool = false) -> [IPAddress] {
        var seen: Set<IPAddress> = []
        return all().filter { (includingLoopback || !$0.isLoopback) && seen.insert($0.ip).inserted }.map(\.ip)
    }

    /// The address that this machine would send to `target` from; nil when there is no route. Sends nothing: it connects
    /// a UDP socket and asks for its name.
    package static func localAddress(towards target: SocketAddress) -> IPAddress? {
        guard let fd = try? System.socket(target.ip.family, stream: false) else { return nil }
        defer { System.close(fd) }
        let port = target.port == 0 ? 9 : target.port
        guard System.connect(fd, to: SocketAddress(ip: target.ip, port: port)) == 0,
            let local = try? System.localAddress(fd), !local.ip.isUnspecified
        else { return nil }
        return local.ip
    }
}
