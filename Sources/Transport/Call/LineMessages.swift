internal import ICELite
import TransportLine
import TransportMedia

// What the call's own types look like in the line's messages.

extension ControlMessage.AudioDescription {
    /// The rtpmap name of Opus (RFC 7587 §7).
    static let opus = "opus/48000/2"

    /// Opus with `payloadType`.
    init(opus payloadType: PayloadType, ssrc: SSRC) {
        self.init(codecs: [Self.opus], payloadTypes: [Self.opus: payloadType.rawValue], ssrc: ssrc.rawValue)
    }

    /// The payload type of Opus; nil when it is not spoken, or has a number that RTP cannot carry.
    var opusPayloadType: PayloadType? {
        guard codecs.contains(Self.opus), let number = payloadTypes[Self.opus] else { return nil }
        return PayloadType(Int(number))
    }
}

extension ControlMessage.FallbackReport {
    /// Longest time that is believed, in milliseconds: a day.
    private static let maximumMilliseconds: Int64 = 86_400_000

    /// The wire's form of a fallback.
    init(_ fallback: TransportFallback) {
        self.init(
            reason: fallback.reason.wire, stage: fallback.stage.rawValue,
            elapsedMilliseconds: fallback.elapsed.nanoseconds / 1_000_000, detail: fallback.detail)
    }

    /// The fallback in types: an unknown stage reads as checks, an unknown reason keeps its word.
    var fallback: TransportFallback {
        TransportFallback(
            reason: TransportFallbackReason(wire: reason), stage: FallbackStage(rawValue: stage) ?? .checks,
            elapsed: .milliseconds(min(max(0, elapsedMilliseconds), Self.maximumMilliseconds)), detail: detail)
    }
}

extension ControlMessage.Select {
    init(epoch: Int, transport: TransportKind, fallback: TransportFallback?) {
        self.init(
            epoch: UInt32(clamping: epoch), transport: transport.rawValue,
            fallback: fallback.map { ControlMessage.FallbackReport($0) })
    }
}
