import Foundation
import Testing

/// A case of a public bug report as `Vectors/DTLS/dtls.json` has it.
enum DTLSCase {
    private struct Entry<Expect: Decodable>: Decodable {
        var id: String
        var expect: Expect

        enum CodingKeys: CodingKey { case id, expect }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            id = try container.decode(String.self, forKey: .id)
            expect = try container.decode(Expect.self, forKey: .expect)
        }
    }

    private struct Identifier: Decodable { var id: String }

    /// What the case called `id` expects, in the shape its test gives.
    static func expect<Expect: Decodable>(_ id: String, as _: Expect.Type = Expect.self) throws -> Expect {
        let data = try vectorFile("DTLS/dtls.json")
        let identifiers = try JSONDecoder().decode([Identifier].self, from: data)
        let place = try #require(identifiers.firstIndex { $0.id == id })
        let all = try #require(try JSONSerialization.jsonObject(with: data) as? [Any])
        let one = try JSONSerialization.data(withJSONObject: all[place])
        return try JSONDecoder().decode(Entry<Expect>.self, from: one).expect
    }

    /// The table of the case called `id`.
    static func table<Table: Decodable>(_ id: String, as _: Table.Type = Table.self) throws -> Table {
        try JSONDecoder().decode(Table.self, from: vectorFile("DTLS/\(id).json"))
    }
}
