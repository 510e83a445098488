import Foundation
import ICELite
import Testing

@testable import TransportMedia

/// A local end to describe, and the answers it gives.
enum SDPFixture {
    static let digest =
        "3C:07:9A:51:E4:0B:77:6D:12:F8:A9:40:C3:5E:8B:21:94:DD:16:0F:B2:68:7C:E5:39:A0:4B:F1:53:8E:27:C6"

    static func local(isLite: Bool = true) -> LocalMedia {
        var local = LocalMedia(
            ufrag: "ours", password: "0123456789012345678901", isLite: isLite, fingerprint: "sha-256 " + digest,
            ssrc: SSRC(77), cname: "call", sessionID: 42)
        local.candidates = ["candidate:1 1 udp 2130706431 192.0.2.1 5000 typ host"]
        local.endOfCandidates = isLite
        return local
    }

    /// Our answer to the offer `text`.
    static func answer(_ text: String) throws -> WrittenSDP {
        WrittenSDP(try SessionDescription.makeAnswer(to: RemoteMedia(offer: text), local()))
    }

    /// Why the offer `text` is refused; nil when it is not.
    static func refusal(offer text: String) -> SDPError? {
        do throws(SDPError) {
            _ = try RemoteMedia(offer: text)
            return nil
        } catch { return error }
    }

    /// Why the answer `text` to `offer` is refused; nil when it is not.
    static func refusal(answer text: String, to offer: LocalMedia = local()) -> SDPError? {
        do throws(SDPError) {
            _ = try RemoteMedia(answer: text, to: offer)
            return nil
        } catch { return error }
    }

    /// An offer like a browser's, with `lines` at the end of its audio section.
    static func offer(session: [String] = [], _ lines: [String] = []) throws -> String {
        let text = try SDPCase.text("SDP-23")
        let head = session.map { $0 + "\r\n" }.joined()
        return text.replacingOccurrences(of: "m=audio", with: head + "m=audio") + lines.map { $0 + "\r\n" }.joined()
    }

    static func offered(session: [String] = [], _ lines: [String] = []) throws -> RemoteMedia {
        try RemoteMedia(offer: offer(session: session, lines))
    }
}

/// A description taken apart as simply as can be, by other code than that under test.
struct WrittenSDP {
    var text: String
    var session: [String] = []
    /// Each from its `m=` line on.
    var sections: [[String]] = []

    init(_ text: String) {
        self.text = text
        for line in text.split(whereSeparator: \.isNewline).map(String.init) {
            if line.hasPrefix("m=") { sections.append([]) }
            if sections.isEmpty { session.append(line) } else { sections[sections.count - 1].append(line) }
        }
    }

    /// The section that is not rejected.
    var audio: [String] { sections.first { $0[0].split(separator: " ")[1] != "0" } ?? [] }
    /// The words of its `m=` line.
    var mediaLine: [String] { audio.first?.dropFirst(2).split(separator: " ").map(String.init) ?? [] }

    /// What follows `name:` in the audio section's lines.
    func values(_ name: String) -> [String] { Self.values(name, in: audio) }

    static func values(_ name: String, in lines: [String]) -> [String] {
        lines.filter { $0.hasPrefix("a=\(name):") }.map { String($0.dropFirst(name.count + 3)) }
    }
}
