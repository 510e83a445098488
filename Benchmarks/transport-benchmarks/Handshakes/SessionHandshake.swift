internal import ICELite
internal import TransportMedia
internal import TransportRuntime

/// A whole handshake of two sessions: keys at both ends, the same ones, both complete.
final class SessionHandshake {
    private let certificates: (client: DTLSCertificate, server: DTLSCertificate)
    private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 2_048, alignment: 16)
    private let pool = PacketPool(size: 64)

    init?() {
        guard let client = try? DTLSCertificate(), let server = try? DTLSCertificate() else { return nil }
        certificates = (client, server)
    }

    deinit { room.deallocate() }

    /// Runs one with its datagrams handed across in memory. False when it does not come to its end.
    func run() -> Bool {
        run { datagram, receiver in
            _ = receiver.handle(datagram, now: .zero)
        } receive: { _, _ in
            false
        }
    }

    /// Runs one over two sockets of its own on loopback. False when it does not come to its end.
    func runOverLoopback() -> Bool {
        guard let client = try? UDPSocket.open(bind: SocketAddress(ip: .loopbackV4, port: 0)),
            let server = try? UDPSocket.open(bind: SocketAddress(ip: .loopbackV4, port: 0))
        else { return false }
        defer {
            client.close()
            server.close()
        }
        return run { datagram, receiver in
            let isForServer = receiver.role == .server
            _ = (isForServer ? client : server).send(
                datagram, to: (isForServer ? server : client).localAddress)
        } receive: { session, pool in
            var datagrams: [[UInt8]] = []
            (session.role == .server ? server : client).receive(into: pool) { packet, _, _ in
                datagrams.append(packet.bytes.withUnsafeBytes { Array($0) })
            }
            for datagram in datagrams { _ = session.handle(datagram.span.bytes, now: .zero) }
            return !datagrams.isEmpty
        }
    }

    /// - Parameters:
    ///   - send: Takes a datagram for the session it is given.
    ///   - receive: Feeds the session what has come for it meanwhile, if `send` did not. False when that was nothing.
    private func run(
        send: (borrowing RawSpan, inout DTLSSession) -> Void, receive: (inout DTLSSession, PacketPool) -> Bool
    ) -> Bool {
        guard var client = try? DTLSSession(role: .client, certificate: certificates.client),
            var server = try? DTLSSession(role: .server, certificate: certificates.server)
        else { return false }
        client.setRemoteFingerprints([certificates.server.fingerprint])
        server.setRemoteFingerprints([certificates.client.fingerprint])
        client.start(now: .zero)
        server.start(now: .zero)
        var moved = true
        while moved {
            moved = move(from: &client, to: &server, send)
            moved = receive(&server, pool) || moved
            moved = move(from: &server, to: &client, send) || moved
            moved = receive(&client, pool) || moved
        }
        let ours = Self.outcome(of: &client)
        let theirs = Self.outcome(of: &server)
        guard ours.isCompleted, theirs.isCompleted, let one = ours.keys, let other = theirs.keys else { return false }
        return one.withLocal { local in other.withRemote { local.elementsEqual($0) } }
            && one.withRemote { remote in other.withLocal { remote.elementsEqual($0) } }
    }

    private func move(
        from: inout DTLSSession, to: inout DTLSSession, _ send: (borrowing RawSpan, inout DTLSSession) -> Void
    ) -> Bool {
        var out = unsafe OutputRawSpan(buffer: room, initializedCount: 0)
        let written = from.pollDatagram(into: &out, now: .zero)
        let count = unsafe out.finalize(for: room)
        guard written != nil else { return false }
        send(unsafe UnsafeRawBufferPointer(rebasing: room[..<count]).bytes, &to)
        return true
    }

    private static func outcome(of session: inout DTLSSession) -> (keys: SRTPKeys?, isCompleted: Bool) {
        var outcome: (keys: SRTPKeys?, isCompleted: Bool) = (nil, false)
        while let event = session.pollEvent() {
            switch event {
            case .keys(let keys): outcome.keys = keys
            case .completed: outcome.isCompleted = true
            case .failed, .closed: return (nil, false)
            }
        }
        return outcome
    }
}
