import ICELite
import Testing
import TransportLine
import TransportMedia
import TransportRuntime
import TransportTestKit

@testable import Transport

/// A call's stream has the payload type that was agreed on: the description's where there is one, else the line's.
@Suite("The payload type of a call's stream") struct PayloadTypeTests {
    private static let onLine: UInt8 = 96
    private static let offered: UInt8 = 109
    private static let ours = PayloadType.defaultOpus.rawValue

    /// The type that the next packet goes out with, and those of the three that are taken.
    private func types(
        _ media: inout CallMedia, now: Instant
    ) throws -> (sent: UInt8, taken: [UInt8]) {
        let pool = PacketPool(size: 1)
        guard var packet = pool.take() else { throw CancellationError() }
        media.stopSending()
        media.startSending(now: now)
        let isThere = media.nextPacket(into: &packet, live: false, discard: true, now: now)
        #expect(isThere)
        var bytes = packet.copiedBytes
        let sent = bytes[1] & 0x7F
        var taken: [UInt8] = []
        for type in [Self.onLine, Self.offered, Self.ours] {
            bytes[1] = type
            if media.audioHeader(of: bytes.span.bytes) != nil { taken.append(type) }
        }
        return (sent, taken)
    }

    private func audio(_ type: UInt8) throws -> ControlMessage.AudioDescription {
        ControlMessage.AudioDescription(opus: try #require(PayloadType(Int(type))), ssrc: SSRC(7))
    }

    @Test("The client's is welcome's, or the answer's where the media path is answered", arguments: [true, false])
    func client(isAnswered: Bool) throws {
        let run = try VirtualCall(seed: 9)
        // Hello is on its way, welcome is not.
        _ = run.simulator.run(until: .zero + .milliseconds(110))
        let now = run.simulator.now
        var welcome = ControlMessage.Welcome(session: "s")
        welcome.audio = try audio(Self.onLine)
        if isAnswered {
            let offered = run.client.call.localMedia
            let offer = try RemoteMedia(offer: SessionDescription.makeOffer(try #require(offered)))
            var randomness = Randomness.seeded(4)
            let answering = PathPair.media(
                ICECredentials.random(using: &randomness), isLite: true, try #require(DTLSCertificate.shared), 7)
            welcome.webrtc = ControlMessage.WebRTC(sdp: try SessionDescription.makeAnswer(to: offer, answering))
        }
        let before = try types(&run.client.call.carriages.media, now: now)
        #expect(before == (Self.ours, [Self.ours]))
        run.client.call.handle(welcome, now: now)
        let wanted = isAnswered ? Self.ours : Self.onLine
        #expect(try types(&run.client.call.carriages.media, now: now) == (wanted, [wanted]))
    }

    @Test("The endpoint's is hello's, or the offer's where there is one", arguments: [true, false])
    func server(hasOffer: Bool) throws {
        let run = try VirtualCall(seed: 9)
        var hello = ControlMessage.Hello(callID: "call_1", preference: "auto", audio: try audio(Self.onLine))
        if hasOffer {
            var randomness = Randomness.seeded(4)
            let offering = PathPair.media(
                ICECredentials.random(using: &randomness), isLite: false, try #require(DTLSCertificate.shared), 7)
            let text = SessionDescription.makeOffer(offering)
                .replacing("SAVPF \(Self.ours)", with: "SAVPF \(Self.offered)")
                .replacing("rtpmap:\(Self.ours)", with: "rtpmap:\(Self.offered)")
                .replacing("fmtp:\(Self.ours)", with: "fmtp:\(Self.offered)")
            hello.webrtc = ControlMessage.WebRTC(sdp: text)
        }
        let before = try types(&run.server.call.carriages.media, now: .zero)
        #expect(before == (Self.ours, [Self.ours]))
        run.server.call.handle(.hello(hello), now: .zero)
        run.server.call.welcome(session: "s", now: .zero)
        let wanted = hasOffer ? Self.offered : Self.onLine
        #expect(try types(&run.server.call.carriages.media, now: .zero) == (wanted, [wanted]))
    }
}
