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
    /// The highest limit of connections that can be asked for.
    private static let largestConnectionLimit = 1_000_000
    /// Connections beyond the limit that are held to be answered with 503.
    static let refusalLimit = 64
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
    private var routes = DatagramRoutes<EndpointConnection>()
    private(set) var earlyFlights = EarlyFlights()
    private var unconfirmed = UnconfirmedDestinations()
    private var callIDs: CallIDs
    private let count = Atomic<Int>(0)
    private let announced: AnnouncedAddresses
    private var interfaces: [NetworkInterfaces.Address] = []
    private var interfacesExpireAt = Instant.zero
    private var isGoingAway = false
    private var isShutDown = false
    /// Who waits for the end of the last connection.
    private var farewells: [() -> Void] = []

    /// Datagrams that belong to no call, but for early DTLS.
    private(set) var strayDatagrams = 0
    /// Connections closed as they came, unanswered: too many were there.
    private(set) var turnedAway = 0

    var connectionCount: Int { count.load(ordering: .relaxed) }

    init(
        _ configuration: EndpointConfiguration, handler: @escaping @Sendable (AgentCall) async -> Void
    ) throws(TransportError) {
        // One that nobody has set: from an empty variable, say.
        guard !configuration.keys.contains("") else { throw .invalidOptions("keys: a key must not be empty") }
        guard (1...Self.largestConnectionLimit).contains(configuration.connectionLimit) else {
            throw .invalidOptions("connectionLimit must be 1…\(Self.largestConnectionLimit)")
        }
        let listening = try ListenAddresses(configuration.listenAddresses)
        announced = try AnnouncedAddresses(listening: listening, substitutes: configuration.announcedAddresses)
        let reachable = announced.reachable(interfaces: announced.needsInterfaces ? NetworkInterfaces.all() : [])
        SRTPSession.prepareLibrary()
        _ = DTLSCertificate.shared
        self.configuration = configuration
        callIDs = CallIDs(kept: configuration.limits.endedCallIDKept.nanoseconds)
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
        // Who is one too many is told by a 503; a crowd is kept from memory and TLS.
        guard connections.count < configuration.connectionLimit + Self.refusalLimit else {
            turnedAway += 1
            close(fd)
            return
        }
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

    /// Takes a call id: false when a call of it lives or has just ended.
    func take(_ id: CallIDs.Entry, now: Instant) -> Bool { callIDs.take(id, now: now) }

    /// Checks find the call by its username fragments, one or two, and media from an unknown address by its sender.
    func route(ufrags: [String], ssrc: UInt32?, to connection: EndpointConnection) {
        routes.setUfrags(ufrags, of: connection)
        if let ssrc { routes.setSSRC(ssrc, of: connection) }
    }

    /// Whether a call may send to an address that has not shown that it receives: all calls together count.
    func admits(_ ip: IPAddress, now: Instant) -> Bool { unconfirmed.admit(ip, now: now) }

    /// A connection is over.
    func remove(_ connection: EndpointConnection, callID: CallIDs.Entry?) {
        guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        count.store(connections.count, ordering: .relaxed)
        if let callID { callIDs.end(callID, now: loop.now) }
        routes.remove(connection)
        // Later, not within a call of the connection's.
        if connections.isEmpty, isGoingAway { loop.submit { self.shutDown() } }
    }

    private func receive(from socket: UDPSocket) {
        socket.receiveTurn(into: pool) { packet, remote, local in
            var packet = packet
            deliver(&packet, NetworkPath(local: local, remote: remote))
        }
    }

    /// Hands a datagram to its call, and the tuple with it once that is authenticated.
    private func deliver(_ packet: inout Packet, _ path: NetworkPath) {
        guard let connection = routes.owner(of: packet.bytes, from: path) else {
            if case .dtls = DatagramKind(of: packet.bytes) {
                earlyFlights.park(packet.bytes, from: path, now: loop.now)
            } else {
                strayDatagrams += 1
            }
            return
        }
        guard connection.receive(&packet, path) else { return }
        let owner = routes.owner(of: path)
        // Behind one NAT a port may be another call's a moment later, but not while media comes from it.
        guard owner !== connection, owner?.holds(path) != true else { return }
        routes.bind(path, to: connection)
        for bytes in earlyFlights.claim(path, now: loop.now) {
            guard var flight = pool.take() else { return }
            flight.assign(bytes.span.bytes)
            _ = connection.receive(&flight, path)
        }
    }

    /// Sends a datagram of a call's.
    func send(_ packet: borrowing Packet, _ path: NetworkPath) {
        guard let socket = sockets.socket(sendingFrom: path.local.ip) else { return }
        _ = socket.send(packet.bytes, to: path.remote, from: path.local)
    }
}
