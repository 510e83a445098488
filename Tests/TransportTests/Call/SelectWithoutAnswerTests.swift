import ICELite
import Testing
import Transport
import TransportTestKit

@testable import TransportLine

/// What the endpoint's end of a call says to a client that selects what it was not given.
@Suite("A select without an answer") struct SelectWithoutAnswerTests {
    /// What the client hears after hello without an offer, and after a select of `transport`.
    private func heard(selecting transport: String) throws -> [Seen] {
        let client = try LineEnd.client()
        let server = try ServerHost(randomness: .seeded(5))
        func exchange() {
            server.call.receiveLine(client.output().span.bytes, now: .zero)
            while let event = server.call.pollEvent() {
                switch event {
                case .upgradeRequested: server.call.accept(now: .zero)
                case .helloReceived: server.call.welcome(session: "s", now: .zero)
                case .ended, .stateChanged, .transportChanged, .recoveringChanged, .message, .ufragsChanged: break
                }
            }
            client.receive(server.call.lineOutput(atMost: 65_536))
        }
        exchange()
        let hello = ControlMessage.Hello(
            callID: "c", preference: "auto", transports: ["websocket", "webrtc"], audio: ControlMessageTests.audio)
        client.line.sendText(ControlMessage.hello(hello).encoded())
        exchange()
        client.seen = []
        client.line.sendText(ControlMessage.select(.init(epoch: 1, transport: transport)).encoded())
        exchange()
        return client.seen
    }

    @Test("The media path that nobody offered breaks the protocol at once: 4400, bad_order") func webrtc() throws {
        let seen = try heard(selecting: "webrtc")
        #expect(seen.contains(.closed(4_400, "bad_order")), "\(seen)")
    }

    @Test("The WebSocket is obeyed") func websocket() throws {
        let seen = try heard(selecting: "websocket")
        #expect(seen == [.text(#"{"type":"transport.selected","epoch":1,"heard":false}"#)])
    }
}
