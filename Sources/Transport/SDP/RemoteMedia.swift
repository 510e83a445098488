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
    /// Fingerprints of the peer's certificate by hashes that we accept; at least one.
    package var fingerprints: [CertificateFingerprint]
    /// The DTLS role.
    package var setup: DTLSSetup
    /// The section's name; nil when there is none.
    package var mid: String?
    /// The payload type of Opus.
    package var opusPayloadType: PayloadType
    /// The payload type of RED over that Opus (RFC 2198); nil when there is none.
    package var redPayloadType: PayloadType?
    /// What the peer wishes to receive as Opus.
    package var opus: OpusParameters
    /// The peer's direction.
    package var direction: MediaDirection
    /// Reduced-size RTCP is welcome (RFC 5506). When it is not, all RTCP is compound.
    package var reducedSizeRTCP: Bool
    /// The peer understands Loss RLE reports (RFC 3611 §5.1): one of our own kind.
    package var lossRLE: Bool
    /// The id of the mid header extension, both ways (RFC 9143 §15): 1…14, or up to 255 when
    /// `allowsMixedExtensions`. Nil when it is not negotiated.
    package var midExtension: Int?
    /// The id of the audio level header extension, both ways (RFC 6464), likewise.
    package var audioLevelExtension: Int?
    /// One- and two-byte extension headers may alternate in a stream. RFC 8285 §6.
    package var allowsMixedExtensions: Bool
    /// The stream's SSRC, if it is announced.
    package var ssrc: SSRC?
    /// The stream's CNAME, if it is announced; at most 255 bytes.
    package var cname: String?
    /// Candidate attributes, `candidate:…`, in order; not looked into.
    package var candidates: [String]
    /// No candidate follows.
    package var endOfCandidates: Bool
    /// All media sections, in order.
    package var sections: [Section]
    /// Which of them is ours.
    package var audioIndex: Int
    /// The audio section is in a BUNDLE group.
    package var isBundled: Bool

    /// The peer supports trickling. RFC 8838.
    package var isTrickling: Bool { iceOptions.contains("trickle") }
    /// The peer takes NOMINATION: one of our own kind.
    package var renomination: Bool { iceOptions.contains("renomination") }

    /// Reads a peer's offer, to be answered passive. Of several audio sections the first that can be used counts.
    ///
    /// Reads each byte a bounded number of times.
    /// - Throws: any `SDPError`; of several audio sections, the first one's.
    package init(offer text: String) throws(SDPError) {
        try self.init(offer: Array(text.utf8)[...])
    }

    /// Reads a peer's answer to the offer that was made of `offer`.
    ///
    /// - Throws: any `SDPError`.
    package init(answer text: String, to offer: LocalMedia) throws(SDPError) {
        try self.init(answer: Array(text.utf8)[...], to: offer)
    }
}
