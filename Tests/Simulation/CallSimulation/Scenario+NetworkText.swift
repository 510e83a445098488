internal import ICELite

extension Scenario.NetworkPart {
    var text: String {
        var words = ["net \(name)"]
        if hasV6 { words.append("v6=yes") }
        switch nat {
        case .none: break
        case .fullCone(let timeout): words.append("nat=fullCone:\(ScenarioText.text(timeout))")
        case .portRestricted(let timeout): words.append("nat=portRestricted:\(ScenarioText.text(timeout))")
        }
        return words.joined(separator: " ")
    }

    mutating func read(_ word: Substring) -> Bool {
        guard let (key, value) = word.keyAndValue else { return false }
        switch key {
        case "v6":
            guard value == "yes" else { return false }
            hasV6 = true
        case "nat":
            let parts = value.split(separator: ":")
            guard parts.count == 2, let timeout = ScenarioText.length(parts[1]) else { return false }
            switch parts[0] {
            case "fullCone": nat = .fullCone(timeout: timeout)
            case "portRestricted": nat = .portRestricted(timeout: timeout)
            default: return false
            }
        default: return false
        }
        return true
    }
}

extension Scenario.Quality {
    var text: String {
        var words = ["up=\(ScenarioText.text(up))", "down=\(ScenarioText.text(down))"]
        switch jitter {
        case .none: break
        case .normal(let sigma): words.append("jitter=normal:\(ScenarioText.text(sigma))")
        case .uniform(let spread): words.append("jitter=uniform:\(ScenarioText.text(spread))")
        case .trace(let name): words.append("jitter=trace:\(name)")
        }
        if loss > 0 || lossBurst != 1 { words.append("loss=\(ScenarioText.percent(loss)):\(lossBurst)") }
        if reorder > 0 { words.append("reorder=\(ScenarioText.percent(reorder))") }
        if duplicates > 0 { words.append("dup=\(ScenarioText.percent(duplicates))") }
        if let rate { words.append("rate=\(rate)") }
        if queue != .milliseconds(200) { words.append("queue=\(ScenarioText.text(queue))") }
        return words.joined(separator: " ")
    }

    mutating func read(_ word: Substring) -> Bool {
        guard let (key, value) = word.keyAndValue else { return false }
        switch key {
        case "up": return Self.set(&up, ScenarioText.length(value))
        case "down": return Self.set(&down, ScenarioText.length(value))
        case "queue": return Self.set(&queue, ScenarioText.length(value))
        case "reorder": return Self.set(&reorder, ScenarioText.percent(value))
        case "dup": return Self.set(&duplicates, ScenarioText.percent(value))
        case "rate":
            guard let bits = Int(value), bits > 0 else { return false }
            rate = bits
            return true
        case "loss":
            let parts = value.split(separator: ":")
            guard parts.count == 2, let share = ScenarioText.percent(parts[0]), let burst = Int(parts[1]), burst > 0
            else { return false }
            (loss, lossBurst) = (share, burst)
            return true
        case "jitter":
            guard let colon = value.firstIndex(of: ":") else { return false }
            let rest = value[value.index(after: colon)...]
            let length = ScenarioText.length(rest)
            switch (value[..<colon], length) {
            case ("normal", let sigma?): jitter = .normal(sigma)
            case ("uniform", let spread?): jitter = .uniform(spread)
            case ("trace", _): jitter = .trace(String(rest))
            default: return false
            }
            return true
        default: return false
        }
    }

    private static func set<Value>(_ field: inout Value, _ value: Value?) -> Bool {
        guard let value else { return false }
        field = value
        return true
    }
}
