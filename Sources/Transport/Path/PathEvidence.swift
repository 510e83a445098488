package import ICELite
import TransportMedia

/// What the media path can tell of itself: the facts from which the policy judges whether it still may come.
///
/// A value, filled by `MediaPath`; a test or a replay fills it by hand.
package struct PathEvidence: Sendable, Equatable {
    /// A media path failed in a way that waiting does not mend.
    package enum Failure: Sendable, Equatable {
        case alert(UInt8)
        case handshake(String)
        case fingerprintMismatch
        case noSRTPProfile
        case srtp(String)
    }

    /// Local candidates there are.
    package var localCandidates = 0
    /// Pairs that were formed.
    package var pairs = 0
    /// The peer is lite or said end-of-candidates: no new pair can come from it.
    package var remoteIsComplete = false
    /// No local candidate is to come but by a change of the network.
    package var localIsComplete = false
    /// When the last new pair was formed.
    package var lastPairAt: Instant?
    /// Checks sent, retransmissions included.
    package var checksSent = 0
    /// When the first check was written.
    package var firstCheckAt: Instant?
    /// Every pair had a send refused and nothing was ever answered: the refusal, as a sentence.
    package var everyPairRefused: String?
    /// All answers there were are errors.
    package var onlyErrorResponses = false
    /// When the first success response came.
    package var firstAnswerAt: Instant?
    /// The selected pair's smoothed round trip.
    package var roundTrip: Nanoseconds?
    /// When a handshake record last came from the peer.
    package var lastHandshakeProgressAt: Instant?
    /// When the SRTP keys were final: both Finished verified. The flights may come by the line, before any check is answered.
    package var keysAt: Instant?
    /// When the first packet came that authenticated and decodes.
    package var firstMediaAt: Instant?
    /// What ended the path, if something did.
    package var failure: Failure?
    /// Consent is lost (RFC 7675): nothing may be sent until a pair is selected again. Silence is `PathRecovery`'s to judge.
    package var isLost = false

    package init() {}

    /// How far the path has come, in the stage words of the protocol.
    package var stage: FallbackStage {
        if firstMediaAt != nil { return .uplink }
        if firstAnswerAt != nil { return keysAt == nil ? .dtls : .downlink }
        if pairs > 0 { return .checks }
        return .candidates
    }
}

/// A reason to give the media path up, with the stage it was at and what was seen.
package struct PathVerdict: Sendable, Equatable {
    package var reason: TransportFallbackReason
    package var stage: FallbackStage
    package var detail: String
}

extension PathEvidence.Failure {
    /// The handshake's failure as evidence.
    init(_ failure: DTLSFailure) {
        switch failure {
        case .alert(let number): self = .alert(number)
        case .fingerprintMismatch: self = .fingerprintMismatch
        case .noSRTPProfile: self = .noSRTPProfile
        case .protocolError(let words): self = .handshake(words)
        }
    }
}
