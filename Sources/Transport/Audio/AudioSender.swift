package import ICELite
package import TransportRuntime

/// The sending end of a call's audio: one RTP stream of 20 ms Opus packets, whatever carriages they go by.
///
/// Numbers never go back: a sequence number is never used for two payloads. Confined to one owner; does not allocate.
package struct AudioSender: ~Copyable {
    /// The stream.
    package let ssrc: SSRC
    /// The payload type that is Opus.
    package var payloadType: PayloadType
    /// What was sent, for reports and statistics.
    package private(set) var counters = RTPSenderCounters()
    /// Frames that DTX kept back.
    package private(set) var framesKeptBack: Int64 = 0
    /// Frames that Opus or the packet's room refused.
    package private(set) var framesFailed: Int64 = 0
    /// The extended sequence number of the next packet; the first one's is 1…32,767.
    package private(set) var nextSequence: ExtendedSequenceNumber
    /// What every packet's header extension carries; nothing unless it was negotiated.
    package var headerExtensions = RTPHeaderExtensions()
    /// Whether packets carry them: on the call line none has any.
    package var writesExtensions = true
    /// Whether `mid` is among it: needed until the peer knows the stream. RFC 9143 §15.
    package var writesMID = true
    /// The longest silence that DTX may leave on the wire (the call's `liveness_ms`).
    package var longestSilence: Nanoseconds = .milliseconds(100)

    private var timestamp: UInt32
    private var encoder: OpusEncoder
    private var isAfterGap = true

    /// A sender of the stream `ssrc`, beginning at a random number and timestamp.
    ///
    /// - Parameters:
    ///   - standIn: encodes in place of libopus; for simulations.
    ///   - firstTimestamp: in place of the random one; for simulations.
    /// - Throws: `OpusError` when the encoder cannot be made as asked.
    package init(
        ssrc: SSRC, payloadType: PayloadType, settings: OpusEncoderSettings = OpusEncoderSettings(),
        randomness: inout Randomness, standIn: (any OpusStandIn)? = nil, firstTimestamp: UInt32? = nil
    ) throws(OpusError) {
        self.ssrc = ssrc
        self.payloadType = payloadType
        nextSequence = ExtendedSequenceNumber(Int64(SequenceNumber.randomInitial(using: &randomness).rawValue))
        let drawn = UInt32(truncatingIfNeeded: randomness.next())
        timestamp = firstTimestamp ?? drawn
        encoder = try OpusEncoder(settings, standIn: standIn)
    }

    /// The encoder's settings.
    package var settings: OpusEncoderSettings { encoder.settings }

    /// Changes the encoder's settings from the next frame on; DTX only once the call is active.
    ///
    /// - Throws: `badSetting`; the old ones stay.
    package mutating func change(_ settings: OpusEncoderSettings) throws(OpusError) { try encoder.change(settings) }

    /// Time passes without a frame, for example because capture missed `samples` samples: the next packet is marked.
    package mutating func skip(samples: Int) {
        timestamp &+= UInt32(truncatingIfNeeded: samples)
        isAfterGap = true
    }

    /// Appends the RTP packet of the next 20 ms to `out`.
    ///
    /// - Parameters:
    ///   - pcm: 960 samples at 48 kHz mono; nil is silence.
    ///   - out: 1,512 bytes of room fit any packet; at 24 kbit/s 142 do.
    /// - Returns: false, with `out` untouched, when there is nothing to send: DTX, or a failure that is counted. The
    ///   timestamp has moved on all the same.
    @_lifetime(out: copy out)
    package mutating func next(
        pcm: UnsafeBufferPointer<Int16>?, into out: inout OutputRawSpan, now: Instant
    ) -> Bool {
        if let pcm { return encode(pcm, into: &out, now: now) }
        return withUnsafeTemporaryAllocation(of: Int16.self, capacity: AudioFormat.frameSampleCount) { silence in
            silence.initialize(repeating: 0)
            return encode(UnsafeBufferPointer(silence), into: &out, now: now)
        }
    }

    /// Writes the packet of the next 20 ms behind what `packet` holds; as the other `next`.
    package mutating func next(pcm: UnsafeBufferPointer<Int16>?, into packet: inout Packet, now: Instant) -> Bool {
        packet.write { out in next(pcm: pcm, into: &out, now: now) }
    }

    @_lifetime(out: copy out)
    private mutating func encode(
        _ pcm: UnsafeBufferPointer<Int16>, into out: inout OutputRawSpan, now: Instant
    ) -> Bool {
        let frameTimestamp = timestamp
        timestamp &+= UInt32(AudioFormat.frameSampleCount)
        let before = out.byteCount
        let header = RTPHeader(
            marker: isAfterGap, payloadType: payloadType, sequenceNumber: nextSequence.sequenceNumber,
            timestamp: frameTimestamp, ssrc: ssrc)
        var payloadByteCount = 0
        do throws(RTPError) {
            try header.encode(
                into: &out, extensions: writesExtensions ? headerExtensions : RTPHeaderExtensions(), withMID: writesMID,
                level: headerExtensions.audioLevelID == nil ? .silence : AudioLevel(of: pcm))
        } catch {
            framesFailed += 1
            isAfterGap = true
            return false
        }
        do throws(OpusError) {
            guard pcm.count == AudioFormat.frameSampleCount else { throw .badFrameSize }
            payloadByteCount = try encoder.encode(pcm, into: &out)
        } catch {
            out.removeLast(out.byteCount - before)
            framesFailed += 1
            isAfterGap = true
            return false
        }
        let frame = AudioFormat.nanoseconds(samples: Int64(AudioFormat.frameSampleCount))
        if encoder.settings.usesDTX, payloadByteCount <= 2, let last = counters.lastPacketAt,
            now - last + frame <= longestSilence
        {
            out.removeLast(out.byteCount - before)
            framesKeptBack += 1
            isAfterGap = true
            return false
        }
        nextSequence.rawValue += 1
        isAfterGap = payloadByteCount <= 2
        counters.packetsSent += 1
        counters.bytesSent += Int64(payloadByteCount)
        counters.headerBytesSent += Int64(out.byteCount - before - payloadByteCount)
        counters.lastTimestamp = frameTimestamp
        counters.lastPacketAt = now
        return true
    }
}
