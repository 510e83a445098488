internal import ICELite
internal import Transport
internal import TransportRuntime
internal import TransportTestKit

/// The client's networks and the line over the first of them: their base quality, what faults do to it, and whether what is
/// sent now arrives.
final class SimulatedNetworks {
    /// A packet that takes longer has not arrived.
    static let goodDelay: Nanoseconds = .milliseconds(400)
    /// Losses in thousandths of a percent that a good network may have.
    static let goodLoss = 5_000
    /// Bits a second that a good network carries at least: audio with its headers, twice.
    static let goodRate = 100_000
    static let serverPort: UInt16 = 4_000
    private static let serverIPs = [IPAddress(v4: 0xC633_6401), IPAddress(v6High: 0x2001_0DB8_00FF_0000, low: 1)]

    /// One of the client's addresses.
    private struct Interface {
        let name: String
        let part: Int
        let family: IPAddress.Family
        var ip: IPAddress
        var isUp = true
    }

    private let scenario: Scenario
    private let network: VirtualNetwork
    private let clientID: HostID
    private let serverID: HostID
    private let observer: Observer
    private var interfaces: [Interface] = []
    private var traces: [String: LinkTrace] = [:]
    private var line: LineID?
    private var lineCount = 0
    private var addressCount: UInt32 = 2
    private var seenGoodness: (Bool, Bool, Bool, Bool)?
    /// Nothing of the line gets through in that direction any more, whatever else is well.
    private var isLineGone = (up: false, down: false)
    /// The faults in force: the fault and when it ends.
    private var active: [(index: Int, fault: Fault, until: Instant)] = []
    private var isHealed = false

    init(_ scenario: Scenario, network: VirtualNetwork, client: HostID, server: HostID, observer: Observer) {
        self.scenario = scenario
        self.network = network
        self.observer = observer
        clientID = client
        serverID = server
        network.addInterface("server4", of: server, ip: Self.serverIPs[0])
        network.addInterface("server6", of: server, ip: Self.serverIPs[1])
        for (index, part) in scenario.networks.enumerated() { addInterfaces(of: part, index) }
        applyAll()
    }

    static func serverAddresses(for scenario: Scenario) -> [SocketAddress] {
        serverIPs.filter { $0.family == .v4 || scenario.networks.contains { $0.hasV6 } }
            .map { SocketAddress(ip: $0, port: serverPort) }
    }

    private func addInterfaces(of part: Scenario.NetworkPart, _ index: Int) {
        let publicIP = IPAddress(v4: 0xCB00_7100 + UInt32(index + 1))
        let nat: VirtualNAT? =
            switch part.nat {
            case .none: nil
            case .fullCone(let timeout): VirtualNAT(publicIP: publicIP, timeout: timeout, filters: false)
            case .portRestricted(let timeout): VirtualNAT(publicIP: publicIP, timeout: timeout)
            }
        let ip = nat == nil ? publicIP : IPAddress(v4: 0xC0A8_0000 + UInt32(index + 1) << 8 + 2)
        interfaces.append(Interface(name: "\(part.name).4", part: index, family: .v4, ip: ip))
        network.addInterface("\(part.name).4", of: clientID, ip: ip, nat: nat)
        guard part.hasV6 else { return }
        let v6 = IPAddress(v6High: 0x2001_0DB8_0001_0000 + UInt64(index), low: 2)
        interfaces.append(Interface(name: "\(part.name).6", part: index, family: .v6, ip: v6))
        network.addInterface("\(part.name).6", of: clientID, ip: v6)
    }

    // MARK: What there is

    /// The client's addresses that are there now, most preferred first.
    var clientAddresses: [IPAddress] { interfaces.filter(\.isUp).map(\.ip) }

    var lineRoundTrip: Nanoseconds { scenario.networks[0].tcp.roundTrip }
    var pathRoundTrip: Nanoseconds { scenario.networks[0].udp.roundTrip }

    /// p99 − least of the line's delay, by its quality without faults.
    var lineJitter: Nanoseconds {
        let quality = scenario.networks[0].tcp
        var jitter = Self.jitter(of: quality)
        // A lost segment comes a round trip and a frame later.
        if quality.loss >= 1_000 { jitter += quality.roundTrip + StreamState.fastRetransmitDelay }
        return jitter
    }

    /// p99 − least of the path's delay on its first interface, by its quality without faults.
    var pathJitter: Nanoseconds { Self.jitter(of: scenario.networks[0].udp) }

    /// The path's longest round trip on any interface, with its jitter each way.
    var slowestRoundTrip: Nanoseconds {
        scenario.networks.reduce(0) { max($0, $1.udp.roundTrip + 2 * Self.jitter(of: $1.udp)) }
    }

    private static func jitter(of quality: Scenario.Quality) -> Nanoseconds {
        switch quality.jitter {
        case .none: 0
        // A sum of 12 uniform draws: 2.33 sigma above the mean, and never less than 0.
        case .normal(let sigma): sigma * 233 / 100 + min(3 * sigma, max(quality.up, quality.down))
        case .uniform(let spread): 2 * spread
        case .trace: .milliseconds(400)
        }
    }

    /// Opens a line of the call over the first network.
    func openLine(of client: SimulatedHost, to server: SimulatedHost) {
        let quality = scenario.networks[0].tcp
        let line = network.openLine(
            from: clientID, to: serverID, up: model(quality, .up), down: model(quality, .down),
            unsentLimit: Int(ByteStream.notSentLowWater))
        self.line = line
        isLineGone = (false, false)
        client.begin(line: line, number: lineCount)
        server.begin(line: line, number: lineCount)
        lineCount += 1
        applyLine()
    }

    // MARK: Faults

    /// The fault's effect begins, until `until`.
    func begin(_ index: Int, _ fault: Fault, until: Instant) {
        guard !isHealed else { return }
        if fault.verb == .halfOpen {
            // Bytes are missing from then on: no healing brings this line back.
            if fault.direction != .down { isLineGone.up = true }
            if fault.direction != .up { isLineGone.down = true }
        }
        active.append((index, fault, until))
        applyAll()
    }

    func end(_ index: Int) {
        active.removeAll { $0.index == index }
        applyAll()
    }

    /// Nothing goes wrong any more, and one carriage is good.
    func heal() {
        isHealed = true
        active.removeAll()
        setUp(true, FaultTarget())
        applyAll()
        noteGoodness()
    }

    /// The NAT in front of the interfaces named forgets its mappings.
    func rebind(_ target: FaultTarget) {
        for interface in interfaces where isMeant(interface, target) { network.rebind(interface.name) }
    }

    /// The interfaces named go down or come up.
    func setUp(_ isUp: Bool, _ target: FaultTarget) {
        for index in interfaces.indices where isMeant(interfaces[index], target) {
            interfaces[index].isUp = isUp
            network.setInterface(interfaces[index].name, isUp: isUp)
        }
        applyLine()
    }

    /// The interfaces named get other addresses; a line over them hears nothing any more.
    func changeAddress(_ target: FaultTarget) {
        for index in interfaces.indices where isMeant(interfaces[index], target) {
            addressCount += 1
            let old = interfaces[index].ip
            let ip =
                switch interfaces[index].family {
                case .v4: IPAddress(v4: UInt32(truncatingIfNeeded: old.low) + addressCount << 4)
                case .v6: IPAddress(v6High: old.high, low: UInt64(addressCount))
                }
            interfaces[index].ip = ip
            network.setInterface(interfaces[index].name, isUp: interfaces[index].isUp, ip: ip)
            if interfaces[index].part == 0, interfaces[index].family == .v4 { isLineGone = (true, true) }
        }
        applyLine()
    }

    /// The line is cut.
    func cut(_ cut: LineCut) {
        if let line { network.cutLine(line, with: cut) }
        noteGoodness()
    }

    private func isMeant(_ interface: Interface, _ target: FaultTarget) -> Bool {
        (target.interface == nil || target.interface == scenario.networks[interface.part].name)
            && (target.family == nil || target.family == interface.family)
    }

    // MARK: Quality

    private func applyAll() {
        for interface in interfaces {
            let quality = quality(of: interface.part, isLine: false)
            network.changeInterface(interface.name) { up, down in
                apply(quality, .up, interface, to: &up)
                apply(quality, .down, interface, to: &down)
            }
        }
        applyLine()
    }

    private func quality(of part: Int, isLine: Bool) -> Scenario.Quality {
        var quality = isLine ? scenario.networks[part].tcp : scenario.networks[part].udp
        guard isHealed, let carriage = scenario.healing?.carriage, (carriage == .line) == isLine else { return quality }
        // A stream's loss is a silence of a round trip.
        quality.loss = isLine ? 0 : min(quality.loss, 1_000)
        quality.lossBurst = 1
        quality.rate = nil
        quality.reorder = 0
        quality.up = min(quality.up, .milliseconds(150))
        quality.down = min(quality.down, .milliseconds(150))
        switch quality.jitter {
        case .trace: quality.jitter = .none
        case .normal(let sigma): quality.jitter = .normal(min(sigma, .milliseconds(20)))
        case .uniform(let spread): quality.jitter = .uniform(min(spread, .milliseconds(40)))
        case .none: break
        }
        return quality
    }

    private func model(_ quality: Scenario.Quality, _ direction: FaultDirection) -> LinkModel {
        var model = LinkModel(
            delay: Duration(nanoseconds: direction == .up ? quality.up : quality.down))
        switch quality.jitter {
        case .none, .trace: break
        case .normal(let sigma): model.jitter = .normal(sigma: Duration(nanoseconds: sigma))
        case .uniform(let spread): model.jitter = .uniform(spread: Duration(nanoseconds: spread))
        }
        if quality.loss > 0 {
            let percent = Double(quality.loss) / 1_000
            model.loss =
                quality.lossBurst > 1
                ? .gilbert(percent: min(percent, 95), meanBurst: Double(quality.lossBurst))
                : .independent(percent: percent)
        }
        model.reorderPercent = Double(quality.reorder) / 1_000
        model.duplicatePercent = Double(quality.duplicates) / 1_000
        model.bitsPerSecond = quality.rate
        model.queueLimit = Duration(nanoseconds: quality.queue)
        return model
    }

    private func trace(of quality: Scenario.Quality) -> LinkTrace? {
        guard case .trace(let name) = quality.jitter else { return nil }
        if let known = traces[name] { return known }
        let trace = LinkTrace.shared(name)
        traces[name] = trace
        return trace
    }

    private func apply(
        _ quality: Scenario.Quality, _ direction: FaultDirection, _ interface: Interface, to link: inout LinkState
    ) {
        link.model = model(quality, direction)
        link.trace = trace(of: quality)
        link.blockedUntil = Instant(nanoseconds: .min)
        link.heldUntil = Instant(nanoseconds: .min)
        link.corruptPercent = 0
        for (_, fault, until) in active
        where fault.verb.subject == .packets && fault.target.carriage != .tcp && isMeant(interface, fault.target)
            && (fault.direction == .both || fault.direction == direction)
        {
            switch fault.verb {
            case .drop: link.blockedUntil = max(link.blockedUntil, until)
            case .hold: link.heldUntil = max(link.heldUntil, until)
            // Only what leaves is refused to its sender; the way back is silent.
            case .reject: link.model.reachability = direction == .up ? .reject : .drop
            case .corrupt: link.corruptPercent = Double(fault.value) / 1_000
            case .dup: link.model.duplicatePercent = Double(fault.value) / 1_000
            case .rate: link.model.bitsPerSecond = fault.value
            case .delay: link.model.delay += Duration(nanoseconds: Nanoseconds(fault.value))
            case .loss: link.model.loss = .independent(percent: Double(fault.value) / 1_000)
            default: break
            }
        }
    }

    private func applyLine() {
        guard let line else { return }
        let quality = quality(of: 0, isLine: true)
        network.changeLine(line) { up, down in
            apply(quality, .up, to: &up)
            apply(quality, .down, to: &down)
        }
    }

    private func apply(_ quality: Scenario.Quality, _ direction: FaultDirection, to stream: inout StreamState) {
        stream.model = model(quality, direction)
        stream.trace = trace(of: quality)
        stream.blockedUntil = Instant(nanoseconds: .min)
        stream.heldUntil = Instant(nanoseconds: .min)
        if direction == .up ? isLineGone.up : isLineGone.down { stream.model.reachability = .drop }
        for (_, fault, until) in active where fault.direction == .both || fault.direction == direction {
            let isMeant = fault.target.interface == nil || fault.target.interface == scenario.networks[0].name
            switch fault.verb {
            case .drop where isMeant && fault.target.carriage != .udp:
                stream.blockedUntil = max(stream.blockedUntil, until)
            case .hold where isMeant && fault.target.carriage != .udp: stream.heldUntil = max(stream.heldUntil, until)
            case .rate where isMeant && fault.target.carriage != .udp: stream.model.bitsPerSecond = fault.value
            case .delay where isMeant && fault.target.carriage != .udp:
                stream.model.delay += Duration(nanoseconds: Nanoseconds(fault.value))
            case .loss where isMeant && fault.target.carriage != .udp:
                stream.model.loss = .independent(percent: Double(fault.value) / 1_000)
            case .interfaceDown where isMeant, .routeFlap where isMeant:
                stream.blockedUntil = max(stream.blockedUntil, until)
            case .slowReader: stream.model.bitsPerSecond = fault.value
            case .windowZero: stream.heldUntil = max(stream.heldUntil, until)
            default: break
            }
        }
    }

    // MARK: Goodness

    /// Writes down what is good now, if it has changed. Both ways of the path are only those of one pair.
    func noteGoodness() {
        let up = isPathGood([.up])
        // One pair has to carry both ways.
        let down = up ? isPathGood([.up, .down]) : isPathGood([.down])
        let goodness = (up, down, isLineGood(.up), isLineGood(.down))
        if let seenGoodness, seenGoodness == goodness { return }
        seenGoodness = goodness
        observer.note(
            .network(pathUp: goodness.0, pathDown: goodness.1, lineUp: goodness.2, lineDown: goodness.3))
    }

    /// Whether the carriage that was to be good after the healing is, and the call may live: a line that was cut is not good,
    /// and without its line a call on the path ends in time.
    var isHealedCarriageGood: Bool {
        guard let line, network.isLineOpen(line), !isLineGone.up, !isLineGone.down else { return false }
        return switch scenario.healing?.carriage {
        case .path: isPathGood([.up, .down])
        case .line: isLineGood(.up) && isLineGood(.down)
        case nil: false
        }
    }

    /// Whether an interface carries datagrams each of these ways.
    private func isPathGood(_ directions: [FaultDirection]) -> Bool {
        interfaces.contains { interface in
            interface.isUp
                && directions.allSatisfy { direction in
                    isGood(
                        quality(of: interface.part, isLine: false), direction,
                        faults: { fault in
                            fault.target.carriage != .tcp && isMeant(interface, fault.target)
                        })
                }
        }
    }

    private func isLineGood(_ direction: FaultDirection) -> Bool {
        guard let line, network.isLineOpen(line), !(direction == .up ? isLineGone.up : isLineGone.down) else {
            return false
        }
        if let first = interfaces.first(where: { $0.part == 0 && $0.family == .v4 }), !first.isUp { return false }
        // What is written now comes behind what is under way.
        guard let last = network.lastArrival(on: line, isUp: direction == .up), last - network.now <= Self.goodDelay
        else { return false }
        return isGood(
            quality(of: 0, isLine: true), direction,
            faults: { fault in
                fault.target.carriage != .udp
                    && (fault.target.interface == nil || fault.target.interface == scenario.networks[0].name)
            })
    }

    private func isGood(
        _ quality: Scenario.Quality, _ direction: FaultDirection, faults isMeant: (Fault) -> Bool
    ) -> Bool {
        var quality = quality
        let now = network.now
        for (_, fault, until) in active
        where (fault.direction == .both || fault.direction == direction) && isMeant(fault) {
            switch fault.verb {
            case .drop, .reject, .halfOpen, .interfaceDown, .routeFlap: return false
            case .corrupt: if fault.value > Self.goodLoss { return false }
            case .hold, .windowZero: if until - now > Self.goodDelay { return false }
            case .delay:
                quality.up += Nanoseconds(fault.value)
                quality.down += Nanoseconds(fault.value)
            case .rate, .slowReader: quality.rate = min(quality.rate ?? .max, fault.value)
            case .loss: quality.loss = max(quality.loss, fault.value)
            default: break
            }
        }
        var delay = direction == .up ? quality.up : quality.down
        switch quality.jitter {
        case .none, .trace: break
        case .normal(let sigma): delay += 3 * sigma
        case .uniform(let spread): delay += spread
        }
        return delay <= Self.goodDelay && quality.loss <= Self.goodLoss && quality.rate ?? .max >= Self.goodRate
    }
}
