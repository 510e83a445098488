extension ICEFullAgent {
    // MARK: - Controlling

    /// A check of the pair at `index` was answered: the first valid pair is chosen and stays so (RFC 8445 §8.1.1).
    ///
    /// Towards our own kind and lite peers it is selected at once; towards full ones when the nominating check, sent
    /// without any wait, is answered.
    mutating func choose(
        _ index: Int, of generation: Int, answering transaction: OutstandingChecks.Check,
        remote: ICEFullGeneration.Remote, now: Instant
    ) {
        let path = generations[generation].pairs[index].path
        var place = generation
        if generations[generation].chosenID == nil {
            makeChosen(index, of: generation, isNominated: transaction.useCandidate)
            if remote.supportsRenomination || remote.isLite { place = select(path, of: generation, now: now) }
        }
        let pair = generations[place].pairs[index]
        guard generations[place].chosenID == pair.id else { return }
        let isNominated =
            remote.supportsRenomination
            ? transaction.nomination == generations[place].nominationValue && transaction.token == pair.token ?? 0
            : transaction.useCandidate
        guard isNominated, !pair.isUrgent else { return }
        if !pair.isSettled {
            generations[place].pairs[index].isSettled = true
            generations[place].pairs[index].urgentEchoes = 0
            generations[place].pairs[index].nextCheckAt = (pair.lastCheckAt ?? now) + consentInterval()
        }
        select(path, of: place, now: now)
    }

    /// Makes the pair the chosen one. Its next check, at once, tells the peer, unless the peer knows already.
    mutating func makeChosen(_ index: Int, of generation: Int, isNominated: Bool) {
        let isOurKind = generations[generation].remote?.supportsRenomination == true
        generations[generation].chosenID = generations[generation].pairs[index].id
        generations[generation].pairs[index].isSettled = false
        if isOurKind {
            generations[generation].nominationValue &+= 1
            generations[generation].pairs[index].isUrgent = true
        } else if !isNominated {
            generations[generation].pairs[index].isUrgent = true
        }
    }

    /// The nominating checks are not answered: the best other valid pair is nominated, else all are checked anew.
    mutating func giveUpNominating(_ index: Int, of generation: Int, now: Instant) {
        generations[generation].chosenID = nil
        generations[generation].pairs[index].isValid = false
        isWarmPairStale = true
        generations[generation].restartChecks(now: now)
        if role == .controlling, let best = generations[generation].bestValid(now: now, timing: timing) {
            makeChosen(best, of: generation, isNominated: false)
        }
    }

    // MARK: - Controlled

    /// Selects the best pair that the peer nominated and that a check of ours has shown to work (RFC 8445 §7.3.1.5). A
    /// nomination that came before our check succeeded is remembered until then.
    mutating func selectNominated(in generation: Int, now: Instant) {
        let pairs = generations[generation].pairs
        let current = generations[generation].chosen
        let isSilent = current.map { pairs[$0].attempts >= 3 } ?? false
        var best: Int?
        for index in pairs.indices where pairs[index].nomination != nil {
            guard pairs[index].hasConsent(now: now, timing: timing) else { continue }
            // One that answers goes before the chosen one that has fallen silent.
            if index == current, isSilent { continue }
            if let other = best, !pairs[index].outranks(pairs[other]) { continue }
            best = index
        }
        guard let best, best != current else { return }
        takeOver(best, of: generation, now: now)
    }

    /// Makes the pair the selected one; consent checks keep it.
    private mutating func takeOver(_ index: Int, of generation: Int, now: Instant) {
        let last = generations[generation].pairs[index].lastAnswerAt ?? now
        generations[generation].chosenID = generations[generation].pairs[index].id
        generations[generation].pairs[index].isSettled = true
        generations[generation].pairs[index].nextCheckAt = last + consentInterval()
        select(generations[generation].pairs[index].path, of: generation, now: now)
    }

    // MARK: - Both

    /// The path is the one to use. In an outstanding restart that is its success: the older generation is retired.
    ///
    /// - Returns: where the generation stands in the table from now on.
    @discardableResult
    mutating func select(_ path: NetworkPath, of generation: Int, now: Instant) -> Int {
        if generation > 0 {
            probingSince = nil
            retireOlder(now: now)
            emit(.restarted(path))
        }
        isWarmPairStale = true
        if selectedPath != path {
            selectedPath = path
            emit(.selected(path))
        }
        return 0
    }

    /// The selected pair is gone: the best of the others with consent takes over at once, else all are checked anew.
    mutating func replaceSelected(now: Instant) {
        selectedPath = nil
        probingSince = nil
        isWarmPairStale = true
        generations[0].chosenID = nil
        if role == .controlled { selectNominated(in: 0, now: now) }
        if selectedPath == nil, let best = generations[0].bestValid(now: now, timing: timing) {
            if role == .controlling {
                makeChosen(best, of: 0, isNominated: false)
                select(generations[0].pairs[best].path, of: 0, now: now)
            } else {
                takeOver(best, of: 0, now: now)
            }
        }
        if selectedPath == nil { generations[0].restartChecks(now: now) }
    }

    // MARK: - Roles

    /// Changes the role and with it the priority of every pair (RFC 8445 §7.3.1.1). A selected pair stays selected.
    mutating func takeRole(_ role: ICERole, now: Instant) {
        guard role != self.role else { return }
        self.role = role
        for generation in generations.indices {
            for index in generations[generation].pairs.indices {
                generations[generation].pairs[index].prioritise(role: role)
                generations[generation].pairs[index].isUrgent = false
            }
            let isSelected = generation == 0 && selectedPath != nil
            switch role {
            case .controlled:
                if isSelected, let chosen = generations[generation].chosen {
                    generations[generation].pairs[chosen].isSettled = true
                } else {
                    generations[generation].chosenID = nil
                    generations[generation].restartChecks(now: now)
                }
            case .controlling:
                let pair =
                    generations[generation].chosen ?? generations[generation].bestValid(now: now, timing: timing)
                if let pair { makeChosen(pair, of: generation, isNominated: false) }
            }
        }
    }

    /// Settles a conflict that a request of the peer's shows (RFC 8445 §7.3.1.1).
    ///
    /// - Returns: false when the request is to be answered with 487; true when there is none, or we changed our role.
    mutating func settleConflict(controlling: UInt64?, controlled: UInt64?, isLite: Bool, now: Instant) -> Bool {
        switch (role, controlling, controlled) {
        case (.controlling, .some(let theirs), _):
            counters.roleConflicts += 1
            // We control a lite peer whatever it says, and it sends no checks anyway.
            guard tieBreaker < theirs, !isLite else { return false }
            takeRole(.controlled, now: now)
        case (.controlled, nil, .some(let theirs)):
            counters.roleConflicts += 1
            guard tieBreaker >= theirs else { return false }
            takeRole(.controlling, now: now)
        case (.controlling, nil, _), (.controlled, _, _):
            break
        }
        return true
    }

    /// An authentic 487 to a check of the pair at `index` (RFC 8445 §7.2.5.1): take the other role with a new
    /// tie-breaker (§16.1), unless the role it was about is gone already; the check goes again.
    mutating func obeyConflict(
        _ index: Int, of generation: Int, transaction: OutstandingChecks.Check, now: Instant
    ) {
        counters.roleConflicts += 1
        guard generations[generation].remote?.isLite != true, conflictRepeats < ICELimits.conflictRepeats else {
            return
        }
        conflictRepeats += 1
        if transaction.role == role {
            tieBreaker = randomness.next()
            takeRole(role.other, now: now)
        }
        generations[generation].pairs[index].triggeredAt = now
    }
}
