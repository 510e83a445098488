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
            ("example both", "ExampleBoth.swift"),
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
        #expect(try await callOneself() == .ended(.local))
    }

    @Test("The client's second of audio is out before it hangs up") func promptIsSaid() async throws {
        let (heard, continuation) = AsyncStream<Int64>.makeStream()
        var configuration = EndpointConfiguration()
        configuration.identity = .none
        let endpoint = try AgentEndpoint(configuration: configuration) { call in
            // What was sent before active is silence.
            var before: Int64 = 0
            for await event in call.events where event == .stateChanged(.active) {
                before = call.snapshot.audio.packetsReceived
            }
            continuation.yield(call.snapshot.audio.packetsReceived - before)
        }
        let outcome = try await placeCall(url: "ws://\(endpoint.address)/", key: nil, caFile: "/dev/null")
        #expect(outcome == .ended(.local))
        // 50 frames of 20 ms; the last may still be on their way when the hang-up overtakes them.
        #expect(try #require(await heard.first { _ in true }) >= 40)
        endpoint.stop()
    }
}
