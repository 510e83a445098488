package import ICELite

/// What became of a packet that was given to an `AudioReceiver`.
package enum AudioReceiveVerdict: Hashable, Sendable {
    /// It was audio, and the jitter buffer says what became of it.
    case audio(InsertVerdict)
    /// Its payload type is not the call's. Counted; its sequence number is not lost.
    case foreignPayloadType
    /// It has no payload: padding to probe with, or to keep a path open.
    case empty
}

/// What an `AudioReceiver` has heard. W3C webrtc-stats names.
package struct AudioReceiverStatistics: Hashable, Sendable {
    /// The jitter buffer's counters.
    package var buffer = JitterBufferStatistics()
    /// Packets that came, by carriage.
    package var packetsReceivedOnPath: Int64 = 0
    package var packetsReceivedOnLine: Int64 = 0
    /// Packets lost before repair, by carriage; may fall. On the line all are that go by the path alone.
    package var packetsLostOnPath: Int64 = 0
    package var packetsLostOnLine: Int64 = 0
    /// Packets that came on neither carriage, before repair; may fall.
    package var packetsLost: Int64 = 0
    /// RFC 3550 jitter on the carriage heard last, in seconds.
    package var jitter: Double = 0
    /// Payload bytes received on both carriages.
    package var bytesReceived: Int64 = 0
    /// RTP header bytes received on both carriages.
    package var headerBytesReceived: Int64 = 0
    /// Packets of another payload type.
    package var foreignPayloadTypes: Int64 = 0
    /// Packets without a payload.
    package var emptyPackets: Int64 = 0
    /// Times that the stream's SSRC changed.
    package var sourceChanges: Int64 = 0
    /// Loudness of the last 10 ms, 0…1 linear. Not monotonic.
    package var audioLevel: Double = 0
    /// Sum of level² × duration, in seconds.
    package var totalAudioEnergy: Double = 0
    /// Length of all output, in seconds.
    package var totalSamplesDuration: Double = 0

    package init() {}
}

/// The receiving end of a call's audio: counts, holds, decodes and conceals. Confined to one owner.
///
/// Packets must be authenticated, and of the carriages that are open: the owner drops what comes on a closed one. Both
/// carriages carry one numbered stream; a packet of another SSRC begins a new one. Does not allocate once made.
package struct AudioReceiver: ~Copyable {
    /// The payload type that is Opus.
    package var payloadType: PayloadType
    /// Reception on the media path, for RTCP; nil before the first packet.
    package var pathReception: RTPReceptionStatistics?
    /// Reception on the line; nil before the first packet.
    package var lineReception: RTPReceptionStatistics?
    /// The stream that is heard; nil before the first packet.
    package private(set) var ssrc: SSRC?

    private var buffer = FixedDelayJitterBuffer()
    private var decoder: OpusDecoder
    private var counted = AudioReceiverStatistics()
    private var lastCarriage = AudioCarriage.path
    private var coverage = StreamCoverage()

    /// A receiver of Opus under `payloadType`.
    ///
    /// - Parameter standIn: decodes in place of libopus; for simulations.
    /// - Throws: `OpusError` when the decoder cannot be made.
    package init(payloadType: PayloadType, standIn: (any OpusStandIn)? = nil) throws(OpusError) {
        self.payloadType = payloadType
        decoder = try OpusDecoder(standIn: standIn)
    }

    /// Takes the RTP packet `packet`, whose header was parsed from it, and which came at `now`.
    @discardableResult
    package mutating func receive(
        _ packet: borrowing RawSpan, header: RTPHeader, carriage: AudioCarriage, now: Instant
    ) -> AudioReceiveVerdict {
        if ssrc != header.ssrc {
            if ssrc != nil {
                coverage.restart()
                counted.sourceChanges += 1
                buffer.resynchronise()
            }
            ssrc = header.ssrc
        }
        lastCarriage = carriage
        coverage.receive(header.sequenceNumber)
        switch carriage {
        case .path: Self.count(header, packet.byteCount, in: &pathReception, now: now)
        case .line: Self.count(header, packet.byteCount, in: &lineReception, now: now)
        }
        guard !header.payload.isEmpty else {
            counted.emptyPackets += 1
            buffer.noteWithoutAudio(header.sequenceNumber)
            return .empty
        }
        guard header.payloadType == payloadType else {
            counted.foreignPayloadTypes += 1
            buffer.noteWithoutAudio(header.sequenceNumber)
            return .foreignPayloadType
        }
        let stamp = AudioPacketStamp(
            sequence: header.sequenceNumber, timestamp: header.timestamp, marker: header.marker, carriage: carriage)
        return .audio(buffer.insert(packet.extracting(header.payload), as: stamp, now: now))
    }

    /// This process did not run for `length` until `now`: when the packets came that it reads now is not known.
    package mutating func noteStandstill(for length: Nanoseconds, now: Instant) {
        buffer.noteStandstill(for: length, now: now)
    }

    private static func count(
        _ header: RTPHeader, _ byteCount: Int, in reception: inout RTPReceptionStatistics?, now: Instant
    ) {
        if reception?.ssrc != header.ssrc { reception = RTPReceptionStatistics(ssrc: header.ssrc) }
        reception?.receive(header, byteCount: byteCount, now: now)
    }

    /// Fills `output` (480 samples, 48 kHz mono) with the next 10 ms; every sample is written.
    @discardableResult
    package mutating func pull(into output: UnsafeMutableBufferPointer<Int16>, now: Instant) -> PullVerdict {
        let verdict = buffer.pull(into: output, decoder: &decoder, now: now)
        let level = Double(ComfortNoise.level(of: UnsafeBufferPointer(output))) / 32_768
        let seconds = Double(output.count) / Double(AudioFormat.sampleRate)
        counted.audioLevel = level
        counted.totalAudioEnergy += level * level * seconds
        counted.totalSamplesDuration += seconds
        return verdict
    }

    /// Throws away what is held before `mark` (nil: all), as `transport.flush` asks.
    ///
    /// - Returns: milliseconds of audio thrown away.
    package mutating func flush(before mark: SequenceNumber?) -> Int { buffer.flush(before: mark) }

    /// A copy of all counters.
    package var statistics: AudioReceiverStatistics {
        var copy = counted
        copy.buffer = buffer.statistics
        copy.packetsReceivedOnPath = pathReception?.packetsReceived ?? 0
        copy.packetsReceivedOnLine = lineReception?.packetsReceived ?? 0
        copy.packetsLostOnPath = pathReception?.packetsLost ?? 0
        copy.packetsLostOnLine = lineReception?.packetsLost ?? 0
        copy.packetsLost = coverage.lost
        let reception = lastCarriage == .path ? pathReception : lineReception
        copy.jitter = Double(reception?.jitter ?? 0) / Double(AudioFormat.sampleRate)
        copy.bytesReceived = (pathReception?.bytesReceived ?? 0) + (lineReception?.bytesReceived ?? 0)
        copy.headerBytesReceived = (pathReception?.headerBytesReceived ?? 0) + (lineReception?.headerBytesReceived ?? 0)
        return copy
    }
}
