internal import Glibc
internal import ICELite

/// One UDP address of the relay and the clients that send to it. Confined to the relay's thread.
final class RelayListener {
    /// A client and its socket towards the target.
    final class Client {
        let address: SocketAddress
        var upstream: RelaySocket?
        var lastUse: Instant

        init(address: SocketAddress, lastUse: Instant) {
            self.address = address
            self.lastUse = lastUse
        }
    }

    /// The address clients send to.
    let address: SocketAddress
    private(set) var socket: RelaySocket
    private(set) var target: SocketAddress?
    var up: LinkState
    var down: LinkState
    private(set) var clients: [Client] = []
    private(set) var evicted: UInt64 = 0
    private var isRejecting = false

    init(bind: SocketAddress, target: SocketAddress?, up: LinkState, down: LinkState) throws(RelayError) {
        socket = try .udp(boundTo: bind)
        guard let address = socket.localAddress else { throw .system(call: "getsockname", code: errno) }
        self.address = address
        self.target = target
        self.up = up
        self.down = down
        try applyReachability()
    }

    /// Makes the kernel reject what comes, or stops that, as the model says.
    func applyReachability() throws(RelayError) {
        let rejects = up.model.reachability == .reject
        guard rejects != isRejecting else { return }
        if rejects {
            try socket.connect(to: address)
        } else {
            // A second socket on the same port before the first is closed: nobody else can take it in between.
            socket.set(SOL_SOCKET, SO_REUSEADDR, 1)
            socket = try .udp(sharing: address)
        }
        isRejecting = rejects
    }

    /// The client at `address`, made if it is new; the one that was quiet longest makes room.
    func client(at address: SocketAddress, now: Instant) -> Client {
        if let known = clients.first(where: { $0.address == address }) {
            known.lastUse = now
            return known
        }
        if clients.count >= ImpairmentRelay.maximumClients,
            let oldest = clients.indices.min(by: { clients[$0].lastUse < clients[$1].lastUse })
        {
            clients.remove(at: oldest)
            evicted += 1
        }
        let client = Client(address: address, lastUse: now)
        clients.append(client)
        return client
    }

    /// Sends a client's datagram to the target; false when there is none or the kernel does not take it.
    func forward(_ datagram: [UInt8], of client: Client) -> Bool {
        guard let target else { return false }
        if client.upstream == nil { client.upstream = try? .udp(connectedTo: target) }
        // A refused connection is told at the next send, which is then lost: try once more.
        guard let upstream = client.upstream else { return false }
        return upstream.send(datagram[...]) >= 0 || upstream.send(datagram[...]) >= 0
    }

    func setTarget(_ target: SocketAddress?) {
        self.target = target
        rebind()
    }

    /// Closes the clients' sockets; the next datagram of each opens a new one.
    func rebind() {
        // The old ones stay until the new ones are open, so that no client gets its old port again.
        let old = clients.map(\.upstream)
        for client in clients {
            client.upstream = nil
            if let target { client.upstream = try? .udp(connectedTo: target) }
        }
        withExtendedLifetime(old) {}
    }
}
