internal import CLinux
internal import Glibc
internal import ICELite
internal import Synchronization
internal import Transport
import TransportRuntime

/// The relay's thread: sockets, what is under way, and a clock. Confined to that thread once `run` is called.
final class RelayLoop {
    /// Datagrams read from one socket before the others have their turn.
    static let readsPerTurn = 64

    private enum Delivery {
        case up(RelayListener, RelayListener.Client, [UInt8])
        case down(RelayListener, RelayListener.Client, [UInt8])
        case stream(connection: UInt64, side: Int, [UInt8])
    }

    private enum Source {
        case waker
        case listener(RelayListener)
        case upstream(RelayListener, RelayListener.Client)
        case acceptor(RelaySocket)
        case connection(RelayConnection, side: Int)
    }

    let listeners: [RelayListener]
    /// Where clients connect; nil without a TCP target.
    var tcpAddress: SocketAddress? { acceptor?.localAddress }

    private let configuration: ImpairmentRelay.Configuration
    private let waker: RelaySocket
    private let mailbox: RelayMailbox
    private let acceptor: RelaySocket?
    private let start: Instant
    private let random: Randomness
    private var lineModels: (up: LinkModel, down: LinkModel)
    private var lineBlockedUntil = Instant(nanoseconds: .min)
    private var connections: [RelayConnection] = []
    private var nextConnection: UInt64 = 0
    private var queue = EventHeap<Delivery>()
    private var queuedBytes = 0
    private var counters = ImpairmentRelay.Counters()
    private var pastLineBytes: (up: UInt64, down: UInt64) = (0, 0)
    private var isRunning = true
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)

    /// Opens the listening sockets.
    init(
        _ configuration: ImpairmentRelay.Configuration, waker: RelaySocket, mailbox: RelayMailbox
    ) throws(RelayError) {
        self.configuration = configuration
        self.waker = waker
        self.mailbox = mailbox
        start = MonotonicClock.now()
        random = .seeded(configuration.seed)
        lineModels = (configuration.lineUp, configuration.lineDown)
        var opened: [RelayListener] = []
        for (index, target) in configuration.udpTargets.enumerated() {
            var (up, down) = (random, random)
            opened.append(
                try RelayListener(
                    bind: SocketAddress(ip: configuration.bind, port: index == 0 ? configuration.udpPort : 0),
                    target: target,
                    up: LinkState(model: configuration.udpUp, start: start, randomness: up.split("udp\(index).up")),
                    down: LinkState(
                        model: configuration.udpDown, start: start, randomness: down.split("udp\(index).down"))))
        }
        listeners = opened
        if configuration.tcpTarget == nil {
            acceptor = nil
        } else {
            let address = SocketAddress(ip: configuration.bind, port: configuration.tcpPort)
            acceptor = try .listener(boundTo: address, backlog: Int32(ImpairmentRelay.maximumConnections))
        }
    }

    deinit { buffer.deallocate() }

    // MARK: - Turns

    /// Relays until it is told to stop.
    func run() {
        while isRunning {
            let (descriptors, sources) = interests(now: MonotonicClock.now())
            let ready = wait(descriptors)
            var now = MonotonicClock.now()
            for index in ready where isRunning { handle(sources[index], now: now) }
            now = MonotonicClock.now()
            while let delivery = queue.pop(notAfter: now) { deliver(delivery.payload) }
            publish()
        }
        mailbox.loopEnded()
        for connection in connections { connection.reset() }
        connections = []
    }

    private func interests(now: Instant) -> ([pollfd], [Source]) {
        var descriptors = [pollfd(fd: waker.descriptor, events: Int16(POLLIN), revents: 0)]
        var sources = [Source.waker]
        func add(_ socket: RelaySocket, _ events: Int32, _ source: Source) {
            descriptors.append(pollfd(fd: socket.descriptor, events: Int16(events), revents: 0))
            sources.append(source)
        }
        for listener in listeners {
            add(listener.socket, POLLIN, .listener(listener))
            for client in listener.clients {
                if let upstream = client.upstream { add(upstream, POLLIN, .upstream(listener, client)) }
            }
        }
        if let acceptor { add(acceptor, POLLIN, .acceptor(acceptor)) }
        for connection in connections {
            for side in 0...1 {
                let events =
                    (connection.wantsRead(side, now: now) ? POLLIN : 0) | (connection.wantsWrite(side) ? POLLOUT : 0)
                if events != 0 { add(connection.sockets[side], events, .connection(connection, side: side)) }
            }
        }
        return (descriptors, sources)
    }

    /// Waits for sockets and the next delivery, and says which are ready.
    private func wait(_ descriptors: [pollfd]) -> [Int] {
        var deadline = queue.nextTime
        for connection in connections where !connection.isSilent {
            for half in connection.halves where !half.isEnded && half.pausedUntil.nanoseconds != .min {
                if half.pausedUntil > MonotonicClock.now() { deadline = min(deadline, half.pausedUntil) }
            }
        }
        var descriptors = descriptors
        let length =
            deadline == .never
            ? Nanoseconds.seconds(3_600) : min(max(0, deadline - MonotonicClock.now()), .seconds(3_600))
        // Rounded up: a delivery is up to a millisecond late, never early.
        let count = poll(&descriptors, nfds_t(descriptors.count), Int32((length + 999_999) / 1_000_000))
        guard count > 0 else { return [] }
        return descriptors.indices.filter { descriptors[$0].revents != 0 }
    }

    private func handle(_ source: Source, now: Instant) {
        switch source {
        case .waker:
            var value: UInt64 = 0
            _ = read(waker.descriptor, &value, 8)
            for command in mailbox.takeCommands() { obey(command, now: now) }
        case .listener(let listener): receiveUp(listener, now: now)
        case .upstream(let listener, let client): receiveDown(listener, client, now: now)
        case .acceptor(let acceptor): accept(from: acceptor, now: now)
        case .connection(let connection, let side): service(connection, side: side, now: now)
        }
    }

    private func publish() {
        counters.udpUp = LinkCounters()
        counters.udpDown = LinkCounters()
        counters.evictedClients = 0
        for listener in listeners {
            counters.udpUp += listener.up.counters
            counters.udpDown += listener.down.counters
            counters.evictedClients += listener.evicted
        }
        counters.lineUpBytes = connections.reduce(pastLineBytes.up) { $0 + $1.halves[0].forwarded }
        counters.lineDownBytes = connections.reduce(pastLineBytes.down) { $0 + $1.halves[1].forwarded }
        counters.openConnections = connections.count
        mailbox.counters.withLock { $0 = counters }
    }

    private func obey(_ command: RelayMailbox.Command, now: Instant) {
        switch command {
        case .stop: isRunning = false
        case .setTarget(let index, let target):
            if listeners.indices.contains(index) { listeners[index].setTarget(target) }
        case .setUDP(let up, let down):
            for listener in listeners {
                listener.up.model = up
                listener.down.model = down
                do { try listener.applyReachability() } catch { counters.undeliverable += 1 }
            }
        case .setLine(let up, let down):
            lineModels = (up, down)
            for connection in connections {
                connection.halves[0].state.model = up
                connection.halves[1].state.model = down
            }
        case .blockUDP(let length):
            for listener in listeners {
                listener.up.blockedUntil = now + length
                listener.down.blockedUntil = now + length
            }
        case .blockLine(let length):
            lineBlockedUntil = now + length
            for connection in connections {
                for side in 0...1 { connection.halves[side].state.blockedUntil = lineBlockedUntil }
            }
        case .rebind: for listener in listeners { listener.rebind() }
        case .cut(let cut): for connection in connections { self.cut(connection, cut, now: now) }
        }
    }

    // MARK: - Datagrams

    private func receiveUp(_ listener: RelayListener, now: Instant) {
        for _ in 0..<Self.readsPerTurn {
            guard case .bytes(let count, let source?) = listener.socket.receive(into: buffer) else { return }
            // Only a socket connected to itself hears itself.
            guard source != listener.address else { continue }
            let client = listener.client(at: source, now: now)
            let bytes = Array(buffer[..<count])
            guard configuration.passes?(bytes) ?? true else { continue }
            plan(listener.up.send(byteCount: count, now: now), count) { .up(listener, client, bytes) }
        }
    }

    private func receiveDown(_ listener: RelayListener, _ client: RelayListener.Client, now: Instant) {
        for _ in 0..<Self.readsPerTurn {
            guard let upstream = client.upstream else { return }
            guard case .bytes(let count, _) = upstream.receive(into: buffer) else { return }
            let bytes = Array(buffer[..<count])
            guard configuration.passes?(bytes) ?? true else { continue }
            plan(listener.down.send(byteCount: count, now: now), count) { .down(listener, client, bytes) }
        }
    }

    private func plan(_ outcome: LinkOutcome, _ byteCount: Int, _ delivery: () -> Delivery) {
        switch outcome {
        case .delivered(let time): push(delivery(), byteCount, at: time)
        case .duplicated(let first, let second):
            push(delivery(), byteCount, at: first)
            push(delivery(), byteCount, at: second)
        case .dropped, .rejected: break
        }
    }

    private func push(_ delivery: Delivery, _ byteCount: Int, at time: Instant) {
        guard queuedBytes + byteCount <= ImpairmentRelay.maximumQueuedBytes else {
            counters.queueOverflows += 1
            return
        }
        queuedBytes += byteCount
        queue.push(delivery, at: time)
    }

    private func deliver(_ delivery: Delivery) {
        switch delivery {
        case .up(let listener, let client, let bytes):
            queuedBytes -= bytes.count
            if !listener.forward(bytes, of: client) { counters.undeliverable += 1 }
        case .down(let listener, let client, let bytes):
            queuedBytes -= bytes.count
            if !listener.socket.send(bytes, to: client.address) { counters.undeliverable += 1 }
        case .stream(let id, let side, let bytes):
            guard let connection = connections.first(where: { $0.id == id }) else { return }
            if !connection.arrived(bytes, side: side) { end(connection, byReset: true) }
            if connection.isFinished { end(connection, byReset: false) }
        }
    }

    // MARK: - Connections

    private func accept(from acceptor: RelaySocket, now: Instant) {
        while let client = acceptor.accept() {
            counters.connections += 1
            guard connections.count < ImpairmentRelay.maximumConnections, lineModels.up.reachability != .reject,
                lineModels.down.reachability != .reject, let address = configuration.tcpTarget,
                let target = try? RelaySocket.stream(connectingTo: address)
            else {
                counters.refusedConnections += 1
                client.resetOnClose()
                continue
            }
            nextConnection += 1
            var (up, down) = (random, random)
            let connection = RelayConnection(
                id: nextConnection, client: client, target: target,
                up: StreamState(
                    model: lineModels.up, start: start, randomness: up.split("line\(nextConnection).up")),
                down: StreamState(
                    model: lineModels.down, start: start, randomness: down.split("line\(nextConnection).down")))
            for side in 0...1 { connection.halves[side].state.blockedUntil = lineBlockedUntil }
            connections.append(connection)
        }
    }

    private func service(_ connection: RelayConnection, side: Int, now: Instant) {
        // An earlier event of this turn may have ended it.
        guard connections.contains(where: { $0 === connection }), !connection.isSilent else { return }
        if connection.isConnecting {
            guard connection.sockets[1].pendingError == 0 else {
                counters.refusedConnections += 1
                return end(connection, byReset: true)
            }
            connection.isConnecting = false
            return
        }
        if connection.wantsWrite(side), !connection.flush(1 - side) { return end(connection, byReset: true) }
        if connection.isFinished { return end(connection, byReset: false) }
        for _ in 0..<Self.readsPerTurn {
            guard connection.wantsRead(side, now: now) else { return }
            switch connection.read(side, buffer: buffer, now: now) {
            case .wait: return
            case .abort: return end(connection, byReset: true)
            case .arrives(let time, let bytes):
                queue.push(.stream(connection: connection.id, side: side, bytes), at: time)
            case .ends(let time): queue.push(.stream(connection: connection.id, side: side, []), at: time)
            }
        }
    }

    private func cut(_ connection: RelayConnection, _ cut: ImpairmentRelay.Cut, now: Instant) {
        switch cut {
        case .reset: end(connection, byReset: true)
        case .silence: connection.isSilent = true
        case .close:
            for side in 0...1 where !connection.halves[side].isEnded {
                connection.halves[side].isEnded = true
                let sent = connection.halves[side].state.send(
                    byteCount: 0, roundTrip: connection.roundTrip, now: now)
                if let sent { queue.push(.stream(connection: connection.id, side: side, []), at: sent.arrival) }
            }
        }
    }

    private func end(_ connection: RelayConnection, byReset: Bool) {
        guard let index = connections.firstIndex(where: { $0 === connection }) else { return }
        if byReset { connection.reset() }
        pastLineBytes.up += connection.halves[0].forwarded
        pastLineBytes.down += connection.halves[1].forwarded
        connections.remove(at: index)
    }
}
