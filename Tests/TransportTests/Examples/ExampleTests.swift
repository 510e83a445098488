import Foundation
import Testing
import Transport

/// The examples that README prints, compiled as they stand there, and run.
@Suite("README's examples") struct ExampleTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    @Test(
        "README prints exactly what is compiled here",
        arguments: [
            ("example client", "ExampleClient.swift"), ("example echo", "ExampleEcho.swift"),
        ])
    func printed(name: String, file: String) throws {
        let readme = try String(contentsOf: Self.root.appending(path: "README.md"), encoding: .utf8)
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        let code = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
        let parts = readme.components(separatedBy: "<!-- \(name): begin -->")
        try #require(parts.count == 2)
        let block = try #require(parts[1].components(separatedBy: "<!-- \(name): end -->").first)
        #expect(block == "\n```swift\n\(code)```\n")
    }

    @Test("The client calls the echo, becomes active, and ends as it hangs up") func run() async throws {
        let echo = try startEcho(bind: "127.0.0.1")
        let caFile = FileManager.default.temporaryDirectory.appending(path: "ca-\(UUID().uuidString).pem").path
        try echo.certificatePEM.write(toFile: caFile, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: caFile) }
        let outcome = try await placeCall(url: "wss://\(echo.address)/", key: nil, caFile: caFile)
        #expect(outcome == .ended(.local))
        echo.stop()
    }
}
