import Testing

@testable import ICELite

/// Two ends of one role find out who controls, and what it costs (RFC 8445 §7.3.1.1, §7.2.5.1).
@Suite struct RoleScenarioTests {
    private let timing = ICETiming()

    private func network(_ role: ICERole, left: UInt64, right: UInt64) throws -> FullAgentNetwork {
        var network = FullAgentNetwork(seed: 11, left: role, right: role)
        network.left.tieBreaker = left
        network.right.tieBreaker = right
        try network.add(.left, "192.0.2.1", 1_000)
        try network.add(.right, "198.51.100.1", 2_000)
        network.introduce()
        return network
    }

    /// When each end has selected: the larger tie-breaker's, and the other's.
    private func run(_ network: inout FullAgentNetwork, controlling: FullAgentNetwork.Side) throws -> [Nanoseconds] {
        let other: FullAgentNetwork.Side = controlling == .left ? .right : .left
        var times: [Nanoseconds?] = [nil, nil]
        for milliseconds in Int64(0)...1_000 {
            network.run(until: .zero + .milliseconds(milliseconds))
            for (index, side) in [controlling, other].enumerated() where network[side].selectedPath != nil {
                times[index] = times[index] ?? network.now - .zero
            }
        }
        #expect(network[controlling].role == .controlling && network[other].role == .controlled)
        #expect(network.left.selectedPath?.reversed == network.right.selectedPath)
        return times.map { $0 ?? .max }
    }

    @Test(arguments: [(UInt64(9), UInt64(5)), (5, 9), (1, 0), (0, 1), (.max, .max - 1)])
    func `both controlling: the larger stays so and the conflict costs no time`(left: UInt64, right: UInt64) throws {
        var network = try network(.controlling, left: left, right: right)
        let trip = 2 * network.delay
        let times = try run(&network, controlling: left > right ? .left : .right)
        // As without a conflict: the smaller one changes with the first check it hears, and checks again at once.
        #expect(times == [2 * trip, trip + network.delay])
        #expect(network.left.tieBreaker == left || left < right)
        #expect(network.right.tieBreaker == right || right < left)
    }

    @Test(arguments: [(UInt64(9), UInt64(5)), (5, 9), (1, 0), (0, 1), (.max, .max - 1)])
    func `both controlled: the larger takes over and it costs one round trip`(left: UInt64, right: UInt64) throws {
        var network = try network(.controlled, left: left, right: right)
        let trip = 2 * network.delay
        let times = try run(&network, controlling: left > right ? .left : .right)
        // Its first check was refused by 487, and goes again when that is heard.
        #expect(times == [3 * trip, 2 * trip + network.delay])
    }

    @Test(arguments: [ICERole.controlling, .controlled], [UInt64(0), 7, .max])
    func `equal tie-breakers are drawn anew and settle it`(role: ICERole, value: UInt64) throws {
        var network = try network(role, left: value, right: value)
        let trip = 2 * network.delay
        network.run(until: .zero + .seconds(5))
        let controlling: FullAgentNetwork.Side = network.left.role == .controlling ? .left : .right
        let other: FullAgentNetwork.Side = controlling == .left ? .right : .left
        #expect(network[other].role == .controlled)
        #expect(network.left.selectedPath != nil)
        #expect(network.left.selectedPath?.reversed == network.right.selectedPath)
        // Two rounds of conflict at most, each with a check that waits for the pacing, and then a set-up as ever.
        var again = try self.network(role, left: value, right: value)
        again.run(until: .zero + 2 * (trip + timing.pacing) + 2 * trip)
        #expect(again.left.selectedPath?.reversed == again.right.selectedPath)
        #expect(again.left.selectedPath != nil)
        #expect(again.left.conflictRepeats + again.right.conflictRepeats <= 4)
    }

    @Test(arguments: [ICERole.controlling, .controlled])
    func `a conflict is settled whichever of the first datagrams is lost`(role: ICERole) throws {
        let trip = Nanoseconds.milliseconds(40)
        // The worst that can be lost is a check after a 487: the interval then has doubled to its cap.
        let bound = 4 * trip + timing.initialRetransmission + timing.unansweredRetransmissionCap
        for side in [FullAgentNetwork.Side.left, .right] {
            for lost in 0..<6 {
                for (left, right) in [(UInt64(9), UInt64(5)), (5, 9)] {
                    var network = try network(role, left: left, right: right)
                    var count = 0
                    network.swallow = { from, _, _ in
                        guard from == side else { return false }
                        defer { count += 1 }
                        return count == lost
                    }
                    network.run(until: .zero + bound)
                    let note: Comment = "\(role) \(side) \(lost) \(left)"
                    #expect(network.left.role == network.right.role.other, note)
                    #expect(network.left.selectedPath != nil, note)
                    #expect(network.left.selectedPath?.reversed == network.right.selectedPath, note)
                }
            }
        }
    }
}
