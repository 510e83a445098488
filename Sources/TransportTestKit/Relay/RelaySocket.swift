internal import CLinux
internal import Glibc
internal import ICELite

/// A non-blocking socket of the relay, closed with its last reference. Confined to the relay's thread once it runs.
final class RelaySocket {
    /// The file descriptor.
    let descriptor: Int32

    private init(descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// What a read brought.
    enum Received {
        case bytes(count: Int, from: SocketAddress?)
        case wouldBlock
        case failed(Int32)
    }

    // MARK: - Opening

    /// A UDP socket bound to `address`; port 0 takes a free one.
    static func udp(boundTo address: SocketAddress) throws(RelayError) -> RelaySocket {
        let socket = try open(address.ip.family, SOCK_DGRAM)
        try socket.bind(to: address)
        return socket
    }

    /// A UDP socket bound to the port of another that allows it and is about to be closed.
    static func udp(sharing address: SocketAddress) throws(RelayError) -> RelaySocket {
        let socket = try open(address.ip.family, SOCK_DGRAM)
        socket.set(SOL_SOCKET, SO_REUSEADDR, 1)
        try socket.bind(to: address)
        socket.set(SOL_SOCKET, SO_REUSEADDR, 0)
        return socket
    }

    /// A UDP socket that sends to and receives from `target` only.
    static func udp(connectedTo target: SocketAddress) throws(RelayError) -> RelaySocket {
        let socket = try open(target.ip.family, SOCK_DGRAM)
        try socket.connect(to: target)
        return socket
    }

    /// A listening TCP socket.
    static func listener(boundTo address: SocketAddress, backlog: Int32) throws(RelayError) -> RelaySocket {
        let socket = try open(address.ip.family, SOCK_STREAM)
        socket.set(SOL_SOCKET, SO_REUSEADDR, 1)
        try socket.bind(to: address)
        guard listen(socket.descriptor, backlog) == 0 else { throw .system(call: "listen", code: errno) }
        return socket
    }

    /// A TCP socket that is connecting to `target`: writable once it is.
    static func stream(connectingTo target: SocketAddress) throws(RelayError) -> RelaySocket {
        let socket = try open(target.ip.family, SOCK_STREAM)
        socket.set(Int32(IPPROTO_TCP.rawValueForSocket), TCP_NODELAY, 1)
        do {
            try socket.connect(to: target)
        } catch {
            guard error == .system(call: "connect", code: EINPROGRESS) else { throw error }
        }
        return socket
    }

    /// The next connection that waits; nil when there is none.
    func accept() -> RelaySocket? {
        let accepted = Glibc.accept(descriptor, nil, nil)
        guard accepted >= 0 else { return nil }
        let socket = RelaySocket(descriptor: accepted)
        guard fcntl(accepted, F_SETFL, O_NONBLOCK) == 0, fcntl(accepted, F_SETFD, FD_CLOEXEC) == 0 else { return nil }
        socket.set(Int32(IPPROTO_TCP.rawValueForSocket), TCP_NODELAY, 1)
        return socket
    }

    /// An eventfd that another thread wakes the relay with.
    static func waker() throws(RelayError) -> RelaySocket {
        let descriptor = eventfd(0, Int32(EFD_NONBLOCK.rawValueForSocket | EFD_CLOEXEC.rawValueForSocket))
        guard descriptor >= 0 else { throw .system(call: "eventfd", code: errno) }
        return RelaySocket(descriptor: descriptor)
    }

    private static func open(_ family: IPAddress.Family, _ type: __socket_type) throws(RelayError) -> RelaySocket {
        let flags = Int32(type.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(family == .v4 ? AF_INET : AF_INET6, flags, 0)
        guard descriptor >= 0 else { throw .system(call: "socket", code: errno) }
        let opened = RelaySocket(descriptor: descriptor)
        if family == .v6 { opened.set(Int32(IPPROTO_IPV6.rawValueForSocket), IPV6_V6ONLY, 1) }
        return opened
    }

    // MARK: - Options

    /// The address it is bound to; nil when the kernel gives none.
    var localAddress: SocketAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        return result == 0 ? SocketAddress(storage) : nil
    }

    /// What became of a connection in progress: 0, or an errno.
    var pendingError: Int32 {
        var code: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length) == 0 ? code : errno
    }

    /// Sets an option; a kernel that refuses it is no reason to fail.
    func set(_ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        _ = setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Makes the coming close of a TCP socket a reset.
    func resetOnClose() {
        var option = linger(l_onoff: 1, l_linger: 0)
        _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// Says that no more bytes will be written.
    func endWriting() { _ = shutdown(descriptor, Int32(SHUT_WR.rawValueForSocket)) }

    func bind(to address: SocketAddress) throws(RelayError) {
        let result = withSockaddr(address) { Glibc.bind(descriptor, $0, $1) }
        guard result == 0 else { throw .system(call: "bind", code: errno) }
    }

    func connect(to address: SocketAddress) throws(RelayError) {
        let result = withSockaddr(address) { Glibc.connect(descriptor, $0, $1) }
        guard result == 0 else { throw .system(call: "connect", code: errno) }
    }

    // MARK: - Bytes

    /// Reads a datagram or what a stream has into `buffer`. A stream's end is 0 bytes.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Received {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let count = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                recvfrom(descriptor, buffer.baseAddress, buffer.count, 0, $0, &length)
            }
        }
        if count >= 0 { return .bytes(count: count, from: length == 0 ? nil : SocketAddress(storage)) }
        return errno == EAGAIN || errno == EINTR ? .wouldBlock : .failed(errno)
    }

    /// Writes bytes and returns how many were taken, or `-errno`.
    func send(_ bytes: ArraySlice<UInt8>) -> Int {
        let count = bytes.withUnsafeBytes {
            Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL.rawValueForSocket))
        }
        return count >= 0 ? count : -Int(errno)
    }

    /// Sends a datagram to `address`; false when the kernel did not take it.
    func send(_ datagram: [UInt8], to address: SocketAddress) -> Bool {
        withSockaddr(address) { target, length in
            datagram.withUnsafeBytes {
                sendto(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL.rawValueForSocket), target, length)
            }
        } >= 0
    }
}

// MARK: - Addresses

/// The importer gives some constants as enums and some as integers; this makes them alike.
extension BinaryInteger { fileprivate var rawValueForSocket: Int { Int(self) } }
extension RawRepresentable where RawValue: BinaryInteger { fileprivate var rawValueForSocket: Int { Int(rawValue) } }

private func withSockaddr<R>(
    _ address: SocketAddress, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R
) -> R {
    var storage = sockaddr_storage()
    let length: Int
    switch address.ip.family {
    case .v4:
        var value = sockaddr_in()
        value.sin_family = sa_family_t(AF_INET)
        value.sin_port = address.port.bigEndian
        value.sin_addr.s_addr = UInt32(truncatingIfNeeded: address.ip.low).bigEndian
        length = MemoryLayout<sockaddr_in>.size
        withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: value, as: sockaddr_in.self) }
    case .v6:
        var value = sockaddr_in6()
        value.sin6_family = sa_family_t(AF_INET6)
        value.sin6_port = address.port.bigEndian
        value.sin6_scope_id = address.ip.zone
        withUnsafeMutableBytes(of: &value.sin6_addr) {
            $0.storeBytes(of: address.ip.high.bigEndian, toByteOffset: 0, as: UInt64.self)
            $0.storeBytes(of: address.ip.low.bigEndian, toByteOffset: 8, as: UInt64.self)
        }
        length = MemoryLayout<sockaddr_in6>.size
        withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: value, as: sockaddr_in6.self) }
    }
    return withUnsafePointer(to: &storage) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(length)) }
    }
}

extension SocketAddress {
    /// The address in a socket address of the kernel's; nil for a family that is not IP.
    fileprivate init?(_ storage: sockaddr_storage) {
        switch Int32(storage.ss_family) {
        case AF_INET:
            let value = withUnsafeBytes(of: storage) { $0.load(as: sockaddr_in.self) }
            self.init(
                ip: IPAddress(v4: UInt32(bigEndian: value.sin_addr.s_addr)), port: UInt16(bigEndian: value.sin_port))
        case AF_INET6:
            let value = withUnsafeBytes(of: storage) { $0.load(as: sockaddr_in6.self) }
            let halves = withUnsafeBytes(of: value.sin6_addr) {
                ($0.load(as: UInt64.self), $0.load(fromByteOffset: 8, as: UInt64.self))
            }
            self.init(
                ip: IPAddress(
                    v6High: UInt64(bigEndian: halves.0), low: UInt64(bigEndian: halves.1), zone: value.sin6_scope_id),
                port: UInt16(bigEndian: value.sin6_port))
        default: return nil
        }
    }
}
