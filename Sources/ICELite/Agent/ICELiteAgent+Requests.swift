extension ICELiteAgent {
    /// A response that waits, with the password its request was signed with.
    struct PendingAnswer {
        var response: ICEResponse
        var key: STUNKey
        /// Length of the request: an error is never longer.
        var requestByteCount: Int
    }

    /// Takes one STUN datagram that came on `path`; the answer comes from `pollTransmit`.
    ///
    /// What does not authenticate changes counters only. Where RFC 8489 §6.3.1 and §9.1.3 want an error for it,
    /// one is sent unless it is longer than the request (no amplification) or one of more than
    /// `ICELimits.errorResponsesPerSecond`; an unknown user and a wrong password get the same 401, unsigned. Each request
    /// is judged by what it says: an id that was seen before means nothing (§6.3.1: the server may be stateless).
    ///
    /// - Returns: `.accepted` for an authenticated request, else the reason why nothing changed.
    public mutating func handle(_ bytes: borrowing RawSpan, path: NetworkPath, now: Instant) -> ICEVerdict {
        guard !isEnded else { return counters.drop(.ended) }
        handleTimeout(now: now)
        do throws(STUNError) {
            let message = try STUNMessage(parsing: bytes)
            guard message.hasValidFingerprint else { return counters.drop(.badFingerprint) }
            guard message.method == STUNMessage.binding else { return counters.drop(.unknownMethod) }
            switch message.messageClass {
            case .request: return handleRequest(message, byteCount: bytes.byteCount, path: path.unmapped, now: now)
            case .indication: return counters.drop(.indication)
            case .success, .error: return handleResponse(message, path: path.unmapped)
            }
        } catch {
            return counters.drop(.malformed)
        }
    }

    private mutating func handleRequest(
        _ message: borrowing STUNMessage, byteCount: Int, path: NetworkPath, now: Instant
    ) -> ICEVerdict {
        let generation = generation(addressedBy: message) ?? current
        let check = ICERequestCheck(localUfrag: generation.localUfrag, key: generation.key)
        if case .refused(let error, let integrity, let reason) = check(message) {
            return refuse(message, error, integrity, reason, generation.key, byteCount, path, now: now)
        }
        // RFC 8445 §6.1.1: the full agent controls, whatever was offered. A peer that claims to be controlled is told.
        // One that claims no role is of before RFC 8445 and taken as controlling.
        if message.iceControlled != nil {
            counters.roleConflicts += 1
            return refuse(
                message, .roleConflict, message.integrity, .roleConflict, generation.key, byteCount, path, now: now)
        }

        noteForeignUsername(message, to: generation)
        let index = authenticate(path, generation: generation.number, now: now)
        tuples[index].bytesReceived &+= byteCount
        let namesBoth = message.isAddressed(to: generation.localUfrag, from: generation.remoteUfrag)
        tuples[index].namedGeneration = namesBoth ? generation.number : nil
        if message.routabilityToken != nil { tuples[index].offersToken = true }
        var response = ICEResponse(
            path: path, transactionID: message.transactionID, error: nil, integrity: message.integrity)
        if let token = message.routabilityToken {
            if token == tuples[index].token {
                confirm(at: index)
            } else {
                response.token = tuples[index].token
            }
        }
        nominate(at: index, message, in: generation, now: now)
        if respond(PendingAnswer(response: response, key: generation.key, requestByteCount: byteCount)) {
            counters.requestsAnswered += 1
        }
        return .accepted
    }

    private mutating func refuse(
        _ message: borrowing STUNMessage, _ error: STUNErrorCode, _ integrity: STUNIntegrity, _ reason: ICEDropReason,
        _ key: STUNKey, _ byteCount: Int, _ path: NetworkPath, now: Instant
    ) -> ICEVerdict {
        let response = ICEResponse(
            path: path, transactionID: message.transactionID, error: error, integrity: integrity,
            unknown: message.unknown)
        // Strangers have a bucket; who has signed is told, or a flood of theirs would keep a role conflict unsettled.
        if integrity != .none || errorResponses.take(now: now) {
            if respond(PendingAnswer(response: response, key: key, requestByteCount: byteCount)) {
                counters.requestsRefused += 1
            }
        } else {
            counters.errorsSuppressed += 1
        }
        return counters.drop(reason)
    }

    private mutating func respond(_ answer: PendingAnswer) -> Bool {
        guard answers.count < ICELimits.pendingResponses else {
            counters.responsesDropped += 1
            return false
        }
        answers.append(answer)
        return true
    }

    /// Whether the `byteCount` bytes of `answer` may leave; a success response is charged to its tuple.
    ///
    /// An error is not: its request counted for nothing, and it is no longer than that.
    mutating func mayAnswer(_ answer: PendingAnswer, byteCount: Int) -> Bool {
        if answer.response.error != nil {
            if byteCount <= answer.requestByteCount { return true }
            counters.errorsSuppressed += 1
            return false
        }
        if let index = index(of: answer.response.path), tuples[index].charge(byteCount) { return true }
        counters.answersWithheld += 1
        return false
    }
}
