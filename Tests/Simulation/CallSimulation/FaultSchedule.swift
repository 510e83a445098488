internal import ICELite
internal import TransportTestKit

/// Makes a scenario's faults happen when their anchors do.
final class FaultSchedule {
    private unowned let call: SimulatedCall
    private let faults: [Fault]
    private var isScheduled: [Bool]
    private var began: [Bool]
    private var isRunning: [Bool]
    private var isHealed = false
    private var draws: Randomness
    private let stranger: Stranger

    /// Faults whose anchor never happened.
    var neverFired: Int { isScheduled.count { !$0 } }

    init(_ call: SimulatedCall) {
        self.call = call
        faults = call.scenario.faults
        isScheduled = [Bool](repeating: false, count: faults.count)
        began = isScheduled
        isRunning = isScheduled
        draws = call.simulator.randomness(for: "faults")
        stranger = Stranger(call)
    }

    func start() {
        guard let healing = call.scenario.healing else { return }
        call.simulator.schedule(at: .zero + healing.at) { [weak self] in self?.heal() }
    }

    func reached(_ milestone: Milestone) {
        for (index, fault) in faults.enumerated() {
            switch fault.anchor {
            case .milestone(milestone): schedule(index, from: call.simulator.now)
            case .deadline(let deadline) where deadline.base == milestone:
                schedule(index, from: call.simulator.now + deadline.length)
            case .milestone, .deadline, .beginning, .end: break
            }
        }
    }

    private func schedule(_ index: Int, from anchor: Instant) {
        guard !isScheduled[index] else { return }
        isScheduled[index] = true
        let offset: Nanoseconds =
            switch faults[index].offset {
            case .time(let length): length
            case .halfRoundTrips(let count): Int64(count) * call.networks.lineRoundTrip / 2
            }
        call.simulator.schedule(at: anchor + offset) { [weak self] in self?.begin(index) }
    }

    private func scheduleFollowers(of anchor: FaultAnchor) {
        for (index, fault) in faults.enumerated() where fault.anchor == anchor {
            schedule(index, from: call.simulator.now)
        }
    }

    private func begin(_ index: Int) {
        guard !isHealed, !began[index] else { return }
        began[index] = true
        let fault = faults[index]
        var until = fault.length > 0 ? call.simulator.now + fault.length : .never
        // What is held, or sent again, knows at once when that is over.
        if let healing = call.scenario.healing { until = min(until, .zero + healing.at) }
        isRunning[index] = true
        call.simulator.record(UInt64(index) << 8 | 0xFA)
        call.observer.note(.fault(index: index, isBeginning: true))
        apply(fault, index, until: until)
        call.networks.noteGoodness()
        scheduleFollowers(of: .beginning(index))
        guard fault.length > 0 else { return }
        call.simulator.schedule(at: until) { [weak self] in self?.end(index) }
    }

    private func end(_ index: Int) {
        guard isRunning[index], faults[index].length > 0 else { return }
        isRunning[index] = false
        call.observer.note(.fault(index: index, isBeginning: false))
        call.networks.end(index)
        switch faults[index].verb {
        case .interfaceDown, .routeFlap:
            call.networks.setUp(true, faults[index].target)
            tellClient()
        default: break
        }
        call.networks.noteGoodness()
        scheduleFollowers(of: .end(index))
    }

    private func heal() {
        for index in faults.indices { end(index) }
        isHealed = true
        call.networks.heal()
        call.client.release()
        call.server.release()
        // Without its line a call on the path ends in time, as long as lines are not opened again.
        if call.networks.isHealedCarriageGood, !call.client.hasLostLine, !call.server.hasLostLine {
            call.observer.facts.healingSince = call.simulator.now
        }
    }

    /// The client's system tells of its addresses, a moment later.
    private func tellClient() {
        let delay = Nanoseconds.milliseconds(1) + Int64(draws.next() % UInt64(Nanoseconds.milliseconds(20)))
        call.simulator.schedule(at: call.simulator.now + delay) { [weak call] in
            guard let call else { return }
            call.client.addressesChanged(to: call.networks.clientAddresses, isToldTo: true)
        }
    }

    private func hosts(_ end: FaultEnd) -> [SimulatedHost] {
        switch end {
        case .client: [call.client]
        case .server: [call.server]
        case .both: [call.client, call.server]
        }
    }

    private func apply(_ fault: Fault, _ index: Int, until: Instant) {
        switch fault.verb {
        case .drop, .hold, .reject, .corrupt, .dup, .rate, .delay, .loss, .halfOpen, .slowReader, .windowZero:
            call.networks.begin(index, fault, until: until)
        case .rebind: call.networks.rebind(fault.target)
        case .addressChange:
            call.networks.changeAddress(fault.target)
            tellClient()
        case .interfaceDown, .routeFlap:
            call.networks.begin(index, fault, until: until)
            call.networks.setUp(false, fault.target)
            tellClient()
        case .cutFin: call.networks.cut(.fin)
        case .cutReset: call.networks.cut(.rst)
        case .cutSilent: call.networks.cut(.silent)
        case .drain: call.server.goAway()
        case .serverRequested:
            call.server.say(#"{"type":"transport.fallback","word":"asked","detail":"by the scenario"}"#)
        case .restartNeeded: call.server.say(#"{"type":"transport.restart_needed"}"#)
        case .suspend, .stall: for host in hosts(fault.end) { host.hold(until: until) }
        case .mute: for host in hosts(fault.end) { host.mutedUntil = until }
        case .hangUp: hangUp(fault.end)
        case .forgeCheck, .forgeOldCheck, .forgeMedia, .replayHandshake, .replayMedia, .forgeMessage, .forgeJunk:
            for host in hosts(fault.end) { stranger.act(fault.verb, on: host, &draws) }
        }
    }

    private func hangUp(_ end: FaultEnd) {
        switch end {
        case .client: call.client.hangUp()
        case .server: call.server.hangUp()
        case .both:
            let gap = Int64(draws.next() % UInt64(max(1, call.networks.lineRoundTrip)))
            let isClientFirst = draws.next() % 2 == 0
            if isClientFirst { call.client.hangUp() } else { call.server.hangUp() }
            call.simulator.schedule(at: call.simulator.now + gap) { [weak call] in
                if isClientFirst { call?.server.hangUp() } else { call?.client.hangUp() }
            }
        }
    }
}
