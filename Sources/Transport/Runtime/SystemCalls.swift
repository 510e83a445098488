import CLinux
import Glibc
import ICELite

/// Every system call that this package makes, in one place.
///
/// Whatever may fail returns a negative `errno` or throws it as `SocketError`; `EINTR` is handled here.
enum System {
    /// The system's text for an `errno`: "Connection refused". The corresponding C function is `strerror_r`.
    static func message(_ number: Int32) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
            guard let start = buffer.baseAddress else { return "error \(number)" }
            start.initialize(repeating: 0, count: 128)
            // The POSIX variant fills the buffer, which is why the result is not looked at.
            _ = strerror_r(number, start, 128)
            let text = String(cString: start)
            return text.isEmpty ? "error \(number)" : text
        }
    }

    /// The corresponding C function is `close`.
    static func close(_ fd: Int32) {
        if fd >= 0 { _ = Glibc.close(fd) }
    }

    /// A non-blocking, close-on-exec socket. The corresponding C function is `socket`.
    static func socket(_ family: IPAddress.Family, stream: Bool) throws(SocketError) -> Int32 {
        let fd = clinux_socket(Int32(family.rawValue), stream ? 1 : 0)
        guard fd >= 0 else { throw SocketError(call: "socket", errno: -fd) }
        return fd
    }

    /// The corresponding C function is `bind`.
    static func bind(_ fd: Int32, to address: SocketAddress) throws(SocketError) {
        var raw = clinux_address(address)
        let result = clinux_bind(fd, &raw)
        guard result == 0 else { throw SocketError(call: "bind", errno: -result, address: address) }
    }

    /// 0 when connected, else the negative `errno`: `-EINPROGRESS` is the usual answer. The corresponding C functions are
    /// `bind`, when there is a `local` address, and `connect`.
    static func connect(_ fd: Int32, to address: SocketAddress, from local: IPAddress? = nil) -> Int32 {
        if let local {
            var raw = clinux_address(SocketAddress(ip: local, port: 0))
            let result = clinux_bind(fd, &raw)
            guard result == 0 else { return result }
        }
        var raw = clinux_address(address)
        return clinux_connect(fd, &raw)
    }

    /// The corresponding C function is `listen`.
    static func listen(_ fd: Int32, backlog: Int32) throws(SocketError) {
        guard Glibc.listen(fd, backlog) == 0 else { throw SocketError(call: "listen", errno: errno) }
    }

    /// A non-blocking connection, or the negative `errno`. The corresponding C function is `accept4`.
    static func accept(_ fd: Int32) -> (result: Int32, from: SocketAddress?) {
        var raw = clinux_address()
        let result = clinux_accept(fd, &raw)
        return (result, result >= 0 ? SocketAddress(raw) : nil)
    }

    /// The corresponding C function is `getsockname`.
    static func localAddress(_ fd: Int32) throws(SocketError) -> SocketAddress {
        var raw = clinux_address()
        let result = clinux_local_address(fd, &raw)
        guard result >= 0, let address = SocketAddress(raw) else {
            throw SocketError(call: "getsockname", errno: result < 0 ? -result : EAFNOSUPPORT)
        }
        return address
    }

    /// Nil when the socket is not connected any more. The corresponding C function is `getpeername`.
    static func peerAddress(_ fd: Int32) -> SocketAddress? {
        var raw = clinux_address()
        return clinux_peer_address(fd, &raw) >= 0 ? SocketAddress(raw) : nil
    }

    /// The corresponding C function is `setsockopt`.
    static func setOption(
        _ fd: Int32, _ level: Int32, _ name: Int32, _ value: Int32, _ what: String
    ) throws(SocketError) {
        let result = clinux_set_option(fd, level, name, value)
        guard result == 0 else { throw SocketError(call: "setsockopt \(what)", errno: -result) }
    }

    /// Sets an option whose absence only costs comfort. The corresponding C function is `setsockopt`.
    static func trySetOption(_ fd: Int32, _ level: Int32, _ name: Int32, _ value: Int32) {
        _ = clinux_set_option(fd, level, name, value)
    }

    /// The `errno` that waits on a socket, which reading clears. The corresponding C function is `getsockopt`.
    static func pendingError(_ fd: Int32) -> Int32 {
        var value: Int32 = 0
        let result = clinux_get_option(fd, SOL_SOCKET, SO_ERROR, &value)
        return result == 0 ? value : -result
    }

    /// Bytes sent, or the negative `errno`; never SIGPIPE. The corresponding C function is `send`.
    static func send(_ fd: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
        clinux_send(fd, bytes.baseAddress, bytes.count)
    }

    /// Bytes received, 0 at the end, or the negative `errno`. The corresponding C function is `recv`.
    static func receive(_ fd: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        clinux_receive(fd, buffer.baseAddress, buffer.count)
    }

    /// Ends our direction. The corresponding C function is `shutdown`.
    static func shutdownWriting(_ fd: Int32) { _ = Glibc.shutdown(fd, Int32(SHUT_WR)) }

    /// A poll set. The corresponding C function is `epoll_create1`.
    static func epollCreate() throws(SocketError) -> Int32 {
        let fd = epoll_create1(O_CLOEXEC)
        guard fd >= 0 else { throw SocketError(call: "epoll_create1", errno: errno) }
        return fd
    }

    /// 0, or the negative `errno`. The corresponding C function is `epoll_ctl`.
    static func epollControl(_ epoll: Int32, _ operation: Int32, _ fd: Int32, events: UInt32, token: UInt64) -> Int32 {
        clinux_epoll_control(epoll, operation, fd, events, token)
    }

    /// A counter that wakes a poll. The corresponding C function is `eventfd`.
    static func eventCounter() throws(SocketError) -> Int32 {
        let fd = eventfd(0, O_NONBLOCK | O_CLOEXEC)
        guard fd >= 0 else { throw SocketError(call: "eventfd", errno: errno) }
        return fd
    }

    /// Adds one to a counter. The corresponding C function is `write`.
    static func signal(_ eventFD: Int32) {
        var one: UInt64 = 1
        _ = write(eventFD, &one, 8)
    }

    /// Sets a counter back to 0. The corresponding C function is `read`.
    static func drain(_ eventFD: Int32) {
        var count: UInt64 = 0
        _ = read(eventFD, &count, 8)
    }

    /// A socket that is told of changed links and addresses. The corresponding C functions are `socket` and `bind`.
    static func routingNews() throws(SocketError) -> Int32 {
        let fd = clinux_netlink_open()
        guard fd >= 0 else { throw SocketError(call: "netlink", errno: -fd) }
        return fd
    }

    /// 0, or the negative `errno`. The corresponding C function is `sendto`.
    static func requestDump(_ fd: Int32, _ request: NetlinkRequest) -> Int32 {
        clinux_netlink_dump(fd, request.kind == .addresses ? 1 : 0, request.sequence)
    }

    /// Bytes of one datagram of the kernel's, or the negative `errno`. The corresponding C function is `recvmsg`.
    static func receiveNews(_ fd: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        clinux_netlink_receive(fd, buffer.baseAddress, buffer.count)
    }
}
