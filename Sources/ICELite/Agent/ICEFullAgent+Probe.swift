// Recovery: the selected pair is suspected to be dead.

extension ICEFullAgent {
    /// Makes a round of checks due now: of the selected pair, of up to `ICELimits.probedPairs` that were valid, and of one
    /// never answered for each local address, as a new socket's. Call it again for another round.
    ///
    /// The checks are `ICETiming.probeBurstPacing` apart in the first second of an outage and `probePacing` after that,
    /// however often it is called; those of pairs that are not chosen nominate nothing. A first answer to a check sent since
    /// then ends the probing (`.probeAnswered`): controlling, its pair is chosen, nominated and selected; controlled, only
    /// the selected pair's counts. While no pair is selected all are checked anyway; then one of each local address does not
    /// wait for its turn.
    public mutating func probe(now: Instant) {
        guard !isEnded else { return }
        guard selectedPath != nil, let chosen = generations[0].chosen else {
            for index in unanswered(besides: nil) where generations[0].pairs[index].refusals == 0 {
                generations[0].pairs[index].nextCheckAt = min(generations[0].pairs[index].nextCheckAt, now)
            }
            return
        }
        counters.probeRounds += 1
        probingSince = probingSince ?? now
        let isSameOutage = outageProbed.map { now - $0.last < timing.sameOutage } ?? false
        outageProbed = (isSameOutage ? outageProbed?.since ?? now : now, now)
        // Not more often than at Ta, or the others would never have their turn.
        let earliest = generations[0].pairs[chosen].lastCheckAt.map { max(now, $0 + timing.pacing) } ?? now
        checkNow(earliest)
        for index in probed(besides: chosen) where generations[0].pairs[index].triggeredAt == nil {
            generations[0].pairs[index].triggeredAt = now
        }
    }

    /// The pairs of a round: of the valid ones the best of each local address first, then those never answered.
    private func probed(besides chosen: Int) -> [Int] {
        let pairs = generations[0].pairs
        var valid: [Int] = []
        var crowded: [Int] = []
        var locals: Set<SocketAddress> = [pairs[chosen].path.local]
        for index in pairs.indices.sorted(by: { pairs[$0].priority > pairs[$1].priority })
        where index != chosen && pairs[index].isValid {
            if locals.insert(pairs[index].path.local).inserted { valid.append(index) } else { crowded.append(index) }
        }
        if let warm = generations[0].warm, let place = valid.firstIndex(of: warm) {
            valid.remove(at: place)
            valid.insert(warm, at: 0)
        }
        return (valid + crowded).prefix(ICELimits.probedPairs) + unanswered(besides: chosen)
    }

    /// Of the pairs of each local address that are not valid the one that was checked least.
    private func unanswered(besides chosen: Int?) -> [Int] {
        let pairs = generations[0].pairs
        return localCandidates.compactMap { local in
            pairs.indices.filter { index in
                index != chosen && !pairs[index].isValid && pairs[index].path.local == local.address
            }.min { (pairs[$0].checksSent, pairs[$1].priority) < (pairs[$1].checksSent, pairs[$0].priority) }
        }
    }

    /// The time until the next check.
    func pacing(isFirst: Bool, now: Instant) -> Nanoseconds {
        guard probingSince != nil, let outageProbed else { return isFirst ? timing.firstCheckPacing : timing.pacing }
        return now - outageProbed.since < timing.probeBurst ? timing.probeBurstPacing : timing.probePacing
    }

    /// Where a pair stands in the triggered-check queue: the earliest first, then the warm one, then those checked least, as
    /// a new socket's.
    func queuePlace(_ place: (generation: Int, pair: Int)) -> (Instant, Int, UInt64) {
        let pair = generations[place.generation].pairs[place.pair]
        let isWarm = generations[place.generation].warmID == pair.id
        return (pair.triggeredAt ?? pair.nextCheckAt, isWarm ? 0 : 1, pair.checksSent)
    }

    /// While the old generation is probed the restart's pairs wait in the same queue, or its rounds would leave them no
    /// turn.
    func isQueuedBesideProbes(_ place: (generation: Int, pair: Int)) -> Bool {
        place.generation > 0 && probingSince != nil
    }

    /// An answer to a check since `probe` was called ends the probing, and its pair takes over. One to the selected pair that
    /// comes behind one that did not does not yet, where another pair may do better: the next one will, or the other's.
    mutating func endProbe(_ index: Int, answering transaction: OutstandingChecks.Check, now: Instant) {
        guard let since = probingSince, transaction.sentAt >= since, selectedPath != nil else { return }
        let pair = generations[0].pairs[index]
        let isChosen = generations[0].chosenID == pair.id
        guard isChosen || role == .controlling else { return }
        if isChosen, isStray(transaction, since: since) {
            strayAnsweredAt = transaction.sentAt
            return checkNow(now)
        }
        probingSince = nil
        counters.probesAnswered += 1
        for other in generations[0].pairs.indices { generations[0].pairs[other].triggeredAt = nil }
        // Re-selected as well as new: a nomination that the peer took from somewhere else meanwhile is older than this one.
        if !isChosen || role == .controlling && generations[0].remote?.supportsRenomination == true {
            makeChosen(index, of: 0, isNominated: false)
        }
        if !isChosen { select(pair.path, of: 0, now: now) }
        emit(.probeAnswered(pair.path, roundTrip: max(1, now - transaction.sentAt)))
    }

    /// Whether the answer to `transaction` is one of few: a check just before it was lost.
    private func isStray(_ transaction: OutstandingChecks.Check, since: Instant) -> Bool {
        guard role == .controlling,
            generations[0].pairs.contains(where: { $0.isValid && $0.id != transaction.pairID })
        else { return false }
        let from = max(since, strayAnsweredAt ?? since)
        // One that overtook it was taken for the only one: together they are two.
        guard from < transaction.sentAt else { return false }
        let missing = generations[0].outstanding.count(of: transaction.pairID, in: from..<transaction.sentAt)
        return missing >= ICELimits.strayAfter
    }
}
