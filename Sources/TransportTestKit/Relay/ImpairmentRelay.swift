internal import CLinux
internal import Glibc
public import ICELite
internal import Synchronization

/// A bad network on loopback: relays UDP and TCP to real targets and does to both what a `LinkModel` says.
///
/// ```
///   client ──▶ udpAddresses[i] ──(udpUp)──▶ a socket a client ──▶ udpTargets[i]
///          ◀──────────────────(udpDown)──
///   client ──▶ tcpAddress ──(lineUp)──▶ tcpTarget          ◀──(lineDown)──
/// ```
///
/// **UDP.** Every client address gets a socket of its own towards the target, as behind a NAT. With
/// `LinkModel.Reachability.reject` in `udpUp` the listening socket is connected to itself: for every other sender there
/// is then no socket on that port, so that the kernel answers ICMP port unreachable, while the port stays ours. Without
/// a target datagrams vanish, as with `.drop`.
///
/// **TCP.** The relay accepts at once and delays the bytes; loss becomes the delay of a retransmission. A line that is
/// `.reject` is reset after it was accepted, one that is `.drop` stays silent.
///
/// Everything runs on one thread; `stop()` ends it and closes every socket. All queues are bounded.
public final class ImpairmentRelay: Sendable {
    /// Client addresses a UDP listener serves; the one that was quiet longest makes room.
    public static let maximumClients = 256
    /// TCP connections at a time; one more is reset.
    public static let maximumConnections = 64
    /// Bytes of datagrams under way; one that does not fit is dropped, counted.
    public static let maximumQueuedBytes = 16 * 1_024 * 1_024
    /// Bytes under way in one direction of a TCP connection; then the relay stops reading from it.
    public static let maximumStreamBytes = 1_024 * 1_024
    /// UDP targets of one relay.
    public static let maximumTargets = 16

    /// What a relay connects and how.
    public struct Configuration: Sendable {
        /// The address to listen on.
        public var bind: IPAddress = .loopbackV4
        /// Where datagrams go: one listener each, in this order, at most `maximumTargets`. Nil: nowhere yet.
        public var udpTargets: [SocketAddress?] = []
        /// Where connections go; nil for no TCP relay.
        public var tcpTarget: SocketAddress?
        /// The port of the first UDP listener; 0 takes a free one, as the others always do.
        public var udpPort: UInt16 = 0
        /// The port of the TCP listener; 0 takes a free one.
        public var tcpPort: UInt16 = 0
        /// Datagrams from client to target.
        public var udpUp = LinkModel()
        /// Datagrams from target to client.
        public var udpDown = LinkModel()
        /// Bytes from client to target.
        public var lineUp = LinkModel()
        /// Bytes from target to client.
        public var lineDown = LinkModel()
        /// Whether a datagram passes at all, by what is in it; the others vanish, both ways. Nil: all pass.
        public var passes: (@Sendable ([UInt8]) -> Bool)?
        /// Decides every random draw.
        public var seed: UInt64 = 1

        /// A relay that connects nothing.
        public init() {}
    }

    /// How the TCP connections are cut.
    public enum Cut: Hashable, Sendable {
        /// Closed in an orderly way after what is under way.
        case close
        /// Reset on both sides; what is under way is lost.
        case reset
        /// Nothing gets through any more and nobody is told.
        case silence
    }

    /// What the relay has done.
    public struct Counters: Hashable, Sendable {
        /// Datagrams from clients, all listeners together.
        public internal(set) var udpUp = LinkCounters()
        /// Datagrams to clients.
        public internal(set) var udpDown = LinkCounters()
        /// Bytes from clients that went out to the TCP target.
        public internal(set) var lineUpBytes: UInt64 = 0
        /// Bytes from the TCP target that went out to clients.
        public internal(set) var lineDownBytes: UInt64 = 0
        /// Datagrams dropped because `maximumQueuedBytes` were under way.
        public internal(set) var queueOverflows: UInt64 = 0
        /// Datagrams dropped because there was no target or the kernel did not take them.
        public internal(set) var undeliverable: UInt64 = 0
        /// UDP clients that made room for others.
        public internal(set) var evictedClients: UInt64 = 0
        /// TCP connections that were accepted.
        public internal(set) var connections: UInt64 = 0
        /// TCP connections there are now.
        public internal(set) var openConnections = 0
        /// TCP connections that were reset: too many, refused by the target, or a line that rejects.
        public internal(set) var refusedConnections: UInt64 = 0

        /// Counters at 0.
        public init() {}
    }

    /// Where clients send datagrams: one address for each of `Configuration.udpTargets`.
    public let udpAddresses: [SocketAddress]
    /// Where clients connect; nil without a TCP target.
    public let tcpAddress: SocketAddress?

    private let mailbox: RelayMailbox
    private let thread: Mutex<pthread_t?>

    /// Opens the sockets and starts relaying. Black holes of the models are counted from now.
    public init(_ configuration: Configuration) throws(RelayError) {
        precondition(configuration.udpTargets.count <= Self.maximumTargets, "too many UDP targets")
        let waker = try RelaySocket.waker()
        let mailbox = RelayMailbox(wakeDescriptor: waker.descriptor)
        let loop = try RelayLoop(configuration, waker: waker, mailbox: mailbox)
        udpAddresses = loop.listeners.map(\.address)
        tcpAddress = loop.tcpAddress
        self.mailbox = mailbox
        thread = Mutex(nil)

        let box = Unmanaged.passRetained(RelayThreadBox(loop: loop))
        var started = pthread_t()
        let code = pthread_create(&started, nil, runRelayThread, box.toOpaque())
        guard code == 0 else {
            box.release()
            throw .system(call: "pthread_create", code: code)
        }
        thread.withLock { $0 = started }
    }

    deinit { stop() }

    /// Ends the relay: returns once its thread has ended and its sockets are closed. Harmless when repeated.
    public func stop() {
        // Held while joining, so that a second caller returns no sooner than the first.
        thread.withLock { thread in
            guard let running = thread else { return }
            mailbox.post(.stop)
            pthread_join(running, nil)
            thread = nil
        }
    }

    /// What the relay has done, up to its last turn.
    public var counters: Counters { mailbox.counters.withLock { $0 } }

    // MARK: - Changes while it runs

    /// Sends the datagrams of listener `index` to `target` from now on; nil: nowhere.
    public func setUDPTarget(_ target: SocketAddress?, at index: Int = 0) { mailbox.post(.setTarget(index, target)) }

    /// Changes what happens to datagrams. Those under way are not touched.
    public func setUDP(up: LinkModel, down: LinkModel) { mailbox.post(.setUDP(up, down)) }

    /// Changes what happens to the bytes of connections, those there are and those to come.
    public func setLine(up: LinkModel, down: LinkModel) { mailbox.post(.setLine(up, down)) }

    /// Swallows every datagram in both directions for `duration` from now; zero ends an outage.
    public func blockUDP(for duration: Duration) { mailbox.post(.blockUDP(duration.boundedNanoseconds)) }

    /// Stops the bytes of every connection in both directions for `duration` from now; TCP repeats them later.
    public func blockLine(for duration: Duration) { mailbox.post(.blockLine(duration.boundedNanoseconds)) }

    /// Gives every UDP client a new socket towards the target, as a NAT does that forgot its mappings.
    public func rebind() { mailbox.post(.rebind) }

    /// Cuts every TCP connection there is; new ones are accepted.
    public func cutLines(_ cut: Cut) { mailbox.post(.cut(cut)) }
}

/// What other threads want of the relay's, and what it tells them. Guarded by its mutexes.
final class RelayMailbox: Sendable {
    enum Command: Sendable {
        case stop
        case setTarget(Int, SocketAddress?)
        case setUDP(LinkModel, LinkModel)
        case setLine(LinkModel, LinkModel)
        case blockUDP(Nanoseconds)
        case blockLine(Nanoseconds)
        case rebind
        case cut(ImpairmentRelay.Cut)
    }

    let counters = Mutex(ImpairmentRelay.Counters())
    private let commands = Mutex<[Command]>([])
    /// Nil once the loop has gone and its descriptor with it.
    private let wakeDescriptor: Mutex<Int32?>

    init(wakeDescriptor: Int32) { self.wakeDescriptor = Mutex(wakeDescriptor) }

    func post(_ command: Command) {
        commands.withLock { $0.append(command) }
        wakeDescriptor.withLock { descriptor in
            guard let descriptor else { return }
            var one: UInt64 = 1
            _ = write(descriptor, &one, 8)
        }
    }

    func takeCommands() -> [Command] {
        commands.withLock { commands in
            let taken = commands
            commands = []
            return taken
        }
    }

    func loopEnded() { wakeDescriptor.withLock { $0 = nil } }
}

/// Carries the loop to its thread, which takes it out once.
private final class RelayThreadBox {
    let loop: RelayLoop
    init(loop: RelayLoop) { self.loop = loop }
}

/// A global function, so that it inherits no actor.
private func runRelayThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    clinux_name_thread("relay")
    let box = Unmanaged<RelayThreadBox>.fromOpaque(context).takeRetainedValue()
    box.loop.run()
    return nil
}
