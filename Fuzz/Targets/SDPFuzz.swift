internal import ICELite
internal import TransportMedia

/// One description, read as an offer, answered, and read as an answer.
enum SDPFuzz {
    private static let local: LocalMedia = {
        var local = LocalMedia(
            ufrag: "ours", password: "0123456789012345678901", isLite: true,
            fingerprint: "sha-256 " + String(repeating: "AB:", count: 31) + "CD", ssrc: SSRC(77), cname: "call",
            sessionID: 42)
        local.candidates = ["candidate:1 1 udp 2130706431 192.0.2.1 5000 typ host"]
        local.endOfCandidates = true
        return local
    }()

    static func run(_ bytes: [UInt8]) throws(FuzzFinding) {
        let text = String(decoding: bytes, as: UTF8.self)
        if let offer = try? RemoteMedia(offer: text) { try answer(offer) }
        if let answer = try? RemoteMedia(answer: text, to: local) {
            try bounds(answer)
            try expect(answer.sections.count == 1 && answer.setup != .actpass, "an answer of the wrong kind was taken")
            try expect(answer.opusPayloadType == local.opusPayloadType, "a payload type that we did not offer")
            try expect(answer.mid == nil || answer.mid == local.mid, "a mid that we did not offer")
            for id in [answer.midExtension, answer.audioLevelExtension].compactMap(\.self) {
                try expect(HeaderExtension.allCases.contains { $0.offeredID == id }, "an id that we did not offer")
            }
        }
    }

    /// What we say to `offer` reads back as the answer to it.
    private static func answer(_ offer: RemoteMedia) throws(FuzzFinding) {
        try bounds(offer)
        let text: String
        do throws(SDPError) {
            text = try SessionDescription.makeAnswer(to: offer, local)
        } catch {
            throw FuzzFinding(text: "an offer that was read is not answered: \(error)")
        }
        try expect(text.utf8.allSatisfy { (0x20...0x7E).contains($0) || $0 == 13 || $0 == 10 }, "no ASCII: \(text)")
        let lines = text.utf8.split(separator: 10, omittingEmptySubsequences: false)
        try expect(lines.last?.isEmpty == true && lines.dropLast().allSatisfy { $0.last == 13 }, "line ends: \(text)")
        try expect(text.utf8.filter { $0 == 13 }.count == lines.count - 1, "stray line ends: \(text)")

        // As an answer stands an offer, but for the role.
        let passive = "a=setup:passive"
        let turned = lines.map { line in
            line.starts(with: passive.utf8) ? "a=setup:active" : String(decoding: line.dropLast(), as: UTF8.self)
        }
        let read: RemoteMedia
        do throws(SDPError) {
            read = try RemoteMedia(offer: turned.joined(separator: "\r\n"))
        } catch {
            throw FuzzFinding(text: "our answer is not read: \(error): \(text)")
        }
        try expect(turned.count { $0 == "a=setup:active" } == 1, "not one role: \(text)")
        try expect(read.audioIndex == offer.audioIndex && read.mid == offer.mid, "another section: \(text)")
        try expect(read.sections.map(\.mid) == offer.sections.map(\.mid), "other names: \(text)")
        try expect(read.sections.map(\.media) == offer.sections.map(\.media), "other media: \(text)")
        try expect(read.sections.map(\.transport) == offer.sections.map(\.transport), "other transports: \(text)")
        try expect(read.isBundled == (offer.isBundled && offer.mid != nil), "another bundle: \(text)")
        try expect(read.opusPayloadType == offer.opusPayloadType, "another payload type: \(text)")
        try expect(read.midExtension == offer.midExtension, "another mid extension: \(text)")
        try expect(read.audioLevelExtension == offer.audioLevelExtension, "another level extension: \(text)")
        try expect(read.reducedSizeRTCP == offer.reducedSizeRTCP, "another RTCP: \(text)")
        try expect(read.direction == offer.direction.answered, "another direction: \(text)")
        try expect(read.ufrag == local.ufrag && read.password == local.password, "other credentials: \(text)")
        try expect(read.isLite && read.endOfCandidates && read.candidates == local.candidates, "other paths: \(text)")
    }

    private static func bounds(_ media: RemoteMedia) throws(FuzzFinding) {
        try expect((4...256).contains(media.ufrag.utf8.count), "ufrag of \(media.ufrag.utf8.count)")
        try expect((22...256).contains(media.password.utf8.count), "password of \(media.password.utf8.count)")
        try expect((1...RemoteMedia.maximumFingerprintCount).contains(media.fingerprints.count), "fingerprints")
        try expect(media.candidates.count <= RemoteMedia.maximumCandidateCount, "candidates")
        try expect(media.sections.indices.contains(media.audioIndex) && media.sections.count <= 32, "sections")
        try expect(!(64...95).contains(media.opusPayloadType.rawValue), "a payload type of RTCP's")
        let ids = media.allowsMixedExtensions ? HeaderExtension.twoByteIDs : HeaderExtension.oneByteIDs
        for id in [media.midExtension, media.audioLevelExtension].compactMap(\.self) {
            try expect(ids.contains(id), "extension id \(id)")
        }
        try expect(media.midExtension == nil || media.midExtension != media.audioLevelExtension, "one id twice")
        for candidate in media.candidates { _ = try? ICECandidate(parsing: candidate) }
    }
}
