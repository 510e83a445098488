import ICELite

/// Rule 11: nothing is sent where nobody has answered for 30 s, and to nobody who is not of the call.
struct InvariantSecurity {
    /// The pairs a client has heard on: a handful, so an array in the order they came.
    private var heardAt: [(path: NetworkPath, at: Instant)] = []

    mutating func begin() { heardAt.removeAll(keepingCapacity: true) }

    mutating func arrive(_ path: NetworkPath, at end: CallEnd, now: Instant) {
        guard end == .client else { return }
        for index in heardAt.indices where heardAt[index].path == path {
            heardAt[index].at = now
            return
        }
        heardAt.append((path, now))
    }

    func send(
        _ path: NetworkPath, from end: CallEnd, isAudio: Bool, at now: Instant, picture: JudgePicture,
        findings: inout JudgeFindings
    ) {
        guard end == .client, isAudio else { return }
        for known in heardAt where known.path == path {
            // An answer is known when it is read, which may be a stall behind its coming.
            guard now - known.at > JudgeLimits.consent + picture.client.stall else { return }
            return findings.report(
                .security, at: now,
                "the client sends audio on a pair that last answered \(JudgeText.seconds(now - known.at)) ago")
        }
        findings.report(.security, at: now, "the client sends audio on a pair that never answered")
    }

    func finish(_ call: ObservedCall, findings: inout JudgeFindings) {
        guard call.facts.mediaSentUnchecked > 0 else { return }
        findings.report(
            .security, at: call.facts.endedAt,
            "the server sent \(call.facts.mediaSentUnchecked) audio packets to an address that no check came from")
    }
}
