import Foundation
import ICELite
import Testing

@testable import TransportMedia

@Suite("Session descriptions") struct SDPTests {
    private static let print =
        "3C:07:9A:51:E4:0B:77:6D:12:F8:A9:40:C3:5E:8B:21:94:DD:16:0F:B2:68:7C:E5:39:A0:4B:F1:53:8E:27:C6"

    private func text(_ name: String) throws -> String {
        try String(contentsOf: RTPVectors.url("SDP/\(name)"), encoding: .utf8)
    }

    private func offer(_ name: String) throws -> RemoteMedia { try RemoteMedia(offer: text(name + ".sdp")) }

    private func answer(_ name: String) throws -> String {
        try SessionDescription.makeAnswer(to: offer(name), local())
    }

    private func local() -> LocalMedia {
        var local = LocalMedia(
            ufrag: "ours", password: "0123456789012345678901", isLite: true, fingerprint: "sha-256 " + Self.print,
            ssrc: SSRC(77), cname: "call", sessionID: 42)
        local.candidates = ["candidate:1 1 udp 2130706431 192.0.2.1 5000 typ host"]
        local.endOfCandidates = true
        return local
    }

    private func error(_ body: () throws(SDPError) -> Void) -> SDPError? {
        do throws(SDPError) {
            try body()
            return nil
        } catch { return error }
    }

    private func lines(_ text: String) -> [String] { text.components(separatedBy: "\r\n") }

    // MARK: - Offers from bug reports. Where a case says setup:active, our pages win: our answer is passive.

    @Test("SDP-01: Firefox, attributes at session level, sendonly") func firefox() throws {
        let remote = try offer("SDP-01")
        #expect(remote.opusPayloadType.rawValue == 109 && remote.direction == .sendonly && remote.ufrag == "aB3x")
        #expect(remote.fingerprints == ["sha-256 " + Self.print] && remote.isTrickling && !remote.isRenominating)
        #expect(remote.candidates.count == 2 && remote.endOfCandidates && remote.ssrc == SSRC(286_331_153))
        #expect(remote.opus.isStereo && remote.opus.usesInBandFEC)
        let answer = lines(try answer("SDP-01"))
        for line in ["m=audio 9 UDP/TLS/RTP/SAVPF 109", "a=recvonly", "a=setup:passive", "a=group:BUNDLE 0"] {
            #expect(answer.contains(line), "\(line)")
        }
    }

    @Test("SDP-02: Chromium; RED is understood, and not answered as long as we have none") func chromium() throws {
        let remote = try offer("SDP-02")
        #expect(remote.opusPayloadType.rawValue == 111 && remote.redPayloadType?.rawValue == 63)
        #expect(remote.cname == "Zz9Yy8Xx7Ww6" && remote.candidates.isEmpty && !remote.endOfCandidates)
        let answer = try answer("SDP-02")
        for word in ["red/", "G722", "CN/", "a=rtcp-rsize", "extmap"] { #expect(!answer.contains(word), "\(word)") }
        #expect(answer.contains("a=setup:passive\r\n"))
    }

    @Test("SDP-04: everything at session level is inherited") func sessionLevel() throws {
        let remote = try offer("SDP-04")
        #expect(remote.ufrag == "aB3x" && remote.setup == .actpass && remote.fingerprints.count == 1)
    }

    @Test("SDP-06, -11, -25, -30, -32: what cannot be used says why") func refused() throws {
        #expect(error { () throws(SDPError) in _ = try RemoteMedia(offer: noFail("SDP-06")) } == .badSetup(nil))
        #expect(error { () throws(SDPError) in _ = try RemoteMedia(offer: noFail("SDP-11")) } == .badFingerprint)
        #expect(error { () throws(SDPError) in _ = try RemoteMedia(offer: noFail("SDP-25")) } == .noRtcpMux)
        #expect(error { () throws(SDPError) in _ = try RemoteMedia(offer: noFail("SDP-32")) } == .grammar(line: 5))
        // We offered 109, it answers 111.
        var ours = local()
        ours.opusPayloadType = PayloadType(maskingHeaderByte: 109)
        #expect(
            error { () throws(SDPError) in _ = try RemoteMedia(answer: noFail("SDP-30"), to: ours) }
                == .payloadTypeNotOffered(111))
        #expect(
            error { () throws(SDPError) in _ = try RemoteMedia(answer: noFail("SDP-28"), to: local()) }
                == .badSetup("actpass"))
    }

    private func noFail(_ name: String) -> String { (try? text(name + ".sdp")) ?? "" }

    @Test("SDP-08, -09: several fingerprints, any case") func fingerprints() throws {
        #expect(try offer("SDP-08").fingerprints.map { $0.prefix(7) } == ["sha-256", "sha-384", "sha-512"])
        #expect(try offer("SDP-09").fingerprints == ["sha-256 " + Self.print])
    }

    @Test("SDP-11: each malformed fingerprint is refused, sha-1 and md5 too") func malformedFingerprints() throws {
        struct Row: Decodable {
            var line: String
            var ok: Bool
        }
        let rows = try JSONDecoder().decode([Row].self, from: Data(contentsOf: RTPVectors.url("SDP/SDP-11.json")))
        let good = try text("SDP-23.sdp")
        for row in rows {
            let changed = good.replacingOccurrences(of: "a=fingerprint:sha-256 " + Self.print, with: row.line)
            #expect((try? RemoteMedia(offer: changed)) != nil || !row.ok, "\(row.line)")
            #expect((try? RemoteMedia(offer: changed)) == nil || row.ok, "\(row.line)")
        }
        let sha1 = good.replacingOccurrences(of: "sha-256 " + Self.print, with: "sha-1 " + Self.print.prefix(59))
        #expect(error { () throws(SDPError) in _ = try RemoteMedia(offer: sha1) } == .noFingerprint)
    }

    @Test("SDP-12, -13: line ends, blank lines and an empty name are taken") func lineEnds() throws {
        #expect(try offer("SDP-12").opusPayloadType.rawValue == 111)
        #expect(try offer("SDP-13").opusPayloadType.rawValue == 111)
    }

    @Test("SDP-14: every candidate line is handed on as it is") func candidates() throws {
        let remote = try offer("SDP-14")
        #expect(remote.candidates.count == 15 && remote.candidates.allSatisfy { $0.hasPrefix("candidate:") })
    }

    @Test("SDP-16: video and data are rejected in their places") func otherSections() throws {
        let answer = lines(try answer("SDP-16"))
        #expect(
            answer.filter { $0.hasPrefix("m=") } == [
                "m=audio 9 UDP/TLS/RTP/SAVPF 111", "m=video 0 UDP/TLS/RTP/SAVPF 96",
                "m=application 0 UDP/DTLS/SCTP webrtc-datachannel",
            ])
        #expect(answer.filter { $0.hasPrefix("a=group") } == ["a=group:BUNDLE 0"])
    }

    @Test("SDP-19, -20: Opus by name, rate and channels; its parameters clamped") func opus() throws {
        #expect(try offer("SDP-19").opusPayloadType.rawValue == 99)
        #expect(try answer("SDP-19").contains("a=rtpmap:99 opus/48000/2\r\n"))
        let parameters = try offer("SDP-20").opus
        #expect(parameters.usesInBandFEC && parameters.usesDTX && parameters.isStereo && !parameters.sendsStereo)
        #expect(parameters.maximumAverageBitsPerSecond == 510_000 && parameters.packetTime == 40)
    }

    @Test("SDP-22, -23: no extension, and reduced-size RTCP only when offered") func extensions() throws {
        #expect(try !answer("SDP-22").contains("extmap"))
        #expect(try !answer("SDP-23").contains("a=rtcp-rsize"))
    }

    @Test("SDP-24: a SIP gateway without mid and BUNDLE") func gateway() throws {
        let answer = try answer("SDP-24")
        #expect(!answer.contains("a=mid") && !answer.contains("a=group"))
        #expect(answer.contains("m=audio 9 RTP/SAVPF 111\r\n"))
    }

    @Test("SDP-27: lite is a session-level word") func lite() throws {
        let remote = try offer("SDP-27")
        #expect(remote.isLite && remote.isRenominating && !remote.isTrickling)
        let moved = try text("SDP-23.sdp").replacingOccurrences(of: "a=mid:0", with: "a=mid:0\r\na=ice-lite")
        #expect(try !RemoteMedia(offer: moved).isLite)
    }

    // MARK: - Our own

    @Test("SDP-31: our offer and answer are strict, and each end reads the other's") func ours() throws {
        let text = SessionDescription.makeOffer(local())
        #expect(text.hasSuffix("\r\n") && !text.replacingOccurrences(of: "\r\n", with: "").contains("\n"))
        #expect(
            text.hasPrefix(
                "v=0\r\no=- 42 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\na=ice-lite\r\nm=audio 9 "))
        let offer = try RemoteMedia(offer: text)
        #expect(offer.setup == .actpass && offer.isRenominating && offer.isTrickling && offer.isLite && offer.rsize)
        #expect(offer.candidates == local().candidates && offer.endOfCandidates && offer.ssrc == SSRC(77))
        #expect(offer.redPayloadType == nil && offer.isBundled)
        let answer = try RemoteMedia(answer: SessionDescription.makeAnswer(to: offer, local()), to: local())
        #expect(answer.setup == .passive && answer.mid == "0" && answer.fingerprints == ["sha-256 " + Self.print])
    }

    @Test(
        "An answer that does not fit its offer is refused",
        arguments: [
            ("a=mid:0", "a=mid:7", SDPError.wrongMid("7")),
            ("a=setup:passive", "a=setup:actpass", .badSetup("actpass")),
            ("a=setup:passive", "a=x", .badSetup(nil)), ("a=rtcp-mux\r\n", "", .noRtcpMux),
            ("opus/48000/2", "opus/16000/2", .noCommonCodec), ("m=audio 9", "m=audio 0", .noAudio),
            ("a=ice-pwd:", "a=ice-pwd:!", .badCredentials), ("UDP/TLS/RTP/SAVPF", "RTP/AVP", .badProtocol("RTP/AVP")),
            ("v=0", "v=1", .grammar(line: 1)), ("s=-", "nonsense", .grammar(line: 3)),
            ("a=fingerprint", "a=fingerprints", .noFingerprint),
        ])
    func answerInvalid(old: String, new: String, expected: SDPError) throws {
        let good = try SessionDescription.makeAnswer(
            to: RemoteMedia(offer: SessionDescription.makeOffer(local())), local())
        let bad = good.replacingOccurrences(of: old, with: new)
        #expect(error { () throws(SDPError) in _ = try RemoteMedia(answer: bad, to: local()) } == expected)
    }

    @Test("An offer that wants us active cannot be answered") func passiveOffer() throws {
        let bad = SessionDescription.makeOffer(local()).replacingOccurrences(of: "setup:actpass", with: "setup:passive")
        #expect(error { () throws(SDPError) in _ = try RemoteMedia(offer: bad) } == .badSetup("passive"))
    }

    @Test("A line break in a candidate cannot begin a line of its own") func injection() throws {
        var media = local()
        media.candidates = ["candidate:1 1 udp 1 192.0.2.1 1 typ host\r\na=setup:active"]
        #expect(!SessionDescription.makeOffer(media).contains("setup:active"))
    }

    @Test("Candidate attributes of the line are cut to what they are") func trickle() {
        #expect(
            SessionDescription.candidateAttribute("a=candidate:1 1 udp 1 1.2.3.4 5 typ host\r\n")
                == "candidate:1 1 udp 1 1.2.3.4 5 typ host")
        #expect(SessionDescription.candidateAttribute("nonsense") == nil)
        #expect(SessionDescription.candidateAttribute("candidate:" + String(repeating: "x", count: 600)) == nil)
        #expect(SessionDescription.candidateAttribute("candidate:1\nx") == nil)
    }

    @Test("Sizes are bounded") func sizes() throws {
        let good = try text("SDP-23.sdp")
        #expect(
            error { () throws(SDPError) in
                _ = try RemoteMedia(offer: good + String(repeating: "a=x:yyyyyyy\r\n", count: 6_000))
            } == .tooLarge)
        let many = good + String(repeating: "a=candidate:1 1 udp 1 1.2.3.4 5 typ host\r\n", count: 1_400)
        #expect(try RemoteMedia(offer: many).candidates.count == RemoteMedia.maximumCandidateCount)
        #expect((try? RemoteMedia(offer: good.replacingOccurrences(of: "a=mid:0", with: "a=mid:\0"))) == nil)
    }

    @Test("Of all the maps that fit into an offer each is read once, and the first of a format counts") func maps()
        throws
    {
        let formats = (96...127).map(String.init).joined(separator: " ")
        let many = String(repeating: "a=rtpmap:96 x/8000\r\na=rtpmap:y\r\n", count: 1_800)
        let text = SessionDescription.makeOffer(local())
            .replacingOccurrences(of: "SAVPF 111\r\n", with: "SAVPF \(formats)\r\n\(many)")
        let twice = text + "a=rtpmap:96 opus/48000/2\r\na=rtpmap:111 x/8000\r\n"
        #expect(try RemoteMedia(offer: twice).opusPayloadType == .defaultOpus)
        let audio = try #require(try SDPDocument(parsing: twice).sections.first)
        #expect(audio.valuesByFormat("rtpmap") == [96: "x/8000", 111: "opus/48000/2"])
    }

    @Test("Truncated at every length and mutated, nothing traps") func hostile() throws {
        var randomness = Randomness.seeded(3)
        for name in ["SDP-01", "SDP-02", "SDP-16", "SDP-20"] {
            let bytes = Array(try text(name + ".sdp").utf8)
            let whole = try RemoteMedia(offer: String(decoding: bytes, as: UTF8.self))
            for count in 0..<bytes.count {
                guard let cut = try? RemoteMedia(offer: String(decoding: bytes[..<count], as: UTF8.self)) else {
                    continue
                }
                // What is left can only be less.
                #expect(cut.candidates.count <= whole.candidates.count)
                #expect(cut.fingerprints.count <= whole.fingerprints.count)
            }
            #expect((try? RemoteMedia(offer: String(decoding: bytes.prefix(60), as: UTF8.self))) == nil)
            for _ in 0..<400 {
                var changed = bytes
                for _ in 0...3 {
                    changed[Int.random(in: 0..<bytes.count, using: &randomness)] = UInt8(
                        truncatingIfNeeded: randomness.next())
                }
                if let remote = try? RemoteMedia(offer: String(decoding: changed, as: UTF8.self)) {
                    _ = try? SessionDescription.makeAnswer(to: remote, local())
                }
            }
        }
    }
}
