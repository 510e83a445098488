/// What a peer's offer or answer says of its one audio section. Session-level attributes are defaults, the section's win.
package struct RemoteMedia: Hashable, Sendable {
    /// Candidate lines kept at most; more are passed over.
    package static let maximumCandidateCount = 64
    /// Fingerprints kept at most.
    package static let maximumFingerprintCount = 8

    /// A media section as an answer must mirror it.
    package struct Section: Hashable, Sendable {
        /// `audio`, `video`, `application`, …
        package var media: String
        /// As offered.
        package var transport: String
        /// The first format offered.
        package var format: String
        /// Nil when there was none.
        package var mid: String?
    }

    /// ICE user name fragment, 4…256 characters.
    package var ufrag: String
    /// ICE password, 22…256 characters.
    package var password: String
    /// The peer is an ICE lite end. RFC 8839 §5.3: a session-level attribute only.
    package var isLite: Bool
    /// Words of `a=ice-options`.
    package var iceOptions: [String]
    /// Certificate fingerprints with a hash we accept: `sha-256 AA:BB:…`, the name in lower, the digits in upper case.
    package var fingerprints: [String]
    /// The DTLS role.
    package var setup: DTLSSetup
    /// The section's name; nil when there is none.
    package var mid: String?
    /// The payload type of Opus.
    package var opusPayloadType: PayloadType
    /// The payload type of RED over that Opus; nil when there is none.
    package var redPayloadType: PayloadType?
    /// What the peer wishes to receive as Opus.
    package var opus: OpusParameters
    /// The peer's direction.
    package var direction: MediaDirection
    /// RTP and RTCP share a port; always true, a description without it is refused.
    package var rtcpMux: Bool
    /// Reduced-size RTCP is welcome. RFC 5506.
    package var rsize: Bool
    /// The stream's SSRC, if it is announced.
    package var ssrc: SSRC?
    /// The stream's CNAME, if it is announced.
    package var cname: String?
    /// Candidate attributes, `candidate:…`, in order; not looked into.
    package var candidates: [String]
    /// No candidate follows.
    package var endOfCandidates: Bool
    /// The peer understands Loss RLE reports (RFC 3611): one of our own kind.
    package var understandsLossRLE: Bool
    /// All media sections, in order.
    package var sections: [Section]
    /// Which of them is ours.
    package var audioIndex: Int
    /// The audio section is in a BUNDLE group.
    package var isBundled: Bool

    /// The peer supports trickling. RFC 8838.
    package var isTrickling: Bool { iceOptions.contains("trickle") }
    /// The peer takes NOMINATION: one of our own kind.
    package var isRenominating: Bool { iceOptions.contains("renomination") }

    /// Reads a peer's offer, to be answered passive.
    ///
    /// - Throws: any `SDPError`.
    package init(offer text: String) throws(SDPError) {
        let document = try SDPDocument(parsing: text)
        guard
            let index = document.sections.firstIndex(where: {
                $0.media == "audio" && ($0.port != 0 || $0.has("bundle-only"))
            })
        else { throw .noAudio }
        try self.init(document, audioIndex: index)
        guard setup != .passive else { throw .badSetup(setup.rawValue) }
    }

    /// Reads a peer's answer to the offer that was made of `offer`.
    ///
    /// - Throws: any `SDPError`.
    package init(answer text: String, to offer: LocalMedia) throws(SDPError) {
        let document = try SDPDocument(parsing: text)
        guard document.sections.count <= 1 else { throw .wrongSectionCount(document.sections.count) }
        guard let section = document.sections.first, section.media == "audio", section.port != 0 else {
            throw .noAudio
        }
        try self.init(document, audioIndex: 0)
        if let mid, mid != offer.mid { throw .wrongMid(mid) }
        guard setup != .actpass else { throw .badSetup(setup.rawValue) }
        guard opusPayloadType == offer.opusPayloadType else {
            throw .payloadTypeNotOffered(Int(opusPayloadType.rawValue))
        }
    }

    private init(_ document: SDPDocument, audioIndex: Int) throws(SDPError) {
        let session = document.session
        let audio = document.sections[audioIndex]
        self.audioIndex = audioIndex
        let transport = audio.transport.uppercased()
        guard transport == "UDP/TLS/RTP/SAVPF" || transport == "RTP/SAVPF" || transport == "UDP/TLS/RTP/SAVP" else {
            throw .badProtocol(String(audio.transport.prefix(64)))
        }
        let codecs = try Codecs(audio)
        opusPayloadType = codecs.opus
        redPayloadType = codecs.red
        opus = codecs.parameters

        guard audio.has("rtcp-mux") else { throw .noRtcpMux }
        rtcpMux = true
        rsize = audio.has("rtcp-rsize")

        guard let ufrag = audio.first("ice-ufrag") ?? session.first("ice-ufrag"),
            let password = audio.first("ice-pwd") ?? session.first("ice-pwd"),
            SDPText.isICE(ufrag, length: 4...256), SDPText.isICE(password, length: 22...256)
        else { throw .badCredentials }
        self.ufrag = String(ufrag)
        self.password = String(password)
        isLite = session.has("ice-lite")
        let options = audio.first("ice-options") ?? session.first("ice-options") ?? ""
        iceOptions = options.split(separator: " ").prefix(16).map(String.init)

        let prints = audio.has("fingerprint") ? audio.all("fingerprint") : session.all("fingerprint")
        fingerprints = try Self.fingerprints(prints)
        let role = audio.first("setup") ?? session.first("setup")
        guard let role, let setup = DTLSSetup(rawValue: String(role)) else {
            throw .badSetup(role.map { String($0.prefix(64)) })
        }
        self.setup = setup
        direction = Self.direction(audio) ?? Self.direction(session) ?? .sendrecv

        let mid = audio.first("mid")
        if let mid, !SDPText.isToken(mid) { throw .wrongMid(String(mid.prefix(64))) }
        self.mid = mid.map(String.init)
        isBundled =
            mid.map { mid in
                session.all("group").contains { group in
                    let words = group.split(separator: " ")
                    return words.first == "BUNDLE" && words.dropFirst().contains(mid)
                }
            } ?? false
        sections = document.sections.map { section in
            Section(
                media: String(section.media), transport: String(section.transport),
                format: String(section.formats.first ?? "0"),
                mid: section.first("mid").flatMap { SDPText.isToken($0) ? String($0) : nil })
        }

        candidates = audio.all("candidate").prefix(Self.maximumCandidateCount).map { "candidate:" + $0 }
        endOfCandidates = audio.has("end-of-candidates") || session.has("end-of-candidates")
        understandsLossRLE = (audio.all("rtcp-xr") + session.all("rtcp-xr")).contains {
            $0.split(separator: " ").contains { $0.hasPrefix("pkt-loss-rle") }
        }
        for source in audio.all("ssrc").prefix(16) {
            let words = source.split(separator: " ", maxSplits: 1)
            guard let word = words.first, let number = SDPText.number(word), let value = UInt32(exactly: number) else {
                continue
            }
            ssrc = ssrc ?? SSRC(value)
            if words.count > 1, words[1].hasPrefix("cname:"), ssrc?.rawValue == value {
                cname = cname ?? String(words[1].dropFirst(6).prefix(255))
            }
        }
    }

    private static func direction(_ section: SDPDocument.Section) -> MediaDirection? {
        for attribute in section.attributes where attribute.value.isEmpty {
            if let direction = MediaDirection(rawValue: String(attribute.name)) { return direction }
        }
        return nil
    }

    /// RFC 8122 §5: a hash name in any case, and as many two-digit octets as the hash has. sha-1 and md5 are refused.
    private static func fingerprints(_ lines: [Substring]) throws(SDPError) -> [String] {
        var usable: [String] = []
        var malformed = 0
        for line in lines {
            let words = line.split(separator: " ")
            guard words.count == 2 else {
                malformed += 1
                continue
            }
            let name = words[0].lowercased()
            let octetCount: Int
            switch name {
            case "sha-256": octetCount = 32
            case "sha-384": octetCount = 48
            case "sha-512": octetCount = 64
            default: continue
            }
            let octets = words[1].split(separator: ":", omittingEmptySubsequences: false)
            let isWellFormed =
                octets.count == octetCount
                && octets.allSatisfy { octet in
                    octet.utf8.count == 2
                        && octet.utf8.allSatisfy {
                            (0x30...0x39).contains($0) || (0x41...0x46).contains($0) || (0x61...0x66).contains($0)
                        }
                }
            if !isWellFormed {
                malformed += 1
            } else if usable.count < maximumFingerprintCount {
                usable.append(name + " " + words[1].uppercased())
            }
        }
        guard !usable.isEmpty else { throw malformed > 0 ? .badFingerprint : .noFingerprint }
        return usable
    }
}

extension RemoteMedia {
    /// The payload types of an audio section that are of use.
    private struct Codecs {
        var opus: PayloadType
        var red: PayloadType?
        var parameters = OpusParameters()

        init(_ audio: SDPDocument.Section) throws(SDPError) {
            var best: PayloadType?
            var fallback: PayloadType?
            var reds: [PayloadType] = []
            let maps = audio.valuesByFormat("rtpmap")
            let formatParameters = audio.valuesByFormat("fmtp")
            for format in audio.formats {
                // RFC 5761 §4: 64…95 would be taken for RTCP.
                guard let number = SDPText.number(format), let type = PayloadType(number),
                    !(64...95).contains(number), let map = maps[number]
                else { continue }
                let parts = map.split(separator: "/")
                guard parts.count >= 2, parts[1] == "48000" else { continue }
                switch parts[0].lowercased() {
                case "opus":
                    if parts.count == 3, parts[2] == "2" { best = best ?? type } else { fallback = fallback ?? type }
                case "red": reds.append(type)
                default: break
                }
            }
            guard let opus = best ?? fallback else { throw .noCommonCodec }
            self.opus = opus
            // RFC 2198 §5: every block must be the same Opus.
            red = reds.first { type in
                let blocks = (formatParameters[Int(type.rawValue)] ?? "").split(separator: "/")
                return !blocks.isEmpty && blocks.allSatisfy { SDPText.number($0) == Int(opus.rawValue) }
            }
            if let text = formatParameters[Int(opus.rawValue)] { parameters = OpusParameters(parsing: text) }
            if let time = audio.first("ptime").flatMap({ SDPText.number($0) }), (3...120).contains(time) {
                parameters.packetTime = time
            }
        }
    }
}
