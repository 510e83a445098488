/// The payload types of an audio section that are of use.
struct AudioFormats {
    /// Opus at 48 kHz.
    var opus: PayloadType
    /// RED over that Opus; nil when there is none.
    var red: PayloadType?
    /// What the section's author wishes to receive as Opus.
    var parameters = OpusParameters()

    /// Chooses among the formats of `audio`, each looked at once however often it is named.
    ///
    /// - Parameter offered: the payload type to prefer, in an answer to our offer; nil for the first in the list.
    /// - Throws: `noCommonCodec`.
    init<Text: SDPBytes>(
        _ audio: SDPDocument<Text>.Section, offered: PayloadType?
    ) throws(SDPError) {
        var strict: [PayloadType] = []
        var loose: [PayloadType] = []
        var reds: [PayloadType] = []
        var seen: Set<Int> = []
        for format in audio.formats {
            // RFC 5761 §4: 64…95 would be taken for RTCP.
            guard let number = SDPText.number(format), let type = PayloadType(number), !(64...95).contains(number),
                seen.insert(number).inserted, let map = audio.attributes.maps[number]
            else { continue }
            let parts = map.split(separator: UInt8(ascii: "/"), maxSplits: 2)
            guard parts.count >= 2, parts[1].elementsEqual("48000".utf8) else { continue }
            switch SDPText.folded(parts[0]) {
            case "opus":
                // RFC 7587 §7: always two channels. Some write one, or none.
                if parts.count == 3, parts[2].elementsEqual("2".utf8) {
                    strict.append(type)
                } else {
                    loose.append(type)
                }
            case "red": reds.append(type)
            default: break
            }
        }
        let usable = strict.isEmpty ? loose : strict
        guard let first = usable.first else { throw .noCommonCodec }
        let opus = offered.flatMap { usable.contains($0) ? $0 : nil } ?? first
        self.opus = opus
        // RFC 2198 §5: every block must be the same Opus.
        red = reds.first { type in
            let blocks =
                audio.attributes.formatParameters[Int(type.rawValue)]?.split(separator: UInt8(ascii: "/")) ?? []
            return !blocks.isEmpty && blocks.allSatisfy { SDPText.number($0) == Int(opus.rawValue) }
        }
        if let text = audio.attributes.formatParameters[Int(opus.rawValue)] {
            parameters = OpusParameters(parsing: text)
        }
        parameters.packetTime = audio.attributes.packetTime ?? parameters.packetTime
    }
}
