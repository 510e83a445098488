import COpenSSL
import Foundation
import ICELite
import Testing

@testable import TransportMedia

@Suite("DTLS with peers of another make") struct DTLSPeerTests {
    /// What a peer may be and still be talked to.
    enum Kind: String, CaseIterable, Sendable {
        case p256, rsa2048, rsa4096, expired, notYetValid, issued, rsaIssuer

        func identity() throws -> RawIdentity {
            switch self {
            case .p256: try RawIdentity.p256.get()
            case .rsa2048: try RawIdentity.rsa2048.get()
            case .rsa4096: try RawIdentity.rsa4096.get()
            case .expired: try RawIdentity(validity: .expired)
            case .notYetValid: try RawIdentity(validity: .future)
            case .issued: try RawIdentity(issuer: RawIdentity.p256.get())
            case .rsaIssuer: try RawIdentity(.rsa(2_048), issuer: RawIdentity.rsa2048.get())
            }
        }
    }

    @Test(
        "RSA, expired, not yet valid and issued certificates do, if they are the described ones",
        arguments: Kind.allCases, [DTLSRole.client, .server])
    func certificates(kind: Kind, role: DTLSRole) throws {
        let pair = try MixedPair(role, identity: kind.identity())
        pair.run()
        #expect(pair.isCompleted && pair.agree)
        #expect(pair.keys.count == 1 && pair.failures.isEmpty)
    }

    @Test("The leaf is compared, not who signed it", arguments: [DTLSRole.client, .server])
    func issuer(role: DTLSRole) throws {
        let root = try RawIdentity.p256.get()
        let pair = try MixedPair(role, identity: RawIdentity(issuer: root), described: [root.fingerprint()])
        pair.run()
        #expect(pair.failures == [.fingerprintMismatch])
        #expect(pair.keys.isEmpty)
    }

    @Test("A fingerprint by any hash we take is compared by that hash", arguments: CertificateFingerprint.Hash.allCases)
    func hashes(hash: CertificateFingerprint.Hash) throws {
        let right = try RawIdentity.p256.get().fingerprint(by: hash)
        let good = try MixedPair(.client, described: [right])
        good.run()
        #expect(good.isCompleted && good.agree)
        var bytes = right.bytes
        bytes[bytes.count - 1] ^= 1
        let bad = try MixedPair(.client, described: [CertificateFingerprint(hash: hash, bytes: bytes)])
        bad.run()
        #expect(bad.failures == [.fingerprintMismatch])
    }

    @Test(
        "Of several fingerprints the strongest hash decides: a right weaker one beside a wrong stronger one does not help"
    )
    func strongest() throws {
        let identity = try RawIdentity.p256.get()
        let wrong = try CertificateFingerprint(hash: .sha512, bytes: [UInt8](repeating: 0, count: 64))
        let bad = try MixedPair(.server, described: [identity.fingerprint(), wrong])
        bad.run()
        #expect(bad.failures == [.fingerprintMismatch] && bad.keys.isEmpty)
        let good = try MixedPair(.server, described: [wrong, identity.fingerprint(by: .sha512)])
        good.run()
        #expect(good.isCompleted)
    }

    @Test(
        "A certificate that is not the described one: no keys, and the peer is told bad_certificate",
        arguments: [DTLSRole.client, .server])
    func wrongCertificate(role: DTLSRole) throws {
        let pair = try MixedPair(role, identity: RawIdentity(), described: [RawIdentity.p256.get().fingerprint()])
        pair.run()
        #expect(pair.failures == [.fingerprintMismatch])
        #expect(pair.keys.isEmpty && !pair.events.contains { $0.isCompleted })
        let alert = try #require(pair.sent.flatMap { records(of: $0) }.first { $0[0] == 21 })
        // Fatal; bad_certificate (42) or what OpenSSL calls a rejected one (46).
        #expect(alert.suffix(2) == [2, 42] || alert.suffix(2) == [2, 46])
    }

    @Test("A peer whose only fingerprint is by sha-1 or md5 cannot be described", arguments: ["sha-1", "SHA-1", "md5"])
    func weakHash(name: String) {
        let digest = [String](repeating: "AA", count: name == "md5" ? 16 : 20).joined(separator: ":")
        #expect(throws: CertificateFingerprint.ParseError.unsupportedHash) {
            try CertificateFingerprint(parsing: "\(name) \(digest)")
        }
    }

    @Test("A peer that signs with sha-1 alone is refused", arguments: [DTLSRole.client, .server])
    func weakSignature(role: DTLSRole) throws {
        let pair = try MixedPair(role) {
            $0.signatures = "ECDSA+SHA1"
            $0.ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256:@SECLEVEL=0"
        }
        pair.run()
        if role == .client { pair.expire() }
        #expect(!pair.isCompleted && pair.keys.isEmpty)
        #expect(pair.failures.count == 1)
    }

    @Test("A peer with DTLS 1.0 alone is refused with protocol_version", arguments: [DTLSRole.client, .server])
    func oldVersion(role: DTLSRole) throws {
        let pair = try MixedPair(role) {
            $0.version = DTLS1_VERSION
            $0.ciphers = "ALL:@SECLEVEL=0"
        }
        pair.run()
        #expect(pair.keys.isEmpty && !pair.raw.isEstablished)
        if role == .server {
            #expect(pair.sent.flatMap { records(of: $0) }.contains { $0[0] == 21 && $0.suffix(2) == [2, 70] })
            guard case .protocolError = pair.failures.first else {
                Issue.record("\(pair.failures)")
                return
            }
        } else {
            // It knows no suite of ours, all of them being newer, and says so in the clear.
            pair.expire()
            #expect(pair.failures == [.alert(40)])
        }
    }

    @Test("A server that answers with DTLS 1.0 all the same is told protocol_version") func oldAnswer() throws {
        let pair = try MixedPair(.client)
        pair.start()
        var hello = try #require(pair.taken().flatMap { pair.raw.take($0) }.first)
        try #require(hello[0] == 22 && hello[13] == 2)
        hello.replaceSubrange(25..<27, with: [0xFE, 0xFF])
        pair.give([hello])
        #expect(pair.taken().last?.suffix(2) == [2, 70])
        #expect(pair.failures.count == 1 && pair.keys.isEmpty)
    }

    @Test(
        "A suite without forward secrecy or without AEAD is not taken",
        arguments: ["AES128-GCM-SHA256", "ECDHE-RSA-AES128-SHA256", "ECDHE-RSA-AES128-SHA"])
    func suites(name: String) throws {
        let pair = try MixedPair(.server, identity: RawIdentity.rsa2048.get()) { $0.ciphers = name }
        pair.run()
        #expect(pair.keys.isEmpty && pair.failures.count == 1)
        #expect(pair.sent.flatMap { records(of: $0) }.contains { $0[0] == 21 && $0.suffix(2) == [2, 40] })
    }

    @Test(
        "A peer without SRTP, or with other profiles only: complete, no keys, and a failure of its own",
        arguments: [nil, "SRTP_AES128_CM_SHA1_32", "SRTP_AEAD_AES_256_GCM"] as [String?], [DTLSRole.client, .server])
    func noProfile(profiles: String?, role: DTLSRole) throws {
        let pair = try MixedPair(role) { $0.profiles = profiles }
        pair.run()
        #expect(pair.raw.profile == 0)
        #expect(pair.keys.isEmpty && !pair.events.contains { $0.isCompleted })
        #expect(pair.failures == [.noSRTPProfile])
    }

    @Test(
        "Each profile alone is agreed on",
        arguments: [
            ("SRTP_AEAD_AES_128_GCM", SRTPProfile.aeadAES128GCM), ("SRTP_AES128_CM_SHA1_80", .aes128CMHMACSHA1_80),
        ],
        [DTLSRole.client, .server])
    func profiles(name: (String, SRTPProfile), role: DTLSRole) throws {
        let pair = try MixedPair(role) { $0.profiles = name.0 }
        pair.run()
        #expect(pair.isCompleted && pair.agree)
        #expect(pair.facts.srtpProfile == name.1)
    }

    @Test("A passive end takes GCM from a browser that lists CM_SHA1_80 first") func ourOrder() throws {
        let pair = try MixedPair(.server) { $0.profiles = "SRTP_AES128_CM_SHA1_80:SRTP_AEAD_AES_128_GCM" }
        pair.run()
        #expect(pair.isCompleted)
        #expect(pair.facts.srtpProfile == .aeadAES128GCM)
    }

    @Test("A HelloVerifyRequest is answered; ours sends none") func cookie() throws {
        let asked = try MixedPair(.client) { $0.sendsCookie = true }
        asked.run()
        // Handshake message 3.
        #expect(asked.received.contains { $0[0] == 22 && $0[13] == 3 })
        #expect(asked.isCompleted && asked.agree)
        let asking = try MixedPair(.server)
        asking.run()
        #expect(asking.isCompleted)
        #expect(!asking.sent.flatMap { records(of: $0) }.contains { $0[0] == 22 && $0[13] == 3 })
    }

    /// The hello of a browser with a post-quantum key share: `first` bytes, then `second`.
    private static func browser(_ first: Int, _ second: Int) throws -> (MixedPair, [[UInt8]]) {
        let plain = try MixedPair(.server) {
            $0.mtu = 1_500
            $0.extensionBytes = 1
        }
        let hello = try #require(plain.raw.step().first)
        let wanted = (first - 25) + (second - 25)
        let pair = try MixedPair(.server) {
            $0.mtu = first
            $0.extensionBytes = wanted - (hello.count - 25) + 1
        }
        let fragments = pair.raw.step()
        try #require(fragments.map(\.count) == [first, second])
        return (pair, fragments)
    }

    @Test(
        "A browser's ClientHello in two fragments, in order, reordered, each twice, the first again after the second",
        arguments: [(1_200, 263), (1_408, 103)],
        [[0, 1], [1, 0], [0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0], [1, 0, 1, 0]])
    func fragments(sizes: (Int, Int), order: [Int]) throws {
        let (pair, fragments) = try Self.browser(sizes.0, sizes.1)
        pair.start()
        for (index, number) in order.enumerated() {
            pair.give([fragments[number]])
            let isWhole = Set(order[...index]).count == 2
            // Nothing before the second: no HelloVerifyRequest, no alert.
            #expect(pair.ours.hasDatagrams == isWhole)
        }
        var toOurs = pair.taken().flatMap { pair.raw.take($0) }
        while !toOurs.isEmpty {
            pair.give(toOurs)
            toOurs = pair.taken().flatMap { pair.raw.take($0) }
        }
        #expect(pair.isCompleted && pair.agree)
    }

    @Test(
        "The fragments of every flight reversed, then all once more, complete it",
        arguments: [DTLSRole.client, .server])
    func reordered(role: DTLSRole) throws {
        // A ChangeCipherSpec ahead of its flight is passed over by OpenSSL: that takes a repeat, not a copy.
        func shuffled(_ datagrams: [[UInt8]]) -> [[UInt8]] {
            let head = datagrams.prefix { $0[0] == 22 && $0[4] == 0 }
            return head.reversed() + head + datagrams.dropFirst(head.count)
        }
        let pair = try MixedPair(role, mtu: 256, identity: RawIdentity.rsa2048.get()) { $0.mtu = 300 }
        pair.start()
        var toOurs = pair.raw.step()
        var most = 0
        for _ in 0..<8 where !pair.isCompleted {
            pair.give(shuffled(toOurs))
            let toRaw = pair.taken()
            most = max(most, toOurs.count, toRaw.count)
            toOurs = shuffled(toRaw.flatMap { records(of: $0) }).flatMap { pair.raw.take($0) }
        }
        #expect(pair.isCompleted && pair.agree)
        #expect(pair.failures.isEmpty && pair.keys.count == 1)
        #expect(most > 3)
    }

    @Test(
        "close_notify in the middle of a call ends the association, and nothing else does",
        arguments: [DTLSRole.client, .server])
    func closing(role: DTLSRole) throws {
        let pair = try MixedPair(role)
        pair.run()
        #expect(pair.isCompleted)
        let count = pair.events.count
        pair.give(pair.raw.send([1, 2, 3]))
        #expect(pair.events.count == count)
        pair.give(pair.raw.shutdown())
        #expect(pair.events.count == count + 1 && pair.events.last?.isClosed == true)
        #expect(pair.deadline == .never)
    }

    @Test("The peer hears our close_notify", arguments: [DTLSRole.client, .server])
    func closes(role: DTLSRole) throws {
        let pair = try MixedPair(role)
        pair.run()
        pair.ours.close()
        let notify = pair.taken()
        #expect(notify.count == 1)
        for datagram in notify { pair.raw.read(datagram) }
        #expect(pair.raw.result == 0)
    }

    @Test("close_notify before completion is a failure: it is not a call that ended") func earlyClose() throws {
        let closeNotify: [UInt8] = [21, 0xFE, 0xFD, 0, 0, 0, 0, 0, 0, 0, 9, 0, 2, 1, 0]
        for carriage in [DTLSCarriage.udp, .line] {
            let pair = try MixedPair(.client)
            pair.start()
            pair.give([closeNotify], by: carriage)
            if carriage == .udp {
                #expect(pair.failures.isEmpty)
                pair.expire()
            }
            #expect(pair.failures == [.alert(0)])
            #expect(!pair.events.contains { $0.isClosed })
        }
    }

    @Test(
        "Our certificate is P-256 and valid from yesterday to next year: a peer's wrong clock does not matter",
        arguments: [DTLSRole.client, .server])
    func dates(role: DTLSRole) throws {
        let pair = try MixedPair(role)
        pair.run()
        let certificate = try #require(pair.raw.peerCertificate)
        let now = time(nil)
        for offset in [-86_000, 0, 86_400 * 364] {
            var moment = now + offset
            // -1: not after the moment; 1: after it.
            #expect(X509_cmp_time(X509_get0_notBefore(certificate), &moment) == -1, "\(offset)")
            #expect(X509_cmp_time(X509_get0_notAfter(certificate), &moment) == 1, "\(offset)")
        }
        let key = X509_get0_pubkey(certificate)
        #expect(EVP_PKEY_get_bits(key) == 256 && EVP_PKEY_get_base_id(key) == EVP_PKEY_EC)
    }
}
