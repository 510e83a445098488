import ICELite
import Testing
import TransportMedia

@testable import Transport

/// A bridge that the peer asks for while it is active and this end is not yet.
@Suite("A bridge asked for early") struct CarriagesBridgeTests {
    private func carriages(isClient: Bool) throws -> Carriages {
        var randomness = Randomness.seeded(5)
        return Carriages(
            isClient: isClient, limits: TransportLimits(),
            media: CallMedia(
                sender: try AudioSender(ssrc: SSRC(1), payloadType: .defaultOpus, randomness: &randomness),
                receiver: try AudioReceiver(payloadType: .defaultOpus), capture: PCMRing(minimumCapacity: 480),
                playout: PCMRing(minimumCapacity: 480)),
            rtcp: RTCPReporter(localSSRC: SSRC(1), cname: "a", randomness: .seeded(1)))
    }

    @Test("It is on as soon as the call is active on the path", arguments: [true, false], [true, false])
    func isKept(isClient: Bool, isSelectedFirst: Bool) throws {
        var carriages = try carriages(isClient: isClient)
        if isSelectedFirst { carriages.select(.webrtc, now: .zero) }
        let isTaken = carriages.peerBridge(true, now: .zero + 1)
        #expect(isTaken)
        if !isSelectedFirst { carriages.select(.webrtc, now: .zero + 2) }
        let early = carriages.isBridging
        carriages.activate(now: .zero + 3)
        let (late, takes) = (carriages.isBridging, carriages.takesBridge(now: .zero + 3))
        #expect(!early && late && takes)
    }

    @Test("One that was taken back is not") func takenBack() throws {
        var carriages = try carriages(isClient: false)
        carriages.select(.webrtc, now: .zero)
        let isTaken = carriages.peerBridge(true, now: .zero + 1)
        #expect(isTaken)
        carriages.peerBridge(false, now: .zero + 2)
        carriages.activate(now: .zero + 3)
        let isBridging = carriages.isBridging
        #expect(!isBridging)
    }

    @Test("On the WebSocket it means nothing") func onTheLine() throws {
        var carriages = try carriages(isClient: false)
        carriages.select(.websocket, now: .zero)
        let isTaken = carriages.peerBridge(true, now: .zero + 1)
        #expect(!isTaken)
        carriages.activate(now: .zero + 3)
        let isBridging = carriages.isBridging
        #expect(!isBridging)
    }
}
