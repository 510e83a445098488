internal import ICELite

extension RemoteMedia {
    /// RFC 8829 §5.1.2: these profiles all mean DTLS-SRTP when there is a fingerprint.
    private static let offeredTransports: Set<String> = [
        "RTP/AVP", "RTP/AVPF", "RTP/SAVP", "RTP/SAVPF", "UDP/TLS/RTP/SAVP", "UDP/TLS/RTP/SAVPF", "TCP/DTLS/RTP/SAVP",
        "TCP/DTLS/RTP/SAVPF",
    ]
    /// An answer has our own, or one that gateways make of it.
    private static let answeredTransports: Set<String> = [
        "UDP/TLS/RTP/SAVPF", "UDP/TLS/RTP/SAVP", "RTP/SAVPF", "RTP/SAVP",
    ]

    init<Text: SDPBytes>(offer text: Text) throws(SDPError) {
        let document = try SDPDocument(parsing: text)
        var refusal = SDPError.noAudio
        for (index, section) in document.sections.enumerated() where section.media.elementsEqual("audio".utf8) {
            // RFC 9143 §6: port 0 with bundle-only is no rejection, if there is a bundle.
            guard section.port != 0 || section.attributes.isBundleOnly && document.bundleTags[index] != nil else {
                continue
            }
            do throws(SDPError) {
                self = try RemoteMedia(document, audioIndex: index, answering: nil)
                return
            } catch {
                if refusal == .noAudio { refusal = error }
            }
        }
        throw refusal
    }

    init<Text: SDPBytes>(
        answer text: Text, to offer: LocalMedia
    ) throws(SDPError) {
        let document = try SDPDocument(parsing: text)
        guard document.sections.count <= 1 else { throw .wrongSectionCount(document.sections.count) }
        guard let section = document.sections.first, section.media.elementsEqual("audio".utf8), section.port != 0 else {
            throw .noAudio
        }
        try self.init(document, audioIndex: 0, answering: offer)
        if let mid, mid != offer.mid { throw .wrongMid(String(mid.prefix(64))) }
        guard opusPayloadType == offer.opusPayloadType else {
            throw .payloadTypeNotOffered(Int(opusPayloadType.rawValue))
        }
        // RFC 8285 §7: what is answered must be as it was offered; we do not offer to mix.
        allowsMixedExtensions = false
        if midExtension != HeaderExtension.mid.offeredID { midExtension = nil }
        if audioLevelExtension != HeaderExtension.audioLevel.offeredID { audioLevelExtension = nil }
    }

    private init<Text: SDPBytes>(
        _ document: SDPDocument<Text>, audioIndex: Int, answering offer: LocalMedia?
    ) throws(SDPError) {
        let session = document.session
        let section = document.sections[audioIndex]
        let audio = section.attributes
        // RFC 9143 §7.1.3: a section may leave what concerns the transport to the one that its bundle goes by.
        let shared = [audio, document.sections[document.bundleTags[audioIndex] ?? audioIndex].attributes]
        let levels = shared + [session]

        self.audioIndex = audioIndex
        let transport = SDPText.string(section.transport, limit: 64)
        let transports = offer == nil ? Self.offeredTransports : Self.answeredTransports
        guard transports.contains(transport.uppercased()) else { throw .badProtocol(transport) }
        let formats = try AudioFormats(section, offered: offer?.opusPayloadType)
        opusPayloadType = formats.opus
        redPayloadType = formats.red
        opus = formats.parameters

        guard shared.contains(where: \.hasRTCPMux) else { throw .noRtcpMux }
        reducedSizeRTCP = shared.contains(where: \.hasReducedSizeRTCP)
        lossRLE = audio.hasLossRLE || session.hasLossRLE

        guard let ufrag = Self.first(\.ufrag, levels), let password = Self.first(\.password, levels),
            SDPText.isICE(ufrag, length: 4...256), SDPText.isICE(password, length: 22...256)
        else { throw .badCredentials }
        self.ufrag = SDPText.string(ufrag)
        self.password = SDPText.string(password)
        isLite = session.isLite
        iceOptions = Self.first(\.iceOptions, levels) ?? []
        candidates = (shared.first { !$0.candidates.isEmpty } ?? audio).candidates
            .map { "candidate:" + SDPText.string($0) }
        endOfCandidates = levels.contains(where: \.endOfCandidates)

        guard let prints = levels.first(where: \.hasFingerprint) else { throw .noFingerprint }
        guard !prints.fingerprints.isEmpty else {
            throw prints.hasMalformedFingerprint ? .badFingerprint : .noFingerprint
        }
        fingerprints = prints.fingerprints
        // An answer must have chosen; an offer must let us be passive. RFC 8842 §5.2, §5.3.
        let role = Self.first(\.setup, levels)
        guard let role, let setup = DTLSSetup(rawValue: SDPText.folded(role)),
            setup != (offer == nil ? .passive : .actpass)
        else { throw .badSetup(role.map { SDPText.string($0, limit: 64) }) }
        self.setup = setup
        direction = audio.direction ?? session.direction ?? .sendrecv

        mid = audio.mid.map { SDPText.string($0) }
        isBundled = document.bundleTags[audioIndex] != nil
        sections = document.sections.map { section in
            Section(
                media: SDPText.string(section.media), transport: SDPText.string(section.transport),
                format: SDPText.string(section.formats[0]), mid: section.attributes.mid.map { SDPText.string($0) })
        }
        let isMixed = audio.allowsMixedExtensions || session.allowsMixedExtensions
        allowsMixedExtensions = isMixed
        // Without a name there is nothing that the extension could carry.
        midExtension =
            mid == nil ? nil : audio.extensions.id(of: .mid, session: session.extensions, isMixed: isMixed)
        audioLevelExtension = audio.extensions.id(of: .audioLevel, session: session.extensions, isMixed: isMixed)
        ssrc = audio.ssrc
        cname = audio.cname
    }

    private static func first<Text: SDPBytes, Value>(
        _ attribute: KeyPath<SDPAttributes<Text>, Value?>, _ levels: [SDPAttributes<Text>]
    ) -> Value? {
        levels.lazy.compactMap { $0[keyPath: attribute] }.first
    }
}
