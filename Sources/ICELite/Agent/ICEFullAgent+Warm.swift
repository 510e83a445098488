// The warm pair: a second one that keeps consent, so that it can take over at once.

extension ICEFullAgent {
    /// Chooses the pairs that are checked besides the selected one, where something has changed since the last time.
    ///
    /// One pair at most is kept warm: the best valid one of another local IP address than the selected pair's, which is
    /// another interface or the other family. It has consent checks of its own, which nominate nothing. It is kept until it
    /// is silent and another is not, or the selection moves to its address. Of each other address without a valid pair the
    /// best never answered is given `ICELimits.warmingChecks` checks in all, once the selected pair is settled.
    mutating func chooseWarmPair(now: Instant) {
        guard isWarmPairStale else { return }
        isWarmPairStale = false
        for index in generations[0].pairs.indices { generations[0].pairs[index].isKept = false }
        guard selectedPath != nil, let chosen = generations[0].chosen else {
            generations[0].warmID = nil
            return
        }
        let here = generations[0].pairs[chosen].path.local.ip
        guard localCandidates.contains(where: { $0.address.ip != here }) else {
            generations[0].warmID = nil
            return
        }
        let warm = warmPair(awayFrom: here, now: now)
        generations[0].warmID = warm.map { generations[0].pairs[$0].id }
        if let warm { generations[0].pairs[warm].isKept = true }
        guard generations[0].pairs[chosen].isSettled else { return }
        let remote = generations[0].pairs[chosen].path.remote
        for ip in Set(localCandidates.map(\.address.ip)) where ip != here {
            guard let index = warmingPair(of: ip, remote: remote) else { continue }
            generations[0].pairs[index].isKept = generations[0].pairs[index].checksSent < ICELimits.warmingChecks
        }
    }

    private func warmPair(awayFrom here: IPAddress, now: Instant) -> Int? {
        let pairs = generations[0].pairs
        let valid = pairs.indices.filter {
            pairs[$0].isValid && pairs[$0].path.local.ip != here && mayBeWarm(pairs[$0])
        }
        let audible = valid.filter { !pairs[$0].isSilent(now: now, timing: timing) }
        if let warm = generations[0].warm, audible.contains(warm) || audible.isEmpty && valid.contains(warm) {
            return warm
        }
        return (audible.isEmpty ? valid : audible).max {
            let left = pairs[$0].hasConsent(now: now, timing: timing)
            let right = pairs[$1].hasConsent(now: now, timing: timing)
            return left == right ? pairs[$0].priority < pairs[$1].priority : right
        }
    }

    /// A full peer that knows no counter takes what was nominated once for nominated, if it hears of it again.
    private func mayBeWarm(_ pair: CandidatePair) -> Bool {
        guard pair.wasNominated, let remote = generations[0].remote else { return true }
        return remote.isLite || remote.supportsRenomination
    }

    /// The pair of `ip` that is tried: one to where the selected pair goes before the others. Nil when a pair of it is valid.
    private func warmingPair(of ip: IPAddress, remote: SocketAddress) -> Int? {
        let pairs = generations[0].pairs
        let ours = pairs.indices.filter { pairs[$0].path.local.ip == ip && mayBeWarm(pairs[$0]) }
        guard !ours.contains(where: { pairs[$0].isValid }) else { return nil }
        return ours.max {
            let left = pairs[$0].path.remote == remote
            let right = pairs[$1].path.remote == remote
            return left == right ? pairs[$0].priority < pairs[$1].priority : right
        }
    }

    /// Counts a check that was just written.
    mutating func noteCheck(of pair: CandidatePair, in generation: Int) {
        guard pair.isKept, generations[generation].chosenID != pair.id else { return }
        if probingSince == nil { counters.warmChecks += 1 }
        isWarmPairStale = true
    }
}
