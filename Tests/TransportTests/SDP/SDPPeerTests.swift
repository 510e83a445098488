import Foundation
import ICELite
import Testing

@testable import TransportMedia

/// Offers laid out as browsers, libraries and gateways lay them out.
@Suite("Session descriptions: peers") struct SDPPeerTests {
    /// What is negotiated with a peer.
    struct Peer: Sendable, CustomTestStringConvertible {
        var name: String
        var opus: UInt8
        var red: UInt8?
        var mid: String?
        var midExtension: Int?
        var audioLevelExtension: Int?
        var isReducedSize = false
        var isTrickling = true
        var isBundled = true
        var setup = DTLSSetup.actpass
        var usableCandidates = 0
        var direction = MediaDirection.sendrecv

        var testDescription: String { name }
        var text: String {
            get throws {
                try String(decoding: Data(contentsOf: RTPVectors.url("SDP/Peers/\(name).sdp")), as: UTF8.self)
            }
        }
    }

    static let peers = [
        Peer(
            name: "chromium", opus: 111, red: 63, mid: "0", midExtension: 4, audioLevelExtension: 1,
            isReducedSize: true),
        Peer(name: "firefox", opus: 109, mid: "0", midExtension: 3, audioLevelExtension: 1, usableCandidates: 1),
        Peer(name: "bundle-only", opus: 109, mid: "a1", midExtension: 3, isReducedSize: true, usableCandidates: 1),
        Peer(
            name: "safari", opus: 96, red: 97, mid: "0", midExtension: 13, audioLevelExtension: 14,
            direction: .recvonly),
        Peer(name: "freeswitch", opus: 102, isTrickling: false, isBundled: false, usableCandidates: 1),
        Peer(name: "asterisk", opus: 107, isTrickling: false, isBundled: false, usableCandidates: 1),
        Peer(name: "gstreamer", opus: 96, mid: "audio0", isReducedSize: true),
        Peer(
            name: "aiortc", opus: 96, mid: "0", midExtension: 1, audioLevelExtension: 2, isTrickling: false,
            usableCandidates: 1),
        Peer(name: "libdatachannel", opus: 111, mid: "audio"),
        Peer(
            name: "best-effort", opus: 100, isTrickling: false, isBundled: false, setup: .active, usableCandidates: 1),
    ]

    @Test(arguments: peers) func `a peer's offer is read, and answered strictly`(peer: Peer) throws {
        let remote = try RemoteMedia(offer: peer.text)
        #expect(remote.opusPayloadType.rawValue == peer.opus && remote.redPayloadType?.rawValue == peer.red)
        #expect(remote.mid == peer.mid && remote.isBundled == peer.isBundled)
        #expect(remote.midExtension == peer.midExtension && remote.audioLevelExtension == peer.audioLevelExtension)
        #expect(remote.reducedSizeRTCP == peer.isReducedSize && remote.isTrickling == peer.isTrickling)
        #expect(remote.setup == peer.setup && remote.direction == peer.direction)
        #expect(!remote.lossRLE && !remote.renomination && !remote.isLite, "not one of our own kind")
        let candidates = remote.candidates.compactMap { try? ICECandidate(parsing: $0) }.filter { $0.component == 1 }
        #expect(candidates.count == peer.usableCandidates)
        #expect(remote.fingerprints.first?.attribute == "sha-256 " + SDPFixture.digest)

        let answer = try SDPFixture.answer(peer.text)
        #expect(SDPGrammar.faults(answer.text) == [])
        let offer = WrittenSDP(try peer.text)
        #expect(answer.sections.count == offer.sections.count && answer.mediaLine.last == "\(peer.opus)")
        #expect(answer.values("mid") == [peer.mid].compactMap(\.self))
        #expect(WrittenSDP.values("group", in: answer.session) == (peer.isBundled ? ["BUNDLE \(peer.mid ?? "")"] : []))
        #expect(answer.audio.contains("a=rtcp-rsize") == peer.isReducedSize)
    }

    @Test func `a section that goes by another's transport has its credentials, and loses them without the bundle`()
        throws
    {
        let text = try Self.peers[2].text
        let remote = try RemoteMedia(offer: text)
        #expect(remote.ufrag == "1f2e3d4c" && remote.audioIndex == 1 && remote.endOfCandidates)
        // Not in a bundle, port 0 is a rejection.
        for group in ["a=group:BUNDLE v0", "a=x", "a=group:BUNDLE a1x", "a=group:LS v0 a1"] {
            let lone = text.replacingOccurrences(of: "a=group:BUNDLE v0 a1", with: group)
            #expect(SDPFixture.refusal(offer: lone) == .noAudio, "\(group)")
        }
        let open = text.replacingOccurrences(of: "m=audio 0", with: "m=audio 9")
        #expect(SDPFixture.refusal(offer: open) == nil)
        #expect(
            SDPFixture.refusal(offer: open.replacingOccurrences(of: "a=group:BUNDLE v0 a1", with: "a=x"))
                == .noRtcpMux)
        // In two bundles it goes by the first's.
        let two = text.replacingOccurrences(
            of: "a=group:BUNDLE v0 a1", with: "a=group:BUNDLE v0 a1\r\na=group:BUNDLE a1")
        #expect(try RemoteMedia(offer: two).ufrag == "1f2e3d4c")
        // What the section says itself wins over the bundle's, the bundle's over the session's.
        let own = try RemoteMedia(offer: text + "a=ice-ufrag:mine\r\na=setup:active\r\n")
        #expect(own.ufrag == "mine" && own.setup == .active)
        let session = text.replacingOccurrences(of: "m=video", with: "a=ice-ufrag:session\r\nm=video")
        #expect(try RemoteMedia(offer: session).ufrag == "1f2e3d4c")
        #expect(
            try !RemoteMedia(
                offer: text.replacingOccurrences(of: "a=bundle-only", with: "a=ice-lite")
                    .replacingOccurrences(of: "m=audio 0", with: "m=audio 9")
            ).isLite)
    }

    @Test func `of several audio sections the first that can be used counts, and one reason is told for all`() throws {
        let text = try SDPFixture.offer()
        let written = WrittenSDP(text)
        func sections(_ changes: [(String, String)]) -> String {
            let head = written.session.map { $0 + "\r\n" }.joined()
            return head
                + changes.enumerated().map { index, change in
                    written.audio.map { $0 + "\r\n" }.joined().replacingOccurrences(
                        of: "a=mid:0", with: "a=mid:\(index)"
                    )
                    .replacingOccurrences(of: change.0, with: change.1)
                }.joined()
        }
        let good = ("", "")
        let bad = [
            ("opus", "speex"), ("a=rtcp-mux", "a=x"), ("a=setup:actpass", "a=setup:passive"),
            ("m=audio 9", "m=audio 0"),
            ("a=fingerprint", "a=x"), ("m=audio", "m=text"), ("UDP/TLS/RTP/SAVPF", "UDP/BFCP"),
        ]
        for change in bad {
            #expect(try RemoteMedia(offer: sections([change, good])).audioIndex == 1, "\(change)")
            #expect(try RemoteMedia(offer: sections([good, change])).audioIndex == 0, "\(change)")
            #expect(try RemoteMedia(offer: sections([change, change, good, good])).audioIndex == 2, "\(change)")
        }
        #expect(SDPFixture.refusal(offer: sections([bad[3], bad[0], bad[1]])) == .noCommonCodec)
        #expect(SDPFixture.refusal(offer: sections([bad[1], bad[0]])) == .noRtcpMux)
        #expect(SDPFixture.refusal(offer: sections([bad[5]])) == .noAudio)
    }

    @Test func `the first source is the stream, and the first name its name`() throws {
        let remote = try SDPFixture.offered([
            "a=ssrc:7 msid:x y", "a=ssrc:8 cname:other", "a=ssrc:7 cname:one", "a=ssrc:7 cname:two",
        ])
        #expect(remote.ssrc == SSRC(7) && remote.cname == "one")
        #expect(try SDPFixture.offered(["a=ssrc-group:FID 7 8"]).ssrc == nil)
        #expect(try SDPFixture.offered(["a=ssrc:4294967295 cname:x"]).ssrc == SSRC(.max))
    }

    @Test func `names are tokens and each its own`() throws {
        let text = try SDPCase.text("SDP-16")
        let twice = text.replacingOccurrences(of: "a=mid:2", with: "a=mid:1")
        #expect(SDPFixture.refusal(offer: twice) == .badMid("1"))
        for name in ["", "a b", "a/b", "a:b", "\"a\"", "é"] {
            let odd = text.replacingOccurrences(of: "a=mid:2", with: "a=mid:\(name)")
            #expect(SDPFixture.refusal(offer: odd) == .badMid(name), "\(name)")
        }
        #expect(SDPFixture.refusal(offer: text.replacingOccurrences(of: "a=mid:2", with: "a=mid:~{2}")) == nil)
    }

    @Test func `our own kind is told by what it offers`() throws {
        var local = SDPFixture.local()
        local.understandsLossRLE = true
        let remote = try RemoteMedia(offer: SessionDescription.makeOffer(local))
        #expect(remote.lossRLE && remote.renomination)
        for (words, isUnderstood) in [
            ("pkt-loss-rle", true), ("pkt-loss-rle=1400", true), ("rcvr-rtt=all pkt-loss-rle stat-summary=loss", true),
            ("rcvr-rtt=all", false), ("pkt-loss-rles", false), ("pkt-loss-rle=x", false), ("xpkt-loss-rle", false),
            ("", false),
        ] {
            #expect(try SDPFixture.offered(["a=rtcp-xr:\(words)"]).lossRLE == isUnderstood, "\(words)")
            #expect(try SDPFixture.offered(session: ["a=rtcp-xr:\(words)"]).lossRLE == isUnderstood, "\(words)")
        }
    }

    @Test(
        arguments: [
            ("111/111", true), ("111", true), ("111/111/111", true), ("111/0", false), ("0/111", false), ("", false),
            ("111/", true), ("x", false),
        ])
    func `RED counts when all its blocks are our Opus`(blocks: String, isRED: Bool) throws {
        let text = try SDPCase.text("SDP-02").replacingOccurrences(of: "a=fmtp:63 111/111", with: "a=fmtp:63 \(blocks)")
        #expect(try RemoteMedia(offer: text).redPayloadType?.rawValue == (isRED ? 63 : nil))
        // A RED that fits comes from behind one that does not.
        let more =
            text.replacingOccurrences(of: "111 63", with: "111 63 62")
            + "a=rtpmap:62 RED/48000/2\r\na=fmtp:62 111/111\r\n"
        #expect(try RemoteMedia(offer: more).redPayloadType?.rawValue == (isRED ? 63 : 62))
    }
}
