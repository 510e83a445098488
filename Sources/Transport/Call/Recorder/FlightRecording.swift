package import ICELite

/// One entry of a recording.
package struct FlightEntry: Sendable {
    /// What it is. `rawValue` is its number in a recording.
    package enum Kind: UInt8, Sendable {
        /// The machine's whole state.
        case state
        /// An input, with the effects it had.
        case input
        /// Packets that changed nothing but what was learnt of the path.
        case quiet
        /// How an outage stands.
        case outage
    }

    /// Effects of one input at most.
    static let effectLimit = 64

    package var kind: Kind
    package var machine: FlightMachine
    /// Since the recording's beginning.
    package var at: Instant
    package var body: ArraySlice<UInt8>

    /// Writes the effects of an input.
    package static func write(_ effects: ArraySlice<some Recorded>, into writer: inout RecordWriter) {
        writer.count(effects.count)
        for effect in effects { effect.record(into: &writer) }
    }

    /// Reads them again.
    package static func effects<Effect: Recorded>(
        _ reader: inout RecordReader, of type: Effect.Type
    ) throws(RecordError) -> [Effect] {
        var effects: [Effect] = []
        for _ in 0..<(try reader.count(upTo: effectLimit)) { effects.append(try Effect(recorded: &reader)) }
        return effects
    }
}

/// A flight recording taken apart: its entries, oldest first. Bytes of any kind may be given.
package struct FlightRecording: Sendable {
    /// What it begins with.
    package static let magic = Array("GFLT".utf8)
    /// The version this build writes, and the only one it reads.
    package static let version: UInt8 = 4
    /// Bytes a recording has at most: the segments and what frames them.
    package static let largestSize = FlightRecorder.segmentCount * (FlightRecorder.segmentSize + 3) + 32

    /// The entries, in the order in which they were written.
    package private(set) var entries: [FlightEntry] = []
    /// Entries that found no room.
    package private(set) var dropped = 0

    /// - Throws: `version` for bytes that are no recording, `damaged` for one that was changed, else what is wrong in it.
    package init(_ bytes: [UInt8]) throws(RecordError) {
        guard bytes.starts(with: Self.magic + [Self.version]) else { throw .version }
        guard bytes.count <= Self.largestSize, bytes.count >= Self.magic.count + 1 + 4,
            Array(bytes.suffix(4)) == Self.checkSum(of: bytes.dropLast(4))
        else { throw .damaged }
        var reader = RecordReader(bytes[(Self.magic.count + 1)..<(bytes.count - 4)])
        dropped = try reader.count()
        for _ in 0..<(try reader.count(upTo: FlightRecorder.segmentCount)) {
            try readSegment(try reader.raw(try reader.count(upTo: FlightRecorder.segmentSize)))
        }
        guard reader.isAtEnd else { throw .malformed }
    }

    private mutating func readSegment(_ bytes: ArraySlice<UInt8>) throws(RecordError) {
        var reader = RecordReader(bytes)
        var at = Instant.zero
        while !reader.isAtEnd {
            at = at + (try reader.nanoseconds())
            guard (-RecordReader.longestTime...RecordReader.longestTime).contains(at.nanoseconds) else {
                throw .malformed
            }
            let head = try reader.byte()
            guard let kind = FlightEntry.Kind(rawValue: head >> 2), let machine = FlightMachine(rawValue: head & 3)
            else { throw .malformed }
            let count = try reader.count(upTo: FlightRecorder.segmentSize)
            entries.append(FlightEntry(kind: kind, machine: machine, at: at, body: try reader.raw(count)))
        }
    }

    /// FNV-1a of 32 bits, lowest byte first.
    package static func checkSum(of bytes: ArraySlice<UInt8>) -> [UInt8] {
        var sum: UInt32 = 0x811C_9DC5
        for byte in bytes { sum = (sum ^ UInt32(byte)) &* 0x0100_0193 }
        return (0..<4).map { UInt8(truncatingIfNeeded: sum >> (8 * $0)) }
    }
}
