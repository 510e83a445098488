internal import ICELite

// `at <anchor>[+|-<offset>] <verb> [<target>] [<direction>] [client|server|both] [for <length>] [<value>]`

extension Fault {
    /// The fault as a line of a scenario.
    package var text: String {
        var words = ["at \(anchor.text)\(offset.text)", verb.rawValue]
        switch verb.subject {
        case .packets: words += [target.text, direction.rawValue]
        case .interface: words.append(target.text)
        case .line: words.append("line")
        case .lineDirection: words += ["line", direction.rawValue]
        case .end: words.append(end.rawValue)
        case .nobody: break
        }
        if length > 0 { words += ["for", ScenarioText.text(length)] }
        switch verb.quantity {
        case .none: break
        case .bitsPerSecond: words.append("\(value)bit")
        case .length: words.append(ScenarioText.text(Nanoseconds(value)))
        case .percent: words.append(ScenarioText.percent(value))
        }
        return words.joined(separator: " ")
    }

    init?(words: [Substring]) {
        guard words.count >= 2, let verb = FaultVerb(rawValue: String(words[1])),
            let (anchor, offset) = FaultAnchor.parse(words[0])
        else { return nil }
        self.init(anchor: anchor, offset: offset, verb: verb)
        var rest = words.dropFirst(2)
        guard readSubject(&rest) else { return nil }
        if rest.first == "for" {
            guard rest.count >= 2, let length = ScenarioText.length(rest[rest.startIndex + 1]), length > 0 else {
                return nil
            }
            self.length = length
            rest = rest.dropFirst(2)
        }
        switch verb.quantity {
        case .none: break
        case .bitsPerSecond:
            guard let word = rest.popFirst(), word.hasSuffix("bit"), let bits = Int(word.dropLast(3)), bits > 0 else {
                return nil
            }
            value = bits
        case .length:
            guard let word = rest.popFirst(), let length = ScenarioText.length(word), length >= 0 else { return nil }
            value = Int(length)
        case .percent:
            guard let word = rest.popFirst(), let share = ScenarioText.percent(word) else { return nil }
            value = share
        }
        guard rest.isEmpty else { return nil }
    }

    private mutating func readSubject(_ words: inout ArraySlice<Substring>) -> Bool {
        let subject = verb.subject
        if subject == .packets || subject == .interface {
            guard let word = words.popFirst(), let target = FaultTarget(text: word) else { return false }
            self.target = target
        }
        if subject == .line || subject == .lineDirection {
            guard words.popFirst() == "line" else { return false }
        }
        if subject == .packets || subject == .lineDirection {
            guard let word = words.popFirst(), let direction = FaultDirection(rawValue: String(word)) else {
                return false
            }
            self.direction = direction
        }
        if subject == .end {
            guard let word = words.popFirst(), let end = FaultEnd(rawValue: String(word)) else { return false }
            self.end = end
        }
        return true
    }
}

extension FaultAnchor {
    var text: String {
        switch self {
        case .milestone(let milestone): milestone.text
        case .deadline(let deadline): "deadline(\(deadline.rawValue))"
        case .beginning(let index): "begin(\(index))"
        case .end(let index): "end(\(index))"
        }
    }

    /// An anchor with its offset: `first_audio+7.31s`, `deadline(recoveryWindow)-1us`, `bridge_on+0.5RTT`.
    static func parse(_ word: Substring) -> (FaultAnchor, FaultOffset)? {
        let split = word.firstIndex { $0 == "+" || $0 == "-" } ?? word.endIndex
        guard let anchor = FaultAnchor(text: word[..<split]) else { return nil }
        guard split < word.endIndex else { return (anchor, .time(0)) }
        let isNegative = word[split] == "-"
        let magnitude = word[word.index(after: split)...]
        switch magnitude {
        case "0.5RTT": return (anchor, .halfRoundTrips(isNegative ? -1 : 1))
        case "1RTT": return (anchor, .halfRoundTrips(isNegative ? -2 : 2))
        default: return ScenarioText.length(magnitude).map { (anchor, .time(isNegative ? -$0 : $0)) }
        }
    }

    private init?(text: Substring) {
        if let milestone = Milestone(text: text) {
            self = .milestone(milestone)
            return
        }
        guard let open = text.firstIndex(of: "("), text.hasSuffix(")") else { return nil }
        let argument = text[text.index(after: open)...].dropLast()
        switch text[..<open] {
        case "deadline":
            guard let deadline = FaultDeadline(rawValue: String(argument)) else { return nil }
            self = .deadline(deadline)
        case "begin":
            guard let index = Int(argument), index >= 0 else { return nil }
            self = .beginning(index)
        case "end":
            guard let index = Int(argument), index >= 0 else { return nil }
            self = .end(index)
        default: return nil
        }
    }
}

extension FaultOffset {
    var text: String {
        switch self {
        case .time(0): ""
        case .time(let length): (length < 0 ? "" : "+") + ScenarioText.text(length)
        case .halfRoundTrips(let count): (count < 0 ? "-" : "+") + (abs(count) == 2 ? "1RTT" : "0.5RTT")
        }
    }
}

extension FaultTarget {
    var text: String {
        let suffix =
            switch (carriage, family) {
            case (.udp, .v4): ".udp4"
            case (.udp, .v6): ".udp6"
            case (.udp, nil): ".udp"
            case (.tcp, _): ".tcp"
            case (nil, _): ""
            }
        return (interface ?? "all") + suffix
    }

    init?(text: Substring) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard let name = parts.first, !name.isEmpty, parts.count <= 2 else { return nil }
        self.init(interface: name == "all" ? nil : String(name))
        guard parts.count == 2 else { return }
        switch parts[1] {
        case "udp": carriage = .udp
        case "udp4": (carriage, family) = (.udp, .v4)
        case "udp6": (carriage, family) = (.udp, .v6)
        case "tcp": carriage = .tcp
        default: return nil
        }
    }
}

extension FaultVerb {
    /// What a verb's line names.
    enum Subject {
        case packets
        case interface
        case line
        case lineDirection
        case end
        case nobody
    }

    /// What a verb's number counts.
    enum Quantity {
        case none
        case bitsPerSecond
        case length
        case percent
    }

    var subject: Subject {
        switch self {
        case .drop, .hold, .reject, .corrupt, .dup, .rate, .delay, .loss: .packets
        case .rebind, .addressChange, .interfaceDown, .routeFlap: .interface
        case .cutFin, .cutReset, .cutSilent: .line
        case .halfOpen, .slowReader, .windowZero: .lineDirection
        case .suspend, .stall, .hangUp, .mute, .forgeMessage, .replayHandshake, .replayMedia, .forgeMedia, .forgeJunk:
            .end
        case .drain, .serverRequested, .restartNeeded, .forgeCheck, .forgeOldCheck: .nobody
        }
    }

    var quantity: Quantity {
        switch self {
        case .rate, .slowReader: .bitsPerSecond
        case .delay: .length
        case .loss, .dup, .corrupt: .percent
        default: .none
        }
    }
}
