package import ICELite
package import Transport

/// What many calls have met: reasons, faults by state, situations, rules broken, what was heard.
///
/// Sums only, so that the tallies of several processes add up.
package struct CoverageTally: Sendable {
    /// Sums, in a fixed order.
    package private(set) var numbers: [Int]

    private enum Place: Int, CaseIterable {
        case calls, active, calm, outages, couldBeHeard, heard, calmSuspicions, calmMilliseconds, neverFired, faults
        case violatingCalls, longestGapMilliseconds, observations
    }

    private static let reasonsAt = Place.allCases.count
    private static let situationsAt = reasonsAt + TransportFallbackReason.known.count
    private static let invariantsAt = situationsAt + Sometimes.allCases.count
    private static let faultsAt = invariantsAt + Invariant.allCases.count + 1
    private static let count = faultsAt + FaultVerb.allCases.count * CoverageState.allCases.count

    package init() { numbers = [Int](repeating: 0, count: Self.count) }

    /// The tally that another process wrote as `numbers`; nil where it is of another version.
    package init?(numbers: [Int]) {
        guard numbers.count == Self.count else { return nil }
        self.numbers = numbers
    }

    private subscript(place: Place) -> Int {
        get { numbers[place.rawValue] }
        set { numbers[place.rawValue] = newValue }
    }

    // MARK: - Adding

    /// Adds what the judge saw of one call.
    package mutating func add(_ verdict: JudgeVerdict, of call: ObservedCall) {
        self[.calls] += 1
        self[.observations] += call.observations.count
        if verdict.wasActive { self[.active] += 1 }
        if verdict.hadOutage { self[.outages] += 1 }
        if !verdict.violations.isEmpty { self[.violatingCalls] += 1 }
        self[.couldBeHeard] += verdict.couldBeHeard
        self[.heard] += verdict.heard
        self[.neverFired] += call.facts.faultsNeverFired
        self[.faults] += call.scenario.faults.count
        self[.longestGapMilliseconds] = max(
            self[.longestGapMilliseconds], Int(verdict.longestGap / .milliseconds(1)))
        if call.scenario.isCalm {
            self[.calm] += 1
            self[.calmSuspicions] += verdict.calmSuspicions
            self[.calmMilliseconds] += Int((call.facts.endedAt - .zero) / .milliseconds(1))
        }
        for reason in verdict.reasons {
            guard let index = TransportFallbackReason.known.firstIndex(of: reason) else { continue }
            numbers[Self.reasonsAt + index] += 1
        }
        for situation in Sometimes.allCases where verdict.situations.contains(situation) {
            numbers[Self.situationsAt + Int(situation.rawValue)] += 1
        }
        for violation in verdict.violations { numbers[Self.invariantsAt + violation.invariant.rawValue] += 1 }
        for met in verdict.faultsMet { numbers[Self.place(of: met.verb, in: met.state)] += 1 }
    }

    /// Adds what another tally has counted.
    package mutating func add(_ other: CoverageTally) {
        let longest = max(self[.longestGapMilliseconds], other[.longestGapMilliseconds])
        for index in numbers.indices { numbers[index] += other.numbers[index] }
        self[.longestGapMilliseconds] = longest
    }

    private static let verbIndex: [FaultVerb: Int] = Dictionary(
        uniqueKeysWithValues: FaultVerb.allCases.enumerated().map { ($1, $0) })

    private static func place(of verb: FaultVerb, in state: CoverageState) -> Int {
        faultsAt + (verbIndex[verb] ?? 0) * CoverageState.allCases.count + state.rawValue
    }

    // MARK: - Reading

    package var calls: Int { self[.calls] }
    package var callsWithOutage: Int { self[.outages] }
    package var violatingCalls: Int { self[.violatingCalls] }
    package var observations: Int { self[.observations] }

    /// Calls that fell back for `reason`.
    package func calls(fallenBackFor reason: TransportFallbackReason) -> Int {
        TransportFallbackReason.known.firstIndex(of: reason).map { numbers[Self.reasonsAt + $0] } ?? 0
    }

    /// Calls in which `situation` came up.
    package func calls(with situation: Sometimes) -> Int { numbers[Self.situationsAt + Int(situation.rawValue)] }

    /// Calls that broke `invariant`.
    package func calls(breaking invariant: Invariant) -> Int { numbers[Self.invariantsAt + invariant.rawValue] }

    /// Times that `verb` met a call in `state`.
    package func times(_ verb: FaultVerb, met state: CoverageState) -> Int { numbers[Self.place(of: verb, in: state)] }

    /// Frames heard of those that could have been; 1 where there were none.
    package var heardRatio: Double {
        self[.couldBeHeard] == 0 ? 1 : Double(self[.heard]) / Double(self[.couldBeHeard])
    }

    package var longestGap: Nanoseconds { .milliseconds(Int64(self[.longestGapMilliseconds])) }

    /// Suspicions in ten minutes of all calm calls together.
    package var suspicionsInTenCalmMinutes: Double {
        self[.calmMilliseconds] == 0 ? 0 : Double(self[.calmSuspicions]) * 600_000 / Double(self[.calmMilliseconds])
    }

    package var activeCalls: Int { self[.active] }
    package var calmCalls: Int { self[.calm] }
    package var faults: Int { self[.faults] }
    package var faultsNeverFired: Int { self[.neverFired] }
}
