internal import Transport

extension ReportSchema {
    /// Null for a call that never was on the media path; without an outage its first half is null.
    static var recovery: JSONValue {
        let outage = object([
            "cause": words(OutageCause.allCases.map(\.rawValue)), "at_ms": number, "detect_ms": number,
            "repair_ms": numberOrNull, "gap_ms": number, "frames_lost": count,
            "mechanism": words(RepairMechanism.allCases.map(\.rawValue)),
            "outcome": words(OutageOutcome.allCases.map(\.rawValue)), "relapses": count, "checks_sent": count,
        ])
        return orNull(
            section([
                "cause": wordsOrNull(
                    ProbeOptions.OutageCause.allCases.map(\.rawValue) + OutageCause.allCases.map(\.rawValue)),
                "how": wordsOrNull(CallResult.Recovery.Means.allCases.map(\.rawValue)), "caused_at_ms": numberOrNull,
                "detect_ms": numberOrNull, "repair_ms": numberOrNull, "gap_ms": numberOrNull,
                "heard_gap_ms": numberOrNull, "frames_lost": countOrNull,
                "mechanism": wordsOrNull(RepairMechanism.allCases.map(\.rawValue)),
                "outcome": wordsOrNull(CallResult.Recovery.Outcome.allCases.map(\.rawValue)),
                "outages": list(outage), "outage_count": count, "false_alarms": count, "bridges": count,
                "bridged_ms": number, "suspicion_ms": number,
            ]))
    }
}
