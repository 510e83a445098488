package import ICELite
package import TransportMedia

/// What the peer's SDP says of its media path, in types.
package struct RemotePathDescription: Sendable {
    package var credentials: ICECredentials
    package var isLite: Bool
    package var supportsRenomination: Bool
    /// The peer takes the active side of DTLS.
    package var isActive: Bool
    package var fingerprints: [CertificateFingerprint]
    package var candidates: [ICECandidate]
    package var endOfCandidates: Bool
    package var ssrc: UInt32?
    /// Payload types of the call's audio: a stream that is not announced is told by them.
    package var payloadTypes: [UInt8]

    /// Reads the description out of a parsed offer or answer.
    ///
    /// Candidates of kinds this stack does not use (TCP, `.local` names) are skipped silently, malformed ones too.
    /// - Throws: `PathError` when the credentials are unusable.
    package init(_ media: RemoteMedia) throws(PathError) {
        guard let credentials = ICECredentials(ufrag: media.ufrag, password: media.password) else {
            throw PathError(description: "the ICE credentials are malformed")
        }
        self.credentials = credentials
        isLite = media.isLite
        supportsRenomination = media.renomination
        isActive = media.setup == .active
        fingerprints = media.fingerprints
        candidates = media.candidates.compactMap { text in try? ICECandidate(parsing: text) }
        endOfCandidates = media.endOfCandidates
        ssrc = media.ssrc?.rawValue
        payloadTypes = [media.opusPayloadType, media.redPayloadType].compactMap { $0?.rawValue }
    }
}

/// Why a media path cannot be had, as a sentence.
package struct PathError: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
}
