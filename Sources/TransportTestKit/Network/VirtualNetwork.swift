package import ICELite

/// Hosts, their interfaces and the streams between them, on a `Simulator`.
///
/// A datagram goes up its sender's interface and down its receiver's; each of the two is a `LinkState` of its own, so
/// that whatever happens to `wlan0` of the client is said once. A server's interface is usually a perfect link. The
/// network calls a host only from the simulator's run, never from inside `send` or `write`.
///
/// Nothing here depends on the order of a dictionary: the same seed gives the same run. No access to its state lasts while a
/// host is called, so that none is checked at run time.
package final class VirtualNetwork {
    /// Bytes of a datagram at most; a longer one is refused by `send`.
    package static let maximumDatagram = 65_507
    /// Rounds of `handleTimeout` and `drain` at one instant before a host counts as stuck.
    package static let maximumPollsPerInstant = 32
    /// A retry after a host was found stuck, so that its timers are not lost for good.
    package static let stuckRetry: Nanoseconds = .milliseconds(1)

    /// What the network did with datagrams beside what its links did.
    package struct Counters: Hashable, Sendable {
        /// Datagrams from an address that is not the sender's, or from an interface that is down.
        package internal(set) var unsendable: UInt64 = 0
        /// Datagrams to an address that nobody has.
        package internal(set) var unroutable: UInt64 = 0
        /// Datagrams that a NAT did not let in.
        package internal(set) var filtered: UInt64 = 0
        /// Datagrams that reached a host.
        package internal(set) var received: UInt64 = 0
        /// Datagrams with a byte changed on the way.
        package internal(set) var corrupted: UInt64 = 0
        /// Times that a host's deadline was still not ahead of now after `maximumPollsPerInstant` rounds: a bug in it.
        package internal(set) var stuckHosts: UInt64 = 0
    }

    struct Interface {
        let name: String
        let host: HostID
        var ip: IPAddress
        var nat: VirtualNAT?
        /// Where the outside finds the NAT: to be read without a copy of it.
        let natIP: IPAddress?
        var up: LinkState
        var down: LinkState
        var isUp = true
    }

    private struct Host {
        let object: any VirtualHost
        var timer: EventToken?
        var timerTime = Instant.never
    }

    /// What is under way or waits for its time.
    enum Transit {
        /// A datagram, to be at the network of its receiver.
        case descending([UInt8], from: SocketAddress, to: SocketAddress)
        /// A datagram, to be at its receiver.
        case arriving([UInt8], NetworkPath)
        /// What one end of a line has sent, to be at the other.
        case segment([UInt8], LineID, side: Int)
        /// Bytes of one end of a line, to be known as arrived there.
        case acknowledgement(Int, LineID, side: Int)
        /// All else, which is rare.
        case step((VirtualNetwork) -> Void)
    }

    /// What drives the network.
    package let simulator: Simulator
    /// Counters beside those of the links.
    @exclusivity(unchecked) package internal(set) var counters = Counters()

    @exclusivity(unchecked) private var hosts: [Host] = []
    @exclusivity(unchecked) var interfaces: [Interface] = []
    @exclusivity(unchecked) var lines: [VirtualLine] = []
    /// By the number of its event.
    @exclusivity(unchecked) private var transits: [Transit?] = []
    @exclusivity(unchecked) private var freeTransits: [Int] = []
    /// What the simulator knows us by.
    private var target = 0

    /// A network without hosts.
    package init(simulator: Simulator) {
        self.simulator = simulator
        target = simulator.add(target: self)
    }

    deinit { simulator.remove(target: target) }

    /// The virtual time.
    package var now: Instant { simulator.now }

    // MARK: - Hosts

    /// Adds a host and arms its first timer. The network keeps it.
    package func addHost(_ host: any VirtualHost) -> HostID {
        hosts.append(Host(object: host))
        let id = HostID(index: hosts.count - 1)
        later(at: now, .step { $0.settle(id) })
        return id
    }

    /// Gives a host an input of its owner's making at `time` (start the call, hang up), then drains it.
    package func perform(on host: HostID, at time: Instant, _ work: @escaping (_ now: Instant) -> Void) {
        later(
            at: time,
            .step { network in
                work(network.now)
                network.settle(host)
            })
    }

    /// Drains a host after something was done to it outside of `perform`, and arms its timer.
    package func settle(_ id: HostID) {
        let object = hosts[id.index].object
        let now = now
        object.drain(into: self, now: now)
        var rounds = 0
        var deadline = object.nextDeadline
        while deadline <= now {
            guard rounds < Self.maximumPollsPerInstant else {
                counters.stuckHosts += 1
                arm(id, at: now + Self.stuckRetry)
                return
            }
            rounds += 1
            object.handleTimeout(now: now)
            object.drain(into: self, now: now)
            deadline = object.nextDeadline
        }
        arm(id, at: deadline)
    }

    private func arm(_ id: HostID, at time: Instant) {
        guard time != hosts[id.index].timerTime else { return }
        if let timer = hosts[id.index].timer { simulator.cancel(timer) }
        hosts[id.index].timerTime = time
        guard time != .never else {
            hosts[id.index].timer = nil
            return
        }
        hosts[id.index].timer = simulator.schedule(at: time, for: target, number: Self.timerNumber(of: id))
    }

    private func timerFired(of id: HostID) {
        hosts[id.index].timer = nil
        hosts[id.index].timerTime = .never
        settle(id)
    }

    /// Calls a host and drains it.
    func deliver(to id: HostID, _ input: (any VirtualHost) -> Void) {
        input(hosts[id.index].object)
        settle(id)
    }

    // MARK: - Events

    /// The number of a host's timer: below 0, where no transit's is.
    private static func timerNumber(of host: HostID) -> Int { -1 - host.index }

    /// `transit` is due at `time`.
    func later(at time: Instant, _ transit: consuming Transit) {
        let number: Int
        if let free = freeTransits.popLast() {
            number = free
            transits[number] = transit
        } else {
            number = transits.count
            transits.append(transit)
        }
        simulator.schedule(at: time, for: target, number: number)
    }

    // MARK: - Interfaces

    /// Gives a host an interface. Every UDP port of `ip` is the host's; behind a `nat` the outside sees the NAT's.
    package func addInterface(
        _ name: String, of host: HostID, ip: IPAddress, up: LinkModel = LinkModel(), down: LinkModel = LinkModel(),
        nat: VirtualNAT? = nil
    ) {
        precondition(!interfaces.contains { $0.name == name }, "an interface name is used once")
        interfaces.append(
            Interface(
                name: name, host: host, ip: ip, nat: nat, natIP: nat?.publicIP,
                up: LinkState(model: up, start: now, randomness: simulator.randomness(for: "\(name).up")),
                down: LinkState(model: down, start: now, randomness: simulator.randomness(for: "\(name).down"))))
    }

    /// Changes the two directions of an interface: their models, an outage, a hold. Does nothing for an unknown name.
    package func changeInterface(_ name: String, _ change: (_ up: inout LinkState, _ down: inout LinkState) -> Void) {
        guard let index = interfaces.firstIndex(where: { $0.name == name }) else { return }
        var (up, down) = (interfaces[index].up, interfaces[index].down)
        change(&up, &down)
        (interfaces[index].up, interfaces[index].down) = (up, down)
    }

    /// Takes an interface down or brings it up again, optionally with another address.
    package func setInterface(_ name: String, isUp: Bool, ip: IPAddress? = nil) {
        guard let index = interfaces.firstIndex(where: { $0.name == name }) else { return }
        interfaces[index].isUp = isUp
        if let ip { interfaces[index].ip = ip }
    }

    /// Makes the NAT of an interface forget its mappings.
    package func rebind(_ name: String) {
        guard let index = interfaces.firstIndex(where: { $0.name == name }) else { return }
        interfaces[index].nat?.rebind()
    }

    /// What the links of an interface have done; nil for an unknown name.
    package func counters(of name: String) -> (up: LinkCounters, down: LinkCounters)? {
        interfaces.first { $0.name == name }.map { ($0.up.counters, $0.down.counters) }
    }

    // MARK: - Datagrams

    /// Sends a datagram of `host` from `path.local` to `path.remote`.
    ///
    /// Returns false, counted, when the host has no such address, its interface is down or the datagram is too long:
    /// what a socket answers with an error.
    @discardableResult
    package func send(_ datagram: [UInt8], from host: HostID, on path: NetworkPath) -> Bool {
        guard datagram.count <= Self.maximumDatagram,
            let index = interfaces.indices.first(where: {
                interfaces[$0].host == host && interfaces[$0].ip == path.local.ip && interfaces[$0].isUp
            })
        else {
            counters.unsendable += 1
            return false
        }
        simulator.record(UInt64(datagram.count) << 32 | UInt64(path.remote.port) << 16 | UInt64(path.local.port))
        var datagram = datagram
        if interfaces[index].up.corrupt(&datagram) { counters.corrupted += 1 }
        let source = interfaces[index].nat?.outgoing(from: path.local, to: path.remote, now: now) ?? path.local
        switch interfaces[index].up.send(byteCount: datagram.count, now: now) {
        case .delivered(let arrival): carry(datagram, from: source, to: path.remote, at: arrival)
        case .duplicated(let first, let second):
            carry(datagram, from: source, to: path.remote, at: first)
            carry(datagram, from: source, to: path.remote, at: second)
        case .dropped: break
        case .rejected:
            let answer = now + 2 * interfaces[index].up.model.delay.boundedNanoseconds
            later(
                at: answer,
                .step { network in
                    network.deliver(to: host) { $0.datagramRejected(path: path, now: network.now) }
                })
        }
        return true
    }

    /// A datagram of nobody's, who may say to be anybody, is at the network of `target`.
    package func inject(_ datagram: [UInt8], from source: SocketAddress, to target: SocketAddress) {
        simulator.record(UInt64(datagram.count) << 32 | UInt64(target.port) << 16 | UInt64(source.port))
        descend(datagram, from: source, to: target, mayArriveNow: false)
    }

    /// The datagram is at the receiver's network at `time`: down its link.
    private func carry(_ datagram: [UInt8], from source: SocketAddress, to target: SocketAddress, at time: Instant) {
        guard time > now else { return descend(datagram, from: source, to: target, mayArriveNow: false) }
        later(at: time, .descending(datagram, from: source, to: target))
    }

    /// - Parameter mayArriveNow: the simulator's run is here, not a host that sends.
    private func descend(
        _ datagram: [UInt8], from source: SocketAddress, to target: SocketAddress, mayArriveNow: Bool
    ) {
        guard
            let index = interfaces.indices.first(where: {
                (interfaces[$0].natIP ?? interfaces[$0].ip) == target.ip
            })
        else {
            counters.unroutable += 1
            return
        }
        var inside = target
        if interfaces[index].natIP != nil {
            guard let mapped = interfaces[index].nat?.incoming(from: source, to: target.port, now: now) else {
                counters.filtered += 1
                return
            }
            inside = mapped
        }
        let path = NetworkPath(local: inside, remote: source)
        var datagram = datagram
        if interfaces[index].down.corrupt(&datagram) { counters.corrupted += 1 }
        switch interfaces[index].down.send(byteCount: datagram.count, now: now) {
        case .delivered(let arrival):
            if mayArriveNow, arrival <= now { return arrive(datagram, on: path) }
            later(at: arrival, .arriving(datagram, path))
        case .duplicated(let first, let second):
            later(at: first, .arriving(datagram, path))
            later(at: second, .arriving(datagram, path))
        // A rejected datagram on its way down is dropped: its sender is on the far side of another link.
        case .dropped, .rejected: break
        }
    }

    private func arrive(_ datagram: [UInt8], on path: NetworkPath) {
        // Looked up now: the interface may have gone or changed its address while the datagram was under way.
        guard let index = interfaces.indices.first(where: { interfaces[$0].isUp && interfaces[$0].ip == path.local.ip })
        else {
            counters.unroutable += 1
            return
        }
        counters.received += 1
        deliver(to: interfaces[index].host) { $0.receive(datagram: datagram, path: path, now: self.now) }
    }
}

extension VirtualNetwork: SimulatorTarget {
    func run(event number: Int) {
        guard number >= 0 else { return timerFired(of: HostID(index: -1 - number)) }
        let transit = transits[number].take()
        freeTransits.append(number)
        switch consume transit {
        case .descending(let datagram, let source, let target):
            descend(datagram, from: source, to: target, mayArriveNow: true)
        case .arriving(let datagram, let path): arrive(datagram, on: path)
        case .segment(let bytes, let line, let side): arrive(bytes, on: line, side: side)
        case .acknowledgement(let byteCount, let line, let side): acknowledge(byteCount, on: line, side: side)
        case .step(let work): work(self)
        case nil: break
        }
    }
}
