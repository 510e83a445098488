package import ICELite

/// The plain jitter buffer: holds a target delay, conceals what is absent, never stretches a voice.
///
/// D, the playout delay, is now − media time of the next sample − base. It is decided on only when a frame must be
/// decoded. Concealment stops the media clock, so a late frame is played late and D grows by itself; quiet frames are
/// left out (or silence put in) to bring D back to the target, loud ones only when D is 100 ms above it.
package struct FixedDelayJitterBuffer: JitterBuffer, ~Copyable {
    /// Audio that is held at most.
    package static let maximumHeldSamples: Int64 = 96_000
    /// A timestamp further off than this is wild.
    static let maximumJump: Int64 = 96_000
    /// A packet with an older number is a late one of this stream if it is this old at most: a network, or a process that
    /// did not run, may hold packets for as long as an outage lasts and then give them all at once.
    static let maximumLateness: Int64 = 60 * AudioFormat.samplesPerSecond
    /// What came while the process did not run is read within this.
    static let readAfter: Nanoseconds = .milliseconds(100)
    /// Wild packets in a row that begin a new stream.
    static let wildRun = 3
    /// Concealment by the codec before comfort noise: 100 ms.
    static let concealmentSamples: Int64 = 4_800
    /// D above the target that costs a loud frame.
    static let drainMargin: Nanoseconds = .milliseconds(100)
    /// D above or below the target that quiet frames correct.
    static let quietMargin: Nanoseconds = .milliseconds(10)
    /// D above the cap at which the oldest packets go in one sweep.
    static let capMargin: Nanoseconds = .milliseconds(60)
    /// Between two corrections of the delay.
    static let correctionInterval: Nanoseconds = .milliseconds(60)
    /// Samples of a cross-fade: 2.5 ms.
    static let fadeSamples = 120
    /// A frame this near to where it is expected is the one expected (2.5 ms): timestamps of some senders are rounded.
    static let tolerance: Int64 = 120
    private static let rememberedCount = 64

    package internal(set) var statistics = JitterBufferStatistics()

    var slots = PacketSlots()
    var delays = DelayTracker()
    var noise = ComfortNoise()

    // What came.
    var newest: (timestamp: Int64, raw: UInt32, arrival: Instant)?
    private var sequences = SequenceNumberTracker()
    private var wild: (next: UInt32, count: Int) = (0, 0)
    private var beginsStream = false
    /// Where the stream that is heard begins: what comes of it from before would lie among the frames of the last one.
    private var streamStart = Int64.min
    /// How long this process last did not run, and when it ran again.
    private var standstill: (length: Nanoseconds, endedAt: Instant)?
    private var withoutAudio = InlineArray<16, Int64>(repeating: .min)
    private var withoutAudioCount = 0
    private var played = InlineArray<64, Int64>(repeating: .min)
    private var playedCount = 0

    // What is played.
    let pcm: UnsafeMutablePointer<Int16>
    var pcmStart = 0
    var pcmCount = 0
    let joint: UnsafeMutablePointer<Int16>
    var jointCount = 0
    /// Media time of the next frame to decode; nil before the first.
    var next: Int64?
    var lastSequence: Int64 = 0
    /// Samples made up since the last frame.
    var madeUp: Int64 = 0
    var isConcealing = false
    var lastWasComfort = false
    var lastFrameWasDTX = false
    var lastFrameWasQuiet = true
    var lastCorrection = Instant(nanoseconds: .min / 2)

    package init() {
        pcm = .allocate(capacity: AudioFormat.maximumPacketSampleCount)
        pcm.initialize(repeating: 0, count: AudioFormat.maximumPacketSampleCount)
        joint = .allocate(capacity: Self.fadeSamples)
        joint.initialize(repeating: 0, count: Self.fadeSamples)
    }

    deinit {
        pcm.deallocate()
        joint.deallocate()
    }

    // MARK: - Packets in

    package mutating func insert(
        _ packet: borrowing RawSpan, as stamp: AudioPacketStamp, now: Instant
    ) -> InsertVerdict {
        guard let sampleCount = OpusDecoder.sampleCount(of: packet) else {
            statistics.invalidPackets += 1
            noteWithoutAudio(stamp.sequence)
            return .invalid
        }
        guard let timestamp = extend(stamp, now: now) else { return .wild }
        let extended = sequences.extended(stamp.sequence).rawValue
        if slots.contains(timestamp: timestamp) || wasPlayed(timestamp) {
            statistics.duplicates += 1
            return .duplicate
        }
        if timestamp < max(streamStart, next.map { $0 - Self.tolerance } ?? .min) {
            statistics.packetsDiscarded += 1
            feed(timestamp: timestamp, sequence: extended, carriage: stamp.carriage, now: now)
            return .late
        }
        var verdict = InsertVerdict.accepted
        while slots.isFull || tooLong(with: timestamp + Int64(sampleCount)) {
            slots.removeFirst()
            statistics.packetsDiscarded += 1
            verdict = .overflow
        }
        feed(timestamp: timestamp, sequence: extended, carriage: stamp.carriage, now: now)
        sequences.update(stamp.sequence)
        slots.insert(
            PacketSlot(
                timestamp: timestamp, sequence: extended, sampleCount: sampleCount, byteCount: 0, arrival: now,
                marker: stamp.marker, beginsStream: beginsStream, buffer: 0),
            bytes: packet)
        beginsStream = false
        if newest.map({ timestamp > $0.timestamp }) ?? true { newest = (timestamp, stamp.timestamp, now) }
        statistics.packetsHeld = slots.count
        return verdict
    }

    private func tooLong(with end: Int64) -> Bool {
        guard let first = slots.first else { return false }
        return end - first.timestamp > Self.maximumHeldSamples && slots.count > 1
    }

    /// The place of a packet on our time line, which goes on across streams; nil for a wild one, counted.
    private mutating func extend(_ stamp: AudioPacketStamp, now: Instant) -> Int64? {
        guard let newest else {
            beginsStream = true
            return Int64(stamp.timestamp)
        }
        if beginsStream {
            begin(stamp, now: now)
            return self.newest?.timestamp
        }
        let delta = Int64(Int32(bitPattern: stamp.timestamp &- newest.raw))
        #if MUTANTS
        if Mutant.current == .timestampUnsigned, stamp.timestamp < newest.raw { return nil }
        #endif
        let behind = stamp.sequence.distance(from: SequenceNumber(UInt16(truncatingIfNeeded: newestSequence)))
        let elapsed = Self.samples(in: now - newest.arrival)
        // What was read late, after a standstill, came somewhere in it.
        var unknown: Int64 = 0
        if let standstill, (0..<Self.readAfter).contains(newest.arrival - standstill.endedAt) {
            unknown = Self.samples(in: standstill.length)
        }
        let surplus = delta - elapsed
        // A jump that the clock confirms is a pause or an outage; one backwards with an old number is a late packet.
        if abs(delta) <= Self.maximumJump
            || (delta > 0 && surplus >= -AudioFormat.samplesPerSecond
                && surplus <= unknown + AudioFormat.samplesPerSecond)
            || (delta < 0 && behind < 0 && -delta <= Self.maximumLateness)
        {
            wild.count = 0
            return newest.timestamp + delta
        }
        let step = Int64(Int32(bitPattern: stamp.timestamp &- wild.next))
        wild = (stamp.timestamp, wild.count > 0 && abs(step) <= AudioFormat.samplesPerSecond ? wild.count + 1 : 1)
        statistics.wildPackets += 1
        guard wild.count >= Self.wildRun else { return nil }
        resynchronise()
        begin(stamp, now: now)
        return self.newest?.timestamp
    }

    private static func samples(in time: Nanoseconds) -> Int64 { max(0, min(time, .seconds(86_400))) * 48 / 1_000_000 }

    package mutating func noteStandstill(for length: Nanoseconds, now: Instant) { standstill = (length, now) }

    private var newestSequence: Int64 { sequences.highest?.rawValue ?? 0 }

    /// Lays the first packet of another stream behind all that is held.
    private mutating func begin(_ stamp: AudioPacketStamp, now: Instant) {
        let heldEnd = slots.last.map { $0.timestamp + Int64($0.sampleCount) }
        let place = heldEnd ?? next ?? 0
        newest = (max(place, next ?? place), stamp.timestamp, now)
        streamStart = max(place, next ?? place)
        wild.count = 0
        sequences = SequenceNumberTracker()
        delays.reset()
        for index in 0..<16 { withoutAudio[index] = .min }
        for index in 0..<Self.rememberedCount { played[index] = .min }
    }

    package mutating func resynchronise() {
        guard newest != nil else { return }
        beginsStream = true
        statistics.resyncs += 1
    }

    private mutating func feed(timestamp: Int64, sequence: Int64, carriage: AudioCarriage, now: Instant) {
        let isInOrder = newest.map { timestamp > $0.timestamp } ?? true
        // A DTX refresh and the first packet after a pause come when they like.
        let isAfterPause =
            newest.map { timestamp - $0.timestamp > 2 * Int64(AudioFormat.maximumPacketSampleCount) } ?? true
        let offset = now.nanoseconds - AudioFormat.nanoseconds(samples: timestamp)
        delays.add(offset: offset, carriage: carriage, isSteady: isInOrder && !isAfterPause, now: now)
        statistics.targetDelay = delays.target.inMilliseconds
    }

    package mutating func noteWithoutAudio(_ sequence: SequenceNumber) {
        let extended = sequences.extended(sequence).rawValue
        for index in 0..<16 where withoutAudio[index] == extended { return }
        withoutAudio[withoutAudioCount & 15] = extended
        withoutAudioCount &+= 1
    }

    /// Whether every number between the last frame played and `sequence` is known to have held no audio.
    func isContiguous(_ sequence: Int64) -> Bool {
        var missing = sequence - lastSequence - 1
        guard missing > 0 else { return true }
        for index in 0..<16 where withoutAudio[index] > lastSequence && withoutAudio[index] < sequence { missing -= 1 }
        return missing <= 0
    }

    private func wasPlayed(_ timestamp: Int64) -> Bool {
        guard let next, timestamp < next else { return false }
        for index in 0..<Self.rememberedCount where played[index] == timestamp { return true }
        return false
    }

    mutating func remember(played timestamp: Int64) {
        played[playedCount & (Self.rememberedCount - 1)] = timestamp
        playedCount &+= 1
    }

    package mutating func flush(before mark: SequenceNumber?) -> Int {
        let limit = mark.map { sequences.extended($0).rawValue }
        var gone: Int64 = 0
        while let first = slots.first, limit.map({ first.sequence < $0 }) ?? true {
            gone += Int64(first.sampleCount)
            remember(played: first.timestamp)
            next = first.timestamp + Int64(first.sampleCount)
            lastSequence = first.sequence
            slots.removeFirst()
        }
        gone += Int64(pcmCount)
        // What is left of the decoded frame fades away in the next pull.
        jointCount = min(pcmCount, Self.fadeSamples)
        (joint).update(from: pcm + pcmStart, count: jointCount)
        pcmCount = 0
        isConcealing = false
        lastFrameWasDTX = true
        statistics.flushedSamples += gone
        statistics.packetsHeld = slots.count
        return Int(gone / 48)
    }
}
