internal import COpus

/// An Opus decoder to 48 kHz mono. Owns libopus' state; confined to one owner. RFC 6716.
package struct OpusDecoder: ~Copyable {
    private let state: OpaquePointer
    private let standIn: (any OpusStandIn)?

    /// Makes a decoder.
    ///
    /// - Parameter standIn: decodes in place of libopus; for simulations.
    /// - Throws: `outOfMemory`, `codec`.
    package init(standIn: (any OpusStandIn)? = nil) throws(OpusError) {
        var code: Int32 = 0
        guard let state = opus_decoder_create(Int32(AudioFormat.sampleRate), 1, &code) else {
            throw code == OPUS_ALLOC_FAIL ? .outOfMemory : .codec(code)
        }
        self.state = state
        self.standIn = standIn
    }

    deinit { opus_decoder_destroy(state) }

    /// How many samples at 48 kHz the packet lasts, 120…5,760; nil when it cannot be an Opus packet. Never traps.
    package static func sampleCount(of packet: borrowing RawSpan) -> Int? {
        packet.withUnsafeBytes { bytes -> Int? in
            guard let base = bytes.baseAddress, bytes.count > 0, bytes.count <= AudioFormat.maximumPacketByteCount
            else { return nil }
            let code = opus_packet_get_nb_samples(
                base.assumingMemoryBound(to: UInt8.self), Int32(bytes.count), Int32(AudioFormat.sampleRate))
            return code > 0 && code <= AudioFormat.maximumPacketSampleCount ? Int(code) : nil
        }
    }

    /// Decodes a packet; mono or stereo, the output is mono. Does not allocate.
    ///
    /// - Parameter output: room for the packet's duration; 5,760 samples hold any.
    /// - Returns: samples written, 120…5,760.
    /// - Throws: `invalidPacket`, `badFrameSize` (no room), `codec`. The decoder stays usable.
    package mutating func decode(
        _ packet: borrowing RawSpan, into output: UnsafeMutableBufferPointer<Int16>
    ) throws(OpusError) -> Int {
        guard let pcm = output.baseAddress else { throw .badFrameSize }
        let state = state
        let standIn = standIn
        let code = packet.withUnsafeBytes { bytes -> Int32 in
            guard let base = bytes.baseAddress, bytes.count > 0, bytes.count <= AudioFormat.maximumPacketByteCount
            else { return OPUS_INVALID_PACKET }
            if let standIn {
                let count = standIn.decode(bytes, into: output)
                return count > 0 ? Int32(count) : OPUS_INVALID_PACKET
            }
            return opus_decode(
                state, base.assumingMemoryBound(to: UInt8.self), Int32(bytes.count), pcm,
                Int32(min(output.count, AudioFormat.maximumPacketSampleCount)), 0)
        }
        switch code {
        case OPUS_INVALID_PACKET: throw .invalidPacket
        case OPUS_BUFFER_TOO_SMALL: throw .badFrameSize
        case ..<0: throw .codec(code)
        default: return Int(code)
        }
    }

    /// Fills all of `output` with what libopus makes up for a packet that is missing. Does not allocate.
    ///
    /// It fades by itself and is silent from 140 ms on: after 100 ms use comfort noise.
    /// - Parameter output: the exact duration missing, a multiple of 120 samples (2.5 ms), at most 5,760.
    /// - Throws: `badFrameSize`, `codec`.
    package mutating func conceal(into output: UnsafeMutableBufferPointer<Int16>) throws(OpusError) {
        guard let pcm = output.baseAddress, output.count > 0, output.count % 120 == 0,
            output.count <= AudioFormat.maximumPacketSampleCount
        else { throw .badFrameSize }
        if let standIn { return standIn.conceal(into: output) }
        let code = opus_decode(state, nil, 0, pcm, Int32(output.count), 0)
        guard code == output.count else { throw .codec(code) }
    }

    /// Forgets the past, as at a new stream.
    package mutating func reset() { _ = graine_opus_decoder_reset(state) }
}
