package import ICELite

// What is recorded of the path's watch: its inputs but those that change nothing, and its state.

/// Packets in a row that changed nothing but what was learnt of the path.
package struct QuietPackets: Sendable, Equatable, Recorded {
    /// How many.
    package private(set) var count = 0
    /// When the first came.
    package private(set) var first = Instant.zero
    /// When the newest came.
    package private(set) var last = Instant.zero
    /// The longest time from one to the next.
    package private(set) var largestGap: Nanoseconds = 0

    init() {}

    /// Another one. Does not allocate.
    mutating func add(at now: Instant) {
        if count == 0 { first = now } else { largestGap = max(largestGap, now - last) }
        count += 1
        last = now
    }

    package func record(into writer: inout RecordWriter) {
        writer.count(count)
        writer.instant(first)
        writer.instant(last)
        writer.nanoseconds(largestGap)
    }

    package init(recorded reader: inout RecordReader) throws(RecordError) {
        count = try reader.count()
        first = try reader.instant()
        last = try reader.instant()
        largestGap = try reader.nanoseconds()
    }
}

extension PathRecovery: RecordedMachine {
    package static var machine: FlightMachine { .recovery }

    /// What it may be told, but for what only figures come of.
    package enum Input: Sendable, Equatable {
        case heard
        case answered(isSamePair: Bool)
        case restarted
        case lineAnswered
        case suspect(OutageCause)
        case peerBridge(Bool)
        case reported(standstills: Int)
        case stalled(for: Nanoseconds)
        case timeout
        case moved
        case stop(OutageOutcome)
        /// Audio came on the path much later than on the line.
        case behind
    }

    /// Its inputs and what comes of them go into `recorder` from now on.
    package mutating func record(on recorder: FlightRecorder?, now: Instant) {
        self.recorder = recorder
        recorder?.prepare(self, now: now)
    }

    package mutating func take(_ input: Input, now: Instant) {
        guard let recorder else { return apply(input, now: now) }
        let before = effects.count
        let isNews = changesSomething(input, now: now)
        if isNews || input == .timeout { recorder.prepare(self, now: now) }
        if isNews { noteQuiet(on: recorder, now: now) }
        apply(input, now: now)
        guard isNews || effects.count > before else {
            if input == .heard, !isStopped { quiet.add(at: now) }
            return
        }
        // Nothing of what was due was foreseen: the packets before it are still to be written.
        if !isNews { noteQuiet(on: recorder, now: now) }
        recorder.note(input, of: Self.self, effects: effects[before...], now: now)
        if effects[before...].contains(.finished), let outage = figures.outages.last {
            recorder.note(outage, now: now)
        }
    }

    private mutating func noteQuiet(on recorder: FlightRecorder, now: Instant) {
        guard quiet.count > 0 else { return }
        recorder.note(quiet, liveness, now: now)
        quiet = QuietPackets()
    }

    /// Whether `input` changes more than what is learnt of the path: something is due, or it is of an outage.
    private func changesSomething(_ input: Input, now: Instant) -> Bool {
        guard !isStopped else { return false }
        switch input {
        case .suspect, .stalled, .stop: return true
        case .answered, .restarted, .moved: return current != nil
        case .behind: return bridgeSince != nil
        case .lineAnswered: return current?.isLineAsked == true
        case .peerBridge(let isOn): return isOn != isPeerBridgeOn
        case .timeout: return now >= nextDeadline
        case .heard: return current != nil && (current?.steadySince == nil || now >= nextDeadline)
        case .reported(let standstills):
            let isOneWay = current?.isOneWay == true
            let changes = standstills == 0 ? isOneWay : standstills >= Self.standstillReports && current == nil
            return changes || now >= nextDeadline
        }
    }

    private mutating func apply(_ input: Input, now: Instant) {
        switch input {
        case .heard: applyHeard(now: now)
        case .answered(let isSamePair): applyAnswered(isSamePair: isSamePair, now: now)
        case .restarted: applyRestarted(now: now)
        case .lineAnswered: applyLineAnswered(now: now)
        case .suspect(let cause): applySuspect(cause, now: now)
        case .peerBridge(let isOn): applyPeerBridge(isOn, now: now)
        case .reported(let standstills): applyReported(standstills: standstills, now: now)
        case .stalled(let pause): applyStalled(for: pause, now: now)
        case .timeout: applyTimeout(now: now)
        case .moved: applyMoved()
        case .stop(let outcome): applyStop(outcome, now: now)
        case .behind: applyBehind(now: now)
        }
    }

    package func record(into writer: inout RecordWriter) {
        writer.bool(isController)
        writer.nanoseconds(window)
        writer.instant(activeAt)
        liveness.record(into: &writer)
        writer.optional(current) { $1.record(into: &$0) }
        writer.optional(lastEnd) { writer, end in
            writer.instant(end.at)
            writer.nanoseconds(end.used)
        }
        for instant in [bridgeSince, bridgingSince, bridgeEndedAt, behindAt] {
            writer.optional(instant) { $0.instant($1) }
        }
        writer.instant(lastAudioAt)
        writer.instant(quietCheckAt)
        for flag in [isStopped, isPeerBridgeOn] { writer.bool(flag) }
        figures.record(into: &writer)
    }

    package init(recorded reader: inout RecordReader) throws(RecordError) {
        let isController = try reader.bool()
        let window = try reader.nanoseconds()
        let activeAt = try reader.instant()
        self.init(isController: isController, peerInterval: nil, window: window, now: activeAt)
        liveness = try PathLiveness(recorded: &reader)
        current = try reader.optional { reader throws(RecordError) in try Current(recorded: &reader) }
        lastEnd = try reader.optional { reader throws(RecordError) in
            let at = try reader.instant()
            return (at, try reader.nanoseconds())
        }
        bridgeSince = try reader.optionalInstant()
        bridgingSince = try reader.optionalInstant()
        bridgeEndedAt = try reader.optionalInstant()
        behindAt = try reader.optionalInstant()
        lastAudioAt = try reader.instant()
        quietCheckAt = try reader.instant()
        isStopped = try reader.bool()
        isPeerBridgeOn = try reader.bool()
        figures = try RecoverySnapshot(recorded: &reader)
    }

    /// Takes over what was learnt of the path meanwhile.
    package mutating func learn(_ liveness: PathLiveness) { self.liveness = liveness }

    /// Silence of the path after which it is suspected, as it stands.
    package var threshold: Nanoseconds { liveness.threshold(now: liveness.lastHeardAt) }
}

// MARK: - The inputs by name

extension PathRecovery {
    /// Media or a report authenticated on the path (from a peer that is silent without saying so: a check, too).
    package mutating func heard(now: Instant) { take(.heard, now: now) }

    /// A check that was sent for this outage was answered, on the pair selected from now on.
    package mutating func answered(isSamePair: Bool, now: Instant) { take(.answered(isSamePair: isSamePair), now: now) }

    /// An ICE restart has found its pair.
    package mutating func restarted(now: Instant) { take(.restarted, now: now) }

    /// What the other end had said as `askLine` was carried out has come, or the line is gone.
    package mutating func lineAnswered(now: Instant) { take(.lineAnswered, now: now) }

    /// Something other than silence says that the path is broken.
    package mutating func suspect(_ cause: OutageCause, now: Instant) { take(.suspect(cause), now: now) }

    /// The other end's `bridge`: whether it wants our audio on the line.
    package mutating func peerBridge(_ isOn: Bool, now: Instant) { take(.peerBridge(isOn), now: now) }

    /// The other end's report on our stream: how many in a row show no packet arriving.
    package mutating func reported(standstills: Int, now: Instant) {
        take(.reported(standstills: standstills), now: now)
    }

    /// This process did not run for `pause`, and has heard nothing for that reason: of an outage's window that uses nothing.
    package mutating func stalled(for pause: Nanoseconds, now: Instant) { take(.stalled(for: pause), now: now) }

    /// Does what is due.
    package mutating func handleTimeout(now: Instant) { take(.timeout, now: now) }

    /// Another pair has taken over.
    package mutating func moved(now: Instant) { take(.moved, now: now) }

    /// Audio came on the path `behindLine` later than on the line, or still later.
    package mutating func behind(now: Instant) {
        guard isBridgeAsked, behindAt.map({ now - $0 >= Self.steadyFor / 5 }) ?? true else { return }
        take(.behind, now: now)
    }

    /// The call ends, or the line carries it from now on: what becomes of an outage that lasts.
    package mutating func stop(_ outcome: OutageOutcome, now: Instant) { take(.stop(outcome), now: now) }
}
