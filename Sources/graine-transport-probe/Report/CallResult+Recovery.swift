internal import Transport

extension CallResult {
    /// The outages of a call's media path, and the one that `recover` caused.
    struct Recovery: Equatable, Sendable {
        /// What caused the outage.
        enum Means: String, CaseIterable, Sendable {
            /// The relay in front of the target.
            case relay
            /// An interface in a network namespace of the probe's own.
            case namespace
        }

        /// How an outage ended.
        enum Outcome: String, CaseIterable, Sendable {
            /// The media path carries the call again, or never stopped.
            case recovered
            /// The call goes on over the carriage that is left.
            case continued
            case failed
        }

        /// What `recover` was asked to cause; nil in other commands.
        var asked: OutagePlan?
        /// Milliseconds since the probe heard that the call was active; nil when nothing was caused.
        var causedAt: Double?
        var how: Means?
        /// The longest time without a voice in what came back from the echo since then, milliseconds.
        var heardGap: Double?
        /// The library's own account.
        var figures: RecoverySnapshot

        /// The outage that the section is about: the one that was caused, or the first that was not a false alarm.
        ///
        /// Two clocks meet here. The library counts an outage from its own active to the *suspicion*; the probe counts
        /// `causedAt` from when it heard of active, a little later, to the *cause*. What was caused therefore stands at
        /// `causedAt` or after it, unless another outage lasted then: it has no entry of its own in that case.
        var outage: Outage? {
            guard asked == nil else {
                guard let causedAt else { return nil }
                // Within 5 s of an earlier outage's end it is that one, which relapsed.
                return figures.outages.last { $0.lasts(at: causedAt) }
                    ?? figures.outages.first { $0.at.milliseconds >= causedAt }
                    ?? figures.outages.last { $0.relapses > 0 }
            }
            return figures.outages.first { $0.outcome != .falseAlarm } ?? figures.outages.first
        }
    }

    /// How the outage ended; nil when there was none, and when the call was hung up in it.
    var recoveryOutcome: Recovery.Outcome? {
        guard let recovery else { return nil }
        let outage = recovery.outage
        guard outage != nil || recovery.causedAt != nil else { return nil }
        if ending?.by == .failed { return .failed }
        switch outage?.outcome {
        case .failed: return .failed
        case .continued: return .continued
        case .ongoing, .hungUp: return nil
        case .recovered, .falseAlarm, nil: break
        }
        // The line is gone and the path is not, or the other way round.
        if let asked = recovery.asked, asked.cause == .lineDead, asked.seconds == nil { return .continued }
        return .recovered
    }

    /// The section `recovery`: null for a call that never was on the media path.
    var recoveryJSON: JSONValue {
        guard let recovery else { return .null }
        let figures = recovery.figures
        let outage = recovery.outage
        let isCaused = recovery.causedAt != nil
        var section = ReportSection(reason: noOutage(recovery))
        section.add("cause", recovery.asked?.cause.rawValue ?? outage?.cause.rawValue)
        section.add("how", recovery.how?.rawValue, because: notCaused(recovery))
        section.add("caused_at_ms", recovery.causedAt, because: notCaused(recovery))
        section.add("detect_ms", outage?.detection.milliseconds)
        section.add("repair_ms", outage?.repair?.milliseconds, because: outage.map(Self.notRepaired))
        section.add("gap_ms", outage?.gap.milliseconds)
        section.add(
            "heard_gap_ms", recovery.heardGap,
            because: isCaused
                ? "nothing was recorded after caused_at_ms: the call was over by then; call.outcome says why"
                : recovery.asked == nil
                    ? "only recover measures it, by a voice without pauses; media.longest_gap_ms is that of call"
                    : notCaused(recovery))
        section.add("frames_lost", outage?.framesLost)
        section.add("mechanism", outage?.mechanism.rawValue)
        section.add("outcome", recoveryOutcome?.rawValue, because: outage.map(Self.notRepaired))
        section.add("outages", .array(figures.outages.map(\.json)))
        section.add("outage_count", figures.outageCount)
        section.add("false_alarms", figures.falseAlarms)
        section.add("bridges", figures.bridges)
        section.add("bridged_ms", figures.bridged.milliseconds)
        section.add("suspicion_ms", figures.suspicionThreshold.milliseconds)
        return section.json
    }

    /// Why there is no outage to tell of, and what to look at instead.
    private func noOutage(_ recovery: Recovery) -> String {
        guard let asked = recovery.asked else {
            return "the media path had no outage in this call; nothing is to be done"
        }
        guard recovery.causedAt != nil else { return notCaused(recovery) }
        guard asked.cause != .lineDead else {
            return "a dead line is no outage of the media path; heard_gap_ms and call.state say how the call took it"
        }
        return "the library suspected nothing after caused_at_ms: audio was back sooner than suspicion_ms; "
            + "heard_gap_ms says what was heard of it"
    }

    /// Why nothing was caused, and what to do for it to be.
    private func notCaused(_ recovery: Recovery) -> String {
        guard let asked = recovery.asked else { return "this command causes no outage; recover does" }
        let due = Int(OutagePlan.delay * 1_000)
        if wasStopped { return "the command was stopped before the outage was due, \(due) ms after active; let it run" }
        if transport == .websocket, asked.cause != .lineDead {
            let reason = fallback.map { "; explain \($0.reason) says why" } ?? ""
            return "the call was on the WebSocket, where \(asked.cause.rawValue) does not reach it" + reason
                + "; --cause line-dead breaks a call there"
        }
        if let after = ending?.afterMilliseconds, after < OutagePlan.delay * 1_000 {
            return "the call was over \(Int(after)) ms after active, before the outage was due at \(due) ms; "
                + "give --duration 3 or more, or see call.outcome"
        }
        return "the interface of the call's media could not be set down; run it without root for the relay's"
    }

    /// Why an outage has no repair and may have no outcome, and what to do.
    private static func notRepaired(_ outage: Outage) -> String {
        switch outage.outcome {
        case .continued: "the path did not come back; the call continues on the WebSocket: see call.fallback"
        case .failed: "the path did not come back and the call ended: see call.outcome, and checks_sent in outages"
        case .hungUp: "the call was hung up while the outage lasted; give it a longer --duration"
        case .ongoing: "the outage still lasted when the report was made; give the call a longer --duration"
        case .recovered, .falseAlarm: "the library did not say; report it with this report"
        }
    }
}

extension Outage {
    /// Whether it had begun by then, milliseconds since active, and was not over.
    fileprivate func lasts(at time: Double) -> Bool {
        guard at.milliseconds <= time else { return false }
        switch outcome {
        case .ongoing, .continued, .failed, .hungUp: return true
        case .recovered, .falseAlarm:
            let steady = Double(PathRecovery.steadyFor) / 1_000_000
            return at.milliseconds + (repair?.milliseconds ?? 0) + steady >= time
        }
    }

    /// As an element of `outages[]`: durations in milliseconds.
    fileprivate var json: JSONValue {
        [
            "cause": .string(cause.rawValue), "at_ms": .measured(at.milliseconds),
            "detect_ms": .measured(detection.milliseconds), "repair_ms": .measured(repair?.milliseconds),
            "gap_ms": .measured(gap.milliseconds), "frames_lost": .integer(framesLost),
            "mechanism": .string(mechanism.rawValue), "outcome": .string(outcome.rawValue),
            "relapses": .integer(relapses), "checks_sent": .integer(checksSent),
        ]
    }
}
