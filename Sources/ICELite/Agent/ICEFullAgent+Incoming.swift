extension ICEFullAgent {
    /// Takes one STUN datagram that came on `path`. Answers and checks it leads to come from `pollTransmit`.
    ///
    /// A request that is refused is answered with an error unless that is longer than the request (no amplification) or,
    /// where the request did not authenticate, one of more than `ICELimits.errorResponsesPerSecond`.
    ///
    /// - Returns: `.accepted`, or the reason why it changed nothing but a counter.
    public mutating func handle(_ bytes: borrowing RawSpan, path: NetworkPath, now: Instant) -> ICEVerdict {
        handleTimeout(now: now)
        guard !isEnded else { return counters.drop(.ended) }
        let path = path.unmapped
        do throws(STUNError) {
            let message = try STUNMessage(parsing: bytes)
            guard message.hasValidFingerprint else { return counters.drop(.badFingerprint) }
            guard message.method == STUNMessage.binding else { return counters.drop(.unknownMethod) }
            switch message.messageClass {
            case .request: return handleRequest(message, byteCount: bytes.byteCount, path: path, now: now)
            case .indication: return counters.drop(.indication)
            case .success: return handleSuccess(message, path: path, now: now)
            case .error: return handleError(message, path: path, now: now)
            }
        } catch {
            return counters.drop(.malformed)
        }
    }

    // MARK: - Responses (RFC 8445 §7.2.5)

    /// The generation and pair whose outstanding check has this id.
    private func place(of id: STUNTransactionID) -> (generation: Int, pair: Int)? {
        for generation in generations.indices where !generations[generation].hasExpired {
            if let pair = generations[generation].pair(answeredBy: id) { return (generation, pair) }
        }
        return nil
    }

    private mutating func handleSuccess(_ message: borrowing STUNMessage, path: NetworkPath, now: Instant) -> ICEVerdict
    {
        guard let (generation, index) = place(of: message.transactionID), let remote = generations[generation].remote
        else { return counters.drop(.unknownTransaction) }
        // Authenticity first: a forged answer must not cost the transaction.
        guard message.verifies(with: remote.key) else { return counters.drop(.unauthenticated) }
        guard let transaction = generations[generation].outstanding.take(message.transactionID) else {
            return counters.drop(.unknownTransaction)
        }
        guard message.unknown.isEmpty else { return counters.drop(.unknownAttribute) }
        guard generations[generation].pairs[index].path == path else { return counters.drop(.asymmetricResponse) }
        guard let mapped = message.xorMappedAddress else { return counters.drop(.malformed) }

        counters.responsesReceived += 1
        isWarmPairStale = true
        firstResponseAt = firstResponseAt ?? now
        learnReflexive(mapped, path: path)
        noteAnswer(index, of: generation, to: transaction, now: now)
        if let token = message.routabilityToken, token != 0, token != generations[generation].pairs[index].token,
            remote.supportsRenomination
        {
            generations[generation].pairs[index].echo(token)
        }
        if generation == 0 { endProbe(index, answering: transaction, now: now) }
        switch role {
        case .controlling:
            choose(index, of: generation, answering: transaction, remote: remote, now: now)
        case .controlled: selectNominated(in: generation, now: now)
        }
        return .accepted
    }

    /// What an answer says of its pair: it is valid, its round trip, and when its next check is due.
    private mutating func noteAnswer(
        _ index: Int, of generation: Int, to transaction: OutstandingChecks.Check, now: Instant
    ) {
        var pair = generations[generation].pairs[index]
        let sample = max(1, now - transaction.sentAt)
        let smoothed = pair.roundTrip.map { $0 - $0 / 8 + sample / 8 } ?? sample
        pair.roundTrip = smoothed
        pair.lastAnswerAt = now
        pair.attempts = 0
        pair.silentSince = nil
        pair.failure = nil
        pair.refusals = 0
        let isCandidate = generations[generation].chosenID == nil || generations[generation].chosenID == pair.id
        if isCandidate { roundTrip = smoothed }
        // While it is being nominated the checks go on as they were.
        // Nor does an answer to a check from before the suspicion put the probe's off.
        let isEarly = generation == 0 && probingSince.map { transaction.sentAt < $0 } ?? false
        if !isEarly, role == .controlled || pair.isSettled || !isCandidate {
            pair.nextCheckAt = (pair.lastCheckAt ?? now) + consentInterval()
        }
        if !pair.isValid {
            pair.isValid = true
            emit(.pairValid(pair.path, roundTrip: sample))
        }
        generations[generation].pairs[index] = pair
    }

    /// Our address as the peer sees it, when it is none of ours (RFC 8445 §7.2.5.3.1). Sends go on leaving from the
    /// base.
    private mutating func learnReflexive(_ mapped: SocketAddress, path: NetworkPath) {
        let isKnown =
            localCandidates.contains { $0.address.unzoned == mapped }
            || reflexiveCandidates.contains { $0.address == mapped }
            || serverReflexiveCandidates.contains { $0.address == mapped }
        guard !isKnown, reflexiveCandidates.count < ICELimits.reflexiveCandidates,
            let base = localCandidates.first(where: { $0.address == path.local })
        else { return }
        reflexiveCandidates.append(
            ICECandidate(
                foundation: ICECandidate.foundation(.peerReflexive, base: base.address.ip),
                priority: ICECandidate.Kind.peerReflexive.preference << 24 | base.priority & 0x00FF_FFFF,
                address: mapped, kind: .peerReflexive, relatedAddress: base.address))
    }

    /// An error ends nothing: the pair goes on being checked. Without integrity anybody can have sent it, and it does
    /// not even take the transaction.
    private mutating func handleError(_ message: borrowing STUNMessage, path: NetworkPath, now: Instant) -> ICEVerdict {
        guard let (generation, index) = place(of: message.transactionID), let remote = generations[generation].remote,
            generations[generation].pairs[index].path == path
        else { return counters.drop(.unknownTransaction) }
        let isAuthentic = message.verifies(with: remote.key)
        if message.hasIntegrity, !isAuthentic { return counters.drop(.unauthenticated) }
        counters.errorResponses += 1
        if isAuthentic, let transaction = generations[generation].outstanding.take(message.transactionID),
            message.errorCode == STUNErrorCode.roleConflict.rawValue
        {
            obeyConflict(index, of: generation, transaction: transaction, now: now)
        }
        return counters.drop(.errorResponse)
    }

    // MARK: - Requests (RFC 8445 §7.3)

    private mutating func handleRequest(
        _ message: borrowing STUNMessage, byteCount: Int, path: NetworkPath, now: Instant
    ) -> ICEVerdict {
        guard let local = localCandidates.first(where: { $0.address == path.local }) else {
            return counters.drop(.unknownLocalAddress)
        }
        // A check belongs to the generation whose ufrag of ours it carries.
        var active: Int? = 0
        var generation = generations[0]
        if let found = generations.firstIndex(where: { message.isAddressed(to: $0.localUfrag, from: nil) }) {
            active = found
            generation = generations[found]
        } else if let retired, message.isAddressed(to: retired.localUfrag, from: nil) {
            active = nil
            generation = retired
        }
        guard !generation.hasExpired else { return counters.drop(.ended) }
        let check = ICERequestCheck(localUfrag: generation.localUfrag, key: generation.localKey)
        switch check(message) {
        case .refused(let error, let integrity, let reason):
            refuse(
                message, error, integrity, byteCount: byteCount, path: path, generation: generation.number, now: now)
            return counters.drop(reason)
        case .authentic(let priority):
            if active != nil,
                !settleConflict(
                    controlling: message.iceControlling, controlled: message.iceControlled,
                    isLite: generation.remote?.isLite == true, now: now)
            {
                refuse(
                    message, .roleConflict, message.integrity, byteCount: byteCount, path: path,
                    generation: generation.number, now: now)
                return counters.drop(.roleConflict)
            }
            noteForeignUsername(message, to: generation)
            counters.requestsAnswered += 1
            if let active { generations[active].heldUntil = .zero }
            respond(
                ICEResponse(
                    path: path, transactionID: message.transactionID, error: nil, integrity: message.integrity),
                byteCount: byteCount, generation: generation.number)
            guard let active, let pair = learnPair(path, local: local, priority: priority, in: active, now: now) else {
                return .accepted
            }
            trigger(pair, of: active, now: now)
            if role == .controlled, message.useCandidate || message.nomination != nil {
                let known = generations[active].pairs[pair].nomination ?? 0
                generations[active].pairs[pair].nomination = max(known, message.nomination ?? 0)
                selectNominated(in: active, now: now)
            }
            return .accepted
        }
    }

    /// Counts a request to `generation` that names no ufrag the peer has signalled, once one is known.
    private mutating func noteForeignUsername(_ message: borrowing STUNMessage, to generation: ICEFullGeneration) {
        for known in generations {
            guard let remote = known.remote else { return }
            if message.isAddressed(to: generation.localUfrag, from: remote.ufrag) { return }
        }
        if let remote = retired?.remote, message.isAddressed(to: generation.localUfrag, from: remote.ufrag) { return }
        counters.foreignUsernames += 1
    }

    private mutating func refuse(
        _ message: borrowing STUNMessage, _ error: STUNErrorCode, _ integrity: STUNIntegrity, byteCount: Int,
        path: NetworkPath, generation: UInt32, now: Instant
    ) {
        // Strangers have a bucket; who has signed is told, or a flood of theirs would keep a role conflict unsettled.
        guard integrity != .none || errorResponses.take(now: now) else {
            counters.errorsSuppressed += 1
            return
        }
        counters.requestsRefused += 1
        respond(
            ICEResponse(
                path: path, transactionID: message.transactionID, error: error, integrity: integrity,
                unknown: message.unknown), byteCount: byteCount, generation: generation)
    }

    /// Our answers carry no routability token: a peer that checks finds out by its own checks that we receive, and we by
    /// ours that it does.
    private mutating func respond(_ response: ICEResponse, byteCount: Int, generation: UInt32) {
        guard responses.count < ICELimits.pendingResponses else {
            counters.responsesDropped += 1
            return
        }
        responses.append(QueuedResponse(generation: generation, response: response, requestByteCount: byteCount))
    }

    /// The index of the pair a check came on; a peer-reflexive remote candidate is learned for it (§7.3.1.3). Nil when
    /// there is no room.
    private mutating func learnPair(
        _ path: NetworkPath, local: ICECandidate, priority: UInt32, in generation: Int, now: Instant
    ) -> Int? {
        if let index = generations[generation].index(of: path) { return index }
        let remote = path.remote.unzoned
        var candidate = ICECandidate(
            foundation: ICECandidate.foundation(.peerReflexive, base: remote.ip), priority: priority, address: remote,
            kind: .peerReflexive)
        if let known = generations[generation].remoteCandidates.first(where: { $0.address == remote }) {
            candidate = known
        } else if generations[generation].remoteCandidates.count < ICELimits.remoteCandidates {
            generations[generation].remoteCandidates.append(candidate)
        } else {
            guard forgetReflexive(in: generation, now: now) else {
                counters.candidatesIgnored += 1
                return nil
            }
            generations[generation].remoteCandidates.append(candidate)
        }
        addPair(local, candidate, in: generation, now: now)
        return generations[generation].index(of: path)
    }

    /// Makes room for a peer-reflexive candidate: the oldest one goes whose pairs have no consent, as a peer's that has moved
    /// on. False when there is none.
    private mutating func forgetReflexive(in generation: Int, now: Instant) -> Bool {
        let held = generations[generation].pairs.filter {
            $0.id == generations[generation].chosenID || $0.hasConsent(now: now, timing: timing)
        }.map(\.path.remote.unzoned)
        let stale = generations[generation].remoteCandidates.firstIndex {
            $0.kind == .peerReflexive && !held.contains($0.address)
        }
        guard let stale else { return false }
        let gone = generations[generation].remoteCandidates.remove(at: stale).address
        generations[generation].pairs.removeAll { $0.path.remote.unzoned == gone }
        return true
    }

    /// Puts the pair into the triggered-check queue (§7.3.1.4), unless it is known to work. Where a check has just left, the
    /// next is brought forward: that one may have met a NAT which the peer had not opened yet.
    private mutating func trigger(_ index: Int, of generation: Int, now: Instant) {
        let pair = generations[generation].pairs[index]
        guard pair.triggeredAt == nil, !pair.hasConsent(now: now, timing: timing) else { return }
        if let last = pair.lastCheckAt, now - last <= timing.pacing {
            let earliest = last + max(timing.minimumRetransmission, 2 &* (roundTrip ?? 0))
            generations[generation].pairs[index].nextCheckAt = min(pair.nextCheckAt, earliest)
        } else {
            generations[generation].pairs[index].triggeredAt = now
        }
    }
}
