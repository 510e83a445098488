/// The head of an HTTP/1.1 message (RFC 9112), strictly read: what could be read in two ways is refused.
struct HTTPHead: Hashable, Sendable {
    /// Bytes a head has at most.
    static let byteLimit = 16_384
    /// Header fields a head has at most.
    static let fieldLimit = 100

    /// Why a head is refused.
    enum ParseError: Error, Hashable, Sendable {
        case tooLarge
        case malformed(String)
    }

    var startLine: String
    /// Names in lower case, values trimmed, in the order they came.
    var fields: [(name: String, value: String)]

    static func == (left: HTTPHead, right: HTTPHead) -> Bool {
        left.startLine == right.startLine && left.fields.map(\.name) == right.fields.map(\.name)
            && left.fields.map(\.value) == right.fields.map(\.value)
    }

    func hash(into hasher: inout Hasher) { hasher.combine(startLine) }

    /// Reads the head at the front of `bytes`, and its length; nil while its end is missing.
    static func parse(_ bytes: borrowing RawSpan) throws(ParseError) -> (head: HTTPHead, byteCount: Int)? {
        guard let end = endOfHead(bytes) else {
            if bytes.byteCount > byteLimit { throw .tooLarge }
            return nil
        }
        guard end <= byteLimit else { throw .tooLarge }
        var lines: [[UInt8]] = [[]]
        var previous: UInt8 = 0
        for offset in 0..<(end - 4) {
            let byte = bytes.byte(offset)
            switch byte {
            case 0x0A:
                guard previous == 0x0D else { throw .malformed("a line ends without CR") }
                lines[lines.count - 1].removeLast()
                lines.append([])
            case 0x00...0x08, 0x0B, 0x0C, 0x0E...0x1F, 0x7F: throw .malformed("a control character")
            default:
                guard previous != 0x0D else { throw .malformed("a CR inside a line") }
                lines[lines.count - 1].append(byte)
            }
            previous = byte
        }
        guard previous != 0x0D, lines.count <= fieldLimit + 1 else { throw .malformed("too many header fields") }
        var head = HTTPHead(startLine: String(decoding: lines[0], as: UTF8.self), fields: [])
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0,
                line[..<colon].allSatisfy(isTokenCharacter)
            else { throw .malformed("a header field has no proper name") }
            let value = String(decoding: line[(colon + 1)...], as: UTF8.self)
            head.fields.append(
                (String(decoding: line[..<colon], as: UTF8.self).lowercased(), trimmed(value)))
        }
        return (head, end)
    }

    /// The one value of the field `name`; nil when it is not there or there more than once.
    func single(_ name: String) -> String? {
        let values = fields.filter { $0.name == name }
        return values.count == 1 ? values[0].value : nil
    }

    /// How many lines the field `name` has.
    func count(_ name: String) -> Int { fields.count { $0.name == name } }

    /// The members of the list field `name`, over all its lines (RFC 9110 §5.6.1).
    func list(_ name: String) -> [String] {
        fields.filter { $0.name == name }.flatMap { $0.value.split(separator: ",") }
            .map { Self.trimmed($0) }.filter { !$0.isEmpty }
    }

    /// Whether the list field `name` has `member`, in any case.
    func has(_ name: String, _ member: String) -> Bool { list(name).contains { $0.lowercased() == member } }

    /// RFC 9110 §5.6.2.
    static func isTokenCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    private static func trimmed(_ text: some StringProtocol) -> String {
        var bytes = Array(text.utf8)[...]
        while let first = bytes.first, first == 0x20 || first == 0x09 { bytes.removeFirst() }
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The offset behind the empty line that ends the head.
    private static func endOfHead(_ bytes: borrowing RawSpan) -> Int? {
        var at = 0
        let limit = min(bytes.byteCount, byteLimit + 4)
        while at + 4 <= limit {
            if bytes.byte(at) == 0x0D, bytes.bigEndian(at: at, count: 4) == 0x0D0A_0D0A { return at + 4 }
            at += 1
        }
        return nil
    }
}
