/// The RTP header extensions that are negotiated here, by their names. RFC 8285 §5.
package enum HeaderExtension: String, CaseIterable, Hashable, Sendable {
    /// The level of the packet's audio. RFC 6464.
    case audioLevel = "urn:ietf:params:rtp-hdrext:ssrc-audio-level"
    /// The name of the media section that the packet belongs to. RFC 9143 §15.
    case mid = "urn:ietf:params:rtp-hdrext:sdes:mid"

    /// The id that our own offers give it; an answer takes the offer's.
    package var offeredID: Int {
        switch self {
        case .audioLevel: 1
        case .mid: 4
        }
    }

    /// Ids that the one-byte form can carry. RFC 8285 §4.2.
    package static let oneByteIDs = 1...14
    /// Ids that the two-byte form can carry. RFC 8285 §4.3.
    package static let twoByteIDs = 1...255
}

/// The `extmap` lines of one level: ids of the extensions we know.
struct OfferedExtensions {
    private var ids: [HeaderExtension: Int] = [:]
    /// Ids that mean something already, known to us or not: an id has one meaning.
    private var taken: Set<Int> = []

    /// Reads `id["/"direction] URI [attributes]`. RFC 8285 §8.
    ///
    /// Passed over, and so not answered: ids of no form, a direction that is not both ways, attributes that ask for
    /// what we do not do (all but `vad=on`, the default of RFC 6464 §4).
    mutating func read<Text: SDPBytes>(_ value: Text) {
        let words = SDPText.words(value, maxSplits: 2)
        guard words.count >= 2 else { return }
        let parts = words[0].split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count <= 2, let id = SDPText.number(parts[0]), HeaderExtension.twoByteIDs.contains(id),
            taken.insert(id).inserted, let name = HeaderExtension(rawValue: SDPText.string(words[1], limit: 64)),
            parts.count == 1 || parts[1].elementsEqual(MediaDirection.sendrecv.rawValue.utf8),
            words.count == 2 || words[2].elementsEqual("vad=on".utf8)
        else { return }
        // Offered twice, the lower id is the one that more can carry.
        ids[name] = min(ids[name] ?? id, id)
    }

    /// The id of `name`; nil when there is none that can be used.
    ///
    /// - Parameters:
    ///   - session: what the session says for all sections.
    ///   - isMixed: whether the two-byte form may be used. RFC 8285 §6.
    func id(of name: HeaderExtension, session: OfferedExtensions, isMixed: Bool) -> Int? {
        let inherited = session.ids[name].flatMap { taken.contains($0) ? nil : $0 }
        guard let id = ids[name] ?? inherited else { return nil }
        return isMixed || HeaderExtension.oneByteIDs.contains(id) ? id : nil
    }
}
