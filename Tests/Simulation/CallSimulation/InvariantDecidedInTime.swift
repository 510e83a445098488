import ICELite
import Transport

/// Rule 1: every state is left in time, and only by an edge of the documented graph.
struct InvariantDecidedInTime {
    private struct End {
        var isSeen = false
        var state = TransportState.idle
        var isRecovering = false
        var openedAt: Instant?
        var recoversSince: Instant?
        /// What the outage has recovered for before, and when it was last over.
        var recovered: Nanoseconds = 0
        var outageEnded: Instant?
    }

    private var startedAt: Instant?
    private var helloAt: Instant?
    private var welcomedAt: Instant?
    private var isChosen = false
    /// When the client last chose a carriage or ended.
    private var clientDecidedAt: Instant?
    private var client = End()
    private var server = End()

    mutating func take(
        _ what: Observation, at now: Instant, picture: JudgePicture, findings: inout JudgeFindings
    ) {
        switch what {
        case .milestone(.start): startedAt = now
        case .milestone(.helloSent): helloAt = now
        case .milestone(.welcome): welcomedAt = now
        case .choice(.client, _, let transport, _):
            if transport != nil { isChosen = true }
            if client.state == .active { clientDecidedAt = now }
        case .state(let end, let state, let isRecovering):
            var machine = end == .client ? client : server
            step(&machine, of: end, to: state, isRecovering: isRecovering, at: now, findings: &findings)
            if end == .client, state == .ended { clientDecidedAt = now }
            if end == .client { client = machine } else { server = machine }
        case .fault(_, isBeginning: false):
            forgive(&client, picture[.client], at: now)
            forgive(&server, picture[.server], at: now)
        default: break
        }
    }

    /// While a machine is not run its window does not run either; it knows that to the 10 ms between two inputs.
    private func forgive(_ machine: inout End, _ picture: JudgePicture.End, at now: Instant) {
        guard picture.resumedAt == now, !picture.isSuspended, picture.mayHaveSeenPause else { return }
        machine.recoversSince = machine.recoversSince.map { $0 + picture.heldFor + JudgeLimits.betweenInputs }
    }

    private func step(
        _ machine: inout End, of end: CallEnd, to state: TransportState, isRecovering: Bool, at now: Instant,
        findings: inout JudgeFindings
    ) {
        // What an end is found in first is no step.
        if machine.isSeen, !Self.isEdge(from: machine.state, to: state) {
            findings.report(
                .decidedInTime, at: now, "\(end) went from \(machine.state.rawValue) to \(state.rawValue)")
        }
        if isRecovering, state != .active {
            findings.report(.decidedInTime, at: now, "\(end) recovers while \(state.rawValue)")
        }
        if machine.openedAt == nil, state == .connecting { machine.openedAt = now }
        if isRecovering, !machine.isRecovering {
            let isSame = machine.outageEnded.map { now - $0 < JudgeLimits.sameOutage } ?? false
            if !isSame { machine.recovered = 0 }
            machine.recoversSince = now
        } else if !isRecovering, machine.isRecovering {
            machine.outageEnded = now
            machine.recovered += machine.recoversSince.map { now - $0 } ?? 0
            machine.recoversSince = nil
        }
        machine.isSeen = true
        machine.state = state
        machine.isRecovering = isRecovering
    }

    private static func isEdge(from: TransportState, to: TransportState) -> Bool {
        switch (from, to) {
        case (.idle, .connecting), (.idle, .ended), (.connecting, .active), (.connecting, .ended), (.active, .ended),
            (.idle, .idle), (.connecting, .connecting), (.active, .active):
            true
        case (.idle, .active), (.connecting, .idle), (.active, .idle), (.active, .connecting), (.ended, _): false
        }
    }

    /// Time has come to `now`: what should have happened before?
    func pass(to now: Instant, picture: JudgePicture, findings: inout JudgeFindings) {
        if client.state == .connecting, let startedAt {
            if let helloAt, let welcomedAt, !isChosen {
                // A welcome behind the budget is answered by a choice at once.
                let due = max(helloAt + JudgeLimits.choice, welcomedAt)
                if picture.isOverdue(due, of: .client, reading: true, now: now) {
                    findings.report(.decidedInTime, at: now, "no carriage chosen 12 s after hello")
                }
            } else if welcomedAt == nil,
                picture.isOverdue(startedAt + JudgeLimits.welcome, of: .client, reading: true, now: now)
            {
                findings.report(.decidedInTime, at: now, "no welcome and not ended 15 s after start")
            }
            if picture.isOverdue(startedAt + JudgeLimits.active, of: .client, reading: true, now: now) {
                findings.report(.decidedInTime, at: now, "neither active nor ended 27 s after start")
            }
        }
        if server.state == .connecting, let openedAt = server.openedAt,
            picture.isOverdue(openedAt + JudgeLimits.serverActive, of: .server, reading: true, now: now)
        {
            findings.report(
                .decidedInTime, at: now, "the server is neither active nor ended 45 s after the line opened")
        }
        check(client, of: .client, at: now, picture: picture, findings: &findings)
        check(server, of: .server, at: now, picture: picture, findings: &findings)
    }

    private func check(
        _ machine: End, of end: CallEnd, at now: Instant, picture: JudgePicture, findings: inout JudgeFindings
    ) {
        if let since = machine.recoversSince {
            // An outage that begins again behind its window has nothing left, but may be seen for an instant.
            let due = since + max(0, JudgeLimits.recovering - machine.recovered)
            if end == .client
                ? picture.isOverdue(due, of: end, reading: true, now: now) : hasMissedDecision(due, picture, now: now)
            {
                findings.report(
                    .decidedInTime, at: now,
                    "\(end) has recovered for \(JudgeText.seconds(machine.recovered + (now - since))), window 10 s")
            }
        }
        guard machine.state == .connecting || machine.state == .active, let cameAt = picture[end].lineHeardAt
        else { return }
        // What came while the machine was not run is read as it goes on, and any input may wait for a stall.
        let stall = picture[end].stall
        let heardAt = max(cameAt, picture[end].resumedAt)
        let isOnPath = machine.state == .active && picture[end].transport == .webrtc
        let limit = JudgeLimits.lineDead + (isOnPath ? JudgeLimits.lineLost : 0)
        // The line's death is such an input, too, where the call outlives it.
        let due = heardAt + stall + limit + (isOnPath ? stall : 0)
        if picture.isOverdue(due, of: end, reading: true, now: now) {
            findings.report(
                .decidedInTime, at: now,
                "\(end) is \(machine.state.rawValue) \(JudgeText.seconds(now - heardAt)) after the line's last byte, "
                    + "limit \(JudgeText.seconds(limit))")
        }
    }

    /// Whether the server should have known by `now` what the client decided at `due`, when its window was over: the line
    /// says so, or is dead itself.
    private func hasMissedDecision(_ due: Instant, _ picture: JudgePicture, now: Instant) -> Bool {
        var due = due
        // The window is the client's: it begins with the client's own suspicion and stands still while that is not run, and
        // an answered check is believed for a while. The client is held to it by itself.
        if let since = client.recoversSince {
            due = max(due, since + max(0, JudgeLimits.recovering - client.recovered))
        } else if let answered = client.outageEnded {
            let doubted = answered + JudgeLimits.answerHolds + 2 * JudgeLimits.goodArrival
            due = max(due, min(doubted, clientDecidedAt ?? doubted))
        }
        let decided = max(due, picture.client.resumedAt) + picture.client.stall
        var known = decided + JudgeLimits.goodArrival
        if let goodSince = picture.line.bothSince, picture.lineGoneAt == nil, !picture.client.isSuspended {
            known = max(known, goodSince + JudgeLimits.goodArrival)
        } else {
            let heardAt = max(picture.server.lineHeardAt ?? due, picture.server.resumedAt)
            let watchedSince = picture.server.suspectSince ?? due
            known = max(known, max(heardAt, watchedSince) + JudgeLimits.suspectLineDead)
        }
        return picture.isOverdue(known, of: .server, reading: true, now: now)
    }
}
