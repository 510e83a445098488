import Testing

@testable import ICELite

/// Each of the first datagrams lost, singly and in pairs: set-up costs exactly the retransmissions that `ICETiming` says.
@Suite struct LossScenarioTests {
    private let timing = ICETiming()
    private let delay = Nanoseconds.milliseconds(20)
    private var roundTrip: Nanoseconds { 2 * delay }

    /// Datagrams of both directions, counted from 0.
    struct Losses: Hashable, CustomStringConvertible {
        var up: Set<Int> = []
        var down: Set<Int> = []
        var description: String { "up \(up.sorted()) down \(down.sorted())" }
    }

    /// None, each of the first six of both directions, and each two of them: 1 + 12 + 66.
    private static var all: [Losses] {
        let singles = (0..<6).map { Losses(up: [$0]) } + (0..<6).map { Losses(down: [$0]) }
        var losses = [Losses()] + singles
        for first in singles.indices {
            for second in singles[(first + 1)...] {
                losses.append(
                    Losses(
                        up: singles[first].up.union(second.up), down: singles[first].down.union(second.down)))
            }
        }
        return losses
    }

    // MARK: - Full against lite

    private struct Expected: Equatable {
        var clientSelects: Nanoseconds
        var serverConfirms: Nanoseconds
        var clientSettles: Nanoseconds
    }

    /// When what happens, by `ICETiming` alone: the check is repeated until it is answered, then the one with the token.
    private func expected(_ losses: Losses) -> Expected {
        var up = 0
        var down = 0
        /// Sends at `at` and again after each interval, until an answer is through: when the first arrived, and when it
        /// was answered.
        func exchange(at start: Nanoseconds, intervals: (Int) -> Nanoseconds) -> (Nanoseconds, Nanoseconds) {
            var at = start
            var arrived: Nanoseconds?
            for attempt in 0..<20 {
                let isLost = losses.up.contains(up)
                up += 1
                if !isLost {
                    arrived = arrived ?? at + delay
                    let isAnswerLost = losses.down.contains(down)
                    down += 1
                    if !isAnswerLost { return (arrived ?? 0, at + roundTrip) }
                }
                at += intervals(attempt)
            }
            return (.max, .max)
        }
        let first = exchange(at: 0) { attempt in
            min(timing.initialRetransmission << Nanoseconds(attempt), timing.unansweredRetransmissionCap)
        }
        let second = exchange(at: first.1) { attempt in
            min(max(timing.minimumRetransmission, 2 * roundTrip) << Nanoseconds(attempt), timing.retransmissionCap)
        }
        return Expected(clientSelects: first.1, serverConfirms: second.0, clientSettles: second.1)
    }

    private func measured(_ losses: Losses) throws -> Expected {
        var network = try VirtualNetwork(seed: 1)
        network.delay = delay
        try network.addClient("192.0.2.10", 5_000)
        try network.addServer("198.51.100.1", 3_478)
        var up = 0
        var down = 0
        network.swallow = { toServer, _, _ in
            defer { if toServer { up += 1 } else { down += 1 } }
            return toServer ? losses.up.contains(up) : losses.down.contains(down)
        }
        try network.answer()
        var found = Expected(clientSelects: -1, serverConfirms: -1, clientSettles: -1)
        for step in Int64(0)...150 {
            network.run(until: .zero + .milliseconds(10 * step))
            let now = network.now - .zero
            let path = network.server.selectedPath
            if found.clientSelects < 0, network.client.selectedPath != nil { found.clientSelects = now }
            if found.serverConfirms < 0, path.map(network.server.isConfirmed) ?? false { found.serverConfirms = now }
            if found.clientSettles < 0, network.client.generations[0].pairs[0].isSettled { found.clientSettles = now }
        }
        // And it stays up: a lost consent check costs a repeat.
        let selected = try #require(network.client.selectedPath, "\(losses)")
        network.run(until: .zero + .seconds(60))
        #expect(network.client.selectedPath == selected, "\(losses)")
        #expect(network.server.selectedPath == selected.reversed, "\(losses)")
        #expect(network.server.tupleCount == 1, "\(losses)")
        return found
    }

    @Test func `full against lite: every loss of one or two of the first six datagrams costs its retransmission`()
        throws
    {
        #expect(Self.all.count == 79)
        let none = Expected(
            clientSelects: roundTrip, serverConfirms: roundTrip + delay, clientSettles: 2 * roundTrip)
        #expect(expected(Losses()) == none)
        for losses in Self.all {
            #expect(try measured(losses) == expected(losses), "\(losses)")
        }
        // By name: the first check, its answer, the token check, its answer.
        let first = timing.initialRetransmission
        let later = max(timing.minimumRetransmission, 2 * roundTrip)
        #expect(try measured(Losses(up: [0])).clientSelects == first + roundTrip)
        #expect(try measured(Losses(down: [0])).clientSelects == first + roundTrip)
        #expect(try measured(Losses(up: [1])).serverConfirms == none.serverConfirms + later)
        #expect(try measured(Losses(down: [1])).serverConfirms == none.serverConfirms)
        #expect(try measured(Losses(down: [1])).clientSettles == none.clientSettles + later)
    }

    // MARK: - Full against full

    /// When the controlling and the controlled end have selected.
    private struct Selected: Equatable {
        var controlling: Nanoseconds
        var controlled: Nanoseconds
    }

    private func measuredBetweenFull(
        _ losses: Losses, controlling: FullAgentNetwork.Side, isOurKind: Bool
    ) throws -> Selected {
        var network = FullAgentNetwork(
            seed: 2, left: controlling == .left ? .controlling : .controlled,
            right: controlling == .right ? .controlling : .controlled)
        network.delay = delay
        try network.add(.left, "192.0.2.1", 1_000)
        try network.add(.right, "198.51.100.1", 2_000)
        var up = 0
        var down = 0
        network.swallow = { side, _, _ in
            let isUp = side == controlling
            defer { if isUp { up += 1 } else { down += 1 } }
            return isUp ? losses.up.contains(up) : losses.down.contains(down)
        }
        network.introduce(supportsRenomination: isOurKind)
        let other: FullAgentNetwork.Side = controlling == .left ? .right : .left
        var found = Selected(controlling: -1, controlled: -1)
        for step in Int64(0)...150 {
            network.run(until: .zero + .milliseconds(10 * step))
            let now = network.now - .zero
            if found.controlling < 0, network[controlling].selectedPath != nil { found.controlling = now }
            if found.controlled < 0, network[other].selectedPath != nil { found.controlled = now }
        }
        network.run(until: .zero + .seconds(60))
        let selected = try #require(network.left.selectedPath, "\(losses)")
        #expect(network.right.selectedPath == selected.reversed, "\(losses)")
        #expect(network[controlling].role == .controlling && network[other].role == .controlled)
        return found
    }

    @Test(arguments: [FullAgentNetwork.Side.left, .right])
    func `full against full: each loss costs its retransmission, or a triggered check`(
        controlling: FullAgentNetwork.Side
    ) throws {
        let later = max(timing.minimumRetransmission, 2 * roundTrip)
        let none = Selected(controlling: 2 * roundTrip, controlled: roundTrip + delay)
        // Up: check, answer to theirs, nomination. Down: check, answer to ours, answer to the nomination. A controlled
        // end that has no answer yet checks again when the nomination triggers it (RFC 8445 §7.3.1.4).
        let triggered = Selected(controlling: none.controlling, controlled: none.controlled + roundTrip)
        // And a controlling end's next check is brought forward by the controlled one's, which came right behind the first.
        let repeated = Selected(
            controlling: none.controlling + timing.minimumRetransmission,
            controlled: none.controlled + timing.minimumRetransmission)
        let table: [(Losses, Selected)] = [
            (Losses(), none),
            (Losses(up: [0]), repeated),
            (Losses(up: [1]), triggered),
            (Losses(up: [2]), Selected(controlling: none.controlling + later, controlled: none.controlled + later)),
            (Losses(down: [0]), triggered),
            (Losses(down: [1]), repeated),
            (Losses(down: [2]), Selected(controlling: none.controlling + later, controlled: none.controlled)),
        ]
        for (losses, expected) in table {
            let found = try measuredBetweenFull(losses, controlling: controlling, isOurKind: false)
            #expect(found == expected, "\(losses)")
        }
        // Two at once never cost more than the check that was lost twice.
        let worst = timing.initialRetransmission + timing.unansweredRetransmissionCap
        for losses in Self.all {
            let found = try measuredBetweenFull(losses, controlling: controlling, isOurKind: false)
            #expect(((none.controlling)...(none.controlling + worst)).contains(found.controlling), "\(losses)")
            #expect(((none.controlled)...(none.controlled + worst)).contains(found.controlled), "\(losses)")
        }
    }

    @Test func `full ends of our kind select half a round trip sooner at one end and a whole at the other`() throws {
        let found = try measuredBetweenFull(Losses(), controlling: .left, isOurKind: true)
        #expect(found == Selected(controlling: roundTrip, controlled: roundTrip))
        let worst = timing.initialRetransmission + timing.unansweredRetransmissionCap
        for losses in Self.all {
            let found = try measuredBetweenFull(losses, controlling: .left, isOurKind: true)
            #expect((roundTrip...(roundTrip + worst)).contains(found.controlling), "\(losses)")
            #expect((roundTrip...(roundTrip + worst)).contains(found.controlled), "\(losses)")
        }
    }
}
