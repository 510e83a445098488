extension ICEClientAgent {
    /// Takes one STUN datagram that came on `path`. Answers and checks it leads to come from `pollTransmit`.
    ///
    /// - Returns: `.accepted`, or the reason why it changed nothing but a counter.
    package mutating func handle(_ bytes: borrowing RawSpan, path: NetworkPath, now: Instant) -> ICEVerdict {
        handleTimeout(now: now)
        guard !isEnded else { return counters.drop(.ended) }
        let path = path.unmapped
        do throws(STUNError) {
            let message = try STUNMessage(parsing: bytes)
            guard message.hasValidFingerprint else { return counters.drop(.badFingerprint) }
            guard message.method == STUNMessage.binding else { return counters.drop(.unknownMethod) }
            switch message.messageClass {
            case .request: return handleRequest(message, path: path, now: now)
            case .indication: return .accepted
            case .success: return handleSuccess(message, path: path, now: now)
            case .error: return handleError(message, path: path)
            }
        } catch {
            return counters.drop(.malformed)
        }
    }

    // MARK: - Responses (RFC 8445 §7.2.5)

    private mutating func handleSuccess(_ message: borrowing STUNMessage, path: NetworkPath, now: Instant) -> ICEVerdict
    {
        guard let remote,
            let index = pairs.firstIndex(where: { pair in
                pair.transactions.contains { $0.id == message.transactionID }
            })
        else { return counters.drop(.unknownTransaction) }
        // Authenticity first: a forged answer must not cost the transaction.
        guard message.verifies(with: remote.key) else { return counters.drop(.unauthenticated) }
        guard let transaction = pairs[index].answered(message.transactionID) else {
            return counters.drop(.unknownTransaction)
        }
        guard message.unknown.isEmpty else { return counters.drop(.unknownAttribute) }
        guard pairs[index].path == path else { return counters.drop(.asymmetricResponse) }
        guard let mapped = message.xorMappedAddress else { return counters.drop(.malformed) }

        counters.responsesReceived += 1
        firstResponseAt = firstResponseAt ?? now
        let sample = max(1, now - transaction.sentAt)
        roundTrip = roundTrip.map { $0 - $0 / 8 + sample / 8 } ?? sample
        learnReflexive(mapped, path: path)
        pairs[index].lastAnswerAt = now
        pairs[index].attempts = 0
        if !pairs[index].isValid {
            pairs[index].isValid = true
            emit(.pairValid(path, roundTrip: sample))
        }
        if let token = message.routabilityToken, token != 0, token != pairs[index].token,
            remote.supportsRenomination
        {
            pairs[index].token = token
            pairs[index].isUrgent = true
            pairs[index].isSettled = false
        }
        choose(index, answering: transaction, remote: remote, now: now)
        return .accepted
    }

    /// Selects and nominates: the first valid pair is chosen and stays so.
    private mutating func choose(
        _ index: Int, answering transaction: CandidatePair.Transaction, remote: Remote, now: Instant
    ) {
        let path = pairs[index].path
        if chosen == nil {
            chosen = index
            if remote.supportsRenomination {
                // The pair is checked at once with the next value, and from now on only its checks carry it.
                nominationValue &+= 1
                pairs[index].isUrgent = true
            } else if !transaction.useCandidate {
                pairs[index].isUrgent = true
            }
            if remote.supportsRenomination || remote.isLite { select(path) }
        }
        guard chosen == index else { return }
        let isNominated =
            remote.supportsRenomination
            ? transaction.nomination == nominationValue && transaction.token == (pairs[index].token ?? 0)
            : transaction.useCandidate
        guard isNominated, !pairs[index].isUrgent else { return }
        select(path)
        if !pairs[index].isSettled {
            pairs[index].isSettled = true
            pairs[index].nextCheckAt = transaction.sentAt + consentInterval()
        }
    }

    private mutating func select(_ path: NetworkPath) {
        guard selectedPath != path else { return }
        selectedPath = path
        emit(.selected(path))
    }

    /// Our address as the peer sees it, when it is none of ours (RFC 8445 §7.2.5.3.1). Sends go on leaving from the
    /// base.
    private mutating func learnReflexive(_ mapped: SocketAddress, path: NetworkPath) {
        let isKnown =
            localCandidates.contains { $0.address == mapped } || reflexiveCandidates.contains { $0.address == mapped }
        guard !isKnown, reflexiveCandidates.count < ICELimits.reflexiveCandidates,
            let base = localCandidates.first(where: { $0.address == path.local }),
            mapped.ip != path.local.ip.unzoned
                || mapped.port != path.local.port
        else { return }
        reflexiveCandidates.append(
            ICECandidate(
                foundation: ICECandidate.foundation(.peerReflexive, base: base.address.ip),
                priority: ICECandidate.Kind.peerReflexive.preference << 24 | base.priority & 0x00FF_FFFF,
                address: mapped, kind: .peerReflexive, relatedAddress: base.address))
    }

    /// An error ends nothing: without integrity anybody can have sent it. The pair goes on being checked.
    private mutating func handleError(_ message: borrowing STUNMessage, path: NetworkPath) -> ICEVerdict {
        guard let remote,
            let index = pairs.firstIndex(where: { pair in
                pair.path == path && pair.transactions.contains { $0.id == message.transactionID }
            })
        else { return counters.drop(.unknownTransaction) }
        if message.hasIntegrity, !message.verifies(with: remote.key) { return counters.drop(.unauthenticated) }
        _ = pairs[index].answered(message.transactionID)
        counters.errorResponses += 1
        if message.errorCode == STUNErrorCode.roleConflict.rawValue { counters.roleConflicts += 1 }
        return counters.drop(.errorResponse)
    }

    // MARK: - Requests (RFC 8445 §7.3)

    private mutating func handleRequest(_ message: borrowing STUNMessage, path: NetworkPath, now: Instant) -> ICEVerdict
    {
        guard let local = localCandidates.first(where: { $0.address == path.local }) else {
            return counters.drop(.unknownLocalAddress)
        }
        // Before the answer is known a check is judged by our own half alone.
        let check = ICERequestCheck(localUfrag: localUfrag, remoteUfrag: remote?.ufrag, key: localKey)
        switch check(message) {
        case .refused(let error, let integrity, let reason):
            refuse(message, error, integrity, path: path)
            return counters.drop(reason)
        case .authentic(let priority):
            if let theirs = message.iceControlling {
                counters.roleConflicts += 1
                // RFC 8445 §7.3.1.1. With the smaller tie-breaker we would have to switch: counted, and answered.
                if tieBreaker >= theirs {
                    refuse(message, .roleConflict, message.integrity, path: path)
                    return counters.drop(.roleConflict)
                }
            }
            counters.requestsAnswered += 1
            respond(
                ICEResponse(
                    path: path, transactionID: message.transactionID, error: nil, integrity: message.integrity))
            learnRemote(path, local: local, priority: priority, now: now)
            return .accepted
        }
    }

    private mutating func refuse(
        _ message: borrowing STUNMessage, _ error: STUNErrorCode, _ integrity: STUNIntegrity, path: NetworkPath
    ) {
        counters.requestsRefused += 1
        respond(
            ICEResponse(
                path: path, transactionID: message.transactionID, error: error, integrity: integrity,
                unknown: message.unknown))
    }

    /// Learns a peer-reflexive remote candidate (§7.3.1.3) and triggers a check of the pair (§7.3.1.4).
    private mutating func learnRemote(_ path: NetworkPath, local: ICECandidate, priority: UInt32, now: Instant) {
        if !pairs.contains(where: { $0.path == path }) {
            var candidate = ICECandidate(
                foundation: ICECandidate.foundation(.peerReflexive, base: path.remote.ip), priority: priority,
                address: path.remote, kind: .peerReflexive)
            if let known = remoteCandidates.first(where: { $0.address == path.remote }) {
                candidate = known
            } else if remoteCandidates.count < ICELimits.remoteCandidates {
                remoteCandidates.append(candidate)
            } else {
                counters.candidatesIgnored += 1
                return
            }
            addPair(local, candidate, now: now)
        }
        guard chosen == nil, let index = pairs.firstIndex(where: { $0.path == path }), !pairs[index].isValid else {
            return
        }
        // Triggered: in front of what waits, and still paced.
        if pairs[index].checksSent > 0, pairs[index].transactions.last.map({ now - $0.sentAt }) ?? .max > timing.pacing
        {
            pairs[index].nextCheckAt = min(pairs[index].nextCheckAt, now)
        }
    }
}

extension IPAddress {
    /// The address without its zone, as it travels.
    var unzoned: IPAddress { zone == 0 ? self : IPAddress(v6High: high, low: low) }
}
