// The names of cases keep their ids; the names of members are the keys of their files.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import COpenSSL
import ICELite
import Testing

@testable import TransportMedia

/// Cases from public bug reports, each with what its file expects.
@Suite struct DTLSCaseTests {
    /// A record's content: what is in it.
    private static func name(_ record: [UInt8]) -> String {
        switch (record[0], record[13]) {
        case (22, 2): "ServerHello"
        case (22, 3): "HelloVerifyRequest"
        default: "type \(record[0]) \(record[13])"
        }
    }

    @Test func `DTLS_01 a ClientHello in two fragments is answered after the second`() throws {
        struct Expect: Decodable { var after_each: [String], version: String }
        let expect = try DTLSCase.expect("DTLS-01", as: Expect.self)
        let fragments = try datagrams(of: "DTLS/DTLS-01.hex")
        try #require(fragments.count == expect.after_each.count)
        // In order, and reversed: what comes after the last is the same.
        for order in [[0, 1], [1, 0]] {
            let pair = try DTLSPair()
            pair.server.start(now: .zero)
            for (number, wanted) in zip(order, expect.after_each) {
                #expect(pair.giveServer(fragments[number]) == (wanted == "nothing" ? .accepted : .advanced))
                let first = pair.serverFlight.first.map { Self.name($0) }
                #expect((first ?? "nothing") == wanted)
            }
            let hello = try #require(pair.serverFlight.first)
            #expect(Array(hello[25..<27]) == bytes(hex: expect.version))
        }
    }

    @Test func `DTLS_03 no HelloVerifyRequest is sent, and a peer's is answered`() throws {
        struct Expect: Decodable { var server_sends_hvr: Bool, client_handles_hvr: Bool }
        let expect = try DTLSCase.expect("DTLS-03", as: Expect.self)
        // Fragmented as in DTLS-01, where a listener in front would fail.
        let server = try DTLSPair()
        server.server.start(now: .zero)
        for fragment in try datagrams(of: "DTLS/DTLS-01.hex") { server.giveServer(fragment) }
        let sent = server.serverFlight.flatMap { records(of: $0) }.map { Self.name($0) }
        #expect(sent.first == "ServerHello")
        #expect(sent.contains("HelloVerifyRequest") == expect.server_sends_hvr)
        let client = try MixedPair(.client) { $0.sendsCookie = true }
        client.run()
        #expect(client.received.contains { Self.name($0) == "HelloVerifyRequest" })
        #expect((client.isCompleted && client.agree) == expect.client_handles_hvr)
    }

    @Test(arguments: [DTLSRole.client, .server])
    func `DTLS_04 no datagram is longer than told, and a peer's longer ones are taken`(role: DTLSRole) throws {
        struct Expect: Decodable { var max_datagram: Int }
        struct Table: Decodable { var measured: [String: Value] }
        enum Value: Decodable {
            case number(Int)
            case text(String)
            init(from decoder: any Decoder) throws {
                let container = try decoder.singleValueContainer()
                if let number = try? container.decode(Int.self) {
                    self = .number(number)
                } else {
                    self = .text(try container.decode(String.self))
                }
            }
            var int: Int? { if case .number(let number) = self { number } else { nil } }
        }
        let expect = try DTLSCase.expect("DTLS-04", as: Expect.self)
        let measured = try DTLSCase.table("DTLS-04", as: Table.self).measured
        let identity = try RawIdentity.rsa4096.get()
        for mtu in [expect.max_datagram, 700, 400, 256] {
            let pair = try MixedPair(role, mtu: mtu, identity: identity)
            pair.start()
            // The peer's flights as one read of its BIO returns them.
            var toOurs = pair.raw.step()
            var longest = 0
            for _ in 0..<6 where !pair.isCompleted {
                let whole = Array(toOurs.joined())
                longest = max(longest, whole.count)
                if !whole.isEmpty { pair.give([whole]) }
                toOurs = pair.taken().flatMap { pair.raw.take($0) }
            }
            #expect(pair.isCompleted && pair.agree, "\(mtu)")
            #expect(longest > expect.max_datagram)
            if role == .client { #expect(abs(longest - (try #require(measured["flight_bytes"]?.int))) < 300) }
            #expect(pair.sent.allSatisfy { $0.count <= mtu }, "\(mtu)")
            // No record spans two datagrams.
            for datagram in pair.sent {
                #expect(records(of: datagram).reduce(0) { $0 + $1.count } == datagram.count)
                #expect(records(of: datagram).allSatisfy { $0.count == 13 + Int($0[11]) << 8 + Int($0[12]) })
            }
        }
    }

    @Test(arguments: 1...4)
    func `DTLS_06 a last flight that is lost is sent again`(times: Int) throws {
        struct Expect: Decodable { var connected: Bool, max_ms: Int64 }
        let expect = try DTLSCase.expect("DTLS-06", as: Expect.self)
        let pair = try DTLSPair()
        try pair.describe()
        // The server's second flight begins with its ChangeCipherSpec.
        pair.run { !$0.place.byClient && $0.place.flight == 2 && $0.transmission < times }
        #expect((pair.done && pair.agree) == expect.connected)
        #expect(pair.now <= Instant(nanoseconds: .milliseconds(expect.max_ms)))
        #expect(pair.serverFacts.lastFlightResends >= times)
    }

    @Test func `DTLS_07 the timer repeats, slows down and stops`() throws {
        struct Expect: Decodable { var loss30: String, loss100: String }
        let expect = try DTLSCase.expect("DTLS-07", as: Expect.self)
        let seconds = try #require(expect.loss30.split(separator: " ").compactMap { Int64($0) }.first)
        try #require(expect.loss30.hasPrefix("connected"))
        var late = 0
        for seed in 0..<UInt64(100) {
            var random = Randomness.seeded(seed)
            let pair = try DTLSPair()
            try pair.describe()
            pair.run { _ in random.next() % 10 < 3 }
            #expect(pair.done && pair.agree, "seed \(seed)")
            late += pair.now < Instant(nanoseconds: .seconds(seconds)) ? 0 : 1
            pair.drain { _ in false }
            #expect(pair.clientDeadline == .never && pair.serverDeadline == .never, "left running, seed \(seed)")
        }
        // Intervals that double to 1.6 s, as our timer has it: one in a hundred may lose nine repeats in a row.
        #expect(late <= 1)
        // The deadline of the whole is the call's; what is a session's is not to be busy until then.
        try #require(expect.loss100.contains("no busy loop"))
        let lost = try DTLSPair()
        lost.run(until: Instant(nanoseconds: .seconds(1))) { _ in true }
        #expect((2...4).contains(lost.sent.count))
        lost.run(until: Instant(nanoseconds: .seconds(15))) { _ in true }
        #expect(lost.sent.count <= 16 && lost.clientDeadline > lost.now)
        lost.client.close()
        #expect(lost.clientDeadline == .never)
    }

    @Test func `DTLS_09 the setup of an answer decides both roles, and the session acts as it`() throws {
        struct Row: Decodable { var offer: String, answer: String, offerer: String?, answerer: String?, error: Bool? }
        // The same sentence as the rule it is a table of.
        #expect(try DTLSCase.expect("DTLS-09", as: String.self).contains("One stored value decides both"))
        let rows = try DTLSCase.table("DTLS-09", as: [Row].self)
        #expect(rows.count == 8)
        var seen = 0
        for row in rows {
            let local = LocalMedia(
                ufrag: "abcd", password: "0123456789012345678901", isLite: false,
                fingerprint: try #require(DTLSPair.identities.0).fingerprint.attribute, ssrc: SSRC(1), cname: "x",
                sessionID: 1)
            let offer = SessionDescription.makeOffer(local).replacing("a=setup:actpass", with: "a=setup:\(row.offer)")
            if row.offer == "passive" {
                // We answer passive always: a passive offer is refused, whatever its answer would be.
                #expect(throws: SDPError.badSetup("passive")) { try RemoteMedia(offer: offer) }
                seen += 1
                continue
            }
            let media = try RemoteMedia(offer: offer)
            let ours = try SessionDescription.makeAnswer(to: media, local)
            #expect(ours.contains("a=setup:passive\r\n"))
            // As the one who offered, which is always actpass: the peer's answer.
            guard row.offer == "actpass" else {
                // Active, and answered active: not an answer of ours.
                #expect(row.answer == "passive" || row.error == true)
                seen += 1
                continue
            }
            let text = ours.replacing("a=setup:passive", with: "a=setup:\(row.answer)")
            if row.error == true {
                #expect(throws: SDPError.badSetup(row.answer)) { try RemoteMedia(answer: text, to: local) }
                seen += 1
                continue
            }
            let answer = try RemoteMedia(answer: text, to: local)
            let role: DTLSRole = answer.setup == .active ? .server : .client
            #expect("\(role)" == row.offerer)
            #expect((role == .client ? "server" : "client") == row.answerer)
            let pair = try MixedPair(role)
            pair.run()
            #expect(pair.isCompleted && pair.agree)
            seen += 1
        }
        #expect(seen == rows.count)
    }

    @Test(arguments: [DTLSRole.client, .server])
    func `DTLS_11 a fingerprint that is wrong or missing gives no keys in either role`(role: DTLSRole) throws {
        struct Row: Decodable { var sdp: String?, presented: String, result: String }
        struct Table: Decodable { var cases: [Row], roles: [String] }
        let expect = try DTLSCase.expect("DTLS-11", as: String.self)
        #expect(expect.contains("no keys are exported") && expect.contains("alert bad_certificate/close"))
        let table = try DTLSCase.table("DTLS-11", as: Table.self)
        #expect(table.cases.count == 4 && table.roles.contains("\(role)"))
        let peer = try RawIdentity()
        let other = try RawIdentity()
        for row in table.cases {
            var digest = try peer.fingerprint().bytes
            if row.sdp?.contains("one hex digit changed") == true { digest[7] ^= 0x10 }
            let described = try row.sdp == nil ? [] : [CertificateFingerprint(hash: .sha256, bytes: digest)]
            let pair = try MixedPair(
                role, identity: row.presented == "peer" ? peer : other, described: described)
            pair.run()
            if row.result == "connected" {
                #expect(pair.isCompleted && pair.agree)
                continue
            }
            #expect(pair.keys.isEmpty && !pair.events.contains { $0.isCompleted })
            #expect(pair.facts.srtpProfile == nil)
            guard row.sdp != nil else {
                // Such a description is not even a description; a session that has none waits for it.
                #expect(pair.failures.isEmpty)
                pair.ours.close()
                continue
            }
            #expect(pair.failures == [.fingerprintMismatch])
            let told = pair.sent.flatMap { records(of: $0) }.contains { $0[0] == 21 }
            #expect(told)
            // Nothing brings it back.
            pair.ours.setRemoteFingerprints([try (row.presented == "peer" ? peer : other).fingerprint()])
            pair.drainEvents()
            #expect(pair.keys.isEmpty)
        }
    }

    @Test func `DTLS_12 a peer with DTLS 1.0 alone is told protocol_version`() throws {
        struct Expect: Decodable { var alert: UInt8, level: String, state: String }
        let expect = try DTLSCase.expect("DTLS-12", as: Expect.self)
        let pair = try DTLSPair()
        pair.server.start(now: .zero)
        for datagram in try datagrams(of: "DTLS/DTLS-12.hex") { pair.giveServer(datagram) }
        let failure = pair.pollServer()?.failure
        #expect((failure != nil) == (expect.state == "failed"))
        let alert = try #require(pair.takeFromServer())
        #expect(alert[0] == 21 && alert.suffix(2) == [expect.level == "fatal" ? 2 : 1, expect.alert])
    }

    @Test func `DTLS_14 the exporter's output is split in the order and by the lengths of the profile`() throws {
        let expect = try DTLSCase.expect("DTLS-14", as: String.self)
        let order = try #require(expect.split(separator: " with ").first).split(separator: " | ").map(String.init)
        try #require(order.count == 4)
        let rows = try ExportedKeysTests.rows()
        #expect(rows.count == 4)
        for row in rows {
            let parts = [
                "client_key": row.client_key, "server_key": row.server_key, "client_salt": row.client_salt,
                "server_salt": row.server_salt,
            ]
            #expect(order.compactMap { parts[$0] }.joined() == row.material, "\(row.profile)")
            guard let profile = SRTPProfile(rawValue: row.id) else {
                // With a short tag, or a key of 256 bits: not offered, not taken.
                #expect(row.rtp_tag == 4 || row.client_key.count == 64)
                continue
            }
            let material = bytes(hex: row.material)
            let client = try SRTPKeys(profile: profile, exported: material.span.bytes, role: .client)
            // "DTLS client sends with client half."
            #expect(client.localBytes == bytes(hex: row.client_key + row.client_salt))
            #expect(client.remoteBytes == bytes(hex: row.server_key + row.server_salt))
        }
    }

    @Test(arguments: DTLSPeerTests.Kind.allCases, [DTLSRole.client, .server])
    func `DTLS_15 certificates of every kind connect`(kind: DTLSPeerTests.Kind, role: DTLSRole) throws {
        struct Expect: Decodable { var matrix: String }
        let expect = try DTLSCase.expect("DTLS-15", as: Expect.self)
        let pair = try MixedPair(role, identity: kind.identity())
        pair.run()
        #expect((pair.isCompleted && pair.agree) == (expect.matrix == "all connect"))
        // Ours asked for the peer's certificate in both roles: there was something to compare.
        #expect(dtls_box_verified(pair.ours.box) == 1)
    }

    @Test(arguments: [DTLSRole.client, .server])
    func `DTLS_17 junk after completion is ignored and the call is up`(role: DTLSRole) throws {
        struct Expect: Decodable { var each: String }
        let expect = try DTLSCase.expect("DTLS-17", as: Expect.self)
        try #require(expect.each == "ignored, call up")
        let pair = try MixedPair(role)
        pair.run()
        #expect(pair.isCompleted)
        let count = pair.events.count
        let application = pair.raw.send([1, 2, 3])
        var junk = try datagrams(of: "DTLS/DTLS-17.hex") + application + application
        if role == .client { junk += pair.raw.helloRequest() }
        // The handshake's own datagrams once more, from its first.
        junk += pair.received
        for datagram in junk {
            pair.give([datagram])
            _ = pair.taken()
            #expect(pair.events.count == count && pair.deadline == .never, "\(datagram)")
        }
        #expect(pair.facts.lateErrors == 0)
        // Up: what is authentic is still heard.
        pair.give(pair.raw.shutdown())
        #expect(pair.events.last?.isClosed == true)
    }
}
