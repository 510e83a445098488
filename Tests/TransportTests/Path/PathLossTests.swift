import ICELite
import Testing

@testable import Transport

/// When a media path counts as lost, and what of its keys counts before the handshake is over.
@Suite("Loss and keys of a path") struct PathLossTests {
    @Test("Consent that expires is the end, but not while a restart may still bring a pair")
    func consent() throws {
        let plain = try PathPair()
        plain.run(until: .zero + .seconds(1))
        plain.budget = 0
        plain.run(until: .zero + .seconds(40))
        #expect(plain.client.evidence.isLost)
        let pair = try PathPair()
        pair.run(until: .zero + .seconds(1))
        pair.budget = 0
        pair.run(until: .zero + .seconds(20))
        var drawn = Randomness.seeded(3)
        pair.client.restart(credentials: .random(using: &drawn), now: pair.now)
        pair.run(until: .zero + .seconds(40))
        #expect(pair.client.selectedPath == nil)
        #expect(!pair.client.evidence.isLost)
        pair.client.abandonRestart()
        #expect(pair.client.evidence.isLost)
    }

    @Test("Nothing is played under provisional keys: what comes before the server's Finished waits for it")
    func provisionalKeys() throws {
        let pair = try PathPair()
        pair.swallows = { [unowned pair] bytes in pair.isClientSecured && (20...63).contains(bytes[0]) }
        pair.startSpeaking()
        pair.run(until: .zero + .milliseconds(300))
        #expect(pair.isClientSecured && pair.isServerSecured)
        #expect(pair.spoken > 5)
        #expect(pair.heard.isEmpty)
        // The client's own timer brings the Finished once more.
        pair.swallows = { _ in false }
        pair.run(until: .zero + .milliseconds(900))
        #expect(pair.clientEvents.contains(.completed))
        pair.takeParked()
        #expect(Set(pair.heard).count >= pair.spoken - 4)
    }
}
