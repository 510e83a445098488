/// The one check a lite agent sends: it asks a peer that cannot echo tokens whether it receives where it has moved to.
///
/// Not a connectivity check (RFC 8445 §2.5: a lite end sends none): it nominates nothing, and its answer confirms the
/// tuple and does no more. Only the selected tuple is checked, while all of this holds: it is unconfirmed and may be sent
/// to; no request on it offered to echo a token; the newest one named both ufrags of the credentials in use (some
/// browsers never recover from a check that overtakes the answer to a restart, and their new socket names a new ufrag);
/// no restart is outstanding; and a DTLS flight has confirmed a selected tuple before. At most
/// `ICELimits.routabilityChecks` times a tuple, under one transaction.
extension ICELiteAgent {
    /// The check that may still be answered.
    struct RoutabilityCheck {
        let path: NetworkPath
        /// Known to nobody but who receives on `path`.
        let id: STUNTransactionID
        let generation: UInt32
        /// The peer's password: what an answer is signed with.
        let key: STUNKey
    }

    /// Whether a check of `tuple` is still to be sent.
    @inline(__always) func wantsRoutabilityCheck(_ tuple: ICETuple) -> Bool {
        !tuple.isConfirmed && tuple.path == selectedPath && tuple.admission == .granted && !tuple.offersToken
            && tuple.namedGeneration == current.number && tuple.routabilityChecks < ICELimits.routabilityChecks
            && pending == nil && wasConfirmedByFlight && current.remoteKey != nil
    }

    /// When the next check is due; `.never` without one. O(8), does not allocate.
    @inline(__always) var routabilityCheckDueAt: Instant {
        // Asked with every packet: what is most often false first, and of a tuple only what is needed, for one that is handed on
        // is copied.
        guard wasConfirmedByFlight, let selectedPath,
            let index = tuples.indices.first(where: { tuples[$0].path == selectedPath }), !tuples[index].isConfirmed,
            wantsRoutabilityCheck(tuples[index])
        else { return .never }
        return tuples[index].routabilityCheckAt
    }

    /// Writes the check that is due; nil, with `out` untouched, without one or when the tuple's allowance has no room.
    mutating func writeRoutabilityCheck(into out: inout OutputRawSpan, now: Instant) -> Transmit? {
        guard routabilityCheckDueAt <= now, let selectedPath, let index = index(of: selectedPath),
            let remoteUfrag = current.remoteUfrag, let remoteKey = current.remoteKey
        else { return nil }
        guard out.freeCapacity >= ICELimits.messageRoom else {
            counters.noRoom += 1
            return nil
        }
        let check: RoutabilityCheck
        if let known = routabilityCheck, known.path == selectedPath, known.generation == current.number {
            check = known
        } else {
            check = RoutabilityCheck(
                path: selectedPath, id: .random(using: &randomness), generation: current.number, key: remoteKey)
        }
        tuples[index].routabilityCheckAt = now + ICELimits.routabilityCheckInterval
        let start = out.byteCount
        do throws(STUNError) {
            let writer = try STUNWriter(.request, transactionID: check.id, into: &out)
            try writer.append(username: remoteUfrag, current.localUfrag, into: &out)
            let priority = ICECandidate.priority(type: .peerReflexive, localPreference: .max, component: 1)
            try writer.append(.priority, priority, into: &out)
            try writer.append(.iceControlled, tieBreaker, into: &out)
            try writer.append(.sha1, key: check.key, into: &out)
            try writer.appendFingerprint(into: &out)
            let byteCount = out.byteCount - start
            if tuples[index].charge(byteCount) {
                routabilityCheck = check
                tuples[index].routabilityChecks += 1
                counters.checksSent += 1
                return Transmit(path: selectedPath, byteCount: byteCount)
            }
            counters.answersWithheld += 1
        } catch {
            // Cannot be: the room was asked for.
            counters.noRoom += 1
        }
        out.removeLast(out.byteCount - start)
        return nil
    }

    /// Takes a response: one to the check, from where that went to and signed by the peer, confirms the tuple. All others
    /// leave the check as it is.
    mutating func handleResponse(_ message: borrowing STUNMessage, path: NetworkPath) -> ICEVerdict {
        guard let check = routabilityCheck, check.id == message.transactionID, let index = index(of: check.path) else {
            return counters.drop(.unknownTransaction)
        }
        guard check.path == path else { return counters.drop(.asymmetricResponse) }
        guard message.verifies(with: check.key) else { return counters.drop(.unauthenticated) }
        guard message.messageClass == .success else {
            counters.errorResponses += 1
            return counters.drop(.errorResponse)
        }
        guard message.unknown.isEmpty else { return counters.drop(.unknownAttribute) }
        counters.responsesReceived += 1
        routabilityCheck = nil
        confirm(at: index)
        return .accepted
    }
}
