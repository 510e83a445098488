import CLinux
import Glibc
package import ICELite

/// What became of one datagram that was to be sent.
package enum SendResult: Hashable, Sendable {
    /// The kernel has taken it.
    case sent
    /// The socket's buffer is full; nothing was sent.
    case wouldBlock
    /// The kernel refused with this `errno`; nothing was sent. About this datagram, never about the socket.
    case failed(errno: Int32)
}

/// An entry of a socket's error queue: what an ICMP message, or the kernel itself, said about an earlier datagram.
package struct DatagramError: Hashable, Sendable {
    /// Where the datagram was to go; nil when the kernel does not say.
    package var destination: SocketAddress?
    /// The `errno` it means: `ECONNREFUSED`, `EHOSTUNREACH`, `EMSGSIZE` …
    package var errno: Int32
    /// ICMP or ICMPv6 type; 0 when the error is local.
    package var icmpType: UInt8
    /// ICMP or ICMPv6 code; 0 when the error is local.
    package var icmpCode: UInt8
    /// The host that sent the ICMP message; nil when the error is local.
    package var reporter: IPAddress?
    /// The kernel of this machine found it, no ICMP message came.
    package var isLocal: Bool
    /// The path MTU in bytes that came with `EMSGSIZE`, else 0.
    package var pathMTU: UInt32
}

/// A non-blocking, unconnected UDP socket, and what its error queue says.
///
/// An IPv6 socket carries IPv6 only: open one socket for each family. Bound to the wildcard address it learns the local
/// address of each datagram, and sends from the one it is told, so that one port answers from where it was asked.
///
/// `@unchecked Sendable`: confined to its owner's loop once opened.
package final class UDPSocket: @unchecked Sendable {
    /// What has happened on a socket so far.
    package struct Counters: Hashable, Sendable {
        /// Datagrams handed on, and taken by the kernel.
        package var received = 0
        package var sent = 0
        /// Datagrams longer than a packet buffer, dropped.
        package var truncated = 0
        /// Rounds that ended because the pool was empty.
        package var withoutBuffer = 0
        /// Datagrams not sent: no room, or refused.
        package var wouldBlock = 0
        package var failed = 0
        /// Sends that met an error an earlier datagram had left, and were done again.
        package var staleErrors = 0
        /// Error queue entries dropped because `pendingErrorLimit` waited already.
        package var errorsDropped = 0
    }

    /// Datagrams in one `recvmmsg` or `sendmmsg`.
    package static let batchLimit = Int(CLINUX_BATCH)
    /// Batches in one `receiveTurn`.
    package static let turnLimit = 4
    /// Bytes asked for in each direction's socket buffer; the kernel may grant less.
    package static let bufferSize: Int32 = 1 << 20
    /// Errors kept for `drainErrors` that a send had to read first.
    package static let pendingErrorLimit = 64
    /// Error queue entries read in one call.
    package static let errorBatchLimit = 64

    /// The descriptor, for `EventLoop.register`. -1 after `close`.
    package private(set) var fd: Int32
    /// The address the socket is bound to, with its real port.
    package let localAddress: SocketAddress
    /// What has happened so far.
    package private(set) var counters = Counters()

    private let batch: OpaquePointer
    /// What waits to be filled; empty between two calls.
    private let waiting: UnsafeMutablePointer<Packet>
    /// What waits to be sent, of its own: an answer may be queued while what came is handed on.
    private let outgoing: OpaquePointer
    private let queue: UnsafeMutablePointer<Packet>
    private var queueCount = 0
    private var round = 2
    private var pendingErrors: [DatagramError] = []

    /// Opens a socket and binds it; port 0 picks one.
    ///
    /// - Throws: `.addressInUse`, `.addressNotAvailable`, `.tooManyOpenFiles`, or the call that failed.
    package static func open(bind address: SocketAddress) throws(SocketError) -> UDPSocket {
        let fd = try System.socket(address.ip.family, stream: false)
        do throws(SocketError) {
            try configure(fd, for: address)
            try System.bind(fd, to: address)
            let local = try System.localAddress(fd)
            guard let batch = clinux_batch_make() else { throw SocketError.system(call: "calloc", errno: ENOMEM) }
            guard let outgoing = clinux_batch_make() else {
                clinux_batch_free(batch)
                throw SocketError.system(call: "calloc", errno: ENOMEM)
            }
            return UDPSocket(fd: fd, localAddress: local, batch: batch, outgoing: outgoing)
        } catch {
            System.close(fd)
            throw error
        }
    }

    private static func configure(_ fd: Int32, for address: SocketAddress) throws(SocketError) {
        let isWildcard = address.ip.isUnspecified
        if address.ip.family == .v4 {
            try System.setOption(fd, Int32(IPPROTO_IP), IP_RECVERR, 1, "IP_RECVERR")
            if isWildcard { try System.setOption(fd, Int32(IPPROTO_IP), IP_PKTINFO, 1, "IP_PKTINFO") }
        } else {
            let level = Int32(IPPROTO_IPV6)
            try System.setOption(fd, level, IPV6_V6ONLY, 1, "IPV6_V6ONLY")
            try System.setOption(fd, level, IPV6_RECVERR, 1, "IPV6_RECVERR")
            if isWildcard { try System.setOption(fd, level, IPV6_RECVPKTINFO, 1, "IPV6_RECVPKTINFO") }
        }
        System.trySetOption(fd, SOL_SOCKET, SO_RCVBUF, bufferSize)
        System.trySetOption(fd, SOL_SOCKET, SO_SNDBUF, bufferSize)
    }

    private init(fd: Int32, localAddress: SocketAddress, batch: OpaquePointer, outgoing: OpaquePointer) {
        self.fd = fd
        self.localAddress = localAddress
        self.batch = batch
        self.outgoing = outgoing
        waiting = .allocate(capacity: Self.batchLimit)
        queue = .allocate(capacity: Self.batchLimit)
    }

    deinit {
        queue.deinitialize(count: queueCount)
        queue.deallocate()
        waiting.deallocate()
        clinux_batch_free(batch)
        clinux_batch_free(outgoing)
        System.close(fd)
    }

    /// Closes the socket and gives back the packets that wait in it. Unregister it from its loop first.
    package func close() {
        queue.deinitialize(count: queueCount)
        queueCount = 0
        System.close(fd)
        fd = -1
    }

    // MARK: - Receiving

    /// Receives at most `batchLimit` datagrams, each into a packet of `pool`, and hands them to `body`, which may keep the
    /// packet. Its `local` has the socket's port, and its real address also when the socket is bound to the wildcard.
    ///
    /// - Returns: the number handed on; 0 when nothing waits or the pool is empty. Less than `batchLimit` may still leave
    ///   something in the socket: the poll is level-triggered. Does not allocate.
    @discardableResult
    package func receive(
        into pool: PacketPool, _ body: (consuming Packet, _ from: SocketAddress, _ local: SocketAddress) -> Void
    ) -> Int {
        guard fd >= 0 else { return 0 }
        var handed = 0
        var budget = Self.batchLimit
        while budget > 0 {
            let count = takeBuffers(min(round, budget), from: pool)
            guard count > 0 else {
                counters.withoutBuffer += 1
                break
            }
            let result = Int(clinux_batch_receive(batch, fd, Int32(count)))
            // An error an earlier send left takes one call to report, and nothing is lost by it.
            let received = max(0, result)
            for index in 0..<received { handed += hand(index, body) ? 1 : 0 }
            (waiting + received).deinitialize(count: count - received)
            budget -= count
            // Rounds grow and shrink with the traffic, so that a lone datagram does not cost 32 buffers.
            if received == count {
                round = min(Self.batchLimit, count * 4)
            } else if received > 0 {
                round = max(2, received + 1, count / 2)
            }
            if received < count { break }
        }
        counters.received += handed
        return handed
    }

    /// Receives what waits, but at most `turnLimit` batches of it, and leaves the rest in the socket: a flood on one socket
    /// keeps no loop from its timers and its other sockets. Else as `receive`.
    @discardableResult
    package func receiveTurn(
        into pool: PacketPool, _ body: (consuming Packet, _ from: SocketAddress, _ local: SocketAddress) -> Void
    ) -> Int {
        var handed = 0
        for _ in 0..<Self.turnLimit {
            let count = receive(into: pool, body)
            handed += count
            if count < Self.batchLimit { break }
        }
        return handed
    }

    private func takeBuffers(_ wanted: Int, from pool: PacketPool) -> Int {
        var count = 0
        while count < wanted, pool.taken < pool.size, let packet = pool.take() {
            clinux_batch_buffer(batch, Int32(count), packet.base, packet.capacity)
            (waiting + count).initialize(to: packet)
            count += 1
        }
        return count
    }

    private func hand(_ index: Int, _ body: (consuming Packet, SocketAddress, SocketAddress) -> Void) -> Bool {
        var datagram = clinux_datagram()
        clinux_batch_datagram(batch, Int32(index), &datagram)
        var packet = (waiting + index).move()
        guard datagram.truncated == 0, let from = SocketAddress(datagram.from) else {
            counters.truncated += 1
            return false
        }
        packet.count = min(Int(datagram.length), packet.capacity)
        let local = SocketAddress(datagram.local)?.ip ?? localAddress.ip
        body(packet, from, SocketAddress(ip: local, port: localAddress.port))
        return true
    }

    // MARK: - Sending

    /// Sends one datagram. An error that an earlier datagram left is put aside for `drainErrors` and the datagram sent
    /// again, once.
    ///
    /// - Parameters:
    ///   - local: the address to send from, for a socket bound to the wildcard; otherwise not looked at. Its port is not
    ///     used. Nil, or the wildcard, leaves it to the kernel.
    package func send(
        _ bytes: borrowing RawSpan, to remote: SocketAddress, from local: SocketAddress? = nil
    ) -> SendResult {
        guard remote.ip.family == localAddress.ip.family else { return record(.failed(errno: EAFNOSUPPORT)) }
        var to = clinux_address(remote)
        var from = source(local)
        var result = transmit(bytes, &to, &from)
        if result < 0, result != -EAGAIN, readErrors() > 0 || Self.canBeStale(-result) {
            counters.staleErrors += 1
            result = transmit(bytes, &to, &from)
            if result < 0, result != -EAGAIN { forgetLocalErrors(errno: -result) }
        }
        return record(Self.sendResult(result))
    }

    /// Queues a packet for `flush`, which is called here when `batchLimit` wait. Does not allocate.
    package func enqueue(_ packet: consuming Packet, to remote: SocketAddress, from local: SocketAddress? = nil) {
        if queueCount == Self.batchLimit { flush() }
        guard remote.ip.family == localAddress.ip.family else {
            _ = record(.failed(errno: EAFNOSUPPORT))
            return
        }
        var to = clinux_address(remote)
        var from = source(local)
        clinux_batch_buffer(outgoing, Int32(queueCount), packet.base, packet.count)
        clinux_batch_route(outgoing, Int32(queueCount), &to, &from)
        (queue + queueCount).initialize(to: packet)
        queueCount += 1
    }

    /// Sends what is queued, in order, by `sendmmsg`. A datagram that is refused is left out, one that meets a full buffer
    /// takes the rest with it: media does not wait.
    ///
    /// - Returns: `.sent` when the kernel took all of them, else the last thing that went wrong.
    @discardableResult
    package func flush() -> SendResult {
        var outcome = SendResult.sent
        var first = 0
        var triedAgain = -1
        while first < queueCount {
            let result = clinux_batch_send(outgoing, fd, Int32(first), Int32(queueCount))
            if result > 0 {
                counters.sent += Int(result)
                first += Int(result)
            } else if result == -EINTR {
                continue
            } else if result == 0 || result == -EAGAIN {
                counters.wouldBlock += queueCount - first
                outcome = .wouldBlock
                break
            } else if triedAgain != first, readErrors() > 0 || Self.canBeStale(-result) {
                triedAgain = first
                counters.staleErrors += 1
            } else {
                forgetLocalErrors(errno: -result)
                outcome = record(.failed(errno: -result))
                first += 1
            }
        }
        queue.deinitialize(count: queueCount)
        queueCount = 0
        return outcome
    }

    private func transmit(
        _ bytes: borrowing RawSpan, _ to: inout clinux_address, _ from: inout clinux_address
    ) -> Int32 {
        bytes.withUnsafeBytes { buffer in
            var result: Int32
            repeat {
                result = clinux_datagram_send(fd, buffer.baseAddress, buffer.count, &to, &from)
            } while result == -EINTR
            return result
        }
    }

    private func source(_ local: SocketAddress?) -> clinux_address {
        guard localAddress.ip.isUnspecified, let local, !local.ip.isUnspecified,
            local.ip.family == localAddress.ip.family
        else { return clinux_address() }
        return clinux_address(local.ip)
    }

    /// Errors that ICMP leaves on a socket; the others are about the datagram in hand.
    private static func canBeStale(_ number: Int32) -> Bool {
        switch number {
        case ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, EHOSTDOWN, ENONET, ENOPROTOOPT, EPROTO, EACCES, EOPNOTSUPP,
            EMSGSIZE:
            true
        default: false
        }
    }

    private static func sendResult(_ result: Int32) -> SendResult {
        result == 0 ? .sent : result == -EAGAIN ? .wouldBlock : .failed(errno: -result)
    }

    private func record(_ result: SendResult) -> SendResult {
        switch result {
        case .sent: counters.sent += 1
        case .wouldBlock: counters.wouldBlock += 1
        case .failed: counters.failed += 1
        }
        return result
    }

    // MARK: - Error queue

    /// Hands on what the error queue says, oldest first, at most `errorBatchLimit` new entries. To be called when the loop
    /// reports `.error`, and after a send that failed.
    package func drainErrors(_ body: (DatagramError) -> Void) {
        readErrors()
        guard !pendingErrors.isEmpty else { return }
        let errors = pendingErrors
        pendingErrors = []
        for error in errors { body(error) }
    }

    /// What the caller is told of a send that this machine refused is not told by the error queue as well.
    private func forgetLocalErrors(errno: Int32) {
        readErrors()
        pendingErrors.removeAll { $0.isLocal && $0.errno == errno }
    }

    /// Reads the error queue into `pendingErrors`; the number of entries read.
    @discardableResult
    private func readErrors() -> Int {
        guard fd >= 0 else { return 0 }
        var count = 0
        var raw = clinux_socket_error()
        while count < Self.errorBatchLimit, clinux_read_error(fd, &raw) == 1 {
            count += 1
            guard pendingErrors.count < Self.pendingErrorLimit else {
                counters.errorsDropped += 1
                continue
            }
            let isLocal = raw.reporter.family == 0
            pendingErrors.append(
                DatagramError(
                    destination: SocketAddress(raw.destination), errno: raw.number, icmpType: isLocal ? 0 : raw.type,
                    icmpCode: isLocal ? 0 : raw.code, reporter: SocketAddress(raw.reporter)?.ip, isLocal: isLocal,
                    pathMTU: raw.number == EMSGSIZE ? raw.info : 0))
        }
        if count == 0 { _ = System.pendingError(fd) }
        return count
    }
}
