internal import ICELite
internal import Transport
internal import TransportLine
internal import TransportTestKit

/// Writes a scenario from a seed.
///
/// Swarm testing: for each seed a subset of the faults and of the networks' features is on, so that some calls have much of
/// one thing. Each part draws from a stream of its own, split from the seed by name: a new draw in one place does not change
/// the others.
package struct ScenarioGenerator {
    /// Of a hundred seeds: calm ones, and those with one fault only.
    static let calmPercent = 15
    static let singlePercent = 10
    /// Faults of a scenario at most.
    static let faultLimit = 8
    /// Faults that are not anchored happen in the call's first seconds.
    static let uniformWindow: Nanoseconds = .seconds(25)
    static let healedFor: Nanoseconds = .seconds(20)

    private let seed: UInt64
    private var ends: Randomness
    private var base: Randomness
    private var swarm: Randomness
    private var faults: Randomness
    private var rarities: Randomness

    private init(seed: UInt64) {
        self.seed = seed
        var root = Randomness.seeded(seed &* 0x9E37_79B9_7F4A_7C15 &+ 0x5851_F42D)
        ends = root.split("ends")
        base = root.split("base")
        swarm = root.split("swarm")
        faults = root.split("faults")
        rarities = root.split("rarity2")
    }

    /// The scenario of `seed`: always the same.
    package static func scenario(seed: UInt64) -> Scenario {
        var generator = ScenarioGenerator(seed: seed)
        return generator.make()
    }

    private mutating func make() -> Scenario {
        var scenario = Scenario()
        scenario.seed = seed
        let kind = swarm.percentile()
        scenario.isCalm = kind < Self.calmPercent
        // 5…40 s with a mean of 20.
        scenario.duration = .milliseconds(5_000 + Int64(ends.below(35_000) + ends.below(35_000)) * 3 / 7)
        makeEnds(&scenario)
        makeWraps(&scenario)
        makeNetworks(&scenario)
        guard !scenario.isCalm else { return scenario }
        let isSingle = kind < Self.calmPercent + Self.singlePercent
        makeFaults(&scenario, count: isSingle ? 1 : faultCount())
        if swarm.percentile() < 50 { heal(&scenario) }
        makeRarity(&scenario)
        makeOtherRarity(&scenario)
        return scenario
    }

    // MARK: - Ends

    private mutating func makeEnds(_ scenario: inout Scenario) {
        scenario.client.messages.count = Int(ends.below(4)) * Int(ends.below(9))
        scenario.server.messages.count = Int(ends.below(4)) * Int(ends.below(9))
        if ends.percentile() < 10 {
            if scenario.client.messages.count > 0 { scenario.client.messages.byteCounts = 40...8_000 }
            if scenario.server.messages.count > 0 { scenario.server.messages.byteCounts = 40...8_000 }
        }
        guard !scenario.isCalm else { return }
        switch ends.percentile() {
        case 0..<5: scenario.client.preference = .websocket
        case 5..<25: scenario.client.preference = .webrtc
        default: break
        }
        if ends.percentile() < 30 { scenario.client.recovery = .endCall }
        if ends.percentile() < 2 { scenario.client.isStandard = true }
        if ends.percentile() < 2 { scenario.client.hasMediaPath = false }
        if ends.percentile() < 15 { scenario.client.stall = .microseconds(100 << Int64(ends.below(8))) }
        if ends.percentile() < 15 { scenario.server.stall = .microseconds(100 << Int64(ends.below(8))) }
        // Twelve of a hundred servers are of another mind, each kind as often.
        let answers = Scenario.ServerPart.Answer.allCases.filter { $0 != .usable }
        if ends.percentile() < 12 { scenario.server.answer = answers[Int(ends.below(UInt32(answers.count)))] }
        if ends.percentile() < 1 { scenario.client.refusesKeys = true }
        if ends.percentile() < 2 { scenario.server.refusal = [401, 403, 404, 429, 500, 503][Int(ends.below(6))] }
    }

    /// Three calls of ten see the timestamps of an end begin again at 0.
    private mutating func makeWraps(_ scenario: inout Scenario) {
        if rarities.percentile() < 15 { scenario.client.wrap = .milliseconds(Int64(rarities.below(20_000))) }
        if rarities.percentile() < 15 { scenario.server.wrap = .milliseconds(Int64(rarities.below(20_000))) }
    }

    // MARK: - Networks

    private mutating func makeNetworks(_ scenario: inout Scenario) {
        scenario.networks = [network("wlan0", isCalm: scenario.isCalm)]
        if base.percentile() < 40 { scenario.networks.append(network("lte0", isCalm: scenario.isCalm)) }
    }

    private mutating func network(_ name: String, isCalm: Bool) -> Scenario.NetworkPart {
        var part = Scenario.NetworkPart(name: name)
        part.hasV6 = base.percentile() < 30
        let timeouts: [Nanoseconds] = [.seconds(10), .seconds(30), .seconds(60), .seconds(120)]
        let timeout = timeouts[isCalm ? 1 + Int(base.below(3)) : Int(base.below(4))]
        switch base.percentile() {
        case 0..<50: part.nat = .portRestricted(timeout: timeout)
        case 50..<65: part.nat = .fullCone(timeout: timeout)
        default: break
        }
        part.udp = quality(isCalm: isCalm)
        part.tcp = quality(isCalm: isCalm)
        if !isCalm, base.percentile() < 10 {
            let names = NetworkTrace.names.filter { !$0.hasPrefix("line") && !$0.hasPrefix("stall") && $0 != "bridge" }
            part.udp.jitter = .trace(names[Int(base.below(UInt32(names.count)))])
        }
        return part
    }

    private mutating func quality(isCalm: Bool) -> Scenario.Quality {
        var quality = Scenario.Quality()
        let roundTrip = base.logUniform(.milliseconds(2), isCalm ? .milliseconds(200) : .milliseconds(400))
        quality.up = roundTrip / 2
        quality.down = roundTrip - quality.up
        if base.percentile() < 30 {
            quality.up = roundTrip * Int64(20 + base.below(60)) / 100
            quality.down = roundTrip - quality.up
        }
        if base.percentile() < 50 {
            quality.loss = Int(base.logUniform(100, isCalm ? 5_000 : 30_000))
            if base.percentile() < 40 { quality.lossBurst = 2 + Int(base.below(isCalm ? 1 : 4)) }
        }
        // The calm bound of 40 ms is the spread that nothing exceeds.
        switch base.percentile() {
        case 0..<40: break
        case 40..<75: quality.jitter = .normal(base.logUniform(.microseconds(200), .milliseconds(isCalm ? 10 : 40)))
        default: quality.jitter = .uniform(base.logUniform(.microseconds(200), .milliseconds(isCalm ? 20 : 80)))
        }
        guard !isCalm else { return quality }
        if base.percentile() < 10 { quality.reorder = Int(base.logUniform(100, 10_000)) }
        if base.percentile() < 10 { quality.duplicates = Int(base.logUniform(100, 10_000)) }
        if base.percentile() < 10 {
            quality.rate = Int(base.logUniform(80_000, 2_000_000))
            quality.queue = base.logUniform(.milliseconds(50), .milliseconds(1_000))
        }
        return quality
    }

    // MARK: - Faults

    /// 1 + geometric with a mean of 2.5, 8 at most.
    private mutating func faultCount() -> Int {
        var count = 1
        while count < Self.faultLimit, faults.percentile() < 71 { count += 1 }
        return count
    }

    private mutating func makeFaults(_ scenario: inout Scenario, count: Int) {
        var verbs: [(verb: FaultVerb, weight: Int)] = []
        for verb in FaultVerb.allCases {
            let weight = [0, 20, 50, 100][Int(swarm.below(4))] * verb.weight
            if weight > 0 { verbs.append((verb, weight)) }
        }
        if verbs.isEmpty { verbs = [(.drop, 1)] }
        for index in 0..<count {
            var fault = Fault(anchor: .milestone(.start), verb: pick(verbs))
            place(&fault, index)
            aim(&fault, scenario)
            scenario.faults.append(fault)
        }
        if count == 1, faults.percentile() < 90 {
            scenario.faults = []
            breakPath(&scenario)
        } else if count == 1 {
            // What waits for an outage would wait in vain.
            if scenario.faults[0].waitsForOutage { scenario.faults[0].anchor = .milestone(.active) }
        } else if !scenario.faults.contains(where: \.breaksPath) {
            breakPath(&scenario)
        }
    }

    /// One more fault, which the path of an active call does not get over unnoticed.
    private mutating func breakPath(_ scenario: inout Scenario) {
        let verbs: [FaultVerb] = [.drop, .drop, .drop, .hold, .reject, .interfaceDown, .routeFlap, .suspend, .loss]
        var fault = Fault(
            anchor: .milestone(.active), offset: .time(faults.logUniform(.milliseconds(50), .seconds(10))),
            verb: verbs[Int(faults.below(UInt32(verbs.count)))])
        aim(&fault, scenario)
        if fault.verb.subject == .packets {
            fault.target = FaultTarget(
                interface: faults.percentile() < 50 ? scenario.networks[0].name : nil,
                carriage: fault.verb == .reject || faults.percentile() < 70 ? .udp : nil)
        }
        if fault.verb.subject == .interface { fault.target.interface = scenario.networks[0].name }
        if fault.verb == .loss { fault.value = 80_000 + Int(faults.below(20_001)) }
        while fault.length < 2 * Fault.noticed { fault.length = length() }
        add(fault, to: &scenario)
    }

    private func add(_ fault: Fault, to scenario: inout Scenario) {
        if scenario.faults.count == Self.faultLimit { scenario.faults.removeLast() }
        scenario.faults.append(fault)
    }

    /// What other draws hardly ever come to: UDP refused from the beginning, and a welcome in the last of its budget.
    private mutating func makeRarity(_ scenario: inout Scenario) {
        switch swarm.percentile() {
        case 0:
            var fault = Fault(anchor: .milestone(.start), verb: .reject)
            fault.target.carriage = .udp
            fault.direction = .both
            fault.length = .seconds(20)
            add(fault, to: &scenario)
        case 1:
            // The upgrade's request is held up; from its arrival it is one way down and a round trip to welcome.
            var fault = Fault(anchor: .milestone(.start), verb: .hold)
            fault.target.carriage = .tcp
            fault.direction = .both
            let line = scenario.networks[0].tcp
            fault.length = JudgeLimits.welcome - line.up - 2 * line.down
            fault.length -= faults.logUniform(.milliseconds(1), .milliseconds(100))
            scenario.faults = [fault]
            scenario.healing = nil
            scenario.duration = .seconds(20)
        default: break
        }
    }

    /// More of them, by draws of their own: one pair of several that is refused, a client that sleeps over the welcome and the
    /// audio behind it, and a path that moves behind a restart.
    private mutating func makeOtherRarity(_ scenario: inout Scenario) {
        switch rarities.percentile() {
        case 0:
            if scenario.client.preference == .websocket { scenario.client.preference = .auto }
            var fault = Fault(anchor: .milestone(.start), verb: .reject)
            fault.target.carriage = .udp
            if scenario.networks.count > 1 {
                fault.target.interface = scenario.networks[Int(rarities.below(2))].name
            } else {
                scenario.networks[0].hasV6 = true
                fault.target.family = rarities.below(2) == 0 ? .v4 : .v6
            }
            fault.length = .seconds(20)
            add(fault, to: &scenario)
        case 1:
            scenario.client.preference = .websocket
            var fault = Fault(anchor: .milestone(.helloSent), verb: .suspend)
            fault.length = rarities.logUniform(.seconds(1), .seconds(8)) / 1_000 * 1_000
            scenario.faults = [fault]
            scenario.healing = nil
            scenario.duration = .seconds(20)
        case 2: makeMoveAfterRestart(&scenario)
        default: break
        }
    }

    /// Outages that each are repaired, a restart, and then one network and the line go together.
    private mutating func makeMoveAfterRestart(_ scenario: inout Scenario) {
        if scenario.client.preference == .websocket { scenario.client.preference = .auto }
        scenario.server.answer = .usable
        scenario.server.refusal = nil
        if scenario.networks.count == 1 { scenario.networks.append(network("lte0", isCalm: false)) }
        scenario.healing = nil
        scenario.duration = .seconds(40)
        scenario.faults = []
        for index in 0..<4 {
            var outage = Fault(
                anchor: index == 0 ? .milestone(.active) : .end(index - 1),
                offset: .time(.milliseconds(2_500 + Int64(rarities.below(1_500)))), verb: .drop)
            outage.target.carriage = .udp
            outage.length = .milliseconds(500 + Int64(rarities.below(500)))
            scenario.faults.append(outage)
        }
        scenario.faults.append(Fault(anchor: .end(3), offset: .time(.milliseconds(2_500)), verb: .restartNeeded))
        var move = Fault(
            anchor: .beginning(4), offset: .time(.milliseconds(1_000 + Int64(rarities.below(3_000)))), verb: .drop)
        move.target = FaultTarget(interface: scenario.networks[Int(rarities.below(2))].name, carriage: .udp)
        move.length = .seconds(20)
        var silence = Fault(anchor: .beginning(5), verb: .hold)
        silence.target.carriage = .tcp
        silence.length = .milliseconds(1_000 + Int64(rarities.below(2_000)))
        scenario.faults += [move, silence]
    }

    private mutating func pick(_ verbs: [(verb: FaultVerb, weight: Int)]) -> FaultVerb {
        var draw = Int(faults.below(UInt32(verbs.reduce(0) { $0 + $1.weight })))
        for (verb, weight) in verbs {
            draw -= weight
            if draw < 0 { return verb }
        }
        return .drop
    }

    private mutating func place(_ fault: inout Fault, _ index: Int) {
        // Overlaps on purpose with one before it.
        if index > 0, faults.percentile() < 30 {
            let other = Int(faults.below(UInt32(index)))
            fault.anchor = faults.percentile() < 50 ? .beginning(other) : .end(other)
            fault.offset = offset(mayBeNegative: false)
            return
        }
        guard faults.percentile() < 60 else {
            fault.offset = .time(Int64(faults.next() % UInt64(Self.uniformWindow)))
            return
        }
        let milestones = Milestone.allCases
        let draw = Int(faults.below(UInt32(milestones.count + FaultDeadline.allCases.count)))
        if draw < milestones.count {
            fault.anchor = .milestone(milestones[draw])
            fault.offset = offset(mayBeNegative: false)
            // Into the call, too: not only to the edges of its set-up.
            if faults.percentile() < 40, milestones[draw] != .start {
                fault.offset = .time(faults.logUniform(.milliseconds(10), .seconds(15)))
            }
        } else {
            fault.anchor = .deadline(FaultDeadline.allCases[draw - milestones.count])
            fault.offset = offset(mayBeNegative: true)
        }
    }

    private mutating func offset(mayBeNegative: Bool) -> FaultOffset {
        let sign: Int64 = mayBeNegative && faults.percentile() < 50 ? -1 : 1
        switch faults.below(5) {
        case 0: return .time(0)
        case 1: return .time(sign * .microseconds(1))
        case 2: return .time(sign * .milliseconds(1))
        case 3: return .halfRoundTrips(Int(sign))
        default: return .halfRoundTrips(Int(2 * sign))
        }
    }

    private mutating func aim(_ fault: inout Fault, _ scenario: Scenario) {
        let verb = fault.verb
        if verb.hasLength { fault.length = length() }
        if verb == .stall { fault.length = min(fault.length, .seconds(2)) }
        switch verb.subject {
        case .packets:
            fault.target = target(scenario, verb)
            fault.direction = [.up, .down, .both, .both][Int(faults.below(4))]
            if verb == .reject, fault.direction == .down { fault.direction = .both }
        case .interface: fault.target = FaultTarget(interface: name(scenario))
        case .lineDirection: fault.direction = [.up, .down, .both][Int(faults.below(3))]
        case .end:
            // Both asleep lose consent together, with nobody awake to ask for a restart.
            let ends: [FaultEnd] =
                verb == .hangUp || verb == .mute
                ? [.client, .server, .both] : [.client, .client, .server, .server, .both]
            fault.end = ends[Int(faults.below(UInt32(ends.count)))]
        case .line, .nobody: break
        }
        switch verb.quantity {
        case .none: break
        case .bitsPerSecond: fault.value = Int(faults.logUniform(8_000, 1_000_000))
        case .length: fault.value = Int(faults.logUniform(.milliseconds(5), .milliseconds(800)) / 1_000 * 1_000)
        case .percent: fault.value = Int(faults.logUniform(1_000, 100_000))
        }
    }

    private mutating func name(_ scenario: Scenario) -> String {
        // The first network is where the line is.
        faults.percentile() < 70
            ? scenario.networks[0].name : scenario.networks[Int(faults.below(UInt32(scenario.networks.count)))].name
    }

    private mutating func target(_ scenario: Scenario, _ verb: FaultVerb) -> FaultTarget {
        var target = FaultTarget()
        if faults.percentile() < 60 { target.interface = name(scenario) }
        switch faults.percentile() {
        case 0..<60: target.carriage = .udp
        case 60..<80: target.carriage = .tcp
        default: break
        }
        // A stream's bytes are neither refused, doubled nor changed.
        if [.reject, .corrupt, .dup].contains(verb) { target.carriage = .udp }
        if target.carriage == .udp, faults.percentile() < 10 { target.family = faults.below(2) == 0 ? .v4 : .v6 }
        return target
    }

    private mutating func length() -> Nanoseconds {
        guard faults.percentile() < 50 else {
            return faults.logUniform(.milliseconds(10), .seconds(40)) / 1_000 * 1_000
        }
        let lengths = ProductTimes.all
        let length = lengths[Int(faults.below(UInt32(lengths.count)))]
        return switch faults.below(5) {
        case 0: length * 95 / 100
        case 1: length - .microseconds(1)
        case 2: length
        case 3: length + .microseconds(1)
        default: length * 105 / 100
        }
    }

    private mutating func heal(_ scenario: inout Scenario) {
        let at = faults.logUniform(.seconds(2), .seconds(30)) / 1_000_000 * 1_000_000
        scenario.healing = Scenario.Healing(at: at, carriage: faults.below(2) == 0 ? .path : .line)
        scenario.duration = max(scenario.duration, at + Self.healedFor)
    }
}

/// The product's times that a fault may last just as long as.
enum ProductTimes {
    /// Those of the specification, and what the product names: a new limit joins by itself.
    static let all: [Nanoseconds] = {
        let milliseconds: [Int64] = [
            50, 100, 200, 300, 500, 1_000, 1_500, 2_000, 3_000, 5_000, 10_000, 12_000, 15_000, 30_000,
        ]
        var times = Set(milliseconds.map { Nanoseconds.milliseconds($0) })
        for value in [TransportLimits(), ICETiming()] as [Any] {
            for child in Mirror(reflecting: value).children {
                if let duration = child.value as? Duration { times.insert(duration.nanoseconds) }
                if let nanoseconds = child.value as? Nanoseconds { times.insert(nanoseconds) }
            }
        }
        times.formUnion([
            LineLimits.pingInterval, LineLimits.urgentPingInterval, LineLimits.deathInterval,
            LineLimits.suspectDeathInterval, LineLimits.closeTimeout, PathRecovery.announceAfter,
            PathRecovery.steadyFor, PathRecovery.shortestBridge, PathRecovery.sameOutageWithin,
            PathRecovery.falseAlarmWithin, PathRecovery.answerHolds,
        ])
        return times.filter { (.milliseconds(20)...Nanoseconds.seconds(40)).contains($0) }.sorted()
    }()
}

extension Fault {
    /// Silence that the path does not get over unnoticed.
    fileprivate static let noticed: Nanoseconds = .milliseconds(400)

    /// It is anchored at what only an outage brings.
    fileprivate var waitsForOutage: Bool {
        switch anchor {
        case .milestone(let milestone):
            [.suspect, .bridgeOn, .bridgeOff, .repaired, .restartSent].contains(milestone)
        case .deadline(let deadline): deadline == .recoveryWindow
        case .beginning, .end: false
        }
    }

    /// The path of an active call may break by it.
    fileprivate var breaksPath: Bool {
        guard length >= Self.noticed, target.family == nil else { return false }
        switch (anchor, offset) {
        case (.milestone(.active), _), (.milestone(.selected), _), (.milestone(.firstAudio), _): break
        case (.milestone(.start), .time(let offset)) where offset > .seconds(2) && offset < .seconds(12): break
        default: return false
        }
        return switch verb {
        case .drop, .hold, .reject: target.carriage != .tcp && target.interface == nil
        case .interfaceDown, .routeFlap: target.interface != "lte0"
        case .suspend: true
        default: false
        }
    }
}

extension FaultVerb {
    /// How often it is drawn where all are on.
    fileprivate var weight: Int {
        switch self {
        case .drop: 8
        case .hold, .rebind, .interfaceDown, .routeFlap, .addressChange, .suspend: 4
        case .cutFin, .cutReset, .drain: 1
        case .hangUp: 1
        default: 2
        }
    }

    fileprivate var hasLength: Bool {
        switch self {
        case .drop, .hold, .reject, .corrupt, .dup, .rate, .delay, .loss, .interfaceDown, .routeFlap, .slowReader,
            .windowZero, .suspend, .stall, .mute:
            true
        case .rebind, .addressChange, .cutFin, .cutReset, .cutSilent, .halfOpen, .drain, .serverRequested,
            .restartNeeded, .hangUp, .forgeCheck, .forgeOldCheck, .forgeMedia, .replayHandshake, .replayMedia,
            .forgeMessage, .forgeJunk:
            false
        }
    }
}

extension Randomness {
    /// 0…99.
    fileprivate mutating func percentile() -> Int { Int(below(100)) }

    fileprivate mutating func below(_ limit: UInt32) -> UInt32 {
        UInt32(truncatingIfNeeded: ((next() >> 32) * UInt64(max(1, limit))) >> 32)
    }

    /// A number between `low` and `high`, each doubling as likely as another.
    fileprivate mutating func logUniform(_ low: Int64, _ high: Int64) -> Int64 {
        // In integers, so that a seed writes the same everywhere: a doubling, then a place in it.
        var doublings: UInt32 = 0
        while low << Int64(doublings + 1) <= high { doublings += 1 }
        let start = low << Int64(below(doublings + 1))
        let end = min(high, 2 * start)
        return start + Int64(next() % UInt64(max(1, end - start)))
    }
}
