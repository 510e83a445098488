extension ICELiteAgent {
    /// The highest NOMINATION of the credentials in use; 0 when none came.
    public var highestNomination: UInt32 { current.highestNomination }

    /// Selects the tuple at `index` if the request `message` on it says so.
    ///
    /// With NOMINATION the highest wins: at 1 the first tuple stays, from 2 on the newest (a rebinding: moved by one
    /// check). Without it each USE-CANDIDATE selects, the last wins, and priority plays no part (RFC 8445 §8.2); once a
    /// NOMINATION has come it is not looked at. Before any nomination the first tuple is used. Each generation of
    /// credentials counts for itself: the first check of a restart's that selects retires the old, which selects no more.
    mutating func nominate(
        at index: Int, _ message: borrowing STUNMessage, in generation: ICEGeneration, now: Instant
    ) {
        guard generation.number >= current.number else { return }
        let tuple = tuples[index]
        var generation = generation
        #if MUTANTS
        if Mutant.current == .nominationOutlivesTheRestart {
            generation.highestNomination = max(generation.highestNomination, current.highestNomination)
        }
        #endif
        if let nomination = message.nomination, nomination > 0 {
            if nomination == generation.highestNomination {
                let selectedOrder = tuples.first { $0.path == selectedPath }?.order ?? 0
                guard nomination > 1, tuple.order > selectedOrder else { return }
                counters.rebindings += 1
            } else {
                guard nomination > generation.highestNomination else { return }
                generation.highestNomination = nomination
            }
        } else {
            guard selectedPath == nil || message.useCandidate && generation.highestNomination == 0 else { return }
        }
        if generation.number > current.number { retireCurrent(now: now) }
        current = generation
        use(tuple)
    }

    private mutating func use(_ tuple: ICETuple) {
        guard tuple.path != selectedPath else { return }
        if tuple.isConfirmed {
            previousPath = nil
        } else if let selectedPath, isConfirmed(selectedPath) {
            // A second move before the first is confirmed keeps the one that was confirmed last.
            previousPath = selectedPath
        }
        selectedPath = tuple.path
        emit(.selected(tuple.path))
    }
}
