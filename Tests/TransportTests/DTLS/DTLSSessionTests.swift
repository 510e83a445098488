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

    @Test(
        "Any one and any two of the first datagrams lost: of 8 with full ones, of 14 with small ones",
        arguments: [(mtu: 1_200, count: 8), (mtu: 256, count: 14)])
    func losses(mtu: Int, count: Int) throws {
        for first in 0..<count {
            for second in first..<count {
                let pair = try DTLSPair(mtu: mtu)
                try pair.describe()
                pair.run { $0 == first || $0 == second }
                #expect(pair.done, "lost \(first) and \(second)")
                #expect(pair.clientFacts.repeatsMissing + pair.serverFacts.repeatsMissing == 0)
                #expect(pair.sizes.allSatisfy { $0 <= mtu })
            }
        }
    }

    @Test("At 10 % loss 200 calls of 200 finish, the same seed in the same time")
    func randomLoss() throws {
        func time(_ seed: UInt64) throws -> Instant? {
            var random = Randomness.seeded(seed)
            let pair = try DTLSPair()
            try pair.describe()
            pair.run { _ in random.next() % 10 == 0 }
            return pair.done ? pair.now : nil
        }
        for seed in 0..<UInt64(200) { #expect(try time(seed) != nil, "seed \(seed)") }
        for seed in 0..<UInt64(10) { #expect(try time(seed) == time(seed), "seed \(seed)") }
    }

    @Test("With everything lost the repeats slow down to one in 1.6 s")
    func allLost() throws {
        let pair = try DTLSPair()
        pair.run(until: Instant(nanoseconds: .seconds(15))) { _ in true }
        #expect((10...16).contains(pair.sent))
        #expect(!pair.done)
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

    @Test("A forged alert in the clear does not kill a handshake that goes on") func forgedAlert() throws {
        let pair = try DTLSPair()
        try pair.describe()
        pair.client.start(now: .zero)
        let alert: [UInt8] = [21, 0xFE, 0xFD, 0, 0, 0, 0, 0, 0, 0, 99, 0, 2, 2, 40]
        #expect(pair.giveClient(alert) == .dropped(.plaintextAlert))
        pair.run()
        #expect(pair.done)
    }

    @Test("An alert in the clear that nothing contradicts fails the handshake after 500 ms") func trueAlert() throws {
        let pair = try DTLSPair()
        pair.client.start(now: .zero)
        let alert: [UInt8] = [21, 0xFE, 0xFD, 0, 0, 0, 0, 0, 0, 0, 99, 0, 2, 2, 40]
        pair.giveClient(alert)
        #expect(pair.clientDeadline == Instant(nanoseconds: .milliseconds(500)))
        pair.client.handleTimeout(now: Instant(nanoseconds: .milliseconds(500)))
        #expect(pair.pollClient()?.failure == .alert(40))
    }

    @Test("Junk after completion changes nothing (DTLS-17)") func junkAfterCompletion() throws {
        let pair = try DTLSPair()
        try pair.describe()
        pair.run()
        for junk in try datagrams(of: "DTLS/DTLS-17.hex") {
            pair.giveClient(junk)
            pair.giveServer(junk)
        }
        #expect(pair.pollClient() == nil && pair.pollServer() == nil)
        pair.client.close()
        let notify = try #require(pair.takeFromClient())
        pair.giveServer(notify)
        #expect(pair.pollServer()?.isClosed == true)
    }

    @Test("A ClientHello in two fragments is answered after the second (DTLS-01)") func fragmentedHello() throws {
        let hello = try datagrams(of: "DTLS/DTLS-01.hex")
        try #require(hello.count == 2)
        let pair = try DTLSPair()
        pair.server.start(now: .zero)
        #expect(pair.giveServer(hello[0]) == .accepted)
        #expect(pair.serverFlight.isEmpty)
        #expect(pair.giveServer(hello[1]) == .advanced)
        #expect(pair.serverFlight.first.map { [$0[0], $0[13]] } == [22, 2])
    }

    @Test("A DTLS 1.0 client gets alert 70 (DTLS-12)") func oldVersion() throws {
        let pair = try DTLSPair()
        pair.server.start(now: .zero)
        for datagram in try datagrams(of: "DTLS/DTLS-12.hex") {
            pair.giveServer(datagram)
        }
        #expect(pair.pollServer()?.failure != nil)
        let alert = try #require(pair.takeFromServer())
        #expect(alert[0] == 21 && alert.suffix(2) == [2, 70])
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

    @Test("A copy of each flight by another way is harmless") func duplicates() throws {
        let pair = try DTLSPair()
        try pair.describe()
        pair.client.start(now: .zero)
        pair.server.start(now: .zero)
        for _ in 0..<3 {
            for datagram in pair.clientFlight + pair.clientFlight {
                pair.giveServer(datagram)
            }
            for datagram in pair.serverFlight + pair.serverFlight {
                pair.giveClient(datagram)
            }
        }
        while let event = pair.pollClient() { pair.clientEvents.append(event) }
        while let event = pair.pollServer() { pair.serverEvents.append(event) }
        #expect(pair.done && !pair.failed)
    }
}
