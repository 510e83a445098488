package import ICELite

/// Watches the media path of an active call, and while it is broken says what is to be done: ask for the bridge, check,
/// open fresh sockets, give up when the window is over. Both ends have one; only the client checks and decides.
///
/// A value with no I/O. It is told what came on the path and what the other end asks for; `Carriages` carries its effects
/// out. An outage runs from its suspicion until audio has come on the path for 500 ms and the other end hears us, too. The
/// window counts the time in which the path is broken: what is repaired for less than 5 s goes on with what is left of it.
package struct PathRecovery: Sendable {
    /// What is to be done, in order.
    package enum Effect: Sendable, Equatable {
        /// An outage begins, or goes on within 5 s of its end: its figures are taken from here.
        case began
        /// Tell the other end whether we want its audio on the line.
        case askBridge(Bool)
        /// Check the selected pair and the others that may stand in for it. Client only.
        case probe
        /// Check the selected pair: its peer may be silent without saying so. Client only.
        case check
        /// Ask for a sign of the other end's on the line: its word there may be old. Client only.
        case askLine
        /// The pairs there are do not answer: try new ports. Client only.
        case openFreshSockets
        /// The call is recovering, or is not any more.
        case recoveringChanged(Bool)
        /// The path did not come back in its window.
        case windowEnded
        /// The outage is over.
        case finished
    }

    /// From the suspicion to the state *recovering*, but for events of the network, which are certain.
    package static let announceAfter = Nanoseconds.seconds(1)
    /// Audio on the path for this long ends an outage, and the bridge.
    package static let steadyFor = Nanoseconds.milliseconds(500)
    /// The shortest bridge.
    package static let shortestBridge = Nanoseconds.seconds(2)
    /// Audio that comes on the path this much later than on the line says that a call is better off with both.
    package static let behindLine = Nanoseconds.milliseconds(400)
    /// The bridge waits this long at most for a path that is behind.
    package static let longestWaitBehind = Nanoseconds.seconds(1)
    /// Outages this short apart are one.
    package static let sameOutageWithin = Nanoseconds.seconds(5)
    /// A path that comes back by itself within this was only quiet.
    package static let falseAlarmWithin = Nanoseconds.seconds(1)
    /// Rounds of checks 50 ms apart before they become fewer.
    package static let urgentProbes = 10
    package static let urgentProbeInterval = Nanoseconds.milliseconds(50)
    /// The interval after them, doubling to the cap.
    package static let probeInterval = Nanoseconds.milliseconds(100)
    package static let probeIntervalCap = Nanoseconds.milliseconds(500)
    /// An answered check says that the peer can be reached; if it still wants the bridge this much later, it cannot. What
    /// it wants is as old as the line is slow: the line is asked first.
    package static let answerHolds = Nanoseconds.seconds(3)
    /// How often a peer is checked that may be silent without saying so.
    package static let quietCheckInterval = Nanoseconds.seconds(1)
    /// Reports in a row that show none of our packets arriving.
    package static let standstillReports = 3

    /// The outage that lasts.
    struct Current: Sendable {
        /// When the path broke, or broke again.
        var brokenAt: Instant
        /// What is used up of the window by earlier parts of the same outage.
        var used: Nanoseconds
        /// Since when audio comes on the path without a pause; nil while it does not.
        var steadySince: Instant?
        /// Since when it has been repaired; nil while it is not.
        var repairedAt: Instant?
        /// When a check sent for this outage was answered.
        var answeredAt: Instant?
        /// That the peer wants the bridge is being asked for on the line.
        var isLineAsked = false
        /// The selected pair answered, and the other end went on asking: its answers say no more.
        var isAnsweredInVain = false
        /// The other end asked for the bridge because of it.
        var isPeers: Bool
        /// Reports show that nothing of ours arrives.
        var isOneWay: Bool
        var probes = 0
        var probeAt = Instant.never
        var hasFreshSockets = false
        var isWindowOver = false
        /// This machine refuses what we send on the selected pair, whatever comes on it.
        var isRefused = false
        /// It is known for certain that the path is gone: no false alarm.
        var isCertain: Bool
    }

    let isController: Bool
    let window: Nanoseconds
    let activeAt: Instant
    var liveness: PathLiveness
    var current: Current?
    var lastEnd: (at: Instant, used: Nanoseconds)?
    var bridgeSince: Instant?
    var bridgingSince: Instant?
    /// When audio last came on the path much later than on the line.
    var behindAt: Instant?
    var lastAudioAt: Instant
    var quietCheckAt: Instant
    var effects: [Effect] = []
    var isStopped = false
    /// Where its inputs and their effects are kept.
    var recorder: FlightRecorder?
    /// Packets since the last entry there.
    var quiet = QuietPackets()
    /// When audio last stopped going on both carriages.
    package internal(set) var bridgeEndedAt: Instant?

    /// The other end wants our audio on the line.
    package internal(set) var isPeerBridgeOn = false
    /// The call shows itself as recovering.
    package var isRecovering: Bool { figures.isRecovering }
    /// What was counted; `outages` holds the one that lasts, too.
    package internal(set) var figures = RecoverySnapshot()

    /// - Parameters:
    ///   - isController: this end is the client, which checks and decides.
    ///   - peerInterval: the peer's `liveness_ms`; nil when it named none.
    ///   - window: how long the path may be broken.
    ///   - now: the call is active on the media path from now on.
    package init(isController: Bool, peerInterval: Nanoseconds?, window: Nanoseconds, now: Instant) {
        self.isController = isController
        self.window = window
        activeAt = now
        liveness = PathLiveness(peerInterval: peerInterval, now: now)
        lastAudioAt = now
        quietCheckAt = now + Self.quietCheckInterval
    }

    // MARK: What it knows

    /// This end has asked for the other's audio on the line.
    package var isBridgeAsked: Bool { bridgeSince != nil }
    /// Audio goes, and is taken, on both carriages.
    package var isBridging: Bool { isBridgeAsked || isPeerBridgeOn }
    /// An outage lasts.
    package var hasOutage: Bool { current != nil }
    /// The path does not carry the call now.
    package var isBroken: Bool { current != nil && !isRepaired }
    /// The path does not carry the call, and its window is over.
    package var isWindowOver: Bool { current?.isWindowOver ?? false }
    /// How long the silence that lasts may be before it is a suspicion.
    package var suspicionThreshold: Nanoseconds { liveness.threshold(now: liveness.lastHeardAt) }
    /// The peer named the longest silence it leaves: checks say nothing of its audio then.
    package var knowsPeer: Bool { liveness.knowsPeer }

    /// The next effect; nil when there is none.
    package mutating func pollEffect() -> Effect? { effects.isEmpty ? nil : effects.removeFirst() }

    // MARK: What its inputs do (`PathRecovery+Record.swift` names them)

    mutating func applyHeard(now: Instant) {
        guard !isStopped else { return }
        let wasSilent = liveness.heard(now: now)
        guard current != nil else { return }
        if wasSilent || current?.steadySince == nil { current?.steadySince = now }
        settle(now: now)
    }

    /// A new audio packet came, on whatever carriage.
    package mutating func audioHeard(now: Instant) {
        guard !isStopped else { return }
        if current != nil, let last = figures.outages.indices.last {
            figures.outages[last].gap = max(figures.outages[last].gap, Duration(nanoseconds: now - lastAudioAt))
        }
        lastAudioAt = max(lastAudioAt, now)
    }

    mutating func applyAnswered(isSamePair: Bool, now: Instant) {
        guard !isStopped, current != nil else { return }
        if !isSamePair { current?.isAnsweredInVain = false }
        if current?.answeredAt == nil, current?.isAnsweredInVain == false {
            current?.answeredAt = now
            current?.isLineAsked = false
        }
        note(isSamePair ? .samePair : .otherPair)
        settle(now: now)
    }

    mutating func applyRestarted(now: Instant) {
        guard !isStopped, current != nil else { return }
        current?.answeredAt = now
        current?.isLineAsked = false
        current?.isAnsweredInVain = false
        note(.restart)
        settle(now: now)
    }

    /// The other end was reached, still does not hear us, and has said so on a line that has told all: the answer did not
    /// mean what it seemed to.
    mutating func applyLineAnswered(now: Instant) {
        guard !isStopped, current?.isLineAsked == true else { return }
        current?.isLineAsked = false
        guard isController, isPeerBridgeOn, current?.answeredAt != nil else { return }
        current?.answeredAt = nil
        current?.isAnsweredInVain = true
        current?.repairedAt = nil
        probeAnew(now: now)
        settle(now: now)
    }

    mutating func applySuspect(_ cause: OutageCause, now: Instant) {
        guard !isStopped else { return }
        let isCertain = cause == .networkChange || cause == .sendRefused
        if current == nil {
            begin(cause, now: now)
        } else if isCertain, isRepaired {
            // What came back came back on a pair that is gone.
            current?.steadySince = nil
            askBridge(now: now)
            probeAnew(now: now)
        }
        if isCertain {
            current?.isCertain = true
            current?.answeredAt = nil
            current?.isAnsweredInVain = false
        }
        if cause == .sendRefused { current?.isRefused = true }
        settle(now: now)
    }

    mutating func applyPeerBridge(_ isOn: Bool, now: Instant) {
        guard isOn != isPeerBridgeOn, !isStopped else { return }
        isPeerBridgeOn = isOn
        #if MUTANTS
        if Mutant.current == .bridgeOffEndsBoth, !isOn { bridgeSince = nil }
        #endif
        if isOn {
            if current == nil { begin(.peer, now: now) }
            if current?.isPeers == false {
                // It does not hear us: an answer of before says nothing of now.
                current?.isPeers = true
                current?.answeredAt = nil
                probeAnew(now: now)
            }
        } else {
            current?.isAnsweredInVain = false
        }
        settle(now: now)
    }

    mutating func applyReported(standstills: Int, now: Instant) {
        guard !isStopped else { return }
        if standstills == 0 {
            current?.isOneWay = false
        } else if standstills >= Self.standstillReports, current == nil {
            begin(.oneWay, now: now)
        }
        settle(now: now)
    }

    mutating func applyStalled(for pause: Nanoseconds, now: Instant) {
        guard !isStopped else { return }
        liveness.forgive(now: now)
        lastAudioAt = max(lastAudioAt, now)
        if let outage = current {
            // What waits is read, and the path looked at, before anything counts as lost.
            let pause = max(0, min(pause, now - outage.brokenAt))
            current?.brokenAt = outage.brokenAt + pause
            current?.answeredAt = outage.answeredAt.map { min(now, $0 + pause) }
            current?.isLineAsked = false
            if outage.steadySince != nil { current?.steadySince = now }
            if outage.repairedAt != nil { current?.repairedAt = now }
            if !outage.isWindowOver { probeAnew(now: now) }
        } else {
            begin(.stall, now: now)
        }
        settle(now: now)
    }

    mutating func applyTimeout(now: Instant) {
        guard !isStopped else { return }
        if current == nil {
            if now >= liveness.suspectAt {
                begin(.silence, now: now)
            } else if isQuietCheckDue(now: now) {
                effects.append(.check)
                quietCheckAt = now + Self.quietCheckInterval
            }
        } else if current?.steadySince != nil, now >= liveness.suspectAt {
            current?.steadySince = nil
            askBridge(now: now)
            probeAnew(now: now)
        }
        settle(now: now)
    }

    mutating func applyBehind(now: Instant) {
        guard !isStopped, bridgeSince != nil else { return }
        behindAt = now
        settle(now: now)
    }

    mutating func applyMoved() {
        guard current != nil else { return }
        note(.otherPair)
    }

    /// What an outage cost, as far as others count it.
    package mutating func account(framesLost: Int, checksSent: Int) {
        guard let last = figures.outages.indices.last else { return }
        figures.outages[last].framesLost += framesLost
        figures.outages[last].checksSent += checksSent
    }

    /// A copy of the figures with the threshold in force.
    package func snapshot(now: Instant) -> RecoverySnapshot {
        var snapshot = figures
        snapshot.suspicionThreshold = Duration(nanoseconds: liveness.threshold(now: now))
        if let bridgingSince { snapshot.bridged += Duration(nanoseconds: now - bridgingSince) }
        return snapshot
    }

    mutating func applyStop(_ outcome: OutageOutcome, now: Instant) {
        guard !isStopped else { return }
        if current != nil { finish(outcome, now: now) }
        bridgeSince = nil
        isPeerBridgeOn = false
        measureBridge(now: now)
        isStopped = true
    }

    // MARK: - Inside

    private mutating func begin(_ cause: OutageCause, now: Instant) {
        var current = Current(
            brokenAt: now, used: 0, isPeers: cause == .peer, isOneWay: cause == .oneWay, isCertain: false)
        if let lastEnd, now - lastEnd.at < Self.sameOutageWithin, let last = figures.outages.indices.last {
            current.used = lastEnd.used
            #if MUTANTS
            if Mutant.current == .windowRestarted { current.used = 0 }
            #endif
            figures.outages[last].relapses += 1
            figures.outages[last].outcome = .ongoing
        } else {
            if figures.outages.count == RecoverySnapshot.keptOutages { figures.outages.removeFirst() }
            figures.outages.append(
                Outage(
                    cause: cause, at: Duration(nanoseconds: now - activeAt),
                    detection: Duration(nanoseconds: max(0, now - liveness.lastHeardAt))))
            figures.outageCount += 1
        }
        // Where only the other end, or our reports, complain, audio still comes.
        if cause == .peer || cause == .oneWay { current.steadySince = now }
        self.current = current
        effects.append(.began)
        if cause != .peer { askBridge(now: now) }
        probeAnew(now: now)
    }

    private mutating func askBridge(now: Instant) {
        guard bridgeSince == nil else { return }
        bridgeSince = now
        behindAt = nil
        figures.bridges += 1
        effects.append(.askBridge(true))
    }

    mutating func probeAnew(now: Instant) {
        guard isController else { return }
        current?.probes = 0
        current?.probeAt = now
    }

    private mutating func note(_ mechanism: RepairMechanism) {
        guard let last = figures.outages.indices.last, figures.outages[last].mechanism != .restart else { return }
        // The same pair answering after another was found is that other one.
        if mechanism == .samePair, figures.outages[last].mechanism == .otherPair { return }
        figures.outages[last].mechanism = mechanism
    }
}
