import ICELite
import Testing

@testable import TransportMedia

@Suite("DTLS sessions") struct DTLSSessionTests {
    @Test("A handshake gives both ends the same keys, crosswise, and takes two round trips")
    func handshake() throws {
        let pair = try DTLSPair()
        try pair.describe()
        pair.run()
        #expect(pair.done)
        #expect(pair.now <= Instant(nanoseconds: .milliseconds(80)))
        let ours = try #require(pair.clientEvents.compactMap(\.keys).first)
        let theirs = try #require(pair.serverEvents.compactMap(\.keys).first)
        #expect(ours.localBytes == theirs.remoteBytes)
        #expect(ours.remoteBytes == theirs.localBytes)
        #expect(ours.localBytes != ours.remoteBytes)
        #expect(ours.profile == .aeadAES128GCM)
        #expect(pair.clientEvents.count == 2 && pair.serverEvents.count == 2)
        #expect(pair.clientFacts.version == "DTLSv1.2")
        #expect(pair.clientFacts.cipher.hasPrefix("ECDHE-ECDSA-AES"))
        #expect(pair.clientFacts.retransmits == 0 && pair.serverFacts.retransmits == 0)
        #expect(pair.clientDeadline == .never && pair.serverDeadline == .never)
    }

    @Test("Eight repeats of each answered flight are written in advance, none of a server's last")
    func repeatsAreEight() throws {
        let pair = try DTLSPair()
        try pair.describe()
        pair.client.start(now: .zero)
        pair.server.start(now: .zero)
        #expect(pair.clientFacts.repeatsWritten == 8)
        #expect(pair.clientFlight.count == 1)
        for datagram in pair.clientFlight { pair.giveServer(datagram) }
        #expect(pair.serverFacts.repeatsWritten == 8)
        for datagram in pair.serverFlight { pair.giveClient(datagram) }
        #expect(pair.clientFacts.repeatsWritten == 8)
        for datagram in pair.clientFlight { pair.giveServer(datagram) }
        #expect(pair.serverFacts.repeatsWritten == 0)
        for datagram in pair.serverFlight { pair.giveClient(datagram) }
        while let event = pair.pollClient() { pair.clientEvents.append(event) }
        while let event = pair.pollServer() { pair.serverEvents.append(event) }
        #expect(pair.done)
    }

    @Test("Nothing is sent again before the deadline is armed")
    func lineArmsNothing() throws {
        let pair = try DTLSPair()
        pair.client.start(now: .zero)
        #expect(pair.clientDeadline == .never)
        pair.client.armRetransmission(interval: .milliseconds(10), now: .zero)
        #expect(pair.clientDeadline == Instant(nanoseconds: .milliseconds(50)))
    }

    @Test("Another certificate than the described one gives no keys", arguments: [DTLSRole.client, .server])
    func mismatch(deceived: DTLSRole) throws {
        let pair = try DTLSPair()
        let right = (try #require(DTLSPair.identities.0).fingerprint, try #require(DTLSPair.identities.1).fingerprint)
        let wrong = try DTLSCertificate().fingerprint
        pair.client.setRemoteFingerprints([deceived == .client ? wrong : right.1])
        pair.server.setRemoteFingerprints([deceived == .server ? wrong : right.0])
        pair.run()
        let events = deceived == .client ? pair.clientEvents : pair.serverEvents
        #expect(events.compactMap(\.failure) == [.fingerprintMismatch])
        #expect(events.compactMap(\.keys).isEmpty)
    }

    @Test("Fingerprints that come after the handshake release the keys, or refuse them", arguments: [true, false])
    func lateFingerprint(matches: Bool) throws {
        let pair = try DTLSPair()
        pair.client.setRemoteFingerprints([try #require(DTLSPair.identities.1).fingerprint])
        pair.run(until: Instant(nanoseconds: .seconds(1)))
        #expect(pair.serverEvents.isEmpty)
        let other = try DTLSCertificate()
        pair.server.setRemoteFingerprints([
            matches ? try #require(DTLSPair.identities.0).fingerprint : other.fingerprint
        ])
        pair.drain { _ in false }
        #expect(pair.serverEvents.contains { $0.isCompleted } == matches)
        #expect(pair.serverEvents.compactMap(\.failure) == (matches ? [] : [.fingerprintMismatch]))
    }

    @Test("No description, no keys") func undescribed() throws {
        let pair = try DTLSPair()
        pair.run(until: Instant(nanoseconds: .seconds(1)))
        #expect(pair.clientEvents.isEmpty && pair.serverEvents.isEmpty)
    }

    @Test("Without a common profile the handshake fails") func noProfile() throws {
        let pair = try DTLSPair(clientProfiles: [.aeadAES128GCM], serverProfiles: [.aes128CMHMACSHA1_80])
        try pair.describe()
        pair.run()
        #expect(pair.clientEvents.compactMap(\.failure) == [.noSRTPProfile])
        #expect(pair.clientEvents.compactMap(\.keys).isEmpty && pair.serverEvents.compactMap(\.keys).isEmpty)
    }

    @Test("The server's order of profiles decides") func serverOrder() throws {
        let pair = try DTLSPair(serverProfiles: [.aes128CMHMACSHA1_80, .aeadAES128GCM])
        try pair.describe()
        pair.run()
        #expect(pair.clientFacts.srtpProfile == .aes128CMHMACSHA1_80)
    }

    @Test("close_notify is heard by the other end") func closing() throws {
        let pair = try DTLSPair()
        try pair.describe()
        pair.run()
        pair.client.close()
        let notify = try #require(pair.takeFromClient())
        #expect(pair.giveServer(notify) == .advanced)
        #expect(pair.pollServer()?.isClosed == true)
        #expect(pair.giveServer(notify) == .dropped(.ended))
    }

    @Test("A flight cut at every length, and damaged by seed, never traps") func garbage() throws {
        let source = try DTLSPair()
        source.client.start(now: .zero)
        let hello = source.clientFlight[0]
        for length in 0..<hello.count {
            let pair = try DTLSPair()
            pair.server.start(now: .zero)
            pair.giveServer(Array(hello[..<length]))
            #expect(pair.pollServer()?.failure == nil, "\(length)")
            // The whole flight after it still begins the handshake.
            pair.giveServer(hello)
            #expect(pair.takeFromServer() != nil, "\(length)")
        }
        var random = Randomness.seeded(7)
        for _ in 0..<500 {
            let pair = try DTLSPair()
            pair.server.start(now: .zero)
            var damaged = hello
            for _ in 0..<(1 + random.next() % 4) {
                damaged[Int(random.next() % UInt64(hello.count))] = UInt8(truncatingIfNeeded: random.next())
            }
            pair.giveServer(damaged)
            pair.giveServer(random.bytes(Int(random.next() % 200)))
            pair.giveServer(hello)
        }
    }

    @Test("Hundreds of handshakes in a row all complete, and a session that is gone has let its certificate go")
    func inARow() throws {
        weak var kept: DTLSCertificate?
        for turn in 0..<300 {
            let certificate = try DTLSCertificate()
            if turn == 0 { kept = certificate }
            let pair = try DTLSPair(certificate: certificate)
            try pair.describe()
            pair.run()
            #expect(pair.done && pair.agree, "\(turn)")
            // The repeats are let go as well, half a kilobyte each.
            let repeats = pair.client.current?.repeats.count ?? 0
            #expect(repeats == 0)
        }
        #expect(kept == nil)
    }
}
