internal import ICELite

extension ObservedCall {
    /// A fault of the scenario's list that never began, by its place, and why.
    package struct Missed: Hashable, Sendable {
        package enum Cause: String, Hashable, Sendable {
            case anchorNeverCame = "its anchor never came"
            case healed = "the scenario had healed"
            case callWasOver = "the call was over"
        }

        package var place: Int
        package var cause: Cause
    }

    /// The faults that never began, in the order of the list.
    package var missedFaults: [Missed] {
        var milestones: [Milestone: Instant] = [:]
        var began: [Int: Instant] = [:]
        var ended: [Int: Instant] = [:]
        for (at, what) in observations {
            switch what {
            case .milestone(let milestone): milestones[milestone] = milestones[milestone] ?? at
            case .fault(let index, isBeginning: true): began[index] = began[index] ?? at
            case .fault(let index, isBeginning: false): ended[index] = ended[index] ?? at
            default: break
            }
        }
        return scenario.faults.enumerated().compactMap { place, fault in
            guard began[place] == nil else { return nil }
            let anchor: Instant? =
                switch fault.anchor {
                case .milestone(let milestone): milestones[milestone]
                case .deadline(let deadline): milestones[deadline.base].map { $0 + deadline.length }
                case .beginning(let other): began[other]
                case .end(let other): ended[other]
                }
            guard let anchor else { return Missed(place: place, cause: .anchorNeverCame) }
            let offset: Nanoseconds =
                switch fault.offset {
                case .time(let length): length
                case .halfRoundTrips(let count): Int64(count) * (scenario.networks.first?.tcp.roundTrip ?? 0) / 2
                }
            let isHealed = scenario.healing.map { anchor + offset >= .zero + $0.at } ?? false
            return Missed(place: place, cause: isHealed ? .healed : .callWasOver)
        }
    }
}
