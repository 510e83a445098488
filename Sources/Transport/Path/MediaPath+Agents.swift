internal import ICELite
internal import TransportMedia

// What the ICE agents tell, and what can be told of them.

extension MediaPath {
    mutating func handle(_ event: ICEFullAgent.Event, now: Instant) {
        switch event {
        case .checkSent(let path):
            guard options.flightBehindCheck, flightPaths.count < Self.flightPathLimit, !flightPaths.contains(path)
            else { return }
            flightPaths.append(path)
            statistics.shortcuts.flightsBehindChecks += 1
            // The flight that has gone to other pairs goes behind this pair's first check, too; one that waits goes by itself.
            if !hasFlightDatagrams { for bytes in dtls?.flight ?? [] { enqueue(bytes, to: path, now: now) } }
        case .pairValid(_, let roundTrip): dtls?.shortenRetransmission(interval: 2 &* roundTrip, now: now)
        case .selected(let path):
            events.append(.selected(path))
            evidence.isLost = false
            if awaitsPair {
                awaitsPair = false
                probedPath = nil
                events.append(.answered(isSamePair: false))
            }
        case .probeAnswered(let path, _):
            events.append(.answered(isSamePair: path == probedPath))
            probedPath = nil
        case .restarted: events.append(.restarted)
        case .selectedPathLost:
            awaitsPair = full?.selectedPath == nil
            events.append(.selectedPathLost)
        // A restart that is outstanding may still bring a pair; the silence has its own limit.
        case .consentExpired: evidence.isLost = evidence.isLost || full?.isRestarting != true
        }
    }

    mutating func handle(_ event: ICELiteAgent.Event, now: Instant) {
        switch event {
        case .tupleAuthenticated:
            guard evidence.firstAnswerAt == nil else { return }
            evidence.firstAnswerAt = now
            signallingRoundTrip = min(now - madeAt, Self.signallingRoundTripLimit)
        case .selected(let path): events.append(.selected(path))
        case .consentExpired: evidence.isLost = true
        case .restartCompleted: events.append(.restarted)
        case .ufragForgotten: events.append(.ufragsChanged)
        case .tupleRemoved(let path): flightPaths.removeAll { $0 == path }
        case .tupleConfirmed: break
        }
    }

    mutating func handle(_ event: ServerReflexiveGathering.Event, now: Instant) {
        switch event {
        case .mapped(let address, let base):
            guard
                let candidate = full?.addServerReflexiveCandidate(mapped: address, base: base, now: now)
            else { return }
            events.append(.candidateFound(candidate))
        case .failed: statistics.reflexiveFailures += 1
        }
    }

    mutating func updateEvidence() {
        guard let outcome = full?.readOutcome() else { return }
        evidence.localCandidates = outcome.localCandidates
        evidence.pairs = outcome.pairs
        evidence.remoteIsComplete = outcome.remoteIsComplete
        evidence.localIsComplete = outcome.localIsComplete
        evidence.lastPairAt = outcome.lastPairAddedAt
        evidence.checksSent = Int(clamping: outcome.checksSent)
        evidence.everyPairRefused = outcome.everyPairRefused.map(Self.sentence)
        evidence.onlyErrorResponses = outcome.onlyErrorResponses
        evidence.firstCheckAt = outcome.firstCheckAt
        evidence.firstAnswerAt = outcome.firstResponseAt
        evidence.roundTrip = outcome.roundTrip
    }

    private static func sentence(_ failure: ICESendFailure) -> String {
        var text = "errno \(failure.errno)"
        if let type = failure.icmpType, let code = failure.icmpCode { text += ", ICMP \(type)/\(code)" }
        if let reporter = failure.reporter { text += " from \(reporter)" }
        return text
    }
}
