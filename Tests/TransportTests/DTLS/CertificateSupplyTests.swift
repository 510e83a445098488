import ICELite
import Synchronization
import Testing

@testable import TransportMedia

@Suite("The certificate of a process") struct CertificateSupplyTests {
    /// Renewals that wait until the test runs them.
    private final class Work: Sendable {
        let waiting = Mutex<[@Sendable () -> Void]>([])

        var count: Int { waiting.withLock { $0.count } }

        func run() {
            let work = waiting.withLock { list in
                defer { list = [] }
                return list
            }
            for one in work { one() }
        }
    }

    private static func make() -> (supply: CertificateSupply, work: Work) {
        let work = Work()
        return (CertificateSupply { one in work.waiting.withLock { $0.append(one) } }, work)
    }

    private static let day = CertificateSupply.rotationInterval

    @Test("Everybody gets the same certificate for a day, then another, made elsewhere") func rotation() throws {
        let (supply, work) = Self.make()
        supply.renewIfDue(now: .zero)
        #expect(work.count == 1)
        work.run()
        let first = try #require(supply.current)
        supply.renewIfDue(now: Instant(nanoseconds: Self.day - 1))
        #expect(work.count == 0 && supply.current === first)
        supply.renewIfDue(now: Instant(nanoseconds: Self.day))
        // Not on this thread: the call that noticed goes on with the old one.
        #expect(work.count == 1 && supply.current === first)
        work.run()
        let second = try #require(supply.current)
        #expect(second.fingerprint != first.fingerprint)
        supply.renewIfDue(now: Instant(nanoseconds: 2 * Self.day - 1))
        #expect(work.count == 0)
        supply.renewIfDue(now: Instant(nanoseconds: 2 * Self.day))
        #expect(work.count == 1)
    }

    @Test("However many calls begin meanwhile, one renewal is under way") func once() {
        let (supply, work) = Self.make()
        for _ in 0..<100 { supply.renewIfDue(now: .zero) }
        #expect(work.count == 1)
    }

    @Test("One that was made on the spot is good for a day, too") func onTheSpot() throws {
        let (supply, work) = Self.make()
        let first = try #require(supply.current)
        let noticed = Instant(nanoseconds: .seconds(100))
        supply.renewIfDue(now: noticed)
        #expect(work.count == 0 && supply.current === first)
        supply.renewIfDue(now: noticed + Self.day)
        #expect(work.count == 1)
    }

    @Test("A call in the middle of its handshake, and one that is up, do not notice a rotation") func running() throws {
        let (supply, work) = Self.make()
        let before = try #require(supply.current)
        var client = try DTLSSession(role: .client, certificate: before)
        let raw = try RawPeer(RawPeer.Options(.server), identity: RawIdentity.p256.get())
        client.setRemoteFingerprints([try raw.identity.fingerprint()])
        client.start(now: .zero)
        supply.renewIfDue(now: .zero)
        supply.renewIfDue(now: Instant(nanoseconds: Self.day))
        work.run()
        #expect(supply.current?.fingerprint != before.fingerprint)
        var toClient: [[UInt8]] = []
        for _ in 0..<3 {
            while let datagram = client.nextDatagram(now: .zero) { toClient += raw.take(datagram) }
            for datagram in toClient { _ = client.handle(datagram.span.bytes, now: .zero) }
            toClient = []
        }
        var events: [DTLSEvent] = []
        while let event = client.pollEvent() { events.append(event) }
        #expect(events.contains { $0.isCompleted } && raw.isEstablished)
        #expect(try raw.peerFingerprint() == before.fingerprint)
    }

    @Test("The process has one, and a call that asks twice gets the same") func process() throws {
        let first = try #require(DTLSCertificate.shared)
        #expect(DTLSCertificate.shared === first)
    }
}
