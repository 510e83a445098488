internal import Transport

extension HumanReport {
    /// What became of an outage; nothing for calls without one.
    func recoveryRows(_ row: (_ label: String, _ cell: (CallResult) -> String?) -> Row) -> [Row] {
        [
            row("outage") { call in
                guard let recovery = call.recovery else { return nil }
                guard let asked = recovery.asked else { return recovery.outage?.cause.rawValue }
                let length = recovery.how == .namespace ? " for good" : length(of: asked)
                return asked.cause.rawValue + length
                    + (recovery.how.map { ", by the \($0.rawValue)" } ?? ", not caused")
            },
            row("      noticed after") { milliseconds($0.recovery?.outage?.detection.milliseconds) },
            row("      repaired after") { milliseconds($0.recovery?.outage?.repair?.milliseconds) },
            row("      by") { $0.recovery?.outage?.mechanism.rawValue },
            row("      gap") { gap(of: $0) },
            row("      frames lost") { $0.recovery?.outage.map { String($0.framesLost) } },
            row("      outcome") { $0.recoveryOutcome?.rawValue },
            row("outages") { call in
                guard let figures = call.recovery?.figures, figures.outageCount > 0 else { return nil }
                return "\(figures.outageCount), \(figures.falseAlarms) false alarms; bridged for "
                    + number(figures.bridged.milliseconds / 1_000, 1) + " s"
            },
        ]
    }

    /// A new port takes no time, and the relay's interface is another one at once.
    private func length(of outage: OutagePlan) -> String {
        switch outage.cause {
        case .rebind, .interface: ""
        case .udpDead, .lineDead: outage.seconds.map { " for \(number($0, 1)) s" } ?? " for good"
        }
    }

    private func gap(of call: CallResult) -> String? {
        let measured = milliseconds(call.recovery?.outage?.gap.milliseconds)
        let heard = milliseconds(call.recovery?.heardGap).map { "\($0) heard in the echo" }
        return [measured, heard].compactMap { $0 }.joined(separator: ", ").nilIfEmpty
    }
}

extension String {
    fileprivate var nilIfEmpty: String? { isEmpty ? nil : self }
}
