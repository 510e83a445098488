internal import Foundation

/// A JSON document whose objects keep the order of their keys: what a report is built as, and printed from.
enum JSONValue: Equatable, Sendable {
    case null
    case bool(Bool)
    case integer(Int)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([Member])

    /// One key of an object.
    struct Member: Equatable, Sendable {
        var key: String
        var value: JSONValue
    }

    /// The value of `key`; nil when this is no object or has no such key.
    subscript(key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.key == key }?.value
    }

    /// Milliseconds and other measured numbers: three decimals at most; what is not finite is null.
    static func measured(_ value: Double?) -> JSONValue {
        guard let value, value.isFinite else { return .null }
        let rounded = (value * 1_000).rounded() / 1_000
        return Int(exactly: rounded).map(JSONValue.integer) ?? .number(rounded)
    }

    static func optional(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }

    /// The document as text.
    ///
    /// - Parameter indented: Two spaces a level, a line a member; otherwise one line.
    func text(indented: Bool) -> String {
        var text = ""
        write(into: &text, level: indented ? 0 : nil)
        return text
    }

    private func write(into text: inout String, level: Int?) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        case .number(let value): text += value.isFinite ? String(value) : "null"
        case .string(let value): Self.write(value, into: &text)
        case .array(let items):
            Self.writeList(items, "[", "]", into: &text, level: level) { item, text, level in
                item.write(into: &text, level: level)
            }
        case .object(let members):
            Self.writeList(members, "{", "}", into: &text, level: level) { member, text, level in
                Self.write(member.key, into: &text)
                text += level == nil ? ":" : ": "
                member.value.write(into: &text, level: level)
            }
        }
    }

    private static func writeList<Item>(
        _ items: [Item], _ open: String, _ close: String, into text: inout String, level: Int?,
        _ body: (Item, inout String, Int?) -> Void
    ) {
        text += open
        for (index, item) in items.enumerated() {
            if index > 0 { text += "," }
            if let level { text += "\n" + String(repeating: "  ", count: level + 1) }
            body(item, &text, level.map { $0 + 1 })
        }
        if let level, !items.isEmpty { text += "\n" + String(repeating: "  ", count: level) }
        text += close
    }

    private static func write(_ string: String, into text: inout String) {
        text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F:
                let hex = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}

extension JSONValue: ExpressibleByDictionaryLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral {
    init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(elements.map { Member(key: $0.0, value: $0.1) })
    }

    init(stringLiteral value: String) { self = .string(value) }

    init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
}

extension JSONValue: Decodable {
    private struct AnyKey: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Reads any JSON. Keys come out sorted, as a decoder does not tell their order.
    init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: AnyKey.self) {
            let keys = container.allKeys.sorted { $0.stringValue < $1.stringValue }
            self = .object(
                try keys.map { Member(key: $0.stringValue, value: try container.decode(JSONValue.self, forKey: $0)) })
            return
        }
        if var container = try? decoder.unkeyedContainer() {
            var items: [JSONValue] = []
            while !container.isAtEnd { items.append(try container.decode(JSONValue.self)) }
            self = .array(items)
            return
        }
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else {
            self = .string(try container.decode(String.self))
        }
    }

    /// What `value` looks like as JSON; null if it cannot be encoded.
    init(encoding value: some Encodable) {
        let decoded = try? JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(value))
        self = decoded ?? .null
    }
}
