import ICELite

/// Rule 6: an application's messages come as a prefix of what was taken, each once; all of them where a bye says so.
struct InvariantMessages {
    /// The messages of one end.
    private struct Stream {
        var acceptedAt: [Instant] = []
        var delivered = 0
    }

    private var ofClient = Stream()
    private var ofServer = Stream()

    mutating func begin() {
        ofClient.acceptedAt.removeAll(keepingCapacity: true)
        ofServer.acceptedAt.removeAll(keepingCapacity: true)
        ofClient.delivered = 0
        ofServer.delivered = 0
    }

    mutating func take(_ what: Observation, at now: Instant, findings: inout JudgeFindings) {
        switch what {
        case .accepted(.client, _): ofClient.acceptedAt.append(now)
        case .accepted(.server, _): ofServer.acceptedAt.append(now)
        case .delivered(.client, let message): deliver(message, &ofServer, at: .client, now: now, findings: &findings)
        case .delivered(.server, let message): deliver(message, &ofClient, at: .server, now: now, findings: &findings)
        default: break
        }
    }

    private func deliver(
        _ message: UInt32, _ stream: inout Stream, at end: CallEnd, now: Instant, findings: inout JudgeFindings
    ) {
        if Int(message) != stream.delivered + 1 || Int(message) > stream.acceptedAt.count {
            findings.report(
                .messages, at: now,
                "the \(end) got message \(message) after \(stream.delivered), of \(stream.acceptedAt.count) that were taken"
            )
        }
        stream.delivered = max(stream.delivered, Int(message))
    }

    func finish(_ call: ObservedCall, picture: JudgePicture, findings: inout JudgeFindings) {
        check(ofClient, of: .client, call, picture, &findings)
        check(ofServer, of: .server, call, picture, &findings)
    }

    /// What `end` said before its hang-up has come when its bye has.
    private func check(
        _ stream: Stream, of end: CallEnd, _ call: ObservedCall, _ picture: JudgePicture,
        _ findings: inout JudgeFindings
    ) {
        let isByeDelivered = end == .client ? call.facts.byeDeliveredToServer : call.facts.byeDeliveredToClient
        guard isByeDelivered, let ended = picture[end.peer].endedAt, stream.delivered < stream.acceptedAt.count
        else { return }
        findings.report(
            .messages, at: ended,
            "the \(end)'s bye came, and \(stream.delivered) of its \(stream.acceptedAt.count) messages")
    }
}
