// The names of cases keep their ids.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Foundation
import ICELite
import Testing

@testable import TransportMedia

/// What we write is strict, whatever it answers.
@Suite("Session descriptions: our own") struct SDPOutputTests {
    @Test func `SDP_31 our offer has the golden shape, and is read as it was meant`() throws {
        let expect = try SDPCase.expectation("SDP-31")
        #expect(expect.ok == true && expect.goldenShape == true)
        let golden = WrittenSDP(try SDPCase.text("SDP-31"))
        let text = SessionDescription.makeOffer(SDPFixture.local(isLite: false))
        #expect(SDPGrammar.faults(text) == [])
        let ours = WrittenSDP(text)
        #expect(ours.session.map { $0.prefix(2) } == golden.session.map { $0.prefix(2) })
        #expect(ours.session.dropFirst(2) == golden.session.dropFirst(2))
        #expect(ours.sections.count == 1 && ours.audio.prefix(2) == golden.audio.prefix(2))
        func names(_ lines: [String]) -> Set<Substring> { Set(lines.map { $0.prefix { $0 != ":" } }) }
        #expect(names(golden.audio).subtracting(names(ours.audio)) == ["a=end-of-candidates"])
        let read = try RemoteMedia(offer: text)
        #expect(read.setup == .actpass && read.renomination && read.isTrickling && !read.isLite && read.reducedSizeRTCP)
        #expect(read.candidates == SDPFixture.local().candidates && read.ssrc == SSRC(77) && read.cname == "call")
        #expect(read.redPayloadType == nil && read.isBundled && read.mid == "0" && !read.endOfCandidates)
        #expect(read.audioLevelExtension == 1 && read.midExtension == 4 && !read.allowsMixedExtensions)
        #expect(!read.lossRLE && read.opus.usesDTX && read.opus.packetTime == 20)
    }

    @Test func `SDP_31 what is written of every kind of local end is strict`() throws {
        let lists: [[String]] = [
            [], ["candidate:1 1 udp 2130706431 192.0.2.1 5000 typ host"],
            ["candidate:1 1 udp 2130706431 2001:db8::1 5000 typ host"],
            [
                "candidate:1 1 udp 2130706431 2001:db8::1 5000 typ host",
                "candidate:2 1 UDP 1694498815 203.0.113.5 5001 typ srflx raddr 192.0.2.1 rport 5000 generation 0",
            ],
            // None of these may get out as they are.
            [
                "candidate:1 2 udp 2130706431 192.0.2.1 5001 typ host",
                "candidate:1 1 tcp 2130706431 192.0.2.1 9 typ host tcptype active",
                "candidate:1 1 udp 1 0.0.0.0 5000 typ host", "candidate:1 1 udp 1 192.0.2.1 0 typ host",
                "candidate:1 1 udp 1 fe80::1%eth0 5000 typ host", "candidate:1 1 udp 1 a.local 5000 typ host",
                "candidate:1 1 udp 1 192.0.2.1 5000 typ host\r\na=setup:active",
                "candidate:1 1 udp 1 192.0.2.1 5000 typ host x y\r\na=setup:active", "nonsense", "",
            ],
        ]
        for list in lists {
            for isLite in [true, false] {
                for isWhole in [true, false] {
                    var local = SDPFixture.local(isLite: isLite)
                    local.candidates = list
                    local.endOfCandidates = isWhole
                    local.understandsLossRLE = isWhole
                    local.sessionID = .max
                    local.opusPayloadType = PayloadType(maskingHeaderByte: isLite ? 96 : 111)
                    let offer = SessionDescription.makeOffer(local)
                    #expect(SDPGrammar.faults(offer) == [], "\(offer)")
                    #expect(!offer.contains("setup:active"))
                    let answer = try SessionDescription.makeAnswer(to: RemoteMedia(offer: offer), local)
                    #expect(SDPGrammar.faults(answer) == [], "\(answer)")
                    let read = try RemoteMedia(answer: answer, to: local)
                    #expect(read.isLite == isLite && read.lossRLE == isWhole && read.setup == .passive)
                    #expect(read.candidates.count == WrittenSDP(offer).values("candidate").count)
                }
            }
        }
    }

    @Test(arguments: SDPCase.offers)
    func `SDP_31 every answer is strict and mirrors its offer`(id: String) throws {
        let text = try SDPCase.text(id).replacingOccurrences(of: "setup:passive", with: "setup:actpass")
        let offer = WrittenSDP(text)
        let answer = try SDPFixture.answer(text)
        #expect(SDPGrammar.faults(answer.text) == [])
        #expect(answer.sections.count == offer.sections.count)
        for (theirs, ours) in zip(offer.sections, answer.sections) {
            #expect(WrittenSDP.values("mid", in: theirs) == WrittenSDP.values("mid", in: ours))
            let (left, right) = (theirs[0].split(separator: " "), ours[0].split(separator: " "))
            #expect(left[0] == right[0] && left[2] == right[2], "media and transport")
            #expect(Set(right[3...]).isSubset(of: left[3...]), "formats are of those offered")
            let extensions = Set(WrittenSDP.values("extmap", in: ours))
            #expect(extensions.isSubset(of: WrittenSDP.values("extmap", in: theirs)), "and extensions")
        }
        #expect(offer.text.contains("a=group:BUNDLE") == answer.text.contains("a=group:BUNDLE"))
        // It is read back as what it says, by the end that offered with these numbers.
        var offerer = SDPFixture.local()
        offerer.mid = answer.values("mid").first ?? "0"
        offerer.opusPayloadType = try #require(answer.mediaLine.last.flatMap { Int($0) }.flatMap(PayloadType.init))
        if answer.sections.count == 1, !answer.mediaLine[2].hasSuffix("/AVPF") {
            let read = try RemoteMedia(answer: answer.text, to: offerer)
            #expect(read.ufrag == "ours" && read.isLite && read.endOfCandidates && read.candidates.count == 1)
        }
    }

    @Test func `SDP_24 a gateway's offer without mid and bundle is answered without them`() throws {
        let expect = try SDPCase.expectation("SDP-24")
        let wanted = try #require(expect.answer)
        let text = try SDPCase.text("SDP-24")
        let answer = try SDPFixture.answer(text)
        #expect(expect.ok == true && answer.mediaLine[2] == wanted.proto)
        #expect(answer.mediaLine.last.flatMap { Int($0) } == wanted.opusPt)
        for word in try #require(wanted.mustNotContain) { #expect(!answer.text.contains(word), "\(word)") }
        // It does not trickle, so the media line says where we are.
        #expect(answer.mediaLine[1] == "5000" && answer.audio[1] == "c=IN IP4 192.0.2.1")
        // A mid without a bundle is mirrored, a bundle without our mid is not.
        let named = try SDPFixture.answer(text + "a=mid:a1\r\n")
        #expect(named.values("mid") == ["a1"] && !named.text.contains("a=group"))
        let foreign = text.replacingOccurrences(of: "m=audio", with: "a=group:BUNDLE v1\r\nm=audio") + "a=mid:a1\r\n"
        #expect(try !SDPFixture.answer(foreign).text.contains("a=group"))
        let lip = text.replacingOccurrences(of: "m=audio", with: "a=group:LS a1\r\nm=audio") + "a=mid:a1\r\n"
        #expect(try !SDPFixture.answer(lip).text.contains("a=group"))
        // Every profile that means DTLS-SRTP is echoed; what cannot mean it is not.
        for profile in [
            "RTP/AVP", "RTP/AVPF", "RTP/SAVP", "UDP/TLS/RTP/SAVP", "TCP/DTLS/RTP/SAVPF", "udp/tls/rtp/savpf",
        ] {
            let changed = text.replacingOccurrences(of: "RTP/SAVPF", with: profile)
            #expect(try SDPFixture.answer(changed).mediaLine[2] == profile)
        }
        for profile in ["UDP/BFCP", "UDP/DTLS/SCTP", "udp", "SAVPF"] {
            let changed = text.replacingOccurrences(of: "RTP/SAVPF", with: profile)
            #expect(SDPFixture.refusal(offer: changed) == .badProtocol(profile))
        }
        let plain = try SDPCase.text("SDP-30").replacingOccurrences(of: "UDP/TLS/RTP/SAVPF", with: "RTP/AVP")
        #expect(SDPFixture.refusal(answer: plain) == .badProtocol("RTP/AVP"), "we offered nothing of that kind")
    }

    @Test func `a restart changes credentials and version, and nothing else`() throws {
        let first = SDPFixture.local()
        var second = first
        second.ufrag = "next"
        second.password = "abcdefghijklmnopqrstuv"
        second.sessionVersion += 1
        func changes(_ make: (LocalMedia) throws -> String) rethrows -> [String] {
            let (old, new) = (WrittenSDP(try make(first)), WrittenSDP(try make(second)))
            let lines = zip(old.session + old.audio, new.session + new.audio)
            return lines.filter { $0 != $1 }.map { $1 }
        }
        let changed = ["o=- 42 2 IN IP4 127.0.0.1", "a=ice-ufrag:next", "a=ice-pwd:abcdefghijklmnopqrstuv"]
        #expect(changes { SessionDescription.makeOffer($0) } == changed)
        for id in ["SDP-02", "SDP-16", "SDP-24"] {
            let offer = try RemoteMedia(offer: try SDPCase.text(id))
            #expect(try changes { try SessionDescription.makeAnswer(to: offer, $0) } == changed, "\(id)")
        }
        // The browser's own restart: the answer differs in ours alone.
        let offer = try SDPCase.text("SDP-02")
        let restart = offer.replacingOccurrences(of: "aB3x", with: "cD4y").replacingOccurrences(
            of: " 2 IN", with: " 3 IN")
        let read = try RemoteMedia(offer: restart)
        #expect(read.ufrag == "cD4y")
        #expect(try changes { try SessionDescription.makeAnswer(to: read, $0) } == changed)
    }

    @Test(
        arguments: [
            (MediaDirection.sendrecv, MediaDirection.sendrecv), (.sendonly, .recvonly), (.recvonly, .sendonly),
            (.inactive, .inactive),
        ])
    func `a direction is answered by its opposite, and a stream is named only by one who sends`(
        offered: MediaDirection, answered: MediaDirection
    ) throws {
        let text = try SDPFixture.offer().replacingOccurrences(of: "a=sendrecv", with: "a=\(offered.rawValue)")
        let answer = try SDPFixture.answer(text)
        #expect(SDPGrammar.faults(answer.text) == [])
        #expect(answer.audio.contains("a=\(answered.rawValue)"))
        #expect(answer.values("ssrc").isEmpty == (answered == .recvonly || answered == .inactive))
    }

    @Test(
        arguments: [
            ("a=mid:0", "a=mid:7", SDPError.wrongMid("7")), ("a=mid:0", "a=mid:0 1", .badMid("0 1")),
            ("a=setup:passive", "a=setup:actpass", .badSetup("actpass")),
            ("a=setup:passive", "a=x", .badSetup(nil)), ("a=rtcp-mux\r\n", "", .noRtcpMux),
            ("opus/48000/2", "opus/16000/2", .noCommonCodec), ("m=audio 5000", "m=audio 0", .noAudio),
            ("m=audio", "m=video", .noAudio), ("a=ice-pwd:", "a=ice-pwd:!", .badCredentials),
            ("a=ice-ufrag:ours", "a=ice-ufrag:abc", .badCredentials),
            ("UDP/TLS/RTP/SAVPF", "RTP/AVP", .badProtocol("RTP/AVP")), ("v=0", "v=1", .grammar(line: 1)),
            ("s=-", "nonsense", .grammar(line: 3)), ("a=fingerprint", "a=fingerprints", .noFingerprint),
            ("m=audio 5000", "m=audio 65536", .grammar(line: 7)), ("m=audio 5000", "m=audio -1", .grammar(line: 7)),
            ("m=audio 5000", "m=au\u{7}dio 5000", .grammar(line: 7)), ("SAVPF 111", "SAVPF", .grammar(line: 7)),
            ("UDP/TLS/RTP/SAVPF", "UDP//SAVPF", .grammar(line: 7)),
            ("111\r\nc=", "\u{301}111\r\nc=", .grammar(line: 7)),
        ])
    func `an answer that does not fit its offer is refused`(old: String, new: String, refusal: SDPError) throws {
        let good = try SDPFixture.answer(SessionDescription.makeOffer(SDPFixture.local())).text
        let bad = Self.replacing(old, with: new, in: good)
        #expect(SDPFixture.refusal(answer: good) == nil && bad != good)
        #expect(SDPFixture.refusal(answer: bad) == refusal)
        #expect(!refusal.description.isEmpty)
    }

    /// By bytes: Foundation's search takes CRLF for one character.
    private static func replacing(_ old: String, with new: String, in text: String) -> String {
        let (old, new, text) = (Array(old.utf8), Array(new.utf8), Array(text.utf8))
        var result: [UInt8] = []
        var index = 0
        while index < text.count {
            if text[index...].starts(with: old) {
                result += new
                index += old.count
            } else {
                result.append(text[index])
                index += 1
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    @Test func `an answer with another number of sections is refused`() throws {
        let good = try SDPFixture.answer(SessionDescription.makeOffer(SDPFixture.local())).text
        #expect(SDPFixture.refusal(answer: good + "m=video 0 RTP/AVP 0\r\n") == .wrongSectionCount(2))
        #expect(SDPFixture.refusal(answer: "v=0\r\ns=-\r\n") == .noAudio)
    }

    @Test func `an offer that wants us active cannot be answered`() throws {
        let text = try SDPFixture.answer(SessionDescription.makeOffer(SDPFixture.local())).text
        #expect(SDPFixture.refusal(offer: text) == .badSetup("passive"))
        let passive = try RemoteMedia(answer: text, to: SDPFixture.local())
        #expect(throws: SDPError.badSetup("passive")) {
            try SessionDescription.makeAnswer(to: passive, SDPFixture.local())
        }
    }
}
