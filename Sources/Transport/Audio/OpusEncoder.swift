internal import COpus

/// How Opus is to encode.
package struct OpusEncoderSettings: Hashable, Sendable {
    /// The widest audio band that is coded: set it to what the PCM really has.
    package enum Bandwidth: Hashable, Sendable {
        /// 4 kHz: 8 kHz PCM.
        case narrow
        /// 6 kHz: 12 kHz PCM.
        case medium
        /// 8 kHz: 16 kHz PCM, and everything below 20 kbit/s.
        case wide
        /// 12 kHz: 24 kHz PCM.
        case superWide
        /// 20 kHz.
        case full

        /// The band that PCM of `sampleRate` Hz fills.
        package init(sampleRate: Int) {
            self =
                switch sampleRate {
                case ..<12_000: .narrow
                case ..<16_000: .medium
                case ..<24_000: .wide
                case ..<40_000: .superWide
                default: .full
                }
        }

        fileprivate var code: Int32 {
            switch self {
            case .narrow: OPUS_BANDWIDTH_NARROWBAND
            case .medium: OPUS_BANDWIDTH_MEDIUMBAND
            case .wide: OPUS_BANDWIDTH_WIDEBAND
            case .superWide: OPUS_BANDWIDTH_SUPERWIDEBAND
            case .full: OPUS_BANDWIDTH_FULLBAND
            }
        }
    }

    /// 6,000…510,000.
    package var bitsPerSecond: Int
    /// 0…10: 9 for a client, 6 for a server that counts calls.
    package var complexity: Int
    /// The widest band; below 20 kbit/s `wide` is used if this is wider.
    package var maximumBandwidth: Bandwidth
    /// Silent frames shrink to a byte that need not be sent.
    package var usesDTX: Bool
    /// Variable bit rate.
    package var isVariableBitRate: Bool

    package init(
        bitsPerSecond: Int = 24_000, complexity: Int = 9, maximumBandwidth: Bandwidth = .full, usesDTX: Bool = false,
        isVariableBitRate: Bool = true
    ) {
        self.bitsPerSecond = bitsPerSecond
        self.complexity = complexity
        self.maximumBandwidth = maximumBandwidth
        self.usesDTX = usesDTX
        self.isVariableBitRate = isVariableBitRate
    }
}

/// An Opus encoder of 48 kHz mono speech. Owns libopus' state; confined to one owner. RFC 6716.
package struct OpusEncoder: ~Copyable {
    private let state: OpaquePointer
    private let standIn: (any OpusStandIn)?
    /// The settings in force.
    package private(set) var settings: OpusEncoderSettings

    /// Makes an encoder.
    ///
    /// - Parameter standIn: encodes in place of libopus; for simulations.
    /// - Throws: `badSetting`, `outOfMemory`, `codec`.
    package init(
        _ settings: OpusEncoderSettings = OpusEncoderSettings(), standIn: (any OpusStandIn)? = nil
    ) throws(OpusError) {
        var code: Int32 = 0
        guard let state = opus_encoder_create(Int32(AudioFormat.sampleRate), 1, OPUS_APPLICATION_VOIP, &code) else {
            throw code == OPUS_ALLOC_FAIL ? .outOfMemory : .codec(code)
        }
        guard graine_opus_set_voice(state) == OPUS_OK, Self.apply(settings, to: state) else {
            opus_encoder_destroy(state)
            throw .badSetting
        }
        self.state = state
        self.settings = settings
        self.standIn = standIn
    }

    deinit { opus_encoder_destroy(state) }

    /// Changes the settings from the next frame on. Does not allocate.
    ///
    /// - Throws: `badSetting`; the old ones then stay in force.
    package mutating func change(_ new: OpusEncoderSettings) throws(OpusError) {
        guard Self.apply(new, to: state) else {
            _ = Self.apply(settings, to: state)
            throw .badSetting
        }
        settings = new
    }

    private static func apply(_ settings: OpusEncoderSettings, to state: OpaquePointer) -> Bool {
        guard (6_000...510_000).contains(settings.bitsPerSecond), (0...10).contains(settings.complexity) else {
            return false
        }
        var band = settings.maximumBandwidth
        if settings.bitsPerSecond < 20_000, band == .superWide || band == .full { band = .wide }
        return graine_opus_set_bitrate(state, Int32(settings.bitsPerSecond)) == OPUS_OK
            && graine_opus_set_complexity(state, Int32(settings.complexity)) == OPUS_OK
            && graine_opus_set_max_bandwidth(state, band.code) == OPUS_OK
            && graine_opus_set_dtx(state, settings.usesDTX ? 1 : 0) == OPUS_OK
            && graine_opus_set_vbr(state, settings.isVariableBitRate ? 1 : 0) == OPUS_OK
    }

    private static func takes(_ sampleCount: Int) -> Bool {
        switch sampleCount {
        case 120, 240, 480, 960, 1_920, 2_880: true
        default: false
        }
    }

    /// Encodes one frame and appends the packet. Does not allocate.
    ///
    /// - Parameter pcm: 120, 240, 480, 960, 1,920 or 2,880 samples of 48 kHz mono.
    /// - Returns: bytes appended. 2 or fewer is DTX: the frame need not be sent.
    /// - Throws: `badFrameSize`, `noRoom`, `codec`, with `out` untouched.
    @_lifetime(out: copy out)
    package mutating func encode(
        _ pcm: UnsafeBufferPointer<Int16>, into out: inout OutputRawSpan
    ) throws(OpusError) -> Int {
        guard let samples = pcm.baseAddress, Self.takes(pcm.count) else {
            throw .badFrameSize
        }
        let state = state
        let standIn = standIn
        let code = out.withUnsafeMutableBytes { room, initialized -> Int32 in
            guard let base = room.baseAddress, room.count > initialized else { return OPUS_BUFFER_TOO_SMALL }
            let free = min(room.count - initialized, AudioFormat.maximumPacketByteCount)
            if let standIn {
                let written = standIn.encode(
                    pcm, into: UnsafeMutableRawBufferPointer(start: base + initialized, count: free))
                initialized += written
                return written > 0 ? Int32(written) : OPUS_BUFFER_TOO_SMALL
            }
            let written = opus_encode(
                state, samples, Int32(pcm.count), (base + initialized).assumingMemoryBound(to: UInt8.self),
                Int32(free))
            if written > 0 { initialized += Int(written) }
            return written
        }
        if code == OPUS_BUFFER_TOO_SMALL { throw .noRoom }
        guard code > 0 else { throw .codec(code) }
        return Int(code)
    }

    /// Forgets the past, as at a new stream.
    package mutating func reset() { _ = graine_opus_encoder_reset(state) }
}
