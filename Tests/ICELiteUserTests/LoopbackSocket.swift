import Glibc
import ICELite

/// A UDP socket on 127.0.0.1 that never waits. Closed with its last reference.
final class LoopbackSocket {
    enum Failure: Error { case socket(errno: Int32) }

    struct Datagram {
        var path: NetworkPath
        var bytes: [UInt8]
    }

    let address: SocketAddress
    private let descriptor: Int32

    init() throws(Failure) {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
        var name = Self.name(SocketAddress(ip: .loopbackV4, port: 0))
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 ? getsockname(descriptor, $0, &length) : -1
            }
        }
        self.descriptor = descriptor
        address = Self.address(name)
        guard status == 0 else { throw .socket(errno: errno) }
    }

    deinit { close(descriptor) }

    func send(_ bytes: Slice<UnsafeMutableRawBufferPointer>, to remote: SocketAddress) {
        var name = Self.name(remote)
        withUnsafePointer(to: &name) {
            _ = $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(
                    descriptor, UnsafeRawBufferPointer(rebasing: bytes).baseAddress, bytes.count, 0, $0,
                    socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    /// The next datagram; nil when there is none.
    func receive() -> Datagram? {
        var name = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        var bytes = [UInt8](repeating: 0, count: 1_500)
        let count = withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                recvfrom(descriptor, &bytes, bytes.count, 0, $0, &length)
            }
        }
        guard count >= 0 else { return nil }
        bytes.removeLast(bytes.count - count)
        return Datagram(path: NetworkPath(local: address, remote: Self.address(name)), bytes: bytes)
    }

    /// Until something has come or `timeout` is over.
    static func wait(for sockets: [LoopbackSocket], timeout: Duration) {
        var polled = sockets.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
        let (seconds, attoseconds) = timeout.components
        _ = poll(&polled, nfds_t(polled.count), Int32(clamping: seconds * 1_000 + attoseconds / 1_000_000_000_000_000))
    }

    private static func name(_ address: SocketAddress) -> sockaddr_in {
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = address.port.bigEndian
        name.sin_addr.s_addr = UInt32(truncatingIfNeeded: address.ip.low).bigEndian
        return name
    }

    private static func address(_ name: sockaddr_in) -> SocketAddress {
        SocketAddress(
            ip: IPAddress(v4: UInt32(bigEndian: name.sin_addr.s_addr)), port: UInt16(bigEndian: name.sin_port))
    }
}
