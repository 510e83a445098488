package import ICELite
internal import Synchronization

/// Keeps what the machines of one call were told and what they decided, the newest 64 KiB of it: no audio, no payload, no
/// address, no key, no text but our own.
///
/// A ring of four segments. In each a machine's first entry is its whole state, so a replay can begin at the oldest one.
/// Shared: the call's thread writes, any thread may take a copy. What changes nothing is not written, so a calm call
/// costs next to nothing; a packet costs no lock and no allocation.
package final class FlightRecorder: Sendable {
    /// Segments there are.
    package static let segmentCount = 4
    /// Bytes of a segment at most.
    package static let segmentSize = 16_384
    /// Room a segment has left when an input is begun: for what the input adds.
    private static let reserve = 2_048
    /// The room a segment is given first.
    private static let firstRoom = 1_024

    private let tape = Mutex(Tape())

    package init() {}

    /// Something of `machine` is about to be written: makes room, and writes its state where the segment has none of it.
    package func prepare<Machine: RecordedMachine>(_ machine: Machine, now: Instant) {
        tape.withLock { $0.prepare(machine, now: now) }
    }

    /// Writes an input with the effects it had.
    package func note<Machine: RecordedMachine>(
        _ input: Machine.Input, of machine: Machine.Type, effects: ArraySlice<Machine.Effect>, now: Instant
    ) {
        tape.withLock { tape in
            tape.write(.input, Machine.machine, now: now) { writer in
                input.record(into: &writer)
                FlightEntry.write(effects, into: &writer)
            }
        }
    }

    /// Writes what was learnt from packets that changed nothing else.
    package func note(_ quiet: QuietPackets, _ liveness: PathLiveness, now: Instant) {
        tape.withLock { tape in
            tape.write(.quiet, .recovery, now: now) { writer in
                quiet.record(into: &writer)
                liveness.record(into: &writer)
            }
        }
    }

    /// Writes how an outage stands.
    package func note(_ outage: Outage, now: Instant) {
        tape.withLock { tape in tape.write(.outage, .recovery, now: now) { outage.record(into: &$0) } }
    }

    /// A copy of all that is kept, with its header and check sum: what `FlightRecording` reads. At most
    /// `FlightRecording.largestSize` bytes; empty before the first entry.
    package func recording() -> [UInt8] { tape.withLock { $0.recording() } }

    /// What the lock guards.
    private struct Tape {
        var segments: [[UInt8]] = [[]]
        var current = 0
        /// When the newest entry of the segment was written; the recording's beginning before its first.
        var lastAt = Instant.zero
        var epoch: Instant?
        /// A bit for each machine whose state the segment holds.
        var known: UInt8 = 0
        var dropped = 0
        var scratch = RecordWriter(epoch: .zero)

        mutating func prepare<Machine: RecordedMachine>(_ machine: Machine, now: Instant) {
            if epoch == nil {
                epoch = now
                scratch.epoch = now
                lastAt = now
            }
            if room < FlightRecorder.reserve { roll() }
            let bit: UInt8 = 1 << Machine.machine.rawValue
            guard known & bit == 0 else { return }
            scratch.clear()
            machine.record(into: &scratch)
            if room < scratch.bytes.count + FlightRecorder.reserve { roll() }
            known |= bit
            append(.state, Machine.machine, now: now)
        }

        mutating func write(
            _ kind: FlightEntry.Kind, _ machine: FlightMachine, now: Instant, _ body: (inout RecordWriter) -> Void
        ) {
            guard known & (1 << machine.rawValue) != 0 else {
                dropped += 1
                return
            }
            scratch.clear()
            body(&scratch)
            append(kind, machine, now: now)
        }

        private var room: Int { FlightRecorder.segmentSize - segments[current].count }

        /// Goes on in the oldest segment.
        private mutating func roll() {
            if segments.count < FlightRecorder.segmentCount { segments.append([]) }
            current = (current + 1) % segments.count
            segments[current].removeAll(keepingCapacity: true)
            lastAt = epoch ?? .zero
            known = 0
        }

        private mutating func append(_ kind: FlightEntry.Kind, _ machine: FlightMachine, now: Instant) {
            var head = RecordWriter(epoch: .zero)
            head.nanoseconds(now - lastAt)
            head.byte(kind.rawValue << 2 | machine.rawValue)
            head.count(scratch.bytes.count)
            guard head.bytes.count + scratch.bytes.count <= room else {
                // Without this entry the machine cannot be followed: its state is written anew.
                dropped += 1
                known &= ~(1 << machine.rawValue)
                return
            }
            lastAt = now
            segments[current].append(contentsOf: head.bytes)
            segments[current].append(contentsOf: scratch.bytes)
        }

        func recording() -> [UInt8] {
            guard epoch != nil else { return [] }
            var writer = RecordWriter(epoch: .zero)
            writer.raw(FlightRecording.magic)
            writer.byte(FlightRecording.version)
            writer.count(dropped)
            writer.count(segments.count)
            // Oldest first.
            for offset in 1...segments.count {
                let segment = segments[(current + offset) % segments.count]
                writer.count(segment.count)
                writer.raw(segment)
            }
            return writer.bytes + FlightRecording.checkSum(of: writer.bytes[...])
        }
    }
}
