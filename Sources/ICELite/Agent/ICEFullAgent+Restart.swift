extension ICEFullAgent {
    /// Takes the peer's credentials for the newest generation: its checks begin.
    ///
    /// A second call changes nothing, and neither does one with the credentials of a generation before: the answer to
    /// a restart has new ones (RFC 8839 §4.4.1.1). Towards a lite peer we control, whoever offered (RFC 8445 §6.1.1).
    ///
    /// - Parameters:
    ///   - credentials: the peer's, as its description carries them.
    ///   - isLite: the description has `a=ice-lite`: no more candidates than it names will come.
    ///   - supportsRenomination: the peer is of our kind: NOMINATION and the routability token are sent.
    ///   - now: the time of the call.
    public mutating func setRemote(
        credentials: ICECredentials, isLite: Bool, supportsRenomination: Bool, now: Instant
    ) {
        let newest = generations.count - 1
        guard !isEnded, generations[newest].remote == nil,
            !generations.contains(where: { $0.isFrom(credentials.ufrag) }) && retired?.isFrom(credentials.ufrag) != true
        else { return }
        generations[newest].remote = ICEFullGeneration.Remote(
            credentials: credentials, ufrag: Array(credentials.ufrag.utf8),
            key: STUNKey(password: credentials.password), isLite: isLite, supportsRenomination: supportsRenomination)
        // What came ahead of the answer for a generation that is not this one.
        let before = generations[newest].remoteCandidates.count
        generations[newest].remoteCandidates.removeAll { $0.ufrag.map { $0 != credentials.ufrag } ?? false }
        if generations[newest].remoteCandidates.count < before {
            let known = Set(generations[newest].remoteCandidates.map(\.address))
            generations[newest].pairs.removeAll { !known.contains($0.path.remote.unzoned) }
            counters.candidatesIgnored += UInt64(before - generations[newest].remoteCandidates.count)
        }
        generations[newest].restartChecks(now: now)
        if generations[newest].isAnswer, !isLite { generations[newest].heldUntil = now + timing.restartAnswerHold }
        if isLite, role == .controlled { takeRole(.controlling, now: now) }
    }

    /// Begins a restart beside the generation in use (RFC 8445 §2.4, §9), by our wish or because the peer offers one.
    ///
    /// Signal `credentials` with all of `localCandidates` and `serverReflexiveCandidates`; the peer's half comes by
    /// `setRemote`, and its candidates are added anew. Media goes on over the pair selected so far, whose consent is kept, until the new generation has a
    /// pair (`.restarted`). The older one's checks are answered for `ICETiming.retirement` after that. There is one
    /// outstanding restart: a second one takes its place. The roles stay (RFC 8445 §6.1.1).
    ///
    /// - Parameters:
    ///   - credentials: new ones of ours, with a ufrag that is in no use.
    ///   - isAnswer: the peer asked for the restart. Our checks then wait for its first one, at most
    ///     `ICETiming.restartAnswerHold`: some browsers never recover from a check that overtakes the answer.
    ///   - now: the time of the call.
    public mutating func restart(credentials: ICECredentials, isAnswer: Bool = false, now: Instant) {
        guard !isEnded else { return }
        abandonRestart()
        var generation = ICEFullGeneration(number: nextGeneration, credentials: credentials)
        generation.isAnswer = isAnswer
        generations.append(generation)
        nextGeneration &+= 1
    }

    /// Gives the outstanding restart up: its answer does not come, or was refused. Harmless when there is none.
    public mutating func abandonRestart() {
        if generations.count > 1 { generations.removeLast() }
    }

    /// Consent has expired on the generation in use: only a restart helps.
    public var hasExpired: Bool { generations[0].hasExpired }

    /// A restart is outstanding.
    public var isRestarting: Bool { generations.count > 1 }

    /// The newest generation has its first pair: it is the one in use now.
    mutating func retireOlder(now: Instant) {
        var old = generations.removeFirst()
        old.retiresAt = now + timing.retirement
        retired = old
        counters.restarts += 1
    }
}
