internal import ICELite
internal import TransportTestKit

/// The lines of a text that its faults and its networks were read from, by their places.
struct LineNumbers {
    private(set) var faults: [Int] = []
    private(set) var traces: [(line: Int, name: String)] = []

    /// `line` has been read into `scenario`.
    mutating func note(_ line: Int, _ scenario: Scenario) {
        while faults.count < scenario.faults.count { faults.append(line) }
        for network in scenario.networks {
            for case .trace(let name) in [network.udp.jitter, network.tcp.jitter]
            where !traces.contains(where: { $0.name == name }) {
                traces.append((line, name))
            }
        }
    }
}

extension Scenario {
    /// What each line by itself cannot tell: that what it names is there.
    func check(_ numbers: LineNumbers) throws(ScenarioError) {
        for trace in numbers.traces where !NetworkTrace.names.contains(trace.name) {
            throw .impossible(
                trace.line, "there is no trace \"\(trace.name)\"; there are \(Self.list(NetworkTrace.names))")
        }
        for (place, line) in numbers.faults.enumerated() {
            guard let why = objection(to: place) else { continue }
            throw .impossible(line, why)
        }
    }

    /// What speaks against the fault at `place` of the list; nil where it can happen.
    private func objection(to place: Int) -> String? {
        let fault = faults[place]
        if let name = fault.target.interface, !networks.contains(where: { $0.name == name }) {
            return "there is no network \"\(name)\"; there are \(Self.list(networks.map(\.name) + ["all"]))"
        }
        switch fault.anchor {
        case .beginning(let other), .end(let other):
            guard faults.indices.contains(other) else {
                return "there is no fault \(other); places count from 0, the last is \(faults.count - 1)"
            }
            if waitsForItself(place) {
                return
                    "fault \(place) waits for itself; anchor it, or the one it waits for, at a milestone or deadline(…)"
            }
        case .deadline(let deadline):
            if case .time(let offset) = fault.offset, offset < -deadline.length {
                return "\(deadline.rawValue) runs \(ScenarioText.text(deadline.length)); an offset goes back "
                    + "-\(ScenarioText.text(deadline.length)) at most"
            }
            return nil
        case .milestone: break
        }
        guard fault.offset.isNegative else { return nil }
        return
            "nobody knows beforehand when \(fault.anchor.text) comes: a negative offset needs an anchor deadline(…), "
            + "another one begins with +"
    }

    /// Whether the fault at `place` is anchored at itself, however many others stand between.
    private func waitsForItself(_ place: Int) -> Bool {
        var next = place
        for _ in faults {
            switch faults[next].anchor {
            case .beginning(let other), .end(let other): next = other
            case .milestone, .deadline: return false
            }
            guard faults.indices.contains(next) else { return false }
            if next == place { return true }
        }
        return false
    }

    private static func list(_ names: [String]) -> String { names.joined(separator: ", ") }
}

extension FaultOffset {
    fileprivate var isNegative: Bool {
        switch self {
        case .time(let length): length < 0
        case .halfRoundTrips(let count): count < 0
        }
    }
}
