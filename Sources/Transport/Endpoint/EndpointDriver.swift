internal import Dispatch
internal import Glibc
internal import ICELite
internal import Synchronization
import TransportMedia
import TransportRuntime

/// Drives all calls of an endpoint on one loop: its sockets, and a connection for each line.
///
/// `@unchecked Sendable`: everything mutable is confined to `loop`'s thread, but for the atomic counter.
final class EndpointDriver: @unchecked Sendable {
    /// Packets in hand at most, all calls together.
    private static let poolSize = 512
    /// Ended call ids that are remembered at most.
    private static let endedIDLimit = 10_000
    /// How long `stop` waits for clients to take the goodbye in: round trips of a line, not of a person.
    static let farewellTime = Nanoseconds.milliseconds(250)
    /// How long the interfaces' addresses are believed: lines come faster than interfaces change.
    private static let interfacesKept = Nanoseconds.seconds(1)

    /// Where lines are reached: wildcards as the addresses of the interfaces.
    let lineAddresses: [SocketAddress]
    let udpPort: UInt16
    let certificatePEM: String
    let loop: EventLoop
    let configuration: EndpointConfiguration
    let tls: TLSContext?
    let pool = PacketPool(size: poolSize)
    let handler: @Sendable (AgentCall) async -> Void

    private var sockets: EndpointSockets
    private var connections: [ObjectIdentifier: EndpointConnection] = [:]
    private var byUfrag: [STUNUsernameFragment: EndpointConnection] = [:]
    private var byPath: [NetworkPath: EndpointConnection] = [:]
    /// Finds the call of media that comes from an address it has not shown yet.
    private var bySSRC: [UInt32: EndpointConnection] = [:]
    private var unconfirmed = UnconfirmedDestinations()
    private var liveIDs: Set<String> = []
    private var endedIDs: [(id: String, at: Instant)] = []
    private let count = Atomic<Int>(0)
    private let announced: AnnouncedAddresses
    private var interfaces: [NetworkInterfaces.Address] = []
    private var interfacesExpireAt = Instant.zero
    private var isGoingAway = false
    private var isShutDown = false
    /// Who waits for the end of the last connection.
    private var farewells: [() -> Void] = []

    /// Datagrams that belong to no call.
    private(set) var strayDatagrams = 0

    var connectionCount: Int { count.load(ordering: .relaxed) }

    init(
        _ configuration: EndpointConfiguration, handler: @escaping @Sendable (AgentCall) async -> Void
    ) throws(TransportError) {
        let listening = try ListenAddresses(configuration.listenAddresses)
        announced = try AnnouncedAddresses(listening: listening, substitutes: configuration.announcedAddresses)
        let reachable = announced.reachable(interfaces: announced.needsInterfaces ? NetworkInterfaces.all() : [])
        SRTPSession.prepareLibrary()
        self.configuration = configuration
        self.handler = handler
        (tls, certificatePEM) = try Self.security(configuration, reachable)
        let box = AcceptBox()
        do throws(SocketError) {
            let loop = try EventLoop(name: "graine-agents")
            self.loop = loop
            do throws(SocketError) {
                sockets = try EndpointSockets.open(
                    listening, port: configuration.port, udpPort: configuration.udpPort, loop: loop
                ) { fd, from in
                    if let driver = box.driver { driver.accept(fd, from) } else { close(fd) }
                }
            } catch {
                loop.stop()
                throw error
            }
        } catch {
            if case .addressInUse = error { throw .addressInUse("\(error)") }
            throw .system("\(error)")
        }
        udpPort = sockets.udpPort
        let families = Set(sockets.listeners.map(\.localAddress.ip.family))
        let port = sockets.linePort
        // No URL names a zone: a link-local address counts only where it was asked for.
        lineAddresses = reachable.filter {
            families.contains($0.family) && (!$0.isLinkLocal || listening.ips.contains($0))
        }.map { SocketAddress(ip: $0, port: port) }
        box.driver = self
        for socket in sockets.datagrams {
            loop.submit { [unowned self] in
                try? loop.register(socket.fd, interest: .readable) { [unowned self] readiness in
                    if readiness.contains(.error) { socket.drainErrors { _ in } }
                    receive(from: socket)
                }
            }
        }
    }

    /// Holds the driver for the listeners, which exist before the driver is whole.
    private final class AcceptBox: Sendable {
        private struct Weak: Sendable {
            weak var driver: EndpointDriver?
        }

        private let held = Mutex(Weak())

        var driver: EndpointDriver? {
            get { held.withLock { $0.driver } }
            set { held.withLock { $0.driver = newValue } }
        }
    }

    private static func security(
        _ configuration: EndpointConfiguration, _ reachable: [IPAddress]
    ) throws(TransportError) -> (TLSContext?, String) {
        do throws(TLSError) {
            switch configuration.identity {
            case .none: return (nil, "")
            case .selfSigned:
                let hosts = ["localhost"] + reachable.map(\.description)
                let identity = try TLSIdentity.selfSigned(for: Array(hosts.prefix(TLSIdentity.hostLimit)))
                return (try TLSContext(identity: identity), identity.certificatePEM)
            case .files(let certificate, let key):
                let identity = try TLSIdentity(certificateChainFile: certificate, keyFile: key)
                return (try TLSContext(identity: identity), identity.certificatePEM)
            }
        } catch {
            throw .invalidOptions("identity: \(error)")
        }
    }

    // MARK: From any thread

    /// Says goodbye to every client and waits for the loop's end, at most `farewellTime` and what the last wake-up takes.
    func stop() {
        if loop.isOnLoop {
            // Nobody can be waited for here.
            loop.submit { self.shutDown() }
        } else {
            let isOver = DispatchSemaphore(value: 0)
            if loop.submit({ self.goAway { isOver.signal() } }) { isOver.wait() }
        }
        loop.stop()
    }

    // MARK: On the loop

    private func goAway(then done: @escaping () -> Void) {
        farewells.append(done)
        if isShutDown { return shutDown() }
        guard !isGoingAway else { return }
        isGoingAway = true
        sockets.closeListeners()
        for connection in Array(connections.values) { connection.goAway() }
        if connections.isEmpty { return shutDown() }
        _ = loop.schedule(at: loop.now + Self.farewellTime) { [unowned self] in shutDown() }
    }

    private func shutDown() {
        for connection in Array(connections.values) { connection.abort() }
        sockets.close(loop)
        isShutDown = true
        for farewell in farewells { farewell() }
        farewells.removeAll()
    }

    private func accept(_ fd: Int32, _ from: SocketAddress) {
        let now = loop.now
        let stream = ByteStream(
            accepted: fd, tls: tls, deadline: now + configuration.limits.upgradeTimeout.nanoseconds, loop: loop)
        let connection: EndpointConnection
        do throws(TransportError) {
            connection = try EndpointConnection(self, stream: stream, now: now)
        } catch {
            return stream.abort()
        }
        connections[ObjectIdentifier(connection)] = connection
        count.store(connections.count, ordering: .relaxed)
    }

    /// Whether one more connection is too many.
    var isFull: Bool { connections.count > configuration.connectionLimit }

    /// The addresses an answer announces to a client whose line came to `local`.
    func candidates(lineLocal: SocketAddress?) -> [SocketAddress] {
        if announced.needsInterfaces, loop.now >= interfacesExpireAt {
            interfaces = NetworkInterfaces.all()
            interfacesExpireAt = loop.now + Self.interfacesKept
        }
        return announced.candidates(lineLocal: lineLocal?.ip, interfaces: interfaces)
            .map { SocketAddress(ip: $0, port: udpPort) }
    }

    /// Takes a call id: false when it is live or ended less than a minute ago.
    func takeID(_ id: String, now: Instant) -> Bool {
        let kept = configuration.limits.endedCallIDKept.nanoseconds
        endedIDs.removeAll { now - $0.at >= kept }
        guard !endedIDs.contains(where: { $0.id == id }) else { return false }
        return liveIDs.insert(id).inserted
    }

    /// Checks find the call by its username fragments, one or two: these take the place of those.
    func route(_ ufrags: [String], insteadOf old: [String], to connection: EndpointConnection) {
        for ufrag in old where !ufrags.contains(ufrag) {
            if let fragment = STUNUsernameFragment(ufrag) { byUfrag[fragment] = nil }
        }
        for ufrag in ufrags {
            if let fragment = STUNUsernameFragment(ufrag) { byUfrag[fragment] = connection }
        }
    }

    /// Media with this SSRC, from an address that is no call's, is tried with the call. Who has it first keeps it.
    func route(ssrc: UInt32, to connection: EndpointConnection) {
        if bySSRC[ssrc] == nil { bySSRC[ssrc] = connection }
    }

    /// Whether a call may send to an address that has not shown that it receives: all calls together count.
    func admits(_ ip: IPAddress, now: Instant) -> Bool { unconfirmed.admit(ip, now: now) }

    /// A connection is over.
    func remove(
        _ connection: EndpointConnection, callID: String?, ufrags: [String], ssrc: UInt32?, paths: [NetworkPath]
    ) {
        guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        count.store(connections.count, ordering: .relaxed)
        if let callID, liveIDs.remove(callID) != nil {
            if endedIDs.count >= Self.endedIDLimit { endedIDs.removeFirst() }
            endedIDs.append((callID, loop.now))
        }
        route([], insteadOf: ufrags, to: connection)
        if let ssrc, bySSRC[ssrc] === connection { bySSRC[ssrc] = nil }
        for path in paths where byPath[path] === connection { byPath[path] = nil }
        // Later, not within a call of the connection's.
        if connections.isEmpty, isGoingAway { loop.submit { self.shutDown() } }
    }

    private func receive(from socket: UDPSocket) {
        while socket.receive(
            into: pool,
            { packet, remote, local in
                var packet = packet
                deliver(&packet, NetworkPath(local: local, remote: remote))
            }) == UDPSocket.batchLimit
        {}
    }

    /// Finds the call of a datagram: a check by its username fragment, everything else by its tuple.
    private func deliver(_ packet: inout Packet, _ path: NetworkPath) {
        var connection = byPath[path]
        if STUNMessage.isSTUN(packet.bytes), let fragment = stunUsernameFragment(of: packet.bytes) {
            connection = byUfrag[fragment]
        } else if connection == nil, let ssrc = MediaPath.senderSSRC(of: packet.bytes) {
            connection = bySSRC[ssrc]
        }
        guard let connection else {
            strayDatagrams += 1
            return
        }
        guard connection.receive(&packet, path), byPath[path] !== connection else { return }
        // Behind one NAT a port may be another call's a moment later, but not while media comes from it.
        if let owner = byPath[path], owner.holds(path) { return }
        byPath[path] = connection
    }

    /// Sends a datagram of a call's.
    func send(_ packet: borrowing Packet, _ path: NetworkPath) {
        guard let socket = sockets.socket(sendingFrom: path.local.ip) else { return }
        _ = socket.send(packet.bytes, to: path.remote, from: path.local)
    }
}
