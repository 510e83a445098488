import Foundation
import ICELite
import Testing

@testable import Transport
@testable import TransportRuntime

/// Endpoints on real sockets under those who mean no call.
@Suite("Endpoints under a flood", .serialized) struct EndpointFloodTests {
    private func driver(_ change: (inout EndpointConfiguration) -> Void = { _ in }) throws -> EndpointDriver {
        var configuration = EndpointConfiguration()
        configuration.identity = .none
        change(&configuration)
        return try EndpointDriver(configuration) { _ in }
    }

    @Test("Silent connections beyond the limit and those that wait for their 503 are closed as they come")
    func silentConnections() async throws {
        let driver = try driver {
            $0.connectionLimit = 10
            // None of them is to run out of time before all of them are counted, on a busy machine either.
            $0.limits.upgradeTimeout = .seconds(120)
        }
        defer { driver.stop() }
        let address = try #require(driver.lineAddresses.first)
        let held = 10 + EndpointDriver.refusalLimit
        try await withLoop { loop in
            let closed = Happenings<Void>()
            let streams = await loop.run {
                (0..<(held + 40)).map { _ in
                    let stream = ByteStream.connect(
                        host: "127.0.0.1", port: address.port, tls: nil, deadline: loop.after(120), loop: loop)
                    stream.onEvent = { if case .closed = $0 { closed.add(()) } }
                    return stream
                }
            }
            _ = await closed.next(40)
            #expect(driver.loop.perform { driver.turnedAway } == 40)
            #expect(driver.connectionCount == held)
            await loop.run { for stream in streams { stream.abort() } }
        }
    }

    @Test("A limit that is none is refused", arguments: [0, -1, .max, .min]) func limit(connections: Int) {
        #expect(throws: TransportError.self) { try driver { $0.connectionLimit = connections } }
    }
}
