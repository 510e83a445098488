internal import ICELite
internal import Transport
internal import TransportMedia
internal import TransportRuntime

/// The endpoint's walk of a packet without its calls: one loop, one UDP port, routes by tuple, SRTP both ways, the answer in
/// the buffer that the packet came in, what a wake-up made sent in batches.
///
/// `@unchecked Sendable`: everything mutable is confined to `loop`'s thread once it runs.
final class EchoRelay: @unchecked Sendable {
    /// As the endpoint's.
    private static let poolSize = 512

    /// One peer: a call's media path reduced to its keys.
    private final class Leg {
        let path: NetworkPath
        var srtp: SRTPSession

        init(_ path: NetworkPath, _ srtp: consuming SRTPSession) {
            self.path = path
            self.srtp = srtp
        }
    }

    private let loop: EventLoop
    private let socket: UDPSocket
    private let pool = PacketPool(size: poolSize)
    private var routes = PathTable(seed: .random(in: .min ... .max))
    private var legs: [Leg] = []

    var port: UInt16 { socket.localAddress.port }

    init(_ profile: SRTPProfile, ports: [UInt16]) throws {
        SRTPSession.prepareLibrary()
        socket = try UDPSocket.open(bind: SocketAddress(ip: .loopbackV4, port: 0))
        loop = try EventLoop(name: "echo-relay")
        let length = profile.keyLength + profile.saltLength
        for (index, port) in ports.enumerated() {
            let keys = try SRTPKeys(
                profile: profile, local: [UInt8](repeating: UInt8(0x80 + index), count: length),
                remote: [UInt8](repeating: UInt8(0x10 + index), count: length))
            var srtp = try SRTPSession(keys: keys, localSSRC: UInt32(0x1000 + (index ^ 1)))
            srtp.addRemoteSSRC(UInt32(0x1000 + index))
            let path = NetworkPath(
                local: socket.localAddress, remote: SocketAddress(ip: .loopbackV4, port: port))
            legs.append(Leg(path, srtp))
            routes[path] = index
        }
        loop.submit { [unowned self] in
            try? loop.register(socket.fd, interest: .readable) { [unowned self] _ in turn() }
        }
    }

    func stop() { loop.stop() }

    private func turn() {
        socket.receiveTurn(into: pool) { packet, remote, local in
            relay(packet, NetworkPath(local: local, remote: remote))
        }
        socket.flush()
    }

    private func relay(_ packet: consuming Packet, _ path: NetworkPath) {
        guard case .media = DatagramKind(of: packet.bytes), !isRTCP(packet.bytes), let index = routes[path] else {
            return
        }
        let leg = legs[index]
        guard case .ok = leg.srtp.unprotectRTP(&packet) else { return }
        do throws(RTPError) {
            _ = try RTPHeader(parsing: packet.bytes)
        } catch {
            return
        }
        let other = legs[index ^ 1]
        guard case .ok = other.srtp.protectRTP(&packet) else { return }
        socket.enqueue(packet, to: other.path.remote, from: path.local)
    }
}
