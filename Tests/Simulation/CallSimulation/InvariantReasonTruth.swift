import ICELite
import Transport

/// The predicate of each reason over what the simulator knows.
enum InvariantReasonTruth {
    /// The path had been good both ways for this long when the recovery was given up: it had come back.
    static let recovered = Nanoseconds.seconds(3)

    /// What speaks against a claim; nil where it is true.
    static func lie(_ claim: InvariantReason.Claim, in call: ObservedCall) -> String? {
        let facts = call.facts
        let scenario = call.scenario
        switch claim.fallback.reason {
        case .moduleMissing: return scenario.client.hasMediaPath ? "this build has a media path" : nil
        case .agentStandard:
            return scenario.client.isStandard || scenario.server.answer == .standard ? nil : "the agent is not Standard"
        case .serverUnsupported: return scenario.server.answer == .missing ? nil : "the server answers offers"
        case .serverDeclined: return scenario.server.answer == .declined ? nil : "the server declined nothing"
        case .answerInvalid: return scenario.server.answer == .actpass ? nil : "the answer was usable"
        case .noCandidates: return facts.pairsChecked == 0 ? nil : "\(facts.pairsChecked) pairs were checked"
        case .udpBlocked, .iceNoResponse, .iceRejected: return checksLie(claim.fallback.reason, facts)
        case .dtlsTimeout:
            if facts.checkAnswersDelivered == 0 { return "no check was answered" }
            return claim.isDTLSDone ? "the handshake was done" : nil
        case .dtlsFailed: return hasBrokenHandshake(scenario, facts) ? nil : "nothing broke the handshake"
        case .dtlsFingerprintMismatch:
            return facts.isCertificateSwapped ? nil : "the certificate was the one that was signalled"
        case .srtpProfileMismatch: return facts.lacksCommonProfile ? nil : "there was a common profile"
        case .mediaTimeout: return mediaLie(claim, facts)
        case .setupTimeout:
            return claim.fallback.elapsed.nanoseconds >= JudgeLimits.choice ? nil : "the budget had not ended"
        case .recoveryFailed:
            guard claim.wasActive else { return "the call was not active" }
            guard let since = claim.goodPathSince, claim.at - since > recovered else { return nil }
            return "the path had been good for \(JudgeText.seconds(claim.at - since))"
        case .serverRequested: return facts.wasFallbackRequested ? nil : "the server asked for nothing"
        case .internalError: return scenario.client.refusesKeys ? nil : "nothing inside was at fault"
        case .unknown(let word): return "no version knows \(word)"
        }
    }

    private static func checksLie(_ reason: TransportFallbackReason, _ facts: CallFacts) -> String? {
        guard facts.checkAnswersDelivered == 0 else { return "\(facts.checkAnswersDelivered) answers came" }
        switch reason {
        case .udpBlocked:
            if facts.pairsChecked == 0 { return "no pair was checked" }
            // Each pair means each that there is: one that went with its socket is none any more.
            return facts.pairsRefused > 0 && facts.pairsRefused + facts.pairsGone >= facts.pairsChecked
                ? nil : "only \(facts.pairsRefused) of \(facts.pairsChecked) pairs were refused"
        case .iceRejected: return facts.checkErrorsDelivered > 0 ? nil : "no error response came"
        default: return nil
        }
    }

    /// Certificate, profile, or somebody who bends or adds datagrams while they are not protected yet.
    private static func hasBrokenHandshake(_ scenario: Scenario, _ facts: CallFacts) -> Bool {
        if facts.isCertificateSwapped || facts.lacksCommonProfile || scenario.server.answer == .alert { return true }
        return scenario.faults.contains { fault in
            switch fault.verb {
            case .corrupt, .forgeJunk, .replayHandshake: true
            default: false
            }
        }
    }

    private static func mediaLie(_ claim: InvariantReason.Claim, _ facts: CallFacts) -> String? {
        guard claim.isDTLSDone else { return "the handshake was not done" }
        guard claim.fallback.stage == .uplink else {
            return facts.mediaDeliveredDownBeforeChoice == 0
                ? nil : "\(facts.mediaDeliveredDownBeforeChoice) audio packets had come"
        }
        guard claim.selectedPathAt != nil else { return "WebRTC was never selected" }
        return nil
    }
}
