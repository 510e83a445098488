import COpenSSL
import ICELite
import Testing

@testable import TransportMedia

/// What OpenSSL does when it is used as the manual says, and what a session of ours does instead.
@Suite("What OpenSSL 3 does alone, and we do not") struct OpenSSLFactTests {
    /// Two OpenSSL objects.
    private struct RawPair {
        let client: RawPeer
        let server: RawPeer

        init(_ change: (inout RawPeer.Options) -> Void = { _ in }) throws {
            var options = (RawPeer.Options(.client), RawPeer.Options(.server))
            change(&options.0)
            change(&options.1)
            client = try RawPeer(options.0, identity: RawIdentity.p256.get())
            server = try RawPeer(options.1, identity: RawIdentity.p256.get())
        }
    }

    @Test("A BIO that does not answer the MTU query makes datagrams of 256 bytes; ours are full")
    func sizes() throws {
        func flight(mtu: Int?) throws -> [Int] {
            let pair = try RawPair { $0.mtu = mtu }
            return pair.client.step().flatMap { pair.server.take($0) }.map(\.count)
        }
        let asked = try flight(mtu: nil)
        let told = try flight(mtu: 1_200)
        // The certificate is one record of a full size, or several of at most 256 bytes.
        #expect(asked.allSatisfy { $0 <= 256 } && told.contains { $0 > 256 })
        #expect(asked.count > told.count)

        let pair = try DTLSPair()
        try pair.describe()
        pair.run()
        #expect(pair.sent.count == 4)
        #expect(pair.sizes.allSatisfy { $0 <= 1_200 })
        // Full records, not small ones glued: each certificate is one. Also after the eight repeats of the flight before.
        let whole = pair.sentBytes.filter { records(of: $0).contains { $0.count > 256 } }
        #expect(whole.count == 2)
    }

    @Test("A server whose last flight is lost passes over an identical repeat of the client's, and answers a fresh one")
    func identicalRepeats() throws {
        let raw = try RawPair()
        let second = raw.client.step().flatMap { raw.server.take($0) }
        let third = second.flatMap { raw.client.take($0) }
        let fourth = third.flatMap { raw.server.take($0) }
        #expect(raw.server.isEstablished && !fourth.isEmpty)
        // The last flight is lost. However often the client sends the same bytes again: nothing.
        for _ in 0..<12 { #expect(third.flatMap { raw.server.take($0) }.isEmpty) }
        #expect(!raw.client.isEstablished)

        // The same with a client of ours: its first repeat is answered.
        let pair = try MixedPair(.client)
        pair.start()
        let answer = pair.taken().flatMap { pair.raw.take($0) }
        pair.give(answer)
        let flight = pair.taken()
        let lost = flight.flatMap { pair.raw.take($0) }
        #expect(pair.raw.isEstablished && !lost.isEmpty)
        #expect(flight.flatMap { pair.raw.take($0) }.isEmpty)
        pair.ours.armRetransmission(interval: .milliseconds(50), now: pair.now)
        pair.expire()
        #expect(pair.facts.retransmits == 1)
        let again = pair.taken().flatMap { pair.raw.take($0) }
        #expect(!again.isEmpty)
        pair.give(again)
        #expect(pair.isCompleted && pair.agree)
    }

    @Test("A copy ahead of any timer is harmless: the one kind of identical datagram that is sent") func forwardCopy()
        throws
    {
        let pair = try MixedPair(.client)
        pair.start()
        for _ in 0..<3 {
            pair.ours.requeueFlight()
            pair.give(pair.taken().flatMap { pair.raw.take($0) })
        }
        #expect(pair.isCompleted && pair.agree)
    }

    @Test("After completion SSL_do_handshake answers nothing, SSL_read does: ours reads")
    func onlyReadAnswers() throws {
        // A server's last flight is lost; the client's repeat comes.
        for reads in [false, true] {
            let pair = try MixedPair(.client)
            pair.start()
            pair.give(pair.taken().flatMap { pair.raw.take($0) })
            let lost = pair.taken().flatMap { pair.raw.take($0) }
            #expect(!lost.isEmpty && pair.raw.isEstablished)
            pair.ours.armRetransmission(interval: .milliseconds(50), now: pair.now)
            pair.expire()
            let answer = pair.taken().flatMap { reads ? pair.raw.read($0) : pair.raw.step($0) }
            #expect(answer.isEmpty == !reads)
        }
        let pair = try DTLSPair()
        try pair.describe()
        pair.run { $0.place.flight == 2 && !$0.place.byClient && $0.transmission == 0 }
        #expect(pair.done && pair.agree)
        #expect(pair.serverFacts.lastFlightResends >= 1)
        // Written anew by SSL_read, not the same bytes again.
        let last = zip(pair.sent, pair.sentBytes).filter { !$0.0.place.byClient && $0.0.place.flight == 2 }.map(\.1)
        #expect(last.count >= 2 && Set(last).count == last.count)
    }

    @Test("The exporter says 1 before there is a master secret; ours gives no keys before the exporter is final")
    func exporter() throws {
        let raw = try RawPair()
        let second = raw.client.step().flatMap { raw.server.take($0) }
        // The server has sent its flight and waits for the client's key.
        let early = raw.server.export()
        #expect(early.result == 1)
        second.flatMap { raw.client.take($0) }.flatMap { raw.server.take($0) }.forEach { raw.client.take($0) }
        #expect(raw.server.isEstablished && raw.client.isEstablished)
        #expect(raw.server.export().bytes == raw.client.export().bytes)
        #expect(raw.server.export().bytes != early.bytes)

        let pair = try DTLSPair()
        try pair.describe()
        pair.client.start(now: .zero)
        pair.server.start(now: .zero)
        pair.giveServer(pair.clientFlight[0])
        pair.drainEvents()
        #expect(pair.serverEvents.isEmpty)
        var material = [UInt8](repeating: 0, count: 56)
        #expect(dtls_box_export(pair.server.box, &material, 56) == 0)
        #expect(dtls_box_export(pair.client.box, &material, 56) == 0)
        #expect(material == [UInt8](repeating: 0, count: 56))
    }

    @Test("The exporter is final at the client's Finished: keys come there, completion with the peer's")
    func early() throws {
        let pair = try MixedPair(.client)
        pair.start()
        pair.give(pair.taken().flatMap { pair.raw.take($0) })
        #expect(pair.keys.count == 1 && !pair.events.contains { $0.isCompleted })
        let last = pair.taken().flatMap { pair.raw.take($0) }
        // The server has them by now, the same ones.
        #expect(pair.agree)
        pair.give(last)
        #expect(pair.isCompleted && pair.keys.count == 1 && pair.events.count == 2)
    }

    @Test(
        "A handshake completes without an SRTP profile; ours fails it as that", arguments: [DTLSRole.client, .server])
    func noProfile(role: DTLSRole) throws {
        let pair = try MixedPair(role) { $0.profiles = nil }
        pair.run()
        #expect(pair.raw.isEstablished || role == .client)
        #expect(pair.failures == [.noSRTPProfile])
    }

    @Test("A HelloRequest makes another client begin again, with other keys; ours refuses and keeps its own")
    func renegotiation() throws {
        let raw = try RawPair()
        raw.client.step().flatMap { raw.server.take($0) }.flatMap { raw.client.take($0) }
            .flatMap { raw.server.take($0) }.forEach { raw.client.take($0) }
        let before = raw.client.export().bytes
        var toClient = raw.server.helloRequest()
        #expect(!toClient.isEmpty)
        for _ in 0..<6 {
            let toServer = toClient.flatMap { raw.client.read($0) }
            toClient = toServer.flatMap { raw.server.step($0) }
        }
        #expect(raw.client.export().bytes != before)

        let pair = try MixedPair(.client)
        pair.run()
        #expect(pair.isCompleted)
        let count = pair.events.count
        let request = pair.raw.helloRequest()
        #expect(!request.isEmpty)
        pair.give(request)
        #expect(pair.events.count == count)
        // One answer, no_renegotiation, under the keys: no ClientHello.
        let answer = pair.taken().flatMap { records(of: $0) }
        #expect(answer.allSatisfy { $0[0] == 21 && $0[4] == 1 })
        var material = [UInt8](repeating: 0, count: 56)
        #expect(dtls_box_export(pair.ours.box, &material, 56) == 1)
        let keys = try #require(pair.keys.first)
        let again = try SRTPKeys(profile: keys.profile, exported: material.span.bytes, role: .client)
        #expect(again.localBytes == keys.localBytes && again.remoteBytes == keys.remoteBytes)
        pair.give(pair.raw.send([1]))
        #expect(pair.events.count == count && pair.facts.lateErrors == 0)
    }

    @Test("A forged fatal alert in the clear ends another client at once") func alert() throws {
        let raw = try RawPair()
        let hello = raw.client.step()
        raw.client.take([21, 0xFE, 0xFD, 0, 0, 0, 0, 0, 0, 0, 99, 0, 2, 2, 40])
        hello.flatMap { raw.server.take($0) }.flatMap { raw.client.take($0) }.forEach { raw.server.take($0) }
        #expect(!raw.client.isEstablished && !raw.server.isEstablished)
    }

    @Test("OpenSSL's timer counts the system's time") func systemTime() throws {
        var options = RawPeer.Options(.client)
        options.keepsTimer = true
        let peer = try RawPeer(options, identity: RawIdentity.p256.get())
        peer.step()
        let first = try #require(peer.timeout)
        #expect((1...1_000_000).contains(first))
        // Nobody told it of any time.
        var left = first
        for _ in 0..<10_000_000 where left == first { left = peer.timeout ?? 0 }
        #expect(left < first)
    }

    @Test("A jump of the system's clock is nothing to a session: its deadline is ours") func clock() throws {
        // OpenSSL would fire or freeze. Its timer is expired all the time here, or asleep for half an hour: a handshake
        // that waits for a day of our time goes on with the next repeat.
        let pair = try DTLSPair()
        try pair.describe()
        pair.run(until: Instant(nanoseconds: .seconds(1))) { $0.number > 0 }
        #expect(!pair.done && !pair.failed)
        pair.now = Instant(nanoseconds: .seconds(86_400))
        pair.run(until: Instant(nanoseconds: .seconds(86_410)))
        #expect(pair.done && pair.agree)
    }

    @Test("A datagram before the start is not taken, and the handshake after it goes well") func beforeStart() throws {
        let pair = try DTLSPair()
        try pair.describe()
        pair.client.start(now: .zero)
        let hello = pair.clientFlight
        #expect(pair.giveServer(hello[0]) == .dropped(.ended))
        pair.server.start(now: .zero)
        // Parked by whoever owns it, and handed over then.
        #expect(pair.giveServer(hello[0]) == .advanced)
        pair.run()
        #expect(pair.done && pair.agree)
    }

    @Test("Records of the next epoch ahead of their ChangeCipherSpec wait for it") func earlyFinished() throws {
        let pair = try MixedPair(.server)
        pair.start()
        let second = pair.raw.step().map { hello -> [[UInt8]] in
            pair.give([hello])
            return pair.taken()
        }
        let third = second.joined().flatMap { pair.raw.take($0) }
        let finished = try #require(third.last)
        #expect(finished[4] == 1)
        pair.give([finished])
        #expect(pair.keys.isEmpty)
        pair.give(Array(third.dropLast()))
        for datagram in pair.taken() { pair.raw.take(datagram) }
        #expect(pair.isCompleted && pair.agree)
    }

    /// Nothing is promised of it: ours makes another session, as below.
    @Test("OpenSSL 3.0 lets an object that has sent its hello become a server, and complete") func flipped() throws {
        let flipped = try RawPeer(RawPeer.Options(.client), identity: RawIdentity.p256.get())
        let client = try RawPeer(RawPeer.Options(.client), identity: RawIdentity.p256.get())
        #expect(!flipped.step().isEmpty)
        flipped.flip(to: .server)
        var toServer = client.step()
        for _ in 0..<6 { toServer = toServer.flatMap { flipped.take($0) }.flatMap { client.take($0) } }
        #expect(flipped.isEstablished && client.isEstablished)
        #expect(flipped.export().bytes == client.export().bytes)
    }

    @Test("The other role is another session on the same certificate; one object has one role for life") func roleFlip()
        throws
    {
        let certificate = try #require(DTLSPair.identities.0)
        var first = try DTLSSession(role: .client, certificate: certificate)
        first.start(now: .zero)
        // The offer took its hello along; the answer is active.
        let offered = first.flight
        first.close()
        #expect(first.flight.isEmpty && !offered.isEmpty)
        let pair = try MixedPair(.server)
        pair.run()
        #expect(pair.isCompleted && pair.agree)
        #expect(try #require(DTLSPair.identities.0).fingerprint == certificate.fingerprint)
        // A client that is handed a ClientHello does not become a server.
        let confused = try MixedPair(.client) { $0.role = .client }
        confused.start()
        _ = confused.taken()
        confused.give(confused.raw.step())
        #expect(!confused.taken().flatMap { records(of: $0) }.contains { $0[0] == 22 && $0[13] == 2 })
        #expect(confused.keys.isEmpty && confused.failures.count == 1)
    }
}
