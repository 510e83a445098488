/// What the author of an Opus `fmtp` line wishes to receive. RFC 7587 §6.1.
package struct OpusParameters: Hashable, Sendable {
    /// Wishes to receive in-band FEC.
    package var usesInBandFEC = false
    /// Wishes to receive DTX.
    package var usesDTX = false
    /// Prefers stereo.
    package var isStereo = false
    /// Is likely to send stereo.
    package var sendsStereo = false
    /// Bits a second it wants at most, 6,000…510,000; nil for no wish.
    package var maximumAverageBitsPerSecond: Int?
    /// Hz that it plays at most, 8,000…48,000; nil for no wish.
    package var maximumPlaybackRate: Int?
    /// Milliseconds a packet that it prefers (3…120), also from `a=ptime`; nil for no wish.
    package var packetTime: Int?

    package init() {}

    /// Reads the parameters after the payload type; what is unknown or malformed is passed over.
    init<Text: SDPBytes>(parsing text: Text) {
        for part in text.split(separator: UInt8(ascii: ";")) {
            let pair = part.split(separator: UInt8(ascii: "="), maxSplits: 1)
            guard let key = pair.first.map(SDPText.trimmed) else { continue }
            let number = pair.count > 1 ? SDPText.number(SDPText.trimmed(pair[1])) : nil
            switch SDPText.folded(key) {
            case "useinbandfec": usesInBandFEC = number == 1
            case "usedtx": usesDTX = number == 1
            case "stereo": isStereo = number == 1
            case "sprop-stereo": sendsStereo = number == 1
            case "maxaveragebitrate":
                maximumAverageBitsPerSecond = number.map { min(max($0, 6_000), 510_000) }
            case "maxplaybackrate": maximumPlaybackRate = number.map { min(max($0, 8_000), 48_000) }
            case "ptime": packetTime = number.flatMap { (3...120).contains($0) ? $0 : nil }
            default: break
            }
        }
    }
}
