/// The lines of a session description, each read once, sorted into sections. RFC 8866 §5.
///
/// Liberal in line ends, blank lines, blanks at the end of a line, and in what stands between `v=` and the first `m=`.
struct SDPDocument<Text: SDPBytes> {
    /// An `m=` line and what follows it.
    struct Section {
        /// `audio`, `video`, …
        var media: Text
        /// 0…65,535; 0 is a rejected section, or one that goes by another's transport.
        var port: Int
        /// `UDP/TLS/RTP/SAVPF`, …
        var transport: Text
        /// Payload types, for RTP; at least one.
        var formats: [Text]
        var attributes = SDPAttributes<Text>()
    }

    /// What stands before the first media section.
    var session = SDPAttributes<Text>()
    var sections: [Section] = []
    /// For each section that is in a BUNDLE group, the index of the section whose transport it goes by. RFC 9143 §7.2.
    private(set) var bundleTags: [Int: Int] = [:]

    /// - Throws: `tooLarge`, `grammar`, `badMid`.
    init(parsing text: Text) throws(SDPError) {
        guard text.count <= SDPLimits.byteCount else { throw .tooLarge }
        var rest = text
        var number = 0
        var isFirst = true
        while !rest.isEmpty {
            number += 1
            let end = rest.firstIndex(of: UInt8(ascii: "\n"))
            var line = rest[..<(end ?? rest.endIndex)]
            rest = end.map { rest[rest.index(after: $0)...] } ?? rest[rest.endIndex...]
            if line.last == UInt8(ascii: "\r") { line = line.dropLast() }
            if line.isEmpty { continue }
            guard line.count >= 2, let kind = line.first, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(kind),
                line.dropFirst().first == UInt8(ascii: "="), !line.contains(where: { $0 == 0 || $0 == 13 })
            else { throw .grammar(line: number) }
            let value = SDPText.trimmed(line.dropFirst(2))
            if isFirst {
                guard kind == UInt8(ascii: "v"), value.elementsEqual("0".utf8) else { throw .grammar(line: number) }
                isFirst = false
            }
            switch kind {
            case UInt8(ascii: "m"):
                guard sections.count < SDPLimits.sectionCount, let section = Self.mediaLine(value) else {
                    throw .grammar(line: number)
                }
                sections.append(section)
            case UInt8(ascii: "a"):
                if sections.isEmpty {
                    session.read(value)
                } else {
                    sections[sections.count - 1].attributes.read(value)
                }
            default: break
            }
        }
        if isFirst { throw .grammar(line: 1) }
        try tagBundles()
    }

    private static func mediaLine(_ value: Text) -> Section? {
        let words = SDPText.words(value)
        guard words.count >= 4, words.count - 3 <= SDPLimits.formatCount else { return nil }
        // "port/count" is legal; the count means nothing here.
        let port = words[1].prefix { $0 != UInt8(ascii: "/") }
        guard let number = SDPText.number(port), number <= 65_535, SDPText.isToken(words[0]),
            SDPText.isTransport(words[2]), words[3...].allSatisfy({ SDPText.isToken($0) })
        else { return nil }
        return Section(media: words[0], port: number, transport: words[2], formats: Array(words[3...]))
    }

    /// Names must be tokens and each its own (RFC 5888 §4), for an answer has to mirror them.
    private mutating func tagBundles() throws(SDPError) {
        var indexes: [String: Int] = [:]
        for (index, section) in sections.enumerated() {
            guard let mid = section.attributes.mid else { continue }
            let name = SDPText.string(mid)
            guard SDPText.isToken(mid), indexes.updateValue(index, forKey: name) == nil else {
                throw .badMid(String(name.prefix(64)))
            }
        }
        for bundle in session.bundles {
            let words = SDPText.words(bundle)
            guard let first = words.first, let tagged = indexes[SDPText.string(first)] else { continue }
            for word in words {
                guard let index = indexes[SDPText.string(word)], bundleTags[index] == nil else { continue }
                bundleTags[index] = tagged
            }
        }
    }
}

/// How much of a description is read.
enum SDPLimits {
    /// Bytes of a description at most.
    static let byteCount = 65_536
    /// Media sections at most.
    static let sectionCount = 32
    /// Formats in a media line at most.
    static let formatCount = 128
    /// BUNDLE groups kept at most.
    static let bundleCount = 16
    /// Words of `ice-options` kept at most.
    static let iceOptionCount = 16
    /// `ssrc` lines of a section read at most.
    static let sourceLineCount = 16
    /// Bytes of a canonical name kept at most. RFC 3550 §6.5.
    static let cnameLength = 255
    /// Bytes of a fingerprint line at most: sha-512 takes 199.
    static let fingerprintLength = 256
}
