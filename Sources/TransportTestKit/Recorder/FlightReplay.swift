package import ICELite
package import Transport

/// Replays a flight recording: the machines are restored from the oldest state that is kept, are told what they were told,
/// and every effect is compared with the one that was recorded.
package struct FlightReplay: Sendable {
    /// One entry, replayed.
    package struct Step: Sendable, Equatable {
        /// Since the recording's beginning.
        package var at: Instant
        package var machine: FlightMachine
        /// What the machine was told, for a person.
        package var what: String
        /// What it decided now, for a person.
        package var effects: [String] = []
        /// What it had decided as it was recorded, where that is something else.
        package var recorded: [String]?
        /// Another reason to believe that this is not how the call went.
        package var doubt: String?

        /// The replay went another way than the call.
        package var isDivergent: Bool { recorded != nil || doubt != nil }
    }

    /// Every entry, in order.
    package private(set) var steps: [Step] = []
    /// Entries that the recorder had no room for.
    package private(set) var dropped = 0
    /// The longest time a decision on the path came later than the replayed machine would have made it: as long as the loop
    /// slept too long, or the machine is another one.
    package private(set) var largestLateness: Nanoseconds = 0

    private var client = MachineReplay<ClientPolicy>()
    private var server = MachineReplay<ServerPolicy>()
    private var recovery = MachineReplay<PathRecovery>()
    /// When it was told something last.
    private var recoveryAt = Instant.zero

    /// Steps at which the replay went another way.
    package var divergences: [Step] { steps.filter(\.isDivergent) }

    /// - Throws: where the recording cannot be read, to its last byte.
    package init(_ bytes: [UInt8]) throws(RecordError) {
        let recording = try FlightRecording(bytes)
        dropped = recording.dropped
        for entry in recording.entries { steps.append(try replay(entry)) }
    }

    private mutating func replay(_ entry: FlightEntry) throws(RecordError) -> Step {
        switch (entry.kind, entry.machine) {
        case (.state, .clientPolicy): return try client.restore(entry, isGapped: dropped > 0)
        case (.state, .serverPolicy): return try server.restore(entry, isGapped: dropped > 0)
        case (.state, .recovery): return try recovery.restore(entry, isGapped: dropped > 0)
        case (.input, .clientPolicy): return try client.replay(entry)
        case (.input, .serverPolicy): return try server.replay(entry)
        case (.input, .recovery):
            if let deadline = recovery.machine?.nextDeadline {
                largestLateness = max(largestLateness, entry.at - max(deadline, recoveryAt))
            }
            recoveryAt = entry.at
            return try recovery.replay(entry)
        case (.quiet, .recovery): return try learn(entry)
        case (.outage, .recovery): return try outage(entry)
        case (.quiet, _), (.outage, _): throw .malformed
        }
    }

    /// Packets that only taught the machine something: what it knows now is in the entry.
    private mutating func learn(_ entry: FlightEntry) throws(RecordError) -> Step {
        var reader = RecordReader(entry.body)
        let quiet = try QuietPackets(recorded: &reader)
        let liveness = try PathLiveness(recorded: &reader)
        guard reader.isAtEnd, recovery.machine != nil else { throw .malformed }
        recovery.machine?.learn(liveness)
        let threshold = recovery.machine?.threshold ?? 0
        var step = Step(at: entry.at, machine: .recovery, what: quiet.words(threshold: threshold))
        if quiet.largestGap > threshold {
            step.doubt = "a gap of \(quiet.largestGap.words) would have been suspected after \(threshold.words)"
        }
        return step
    }

    private func outage(_ entry: FlightEntry) throws(RecordError) -> Step {
        var reader = RecordReader(entry.body)
        let outage = try Outage(recorded: &reader)
        guard reader.isAtEnd else { throw .malformed }
        var step = Step(at: entry.at, machine: .recovery, what: outage.words)
        let replayed = recovery.machine?.figures.outages.last
        if replayed?.outcome != outage.outcome || replayed?.mechanism != outage.mechanism {
            step.doubt = "replayed: \(replayed?.words ?? "no outage")"
        }
        return step
    }
}

/// One machine of a replay.
struct MachineReplay<Machine: RecordedMachine & DescribedMachine & Sendable>: Sendable
where Machine.Input: Described, Machine.Effect: Described {
    var machine: Machine?

    /// The machine's state: it begins here, or it is where the call was.
    ///
    /// - Parameter isGapped: entries are missing: it goes on from here.
    mutating func restore(_ entry: FlightEntry, isGapped: Bool) throws(RecordError) -> FlightReplay.Step {
        var reader = RecordReader(entry.body)
        let recorded = try Machine(recorded: &reader)
        guard reader.isAtEnd else { throw .malformed }
        var step = FlightReplay.Step(at: entry.at, machine: Machine.machine, what: "is \(recorded.words)")
        if let machine, !isGapped, machine.words != recorded.words { step.doubt = "replayed: \(machine.words)" }
        if machine == nil || isGapped { machine = recorded }
        return step
    }

    mutating func replay(_ entry: FlightEntry) throws(RecordError) -> FlightReplay.Step {
        var reader = RecordReader(entry.body)
        let input = try Machine.Input(recorded: &reader)
        let recorded = try FlightEntry.effects(&reader, of: Machine.Effect.self)
        guard reader.isAtEnd, machine != nil else { throw .malformed }
        machine?.take(input, now: entry.at)
        var effects: [Machine.Effect] = []
        while let effect = machine?.pollEffect() ?? nil { effects.append(effect) }
        var step = FlightReplay.Step(at: entry.at, machine: Machine.machine, what: input.words)
        step.effects = effects.map(\.words)
        if Self.bytes(of: effects) != Self.bytes(of: recorded) { step.recorded = recorded.map(\.words) }
        return step
    }

    private static func bytes(of effects: [Machine.Effect]) -> [UInt8] {
        var writer = RecordWriter(epoch: .zero)
        FlightEntry.write(effects[...], into: &writer)
        return writer.bytes
    }
}
