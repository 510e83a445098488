import Foundation
import FuzzTargets
import ICELite
import Testing

/// The fuzzer's corpus, and bytes at random, through the entry functions the fuzz executables run.
@Suite struct FuzzCorpusTests {
    private static func corpus(of target: FuzzTarget) throws -> [(name: String, bytes: [UInt8])] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Fuzz/Corpus/\(target.rawValue)").standardized
        return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .map { ($0.lastPathComponent, Array(try Data(contentsOf: $0))) }
            .sorted { $0.name < $1.name }
    }

    private func finding(_ target: FuzzTarget, _ bytes: [UInt8]) -> FuzzFinding? {
        do throws(FuzzFinding) {
            try target.run(bytes)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: FuzzTarget.allCases) func `every input of the corpus keeps every property`(
        target: FuzzTarget
    ) throws {
        let corpus = try Self.corpus(of: target)
        #expect((20...400).contains(corpus.count))
        for input in corpus { #expect(finding(target, input.bytes) == nil, "\(input.name)") }
    }

    @Test(arguments: FuzzTarget.allCases) func `inputs of the corpus bent by seed keep every property`(
        target: FuzzTarget
    ) throws {
        let corpus = try Self.corpus(of: target)
        try #require(!corpus.isEmpty)
        var randomness = Randomness.seeded(0x46_555A)
        for turn in 0..<300 {
            var bytes = corpus[Int.random(in: 0..<corpus.count, using: &randomness)].bytes
            for _ in 0..<Int.random(in: 1...8, using: &randomness) where !bytes.isEmpty {
                let index = Int.random(in: 0..<bytes.count, using: &randomness)
                switch Int.random(in: 0..<3, using: &randomness) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &randomness)
                case 1: bytes.remove(at: index)
                default: bytes.insert(contentsOf: bytes.prefix(16), at: index)
                }
            }
            #expect(finding(target, bytes) == nil, "turn \(turn): \(bytes)")
        }
    }
}
