/// base64 as the call line writes it: RFC 4648 §4 with padding in JSON, §5 without padding in a subprotocol.
package enum Base64 {
    private static let standard = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// RFC 4648 §4, padded.
    package static func encode(_ bytes: [UInt8]) -> String {
        var text = sextets(bytes)
        while text.count % 4 != 0 { text.append(UInt8(ascii: "=")) }
        return String(decoding: text, as: UTF8.self)
    }

    /// RFC 4648 §5 (`-` and `_`), without padding.
    package static func encodeURL(_ bytes: [UInt8]) -> String {
        let text = sextets(bytes).map { character in
            character == UInt8(ascii: "+")
                ? UInt8(ascii: "-") : character == UInt8(ascii: "/") ? UInt8(ascii: "_") : character
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes of padded RFC 4648 §4 text; nil when it is anything else: no white space, no missing or stray padding,
    /// no bits left over.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var characters = Array(text.utf8)
        guard characters.count % 4 == 0 else { return nil }
        for _ in 0..<2 where characters.last == UInt8(ascii: "=") { characters.removeLast() }
        return bytes(characters, plus: UInt8(ascii: "+"), slash: UInt8(ascii: "/"))
    }

    /// The bytes of unpadded RFC 4648 §5 text; nil when it is anything else.
    package static func decodeURL(_ text: some StringProtocol) -> [UInt8]? {
        bytes(Array(text.utf8), plus: UInt8(ascii: "-"), slash: UInt8(ascii: "_"))
    }

    private static func sextets(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var index = 0
        while index < bytes.count {
            let left = min(3, bytes.count - index)
            var group: UInt32 = 0
            for offset in 0..<3 { group = group << 8 | (offset < left ? UInt32(bytes[index + offset]) : 0) }
            for sextet in 0...left { text.append(standard[Int(group >> (18 - 6 * UInt32(sextet)) & 0x3F)]) }
            index += 3
        }
        return text
    }

    private static func bytes(_ characters: [UInt8], plus: UInt8, slash: UInt8) -> [UInt8]? {
        guard characters.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(characters.count / 4 * 3 + 2)
        var held: UInt32 = 0
        var bits: UInt32 = 0
        for character in characters {
            let value: UInt32
            switch character {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = UInt32(character) - 65
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = UInt32(character) - 71
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = UInt32(character) + 4
            case plus: value = 62
            case slash: value = 63
            default: return nil
            }
            held = held << 6 | value
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: held >> bits))
                held &= (1 << bits) - 1
            }
        }
        return held == 0 ? bytes : nil
    }
}
