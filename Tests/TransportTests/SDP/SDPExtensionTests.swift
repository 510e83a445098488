// The names of cases keep their ids.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Foundation
import Testing

@testable import TransportMedia

/// Header extensions (RFC 8285): accepted by name, with the id of the offer.
@Suite("Session descriptions: header extensions") struct SDPExtensionTests {
    private static let level = HeaderExtension.audioLevel.rawValue
    private static let mid = HeaderExtension.mid.rawValue

    /// The ids that are answered to an offer with `lines`, and what the parsed offer says of the same.
    private func negotiated(
        session: [String] = [], _ lines: [String]
    ) throws -> (ids: [Int], level: Int?, mid: Int?) {
        let text = try SDPFixture.offer(session: session, lines)
        let remote = try RemoteMedia(offer: text)
        let answer = try SDPFixture.answer(text)
        #expect(SDPGrammar.faults(answer.text) == [])
        let ids = answer.values("extmap").compactMap { Int($0.prefix { $0 != " " }) }
        #expect(ids == [remote.audioLevelExtension, remote.midExtension].compactMap(\.self))
        return (ids, remote.audioLevelExtension, remote.midExtension)
    }

    @Test func `SDP_22 without extmap-allow-mixed only ids of the one-byte form are answered`() throws {
        let expect = try SDPCase.expectation("SDP-22")
        let allowed = try #require(expect.answer?.extmapIdsSubsetOf)
        let text = try SDPCase.text("SDP-22")
        let remote = try RemoteMedia(offer: text)
        #expect(expect.ok == true && remote.audioLevelExtension == 3 && remote.midExtension == nil)
        let answer = try SDPFixture.answer(text)
        let ids = answer.values("extmap").compactMap { Int($0.prefix { $0 != " " }) }
        #expect(ids == [3] && Set(ids).isSubset(of: allowed))
        #expect(!answer.text.contains("extmap-allow-mixed"))

        // With it, at either level, the two-byte form may be used.
        let session = text.replacingOccurrences(of: "m=audio", with: "a=extmap-allow-mixed\r\nm=audio")
        for mixed in [session, text + "a=extmap-allow-mixed\r\n"] {
            let remote = try RemoteMedia(offer: mixed)
            #expect(remote.midExtension == 15 && remote.audioLevelExtension == 3 && remote.allowsMixedExtensions)
            #expect(try SDPFixture.answer(mixed).audio.contains("a=extmap-allow-mixed"))
        }
    }

    @Test func `SDP_22 ids at every border, in each form`() throws {
        for (id, plain, mixed) in [
            ("0", nil, nil), ("1", 1, 1), ("14", 14, 14), ("15", nil, 15), ("16", nil, 16), ("255", nil, 255),
            ("256", nil, nil), ("4096", nil, nil), ("-1", nil, nil), ("", nil, nil), ("01", 1, 1),
            ("99999999999999999999", nil, nil), ("1/sendrecv", 1, 1), ("1/recvonly", nil, nil), ("1/", nil, nil),
            ("1/sendrecv/x", nil, nil),
        ] as [(String, Int?, Int?)] {
            #expect(try negotiated(["a=extmap:\(id) \(Self.mid)"]).mid == plain, "\(id)")
            #expect(try negotiated(["a=extmap-allow-mixed", "a=extmap:\(id) \(Self.mid)"]).mid == mixed, "\(id)")
        }
    }

    @Test func `an id has one meaning, and a name one id`() throws {
        #expect(try negotiated(["a=extmap:5 \(Self.level)", "a=extmap:5 \(Self.mid)"]).ids == [5])
        #expect(try negotiated(["a=extmap:5 urn:x", "a=extmap:5 \(Self.mid)"]).ids == [])
        #expect(try negotiated(["a=extmap:5/inactive urn:x", "a=extmap:5 \(Self.mid)"]).ids == [])
        #expect(try negotiated(["a=extmap:7 \(Self.mid)", "a=extmap:5 \(Self.mid)"]).mid == 5)
        #expect(try negotiated(["a=extmap:200 \(Self.mid)", "a=extmap:5 \(Self.mid)"]).mid == 5)
    }

    @Test func `what the session maps holds for the section, unless the section needs the id`() throws {
        #expect(try negotiated(session: ["a=extmap:5 \(Self.mid)"], []).mid == 5)
        #expect(try negotiated(session: ["a=extmap:5 \(Self.mid)"], ["a=extmap:6 \(Self.mid)"]).mid == 6)
        #expect(try negotiated(session: ["a=extmap:5 \(Self.mid)"], ["a=extmap:5 urn:x"]).mid == nil)
        let both = try negotiated(session: ["a=extmap:5 \(Self.mid)"], ["a=extmap:5 \(Self.level)"])
        #expect(both.level == 5 && both.mid == nil)
    }

    @Test func `what we do not do is not answered`() throws {
        #expect(try negotiated(["a=extmap:5 \(Self.level) vad=on"]).level == 5)
        #expect(try negotiated(["a=extmap:5 \(Self.level) vad=off"]).level == nil)
        #expect(try negotiated(["a=extmap:5 \(Self.level) x y"]).level == nil)
        #expect(try negotiated(["a=extmap:5 \(Self.level)x", "a=extmap:6 URN:x", "a=extmap:7", "a=extmap"]).ids == [])
        #expect(try negotiated(["a=extmap:5  \(Self.level) "]).level == 5)
        // Without a mid there is nothing to say in its extension.
        let bare = try SDPFixture.offer(["a=extmap:5 \(Self.mid)"]).replacingOccurrences(of: "a=mid:0", with: "a=x")
        #expect(try RemoteMedia(offer: bare).midExtension == nil)
    }

    @Test func `an answer may take an extension or leave it, and cannot move it`() throws {
        let local = SDPFixture.local()
        let offer = SessionDescription.makeOffer(local)
        let text = try SessionDescription.makeAnswer(to: RemoteMedia(offer: offer), local)
        let whole = try RemoteMedia(answer: text, to: local)
        #expect(whole.audioLevelExtension == HeaderExtension.audioLevel.offeredID)
        #expect(whole.midExtension == HeaderExtension.mid.offeredID)
        let left = text.replacingOccurrences(of: "a=extmap:4", with: "a=x:4")
        #expect(try RemoteMedia(answer: left, to: local).midExtension == nil)
        let moved = text.replacingOccurrences(of: "a=extmap:4", with: "a=extmap:3")
        let read = try RemoteMedia(answer: moved + "a=extmap-allow-mixed\r\n", to: local)
        #expect(read.midExtension == nil && read.audioLevelExtension == 1 && !read.allowsMixedExtensions)
        let swapped = moved.replacingOccurrences(of: "a=extmap:1", with: "a=extmap:4")
        #expect(try RemoteMedia(answer: swapped, to: local).audioLevelExtension == nil)
    }
}
