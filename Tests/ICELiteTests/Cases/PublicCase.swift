import Foundation
import Testing

/// A value of a case file, whatever its shape.
enum JSONValue: Decodable, Hashable, Sendable {
    case nothing
    case flag(Bool)
    case number(Double)
    case text(String)
    case list([JSONValue])
    case object([String: JSONValue])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .nothing
        } else if let flag = try? container.decode(Bool.self) {
            self = .flag(flag)
        } else if let number = try? container.decode(Double.self) {
            self = .number(number)
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let list = try? container.decode([JSONValue].self) {
            self = .list(list)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    subscript(key: String) -> JSONValue {
        if case .object(let members) = self { return members[key] ?? .nothing }
        return .nothing
    }

    var list: [JSONValue] { if case .list(let values) = self { values } else { [] } }
    var text: String? { if case .text(let value) = self { value } else { nil } }
    var flag: Bool? { if case .flag(let value) = self { value } else { nil } }
    var number: Double? { if case .number(let value) = self { value } else { nil } }
    var int: Int? { number.map { Int($0) } }
    /// `text`, which must be there.
    var string: String { get throws { try #require(text) } }
    /// `int`, which must be there.
    var integer: Int { get throws { try #require(int) } }
    /// `"4..6"` as its two ends.
    var range: ClosedRange<Double>? {
        guard let ends = text?.split(separator: ".", omittingEmptySubsequences: true).compactMap({ Double($0) }),
            ends.count == 2, ends[0] <= ends[1]
        else { return nil }
        return ends[0]...ends[1]
    }
}

/// A case of a public bug report as `Vectors/stun-ice.json` has it.
struct PublicCase: Decodable, Sendable {
    var id: String
    var expect: JSONValue

    private static var folder: URL {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Vectors").standardized
    }

    /// The case called `id`.
    static func read(_ id: String) throws -> PublicCase {
        let data = try Data(contentsOf: folder.appending(path: "stun-ice.json"))
        return try #require(try JSONDecoder().decode([PublicCase].self, from: data).first { $0.id == id })
    }

    /// The table or timeline of the case called `id`.
    static func scenario(_ id: String) throws -> JSONValue {
        let data = try Data(contentsOf: folder.appending(path: "\(id).json"))
        return try JSONDecoder().decode(JSONValue.self, from: data)
    }
}
