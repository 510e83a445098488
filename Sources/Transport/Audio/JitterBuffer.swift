package import ICELite

/// Holds packets until their time and turns them into an even stream of PCM.
///
/// One input at a time, `now` handed in; a pull is 10 ms of output. Between the packets that come and the decoder that
/// is handed to `pull` nobody else decides. Does not allocate once made.
package protocol JitterBuffer: ~Copyable {
    /// What has happened so far.
    var statistics: JitterBufferStatistics { get }

    /// Offers a packet that came at `now`. The first usable copy of a timestamp wins, by whatever carriage.
    mutating func insert(_ packet: borrowing RawSpan, as stamp: AudioPacketStamp, now: Instant) -> InsertVerdict

    /// Notes a packet without audio of the same stream: its sequence number is not lost.
    mutating func noteWithoutAudio(_ sequence: SequenceNumber)

    /// Fills `output`, 480 samples at 48 kHz mono, with what is to be heard next; every sample is written.
    mutating func pull(
        into output: UnsafeMutableBufferPointer<Int16>, decoder: inout OpusDecoder, now: Instant
    ) -> PullVerdict

    /// Throws away what is held with a sequence number before `mark` (nil: all), and starts again as after a gap.
    ///
    /// - Returns: milliseconds of audio thrown away.
    mutating func flush(before mark: SequenceNumber?) -> Int

    /// This process did not run for `length` until `now`: when the packets came that it reads now is not known.
    mutating func noteStandstill(for length: Nanoseconds, now: Instant)

    /// The next packet begins a stream of other numbers and timestamps; what is held is played first.
    mutating func resynchronise()
}

/// Where a packet stands in its stream.
package struct AudioPacketStamp: Hashable, Sendable {
    /// Its sequence number.
    package var sequence: SequenceNumber
    /// Media time of its first sample, at 48 kHz.
    package var timestamp: UInt32
    /// It is the first after silence.
    package var marker: Bool
    /// What it came by.
    package var carriage: AudioCarriage

    package init(sequence: SequenceNumber, timestamp: UInt32, marker: Bool, carriage: AudioCarriage) {
        self.sequence = sequence
        self.timestamp = timestamp
        self.marker = marker
        self.carriage = carriage
    }
}

/// What became of a packet that was offered.
package enum InsertVerdict: Hashable, Sendable {
    /// It is held.
    case accepted
    /// The same timestamp came before.
    case duplicate
    /// Its time is over: played around, or given up.
    case late
    /// It is held, and the oldest packet went to make room.
    case overflow
    /// It is no Opus packet.
    case invalid
    /// Its timestamp is more than 2 s from the stream; three such in a row begin a new stream.
    case wild
}

/// What a pull was made of.
package enum PullVerdict: Hashable, Sendable {
    /// Nothing was ever played: silence that is not counted as concealed.
    case waiting
    /// Decoded audio, all of it.
    case played
    /// Audio was missing and concealed, at least in part.
    case concealed
    /// Comfort noise in a pause of the talker.
    case comfort
}

/// What a jitter buffer counts. W3C webrtc-stats names as far as they apply; samples at 48 kHz.
package struct JitterBufferStatistics: Hashable, Sendable {
    /// Samples that were output, concealed ones included.
    package var totalSamplesReceived: Int64 = 0
    /// Samples made up because audio was missing, comfort noise included.
    package var concealedSamples: Int64 = 0
    /// Those of them that were comfort noise.
    package var silentConcealedSamples: Int64 = 0
    /// Runs of concealed samples.
    package var concealmentEvents: Int64 = 0
    /// Samples added to play slower.
    package var insertedSamplesForDeceleration: Int64 = 0
    /// Samples taken out to play faster.
    package var removedSamplesForAcceleration: Int64 = 0
    /// Sum, over emitted samples, of the time in the buffer, in seconds.
    package var jitterBufferDelay: Double = 0
    /// Sum, over emitted samples, of the target delay, in seconds.
    package var jitterBufferTargetDelay: Double = 0
    /// Samples that came out of the buffer.
    package var jitterBufferEmittedCount: Int64 = 0
    /// Packets that came too late or had to make room; no duplicates.
    package var packetsDiscarded: Int64 = 0
    /// Second copies of packets.
    package var duplicates: Int64 = 0
    /// Packets that Opus would not read.
    package var invalidPackets: Int64 = 0
    /// Packets with a timestamp that fits nothing.
    package var wildPackets: Int64 = 0
    /// New streams begun.
    package var resyncs: Int64 = 0
    /// Samples thrown away by a flush.
    package var flushedSamples: Int64 = 0
    /// Playout delay at the last frame decoded, in milliseconds. Not monotonic.
    package var playoutDelay: Double = 0
    /// The target in force, in milliseconds. Not monotonic.
    package var targetDelay: Double = 0
    /// Packets held now. Not monotonic.
    package var packetsHeld = 0

    package init() {}
}
