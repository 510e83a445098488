import ICELite

/// Makes a scenario that breaks a rule small: takes away and rounds as long as the same rule still breaks.
///
/// It knows calls by a closure only. Deterministic: the same scenario and closure give the same small scenario.
package struct Shrinker {
    /// Replays at most, unless told otherwise.
    package static let replayLimit = 1_000

    private let invariant: Invariant
    private let limit: Int
    private let replay: (Scenario) -> ObservedCall?
    private var judge = Judge()
    /// The smallest so far, and when its faults began, by their place; nil for those that never did.
    private var best: Scenario
    private var beginnings: [Instant?]
    /// Replays so far.
    package private(set) var replays = 0

    /// - Parameters:
    ///   - scenario: breaks `invariant`.
    ///   - replay: runs a scenario; nil where it cannot be run.
    package init(
        _ scenario: Scenario, breaking invariant: Invariant, limit: Int = Shrinker.replayLimit,
        replay: @escaping (Scenario) -> ObservedCall?
    ) {
        self.invariant = invariant
        self.limit = limit
        self.replay = replay
        best = scenario
        beginnings = [Instant?](repeating: nil, count: scenario.faults.count)
    }

    /// The small scenario; the one given where it does not break the rule when it is replayed.
    package mutating func shrink() -> Scenario {
        guard tries(best) else { return best }
        var before: Scenario
        repeat {
            before = best
            dropFaults()
            shorten()
            for change in ShrinkerSteps.features { tries(changed(change)) }
            for index in best.networks.indices {
                for change in ShrinkerSteps.network { tries(changed { change(&$0.networks[index]) }) }
            }
            dropNetworks()
            for index in best.faults.indices { simplifyFault(index) }
        } while before != best && replays < limit
        return best
    }

    // MARK: - Trying

    /// Keeps `candidate` if it still breaks the rule.
    @discardableResult
    private mutating func tries(_ candidate: Scenario) -> Bool {
        if candidate == best, replays > 0 { return true }
        guard replays < limit else { return false }
        replays += 1
        guard let call = replay(candidate), judge.judge(call).breaks(invariant) else { return false }
        best = candidate
        beginnings = [Instant?](repeating: nil, count: candidate.faults.count)
        for (at, what) in call.observations {
            if case .fault(let index, isBeginning: true) = what, beginnings.indices.contains(index) {
                beginnings[index] = beginnings[index] ?? at
            }
        }
        return true
    }

    private func changed(_ change: (inout Scenario) -> Void) -> Scenario {
        var scenario = best
        change(&scenario)
        return scenario
    }

    // MARK: - Faults

    /// Takes faults away: half of them, then quarters, then each by itself.
    private mutating func dropFaults() {
        var size = best.faults.count
        while size > 0 {
            var begin = 0
            while begin < best.faults.count {
                let range = begin..<min(begin + size, best.faults.count)
                if !tries(without(range)) { begin += size }
            }
            size /= 2
        }
    }

    /// The scenario without some of its faults. Those that were anchored at one of them stay at the time they had.
    private func without(_ range: Range<Int>) -> Scenario {
        var scenario = best
        for index in scenario.faults.indices where !range.contains(index) {
            switch scenario.faults[index].anchor {
            case .beginning(let other), .end(let other):
                if range.contains(other) {
                    scenario.faults[index].anchor = .milestone(.start)
                    scenario.faults[index].offset = .time((beginnings[index] ?? .zero) - .zero)
                } else if other >= range.upperBound {
                    let moved = other - range.count
                    let isEnd = scenario.faults[index].anchor == .end(other)
                    scenario.faults[index].anchor = isEnd ? .end(moved) : .beginning(moved)
                }
            case .milestone, .deadline: break
            }
        }
        scenario.faults.removeSubrange(range)
        return scenario
    }

    private mutating func simplifyFault(_ index: Int) {
        guard best.faults.indices.contains(index) else { return }
        for change in ShrinkerSteps.fault { tries(changed { change(&$0.faults[index]) }) }
        for offset in ShrinkerSteps.rounder(best.faults[index].offset) {
            if tries(changed { $0.faults[index].offset = offset }) { break }
        }
        for length in ShrinkerSteps.rounder(best.faults[index].length) where length > 0 {
            if tries(changed { $0.faults[index].length = length }) { break }
        }
        // An anchor that is a fault becomes a time, for a round one.
        guard beginnings.indices.contains(index), let began = beginnings[index] else { return }
        switch best.faults[index].anchor {
        case .beginning, .end:
            for time in ShrinkerSteps.rounder(began - .zero) {
                let isFound = tries(
                    changed {
                        $0.faults[index].anchor = .milestone(.start)
                        $0.faults[index].offset = .time(time)
                    })
                if isFound { break }
            }
        case .milestone, .deadline: break
        }
    }

    // MARK: - The rest

    private mutating func shorten() {
        for percent: Int64 in [25, 50, 75, 90] {
            let whole = best.duration * percent / 100 / .seconds(1) * .seconds(1)
            guard whole > 0 else { continue }
            if tries(changed { $0.duration = whole }) { return }
        }
        for length in ShrinkerSteps.rounder(best.duration) where length > 0 {
            if tries(changed { $0.duration = length }) { return }
        }
    }

    /// Takes away every network but the first, and what faults say of it.
    private mutating func dropNetworks() {
        while best.networks.count > 1 {
            let isDropped = tries(
                changed { scenario in
                    let name = scenario.networks.removeLast().name
                    for index in scenario.faults.indices where scenario.faults[index].target.interface == name {
                        scenario.faults[index].target.interface = scenario.networks[0].name
                    }
                })
            guard isDropped else { return }
        }
    }
}
