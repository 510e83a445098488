import ICELite
import Transport
import TransportMedia

/// A call as a person reads it: time, client, carriage, server; packets folded, state changes in capitals.
package struct Timeline {
    private static let sideWidth = 30
    private static let middleWidth = 26

    /// Packets of one kind that went one way in a row.
    private struct Folded {
        var from: CallEnd
        var isPath: Bool
        var isAudio: Bool
        var sent = 0
        var arrived = 0
        var began: Instant
    }

    private var lines: [String] = []
    private var folded: [Folded] = []
    private let scenario: Scenario

    private init(_ scenario: Scenario) { self.scenario = scenario }

    /// The lines of `call`, with the faults that never began and the rules it broke at the bottom.
    package static func lines(of call: ObservedCall, breaking violations: [Violation] = []) -> [String] {
        var timeline = Timeline(call.scenario)
        timeline.lines.append(
            row("", "CLIENT", "", "SERVER"))
        for (at, what) in call.observations { timeline.take(what, at: at) }
        timeline.unfold(at: call.facts.endedAt)
        timeline.lines += missed(in: call)
        for violation in violations { timeline.lines.append("▲ \(violation)") }
        return timeline.lines
    }

    private static func missed(in call: ObservedCall) -> [String] {
        let missed = call.missedFaults
        guard !missed.isEmpty else { return [] }
        return ["△ \(missed.count) of \(call.scenario.faults.count) faults never began"]
            + missed.map { "△ fault \($0.place), \($0.cause.rawValue): \(call.scenario.faults[$0.place].text)" }
    }

    private mutating func take(_ what: Observation, at now: Instant) {
        switch what {
        case .sent(let end, let wire, _, let frame): fold(wire, from: end, frame != nil, isArrival: false, at: now)
        case .arrived(let end, let wire, _, let frame):
            fold(wire, from: end.peer, frame != nil, isArrival: true, at: now)
        case .captured, .played, .suspicion, .handed, .figures: break
        default:
            guard let event = Self.event(what, scenario) else { return }
            unfold(at: now)
            switch event.end {
            case .client: lines.append(Self.row(JudgeText.seconds(now), event.text, "", ""))
            case .server: lines.append(Self.row(JudgeText.seconds(now), "", "", event.text))
            case nil: lines.append(Self.row(JudgeText.seconds(now), "", event.text, ""))
            }
        }
    }

    // MARK: - Events

    private static func event(_ what: Observation, _ scenario: Scenario) -> (end: CallEnd?, text: String)? {
        switch what {
        case .state(let end, let state, let isRecovering):
            return (end, (isRecovering ? "recovering" : state.rawValue).uppercased())
        case .choice(let end, let epoch, let transport, let fallback):
            guard let transport else { return nil }
            let reason = fallback.map { ", \($0.reason.wire)" } ?? ""
            return (end, "epoch \(epoch): \(transport.rawValue)\(reason)")
        case .bridge(let end, let isAsked): return (end, isAsked ? "bridge on" : "bridge off")
        case .outcome(let end, let outcome): return (end, words(outcome))
        case .accepted(let end, let message): return (end, "says message \(message)")
        case .delivered(let end, let message): return (end, "gets message \(message)")
        case .network(let pathUp, let pathDown, let lineUp, let lineDown):
            return (nil, "path \(arrows(up: pathUp, down: pathDown))  line \(arrows(up: lineUp, down: lineDown))")
        case .fault(let index, let isBeginning):
            let verb = scenario.faults.indices.contains(index) ? scenario.faults[index].verb.rawValue : "fault \(index)"
            return (nil, "┄ \(verb) \(isBeginning ? "begins" : "ends") ┄")
        case .milestone(let milestone): return (nil, "· \(milestone.text)")
        case .sent, .arrived, .captured, .played, .suspicion, .handed, .figures: return nil
        }
    }

    private static func words(_ outcome: CallOutcome) -> String {
        switch outcome {
        case .failed(let message): "failed: \(message)"
        case .ended(.local): "ended: local"
        case .ended(.remote): "ended: remote"
        case .ended(.failed(let message)): "ended: failed: \(message)"
        }
    }

    private static func arrows(up: Bool, down: Bool) -> String { (down ? "◀─" : "╳─") + (up ? "─▶" : "─╳") }

    // MARK: - Packets

    private mutating func fold(_ wire: Wire, from end: CallEnd, _ isAudio: Bool, isArrival: Bool, at now: Instant) {
        let isPath = if case .path = wire { true } else { false }
        let index =
            folded.firstIndex { $0.from == end && $0.isPath == isPath && $0.isAudio == isAudio } ?? folded.count
        if index == folded.count {
            folded.append(Folded(from: end, isPath: isPath, isAudio: isAudio, began: now))
        }
        if isArrival { folded[index].arrived += 1 } else { folded[index].sent += 1 }
    }

    /// Writes what has gone since the last event: sent at the sender's side, arrived at the other.
    private mutating func unfold(at now: Instant) {
        for packets in folded {
            let kind = packets.isAudio ? "audio" : "other"
            let name = packets.isPath ? "path" : "line"
            let sent = packets.sent == 0 ? "" : "\(packets.sent) \(kind)"
            let arrived = packets.arrived == 0 ? "" : "\(packets.arrived) \(kind)"
            let isLost = packets.sent > 0 && packets.arrived == 0
            let middle: String
            switch packets.from {
            case .client: middle = "▶ \(name) ──\(isLost ? "╳" : "▶")"
            case .server: middle = "\(isLost ? "╳" : "◀")── \(name) ◀"
            }
            let (client, server) = packets.from == .client ? (sent, arrived) : (arrived, sent)
            lines.append(Self.row(JudgeText.seconds(packets.began), client, middle, server))
        }
        folded.removeAll(keepingCapacity: true)
    }

    private static func row(_ time: String, _ client: String, _ middle: String, _ server: String) -> String {
        var line = String(repeating: " ", count: max(0, 13 - time.count)) + time + "  "
        line += padded(client, sideWidth) + padded(middle, middleWidth) + server
        while line.last == " " { line.removeLast() }
        return line
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }
}
