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
        /// When this end ended while the line was good, which it has been since; nil where it was not.
        var lineGoodSinceEnd: Instant?
        /// As it ended it had read all that its peer had said.
        var hadHeardAll = false
        /// Its bye must have been there before its peer ended.
        var isKnown = false
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
            close(&machine, of: end, by: outcome, at: now, picture: picture, findings: &findings)
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
        _ machine: inout End, of end: CallEnd, by outcome: CallOutcome, at now: Instant, picture: JudgePicture,
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
        let peer = end == .client ? server : client
        if machine.outcome == nil {
            machine.outcome = (kind, now)
            machine.hadHeardAll = hasHeardAll(end, of: peer, now: now, picture: picture)
        }
        if picture.line.bothSince != nil, picture.lineGoneAt == nil { machine.lineGoodSinceEnd = now }
    }

    /// Whether `end` has read all that `peer` has said: the line is good, and has been for long enough. Without it nobody can
    /// tell a path that was closed for the WebSocket's sake from one that was closed at the call's end.
    private func hasHeardAll(_ end: CallEnd, of peer: End, now: Instant, picture: JudgePicture) -> Bool {
        guard picture.lineGoneAt == nil, let goodSince = picture.line.bothSince else { return false }
        let told = goodSince + JudgeLimits.goodArrival
        return picture.isOverdue(told, of: end, now: now)
            && (peer.lineBytesSent == peer.lineBytesArrived || now > told + JudgeLimits.goodArrival)
    }

    /// Notes that the peer of `machine`, which has ended, must know of it by `now`: the line was good for long enough, and
    /// the peer was run behind that.
    private func noteKnowing(of machine: inout End, at peer: CallEnd, now: Instant, picture: JudgePicture) {
        guard let endedAt = machine.lineGoodSinceEnd else { return }
        let known = endedAt + JudgeLimits.goodArrival
        if let goneAt = picture.lineGoneAt, goneAt <= known { return }
        if picture.isOverdue(known, of: peer, now: now) { machine.isKnown = true }
    }

    /// Time has come to `now`: does one end know of the other's, and have the choices differed for longer than the line needs?
    mutating func pass(to now: Instant, picture: JudgePicture, findings: inout JudgeFindings) {
        if server.outcome == nil { noteKnowing(of: &client, at: .server, now: now, picture: picture) }
        if client.outcome == nil { noteKnowing(of: &server, at: .client, now: now, picture: picture) }
        guard let differSince, picture.lineGoneAt == nil, client.outcome == nil, server.outcome == nil else { return }
        // Before the first select there is nothing to agree on; and one end cannot know what the other has just said.
        guard picture.client.epoch > 0, let goodSince = picture.line.bothSince else { return }
        let settled = max(differSince, goodSince) + JudgeLimits.goodArrival
        // What has come is known once it is read, which each input may wait for.
        let hasRead =
            client.lineBytesSent == client.lineBytesArrived
            && picture.isOverdue(picture.server.lineHeardAt ?? settled, of: .server, now: now)
        guard picture.isOverdue(settled, of: .client, now: now), picture.isOverdue(settled, of: .server, now: now),
            hasRead || now > settled + JudgeLimits.goodArrival
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
        case (.local, .local): fits = !client.isKnown && !server.isKnown
        case (.failed, .local): fits = !facts.byeDeliveredToClient || first.at <= second.at + knowing(picture)
        case (.local, .failed): fits = !facts.byeDeliveredToServer || second.at <= first.at + knowing(picture)
        // Without a bye the path's close_notify stands for one; the endpoint that goes away has failed to its agent alone.
        case (.failed, .remote): fits = !facts.byeDeliveredToServer
        case (.remote, .failed): fits = !facts.byeDeliveredToClient || facts.drainedAt != nil
        }
        for (one, other, end) in [(client, second, CallEnd.client), (server, first, .server)] {
            guard let outcome = one.outcome, outcome.kind == .remote, one.hadHeardAll, outcome.at < other.at else {
                continue
            }
            findings.report(
                .agreement, at: outcome.at,
                "the \(end) says at \(JudgeText.seconds(outcome.at)) that the \(end.peer) has ended the call, which that "
                    + "does at \(JudgeText.seconds(other.at))")
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
}
