// The names of cases keep their ids.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Foundation
import ICELite
import Testing

@testable import TransportMedia

/// Cases of public bug reports: what an offer says, and what we answer. In one point ours differs from theirs on purpose:
/// SDP-01, SDP-02 and SDP-04 expect `a=setup:active` of the answer, ours is always passive. RFC 8842 §5.3 leaves an answerer
/// the choice where the offer says actpass; passive, the ClientHello of an offer is answered in the answer, a round trip
/// sooner. So these tests assert both: what the case has, and `passive`.
@Suite("Session descriptions: cases") struct SDPCaseTests {
    @Test func `SDP_01 what the session says holds for the section unless the section says otherwise`() throws {
        let expect = try SDPCase.expectation("SDP-01")
        let text = try SDPCase.text("SDP-01")
        let remote = try RemoteMedia(offer: text)
        #expect(expect.ok == true)
        #expect(remote.direction.rawValue == expect.remoteDir)
        #expect(remote.candidates.filter { (try? ICECandidate(parsing: $0)) != nil }.count == expect.usableCandidates)
        let wanted = try #require(expect.answer)
        let answer = try SDPFixture.answer(text)
        #expect(answer.mediaLine.last.flatMap { Int($0) } == wanted.opusPt)
        #expect(answer.audio.contains("a=\(try #require(wanted.direction))"))
        #expect(wanted.setup == "active" && answer.values("setup") == ["passive"])
        #expect(wanted.fingerprintFrom == "session")
        let session = WrittenSDP.values("fingerprint", in: WrittenSDP(text).session)
        #expect(remote.fingerprints.map(\.attribute) == session)

        // The whole kind: each attribute at session level, at the section's, at both.
        let other = "sha-256 " + String(repeating: "AB:", count: 31) + "AB"
        for (session, section, direction) in [
            ("", "", MediaDirection.sendrecv), ("recvonly", "", .recvonly), ("", "inactive", .inactive),
            ("sendrecv", "sendonly", .sendonly), ("inactive", "sendrecv", .sendrecv),
        ] {
            let stripped = try SDPCase.text("SDP-23").replacingOccurrences(
                of: "a=sendrecv\r\n", with: "a=\(section)\r\n")
            let changed = stripped.replacingOccurrences(of: "m=audio", with: "a=\(session)\r\nm=audio")
            #expect(try RemoteMedia(offer: changed).direction == direction, "\(session) \(section)")
        }
        let both = text.replacingOccurrences(of: "a=mid:0", with: "a=mid:0\r\na=fingerprint:\(other)")
        #expect(try RemoteMedia(offer: both).fingerprints.map(\.attribute) == [other])
        // A section that names a weak hash alone has chosen it: the session's does not come in its place.
        let weak = text.replacingOccurrences(of: "a=mid:0", with: "a=mid:0\r\na=fingerprint:sha-1 AB:AB")
        #expect(SDPFixture.refusal(offer: weak) == .noFingerprint)
    }

    @Test func `SDP_02 the answer has what we do and nothing of what else was offered`() throws {
        let expect = try SDPCase.expectation("SDP-02")
        let wanted = try #require(expect.answer)
        #expect(expect.ok == true)
        let text = try SDPCase.text("SDP-02")
        let remote = try RemoteMedia(offer: text)
        #expect(remote.opusPayloadType.rawValue == 111 && remote.redPayloadType?.rawValue == 63)
        #expect(remote.cname == "Zz9Yy8Xx7Ww6" && remote.ssrc == SSRC(305_419_896))
        #expect(remote.candidates.isEmpty && !remote.endOfCandidates && remote.isTrickling && !remote.renomination)
        let answer = try SDPFixture.answer(text)
        #expect(answer.mediaLine.dropFirst(3).map { Int($0) } == [wanted.opusPt])
        for word in try #require(wanted.mustNotContain) { #expect(!answer.text.contains(word), "\(word)") }
        #expect(wanted.setup == "active" && answer.values("setup") == ["passive"])
        // Extensions only as offered, and that they may be mixed is not lost.
        #expect(
            answer.values("extmap") == [
                "1 urn:ietf:params:rtp-hdrext:ssrc-audio-level", "4 urn:ietf:params:rtp-hdrext:sdes:mid",
            ])
        #expect(answer.audio.contains("a=extmap-allow-mixed"))
        #expect(!answer.text.contains("rtcp-fb"))
    }

    @Test func `SDP_04 credentials, role and fingerprint of the session are inherited`() throws {
        let expect = try SDPCase.expectation("SDP-04")
        let text = try SDPCase.text("SDP-04")
        let remote = try RemoteMedia(offer: text)
        #expect(expect.ok == true && remote.ufrag == expect.ufrag && remote.setup.rawValue == expect.setup)
        #expect(remote.password == "q1W2e3R4t5Y6u7I8o9P0a1S2" && remote.fingerprints.count == 1)
        #expect(expect.answer?.setup == "active")
        #expect(try SDPFixture.answer(text).values("setup") == ["passive"])
        // Each alone, taken away altogether: refused with its own reason.
        for (line, error) in [
            ("a=ice-ufrag", SDPError.badCredentials), ("a=ice-pwd", .badCredentials), ("a=setup", .badSetup(nil)),
            ("a=fingerprint", .noFingerprint),
        ] {
            let without = text.replacingOccurrences(of: line, with: "a=x")
            #expect(SDPFixture.refusal(offer: without) == error, "\(line)")
        }
        // Each at both levels: the section's wins.
        let both = text.replacingOccurrences(
            of: "a=mid:0", with: "a=mid:0\r\na=ice-ufrag:mine\r\na=ice-pwd:0000000000000000000000\r\na=setup:active")
        let inner = try RemoteMedia(offer: both)
        #expect(inner.ufrag == "mine" && inner.password.allSatisfy { $0 == "0" } && inner.setup == .active)
    }

    @Test func `SDP_06 a section without setup is refused by its name`() throws {
        let expect = try SDPCase.expectation("SDP-06")
        let refusal = try #require(SDPFixture.refusal(offer: try SDPCase.text("SDP-06")))
        let allowed = try #require(expect.anyOf)
        #expect(allowed.contains { $0.ok == false && $0.error == "missing setup" })
        #expect(refusal == .badSetup(nil) && refusal.description == "a=setup is missing")
        // Nor is any word guessed at; case does not matter.
        for word in ["holdconn", "passive", "", "actpass active", "act"] {
            #expect(
                SDPFixture.refusal(offer: try SDPCase.text("SDP-06") + "a=setup:\(word)\r\n") == .badSetup(word),
                "\(word)")
        }
        for word in ["actpass", "active", "ActPass"] {
            #expect(SDPFixture.refusal(offer: try SDPCase.text("SDP-06") + "a=setup:\(word)\r\n") == nil, "\(word)")
        }
    }

    @Test func `SDP_12 line ends of any kind say the same`() throws {
        let expect = try SDPCase.expectation("SDP-12")
        #expect(expect.ok == true && expect.sameAs == "CRLF form")
        let text = try SDPCase.text("SDP-12")
        let remote = try RemoteMedia(offer: text)
        #expect(Int(remote.opusPayloadType.rawValue) == expect.opusPt)
        let lines = text.components(separatedBy: "\n")
        #expect(lines.count > 10 && !text.contains("\r") && !text.hasSuffix("\n"))
        #expect(try RemoteMedia(offer: lines.joined(separator: "\r\n")) == remote)
        #expect(try RemoteMedia(offer: lines.joined(separator: "\r\n") + "\r\n") == remote)
        // Mixed in one text, and blanks before them.
        #expect(try RemoteMedia(offer: lines.joined(separator: " \r\n") + "\n") == remote)
        let mixed = lines.enumerated().map { $0.element + ($0.offset % 2 == 0 ? "\n" : "\r\n") }.joined()
        #expect(try RemoteMedia(offer: mixed) == remote)
        // A carriage return alone ends nothing.
        #expect(SDPFixture.refusal(offer: lines.joined(separator: "\r")) == .grammar(line: 1))
    }

    @Test func `SDP_13 blank lines and an empty name are passed over`() throws {
        #expect(try SDPCase.expectation("SDP-13").ok == true)
        let text = try SDPCase.text("SDP-13")
        let remote = try RemoteMedia(offer: text)
        #expect(text.contains("s=\r\n") && text.hasSuffix("\r\n\r\n\r\n"))
        #expect(try RemoteMedia(offer: text.replacingOccurrences(of: "s=\r\n", with: "s=-\r\n")) == remote)
        #expect(try RemoteMedia(offer: text.replacingOccurrences(of: "\r\n", with: "\r\n\r\n")) == remote)
        #expect(try RemoteMedia(offer: "\n\r\n" + text) == remote)
        // Nothing but blank lines is nothing.
        for empty in ["", "\n", "\r\n\r\n"] { #expect(SDPFixture.refusal(offer: empty) == .grammar(line: 1)) }
    }

    @Test func `SDP_14 no candidate line is fatal, and the usable ones are those of the list`() throws {
        let expect = try SDPCase.expectation("SDP-14")
        let remote = try RemoteMedia(offer: try SDPCase.text("SDP-14"))
        #expect(expect.ok == true && remote.candidates.count == 15)
        let parsed = remote.candidates.map { try? ICECandidate(parsing: $0) }
        // Component 2 is well-formed; it is the agent that has no use for it.
        let usable = parsed.enumerated().filter { $0.element?.component == 1 }.map { $0.offset + 1 }
        let linkLocal = try #require(expect.linkLocalLine)
        #expect(usable == (try #require(expect.usableLineNumbers) + [linkLocal]).sorted())
        #expect(parsed.count - (usable.count - 1) == expect.skipped)
        let scoped = try #require(parsed[linkLocal - 1]).address.ip
        #expect(expect.zoneIgnored == true && scoped.isLinkLocal && scoped.zone == 0)
        // Each alone in an offer: it is never refused for it.
        for line in remote.candidates {
            #expect(try SDPFixture.offered(["a=" + line]).candidates == [line])
        }
        #expect(try SDPFixture.offered(["a=candidate:", "a=candidate"]).candidates.count == 2)
    }

    @Test func `SDP_16 other sections are rejected in their places and leave the bundle`() throws {
        let wanted = try #require(try SDPCase.expectation("SDP-16").answer)
        let text = try SDPCase.text("SDP-16")
        let answer = try SDPFixture.answer(text)
        let lines = answer.sections.map { $0[0].dropFirst(2).split(separator: " ").map(String.init) }
        #expect(lines.map { $0[0] } == wanted.mTypes)
        #expect(lines.map { $0[1] == "0" ? "0" : "nonzero" } == wanted.mPorts)
        let group = try #require(WrittenSDP.values("group", in: answer.session).first)
        #expect(group.split(separator: " ").dropFirst().map(String.init) == wanted.bundle)
        #expect(lines.map { $0[2] } == ["UDP/TLS/RTP/SAVPF", "UDP/TLS/RTP/SAVPF", "UDP/DTLS/SCTP"])
        #expect(answer.sections.map { WrittenSDP.values("mid", in: $0) } == [["0"], ["1"], ["2"]])
        #expect(answer.sections.dropFirst().allSatisfy { $0[1].hasPrefix("c=") }, "a rejected section has its c=")

        // The whole kind: any order of sections, the audio anywhere.
        let parts = WrittenSDP(text)
        for order in [[1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0], [0, 2, 1]] {
            let shuffled = (parts.session + order.flatMap { parts.sections[$0] }).map { $0 + "\r\n" }.joined()
            let answer = try SDPFixture.answer(shuffled)
            #expect(answer.sections.map { WrittenSDP.values("mid", in: $0) } == order.map { ["\($0)"] }, "\(order)")
            #expect(answer.mediaLine.first == "audio" && answer.values("mid") == ["0"], "\(order)")
            #expect(WrittenSDP.values("group", in: answer.session) == ["BUNDLE 0"], "\(order)")
        }
    }

    @Test func `SDP_19 Opus is known by name in any case, rate and channels`() throws {
        let wanted = try #require(try SDPCase.expectation("SDP-19").answer)
        let text = try SDPCase.text("SDP-19")
        let answer = try SDPFixture.answer(text)
        let type = try #require(wanted.opusPt)
        #expect(answer.mediaLine.last == "\(type)")
        #expect(answer.values("rtpmap") == ["\(type) \(try #require(wanted.rtpmap))"])
        let spaced = text.replacingOccurrences(of: "a=rtpmap:99 ", with: "a=rtpmap:99   ")
        #expect(try RemoteMedia(offer: spaced).opusPayloadType == PayloadType(type))
        // Without it, the old spellings do in their order, and we write it right.
        let without = text.replacingOccurrences(of: "a=rtpmap:99", with: "a=x:99")
        #expect(try SDPFixture.answer(without).values("rtpmap") == ["97 opus/48000/2"])
        let one = without.replacingOccurrences(of: "a=rtpmap:97", with: "a=x:97")
        #expect(try SDPFixture.answer(one).values("rtpmap") == ["98 opus/48000/2"])
        let none = one.replacingOccurrences(of: "a=rtpmap:98", with: "a=x:98")
        #expect(SDPFixture.refusal(offer: none) == .noCommonCodec)
        // Numbers that the first byte of RTCP would take, or that are none, are no payload types.
        for number in ["64", "72", "95", "128", "999", "-1", "x"] {
            let moved = one.replacingOccurrences(of: "a=rtpmap:98", with: "a=rtpmap:\(number)")
                .replacingOccurrences(of: "98 99", with: "98 \(number)")
            #expect(SDPFixture.refusal(offer: moved) == .noCommonCodec, "\(number)")
        }
    }

    @Test func `SDP_20 what the fmtp line wishes, whatever stands around it`() throws {
        let expect = try SDPCase.expectation("SDP-20")
        let opus = try RemoteMedia(offer: try SDPCase.text("SDP-20")).opus
        let fmtp = try #require(expect.fmtp)
        #expect(fmtp.count == 5)
        #expect(opus.usesInBandFEC == (fmtp["useinbandfec"] == 1))
        #expect(opus.usesDTX == (fmtp["usedtx"] == 1))
        #expect(opus.isStereo == (fmtp["stereo"] == 1))
        #expect(opus.sendsStereo == (fmtp["sprop_stereo"] == 1))
        #expect(opus.maximumAverageBitsPerSecond == fmtp["maxaveragebitrate_effective"])
        #expect(opus.packetTime == expect.encoder?.ptimeMs)
        #expect((opus.isStereo ? 2 : 1) == expect.encoder?.channelsAllowed)

        func read(_ text: String) -> OpusParameters { OpusParameters(parsing: Array(text.utf8)[...]) }
        for odd in ["", ";", ";;;", "=", "a=b=c", "stereo", "stereo=", "stereo=x", "stereo=11", "stereo=-1"] {
            #expect(read(odd) == OpusParameters(), "\(odd)")
        }
        #expect(read(" Stereo = 1 ;\tUSEDTX=1").isStereo && read(" Stereo = 1 ;\tUSEDTX=1").usesDTX)
        for (value, effective) in [("1", 6_000), ("6000", 6_000), ("64000", 64_000), ("9999999999", 510_000)] {
            #expect(read("maxaveragebitrate=\(value)").maximumAverageBitsPerSecond == effective)
        }
        #expect(read("maxplaybackrate=96000").maximumPlaybackRate == 48_000)
        for (value, effective) in [("2", nil), ("3", 3), ("120", 120), ("121", nil)] {
            #expect(read("ptime=\(value)").packetTime == effective)
        }
    }

    @Test func `SDP_23 reduced-size RTCP is answered only when offered`() throws {
        let wanted = try #require(try SDPCase.expectation("SDP-23").answer?.mustNotContain)
        let text = try SDPCase.text("SDP-23")
        let answer = try SDPFixture.answer(text)
        #expect(!wanted.isEmpty)
        for word in wanted { #expect(!answer.text.contains(word), "\(word)") }
        #expect(try !RemoteMedia(offer: text).reducedSizeRTCP)
        #expect(try SDPFixture.answer(text + "a=rtcp-rsize\r\n").audio.contains("a=rtcp-rsize"))
        #expect(try RemoteMedia(offer: text + "a=rtcp-rsize\r\n").reducedSizeRTCP)
    }
}
