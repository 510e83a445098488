package import ICELite

// The course of an outage: when it is repaired, what is due in it, and its end.

extension PathRecovery {
    /// When `handleTimeout` wants to be called.
    @inline(__always) package var nextDeadline: Instant {
        guard !isStopped else { return .never }
        guard let current else {
            var deadline = liveness.suspectAt
            if !liveness.knowsPeer, isController { deadline = min(deadline, max(quietCheckAt, quietSince)) }
            if let bridgeEnd { deadline = min(deadline, bridgeEnd) }
            return deadline
        }
        var deadline = Instant.never
        if let steadySince = current.steadySince {
            deadline = liveness.suspectAt
            if !isPeerBridgeOn, isRepaired { deadline = min(deadline, steadySince + Self.steadyFor) }
        }
        if let bridgeEnd { deadline = min(deadline, bridgeEnd) }
        if isController, isPeerBridgeOn, !current.isLineAsked, let answeredAt = current.answeredAt {
            deadline = min(deadline, answeredAt + Self.answerHolds)
        }
        if !isRepaired {
            if !isRecovering { deadline = min(deadline, current.brokenAt + Self.announceAfter) }
            if !current.isWindowOver {
                deadline = min(deadline, windowEnd(of: current))
                if !current.hasFreshSockets, isController { deadline = min(deadline, freshSocketsAt(current)) }
            }
        }
        return min(deadline, current.probeAt)
    }

    /// `nextDeadline`, read in place: of a machine that is part of something a property is read from a copy of it all.
    package mutating func readDeadline() -> Instant { nextDeadline }

    /// Brings everything up to `now` after an input.
    mutating func settle(now: Instant) {
        doubtAnswer(now: now)
        if current != nil {
            if isRepaired { repaired(now: now) } else { broken(now: now) }
        }
        probeIfDue(now: now)
        if let bridgeEnd, now >= bridgeEnd {
            bridgeSince = nil
            effects.append(.askBridge(false))
        }
        measureBridge(now: now)
        if let current, isRepaired, !isPeerBridgeOn, let steadySince = current.steadySince,
            now - steadySince >= Self.steadyFor
        {
            finish(outcome(of: current, now: now), now: now)
        }
    }

    /// Audio comes on the path, and the other end hears us as far as it can be known.
    var isRepaired: Bool {
        guard let current, current.steadySince != nil else { return false }
        let isUnheard = isPeerBridgeOn && isController || current.isOneWay || current.isRefused
        return !isUnheard || current.answeredAt != nil
    }

    /// When our own bridge is to end; nil while it is needed, or not there.
    private var bridgeEnd: Instant? {
        guard let bridgeSince else { return nil }
        #if MUTANTS
        if Mutant.current == .bridgeNeverOff { return .never }
        #endif
        let earliest = bridgeSince + Self.shortestBridge
        let steadySince = current == nil ? bridgeSince : current?.steadySince
        guard let end = steadySince.map({ max(earliest, $0 + Self.steadyFor) }) else { return nil }
        // What is under way on a path that is behind comes too late to be heard, and goes with it.
        return behindAt.map { max(end, min($0 + Self.steadyFor, end + Self.longestWaitBehind)) } ?? end
    }

    private func windowEnd(of current: Current) -> Instant { current.brokenAt + max(0, window - current.used) }

    private func freshSocketsAt(_ current: Current) -> Instant {
        current.brokenAt + Nanoseconds(Self.urgentProbes) * Self.urgentProbeInterval
    }

    private var quietSince: Instant { liveness.lastHeardAt + Self.quietCheckInterval }

    func isQuietCheckDue(now: Instant) -> Bool {
        isController && !liveness.knowsPeer && now >= max(quietCheckAt, quietSince)
    }

    /// The other end was reached and still does not hear us, as far as the line has told.
    private mutating func doubtAnswer(now: Instant) {
        guard isController, isPeerBridgeOn, let current, !current.isLineAsked, let answeredAt = current.answeredAt,
            now - answeredAt >= Self.answerHolds
        else { return }
        self.current?.isLineAsked = true
        effects.append(.askLine)
    }

    private mutating func repaired(now: Instant) {
        guard let current, let last = figures.outages.indices.last else { return }
        if current.repairedAt == nil {
            self.current?.repairedAt = now
            figures.outages[last].repair = Duration(nanoseconds: current.used + (now - current.brokenAt))
        }
        self.current?.isWindowOver = false
        setRecovering(false)
    }

    private mutating func broken(now: Instant) {
        endRepair(now: now)
        guard let current else { return }
        if current.isCertain || now - current.brokenAt >= Self.announceAfter { setRecovering(true) }
        if isController, !current.hasFreshSockets, !current.isWindowOver, now >= freshSocketsAt(current) {
            self.current?.hasFreshSockets = true
            if current.answeredAt == nil { effects.append(.openFreshSockets) }
        }
        if !current.isWindowOver, now >= windowEnd(of: current) {
            self.current?.isWindowOver = true
            effects.append(.windowEnded)
        }
    }

    /// What was repaired is broken again: the time between uses nothing of the window, if the path was well for as long as
    /// ends an outage.
    private mutating func endRepair(now: Instant) {
        guard let last = figures.outages.indices.last else { return }
        if let repairedAt = current?.repairedAt, liveness.lastHeardAt - repairedAt >= Self.steadyFor,
            let repair = figures.outages[last].repair
        {
            current?.used = repair.nanoseconds
            current?.brokenAt = now
        }
        current?.repairedAt = nil
        figures.outages[last].repair = nil
    }

    private mutating func setRecovering(_ isOn: Bool) {
        guard isOn != isRecovering else { return }
        figures.isRecovering = isOn
        effects.append(.recoveringChanged(isOn))
    }

    private mutating func probeIfDue(now: Instant) {
        guard let current, now >= current.probeAt else { return }
        // What is reached, or heard while nobody complains, needs no more checks.
        guard !isRepaired, !current.isWindowOver else {
            self.current?.probeAt = .never
            return
        }
        effects.append(.probe)
        let later = current.probes - Self.urgentProbes
        var interval = Self.urgentProbeInterval
        if later >= 0 { interval = min(Self.probeInterval << Nanoseconds(min(later, 8)), Self.probeIntervalCap) }
        // The path answers, and what is missing is audio: it may be on its way.
        if current.answeredAt != nil { interval = Self.probeIntervalCap }
        self.current?.probes += 1
        self.current?.probeAt = now + interval
    }

    private func outcome(of current: Current, now: Instant) -> OutageOutcome {
        guard let last = figures.outages.last else { return .recovered }
        // The server only sees how long the client wanted the bridge.
        if current.isPeers, !isController, now - current.brokenAt > Self.shortestBridge + Self.steadyFor {
            return .recovered
        }
        let isShort = (last.repair ?? .zero) < Duration(nanoseconds: Self.falseAlarmWithin)
        let isUnrepaired = last.mechanism == .none || last.mechanism == .samePair
        return isShort && isUnrepaired && !current.isCertain && last.relapses == 0 ? .falseAlarm : .recovered
    }

    mutating func finish(_ outcome: OutageOutcome, now: Instant) {
        guard let current, let last = figures.outages.indices.last else { return }
        let used = isRepaired ? figures.outages[last].repair?.nanoseconds : nil
        lastEnd = (now, used ?? current.used + (now - current.brokenAt))
        if !isRepaired { noteSilence(now: now) }
        figures.outages[last].outcome = outcome
        if outcome == .falseAlarm {
            figures.falseAlarms += 1
            // Only what the threshold has said for nothing speaks against it.
            if figures.outages[last].cause == .silence { liveness.noteFalseAlarm(now: now) }
        }
        self.current = nil
        setRecovering(false)
        effects.append(.finished)
    }

    /// What ends without audio was as long as the silence since the last of it.
    private mutating func noteSilence(now: Instant) {
        guard let last = figures.outages.indices.last else { return }
        figures.outages[last].gap = max(figures.outages[last].gap, Duration(nanoseconds: now - lastAudioAt))
    }

    mutating func measureBridge(now: Instant) {
        switch (bridgingSince, isBridging) {
        case (nil, true): bridgingSince = now
        case (.some(let since), false):
            bridgingSince = nil
            bridgeEndedAt = now
            figures.bridged += Duration(nanoseconds: now - since)
        case (nil, false), (.some, true): break
        }
    }
}
