import ICELite
import Transport

/// The simplifications a shrinker tries, each by itself.
enum ShrinkerSteps {
    /// What a scenario does without.
    static let features: [@Sendable (inout Scenario) -> Void] = [
        { $0.healing = nil },
        { $0.isCalm = false },
        { $0.client.messages = Scenario.MessagesPart() },
        { $0.server.messages = Scenario.MessagesPart() },
        { $0.client.stall = 0 },
        { $0.server.stall = 0 },
        { $0.client.preference = .auto },
        { $0.client.recovery = .continueOnWebSocket },
        { $0.client.isStandard = false },
        { $0.client.hasMediaPath = true },
        { $0.client.refusesKeys = false },
        { $0.server.answer = .usable },
        { $0.server.refusal = nil },
        { $0.seed = 1 },
    ]

    /// What a network does without.
    static let network: [@Sendable (inout Scenario.NetworkPart) -> Void] = [
        { network in
            network.udp = Scenario.Quality()
            network.tcp = Scenario.Quality()
        },
        { $0.udp = clean($0.udp) },
        { $0.tcp = clean($0.tcp) },
        { $0.udp.loss = 0 },
        { $0.tcp.loss = 0 },
        { $0.udp.jitter = .none },
        { $0.tcp.jitter = .none },
        { $0.udp.reorder = 0 },
        { $0.udp.duplicates = 0 },
        { $0.udp.rate = nil },
        { $0.tcp.rate = nil },
        { $0.nat = .none },
        { $0.hasV6 = false },
        { $0.udp = even($0.udp) },
        { $0.tcp = even($0.tcp) },
    ]

    /// What a fault does without.
    static let fault: [@Sendable (inout Fault) -> Void] = [
        { $0.offset = .time(0) },
        { $0.direction = .both },
        { $0.target = FaultTarget() },
        { $0.target.family = nil },
        { $0.target.interface = nil },
    ]

    /// The same delays, and nothing else.
    private static func clean(_ quality: Scenario.Quality) -> Scenario.Quality {
        var clean = Scenario.Quality()
        clean.up = quality.up
        clean.down = quality.down
        return clean
    }

    /// The same delay each way, in tens of milliseconds.
    private static func even(_ quality: Scenario.Quality) -> Scenario.Quality {
        guard quality.up != quality.down else { return quality }
        var even = quality
        let step = Nanoseconds.milliseconds(10)
        even.up = max(step, quality.roundTrip / 2 / step * step)
        even.down = even.up
        return even
    }

    /// Rounder lengths near `length`, the roundest first; none where it cannot be rounder.
    static func rounder(_ length: Nanoseconds) -> [Nanoseconds] {
        var found: [Nanoseconds] = []
        for unit: Nanoseconds in [.seconds(10), .seconds(1), .milliseconds(100), .milliseconds(10), .milliseconds(1)] {
            if length % unit == 0 { break }
            let down = length / unit * unit
            // Near enough that it goes on lasting, and that rounding ends.
            for rounded in [down, down + (length < 0 ? -unit : unit)]
            where 2 * (rounded - length).magnitude <= length.magnitude && !found.contains(rounded) {
                found.append(rounded)
            }
        }
        return found
    }

    static func rounder(_ offset: FaultOffset) -> [FaultOffset] {
        switch offset {
        case .time(let length): rounder(length).map(FaultOffset.time)
        case .halfRoundTrips(let count): count == 0 ? [.time(0)] : []
        }
    }
}
