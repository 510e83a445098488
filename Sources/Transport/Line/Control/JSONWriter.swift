/// Writes one JSON object with its keys in the order they are given, so that `type` comes first and golden texts hold.
package struct JSONWriter {
    private var text: [UInt8] = [UInt8(ascii: "{")]

    package init() {}

    /// The object, closed.
    package consuming func finish() -> [UInt8] {
        text.append(UInt8(ascii: "}"))
        return text
    }

    package mutating func field(_ key: String, _ value: String) {
        begin(key)
        string(value)
    }

    package mutating func field(_ key: String, _ value: Bool) { raw(key, value ? "true" : "false") }

    package mutating func field(_ key: String, _ value: some BinaryInteger) { raw(key, String(value)) }

    package mutating func null(_ key: String) { raw(key, "null") }

    package mutating func field(_ key: String, _ values: [String]) {
        begin(key)
        array(values) { $0.string($1) }
    }

    package mutating func field(_ key: String, _ values: [Int]) {
        begin(key)
        array(values) { $0.text += String($1).utf8 }
    }

    /// Datagrams, each in base64.
    package mutating func field(_ key: String, _ datagrams: [[UInt8]]) { field(key, datagrams.map(Base64.encode)) }

    /// An object inside, written by `body`.
    package mutating func object(_ key: String, _ body: (inout JSONWriter) -> Void) {
        begin(key)
        text += Self.object(body)
    }

    /// A list of objects.
    package mutating func objects<T>(_ key: String, _ values: [T], _ body: (inout JSONWriter, T) -> Void) {
        begin(key)
        array(values) { writer, value in writer.text += Self.object { body(&$0, value) } }
    }

    /// Any value.
    package mutating func field(_ key: String, _ value: JSONValue) {
        begin(key)
        append(value)
    }

    // MARK: Private

    private static func object(_ body: (inout JSONWriter) -> Void) -> [UInt8] {
        var inner = JSONWriter()
        body(&inner)
        return inner.finish()
    }

    private mutating func begin(_ key: String) {
        if text.count > 1 { text.append(UInt8(ascii: ",")) }
        string(key)
        text.append(UInt8(ascii: ":"))
    }

    private mutating func raw(_ key: String, _ value: String) {
        begin(key)
        text += value.utf8
    }

    private mutating func array<T>(_ values: [T], _ body: (inout JSONWriter, T) -> Void) {
        text.append(UInt8(ascii: "["))
        for (index, value) in values.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            body(&self, value)
        }
        text.append(UInt8(ascii: "]"))
    }

    private mutating func append(_ value: JSONValue) {
        switch value {
        case .null: text += "null".utf8
        case .bool(let value): text += (value ? "true" : "false").utf8
        case .integer(let value): text += String(value).utf8
        case .number(let value): text += (value.isFinite ? "\(value)" : "null").utf8
        case .string(let value): string(value)
        case .array(let values): array(values) { $0.append($1) }
        case .object(let members):
            text += Self.object { inner in
                for (key, member) in members.sorted(by: { $0.key < $1.key }) { inner.field(key, member) }
            }
        }
    }

    /// RFC 8259 §7: quotes, backslashes and control characters escaped, all else as it is.
    private mutating func string(_ value: String) {
        text.append(UInt8(ascii: "\""))
        for byte in value.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                text.append(UInt8(ascii: "\\"))
                text.append(byte)
            case 0x0A: text += #"\n"#.utf8
            case 0x0D: text += #"\r"#.utf8
            case 0x09: text += #"\t"#.utf8
            case 0x00...0x1F:
                let digits = Array("0123456789abcdef".utf8)
                text += #"\u00"#.utf8
                text.append(digits[Int(byte >> 4)])
                text.append(digits[Int(byte & 0xF)])
            default: text.append(byte)
            }
        }
        text.append(UInt8(ascii: "\""))
    }
}
