import ICELite
import Transport

/// Rule 7: queues stay within their limits, an end sends only so much, bridges end, and an ended call leaves nothing.
struct InvariantBounded {
    /// The packets of the last second, in a ring.
    private struct Window {
        var times = [Instant](repeating: Instant(nanoseconds: .min / 2), count: JudgeLimits.packets)
        var next = 0
        var checks = 0
        var figuresAt: Instant?
        /// Answers to checks by the last figures and by those before, and when there were too many packets since.
        var answers = (last: 0, before: 0)
        var tooManyAt: Instant?
        /// The newest frame on the path, where it went first, and whether it went elsewhere, too.
        var frame: UInt32 = 0
        var framePath: NetworkPath?
        var isCopied = false

        /// A move of the path to a tuple that is not confirmed yet keeps the old one and sends to both (media-path.md):
        /// 50 packets of audio a second are those of one of them, the second copy is the move's. There is no third.
        mutating func isCopy(_ frame: UInt32, on path: NetworkPath) -> Bool {
            if frame == self.frame, path != framePath, !isCopied {
                isCopied = true
                return true
            }
            if frame != self.frame { (self.frame, framePath, isCopied) = (frame, path, false) }
            return false
        }

        /// Adds a packet; true when it is one too many in a second.
        mutating func add(_ now: Instant) -> Bool {
            let isTooMany = now - times[next] < .seconds(1)
            times[next] = now
            next = next + 1 == times.count ? 0 : next + 1
            return isTooMany
        }
    }

    private var client = Window()
    private var server = Window()

    mutating func begin() {
        reset(&client)
        reset(&server)
    }

    private func reset(_ window: inout Window) {
        for index in window.times.indices { window.times[index] = Instant(nanoseconds: .min / 2) }
        window.next = 0
        window.checks = 0
        window.figuresAt = nil
        window.answers = (0, 0)
        window.tooManyAt = nil
        (window.frame, window.framePath, window.isCopied) = (0, nil, false)
    }

    /// Answers are as many as the checks that came, and those may come all at once that the network, or a sleep, held up:
    /// beyond a second's checks they are the peer's.
    private func report(_ window: inout Window, of end: CallEnd, answers: Int, findings: inout JudgeFindings) {
        guard let at = window.tooManyAt else { return }
        window.tooManyAt = nil
        guard answers <= JudgeLimits.checks else { return }
        findings.report(.bounded, at: at, "the \(end) sent more than \(JudgeLimits.packets) packets in a second")
    }

    mutating func send(
        _ frame: UInt32?, from end: CallEnd, on wire: Wire, at now: Instant, picture: JudgePicture,
        findings: inout JudgeFindings
    ) {
        // Of the line's stream only audio is cut into packets.
        if case .line = wire, frame == nil { return }
        switch end {
        case .client: if client.add(now), client.tooManyAt == nil { client.tooManyAt = now }
        case .server:
            var isCopy = false
            if case .path(let path) = wire, let frame { isCopy = server.isCopy(frame, on: path) }
            if !isCopy, server.add(now), server.tooManyAt == nil { server.tooManyAt = now }
        }
        if case .path = wire, let endedAt = picture[end].endedAt, now - endedAt > JudgeLimits.lastWords {
            findings.report(
                .bounded, at: now, "the \(end) sends datagrams \(JudgeText.milliseconds(now - endedAt)) after its end")
        }
    }

    mutating func take(
        _ figures: CallFigures, of end: CallEnd, at now: Instant, picture: JudgePicture,
        findings: inout JudgeFindings
    ) {
        if figures.lineBytesQueued > JudgeLimits.lineBytesQueued {
            findings.report(
                .bounded, at: now,
                "\(figures.lineBytesQueued) bytes wait for the line at the \(end), limit \(JudgeLimits.lineBytesQueued)"
            )
        }
        if figures.packetsParked > JudgeLimits.packetsParked {
            findings.report(
                .bounded, at: now,
                "\(figures.packetsParked) packets waited for a choice at the \(end), limit \(JudgeLimits.packetsParked)"
            )
        }
        var window = end == .client ? client : server
        let checks = figures.checksSent - window.checks
        if let before = window.figuresAt, now - before <= .seconds(1), checks > JudgeLimits.checks {
            findings.report(
                .bounded, at: now, "\(checks) checks of the \(end) in a second, limit \(JudgeLimits.checks)")
        }
        report(&window, of: end, answers: figures.answersSent - window.answers.before, findings: &findings)
        window.answers = (figures.answersSent, window.answers.last)
        window.checks = figures.checksSent
        window.figuresAt = now
        if end == .client { client = window } else { server = window }
        checkBridge(of: end, at: now, picture: picture, findings: &findings)
    }

    /// With the path good again the bridge is over, at the latest.
    private func checkBridge(
        of end: CallEnd, at now: Instant, picture: JudgePicture, findings: inout JudgeFindings
    ) {
        // A bridge that is asked for anew, for a reason of its own, is another one.
        guard let asked = picture[end].bridgeAskedAt, picture.client.transport == .webrtc,
            picture.server.transport == .webrtc, let goodSince = picture.path.bothSince,
            let runSince = picture.bothRunSince
        else { return }
        let begins = max(asked, max(goodSince, runSince))
        let limit = JudgeLimits.bridgeAfterRepair + 4 * picture.roundTrip
        guard now - begins > limit else { return }
        findings.report(
            .bounded, at: now,
            "the \(end) still asks for the bridge \(JudgeText.seconds(now - begins)) after the path is good, limit "
                + JudgeText.seconds(limit))
    }

    mutating func finish(_ call: ObservedCall, picture: JudgePicture, findings: inout JudgeFindings) {
        report(&client, of: .client, answers: 0, findings: &findings)
        report(&server, of: .server, answers: 0, findings: &findings)
        let facts = call.facts
        if let refusedAt = facts.refusedAt {
            let over = facts.refusedCallEndedAt ?? facts.endedAt
            if over - refusedAt > JudgeLimits.lastWords {
                findings.report(
                    .bounded, at: over,
                    "the server keeps a call \(JudgeText.milliseconds(over - refusedAt)) after it refused its line")
            }
        }
        if facts.clientWaits { findings.report(.bounded, at: facts.endedAt, "the client still waits for a deadline") }
        if facts.serverWaits { findings.report(.bounded, at: facts.endedAt, "the server still waits for a deadline") }
        if facts.clientKeepsLine { findings.report(.bounded, at: facts.endedAt, "the client's line is not closed") }
        if facts.serverKeepsLine { findings.report(.bounded, at: facts.endedAt, "the server's line is not closed") }
        if facts.packetsLeft != 0 {
            findings.report(.bounded, at: facts.endedAt, "\(facts.packetsLeft) packets were not given back")
        }
    }
}
