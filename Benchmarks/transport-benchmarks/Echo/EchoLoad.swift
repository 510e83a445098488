internal import CSRTP
internal import Glibc
internal import ICELite
internal import TransportMedia
internal import TransportRuntime

/// The peers of a relay: sends protected packets and counts what comes back protected anew. The same for every relay.
///
/// Packets go in bursts, one for each peer and round, and the next burst goes when the last one is back: nothing is lost for
/// want of room, and every relay meets the same batches.
final class EchoLoad {
    /// Bytes of a datagram, SRTP's tag included.
    static let datagramSize = 200
    /// How long a burst is waited for before it counts as lost.
    private static let patience: Int32 = 200

    private struct Peer {
        let socket: UDPSocket
        /// What protects towards the relay, and takes what comes from it.
        let out: srtp_t
        let back: srtp_t
        var sequence: UInt16 = 0
    }

    private var peers: [Peer] = []
    private let pool = PacketPool(size: 512)
    private let tag: Int
    private let scratch = UnsafeMutableRawPointer.allocate(byteCount: PacketPool.packetCapacity, alignment: 16)
    private(set) var sent = 0
    private(set) var returned = 0
    /// Packets looked into, and those of them that did not verify.
    private(set) var verified = 0
    private(set) var broken = 0

    /// The ports of the peers, in the order the relay is to know them.
    var ports: [UInt16] { peers.map(\.socket.localAddress.port) }

    /// - Parameter pairs: calls of two peers each.
    init?(profile: SRTPProfile, pairs: Int) {
        guard srtp_shim_initialize() == 0 else { return nil }
        tag = profile.rtpTagLength
        let length = profile.keyLength + profile.saltLength
        for index in 0..<2 * pairs {
            func session(_ fill: Int, _ ssrc: Int) -> srtp_t? {
                guard let made = srtp_shim_create() else { return nil }
                let key = [UInt8](repeating: UInt8(fill), count: length)
                return srtp_shim_add(made, UInt32(profile.rawValue), 0, UInt32(ssrc), key, length, 512) == 0
                    ? made : nil
            }
            guard let socket = try? UDPSocket.open(bind: SocketAddress(ip: .loopbackV4, port: 0)),
                let out = session(0x10 + index, 0x1000 + index), let back = session(0x80 + index, 0x1000 + (index ^ 1))
            else { return nil }
            peers.append(Peer(socket: socket, out: out, back: back))
        }
    }

    deinit {
        for peer in peers {
            srtp_dealloc(peer.out)
            srtp_dealloc(peer.back)
        }
        scratch.deallocate()
    }

    /// Sends `bursts` bursts of `size` packets of each peer to the relay at `port` and takes what comes back. A relay has its
    /// own keys' streams: sequence numbers go on from run to run.
    ///
    /// - Returns: packets that came back.
    func run(bursts: Int, size: Int, to port: UInt16) -> Int {
        let relay = SocketAddress(ip: .loopbackV4, port: port)
        let before = returned
        for _ in 0..<bursts {
            for index in peers.indices {
                for _ in 0..<size { send(index, to: relay) }
                peers[index].socket.flush()
            }
            collect(size * peers.count)
        }
        return returned - before
    }

    private func send(_ index: Int, to relay: SocketAddress) {
        guard var packet = pool.take() else { return }
        peers[index].sequence &+= 1
        let plain = Self.datagramSize - tag
        packet.base.initializeMemory(as: UInt8.self, repeating: 0x5A, count: plain)
        packet.base.storeBytes(of: UInt16(0x806F).bigEndian, as: UInt16.self)
        packet.base.storeBytes(of: peers[index].sequence.bigEndian, toByteOffset: 2, as: UInt16.self)
        packet.base.storeBytes(of: UInt32(0x1000 + index).bigEndian, toByteOffset: 8, as: UInt32.self)
        let length = srtp_shim_protect(peers[index].out, packet.base, Int32(plain))
        guard length == Self.datagramSize else { return broken += 1 }
        packet.count = Int(length)
        peers[index].socket.enqueue(packet, to: relay)
        sent += 1
    }

    private func collect(_ expected: Int) {
        var missing = expected
        while missing > 0 {
            var ready = peers.map { pollfd(fd: $0.socket.fd, events: Int16(POLLIN), revents: 0) }
            guard poll(&ready, nfds_t(ready.count), Self.patience) > 0 else { return }
            for index in peers.indices where ready[index].revents & Int16(POLLIN) != 0 {
                let back = peers[index].back
                missing -= peers[index].socket.receiveTurn(into: pool) { packet, _, _ in
                    returned += 1
                    // One in some is enough: verifying all would slow the load down.
                    guard returned % 64 == 0 else { return }
                    verified += 1
                    if srtp_shim_unprotect(back, packet.base, Int32(packet.count)) < 0 { broken += 1 }
                }
            }
        }
    }
}
