package import ICELite

/// Judges from its evidence whether the media path is still to be waited for. Pure: no state, no clock.
///
/// The rules are the table *transportFallbackReason* of the call line's protocol. Each patience runs from its own
/// evidence; none of them outlives the media path's budget.
package enum FallbackDetector {
    /// The reason to give up at `now`, or nil while the path may still come.
    ///
    /// - Parameters:
    ///   - helloAt: when hello was handed to the line: the budget runs from it.
    ///   - lineHeardAt: when the line's last frame came. A dead line says nothing about UDP.
    package static func verdict(
        _ evidence: PathEvidence, helloAt: Instant, lineHeardAt: Instant, limits: TransportLimits, now: Instant
    ) -> PathVerdict? {
        if let failure = evidence.failure { return verdict(for: failure, evidence) }
        if hasNothingToPair(evidence) {
            // Addresses that are there and do not pair will not do so later; with none the network may still come up.
            let isFinal = evidence.localIsComplete && evidence.localCandidates > 0
            if isFinal || now >= helloAt + limits.checkPatience.nanoseconds {
                return PathVerdict(
                    reason: .noCandidates, stage: .candidates,
                    detail: "\(evidence.localCandidates) local candidates, none pairs with a remote one")
            }
        }
        if let silence = silenceVerdict(evidence, lineHeardAt: lineHeardAt, limits: limits, now: now) { return silence }
        guard now >= helloAt + limits.mediaPathBudget.nanoseconds else { return nil }
        return budgetVerdict(evidence)
    }

    /// The next instant at which `verdict` can turn from nil without new evidence.
    package static func deadline(_ evidence: PathEvidence, helloAt: Instant, limits: TransportLimits) -> Instant {
        var deadline = helloAt + limits.mediaPathBudget.nanoseconds
        if let patience = patience(evidence, limits: limits) { deadline = min(deadline, patience) }
        if hasNothingToPair(evidence) { deadline = min(deadline, helloAt + limits.checkPatience.nanoseconds) }
        return deadline
    }

    // MARK: - Private

    /// The peer has named all its candidates and no two make a pair. Once a check was sent there was one, and its interface may
    /// be gone since: what is missing then is an answer.
    private static func hasNothingToPair(_ evidence: PathEvidence) -> Bool {
        evidence.remoteIsComplete && evidence.pairs == 0 && evidence.checksSent == 0 && evidence.firstAnswerAt == nil
    }

    /// When the patience with the stage the path is at ends; nil where none runs.
    private static func patience(_ evidence: PathEvidence, limits: TransportLimits) -> Instant? {
        if evidence.firstMediaAt != nil { return nil }
        if let answered = evidence.firstAnswerAt {
            let handshake = limits.handshakePatience(roundTrip: evidence.roundTrip)
            guard let keysAt = evidence.keysAt else {
                return max(answered, evidence.lastHandshakeProgressAt ?? answered) + handshake
            }
            // The line may have brought the whole handshake before UDP answered at all.
            return max(keysAt, answered) + max(limits.mediaPatience.nanoseconds, handshake)
        }
        guard evidence.remoteIsComplete, let lastPair = evidence.lastPairAt else { return nil }
        return lastPair + limits.checkPatience.nanoseconds
    }

    private static func silenceVerdict(
        _ evidence: PathEvidence, lineHeardAt: Instant, limits: TransportLimits, now: Instant
    ) -> PathVerdict? {
        guard evidence.firstMediaAt == nil else { return nil }
        if evidence.firstAnswerAt == nil, evidence.remoteIsComplete, let refused = evidence.everyPairRefused {
            return PathVerdict(reason: .udpBlocked, stage: .checks, detail: refused)
        }
        guard let patience = patience(evidence, limits: limits), now >= patience else { return nil }
        // Checks unanswered while the line is silent too: the network is gone, not UDP.
        guard now - lineHeardAt <= limits.lineHealthy.nanoseconds || evidence.firstAnswerAt != nil else { return nil }
        return stageVerdict(evidence)
    }

    private static func budgetVerdict(_ evidence: PathEvidence) -> PathVerdict? {
        guard evidence.firstMediaAt == nil else { return nil }
        if evidence.pairs == 0, evidence.checksSent == 0 {
            return PathVerdict(reason: .setupTimeout, stage: .candidates, detail: "the budget ended without a pair")
        }
        return stageVerdict(evidence)
    }

    private static func stageVerdict(_ evidence: PathEvidence) -> PathVerdict {
        if evidence.firstAnswerAt != nil, evidence.keysAt != nil {
            return PathVerdict(reason: .mediaTimeout, stage: .downlink, detail: "secured, but no audio packet came")
        }
        if evidence.firstAnswerAt != nil {
            return PathVerdict(reason: .dtlsTimeout, stage: .dtls, detail: "the handshake made no progress")
        }
        if evidence.onlyErrorResponses {
            return PathVerdict(
                reason: .iceRejected, stage: .checks, detail: "\(evidence.checksSent) checks, answered by errors only")
        }
        return PathVerdict(
            reason: .iceNoResponse, stage: .checks,
            detail: evidence.pairs == 0
                ? "\(evidence.checksSent) checks, none answered, and no pair is left"
                : "\(evidence.checksSent) checks on \(evidence.pairs) \(evidence.pairs == 1 ? "pair" : "pairs"), none answered"
        )
    }

    private static func verdict(for failure: PathEvidence.Failure, _ evidence: PathEvidence) -> PathVerdict {
        switch failure {
        case .alert(let number):
            PathVerdict(reason: .dtlsFailed, stage: .dtls, detail: "alert \(number)")
        case .handshake(let what):
            PathVerdict(reason: .dtlsFailed, stage: .dtls, detail: what)
        case .fingerprintMismatch:
            PathVerdict(
                reason: .dtlsFingerprintMismatch, stage: .dtls,
                detail: "the certificate is not the one that was signalled")
        case .noSRTPProfile:
            PathVerdict(reason: .srtpProfileMismatch, stage: .keys, detail: "no common SRTP profile")
        case .srtp(let what):
            PathVerdict(reason: .internalError, stage: .keys, detail: what)
        }
    }
}
