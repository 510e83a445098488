internal import ICELite
internal import TransportRuntime

/// A lite agent with its buffers: a datagram goes in, what it answers comes out.
final class CheckBench {
    private var agent: ICELiteAgent
    private let pool = PacketPool(size: 1)
    private let path = NetworkPath(
        local: SocketAddress(ip: IPAddress(v4: 0xC000_0201), port: 4_000),
        remote: SocketAddress(ip: IPAddress(v4: 0xC633_6401), port: 5_000))
    private let ufrag = Array("LocUfrag".utf8)
    private let key = STUNKey(password: ICE.localPassword)
    private var now = Instant.zero
    private(set) var answers = 0
    /// Bytes of the message that `encode` wrote last.
    private(set) var byteCount = 0

    var tupleCount: Int { agent.tupleCount }

    init() {
        guard let ours = ICECredentials(ufrag: "LocUfrag", password: ICE.localPassword),
            let theirs = ICECredentials(ufrag: "RemUfrag", password: "peerPasswordpeerPassword")
        else { preconditionFailure("the credentials must be ICE's") }
        agent = ICELiteAgent(credentials: ours, peerCredentials: theirs, randomness: .seeded(1))
        // An unconfirmed tuple would get answers for a while only.
        handle(ICE.check())
        while agent.pollEvent() != nil {}
        agent.confirm(path)
        answers = 0
    }

    /// Makes the agent forget its tuple: for the junk, which must not make one.
    func forget() {
        now = now + .seconds(60)
        agent.handleTimeout(now: now)
    }

    /// One datagram handled, its answers drained.
    func handle(_ bytes: [UInt8]) {
        now = now + 1_000
        _ = agent.handle(bytes.span.bytes, path: path, now: now)
        while answer() { answers &+= 1 }
    }

    private func answer() -> Bool {
        guard var packet = pool.take() else { return false }
        return packet.write { out in agent.pollTransmit(into: &out, now: now) } != nil
    }

    /// One check written.
    func encode(_ id: UInt64) {
        guard var packet = pool.take() else { return }
        packet.write { out in
            do throws(STUNError) {
                try ICE.write(STUNTransactionID(high: id, low: 0), ufrag: ufrag, key: key, into: &out)
            } catch {
                preconditionFailure("the check must fit: \(error)")
            }
        }
        byteCount = packet.count
    }
}
