extension ICEFullAgent {
    /// The next check, consent check or expiry; `.never` once ended.
    @inline(__always) public var nextDeadline: Instant {
        guard !isEnded else { return .never }
        if !responses.isEmpty { return .zero }
        var deadline = retiresAt
        for generation in generations.indices where mayCheck(generation) {
            for pair in generations[generation].pairs.indices {
                deadline = min(deadline, generations[generation].dueAt(pair, paceAt: paceAt))
            }
            if let chosen = generations[generation].chosen {
                deadline = min(deadline, consentExpiry(of: generations[generation].pairs[chosen]))
            }
        }
        return deadline
    }

    /// `nextDeadline`, read in place: of an agent that is part of something a property is read from a copy of it all.
    package mutating func readDeadline() -> Instant { nextDeadline }

    private func mayCheck(_ generation: Int) -> Bool {
        generations[generation].remote != nil && !generations[generation].hasExpired
    }

    private func consentExpiry(of pair: CandidatePair) -> Instant {
        pair.lastAnswerAt.map { $0 + timing.consentExpiry } ?? .never
    }

    /// When consent for the pair in use is over; `.never` without one.
    package mutating func readConsentEnd() -> Instant {
        guard !isEnded, selectedPath != nil, let chosen = generations[0].chosen else { return .never }
        return consentExpiry(of: generations[0].pairs[chosen])
    }

    public mutating func handleTimeout(now: Instant) {
        guard !isEnded else { return }
        if now >= retiresAt { retired = nil }
        for generation in generations.indices where !generations[generation].hasExpired {
            guard let chosen = generations[generation].chosen else { continue }
            let pair = generations[generation].pairs[chosen]
            if now >= consentExpiry(of: pair) {
                expire(pair.path, of: generation, now: now)
            } else if !pair.isSettled, pair.attempts >= ICELimits.nominationAttempts, now >= pair.nextCheckAt,
                generation > 0 || selectedPath == nil
            {
                giveUpNominating(chosen, of: generation, now: now)
            }
        }
    }

    private mutating func expire(_ path: NetworkPath, of generation: Int, now: Instant) {
        generations[generation].chosenID = nil
        isWarmPairStale = true
        guard generation == 0, selectedPath == path else {
            generations[generation].restartChecks(now: now)
            return
        }
        selectedPath = nil
        probingSince = nil
        generations[generation].hasExpired = true
        let number = generations[generation].number
        responses.removeAll { $0.generation == number }
        emit(.consentExpired(path))
    }

    public mutating func pollTransmit(into out: inout OutputRawSpan, now: Instant) -> Transmit? {
        guard !isEnded else { return nil }
        chooseWarmPair(now: now)
        guard out.freeCapacity >= ICELimits.messageRoom else {
            counters.noRoom += 1
            return nil
        }
        let start = out.byteCount
        do throws(STUNError) {
            while !responses.isEmpty {
                let queued = responses.removeFirst()
                guard let key = localKey(of: queued.generation) else { continue }
                try queued.response.encode(key: key, into: &out)
                let byteCount = out.byteCount - start
                if queued.response.error == nil || byteCount <= queued.requestByteCount {
                    return Transmit(path: queued.response.path, byteCount: byteCount)
                }
                counters.errorsSuppressed += 1
                out.removeLast(byteCount)
            }
            guard let (generation, pair) = nextCheck(now: now), let remote = generations[generation].remote else {
                return nil
            }
            try writeCheck(pair, of: generation, to: remote, now: now, into: &out)
            return Transmit(path: generations[generation].pairs[pair].path, byteCount: out.byteCount - start)
        } catch {
            // Cannot be: the room was asked for. What was begun is taken back.
            counters.noRoom += 1
            out.removeLast(out.byteCount - start)
            return nil
        }
    }

    private func localKey(of generation: UInt32) -> STUNKey? {
        if let known = generations.first(where: { $0.number == generation }) { return known.localKey }
        return retired?.number == generation ? retired?.localKey : nil
    }

    /// Makes a check of the selected pair due now, as far as the pacing lets: what `transport.check` asks for.
    ///
    /// Unanswered, it is repeated as a consent check is. Nothing happens while no pair is selected: then all are checked
    /// anyway.
    public mutating func checkNow(_ now: Instant) {
        guard let chosen = generations[0].chosen, selectedPath != nil else { return }
        generations[0].pairs[chosen].attempts = 0
        generations[0].pairs[chosen].nextCheckAt = min(generations[0].pairs[chosen].nextCheckAt, now)
    }

    // MARK: - Order

    /// The pair whose check is due: an urgent one, then the chosen, then the triggered-check queue, then pairs never
    /// checked by priority with the families taking turns (RFC 8421 §4), then the one that waits longest.
    @inline(__always) private func nextCheck(now: Instant) -> (generation: Int, pair: Int)? {
        var best: (generation: Int, pair: Int)?
        for generation in generations.indices where mayCheck(generation) {
            for pair in generations[generation].pairs.indices
            where generations[generation].dueAt(pair, paceAt: paceAt) <= now {
                if let other = best, !isBefore((generation, pair), other) { continue }
                best = (generation, pair)
            }
        }
        return best
    }

    private func isBefore(_ left: (generation: Int, pair: Int), _ right: (generation: Int, pair: Int)) -> Bool {
        let leftRank = rank(left)
        let rightRank = rank(right)
        guard leftRank == rightRank else { return leftRank < rightRank }
        let ours = generations[left.generation].pairs[left.pair]
        let theirs = generations[right.generation].pairs[right.pair]
        switch leftRank {
        case .triggered: return queuePlace(left) < queuePlace(right)
        case .first:
            let ourTurn = ours.path.remote.ip.family != lastFirstCheckFamily
            let theirTurn = theirs.path.remote.ip.family != lastFirstCheckFamily
            return ourTurn == theirTurn ? ours.priority > theirs.priority : ourTurn
        case .urgent, .chosen, .repeated: return ours.nextCheckAt < theirs.nextCheckAt
        }
    }

    private enum Rank: Int, Comparable {
        case urgent, chosen, triggered, first, repeated

        static func < (left: Rank, right: Rank) -> Bool { left.rawValue < right.rawValue }
    }

    private func rank(_ place: (generation: Int, pair: Int)) -> Rank {
        let pair = generations[place.generation].pairs[place.pair]
        if pair.isUrgent { return .urgent }
        if pair.id == generations[place.generation].chosenID { return .chosen }
        if pair.triggeredAt != nil || isQueuedBesideProbes(place) { return .triggered }
        return pair.checksSent == 0 ? .first : .repeated
    }

    // MARK: - Writing

    /// Writes a check of the pair at `index` (RFC 8445 §7.2.2) and arms what follows it.
    private mutating func writeCheck(
        _ index: Int, of generation: Int, to remote: ICEFullGeneration.Remote, now: Instant,
        into out: inout OutputRawSpan
    ) throws(STUNError) {
        let pair = generations[generation].pairs[index]
        let transaction = check(of: pair, in: generations[generation], to: remote, now: now)

        let writer = try STUNWriter(.request, transactionID: transaction.id, into: &out)
        try writer.append(username: remote.ufrag, generations[generation].localUfrag, into: &out)
        try writer.append(.priority, pair.checkPriority, into: &out)
        try writer.append(role == .controlling ? .iceControlling : .iceControlled, tieBreaker, into: &out)
        if transaction.useCandidate { try writer.append(flag: .useCandidate, into: &out) }
        if let nomination = transaction.nomination { try writer.append(.nomination, nomination, into: &out) }
        if let token = transaction.token { try writer.append(.routabilityToken, token, into: &out) }
        try writer.append(.sha1, key: remote.key, into: &out)
        try writer.appendFingerprint(into: &out)

        let interval = interval(after: pair, isWarm: generations[generation].warmID == pair.id)
        let isFirst = pair.checksSent == 0
        generations[generation].outstanding.remember(transaction)
        generations[generation].pairs[index].isUrgent = false
        generations[generation].pairs[index].triggeredAt = nil
        generations[generation].pairs[index].checksSent += 1
        generations[generation].pairs[index].attempts += 1
        if transaction.useCandidate { generations[generation].pairs[index].wasNominated = true }
        generations[generation].pairs[index].silentSince = pair.silentSince ?? now
        generations[generation].pairs[index].lastCheckAt = now
        generations[generation].pairs[index].nextCheckAt = now + interval
        paceAt = now + pacing(isFirst: isFirst, now: now)
        counters.checksSent += 1
        noteCheck(of: pair, in: generation)
        firstCheckAt = firstCheckAt ?? now
        if isFirst {
            lastFirstCheckFamily = pair.path.remote.ip.family
            emit(.checkSent(pair.path))
        }
    }

    /// What the next check of `pair` says.
    private mutating func check(
        of pair: CandidatePair, in generation: ICEFullGeneration, to remote: ICEFullGeneration.Remote, now: Instant
    ) -> OutstandingChecks.Check {
        var transaction = OutstandingChecks.Check(
            id: STUNTransactionID.random(using: &randomness), pairID: pair.id, sentAt: now, role: role)
        if remote.supportsRenomination { transaction.token = pair.token ?? 0 }
        guard role == .controlling else { return transaction }
        let isChosen = generation.chosenID == pair.id
        if remote.supportsRenomination {
            // First checks carry 1; once a pair was chosen only the chosen one's carry the value.
            transaction.useCandidate = isChosen || generation.nominationValue == 1
            transaction.nomination = transaction.useCandidate ? generation.nominationValue : nil
        } else {
            // A single pair of a lite peer needs no answer to be chosen.
            transaction.useCandidate = isChosen || remote.isLite && generation.pairs.count == 1
        }
        return transaction
    }

    /// The interval after a check of `pair`: doubling from the base, up to the cap.
    private mutating func interval(after pair: CandidatePair, isWarm: Bool) -> Nanoseconds {
        let twoTrips = (pair.roundTrip ?? roundTrip).map { 2 &* $0 }
        // A silent one is asked again, though not as one that carries the call.
        if isWarm, pair.attempts + 1 >= ICELimits.silentAttempts { return consentInterval() }
        if pair.isSettled || isWarm {
            let base = min(max(timing.consentRepeat, twoTrips ?? 0), timing.consentInterval)
            return min(base << Nanoseconds(min(pair.attempts, 8)), max(base, timing.consentRepeatCap))
        }
        let base = twoTrips.map { max(timing.minimumRetransmission, $0) } ?? timing.initialRetransmission
        let cap = twoTrips == nil ? timing.unansweredRetransmissionCap : timing.retransmissionCap
        return min(min(base, cap) << Nanoseconds(min(pair.attempts, 8)), cap)
    }

    /// RFC 7675 §5.1: the interval × 0.8…1.2.
    mutating func consentInterval() -> Nanoseconds {
        let tenth = timing.consentInterval / 10
        return 8 * tenth + Nanoseconds.random(in: 0...(4 * tenth), using: &randomness)
    }
}
