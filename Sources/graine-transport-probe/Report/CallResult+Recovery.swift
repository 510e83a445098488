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
        /// Milliseconds since active; nil when nothing was caused.
        var causedAt: Double?
        var how: Means?
        /// The longest time without a voice in what came back from the echo since then, milliseconds.
        var heardGap: Double?
        /// The library's own account.
        var figures: RecoverySnapshot

        /// The outage that matters: the one that was caused, or the first that was not a false alarm.
        var outage: Outage? {
            guard asked == nil else {
                guard let causedAt else { return nil }
                // What comes within seconds of an earlier one is the same outage, which then has relapsed.
                return figures.outages.first { $0.at.milliseconds >= causedAt - Self.clockTolerance }
                    ?? figures.outages.last { $0.relapses > 0 }
            }
            return figures.outages.first { $0.outcome != .falseAlarm } ?? figures.outages.first
        }

        /// The library's active and the probe's are this far apart at most, milliseconds.
        private static let clockTolerance = 250.0
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
        let caused = recovery.asked != nil
        var section = ReportSection(reason: caused ? "the library noticed no outage" : "there was no outage")
        let notCaused =
            caused && recovery.causedAt == nil ? "the outage was not caused: the call was over or elsewhere" : nil
        section.add("cause", recovery.asked?.cause.rawValue ?? outage?.cause.rawValue)
        section.add("how", recovery.how?.rawValue, because: notCaused ?? "nothing was caused")
        section.add("caused_at_ms", recovery.causedAt, because: notCaused ?? "nothing was caused")
        section.add("detect_ms", outage?.detection.milliseconds, because: notCaused)
        section.add(
            "repair_ms", outage?.repair?.milliseconds, because: outage == nil ? notCaused : "the path did not come back"
        )
        section.add("gap_ms", outage?.gap.milliseconds, because: notCaused)
        section.add("heard_gap_ms", recovery.heardGap, because: notCaused ?? "measured by recover alone")
        section.add("frames_lost", outage?.framesLost, because: notCaused)
        section.add("mechanism", outage?.mechanism.rawValue, because: notCaused)
        section.add(
            "outcome", recoveryOutcome?.rawValue,
            because: outage == nil ? notCaused : "the call was over before the outage")
        section.add("outages", .array(figures.outages.map(\.json)))
        section.add("outage_count", figures.outageCount)
        section.add("false_alarms", figures.falseAlarms)
        section.add("bridges", figures.bridges)
        section.add("bridged_ms", figures.bridged.milliseconds)
        section.add("suspicion_ms", figures.suspicionThreshold.milliseconds)
        return section.json
    }
}

extension Outage {
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
