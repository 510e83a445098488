import CLinux
import Glibc
package import ICELite

/// A TCP connection, with or without TLS, on a loop.
///
/// It keeps no queue of its own beyond one TLS record: `write` takes what the kernel has room for, and `.writable` tells
/// when there is room again. Bytes come as borrowed spans. Every member is used on the loop.
///
/// `@unchecked Sendable`: confined to its loop.
package final class ByteStream: @unchecked Sendable {
    /// What happens to a stream. `.closed` is the last, and comes once unless `abort` came first.
    package enum Event: Sendable {
        /// Open, and secured when TLS was asked for: it may be written to. Comes again after `startTLS`.
        case connected(Timing)
        /// There is room again after a `write` that did not take everything.
        case writable
        /// Ended: nil when the peer said goodbye, or after `shutdown`.
        case closed(StreamError?)
    }

    /// When each step of opening was done; nil for a step that was not, or not needed.
    package struct Timing: Hashable, Sendable {
        package var started: Instant
        package var resolved: Instant?
        package var connected: Instant?
        package var secured: Instant?
    }

    /// TLS that a stream is to speak as a client.
    package struct Security: Sendable {
        /// Whom to trust.
        package var context: TLSContext
        /// The name or address that the certificate must be for; nil for the host that is connected to.
        package var host: String?

        package init(context: TLSContext, host: String? = nil) {
            self.context = context
            self.host = host
        }
    }

    /// What a connection may start from.
    package struct Origin: Hashable, Sendable {
        /// The only local address it uses; nil leaves it to the system.
        package var address: IPAddress?
        /// The only version of IP it uses; nil for both.
        package var family: IPAddress.Family?

        package init(address: IPAddress? = nil, family: IPAddress.Family? = nil) {
            self.address = address
            self.family = family ?? address?.family
        }

        /// Whether it may talk to an address of `family`.
        package func allows(_ family: IPAddress.Family) -> Bool { self.family == nil || self.family == family }
    }

    /// `TCP_NOTSENT_LOWAT`: bytes not yet sent above which the kernel reports no room.
    package static let notSentLowWater: Int32 = 16_384
    /// `TCP_USER_TIMEOUT` in milliseconds: a connection whose bytes stay unacknowledged so long is dead.
    package static let userTimeoutMilliseconds: Int32 = 10_000
    /// How long `shutdown` waits for the peer's own end.
    package static let lingerLength = Nanoseconds.seconds(1)
    /// Reads in one wake-up, of at most 64 KiB each.
    package static let readLimit = 4

    private enum State {
        case resolving(Resolver)
        case connecting(TCPConnector)
        case securing
        case open
        case ending
        case closed
    }

    /// The steps so far.
    package private(set) var timing: Timing
    /// The peer's address, once connected.
    package private(set) var remoteAddress: SocketAddress?
    /// Our own address, once connected.
    package private(set) var localAddress: SocketAddress?
    /// "TLSv1.3", or nil without TLS or before it is established.
    package private(set) var tlsVersion: String?
    /// Bytes of TCP payload that came and went.
    package private(set) var bytesReceived = 0
    package private(set) var bytesSent = 0

    /// Told what happens; set it at once. Released when the stream has closed.
    package var onEvent: ((Event) -> Void)?
    /// Handed what comes, borrowed for the call; set it at once. It may write, shut down, abort. Released when closed.
    package var onBytes: ((borrowing RawSpan) -> Void)?

    private let loop: EventLoop
    private var state = State.closed
    private var fd: Int32 = -1
    private var tls: TLSEngine?
    private var security: Security?
    private var host: String
    private var origin: Origin
    private var deadline: Instant
    private var timer: TimerID?
    private var wantsRoom = false
    private var isPaused = false

    // MARK: - Opening

    /// Looks `host` up, connects, and secures the connection when `tls` is there. Called on the loop; events come later
    /// than this call returns.
    ///
    /// - Parameters:
    ///   - origin: where it may start from; addresses of another version of IP are passed over.
    ///   - deadline: when it gives up, wherever it is by then.
    package static func connect(
        host: String, port: UInt16, tls: Security?, from origin: Origin = Origin(), deadline: Instant, loop: EventLoop
    ) -> ByteStream {
        loop.preconditionOnLoop()
        let stream = ByteStream(host: host, security: tls, origin: origin, deadline: deadline, loop: loop)
        stream.armDeadline()
        stream.state = .resolving(
            Resolver.resolve(host: host, port: port, deadline: deadline, loop: loop) { outcome in
                stream.finishResolving(outcome)
            })
        return stream
    }

    /// Takes over a connection that a listener accepted, and secures it as a server when `tls` is there. Called on the
    /// loop; events come later than this call returns.
    package init(accepted fd: Int32, tls context: TLSContext?, deadline: Instant, loop: EventLoop) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.deadline = deadline
        host = ""
        origin = Origin()
        security = context.map { Security(context: $0) }
        timing = Timing(started: loop.now)
        armDeadline()
        state = .securing
        loop.submit { self.adopt(fd) }
        // Known at once: who is asking, and where, decides whether and how it is served.
        remoteAddress = System.peerAddress(fd)
        localAddress = try? System.localAddress(fd)
        self.fd = fd
    }

    private init(host: String, security: Security?, origin: Origin, deadline: Instant, loop: EventLoop) {
        self.host = host
        self.origin = origin
        self.security = security
        self.deadline = deadline
        self.loop = loop
        timing = Timing(started: loop.now)
    }

    deinit { System.close(fd) }

    /// Begins TLS as a client on an open stream that has none yet: after a proxy's CONNECT. `.connected` comes again.
    package func startTLS(_ security: Security, deadline: Instant) {
        loop.preconditionOnLoop()
        guard case .open = state else { return }
        precondition(tls == nil, "TLS begins once on a stream")
        self.security = security
        self.deadline = deadline
        armDeadline()
        beginTLS()
    }

    private func armDeadline() {
        if let timer { loop.cancel(timer) }
        timer = loop.schedule(at: deadline) { [unowned self] in
            timer = nil
            timeOut()
        }
    }

    private func finishResolving(_ outcome: Resolver.Outcome) {
        guard case .resolving = state else { return }
        switch outcome {
        case .failure(let error): end(.resolve(error))
        case .success(let all):
            let addresses = all.filter { origin.allows($0.ip.family) }
            if addresses.isEmpty, let family = origin.family {
                return end(.resolve(.noAddress(host: host, family: family)))
            }
            timing.resolved = loop.now
            state = .connecting(
                TCPConnector.connect(to: addresses, from: origin.address, deadline: deadline, loop: loop) {
                    [self] outcome in
                    switch outcome {
                    case .failure(let error): end(.connect(error))
                    case .success(let connection):
                        remoteAddress = connection.remote
                        adopt(connection.fd)
                    }
                })
        }
    }

    private func adopt(_ fd: Int32) {
        if case .closed = state { return }
        self.fd = fd
        timing.connected = loop.now
        localAddress = try? System.localAddress(fd)
        let level = Int32(IPPROTO_TCP)
        System.trySetOption(fd, level, TCP_NODELAY, 1)
        System.trySetOption(fd, level, TCP_NOTSENT_LOWAT, Self.notSentLowWater)
        System.trySetOption(fd, level, TCP_USER_TIMEOUT, Self.userTimeoutMilliseconds)
        do throws(SocketError) {
            try loop.register(fd, interest: .readable) { [self] readiness in handle(readiness) }
        } catch {
            return end(.socket(error))
        }
        if security == nil { open() } else { beginTLS() }
    }

    private func beginTLS() {
        guard let security else { return }
        state = .securing
        do throws(TLSError) {
            tls = try TLSEngine(context: security.context, host: security.host ?? host)
        } catch {
            return end(.tls(error))
        }
        advanceHandshake()
    }

    private func advanceHandshake() {
        do throws(TLSError) {
            guard let isDone = try tls?.advanceHandshake() else { return }
            guard flush() else { return }
            guard isDone else { return }
            timing.secured = loop.now
            tlsVersion = tls?.version
            open()
        } catch {
            // The alert tells the peer why.
            if flush() { end(.tls(error)) }
        }
    }

    private func open() {
        if let timer { loop.cancel(timer) }
        timer = nil
        state = .open
        updateInterest()
        onEvent?(.connected(timing))
    }

    private func timeOut() {
        switch state {
        case .resolving: end(.timedOut(.dns))
        case .connecting: end(.timedOut(.tcp))
        case .securing: end(.timedOut(.tls))
        case .ending: end(nil)
        case .open, .closed: break
        }
    }

    // MARK: - Writing

    /// True when it may be written to.
    package var isOpen: Bool {
        if case .open = state { return true }
        return false
    }

    /// Sends as much of `bytes` as there is room for now, and says how many it took: the rest is the caller's to offer
    /// again after `.writable`. 0 when the stream is not open.
    package func write(_ bytes: borrowing RawSpan) -> Int {
        loop.preconditionOnLoop()
        guard case .open = state, !bytes.isEmpty else { return 0 }
        let taken = tls == nil ? writePlain(bytes) : writeSecured(bytes)
        guard isOpen else { return taken }
        if taken < bytes.byteCount { wantsRoom = true }
        // Of a record that TLS has taken whole a part may wait for the kernel's room, with nobody to offer more.
        updateInterest()
        return taken
    }

    private func writePlain(_ bytes: borrowing RawSpan) -> Int {
        let result = bytes.withUnsafeBytes { System.send(fd, $0) }
        if result >= 0 {
            bytesSent += result
        } else if result != -Int(EAGAIN), result != -Int(ENOBUFS) {
            endLater(.broken(errno: Int32(-result)))
        }
        return max(0, result)
    }

    private func writeSecured(_ bytes: borrowing RawSpan) -> Int {
        var taken = 0
        do throws(TLSError) {
            // What is encrypted must go out whole and in order: no second record while one waits.
            while taken < bytes.byteCount, tls?.pendingCount == 0 {
                let rest = bytes.extracting(taken..<bytes.byteCount)
                guard case .bytes(let count)? = try tls?.write(rest) else { break }
                taken += count
                if let number = sendPending() {
                    endLater(.broken(errno: number))
                    break
                }
            }
        } catch {
            endLater(.tls(error))
        }
        return taken
    }

    /// Bytes in the kernel that the peer has not acknowledged, unsent ones included; 0 when not connected.
    package var unacknowledgedBytes: Int { fd < 0 ? 0 : max(0, Int(clinux_unacknowledged(fd))) }

    /// Bytes in the kernel that have not been sent yet, and our own that the kernel had no room for.
    package var unsentBytes: Int { fd < 0 ? 0 : max(0, Int(clinux_unsent(fd))) + (tls?.pendingCount ?? 0) }

    /// Sends waiting ciphertext. False when the stream has ended over it.
    private func flush() -> Bool {
        if let number = sendPending() {
            end(.broken(errno: number))
            return false
        }
        updateInterest()
        return true
    }

    /// Sends waiting ciphertext; the `errno` when the connection is broken.
    private func sendPending() -> Int32? {
        var failure: Int32?
        let fd = fd
        var sent = 0
        tls?.withPending { bytes in
            let result = System.send(fd, bytes)
            if result < 0, result != -Int(EAGAIN), result != -Int(ENOBUFS) { failure = Int32(-result) }
            sent = max(0, result)
            return sent
        }
        bytesSent += sent
        return failure
    }

    // MARK: - Reading

    /// Stops reading, so that TCP holds the peer back; the peer's end is not seen meanwhile.
    package func pauseReading() {
        loop.preconditionOnLoop()
        isPaused = true
        updateInterest()
    }

    /// Goes on reading.
    package func resumeReading() {
        loop.preconditionOnLoop()
        isPaused = false
        updateInterest()
        if tls != nil, isOpen { loop.submit { self.deliverDecrypted() } }
    }

    private func handle(_ readiness: EventLoop.Readiness) {
        if readiness.contains(.writable), !handleRoom() { return }
        if !readiness.isDisjoint(with: [.readable, .peerClosed, .error, .hangUp]) { readWaiting() }
    }

    /// False when the stream has ended over it.
    private func handleRoom() -> Bool {
        guard flush() else { return false }
        guard case .open = state else {
            if case .ending = state, tls?.pendingCount ?? 0 == 0 { System.shutdownWriting(fd) }
            return true
        }
        if wantsRoom, tls?.pendingCount ?? 0 == 0 {
            wantsRoom = false
            updateInterest()
            onEvent?(.writable)
        }
        return fd >= 0
    }

    private func readWaiting() {
        for _ in 0..<Self.readLimit {
            guard fd >= 0 else { return }
            // Paused, and yet awake: an error or a hang-up, which the poll would report for ever.
            if isPaused {
                let number = System.pendingError(fd)
                return end(number == 0 ? nil : .broken(errno: number))
            }
            let count = System.receive(fd, into: loop.scratch)
            if count == -Int(EAGAIN) { return }
            if count < 0 { return end(.broken(errno: Int32(-count))) }
            if count == 0 { return finishReading() }
            bytesReceived += count
            deliver(UnsafeRawBufferPointer(rebasing: loop.scratch[..<count]))
            if count < loop.scratch.count { return }
        }
    }

    private func deliver(_ bytes: UnsafeRawBufferPointer) {
        if tls == nil {
            if isOpen { onBytes?(bytes.bytes) }
            return
        }
        tls?.feed(bytes.bytes)
        if case .securing = state { advanceHandshake() }
        deliverDecrypted()
    }

    private func deliverDecrypted() {
        do throws(TLSError) {
            while !isPaused, case .bytes(let count)? = try readDecrypted() {
                if isOpen { onBytes?(UnsafeRawBufferPointer(rebasing: loop.plainScratch[..<count]).bytes) }
            }
            // TLS may have answered by itself: no_renegotiation, say.
            if tls?.pendingCount ?? 0 > 0 { _ = flush() }
        } catch {
            if flush() { end(.tls(error)) }
        }
    }

    /// The next plaintext, nil when there is none; ends the stream at the peer's `close_notify`.
    private func readDecrypted() throws(TLSError) -> TLSEngine.Progress? {
        switch state {
        case .open, .ending: break
        case .resolving, .connecting, .securing, .closed: return nil
        }
        let progress = try tls?.read(into: loop.plainScratch)
        if progress == .closed { end(nil) }
        return progress
    }

    private func finishReading() {
        switch state {
        case .open: end(tls == nil ? nil : .tls(.truncated))
        case .securing: end(.tls(.truncated))
        case .resolving, .connecting, .ending, .closed: end(nil)
        }
    }

    // MARK: - Ending

    /// Says goodbye: what the kernel has taken is still sent, then `close_notify` and our end of the stream. `.closed(nil)`
    /// comes when the peer has ended too, or after a second. A stream that is not open yet is aborted.
    package func shutdown() {
        loop.preconditionOnLoop()
        switch state {
        case .open:
            state = .ending
            deadline = loop.now + Self.lingerLength
            armDeadline()
            tls?.close()
            _ = sendPending()
            if tls?.pendingCount ?? 0 == 0 { System.shutdownWriting(fd) }
            isPaused = false
            updateInterest()
        case .resolving, .connecting, .securing: endLater(nil)
        case .ending, .closed: break
        }
    }

    /// Ends at once: the peer gets a reset, and no event comes any more.
    package func abort() {
        loop.preconditionOnLoop()
        onEvent = nil
        onBytes = nil
        if fd >= 0 { _ = clinux_reset_on_close(fd) }
        end(nil)
    }

    /// Ends the stream, but tells it later: not within a call of the owner's.
    private func endLater(_ error: StreamError?) {
        loop.submit { self.end(error) }
    }

    private func end(_ error: StreamError?) {
        var error = error
        switch state {
        case .closed: return
        case .resolving(let lookup): lookup.cancel()
        case .connecting(let connector): connector.cancel()
        case .securing, .open: break
        // We have said goodbye: how the peer takes it is no failure.
        case .ending: error = nil
        }
        state = .closed
        if let timer { loop.cancel(timer) }
        timer = nil
        if fd >= 0 {
            loop.unregister(fd)
            System.close(fd)
            fd = -1
        }
        tls = nil
        let told = onEvent
        onEvent = nil
        onBytes = nil
        told?(.closed(error))
    }

    private func updateInterest() {
        guard fd >= 0 else { return }
        var interest: EventLoop.Interest = isPaused ? [] : .readable
        if wantsRoom || tls?.pendingCount ?? 0 > 0 { interest.insert(.writable) }
        loop.modify(fd, interest: interest)
    }
}
