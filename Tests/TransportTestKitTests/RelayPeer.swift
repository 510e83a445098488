import Foundation
import Glibc
import ICELite

/// A blocking socket of a relay test, on 127.0.0.1, closed with its last reference.
final class RelayPeer {
    let descriptor: Int32
    private static let stream = Int32(SOCK_STREAM.rawValue)
    private static let datagram = Int32(SOCK_DGRAM.rawValue)

    private init(_ descriptor: Int32) {
        self.descriptor = descriptor
        var limit = timeval(tv_sec: 5, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    /// A UDP socket bound to a free port.
    static func udp() -> RelayPeer {
        let peer = RelayPeer(socket(AF_INET, datagram, 0))
        peer.with(SocketAddress(ip: .loopbackV4, port: 0)) { precondition(bind(peer.descriptor, $0, $1) == 0) }
        return peer
    }

    /// A UDP socket connected to `address`.
    static func udp(to address: SocketAddress) -> RelayPeer {
        let peer = RelayPeer(socket(AF_INET, datagram, 0))
        peer.with(address) { precondition(connect(peer.descriptor, $0, $1) == 0) }
        return peer
    }

    /// A listening TCP socket.
    static func listener() -> RelayPeer {
        let peer = RelayPeer(socket(AF_INET, stream, 0))
        peer.with(SocketAddress(ip: .loopbackV4, port: 0)) { precondition(bind(peer.descriptor, $0, $1) == 0) }
        precondition(listen(peer.descriptor, 16) == 0)
        return peer
    }

    /// A TCP connection to `address`; nil when it is refused.
    static func tcp(to address: SocketAddress) -> RelayPeer? {
        let peer = RelayPeer(socket(AF_INET, stream, 0))
        return peer.with(address) { connect(peer.descriptor, $0, $1) } == 0 ? peer : nil
    }

    /// The next connection; nil when there is none within five seconds.
    func accept() -> RelayPeer? {
        let accepted = Glibc.accept(descriptor, nil, nil)
        return accepted < 0 ? nil : RelayPeer(accepted)
    }

    var address: SocketAddress {
        var value = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &value) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(descriptor, $0, &length) }
        }
        return Self.address(value)
    }

    /// Sends bytes and returns how many went, or `-errno`.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Int {
        let count = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        return count < 0 ? -Int(errno) : count
    }

    func send(_ bytes: [UInt8], to address: SocketAddress) {
        with(address) { _ = sendto(descriptor, bytes, bytes.count, 0, $0, $1) }
    }

    /// The next datagram or what a stream has, within `seconds`; nil and `failure` otherwise.
    func receive(within seconds: Double = 5) -> (bytes: [UInt8], from: SocketAddress)? {
        var item = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&item, 1, Int32(seconds * 1_000)) > 0 else { return nil }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var value = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let count = withUnsafeMutablePointer(to: &value) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                recvfrom(descriptor, &buffer, buffer.count, 0, $0, &length)
            }
        }
        failure = count < 0 ? errno : 0
        return count < 0 ? nil : (Array(buffer[..<count]), Self.address(value))
    }

    /// Reads a stream until `count` bytes are there, its end or a failure.
    func receive(count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count, let part = receive(), !part.bytes.isEmpty { bytes += part.bytes }
        return bytes
    }

    /// The errno of the last `receive`.
    private(set) var failure: Int32 = 0

    @discardableResult
    private func with<R>(_ address: SocketAddress, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
        var value = sockaddr_in()
        value.sin_family = sa_family_t(AF_INET)
        value.sin_port = address.port.bigEndian
        value.sin_addr.s_addr = UInt32(truncatingIfNeeded: address.ip.low).bigEndian
        return withUnsafePointer(to: &value) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    private static func address(_ value: sockaddr_in) -> SocketAddress {
        SocketAddress(
            ip: IPAddress(v4: UInt32(bigEndian: value.sin_addr.s_addr)), port: UInt16(bigEndian: value.sin_port))
    }

    /// Threads of this process that are relays'.
    static func relayThreads() -> Int {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return threads.count { thread in
            let name = try? String(contentsOfFile: "/proc/self/task/\(thread)/comm", encoding: .utf8)
            return name == "relay\n"
        }
    }
}
