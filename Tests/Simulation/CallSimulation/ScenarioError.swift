/// Why a scenario's text cannot be read.
package enum ScenarioError: Error, Equatable, Sendable {
    /// The line of that number, from 1, is none that is known.
    case badLine(Int, String)
    /// The line of that number can be read and names what there is not; the sentence says what would be right.
    case impossible(Int, String)
    /// Longer than a scenario can be.
    case tooLong
}

extension ScenarioError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .badLine(let number, let what): "line \(number): \"\(what)\" is not: \(Self.form(of: what))"
        case .impossible(let number, let why): "line \(number): \(why)"
        case .tooLong: "a scenario has \(Scenario.lineLimit) lines at most"
        }
    }

    /// What a line that begins like `line` looks like. No length in it is negative.
    private static func form(of line: String) -> String {
        switch line.split(separator: " ").first {
        case "seed": "seed NUMBER duration LENGTH [calm]"
        case "client":
            "client [preference=auto|websocket|webrtc] [recovery=continueOnWebSocket|endCall] [standard=yes] "
                + "[module=missing] [keys=refused] [stall=LENGTH] [messages=COUNT:FROM..TO]"
        case "server":
            "server [answer=\(Scenario.ServerPart.Answer.allCases.map(\.rawValue).joined(separator: "|"))] "
                + "[refuse=400..599] [stall=LENGTH] [messages=COUNT:FROM..TO]"
        case "net":
            "net NAME [v6=yes] [nat=fullCone:LENGTH|portRestricted:LENGTH], or net NAME.udp|NAME.tcp [up=LENGTH] "
                + "[down=LENGTH] [jitter=normal:LENGTH|uniform:LENGTH|trace:NAME] [loss=PERCENT:BURST] [reorder=PERCENT] "
                + "[dup=PERCENT] [rate=BITS] [queue=LENGTH]"
        case "at":
            "at ANCHOR[+OFFSET] VERB [TARGET] [up|down|both] [client|server|both] [for LENGTH] [VALUE] "
                + "(Tests/Simulation/README.md)"
        case "heal": "heal LENGTH path|line"
        default: "seed, client, server, net, at or heal"
        }
    }
}
