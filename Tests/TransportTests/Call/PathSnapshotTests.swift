import ICELite
import Testing
import TransportTestKit

@testable import Transport

@Suite("What a call's report says of its media path")
struct PathSnapshotTests {
    @Test("Each end names its own half of the handshake, and nothing before it is done")
    func handshakeRole() throws {
        let run = try VirtualCall(seed: 9)
        // The offer is at the server, no flight is back yet.
        _ = run.simulator.run(until: .zero + .milliseconds(110))
        #expect(run.client.call.carriages.pathSnapshot?.dtlsRole == nil)
        _ = run.simulator.run(until: .zero + .seconds(3))
        #expect(run.client.call.state == .active && run.client.call.transport == .webrtc)
        #expect(run.client.call.carriages.pathSnapshot?.dtlsRole == "client")
        #expect(run.server.call.carriages.pathSnapshot?.dtlsRole == "server")
    }
}
