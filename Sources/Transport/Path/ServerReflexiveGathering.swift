package import ICELite

/// Asks STUN servers how they see the client's sockets, all of them at the pace of ICE, beside everything else.
///
/// It shares the sockets with checks and media, and nothing waits for it. A server that does not answer costs a counter.
package struct ServerReflexiveGathering: Sendable {
    /// What became of one request.
    package enum Event: Hashable, Sendable {
        case mapped(SocketAddress, base: SocketAddress)
        case failed(STUNBindingFailure)
    }

    /// Servers' addresses that are asked at most.
    package static let serverLimit = 8
    /// Requests, sockets × servers, at most in a path's life.
    package static let requestLimit = 64
    /// Requests begin this far apart (RFC 8445 §14.1 lets Ta be 5 ms and more).
    package static let pace = Nanoseconds.milliseconds(20)

    private var randomness: Randomness
    private var servers: [SocketAddress] = []
    private var sockets: [SocketAddress] = []
    private var clients: [STUNBindingClient] = []
    private var nextStart = Instant.zero
    private var started = 0
    private var isCancelled = false

    /// Servers and requests over the limits.
    package private(set) var overflow = 0

    package init(randomness: Randomness) { self.randomness = randomness }

    /// Whether nothing is outstanding.
    package var isFinished: Bool { clients.isEmpty }

    // MARK: Inputs

    /// The sockets are these now: new ones are asked about at every server, requests of those gone are dropped.
    package mutating func setSockets(_ addresses: [SocketAddress], now: Instant) {
        guard !isCancelled else { return }
        clients.removeAll { !addresses.contains($0.path.local) }
        let new = addresses.filter { !sockets.contains($0) }
        sockets = addresses
        for server in servers { for socket in new { ask(server, from: socket, now: now) } }
    }

    /// One more server; one that is known already changes nothing.
    package mutating func addServer(_ server: SocketAddress, now: Instant) {
        guard !isCancelled, !servers.contains(server) else { return }
        guard servers.count < Self.serverLimit else { return overflow += 1 }
        servers.append(server)
        for socket in sockets { ask(server, from: socket, now: now) }
    }

    private mutating func ask(_ server: SocketAddress, from socket: SocketAddress, now: Instant) {
        // What a server of another scope saw would lead nobody to us.
        guard server.ip.family == socket.ip.family, server.ip.isLoopback == socket.ip.isLoopback,
            server.ip.isLinkLocal == socket.ip.isLinkLocal, server.port != 0
        else { return }
        guard started < Self.requestLimit else { return overflow += 1 }
        started += 1
        let start = max(now, nextStart)
        nextStart = start + Self.pace
        clients.append(
            STUNBindingClient(
                path: NetworkPath(local: socket, remote: server), startingAt: start,
                randomness: randomness.split("request \(started)")))
    }

    /// Takes a STUN datagram; false when it answers none of our requests and is somebody else's.
    package mutating func handle(_ bytes: borrowing RawSpan, path: NetworkPath, now: Instant) -> Bool {
        guard !clients.isEmpty, let id = Self.transaction(of: bytes),
            let index = clients.firstIndex(where: { $0.handles(id) })
        else { return false }
        _ = clients[index].handle(bytes, path: path, now: now)
        return true
    }

    private static func transaction(of bytes: borrowing RawSpan) -> STUNTransactionID? {
        guard bytes.byteCount >= STUNMessage.headerSize else { return nil }
        return STUNTransactionID(
            high: UInt64(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: 8, as: UInt64.self)),
            low: UInt32(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: 16, as: UInt32.self)))
    }

    package mutating func handleTimeout(now: Instant) {
        for index in clients.indices { clients[index].handleTimeout(now: now) }
    }

    /// Ends for good.
    package mutating func cancel() {
        isCancelled = true
        clients.removeAll()
    }

    // MARK: Outputs

    package var nextDeadline: Instant { clients.reduce(.never) { min($0, $1.nextDeadline) } }

    package mutating func pollTransmit(into out: inout OutputRawSpan, now: Instant) -> Transmit? {
        for index in clients.indices {
            if let transmit = clients[index].pollTransmit(into: &out, now: now) { return transmit }
        }
        return nil
    }

    package mutating func pollEvent() -> Event? {
        for index in clients.indices {
            guard let event = clients[index].pollEvent() else { continue }
            let base = clients[index].path.local
            clients.remove(at: index)
            switch event {
            case .mapped(let address): return .mapped(address, base: base)
            case .failed(let failure): return .failed(failure)
            }
        }
        return nil
    }
}
