import ICELite

// The choice of the carriage: when it is made, repeated, given up and changed.

extension ClientPolicy {
    var negotiationDeadline: Instant {
        guard let helloAt else { return excuse.extending(startedAt + limits.connectingBudget.nanoseconds) }
        let budget = excuse.extending(helloAt + limits.mediaPathBudget.nanoseconds)
        let deadline = FallbackDetector.deadline(evidence, helloAt: helloAt, limits: limits)
        // A patience that ran out while the line was silent is judged again when the line is heard, or at the budget.
        return deadline > judgedAt ? min(budget, excuse.extending(deadline)) : budget
    }

    /// Chooses the carriage as soon as the evidence allows it.
    mutating func judge(now: Instant) {
        #if MUTANTS
        if Mutant.current == .lateSuccessFlipsTheChoice, transport == .websocket, evidence.firstMediaAt != nil {
            return select(.webrtc, nil, now: now)
        }
        #endif
        switch state {
        case .negotiating:
            if evidence.firstMediaAt != nil, evidence.failure == nil { return select(.webrtc, nil, now: now) }
            guard let helloAt, evidence.failure != nil || !excuse.covers(negotiationDeadline, now: now) else { return }
            if let verdict = FallbackDetector.verdict(
                evidence, helloAt: helloAt, lineHeardAt: lineHeardAt, limits: limits, now: now)
            {
                fallBack(verdict.reason, verdict.stage, verdict.detail, now)
            } else {
                judgedAt = now
            }
        case .selected(let selection)
        where selection.transport == .webrtc && (evidence.failure != nil || evidence.isLost):
            fallBack(.mediaTimeout, .uplink, "the path was lost before the call was active", now)
        case .active(let selection)
        where selection.transport == .webrtc && evidence.failure != nil:
            pathLost(now: now)
        case .idle, .opening, .selected, .active, .ended: break
        }
    }

    mutating func pathLost(now: Instant) {
        let lineWorks = lineLostAt == nil && now - lineHeardAt <= limits.lineCarries.nanoseconds
        if recovery == .continueOnWebSocket, lineWorks {
            changeCarriage(.recoveryFailed, "the media path did not come back", now)
        } else {
            end(.ended(.failed(message: CallMessage.pathLost)), bye: .failure(CallMessage.pathLost))
        }
    }

    mutating func changeCarriage(_ reason: TransportFallbackReason, _ detail: String, _ now: Instant) {
        let fallback = TransportFallback(reason: reason, stage: .recovery, elapsed: elapsed(now), detail: detail)
        epoch += 1
        pathClosedAt = nil
        let selection = Selection(epoch: epoch, transport: .websocket, fallback: fallback, at: now)
        state = .active(selection)
        effects.append(.select(epoch: epoch, transport: .websocket, fallback: fallback, isRepeat: false))
        effects.append(.closePath)
        effects.append(.transportChanged(from: .webrtc, to: .websocket, fallback))
    }

    func elapsed(_ now: Instant) -> Duration { Duration(nanoseconds: now - (helloAt ?? startedAt)) }

    mutating func fallBack(
        _ reason: TransportFallbackReason?, _ stage: FallbackStage, _ detail: String, _ now: Instant
    ) {
        let fallback = reason.map {
            TransportFallback(reason: $0, stage: stage, elapsed: elapsed(now), detail: detail)
        }
        select(.websocket, fallback, now: now)
    }

    mutating func select(_ transport: TransportKind, _ fallback: TransportFallback?, now: Instant) {
        epoch += 1
        state = .selected(
            Selection(
                epoch: epoch, transport: transport, fallback: fallback, at: now,
                weHeard: transport == .webrtc && evidence.firstMediaAt != nil))
        effects.append(.select(epoch: epoch, transport: transport, fallback: fallback, isRepeat: false))
        #if MUTANTS
        if Mutant.current == .lateSuccessFlipsTheChoice { return }
        #endif
        if transport == .websocket { effects.append(.closePath) }
    }

    mutating func updateSelection(
        on transport: TransportKind, now: Instant, _ change: (inout Selection) -> Void
    ) {
        switch state {
        case .selected(var selection) where selection.transport == transport:
            change(&selection)
            if selection.weHeard, selection.serverHeard {
                state = .active(selection)
                effects.append(.activated(transport))
            } else {
                state = .selected(selection)
            }
        case .active(var selection) where selection.transport == transport:
            change(&selection)
            state = .active(selection)
        case .idle, .opening, .negotiating, .selected, .active, .ended: break
        }
    }

    /// When a selected carriage that is not active yet is given up.
    func activationDeadline(_ selection: Selection) -> Instant {
        let connecting = startedAt + limits.connectingBudget.nanoseconds
        switch selection.transport {
        case .websocket:
            return excuse.extending(min(connecting, selection.at + limits.webSocketActiveBudget.nanoseconds))
        case .webrtc:
            let budget = (helloAt ?? startedAt) + limits.mediaPathBudget.nanoseconds
            return excuse.extending(min(connecting, budget, selection.at + limits.uplinkPatience.nanoseconds))
        }
    }

    mutating func selectedTimeout(_ selection: Selection, now: Instant) {
        let deadline = activationDeadline(selection)
        if now >= deadline, !excuse.covers(deadline, now: now) {
            if selection.transport == .webrtc {
                fallBack(.mediaTimeout, .uplink, "the server did not hear us on the media path", now)
            } else {
                end(.failed(message: CallMessage.notActive), bye: .failure(CallMessage.notActive))
            }
            return
        }
        repeatSelect(selection, now: now)
    }

    mutating func activeTimeout(_ selection: Selection, now: Instant) {
        if let pathClosedAt, now - pathClosedAt >= Self.closedPathPatience { return end(.ended(.remote), bye: .client) }
        if let lineLostAt, now - lineLostAt >= limits.lineLostLimit.nanoseconds {
            return end(.ended(.failed(message: CallMessage.lineLost)), bye: nil)
        }
        repeatSelect(selection, now: now)
    }

    mutating func repeatSelect(_ selection: Selection, now: Instant) {
        guard !selection.acknowledged, !selection.sentTwice, now - selection.at >= limits.selectResend.nanoseconds
        else { return }
        updateSelection(on: selection.transport, now: now) { $0.sentTwice = true }
        effects.append(
            .select(
                epoch: selection.epoch, transport: selection.transport, fallback: selection.fallback, isRepeat: true))
    }
}
