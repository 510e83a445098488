import Glibc
package import ICELite

/// Tells the addresses of this machine, whole, now and whenever they change, and when the way to the world leaves by another
/// interface.
///
/// It listens to the kernel's routing messages; where those cannot be had (some containers) it asks `getifaddrs` every
/// two seconds. Confined to its loop.
package final class NetworkMonitor {
    /// How often addresses are asked for where the kernel does not tell.
    package static let pollInterval = Nanoseconds.seconds(2)

    /// The usable addresses now, in the kernel's order. Known from the start.
    package private(set) var addresses: [NetworkInterfaces.Address] = []
    /// The kernel does not tell of changes: they are asked for.
    package private(set) var isPolling = false
    /// What was heard of the kernel.
    package var counters: NetworkWatch.Counters { watch.counters }

    private let loop: EventLoop
    private let onChange: ([NetworkInterfaces.Address]) -> Void
    private let onRouteChange: () -> Void
    /// By which interfaces IPv4 and IPv6 leave for the world; nil where they do not.
    private var exits: [UInt32?] = []
    private var watch = NetworkWatch()
    private var fd: Int32 = -1
    private var timer: TimerID?
    private var isStarting = true

    /// Starts: `addresses` is filled when this returns. Called on the loop.
    ///
    /// - Parameters:
    ///   - listens: false to ask at intervals, as where the kernel's messages cannot be had.
    ///   - onChange: called on the loop with each new set, not with the first. Released by `stop`.
    ///   - onRouteChange: called on the loop when the default route of a family goes by another interface than before, or
    ///     is gone: after `onChange`, where the addresses changed as well.
    package init(
        loop: EventLoop, listens: Bool = true, onChange: @escaping ([NetworkInterfaces.Address]) -> Void,
        onRouteChange: @escaping () -> Void = {}
    ) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.onChange = onChange
        self.onRouteChange = onRouteChange
        timer = loop.makeTimer { [unowned self] in timeout() }
        if listens { listen() }
        if fd < 0 { poll() }
        exits = currentExits()
        isStarting = false
    }

    deinit { System.close(fd) }

    /// Ends: nothing is told any more, and the socket is closed.
    package func stop() {
        loop.preconditionOnLoop()
        closeSocket()
        if let timer { loop.cancel(timer) }
        timer = nil
    }

    /// Asks for everything anew in a moment: something may have been missed. What is not as it was is told as any change.
    package func rescan() {
        loop.preconditionOnLoop()
        guard let timer else { return }
        watch.rescan(now: loop.now)
        loop.arm(timer, at: isPolling ? loop.now : watch.nextDeadline)
    }

    // MARK: - Listening

    private func listen() {
        guard let opened = try? System.routingNews() else { return }
        fd = opened
        do throws(SocketError) {
            try loop.register(opened, interest: .readable) { [unowned self] _ in read() }
        } catch {
            System.close(opened)
            fd = -1
            return
        }
        watch.start(now: loop.now)
        // The kernel writes a dump's answer while it is asked and as it is read: nothing is waited for.
        read()
    }

    private func read() {
        sendRequests()
        while fd >= 0 {
            let count = System.receiveNews(fd, into: loop.scratch)
            if count > 0 {
                let bytes = unsafe UnsafeRawBufferPointer(rebasing: loop.scratch[..<count]).bytes
                watch.receive(bytes, now: loop.now)
                sendRequests()
            } else if count == Int(-ENOBUFS) || count == Int(-EMSGSIZE) {
                watch.overrun(now: loop.now)
            } else {
                break
            }
        }
        settle()
    }

    private func sendRequests() {
        while let request = watch.pollRequest() { _ = System.requestDump(fd, request) }
    }

    private func timeout() {
        if isPolling { return poll() }
        watch.handleTimeout(now: loop.now)
        read()
    }

    /// Hands on what the watch says and arms the timer.
    private func settle() {
        if watch.hasFailed {
            closeSocket()
            return poll()
        }
        if let change = watch.pollChange() { tell(change) }
        if watch.pollRouteChange() { compareExits() }
        if let timer { loop.arm(timer, at: watch.nextDeadline) }
    }

    private func closeSocket() {
        guard fd >= 0 else { return }
        loop.unregister(fd)
        System.close(fd)
        fd = -1
    }

    // MARK: - Asking

    private func poll() {
        isPolling = true
        tell(NetworkInterfaces.all())
        compareExits()
        if let timer { loop.arm(timer, at: loop.now + Self.pollInterval) }
    }

    private func tell(_ found: [NetworkInterfaces.Address]) {
        guard found != addresses else { return }
        addresses = found
        if !isStarting { onChange(found) }
    }

    // MARK: - Routes

    /// Nobody is sent anything: any address that only a default route leads to will do.
    private static let farAway = [IPAddress(v4: 0xC629_0004), IPAddress(v6High: 0x2001_0503_BA3E_0000, low: 0x2_0030)]

    private func currentExits() -> [UInt32?] {
        Self.farAway.map { target in
            let source = NetworkInterfaces.localAddress(towards: SocketAddress(ip: target, port: 0))
            return source.flatMap { ip in addresses.first { $0.ip == ip }?.index }
        }
    }

    private func compareExits() {
        guard !isStarting, timer != nil else { return }
        let found = currentExits()
        let isOther = zip(exits, found).contains { $0 != nil && $0 != $1 }
        exits = found
        if isOther { onRouteChange() }
    }
}
