import Glibc
package import ICELite

/// Tells the addresses of this machine, whole, now and whenever they change.
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
    private var watch = NetworkWatch()
    private var fd: Int32 = -1
    private var timer: TimerID?
    private var isStarting = true

    /// Starts: `addresses` is filled when this returns. Called on the loop.
    ///
    /// - Parameters:
    ///   - listens: false to ask at intervals, as where the kernel's messages cannot be had.
    ///   - onChange: called on the loop with each new set, not with the first. Released by `stop`.
    package init(loop: EventLoop, listens: Bool = true, onChange: @escaping ([NetworkInterfaces.Address]) -> Void) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.onChange = onChange
        timer = loop.makeTimer { [unowned self] in timeout() }
        if listens { listen() }
        if fd < 0 { poll() }
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
        if let timer { loop.arm(timer, at: loop.now + Self.pollInterval) }
    }

    private func tell(_ found: [NetworkInterfaces.Address]) {
        guard found != addresses else { return }
        addresses = found
        if !isStarting { onChange(found) }
    }
}
