import Foundation
import Transport

/// Starts the echo and calls it, in one process.
func callOneself() async throws -> CallOutcome {
    let endpoint = try startEcho(bind: "127.0.0.1")
    defer { endpoint.stop() }
    // The endpoint made its own certificate; the client trusts it as its only authority.
    let caFile = FileManager.default.temporaryDirectory.appending(path: "ca-\(UUID().uuidString).pem").path
    try endpoint.certificatePEM.write(toFile: caFile, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(atPath: caFile) }
    return try await placeCall(url: "wss://\(endpoint.address)/", key: nil, caFile: caFile)
}
