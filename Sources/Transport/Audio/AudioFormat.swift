/// The one format of PCM between codec, jitter buffer and devices: 48 kHz, mono, 16-bit.
package enum AudioFormat {
    /// Samples a second; the RTP clock of Opus too. RFC 7587 §4.1.
    package static let sampleRate = 48_000
    /// Samples of the 20 ms frame that is sent.
    package static let frameSampleCount = 960
    /// Samples of one pull: 10 ms.
    package static let pullSampleCount = 480
    /// Samples of the longest Opus packet: 120 ms. RFC 6716 §2.1.4.
    package static let maximumPacketSampleCount = 5_760
    /// Bytes of the largest audio packet on either carriage.
    package static let maximumPacketByteCount = 1_500

    /// `sampleRate` for arithmetic on media time.
    static let samplesPerSecond: Int64 = 48_000

    /// `samples` at 48 kHz in nanoseconds.
    static func nanoseconds(samples: Int64) -> Int64 { samples &* 62_500 / 3 }
}

/// What a packet came by: the media path (SRTP over UDP) or the call line (the WebSocket).
package enum AudioCarriage: Hashable, Sendable {
    case path
    case line
}
