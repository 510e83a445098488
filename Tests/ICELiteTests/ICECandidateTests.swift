import ICELite
import Testing

@Suite struct ICECandidateTests {
    @Test func `a host candidate reads and writes the same`() throws {
        let text = "candidate:1 1 udp 2130706431 192.0.2.1 8998 typ host"
        let candidate = try ICECandidate(parsing: text)
        #expect(candidate.foundation == "1")
        #expect(candidate.component == 1)
        #expect(candidate.priority == 2_130_706_431)
        let expected = try address("192.0.2.1", 8_998)
        #expect(candidate.address == expected)
        #expect(candidate.kind == .host)
        #expect(candidate.attribute == text)
        #expect(try ICECandidate(parsing: "a=\(text)\r\n") == candidate)
    }

    @Test(arguments: ["srflx", "prflx", "relay"])
    func `a reflexive candidate keeps its base`(kind: String) throws {
        let text = "candidate:842163049 1 udp 1677729535 2001:db8::9 51556 typ \(kind) raddr 2001:db8::1 rport 8"
        let candidate = try ICECandidate(parsing: text + " generation 0 ufrag 0+/z network-cost 999")
        let base = try address("2001:db8::1", 8)
        #expect(candidate.relatedAddress == base)
        #expect(candidate.ufrag == "0+/z")
        #expect(candidate.attribute == text + " ufrag 0+/z")
        #expect(try ICECandidate(parsing: candidate.attribute) == candidate)
    }

    @Test func `the transport is compared in any case`() throws {
        _ = try ICECandidate(parsing: "candidate:0 2 UDP 2122187774 192.0.2.1 60001 TYP Host")
    }

    @Test(arguments: [
        ("candidate:1 1 tcp 1518280447 192.0.2.1 9 typ host tcptype active", ICECandidateError.Skip.transport),
        ("candidate:1 1 TCP 1518280447 192.0.2.1 0 typ host", .transport),
        ("candidate:1 1 udp 2113937151 a1b2-c3.local 51556 typ host", .mdnsName),
        ("candidate:1 1 udp 2113937151 host.example.org 51556 typ host", .hostName),
        ("candidate:1 1 udp 1 192.0.2.1 51556 typ future", .type),
        ("candidate:1 1 udp 1 0.0.0.0 9 typ host", .address),
        ("candidate:1 1 udp 1 ff02::1 9 typ host", .address),
        ("candidate:1 1 udp 1 .LOCAL 9 typ host", .mdnsName),
    ])
    func `what is not for us is skipped`(text: String, reason: ICECandidateError.Skip) {
        #expect(throws: ICECandidateError.skip(reason)) { try ICECandidate(parsing: text) }
    }

    @Test(arguments: [
        ("", ICECandidateError.Field.prefix), ("candidate:", .length), ("candidate:1 1 udp 1 192.0.2.1 9 typ", .length),
        ("candidate:a_b 1 udp 1 192.0.2.1 9 typ host", .foundation),
        ("candidate:\(String(repeating: "a", count: 33)) 1 udp 1 192.0.2.1 9 typ host", .foundation),
        ("candidate:1 0 udp 1 192.0.2.1 9 typ host", .component),
        ("candidate:1 257 udp 1 192.0.2.1 9 typ host", .component),
        ("candidate:1 1 udp -1 192.0.2.1 9 typ host", .priority),
        ("candidate:1 1 udp 4294967296 192.0.2.1 9 typ host", .priority),
        ("candidate:1 1 udp 1 192.0.2.1 65536 typ host", .port), ("candidate:1 1 udp 1 192.0.2.1 +9 typ host", .port),
        ("candidate:1 1 udp 1 192.0.2.1 0 typ host", .port), ("candidate:1 1 udp 1 192.0.2.256 9 typ host", .address),
        ("candidate:1 1 udp 1 2001:db8:::1 9 typ host", .address),
        ("candidate:1 1 udp 1 \(String(repeating: "a", count: 256)) 9 typ host", .address),
        ("candidate:1 1 udp 1 192.0.2.1 9 type host", .type),
        ("candidate:1 1 udp 1 192.0.2.1 9 typ host generation", .extensions),
        ("candidate:1 1 udp 1 192.0.2.1 9 typ srflx raddr 192.0.2.2 rport x", .relatedAddress),
        ("candidate:1 1 udp 1 192.0.2.1 9 typ host" + String(repeating: " a b", count: 400), .length),
    ])
    func `what breaks the grammar is refused`(text: String, field: ICECandidateError.Field) {
        #expect(throws: ICECandidateError.malformed(field)) { try ICECandidate(parsing: text) }
    }

    @Test func `up to 40 fields are read, more are refused wherever they lead`() throws {
        let head = "candidate:1 1 udp 1 192.0.2.1 9 typ host"
        let pairs = { (count: Int) in String(repeating: " a b", count: count) }
        let most = (ICECandidate.maximumFields - 8) / 2
        #expect(try ICECandidate(parsing: head + pairs(most)) == ICECandidate(parsing: head))
        for text in [head + pairs(most + 1), head + pairs(246), head + pairs(most + 1) + " rport x"] {
            #expect(text.utf8.count <= ICECandidate.maximumTextLength)
            #expect(throws: ICECandidateError.malformed(.length)) { try ICECandidate(parsing: text) }
        }
        // What counts is read up to the last field.
        let last = try ICECandidate(parsing: head + pairs(most - 3) + " raddr 192.0.2.2 rport 5 UFRAG abcd")
        #expect(last.ufrag == "abcd")
        #expect(last.relatedAddress == (try address("192.0.2.2", 5)))
    }

    @Test(arguments: ["udp\0", "\0udp", "xudp", "udpudpudp", "\0\0\0\0\u{1}udp", "ud", "ŭdp"])
    func `a name is the whole field`(transport: String) {
        #expect(throws: ICECandidateError.skip(.transport)) {
            try ICECandidate(parsing: "candidate:1 1 \(transport) 1 192.0.2.1 9 typ host")
        }
        #expect(throws: ICECandidateError.malformed(.type)) {
            try ICECandidate(parsing: "candidate:1 1 udp 1 192.0.2.1 9 \(transport) host")
        }
        #expect(throws: ICECandidateError.skip(.type)) {
            try ICECandidate(parsing: "candidate:1 1 udp 1 192.0.2.1 9 typ \(transport)")
        }
    }

    @Test func `fields may stand any number of spaces apart`() throws {
        let text = "candidate:1   1 udp 1  192.0.2.1 9 typ  host   ufrag  abcd  \r\n"
        #expect(try ICECandidate(parsing: text).ufrag == "abcd")
        #expect(throws: ICECandidateError.malformed(.length)) {
            try ICECandidate(parsing: "candidate:" + String(repeating: " ", count: 1_000))
        }
    }

    @Test func `cut and mutated text never traps`() {
        let text = Array("candidate:1 1 udp 1 fe80::1%3 9 typ srflx raddr 192.0.2.2 rport 5 ufrag abcd".utf8)
        for length in 0...text.count {
            guard let cut = try? ICECandidate(parsing: String(decoding: text[..<length], as: UTF8.self)) else {
                continue
            }
            // Nothing before the type makes a candidate, and what there is is as it was written.
            #expect(length >= 41)
            #expect(cut.address.port == 9 && cut.component == 1 && cut.kind == .serverReflexive)
        }
        var randomness = Randomness.seeded(3)
        for _ in 0..<20_000 {
            var bent = text
            for _ in 0..<3 {
                bent[Int.random(in: 0..<bent.count, using: &randomness)] = .random(in: 0...255, using: &randomness)
            }
            _ = try? ICECandidate(parsing: String(decoding: bent, as: UTF8.self))
        }
    }

    @Test func `priorities follow the formula`() throws {
        #expect(ICECandidate.priority(type: .host, localPreference: 65_535, component: 1) == 2_130_706_431)
        #expect(ICECandidate.priority(type: .relayed, localPreference: 0, component: 256) == 0)
        #expect(
            ICECandidate.priority(type: .serverReflexive, localPreference: 1, component: 2) == 100 << 24 | 256 | 254)
    }

    @Test func `a zone is never written`() throws {
        let candidate = ICECandidate(host: try address("fe80::1%4", 9), localPreference: 1)
        #expect(candidate.attribute.contains(" fe80::1 9 "))
    }

    @Test func `credentials have the lengths and characters of the RFC`() throws {
        #expect(ICECredentials(ufrag: "abc", password: String(repeating: "a", count: 22)) == nil)
        #expect(ICECredentials(ufrag: "abcd", password: String(repeating: "a", count: 21)) == nil)
        #expect(ICECredentials(ufrag: "ab:d", password: String(repeating: "a", count: 22)) == nil)
        #expect(ICECredentials(ufrag: "abcd", password: String(repeating: "é", count: 22)) == nil)
        #expect(
            ICECredentials(ufrag: String(repeating: "a", count: 257), password: String(repeating: "a", count: 22))
                == nil)
        #expect(ICECredentials(ufrag: "ab+/", password: String(repeating: "a", count: 256)) != nil)
        var randomness = Randomness.seeded(1)
        let first = ICECredentials.random(using: &randomness)
        let second = ICECredentials.random(using: &randomness)
        #expect(first != second)
        #expect(ICECredentials(ufrag: first.ufrag, password: first.password) == first)
    }
}
