/// The lines of a session description, sorted into sections. RFC 8866 §5. Liberal in line ends and blank lines.
struct SDPDocument {
    /// Bytes of a description at most.
    static let maximumByteCount = 65_536
    /// Media sections at most.
    static let maximumSectionCount = 32
    /// Formats in a media line at most.
    static let maximumFormatCount = 128

    /// An `a=` line.
    struct Attribute {
        /// Up to the colon.
        var name: Substring
        /// After the colon; empty for a flag.
        var value: Substring
    }

    /// An `m=` line and what follows it.
    struct Section {
        /// `audio`, `video`, …
        var media: Substring
        /// 0…65,535; 0 is a rejected section.
        var port: Int
        /// `UDP/TLS/RTP/SAVPF`, …
        var transport: Substring
        /// Payload types, for RTP.
        var formats: [Substring]
        var attributes: [Attribute] = []

        /// The value of the first attribute called `name`.
        func first(_ name: String) -> Substring? { attributes.first { $0.name == name }?.value }
        /// Whether there is an attribute called `name`.
        func has(_ name: String) -> Bool { attributes.contains { $0.name == name } }
        /// The values of all attributes called `name`.
        func all(_ name: String) -> [Substring] { attributes.lazy.filter { $0.name == name }.map(\.value) }

        /// What follows each format's number in the first attribute called `name` that is about it: `rtpmap`, `fmtp`.
        /// Each attribute is looked at once, however many formats there are.
        func valuesByFormat(_ name: String) -> [Int: Substring] {
            var values: [Int: Substring] = [:]
            for attribute in attributes where attribute.name == name {
                let words = attribute.value.split(separator: " ", maxSplits: 1)
                guard words.count == 2, let number = SDPText.number(words[0]), values[number] == nil else { continue }
                values[number] = words[1]
            }
            return values
        }
    }

    /// Attributes before the first media section.
    var session = Section(media: "", port: 0, transport: "", formats: [])
    var sections: [Section] = []

    /// - Throws: `tooLarge`, `grammar`.
    init(parsing text: String) throws(SDPError) {
        guard text.utf8.count <= Self.maximumByteCount else { throw .tooLarge }
        // Carriage return and line feed are one Character: split on scalars.
        var number = 0
        var isFirst = true
        for raw in text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false) {
            number += 1
            var line = Substring(raw)
            if line.unicodeScalars.last == "\r" { line = Substring(raw.dropLast()) }
            if line.isEmpty { continue }
            let bytes = line.utf8
            guard let kind = bytes.first, kind >= UInt8(ascii: "a"), kind <= UInt8(ascii: "z"),
                bytes.dropFirst().first == UInt8(ascii: "="), !bytes.contains(0), !bytes.contains(13)
            else { throw .grammar(line: number) }
            let value = line.dropFirst(2)
            if isFirst {
                guard kind == UInt8(ascii: "v"), value == "0" else { throw .grammar(line: number) }
                isFirst = false
            }
            switch kind {
            case UInt8(ascii: "m"):
                guard sections.count < Self.maximumSectionCount, let section = Self.mediaLine(value) else {
                    throw .grammar(line: number)
                }
                sections.append(section)
            case UInt8(ascii: "a"):
                let colon = value.firstIndex(of: ":")
                let attribute = Attribute(
                    name: value[..<(colon ?? value.endIndex)],
                    value: colon.map { value[value.index(after: $0)...] } ?? "")
                if sections.isEmpty {
                    session.attributes.append(attribute)
                } else {
                    sections[sections.count - 1].attributes.append(attribute)
                }
            default: break
            }
        }
        if isFirst { throw .grammar(line: 1) }
    }

    private static func mediaLine(_ value: Substring) -> Section? {
        let words = value.split(separator: " ")
        guard words.count >= 4, words.count - 3 <= maximumFormatCount else { return nil }
        // "port/count" is legal; the count means nothing here.
        let port = words[1].prefix { $0 != "/" }
        guard let number = SDPText.number(port), number <= 65_535 else { return nil }
        return Section(media: words[0], port: number, transport: words[2], formats: Array(words[3...]))
    }
}

/// Words and numbers of SDP text.
enum SDPText {
    /// A decimal number of at most ten digits; nil for anything else.
    static func number(_ text: some StringProtocol) -> Int? {
        guard (1...10).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int(text)
    }

    /// Whether `text` is `length` characters of those that ICE credentials are made of. RFC 8839 §5.4.
    static func isICE(_ text: some StringProtocol, length: ClosedRange<Int>) -> Bool {
        length.contains(text.utf8.count)
            && text.utf8.allSatisfy {
                switch $0 {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "+"), UInt8(ascii: "/"): true
                default: false
                }
            }
    }

    /// Whether `text` is an RFC 8866 token: visible ASCII without separators, not empty.
    static func isToken(_ text: some StringProtocol) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"\"(),/:;<=>?@[\\]".utf8.contains($0) }
    }
}
