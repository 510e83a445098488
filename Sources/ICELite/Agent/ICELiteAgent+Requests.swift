extension ICELiteAgent {
    /// Takes one STUN datagram that came on `path`; the answer comes from `pollTransmit`.
    ///
    /// - Returns: `.accepted` for an authenticated request and an indication, else the reason why nothing changed.
    package mutating func handle(_ bytes: borrowing RawSpan, path: NetworkPath, now: Instant) -> ICEVerdict {
        guard !isEnded else { return counters.drop(.ended) }
        handleTimeout(now: now)
        let path = path.unmapped
        do throws(STUNError) {
            let message = try STUNMessage(parsing: bytes)
            guard message.hasValidFingerprint else { return counters.drop(.badFingerprint) }
            guard message.method == STUNMessage.binding else { return counters.drop(.unknownMethod) }
            switch message.messageClass {
            case .request: return handleRequest(message, byteCount: bytes.byteCount, path: path, now: now)
            case .indication: return .accepted
            // We ask nothing, so nothing can be an answer.
            case .success, .error: return counters.drop(.unknownTransaction)
            }
        } catch {
            return counters.drop(.malformed)
        }
    }

    private mutating func handleRequest(
        _ message: borrowing STUNMessage, byteCount: Int, path: NetworkPath, now: Instant
    ) -> ICEVerdict {
        let check = ICERequestCheck(localUfrag: localUfrag, remoteUfrag: remoteUfrag, key: localKey)
        if case .refused(let error, let integrity, let reason) = check(message) {
            return refuse(message, error, integrity, reason, path: path)
        }
        // RFC 8445 §6.1.1: the full agent controls, whatever was offered. A peer that claims to be controlled is told.
        if message.iceControlled != nil {
            counters.roleConflicts += 1
            return refuse(message, .roleConflict, message.integrity, .roleConflict, path: path)
        }

        let index = authenticate(path, now: now)
        noteReceived(byteCount, on: path)
        var response = ICEResponse(
            path: path, transactionID: message.transactionID, error: nil, integrity: message.integrity)
        if let token = message.routabilityToken {
            if token == tuples[index].token {
                tuples[index].isConfirmed = true
            } else {
                response.token = tuples[index].token
            }
        }
        // Nomination is told by each request, also one that repeats an id: the server side keeps no transactions.
        select(tuples[index], message)
        counters.requestsAnswered += 1
        respond(response)
        return .accepted
    }

    /// The index of the tuple for `path`, made if it is new; the least recently authenticated unselected one makes
    /// room.
    private mutating func authenticate(_ path: NetworkPath, now: Instant) -> Int {
        if let index = tuples.firstIndex(where: { $0.path == path }) {
            tuples[index].lastRequestAt = now
            return index
        }
        if tuples.count == ICELimits.tuples {
            let oldest = tuples.indices.filter { tuples[$0].path != selectedPath }
                .min { tuples[$0].lastRequestAt < tuples[$1].lastRequestAt }
            if let oldest {
                tuples.remove(at: oldest)
                counters.tuplesEvicted += 1
            }
        }
        nextOrder += 1
        tuples.append(
            Tuple(path: path, order: nextOrder, token: randomness.next() | 1, lastRequestAt: now))
        emit(.tupleAuthenticated(path))
        return tuples.count - 1
    }

    /// With NOMINATION the highest wins: at 1 the first tuple stays, from 2 on the newest. Without it each
    /// USE-CANDIDATE selects (RFC 8445 §8.2, priority plays no part). Before any nomination the first tuple is used.
    private mutating func select(_ tuple: Tuple, _ message: borrowing STUNMessage) {
        if let nomination = message.nomination, nomination > 0 {
            let selectedOrder = tuples.first { $0.path == selectedPath }?.order ?? 0
            if nomination > highestNomination
                || (nomination == highestNomination && nomination > 1 && tuple.order > selectedOrder)
            {
                highestNomination = nomination
                use(tuple.path)
            }
        } else if message.useCandidate, highestNomination == 0 {
            use(tuple.path)
        } else if selectedPath == nil {
            use(tuple.path)
        }
    }

    private mutating func use(_ path: NetworkPath) {
        guard path != selectedPath else { return }
        selectedPath = path
        emit(.selected(path))
    }

    private mutating func refuse(
        _ message: borrowing STUNMessage, _ error: STUNErrorCode, _ integrity: STUNIntegrity, _ reason: ICEDropReason,
        path: NetworkPath
    ) -> ICEVerdict {
        counters.requestsRefused += 1
        respond(
            ICEResponse(
                path: path, transactionID: message.transactionID, error: error, integrity: integrity,
                unknown: message.unknown))
        return counters.drop(reason)
    }

    private mutating func respond(_ response: ICEResponse) {
        guard responses.count < ICELimits.pendingResponses else {
            counters.responsesDropped += 1
            return
        }
        responses.append(response)
    }
}
