package import ICELite
import Transport
import TransportMedia

/// Everything that was seen of a call, one JSON object a line: `{"at":12304000000,"what":"sent",…}`, times in nanoseconds.
package enum TimelineTrace {
    /// The line of one observation.
    package static func line(_ what: Observation, at now: Instant) -> String {
        var object = TraceObject(at: now)
        switch what {
        case .state(let end, let state, let isRecovering):
            object.begin("state", end)
            object.add("state", state.rawValue)
            object.add("recovering", isRecovering)
        case .choice(let end, let epoch, let transport, let fallback):
            object.begin("choice", end)
            object.add("epoch", epoch)
            object.add("transport", transport?.rawValue)
            object.add("reason", fallback?.reason.wire)
            object.add("stage", fallback?.stage.rawValue)
            object.add("detail", fallback?.detail)
        case .bridge(let end, let isAsked):
            object.begin("bridge", end)
            object.add("asked", isAsked)
        case .outcome(let end, let outcome):
            object.begin("outcome", end)
            object.add(outcome)
        case .sent(let end, let wire, let byteCount, let frame):
            object.begin("sent", end)
            object.add(wire, byteCount, frame)
        case .arrived(let end, let wire, let byteCount, let frame):
            object.begin("arrived", end)
            object.add(wire, byteCount, frame)
        case .captured(let end, let frame):
            object.begin("captured", end)
            object.add("frame", Int(frame))
        case .played(let end, let played):
            object.begin("played", end)
            object.add(played)
        case .suspicion(let end, let threshold):
            object.begin("suspicion", end)
            object.add("after", Int(threshold))
        case .handed(let end, let frame, let begunAt):
            object.begin("handed", end)
            object.add("frame", Int(frame))
            object.add("begun", Int(begunAt.nanoseconds))
        case .accepted(let end, let message):
            object.begin("accepted", end)
            object.add("message", Int(message))
        case .delivered(let end, let message):
            object.begin("delivered", end)
            object.add("message", Int(message))
        case .network(let pathUp, let pathDown, let lineUp, let lineDown):
            object.begin("network")
            object.add("path_up", pathUp)
            object.add("path_down", pathDown)
            object.add("line_up", lineUp)
            object.add("line_down", lineDown)
        case .fault(let index, let isBeginning):
            object.begin("fault")
            object.add("index", index)
            object.add("begins", isBeginning)
        case .milestone(let milestone):
            object.begin("milestone")
            object.add("name", milestone.text)
        case .figures(let end, let figures):
            object.begin("figures", end)
            object.add(figures)
        }
        return object.text + "}"
    }
}

/// A JSON object under way: keys in the order they are added, what is nil left out.
private struct TraceObject {
    private(set) var text: String

    init(at now: Instant) { text = "{\"at\":\(now.nanoseconds)" }

    mutating func begin(_ what: String, _ end: CallEnd? = nil) {
        add("what", what)
        if let end { add("end", end == .client ? "client" : "server") }
    }

    mutating func add(_ key: String, _ value: String?) {
        guard let value else { return }
        text += ",\"\(key)\":\"\(Self.escaped(value))\""
    }

    mutating func add(_ key: String, _ value: Int) { text += ",\"\(key)\":\(value)" }

    mutating func add(_ key: String, _ value: Bool) { text += ",\"\(key)\":\(value)" }

    mutating func add(_ outcome: CallOutcome) {
        switch outcome {
        case .failed(let message):
            add("outcome", "failed")
            add("message", message)
        case .ended(.local): add("outcome", "local")
        case .ended(.remote): add("outcome", "remote")
        case .ended(.failed(let message)):
            add("outcome", "ended_failed")
            add("message", message)
        }
    }

    mutating func add(_ wire: Wire, _ byteCount: Int, _ frame: UInt32?) {
        switch wire {
        case .path(let path):
            add("path", "\(path.local) \(path.remote)")
        case .line(let number): add("line", number)
        }
        add("bytes", byteCount)
        if let frame { add("frame", Int(frame)) }
    }

    mutating func add(_ played: Played) {
        switch played {
        case .frame(let id, let isFirstHalf, let carriage):
            add("frame", Int(id))
            add("half", isFirstHalf ? 1 : 2)
            add("on", carriage.map { $0 == .path ? "path" : "line" })
        case .concealed: add("played", "concealed")
        case .silence: add("played", "silence")
        }
    }

    mutating func add(_ figures: CallFigures) {
        if figures.nextDeadline != .never { add("deadline", Int(figures.nextDeadline.nanoseconds)) }
        add("line_bytes_queued", figures.lineBytesQueued)
        add("line_bytes_unacknowledged", figures.lineBytesUnacknowledged)
        add("checks", figures.checksSent)
        add("datagrams", figures.datagramsSent)
        add("pulls", Int(figures.pulls))
    }

    /// RFC 8259 §7.
    private static func escaped(_ value: String) -> String {
        var escaped = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": escaped += "\\\""
            case "\\": escaped += "\\\\"
            case _ where scalar.value < 0x20:
                escaped += "\\u" + String(0x1_0000 + scalar.value, radix: 16).dropFirst()
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
