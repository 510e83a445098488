import Testing
import Transport
import TransportTestKit

/// The recording of a call on loopback sockets, through the public interface.
@Suite("Recordings of real calls") struct FlightOfARealCallTests {
    @Test(
        "Both ends' recordings are there while the call lasts and after its end, and replay", arguments: [true, false])
    func loopback(records: Bool) async throws {
        var site = EndpointConfiguration()
        site.identity = .none
        site.recordsFlights = records
        let (recordings, recorded) = AsyncStream.makeStream(of: [UInt8].self)
        let endpoint = try AgentEndpoint(configuration: site) { call in
            _ = await call.outcome()
            recorded.yield(call.flightRecording())
        }
        defer { endpoint.stop() }
        var configuration = TransportConfiguration(url: "ws://\(endpoint.address)/call")
        configuration.recordsFlight = records
        let session = try TransportSession(configuration: configuration)
        #expect(session.flightRecording().isEmpty)
        try session.start()
        var live: [UInt8] = []
        for await event in session.events {
            guard case .stateChanged(.active) = event else { continue }
            live = session.flightRecording()
            session.end()
        }
        var ends: [UInt8] = []
        for await recording in recordings {
            ends = recording
            break
        }
        guard records else {
            #expect(live.isEmpty && ends.isEmpty && session.flightRecording().isEmpty)
            return
        }
        let client = try FlightReplay(session.flightRecording())
        #expect(client.divergences.isEmpty)
        #expect(client.timeline.contains("active on webrtc") && client.timeline.contains("ended by us"))
        #expect(try FlightReplay(live).steps.count < client.steps.count)
        let server = try FlightReplay(ends)
        #expect(server.divergences.isEmpty)
        #expect(server.timeline.contains("ended by the peer"))
    }
}
