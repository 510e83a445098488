import ICELite
import Transport

/// Rule 2: both ends hold the same choice whenever the line could have told them, and their outcomes fit.
struct InvariantAgreement {
    private enum Kind { case local, remote, failed }

    private struct End {
        var outcome: (kind: Kind, at: Instant)?
        var wasActive = false
        /// Bytes handed to the line, and those that have come out of it at the peer.
        var lineBytesSent = 0
        var lineBytesArrived = 0
        /// Since when the line was good as this end ended; nil where it was not.
        var lineGoodSinceEnd: Instant?
    }

    private var client = End()
    private var server = End()
    /// Since when the choices have differed.
    private var differSince: Instant?

    mutating func take(
        _ what: Observation, at now: Instant, picture: JudgePicture, findings: inout JudgeFindings
    ) {
        switch what {
        case .sent(let end, .line, let byteCount, _):
            if end == .client { client.lineBytesSent += byteCount } else { server.lineBytesSent += byteCount }
        case .arrived(let end, .line, let byteCount, _):
            if end == .client { server.lineBytesArrived += byteCount } else { client.lineBytesArrived += byteCount }
        case .choice:
            let isSame =
                picture.client.epoch == picture.server.epoch
                && picture.client.transport == picture.server.transport
            differSince = isSame ? nil : now
        case .state(let end, .active, _):
            if end == .client { client.wasActive = true } else { server.wasActive = true }
        case .outcome(let end, let outcome):
            var machine = end == .client ? client : server
            close(&machine, of: end, by: outcome, at: now, findings: &findings)
            if end == .client { client = machine } else { server = machine }
        case .network:
            if picture.line.bothSince == nil { loseLine() }
        default: break
        }
    }

    private mutating func loseLine() {
        if client.outcome == nil || server.outcome == nil {
            client.lineGoodSinceEnd = nil
            server.lineGoodSinceEnd = nil
        }
    }

    private func close(
        _ machine: inout End, of end: CallEnd, by outcome: CallOutcome, at now: Instant,
        findings: inout JudgeFindings
    ) {
        if machine.outcome != nil { findings.report(.agreement, at: now, "\(end) told a second outcome") }
        let kind: Kind
        let needsActive: Bool?
        switch outcome {
        case .failed: (kind, needsActive) = (.failed, false)
        case .ended(.failed): (kind, needsActive) = (.failed, true)
        case .ended(.local): (kind, needsActive) = (.local, nil)
        case .ended(.remote): (kind, needsActive) = (.remote, nil)
        }
        if let needsActive, needsActive != machine.wasActive {
            findings.report(
                .agreement, at: now,
                "\(end)'s outcome says that it \(needsActive ? "was" : "never was") active, and it \(needsActive ? "never was" : "was")"
            )
        }
        if machine.outcome == nil { machine.outcome = (kind, now) }
        machine.lineGoodSinceEnd = now
    }

    /// Time has come to `now`: have the choices differed for longer than the line needs?
    mutating func pass(to now: Instant, picture: JudgePicture, findings: inout JudgeFindings) {
        guard let differSince, picture.lineGoneAt == nil, client.outcome == nil, server.outcome == nil else { return }
        // Before the first select there is nothing to agree on; and one end cannot know what the other has just said.
        guard picture.client.epoch > 0, let goodSince = picture.line.bothSince else { return }
        let settled = max(differSince, goodSince) + JudgeLimits.goodArrival
        guard picture.isOverdue(settled, of: .client, now: now), picture.isOverdue(settled, of: .server, now: now),
            client.lineBytesSent == client.lineBytesArrived || now > settled + JudgeLimits.goodArrival
        else { return }
        findings.report(
            .agreement, at: now,
            "the line is good and has told all since \(JudgeText.seconds(now - differSince)), and the client holds epoch "
                + "\(picture.client.epoch) \(picture.client.transport?.rawValue ?? "none"), the server epoch "
                + "\(picture.server.epoch) \(picture.server.transport?.rawValue ?? "none")")
    }

    mutating func finish(
        _ call: ObservedCall, picture: JudgePicture, findings: inout JudgeFindings
    ) {
        let end = call.facts.endedAt
        guard let first = client.outcome else {
            return findings.report(.agreement, at: end, "the client has no outcome")
        }
        guard let second = server.outcome else {
            if picture.server.isSeen { findings.report(.agreement, at: end, "the server has no outcome") }
            return
        }
        let facts = call.facts
        let fits: Bool
        switch (first.kind, second.kind) {
        case (.local, .remote), (.remote, .local), (.failed, .failed): fits = true
        case (.remote, .remote): fits = false
        case (.local, .local): fits = !couldKnow(first.at, second.at)
        case (.failed, .local): fits = !facts.byeDeliveredToClient || first.at <= second.at + knowing(picture)
        case (.local, .failed): fits = !facts.byeDeliveredToServer || second.at <= first.at + knowing(picture)
        // Without a bye the path's close_notify stands for one; the endpoint that goes away has failed to its agent alone.
        case (.failed, .remote): fits = !facts.byeDeliveredToServer
        case (.remote, .failed): fits = !facts.byeDeliveredToClient || facts.drainedAt != nil
        }
        if !fits {
            findings.report(
                .agreement, at: max(first.at, second.at),
                "the client ended \(first.kind) at \(JudgeText.seconds(first.at)), the server \(second.kind) at "
                    + "\(JudgeText.seconds(second.at))")
        }
    }

    /// How long the earlier end's word may be under way while the line is good.
    private func knowing(_ picture: JudgePicture) -> Nanoseconds {
        JudgeLimits.goodArrival + picture.client.stall + picture.server.stall
    }

    /// The later of two hang-ups came when the earlier one's bye must have been there.
    private func couldKnow(_ first: Instant, _ second: Instant) -> Bool {
        let earlier = first <= second ? client : server
        guard earlier.lineGoodSinceEnd != nil else { return false }
        return max(first, second) > min(first, second) + JudgeLimits.goodArrival
    }
}
