import Foundation
import Testing
import Transport

@Suite("Line: cases from the field") struct LineVectorTests {
    private struct Violation: Decodable {
        var name: String
        var bytes: String
        var tolerated: Bool
        var closeCode: Int?

        private enum CodingKeys: String, CodingKey {
            case name, bytes, tolerated
            case closeCode = "close_code"
        }
    }

    private struct Close: Decodable {
        var name: String
        var frame: String
        var report: UInt16
        var legal: Bool
        var replyCode: Int?

        private enum CodingKeys: String, CodingKey {
            case name, frame, report, legal
            case replyCode = "reply_code"
        }
    }

    private func file(_ name: String) throws -> Data {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        return try Data(contentsOf: folder.appendingPathComponent("Vectors/Line/\(name)"))
    }

    private func bytes(_ hex: String) -> [UInt8] {
        let digits = Array(hex.utf8)
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(decoding: digits[$0..<($0 + 2)], as: UTF8.self), radix: 16)
        }
    }

    @Test("Pings between fragments are answered apart from the message (WS-08)")
    func pingsBetween() throws {
        let lines = String(decoding: try file("WS-08.hex"), as: UTF8.self).split(separator: "\n")
        let reads = lines.filter { !$0.hasPrefix("#") }.map { bytes(String($0)) }
        #expect(heard(reads) == [.ping(Array("p1".utf8)), .pong, .ping([]), .text(Array("audio".utf8))])
    }

    @Test("Framing violations close the line (WS-09)")
    func violations() throws {
        let cases = try JSONDecoder().decode([Violation].self, from: file("WS-09.json"))
        #expect(cases.count >= 10)
        for violation in cases where !violation.tolerated {
            let code = violation.closeCode.flatMap { UInt16(exactly: $0) } ?? 1_002
            #expect(heard([bytes(violation.bytes)]).last == .failure(code), "\(violation.name)")
        }
    }

    @Test("Close bodies are reported with their code, or refused (WS-12)")
    func closes() throws {
        let cases = try JSONDecoder().decode([Close].self, from: file("WS-12.json"))
        #expect(cases.count >= 20)
        for close in cases {
            switch heard([bytes(close.frame)]).first {
            case .close(let code, _): #expect(close.legal && code ?? 1_005 == close.report, "\(close.name)")
            case .failure(let code): #expect(!close.legal && Int(code) == close.replyCode, "\(close.name)")
            case let other: Issue.record("\(close.name): \(String(describing: other))")
            }
        }
    }
}
