internal import Foundation

/// Reads the key from where the flags say; it is never an argument and never printed.
enum KeyReader {
    /// Longest key that is read, bytes.
    static let byteLimit = 4_096

    static func read(
        _ source: ProbeOptions.KeySource?, environment: [String: String]
    ) throws(ProbeError) -> String? {
        let text: String
        switch source {
        case nil: return nil
        case .environment(let name):
            guard let value = environment[name] else { throw .usage("--token-env: \(name) is not set") }
            text = value
        case .file(let path):
            guard let data = FileManager.default.contents(atPath: path) else {
                throw .badInput("--token-file: \(path) cannot be read")
            }
            guard data.count <= byteLimit else { throw .badInput("--token-file: \(path) is too long for a key") }
            text = String(decoding: data, as: UTF8.self)
        }
        let key = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !key.isEmpty else { throw .badInput("the key is empty") }
        guard key.utf8.count <= byteLimit, key.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw .badInput("the key has characters that a header cannot carry")
        }
        return key
    }
}
