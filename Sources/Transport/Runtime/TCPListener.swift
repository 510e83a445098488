import Glibc
package import ICELite

/// A listening TCP socket on a loop.
///
/// `@unchecked Sendable`: confined to its loop.
package final class TCPListener: @unchecked Sendable {
    /// Connections accepted in one wake-up, so that a burst of them does not keep media waiting.
    package static let acceptLimit = 16
    /// How long it looks away when the process has no descriptor left.
    package static let pauseLength = Nanoseconds.milliseconds(100)

    /// The address it is bound to, with its real port.
    package let localAddress: SocketAddress
    /// Connections handed on so far.
    package private(set) var accepted = 0
    /// Times it had to look away for want of descriptors or memory.
    package private(set) var pauses = 0

    private let fd: Int32
    private let loop: EventLoop
    private var onAccept: ((_ fd: Int32, _ from: SocketAddress) -> Void)?
    private var pauseTimer: TimerID?

    /// Binds and listens; port 0 picks one. Called on the loop.
    ///
    /// - Parameter onAccept: takes each connection's descriptor, non-blocking, and owns it. Runs on the loop.
    /// - Throws: `.addressInUse` when the port is taken, or the call that failed.
    package init(
        bind address: SocketAddress, loop: EventLoop, backlog: Int32 = 511,
        onAccept: @escaping (_ fd: Int32, _ from: SocketAddress) -> Void
    ) throws(SocketError) {
        loop.preconditionOnLoop()
        let fd = try System.socket(address.ip.family, stream: true)
        do throws(SocketError) {
            try System.setOption(fd, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR")
            if address.ip.family == .v6 { try System.setOption(fd, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 1, "IPV6_V6ONLY") }
            try System.bind(fd, to: address)
            do throws(SocketError) {
                try System.listen(fd, backlog: backlog)
            } catch {
                if case .system(_, EADDRINUSE) = error { throw SocketError.addressInUse(address) }
                throw error
            }
            localAddress = try System.localAddress(fd)
        } catch {
            System.close(fd)
            throw error
        }
        self.fd = fd
        self.loop = loop
        self.onAccept = onAccept
        do throws(SocketError) {
            try loop.register(fd, interest: .readable) { [unowned self] _ in acceptWaiting() }
        } catch {
            System.close(fd)
            self.onAccept = nil
            throw error
        }
    }

    /// Stops listening. Call it on the loop before letting the listener go. Further calls do nothing.
    package func close() {
        loop.preconditionOnLoop()
        guard onAccept != nil else { return }
        onAccept = nil
        if let pauseTimer { loop.cancel(pauseTimer) }
        loop.unregister(fd)
        System.close(fd)
    }

    deinit { precondition(onAccept == nil, "close a listener before letting it go") }

    private func acceptWaiting() {
        for _ in 0..<Self.acceptLimit {
            guard let onAccept else { return }
            let (result, from) = System.accept(fd)
            switch -result {
            case EAGAIN: return
            case EMFILE, ENFILE, ENOBUFS, ENOMEM: return pause()
            // The connection has gone, or its network has, before it was accepted: the next one, please.
            case let number where number > 0: continue
            default:
                guard let from else {
                    System.close(result)
                    continue
                }
                accepted += 1
                onAccept(result, from)
            }
        }
    }

    /// Without a descriptor the poll would report the same connection again at once, for ever.
    private func pause() {
        pauses += 1
        loop.modify(fd, interest: [])
        pauseTimer = loop.schedule(at: loop.now + Self.pauseLength) { [unowned self] in
            pauseTimer = nil
            loop.modify(fd, interest: .readable)
        }
    }
}
