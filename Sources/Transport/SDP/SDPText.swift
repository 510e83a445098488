/// The bytes of a description: `ArraySlice<UInt8>`; tests read what counts its reads.
protocol SDPBytes: RandomAccessCollection<UInt8>, SendableMetatype where SubSequence == Self {}

extension ArraySlice<UInt8>: SDPBytes {}

/// Words and numbers of SDP text, which is bytes: nothing here knows Unicode, where a colon and an accent are one
/// character, and a Greek question mark is a semicolon.
enum SDPText {
    /// A decimal number of at most ten digits; nil for anything else.
    static func number(_ text: some Collection<UInt8>) -> Int? {
        var number = 0
        var digits = 0
        for byte in text {
            guard (0x30...0x39).contains(byte), digits < 10 else { return nil }
            number = number * 10 + Int(byte - 0x30)
            digits += 1
        }
        return digits > 0 ? number : nil
    }

    /// The words of `text` between blanks; after `maxSplits` words comes the rest as one.
    static func words<Text: SDPBytes>(
        _ text: Text, maxSplits: Int = .max
    ) -> [Text] {
        text.split(separator: 0x20, maxSplits: maxSplits).map(trimmed)
    }

    /// `text` without blanks and tabs at its ends.
    static func trimmed<Text: SDPBytes>(_ text: Text) -> Text {
        var text = text
        while let byte = text.first, byte == 0x20 || byte == 0x09 { text = text.dropFirst() }
        while let byte = text.last, byte == 0x20 || byte == 0x09 { text = text.dropLast() }
        return text
    }

    /// At most `limit` bytes of `text`; what is no UTF-8 becomes U+FFFD.
    static func string(_ text: some Collection<UInt8>, limit: Int = .max) -> String {
        String(decoding: text.prefix(limit), as: UTF8.self)
    }

    /// A word to compare in any case: at most 64 bytes, in lower case; longer words are none that we know.
    static func folded(_ text: some Collection<UInt8>) -> String {
        String(decoding: text.prefix(65).map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }

    /// Whether `text` is `length` characters of those that ICE credentials are made of. RFC 8839 §5.4.
    static func isICE(_ text: some SDPBytes, length: ClosedRange<Int>) -> Bool {
        length.contains(text.count)
            && text.allSatisfy {
                switch $0 {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "+"), UInt8(ascii: "/"): true
                default: false
                }
            }
    }

    /// Whether `text` is an RFC 8866 §9 token: visible ASCII without separators, not empty.
    static func isToken(_ text: some Collection<UInt8>) -> Bool {
        !text.isEmpty && text.allSatisfy(isTokenByte)
    }

    /// Whether `text` is a transport: tokens with slashes between. RFC 8866 §9.
    static func isTransport(_ text: some SDPBytes) -> Bool {
        text.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy { isToken($0) }
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x21, 0x23...0x27, 0x2A...0x2B, 0x2D...0x2E, 0x30...0x39, 0x41...0x5A, 0x5E...0x7E: true
        default: false
        }
    }
}
