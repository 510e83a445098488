// The names of cases keep their ids.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Foundation
import ICELite
import Testing

@testable import TransportMedia

/// What no peer means well with: sizes, repetitions, and bytes that are no description.
@Suite("Session descriptions: hostile") struct SDPHostileTests {
    /// How often a byte may be read; most are six to nine times.
    private static let readsPerByte = 14

    /// An offer like Chromium's, and what fills one to `byteCount` bytes.
    private struct Flood {
        let good: String
        let room: Int

        init(_ byteCount: Int) throws {
            good = try SDPCase.text("SDP-02")
            room = byteCount - good.utf8.count
        }

        func repeated(_ piece: String) -> String { String(repeating: piece, count: room / piece.utf8.count) }

        func line(_ start: String, _ piece: String, end: String = "\r\n") -> String {
            let room = room - start.utf8.count - end.utf8.count
            return start + String(repeating: piece, count: room / piece.utf8.count) + end
        }

        func replacing(_ old: String, with new: String) -> String { good.replacingOccurrences(of: old, with: new) }
    }

    private static let mediaLine = "m=audio 9 UDP/TLS/RTP/SAVPF 111 63 9 0 8 13 110 126\r\n"

    /// One attribute over and over, and one that is as long as an offer: at the end, first in its section, in the session.
    private static func wide(_ byteCount: Int) throws -> [(name: String, text: String)] {
        let flood = try Flood(byteCount)
        let repeated = [
            "x", "rtcp-mux", "candidate:1 1 udp 1 192.0.2.1 1 typ host", "fingerprint:sha-256 " + SDPFixture.digest,
            "fingerprint:x", "ssrc:1 cname:x", "extmap:5 urn:x", "extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid",
            "rtpmap:111 opus/48000/2", "rtpmap:63 red/48000/2", "fmtp:111 a=b;stereo=1", "fmtp:63 111/111",
            "rtcp-xr:pkt-loss-rle", "ice-options:trickle", "mid:0",
        ].map { (name: $0, filling: flood.repeated("a=\($0)\r\n")) }
        let long = [
            ("a=x:", "A"), ("a=", "A"), ("a=ice-options:", "x "), ("a=rtcp-xr:", "pkt-loss-rle=x "),
            ("a=fmtp:111 ", "stereo=1;"), ("a=rtpmap:111 ", "opus/"), ("a=extmap:5 ", "x "), ("a=extmap:", "5/"),
            ("a=candidate:", "x "), ("a=fingerprint:sha-256 ", "AA:"), ("a=ssrc:1 cname:", "x"), ("a=mid:", "x"),
            ("a=ice-ufrag:", "x"), ("b=", " "), ("a=x", " "),
        ].map { (name: $0 + $1, filling: flood.line($0, $1)) }
        return (repeated + long).flatMap { name, filling in
            [
                (name, flood.good + filling),
                (name + " first", flood.replacing(mediaLine, with: mediaLine + filling)),
                (name + " of the session", flood.replacing("m=audio", with: filling + "m=audio")),
            ]
        } + [("line ends", flood.good + flood.repeated("\n")), ("CRLF", flood.good + flood.repeated("\r\n"))]
    }

    /// What would have one thing read for each of another.
    private static func deep(_ byteCount: Int) throws -> [(name: String, text: String)] {
        let flood = try Flood(byteCount - 1_000)
        // One format named as often as a media line can, with parameters as long as an offer can be.
        let formats = String(repeating: "63 ", count: 126) + "111"
        let red = flood.replacing("111 63 9 0 8 13 110 126", with: formats)
            .replacingOccurrences(of: "a=fmtp:63 111/111\r\n", with: flood.line("a=fmtp:63 ", "111/", end: "x\r\n"))
        let opus = flood.replacing("111 63 9", with: String(repeating: "111 ", count: 120))
            .replacingOccurrences(of: "useinbandfec=1\r\n", with: flood.line("x", ";a=b"))
        // As many sections as there may be, each of them audio that is found out late to be of no use.
        let written = WrittenSDP(flood.good)
        let head = written.session.map { $0 + "\r\n" }.joined()
        let section = written.audio.map { $0 + "\r\n" }.joined()
            .replacingOccurrences(of: "a=setup:actpass", with: "a=setup:passive")
        let sections = (0..<31).map { section.replacingOccurrences(of: "a=mid:0", with: "a=mid:\($0)") }.joined()
        let rest = byteCount - head.utf8.count - sections.utf8.count
        let options = "a=ice-options:" + String(repeating: "x", count: rest - 20) + "\r\n"
        let group = "a=group:BUNDLE" + String(repeating: " 7", count: rest / 2 - 20) + "\r\n"
        return [
            ("one RED many times", red), ("one Opus many times", opus),
            ("many sections, much of the session's", head + options + sections),
            ("many sections in a bundle", head + group + sections),
            ("many groups", flood.replacing("m=audio", with: flood.repeated("a=group:BUNDLE 0 1 2 3\r\n") + "m=audio")),
            ("a long group", flood.replacing("a=group:BUNDLE 0", with: flood.line("a=group:BUNDLE 0", " 0", end: ""))),
        ]
    }

    /// Reads of the parser on `text`; the answer to it is strict and no longer than what it answers and we say.
    private func reads(_ text: String) throws -> Int {
        let bytes = CountedBytes(text)
        guard let remote = try? RemoteMedia(offer: bytes) else { return bytes.reads.count }
        let answer = try SessionDescription.makeAnswer(to: remote, SDPFixture.local())
        #expect(answer.utf8.count < text.utf8.count + 2_000)
        return bytes.reads.count
    }

    @Test func `SDP_32 an offer of any shape costs a fixed number of reads for each byte`() throws {
        var accepted = 0
        for flood in try Self.wide(16_384) + Self.deep(SDPLimits.byteCount) {
            let size = flood.text.utf8.count
            #expect(size > 15_000 && size <= SDPLimits.byteCount, "\(flood.name): \(size)")
            let count = try reads(flood.text)
            #expect(count <= size * Self.readsPerByte, "\(flood.name): \(Double(count) / Double(size)) reads a byte")
            #expect(count >= size / 2, "\(flood.name): \(count) reads, the counter sees nothing")
            if SDPFixture.refusal(offer: flood.text) == nil { accepted += 1 }
        }
        #expect(accepted > 60, "most of them are offers")
    }

    @Test func `SDP_32 sizes, numbers and bytes that no description has are refused by type`() throws {
        let expect = try SDPCase.expectation("SDP-32")
        let text = try SDPCase.text("SDP-32")
        #expect(expect.ok == false && expect.noCrash == true && expect.boundedMs == 50)
        #expect(SDPFixture.refusal(offer: text) == .grammar(line: 5))
        // Work, not time: what it reads before it gives up.
        let bytes = CountedBytes(text)
        #expect(throws: SDPError.grammar(line: 5)) { try RemoteMedia(offer: bytes) }
        #expect(bytes.reads.count < text.utf8.count * Self.readsPerByte)
        let good = try SDPCase.text("SDP-23")
        for line in [
            "m=audio 99999999999999999999 UDP/TLS/RTP/SAVPF 111", "m=audio 65536 UDP/TLS/RTP/SAVPF 111",
            "m=audio -1 UDP/TLS/RTP/SAVPF 111", "m=audio  UDP/TLS/RTP/SAVPF 111", "m=audio 9 UDP/TLS/RTP/SAVPF", "m=",
            "m=audio 9 UDP/TLS/RTP/SAVPF " + (0...128).map(String.init).joined(separator: " "), "a=nul:\0x", "\0",
            "a", "=", "A=x", "a:x", " a=x", "a=x\ry", "é=x", "a\u{301}=x",
        ] {
            let refusal = SDPFixture.refusal(offer: good + line + "\r\n")
            #expect(refusal == .grammar(line: good.split(separator: "\r\n").count + 1), "\(line.prefix(40))")
        }
        for line in [
            "a=ptime:-1", "a=ptime:99999999999999999999", "a=rtpmap:999 opus/48000/2", "a=rtpmap:-1 x",
            "a=ssrc:4294967296 x",
            "a=ssrc:-1 cname:x", "a=ssrc:", "a=", "a=:", "a=:x", "a=\u{301}", "a=ssrc:1 cname:\u{301}", "a=fmtp:111",
            "m=audio 65535 UDP/TLS/RTP/SAVPF 999", "m=audio 9/99999999999999 UDP/TLS/RTP/SAVPF 0", "z=", "k=\u{37E}",
        ] {
            #expect(SDPFixture.refusal(offer: good + line + "\r\n") == nil, "\(line)")
        }
    }

    @Test func `SDP_32 every bound holds at its border`() throws {
        let good = try SDPCase.text("SDP-23")
        func padded(to count: Int) -> String {
            let line = "a=x:"
            return good + line + String(repeating: "y", count: count - good.utf8.count - line.utf8.count)
        }
        #expect(SDPFixture.refusal(offer: padded(to: SDPLimits.byteCount)) == nil)
        #expect(SDPFixture.refusal(offer: padded(to: SDPLimits.byteCount + 1)) == .tooLarge)
        let section = "m=video 0 RTP/AVP 0\r\n"
        let most = good + String(repeating: section, count: SDPLimits.sectionCount - 1)
        #expect(try RemoteMedia(offer: most).sections.count == SDPLimits.sectionCount)
        #expect(SDPFixture.refusal(offer: most + section) == .grammar(line: most.split(separator: "\r\n").count + 1))
        let formats = (0..<SDPLimits.formatCount).map(String.init).joined(separator: " ")
        #expect(SDPFixture.refusal(offer: good.replacingOccurrences(of: "SAVPF 111", with: "SAVPF \(formats)")) == nil)
        let lines = Array(repeating: "a=candidate:1 1 udp 1 192.0.2.1 1 typ host", count: 500)
        #expect(try SDPFixture.offered(lines).candidates.count == RemoteMedia.maximumCandidateCount)
        let options = "a=ice-options:" + String(repeating: "x ", count: 50)
        #expect(try SDPFixture.offered([options]).iceOptions.count == SDPLimits.iceOptionCount)
        let name = "a=ssrc:1 cname:" + String(repeating: "x", count: 400)
        #expect(try SDPFixture.offered([name]).cname?.utf8.count == SDPLimits.cnameLength)
        let sources = (1...SDPLimits.sourceLineCount).map { "a=ssrc:\($0) msid:x" }
        #expect(try SDPFixture.offered(sources + ["a=ssrc:1 cname:late"]).cname == nil)
        #expect(try SDPFixture.offered(sources.dropLast() + ["a=ssrc:1 cname:in time"]).cname == "in time")
        let groups = (1..<SDPLimits.bundleCount).map { "a=group:BUNDLE x\($0)" }
        #expect(try SDPFixture.offered(session: groups + ["a=group:BUNDLE 0"]).isBundled)
        #expect(try !SDPFixture.offered(session: groups + ["a=group:BUNDLE y", "a=group:BUNDLE 0"]).isBundled)
        for (ufrag, isFine) in [("abc", false), ("abcd", true), (String(repeating: "a", count: 257), false)] {
            let changed = good.replacingOccurrences(of: "ice-ufrag:aB3x", with: "ice-ufrag:\(ufrag)")
            #expect(SDPFixture.refusal(offer: changed) == (isFine ? nil : .badCredentials))
        }
        for (count, isFine) in [(21, false), (22, true), (256, true), (257, false)] {
            let password = String(repeating: "p", count: count)
            let changed = good.replacingOccurrences(of: "q1W2e3R4t5Y6u7I8o9P0a1S2", with: password)
            #expect(SDPFixture.refusal(offer: changed) == (isFine ? nil : .badCredentials))
        }
    }

    @Test func `letters that only look like ASCII are none`() throws {
        let good = try SDPCase.text("SDP-02")
        // A Kelvin sign is K, a Greek question mark a semicolon, and an accent hides a colon, where Unicode compares.
        for (old, new, refusal) in [
            ("a=setup:", "a=setup:\u{301}", SDPError.badSetup("\u{301}actpass")),
            ("a=rtcp-mux", "a=rtcp-mux\u{301}", .noRtcpMux),
            ("opus/48000/2", "opu\u{17F}/48000/2", .noCommonCodec), ("m=audio", "m=\u{FF41}udio", .grammar(line: 8)),
            ("a=ice-ufrag:aB3x", "a=ice-ufrag:aB3\u{212A}", .badCredentials),
            ("a=mid:0", "a=mid:\u{660}", .badMid("\u{660}")),
        ] {
            let changed = String(
                decoding: Array(good.utf8).replacing(Array(old.utf8), with: Array(new.utf8)), as: UTF8.self)
            #expect(changed.utf8.count > good.utf8.count)
            #expect(SDPFixture.refusal(offer: changed) == refusal, "\(new)")
        }
        let fmtp = good.replacingOccurrences(of: "minptime=10;useinbandfec=1", with: "minptime=10\u{37E}useinbandfec=1")
        #expect(try !RemoteMedia(offer: fmtp).opus.usesInBandFEC)
    }

    @Test(arguments: SDPCase.layouts) func `cut at every length, nothing traps and nothing is made up`(
        id: String
    ) throws {
        let bytes = Array(try SDPCase.text(id).utf8)
        let whole = try? RemoteMedia(offer: String(decoding: bytes, as: UTF8.self))
        for count in 0..<bytes.count {
            guard let cut = try? RemoteMedia(offer: String(decoding: bytes[..<count], as: UTF8.self)) else { continue }
            #expect(whole == nil || cut.candidates.count <= whole?.candidates.count ?? 0)
            #expect(cut.sections.count <= whole?.sections.count ?? 0 && cut.fingerprints.count > 0)
            #expect(SDPGrammar.faults(try SessionDescription.makeAnswer(to: cut, SDPFixture.local())) == [])
        }
        #expect(SDPFixture.refusal(offer: String(decoding: bytes.prefix(60), as: UTF8.self)) != nil)
    }

    @Test(arguments: SDPCase.layouts) func `bent by seed, what is taken is answered strictly`(id: String) throws {
        var randomness = Randomness.seeded(UInt64(id.utf8.reduce(0) { $0 &* 31 &+ Int($1) }))
        let bytes = Array(try SDPCase.text(id).utf8)
        let pieces = [
            "\r\n", "a=", ":", " ", "0", "mid:0", "m=audio 9 RTP/SAVPF 111\r\n", "\u{301}", "\0", "BUNDLE", "/",
        ]
        var answered = 0
        for turn in 0..<400 {
            var changed = bytes
            for _ in 0..<Int.random(in: 1...4, using: &randomness) {
                let index = Int.random(in: 0..<changed.count, using: &randomness)
                switch Int.random(in: 0..<4, using: &randomness) {
                case 0: changed[index] = UInt8.random(in: 0...255, using: &randomness)
                case 1: changed.removeSubrange(index..<min(changed.count, index + 8))
                case 2:
                    changed.insert(
                        contentsOf: pieces[Int.random(in: 0..<pieces.count, using: &randomness)].utf8, at: index)
                default: changed.insert(contentsOf: changed[index..<min(changed.count, index + 40)], at: index)
                }
            }
            guard let remote = try? RemoteMedia(offer: String(decoding: changed, as: UTF8.self)) else { continue }
            answered += 1
            let answer = try SessionDescription.makeAnswer(to: remote, SDPFixture.local())
            #expect(SDPGrammar.faults(answer) == [], "turn \(turn): \(String(decoding: changed, as: UTF8.self))")
        }
        #expect(answered > 20)
    }
}
