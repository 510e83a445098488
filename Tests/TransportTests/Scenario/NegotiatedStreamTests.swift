import ICELite
import Testing
import TransportMedia
import TransportTestKit

@testable import Transport

/// What offer and answer agree on is what the streams are made of.
@Suite("Streams as they were negotiated") struct NegotiatedStreamTests {
    @Test("Our own ends send audio levels and reports of reduced size", arguments: [CallTransport.webrtc, .websocket])
    func ownEnds(wanted: CallTransport) throws {
        let run = try VirtualCall(seed: 4, wanted: wanted)
        _ = run.simulator.run(until: .zero + .seconds(4))
        let levels = (
            run.client.call.carriages.media.remoteAudioLevel, run.server.call.carriages.media.remoteAudioLevel
        )
        let reduced = (run.client.call.carriages.rtcp.isReducedSize, run.server.call.carriages.rtcp.isReducedSize)
        let expected = wanted == .webrtc
        #expect((levels.0 != nil) == expected && (levels.1 != nil) == expected)
        #expect(reduced == (expected, expected))
        #expect(run.client.call.transport == (expected ? .webrtc : .websocket))
    }

    @Test("On the line no packet carries a header extension, though they were negotiated")
    func onTheLine() throws {
        let drop = { () -> LinkModel in
            var link = LinkModel(delay: .milliseconds(25))
            link.reachability = .drop
            return link
        }()
        let run = try VirtualCall(seed: 4, up: drop, down: drop)
        _ = run.simulator.run(until: .zero + .seconds(6))
        let levels = (
            run.client.call.carriages.media.remoteAudioLevel, run.server.call.carriages.media.remoteAudioLevel
        )
        let isReduced = run.client.call.carriages.rtcp.isReducedSize
        #expect(isReduced && run.client.call.transport == .websocket && run.client.call.state == .active)
        #expect(levels.0 == nil && levels.1 == nil)
    }
}
