internal import ICELite
internal import TransportTestKit

/// Writes down what happens in a simulated call, and tells the faults of their anchors.
final class Observer {
    private let simulator: Simulator
    /// What was seen, in order.
    @exclusivity(unchecked) private(set) var observations: [(at: Instant, what: Observation)]
    @exclusivity(unchecked) var facts = CallFacts()
    /// Told of each milestone the first time it happens.
    var onMilestone: (Milestone) -> Void = { _ in }
    /// The client has chosen its first carriage.
    var isChosen = false
    private var reached = [Instant?](repeating: nil, count: Milestone.allCases.count)

    /// - Parameter room: an array whose memory is used again; its elements go.
    init(simulator: Simulator, room: consuming [(at: Instant, what: Observation)] = []) {
        self.simulator = simulator
        room.removeAll(keepingCapacity: true)
        observations = consume room
    }

    func note(_ what: Observation) { observations.append((simulator.now, what)) }

    /// When the milestone first happened; nil where it did not.
    func instant(of milestone: Milestone) -> Instant? { reached[Int(milestone.rawValue)] }

    /// The milestone happens, if not for the first time in vain.
    func reach(_ milestone: Milestone) {
        guard reached[Int(milestone.rawValue)] == nil else { return }
        reached[Int(milestone.rawValue)] = simulator.now
        simulator.record(UInt64(milestone.rawValue))
        note(.milestone(milestone))
        onMilestone(milestone)
    }

    /// Gives the observations away.
    func take() -> [(at: Instant, what: Observation)] {
        defer { observations = [] }
        return observations
    }
}
