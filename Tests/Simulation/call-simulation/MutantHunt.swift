#if MUTANTS
import CallSimulation
import ICELite

/// Puts each fault in, one after the other, and counts the calls until the rule that is to find it does.
///
/// `call-simulation mutants [LIMIT] [NAME…]`: LIMIT calls at most in each of five runs, whose seeds begin a million
/// apart.
enum MutantHunt {
    private static let runs: UInt64 = 5
    private static let seedsApart: UInt64 = 1_000_000

    /// The rules that are to find a fault.
    private static func rules(for mutant: Mutant) -> [Invariant] {
        switch mutant {
        case .epochUnchecked, .lateSuccessFlipsTheChoice: [.agreement, .reason]
        case .duplicateByCarriage, .timestampUnsigned: [.playedOnce, .heard]
        case .budgetTimerOutlivesTheHangUp: [.decidedInTime, .agreement, .bounded, .progress]
        case .recoveryFailedOverAnEarlierReason, .udpBlockedOnOnePair: [.reason]
        case .bridgeNeverOff: [.bounded, .playedOnce]
        case .bridgeNotStarted, .suspicionByConsent: [.heard]
        case .ringDropsTheNewest: [.delay]
        case .deadlineInThePastAfterAJump: [.progress]
        case .mediaMovesThePath: [.security]
        case .parkedUnbounded, .sessionKeptAfterRefusal: [.bounded]
        case .windowRestarted: [.decidedInTime]
        case .pathClosedOutlivesTheChange: [.agreement, .reason]
        case .bridgeOffEndsBoth: [.heard]
        case .nominationOutlivesTheRestart: [.heard, .liveness]
        case .suspectLineDiesAtOnce: [.reason, .heard]
        case .closeNeverTimesOut: [.bounded]
        }
    }

    static func run(_ words: [String]) throws {
        let limit = words.first.flatMap { UInt64($0) } ?? 2_000
        let names = words.filter { UInt64($0) == nil }
        let simulation = try Simulation()
        var judge = Judge()
        print("mutant                                median  runs                            by")
        for mutant in Mutant.allCases where names.isEmpty || names.contains(mutant.rawValue) {
            var counts: [UInt64?] = []
            var finders: [Invariant] = []
            for run in 0..<runs {
                let found = try hunt(mutant, from: run * seedsApart + 1, limit, simulation, &judge)
                counts.append(found?.calls)
                if let finder = found?.by, !finders.contains(finder) { finders.append(finder) }
            }
            let sorted = counts.map { $0 ?? .max }.sorted()
            let median = sorted[sorted.count / 2]
            print(
                padded(mutant.rawValue, 38) + padded(median == .max ? "> \(limit)" : "\(median)", 8)
                    + padded(counts.map { $0.map { "\($0)" } ?? "-" }.joined(separator: " "), 32)
                    + finders.map { "\($0.rawValue)" }.joined(separator: ", "))
        }
        Mutant.current = nil
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }

    /// The number of the first call that breaks one of the rules, and does not without the fault.
    private static func hunt(
        _ mutant: Mutant, from first: UInt64, _ limit: UInt64, _ simulation: Simulation, _ judge: inout Judge
    ) throws -> (calls: UInt64, by: Invariant)? {
        let rules = rules(for: mutant)
        for seed in first..<(first + limit) {
            let scenario = ScenarioGenerator.scenario(seed: seed)
            Mutant.current = mutant
            let broken = try broken(scenario, simulation, &judge).filter(rules.contains)
            Mutant.current = nil
            guard !broken.isEmpty else { continue }
            let without = try Self.broken(scenario, simulation, &judge)
            if let finder = broken.first(where: { !without.contains($0) }) { return (seed - first + 1, finder) }
        }
        return nil
    }

    private static func broken(
        _ scenario: Scenario, _ simulation: Simulation, _ judge: inout Judge
    ) throws -> [Invariant] {
        let call = try simulation.run(scenario)
        defer { simulation.reuse(call) }
        return judge.judge(call).violations.map(\.invariant)
    }
}
#endif
