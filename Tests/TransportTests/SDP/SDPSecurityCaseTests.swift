// The names of cases keep their ids.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import COpenSSL
import Foundation
import ICELite
import Testing

@testable import TransportMedia

/// Cases of public bug reports: certificates, roles, and what is refused.
@Suite("Session descriptions: cases of security and refusal") struct SDPSecurityCaseTests {
    private struct Certificates: Decodable {
        var peerCertDerHex: String
        var otherCertDerHex: String
        var peerFingerprints: [String: String]
        var otherSha256: String
    }

    /// OpenSSL's digest of `bytes`.
    private func fingerprint(
        of bytes: [UInt8], by hash: CertificateFingerprint.Hash
    ) throws -> CertificateFingerprint {
        var digest = [UInt8](repeating: 0, count: hash.length)
        switch hash {
        case .sha256: _ = SHA256(bytes, bytes.count, &digest)
        case .sha384: _ = SHA384(bytes, bytes.count, &digest)
        case .sha512: _ = SHA512(bytes, bytes.count, &digest)
        }
        return try CertificateFingerprint(hash: hash, bytes: digest)
    }

    @Test func `SDP_08 all fingerprints are kept, each fits the one certificate and none another`() throws {
        let expect = try SDPCase.expectation("SDP-08")
        let table = try SDPCase.table("SDP-08", as: Certificates.self)
        #expect(expect.ok == true)
        #expect(expect.accepts == "peer_cert_der_hex" && expect.rejects == "other_cert_der_hex")
        let text = try SDPCase.text("SDP-08")
        let remote = try RemoteMedia(offer: text)
        #expect(remote.fingerprints.map(\.hash) == [.sha256, .sha384, .sha512])
        let peer = RTPVectors.bytes(hex: table.peerCertDerHex)
        let other = RTPVectors.bytes(hex: table.otherCertDerHex)
        for kept in remote.fingerprints {
            #expect(kept == (try fingerprint(of: peer, by: kept.hash)))
            #expect(kept != (try fingerprint(of: other, by: kept.hash)))
        }
        #expect(try fingerprint(of: other, by: .sha256).attribute == "sha-256 " + table.otherSha256)
        // Unknown and weak hashes beside them are passed over, wherever they stand.
        let weak =
            "a=fingerprint:sha-1 \(try #require(table.peerFingerprints["sha-1"]))\r\na=fingerprint:sha3-256 AA\r\n"
        #expect(try RemoteMedia(offer: text + weak).fingerprints == remote.fingerprints)
        let first = text.replacingOccurrences(of: "a=setup", with: weak + "a=setup")
        #expect(try RemoteMedia(offer: first).fingerprints == remote.fingerprints)
        // More than are kept: the first ones.
        let many = String(repeating: "a=fingerprint:sha-256 \(SDPFixture.digest)\r\n", count: 20)
        #expect(try RemoteMedia(offer: text + many).fingerprints.count == RemoteMedia.maximumFingerprintCount)
    }

    @Test(arguments: [[0, 1, 2], [2, 1, 0], [1], [2, 0]])
    func `SDP_08 a handshake completes by fingerprints that went through a description, in any order`(
        order: [Int]
    ) throws {
        let pair = try DTLSPair()
        let certificate = try #require(DTLSPair.identities.1)
        let hashes = order.map { CertificateFingerprint.Hash.allCases[$0] }
        let lines = try hashes.map { "a=fingerprint:\(try #require(certificate.fingerprint(by: $0)).attribute)" }
        let text = try SDPCase.text("SDP-06") + (lines + ["a=setup:actpass"]).map { $0 + "\r\n" }.joined()
        let bare = text.replacingOccurrences(of: "a=fingerprint:sha-256 \(SDPFixture.digest)\r\n", with: "")
        let remote = try RemoteMedia(offer: bare)
        #expect(remote.fingerprints.map(\.hash) == hashes)
        pair.client.setRemoteFingerprints(remote.fingerprints)
        pair.server.setRemoteFingerprints([try #require(DTLSPair.identities.0).fingerprint])
        pair.run()
        #expect(pair.done)
    }

    @Test func `SDP_09 hash names and digits count in any case`() throws {
        let expect = try SDPCase.expectation("SDP-09")
        let wanted = try #require(expect.fingerprint)
        let remote = try RemoteMedia(offer: try SDPCase.text("SDP-09"))
        #expect(expect.ok == true && remote.fingerprints.map(\.attribute) == ["sha-256 " + wanted])
        for line in ["sHa-256 " + wanted, "sha-256 " + wanted.lowercased(), "SHA-256  " + wanted + " "] {
            let text = try SDPCase.text("SDP-23").replacingOccurrences(
                of: "sha-256 " + SDPFixture.digest, with: line)
            #expect(try RemoteMedia(offer: text).fingerprints == remote.fingerprints, "\(line)")
        }
    }

    @Test func `SDP_11 a malformed fingerprint is none`() throws {
        struct Row: Decodable {
            var line: String
            var ok: Bool
        }
        let expect = try SDPCase.expectation("SDP-11")
        #expect(expect.ok == false && expect.error == "bad fingerprint")
        #expect(SDPFixture.refusal(offer: try SDPCase.text("SDP-11")) == .badFingerprint)
        let rows = try SDPCase.table("SDP-11", as: [Row].self)
        #expect(rows.count == 5)
        let good = "a=fingerprint:sha-256 " + SDPFixture.digest
        let text = try SDPCase.text("SDP-23")
        for row in rows {
            let refusal = SDPFixture.refusal(offer: text.replacingOccurrences(of: good, with: row.line))
            #expect(refusal == (row.ok ? nil : .badFingerprint), "\(row.line)")
            // Beside a good one it takes nothing away.
            let beside = try RemoteMedia(offer: text + row.line + "\r\n")
            #expect(beside.fingerprints.first?.attribute == "sha-256 " + SDPFixture.digest, "\(row.line)")
            #expect(beside.fingerprints.count == (row.ok ? 2 : 1), "\(row.line)")
        }
        // The whole kind: cut at every length, a byte more, any byte that is no digit of the digest.
        for count in good.indices.dropFirst("a=fingerprint:".count) {
            let cut = text.replacingOccurrences(of: good, with: good[..<count])
            #expect(SDPFixture.refusal(offer: cut) != nil, "\(good[..<count])")
        }
        for odd in [good + ":00", good + "0", good + " x", good + String(repeating: " ", count: 300) + "x"] {
            #expect(SDPFixture.refusal(offer: text.replacingOccurrences(of: good, with: odd)) == .badFingerprint)
        }
        for odd in ["G", ".", "é", " "] {
            let changed = good.replacingOccurrences(of: "3C:07", with: "3\(odd):07")
            #expect(SDPFixture.refusal(offer: text.replacingOccurrences(of: good, with: changed)) == .badFingerprint)
        }
    }

    @Test func `SDP_25 without rtcp-mux there is no path`() throws {
        let expect = try SDPCase.expectation("SDP-25")
        let text = try SDPCase.text("SDP-25")
        let refusal = try #require(SDPFixture.refusal(offer: text))
        #expect(expect.ok == false && refusal == .noRtcpMux)
        #expect(refusal.description.hasSuffix(try #require(expect.error)))
        // To want nothing but mux, and not to offer it, is the same.
        #expect(SDPFixture.refusal(offer: text + "a=rtcp-mux-only\r\n") == .noRtcpMux)
        #expect(SDPFixture.refusal(offer: text + "a=rtcp-mux\r\n") == nil)
        // It is a section's word.
        let session = text.replacingOccurrences(of: "m=audio", with: "a=rtcp-mux\r\nm=audio")
        #expect(SDPFixture.refusal(offer: session) == .noRtcpMux)
        let ours = SessionDescription.makeOffer(SDPFixture.local())
        let answer = try SDPFixture.answer(ours).text
        #expect(
            SDPFixture.refusal(answer: answer.replacingOccurrences(of: "a=rtcp-mux\r\n", with: "")) == .noRtcpMux)
    }

    @Test func `SDP_27 lite is a word of the session, and decides the role whoever offers`() throws {
        struct Row: Decodable {
            var we: String
            var peer: String
            var weOffer: Bool
            var role: String
            var checksSent: Int?
        }
        let expect = try SDPCase.expectation("SDP-27")
        let remote = try RemoteMedia(offer: try SDPCase.text("SDP-27"))
        #expect(expect.ok == true && remote.isLite && remote.renomination && !remote.isTrickling)
        func role(isOfferer: Bool, isLite: Bool, peerIsLite: Bool) -> String {
            "\(ICERoleDecision(isOfferer: isOfferer, isLite: isLite, peerIsLite: peerIsLite).role)"
        }
        #expect(role(isOfferer: false, isLite: false, peerIsLite: remote.isLite) == expect.ourRoleFull)
        #expect(role(isOfferer: false, isLite: true, peerIsLite: remote.isLite) == expect.ourRoleLite)
        let rows = try SDPCase.table("SDP-27", as: [Row].self)
        #expect(rows.count == 8)
        for row in rows {
            #expect(
                role(isOfferer: row.weOffer, isLite: row.we == "lite", peerIsLite: row.peer == "lite") == row.role,
                "\(row)")
            let ends = ICERoleDecision(isOfferer: row.weOffer, isLite: row.we == "lite", peerIsLite: row.peer == "lite")
            if row.checksSent == 0 { #expect(!ends.sendsChecks && ends.selectsWithoutChecks, "\(row)") }
        }
        // In a section it says nothing, not even beside another word of the session's.
        #expect(try !SDPFixture.offered(["a=ice-lite"]).isLite)
        #expect(try SDPFixture.offered(session: ["a=ice-lite"]).isLite)
        #expect(try SDPFixture.offered(session: ["a=ice-options:ice2,trickle"]).isTrickling)
        #expect(try !SDPFixture.offered(session: ["a=ice-options:trickle"], ["a=ice-options:ice2"]).isTrickling)
    }

    @Test func `SDP_28 an answer must have chosen its role`() throws {
        let expect = try SDPCase.expectation("SDP-28")
        let text = try SDPCase.text("SDP-28")
        #expect(expect.ok == false && expect.error == "setup actpass in answer")
        #expect(SDPFixture.refusal(answer: text) == .badSetup("actpass"))
        for (word, refusal) in [
            ("active", nil), ("passive", nil), ("holdconn", SDPError.badSetup("holdconn")), ("", .badSetup("")),
            ("ACTPASS", .badSetup("ACTPASS")),
        ] {
            let changed = text.replacingOccurrences(of: "setup:actpass", with: "setup:\(word)")
            #expect(SDPFixture.refusal(answer: changed) == refusal, "\(word)")
        }
    }

    @Test func `SDP_30 a payload type that we never offered fails loudly`() throws {
        let expect = try SDPCase.expectation("SDP-30")
        var ours = SDPFixture.local()
        ours.opusPayloadType = PayloadType(maskingHeaderByte: 109)
        let text = try SDPCase.text("SDP-30")
        let refusal = try #require(SDPFixture.refusal(answer: text, to: ours))
        #expect(expect.orError == "payload type not offered" && refusal == .payloadTypeNotOffered(111))
        #expect(refusal.description == "payload type 111 was not offered")
        #expect(SDPFixture.refusal(answer: text) == nil, "111 was offered here")
        // Ours among others is ours, wherever it stands.
        for list in ["109 111", "111 109", "0 111 8 109"] {
            let both =
                text.replacingOccurrences(of: "SAVPF 111", with: "SAVPF \(list)") + "a=rtpmap:109 opus/48000/2\r\n"
            #expect(try RemoteMedia(answer: both, to: ours).opusPayloadType == ours.opusPayloadType, "\(list)")
        }
    }
}
