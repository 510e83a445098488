import ICELite
import Transport
import TransportMedia

/// The call as it stands at one observation: what several rules ask for, kept once, and lent to each of them with every
/// observation. Nothing of it is read while it changes, so that nothing is checked at run time.
final class JudgePicture {
    struct End {
        var state = TransportState.idle
        var isSeen = false
        var isRecovering = false
        var activeSince: Instant?
        var endedAt: Instant?
        var epoch = 0
        var transport: TransportKind?
        var isBridgeAsked = false
        /// Since when it asks for the bridge; nil while it does not.
        var bridgeAskedAt: Instant?
        var bridgeOffAt: Instant?
        /// The silence after which it suspects the path, as it was when a gap began.
        var suspectsAfter: Nanoseconds?
        /// When the line last brought something.
        var lineHeardAt: Instant?
        /// No input reaches its machine.
        var suspensions = 0
        var resumedAt = Instant.zero
        /// Since when it has not been run; nil while it is.
        var heldSince: Instant?
        /// How long it was not run when it was last.
        var heldFor: Nanoseconds = 0
        /// What came in a pause that it has seen is read until then: another pause behind it takes nothing of that away.
        var readsUntil = Instant.zero
        /// Each input may wait this long.
        var stall: Nanoseconds = 0
        /// Its application talks without a pause since.
        var talksSince: Instant?
        var capturedAt = Instant.zero
        var pathClosedAt: Instant?
        var lineClosedAt: Instant?

        /// What it has handed to the line, and what has come out of it here.
        var lineBytesSent = 0
        var lineBytesArrived = 0
        /// It knows that its peer does not ask for the bridge once more than this has come.
        var hearsBridgeOffAfter: Int?
        /// It recovers or asks for the bridge since.
        var suspectSince: Instant?

        /// The line has been silent for as long as this end waits for a byte.
        func hasGivenUpLine(now: Instant) -> Bool {
            guard let lineHeardAt else { return false }
            if now - lineHeardAt > JudgeLimits.lineDead { return true }
            guard let suspectSince else { return false }
            return now - max(lineHeardAt, suspectSince) > JudgeLimits.suspectLineDead
        }

        /// Its outage lasts as long as it knows of one of its own, or that the peer asks for the bridge.
        mutating func noteSuspicion(isPeerAsking: Bool, now: Instant) {
            let isSuspect = isRecovering || isBridgeAsked || isPeerAsking || hearsBridgeOffAfter != nil
            suspectSince = isSuspect ? (suspectSince ?? now) : nil
        }

        /// Its machine is not being run.
        var isSuspended: Bool { suspensions > 0 }

        /// It measures a pause from the last input before it, and may have seen this one.
        var mayHaveSeenPause: Bool { heldFor + JudgeLimits.betweenInputs > JudgeLimits.pauseSeen }
    }

    /// Since when each direction is good; nil while it is not.
    struct Carriage {
        var upSince: Instant?
        var downSince: Instant?

        /// Since when both directions are.
        var bothSince: Instant? {
            guard let upSince, let downSince else { return nil }
            return max(upSince, downSince)
        }

        mutating func set(up: Bool, down: Bool, now: Instant) {
            upSince = up ? (upSince ?? now) : nil
            downSince = down ? (downSince ?? now) : nil
        }
    }

    @exclusivity(unchecked) private(set) var client = End()
    @exclusivity(unchecked) private(set) var server = End()
    @exclusivity(unchecked) private(set) var path = Carriage()
    @exclusivity(unchecked) private(set) var line = Carriage()
    /// The line was cut, or fell silent for so long that an end has given it up: there is no second one.
    @exclusivity(unchecked) private(set) var lineGoneAt: Instant?
    /// When a fault last began or ended, but for rebindings.
    @exclusivity(unchecked) private(set) var faultAt = Instant(nanoseconds: .min / 2)
    @exclusivity(unchecked) private(set) var rebindAt: Instant?
    /// When a fault that changes the rhythm of the packets last had its effect.
    @exclusivity(unchecked) private(set) var stirredAt: Instant?
    /// The verbs of the faults that last.
    @exclusivity(unchecked) private(set) var verbsInEffect: [FaultVerb] = []
    @exclusivity(unchecked) private(set) var isLineOpen = false
    @exclusivity(unchecked) private(set) var isWelcomed = false
    /// The longer of the two carriages' round trips.
    @exclusivity(unchecked) private(set) var roundTrip: Nanoseconds = 0
    @exclusivity(unchecked) private var faults: [Fault] = []

    init() {}

    /// Faults that last.
    var faultsInEffect: Int { verbsInEffect.count }

    convenience init(_ call: ObservedCall) {
        self.init()
        faults = call.scenario.faults
        client.stall = call.scenario.client.stall
        server.stall = call.scenario.server.stall
        roundTrip = max(call.facts.lineRoundTrip, call.facts.pathRoundTrip)
    }

    subscript(end: CallEnd) -> End { end == .client ? client : server }

    /// Whether `deadline` of `end` has passed: one that came while its machine was not run is due when it is run again, or
    /// with `reading` when it has read what came meanwhile.
    func isOverdue(_ deadline: Instant, of end: CallEnd, reading: Bool = false, now: Instant) -> Bool {
        let machine = end == .client ? client : server
        let runs = reading ? max(machine.resumedAt, machine.readsUntil) : machine.resumedAt
        return !machine.isSuspended && now > max(deadline, runs) + machine.stall
    }

    /// Since when `time` has been true of both ends: they are active and run.
    var bothRunSince: Instant? {
        guard client.state == .active, server.state == .active, !client.isSuspended, !server.isSuspended,
            let first = client.activeSince, let second = server.activeSince
        else { return nil }
        return max(max(first, second), max(client.resumedAt, server.resumedAt))
    }

    /// Since when the path has been good with both ends awake; nil while an end sleeps.
    var usablePathSince: Instant? {
        guard let since = path.bothSince, !client.isSuspended, !server.isSuspended else { return nil }
        return max(since, client.resumedAt, server.resumedAt)
    }

    /// Since when a carriage that both ends could use has been good, each by itself; the earlier of the two.
    var carriesSince: Instant? {
        let usesPath = client.transport == .webrtc && server.transport == .webrtc
        let byPath = usesPath ? path.bothSince : nil
        let byLine = lineGoneAt == nil ? line.bothSince : nil
        guard let byPath else { return byLine }
        guard let byLine else { return byPath }
        return min(byPath, byLine)
    }

    // MARK: - Updating

    func take(_ what: Observation, at now: Instant) {
        switch what {
        case .state(let end, let state, let isRecovering):
            change(end) { machine in
                machine.isSeen = true
                if state == .active, machine.state != .active { machine.activeSince = now }
                if state == .ended, machine.endedAt == nil { machine.endedAt = now }
                machine.state = state
                machine.isRecovering = isRecovering
            }
            noteSuspicions(now: now)
        case .choice(let end, let epoch, let transport, _):
            change(end) { machine in
                machine.epoch = epoch
                machine.transport = transport
            }
            updateOpenCarriages(now: now)
        case .bridge(let end, let isAsked):
            change(end) { machine in
                if machine.isBridgeAsked, !isAsked { machine.bridgeOffAt = now }
                machine.isBridgeAsked = isAsked
                machine.bridgeAskedAt = isAsked ? now : nil
            }
            // The peer hears of it behind all that was said before.
            let said = self[end].lineBytesSent
            change(end.peer) { $0.hearsBridgeOffAfter = isAsked ? nil : said }
            noteSuspicions(now: now)
            updateOpenCarriages(now: now)
        case .sent(let end, .line, let byteCount, _): change(end) { $0.lineBytesSent += byteCount }
        case .arrived(let end, .line, let byteCount, _):
            change(end) { machine in
                machine.lineHeardAt = now
                machine.lineBytesArrived += byteCount
            }
            if let after = self[end].hearsBridgeOffAfter, self[end].lineBytesArrived > after {
                change(end) { $0.hearsBridgeOffAfter = nil }
                noteSuspicions(now: now)
                updateOpenCarriages(now: now)
            }
        case .captured(let end, _):
            change(end) { machine in
                if machine.talksSince == nil || now - machine.capturedAt > JudgeLimits.talking {
                    machine.talksSince = now
                }
                machine.capturedAt = now
            }
        case .network(let pathUp, let pathDown, let lineUp, let lineDown):
            path.set(up: pathUp, down: pathDown, now: now)
            line.set(up: lineUp, down: lineDown, now: now)
        case .fault(let index, let isBeginning): note(index, isBeginning: isBeginning, now: now)
        case .milestone(.lineOpen): isLineOpen = true
        case .milestone(.welcome): isWelcomed = true
        case .suspicion(let end, let threshold): change(end) { $0.suspectsAfter = threshold }
        case .outcome, .sent, .arrived, .played, .handed, .accepted, .delivered, .milestone, .figures: break
        }
    }

    /// Gives the line up once an end has heard nothing on it for as long as it waits.
    func pass(to now: Instant) {
        if verbsInEffect.contains(where: Self.stirs) { stirredAt = now }
        guard lineGoneAt == nil else { return }
        if client.hasGivenUpLine(now: now) || server.hasGivenUpLine(now: now) { lineGoneAt = now }
    }

    private func noteSuspicions(now: Instant) {
        client.noteSuspicion(isPeerAsking: server.isBridgeAsked, now: now)
        server.noteSuspicion(isPeerAsking: client.isBridgeAsked, now: now)
    }

    private func change(_ end: CallEnd, _ body: (inout End) -> Void) {
        switch end {
        case .client: body(&client)
        case .server: body(&server)
        }
    }

    private func updateOpenCarriages(now: Instant) {
        let isBridged = client.isBridgeAsked || server.isBridgeAsked
        for end in CallEnd.allCases {
            change(end) { machine in
                let takesPath = machine.transport != .websocket
                let takesLine = machine.transport != .webrtc || isBridged || machine.hearsBridgeOffAfter != nil
                machine.pathClosedAt = takesPath ? nil : (machine.pathClosedAt ?? now)
                machine.lineClosedAt = takesLine ? nil : (machine.lineClosedAt ?? now)
            }
        }
    }

    /// Whether packets come at other times, or fewer of them, while the fault lasts; where none comes it is an outage.
    private static func stirs(_ verb: FaultVerb) -> Bool {
        switch verb {
        case .hold, .corrupt, .dup, .rate, .delay, .loss, .suspend, .stall: true
        default: false
        }
    }

    private func note(_ index: Int, isBeginning: Bool, now: Instant) {
        guard faults.indices.contains(index) else { return }
        let fault = faults[index]
        let ends: [CallEnd] = fault.end == .both ? [.client, .server] : [fault.end == .server ? .server : .client]
        switch fault.verb {
        case .rebind: if isBeginning { rebindAt = now }
        case .cutFin, .cutReset, .cutSilent, .halfOpen: if isBeginning { lineGoneAt = lineGoneAt ?? now }
        case .suspend, .stall:
            for end in ends {
                change(end) { machine in
                    machine.suspensions = max(0, machine.suspensions + (isBeginning ? 1 : -1))
                    machine.resumedAt = now
                    if let since = machine.heldSince, !machine.isSuspended {
                        machine.heldFor = now - since
                        machine.heldSince = nil
                        if machine.mayHaveSeenPause { machine.readsUntil = now + JudgeLimits.readFirst }
                    } else {
                        machine.heldSince = machine.heldSince ?? now
                    }
                }
            }
        default: break
        }
        guard fault.verb != .rebind else { return }
        faultAt = now
        if Self.stirs(fault.verb) { stirredAt = now }
        guard fault.length > 0 else { return }
        if isBeginning {
            verbsInEffect.append(fault.verb)
        } else if let index = verbsInEffect.firstIndex(of: fault.verb) {
            verbsInEffect.remove(at: index)
        }
    }
}
