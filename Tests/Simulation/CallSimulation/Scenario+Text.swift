internal import ICELite
internal import Transport

// A scenario as text, one line an item:
//
//     seed 8812 duration 41s
//     client preference=auto recovery=continueOnWebSocket messages=12:40..900
//     server answer=usable
//     net wlan0 v6=yes nat=portRestricted:30s
//     net wlan0.udp up=38ms down=38ms jitter=normal:6ms loss=2%:2
//     at first_audio+7.31s drop wlan0.udp both for 10.02s
//     heal 22.5s path

extension Scenario {
    /// Lines a text has at most.
    package static let lineLimit = 100

    /// The scenario as text.
    package var text: String {
        var lines = ["seed \(seed) duration \(ScenarioText.text(duration))" + (isCalm ? " calm" : "")]
        lines.append(
            ([
                "client preference=\(client.preference.rawValue)", "recovery=\(client.recovery.rawValue)",
            ] + (client.isStandard ? ["standard=yes"] : []) + (client.hasMediaPath ? [] : ["module=missing"])
                + (client.refusesKeys ? ["keys=refused"] : [])
                + Self.words(stall: client.stall, wrap: client.wrap, client.messages)).joined(separator: " "))
        lines.append(
            (["server answer=\(server.answer.rawValue)"] + (server.refusal.map { ["refuse=\($0)"] } ?? [])
                + Self.words(stall: server.stall, wrap: server.wrap, server.messages)).joined(separator: " "))
        for network in networks {
            lines.append(network.text)
            lines.append("net \(network.name).udp \(network.udp.text)")
            lines.append("net \(network.name).tcp \(network.tcp.text)")
        }
        lines += faults.map(\.text)
        if let healing { lines.append("heal \(ScenarioText.text(healing.at)) \(healing.carriage.rawValue)") }
        return lines.map { $0 + "\n" }.joined()
    }

    private static func words(stall: Nanoseconds, wrap: Nanoseconds?, _ messages: MessagesPart) -> [String] {
        var words: [String] = []
        if stall > 0 { words.append("stall=\(ScenarioText.text(stall))") }
        if let wrap { words.append("wrap=\(ScenarioText.text(wrap))") }
        if messages.count > 0 {
            let sizes = messages.byteCounts
            words.append("messages=\(messages.count):\(sizes.lowerBound)..\(sizes.upperBound)")
        }
        return words
    }

    /// Reads what `text` writes. Empty lines and those that begin with `#` are passed over.
    ///
    /// - Throws: `ScenarioError`, with the number of the line: also where a line names a network, a trace or a fault that
    ///   the scenario does not have, or a time before there is one.
    package init(parsing text: String) throws(ScenarioError) {
        self.init()
        networks = []
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count <= Self.lineLimit else { throw .tooLong }
        var numbers = LineNumbers()
        for (index, line) in lines.enumerated() {
            let words = line.split(separator: " ")
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            guard read(first, Array(words.dropFirst())) else { throw .badLine(index + 1, String(line)) }
            numbers.note(index + 1, self)
        }
        if networks.isEmpty { networks = [NetworkPart(name: "wlan0")] }
        try check(numbers)
    }

    private mutating func read(_ first: Substring, _ words: [Substring]) -> Bool {
        switch first {
        case "seed": return readSeed(words)
        case "client": return words.allSatisfy { readClient($0) }
        case "server": return words.allSatisfy { readServer($0) }
        case "net": return readNetwork(words)
        case "at":
            guard let fault = Fault(words: words) else { return false }
            faults.append(fault)
            return true
        case "heal":
            guard words.count == 2, let at = ScenarioText.length(words[0]),
                let carriage = Healing.Carriage(rawValue: String(words[1]))
            else { return false }
            healing = Healing(at: at, carriage: carriage)
            return true
        default: return false
        }
    }

    private mutating func readSeed(_ words: [Substring]) -> Bool {
        guard words.count >= 3, let seed = UInt64(words[0]), words[1] == "duration",
            let duration = ScenarioText.length(words[2])
        else { return false }
        self.seed = seed
        self.duration = duration
        isCalm = words.dropFirst(3).first == "calm"
        return words.count == (isCalm ? 4 : 3)
    }

    private mutating func readClient(_ word: Substring) -> Bool {
        guard let (key, value) = word.keyAndValue else { return false }
        switch key {
        case "preference":
            guard let preference = CallTransport(rawValue: String(value)) else { return false }
            client.preference = preference
        case "recovery":
            guard let recovery = RecoveryPolicy(rawValue: String(value)) else { return false }
            client.recovery = recovery
        case "standard":
            guard value == "yes" else { return false }
            client.isStandard = true
        case "module":
            guard value == "missing" else { return false }
            client.hasMediaPath = false
        case "keys":
            guard value == "refused" else { return false }
            client.refusesKeys = true
        default: return Self.read(key, value, stall: &client.stall, wrap: &client.wrap, messages: &client.messages)
        }
        return true
    }

    private mutating func readServer(_ word: Substring) -> Bool {
        guard let (key, value) = word.keyAndValue else { return false }
        switch key {
        case "answer":
            guard let answer = ServerPart.Answer(rawValue: String(value)) else { return false }
            server.answer = answer
        case "refuse":
            guard let status = Int(value), (400...599).contains(status) else { return false }
            server.refusal = status
        default: return Self.read(key, value, stall: &server.stall, wrap: &server.wrap, messages: &server.messages)
        }
        return true
    }

    private static func read(
        _ key: Substring, _ value: Substring, stall: inout Nanoseconds, wrap: inout Nanoseconds?,
        messages: inout MessagesPart
    ) -> Bool {
        switch key {
        case "stall":
            guard let length = ScenarioText.length(value) else { return false }
            stall = length
        case "wrap":
            guard let length = ScenarioText.length(value) else { return false }
            wrap = length
        case "messages":
            let parts = value.split(separator: ":")
            guard parts.count == 2, let count = Int(parts[0]), (0...1_000).contains(count) else { return false }
            let bounds = parts[1].replacing("..", with: " ").split(separator: " ").compactMap { Int($0) }
            guard bounds.count == 2, (40...8_000).contains(bounds[0]), bounds[0] <= bounds[1], bounds[1] <= 8_000 else {
                return false
            }
            messages.count = count
            messages.byteCounts = bounds[0]...bounds[1]
        default: return false
        }
        return true
    }

    private mutating func readNetwork(_ words: [Substring]) -> Bool {
        guard let name = words.first?.split(separator: "."), let interface = name.first, name.count <= 2 else {
            return false
        }
        if !networks.contains(where: { $0.name == interface }) { networks.append(NetworkPart(name: String(interface))) }
        guard let index = networks.firstIndex(where: { $0.name == interface }) else { return false }
        let rest = words.dropFirst()
        switch name.count == 2 ? name[1] : "" {
        case "": return rest.allSatisfy { networks[index].read($0) }
        case "udp": return rest.allSatisfy { networks[index].udp.read($0) }
        case "tcp": return rest.allSatisfy { networks[index].tcp.read($0) }
        default: return false
        }
    }
}

extension Substring {
    /// The two sides of `key=value`; nil when it is not that.
    var keyAndValue: (Substring, Substring)? {
        guard let equals = firstIndex(of: "=") else { return nil }
        return (self[..<equals], self[index(after: equals)...])
    }
}
