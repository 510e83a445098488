extension ICEClientAgent {
    /// The next check, consent check or expiry; `.never` once ended.
    package var nextDeadline: Instant {
        guard !isEnded else { return .never }
        if !responses.isEmpty { return .zero }
        guard remote != nil else { return .never }
        var deadline = Instant.never
        if let chosen {
            deadline = pairs[chosen].isUrgent ? .zero : max(pairs[chosen].nextCheckAt, paceAt)
            if let expiry = consentExpiresAt { deadline = min(deadline, expiry) }
        } else {
            for pair in pairs { deadline = min(deadline, pair.isUrgent ? .zero : max(pair.nextCheckAt, paceAt)) }
        }
        return deadline
    }

    private var consentExpiresAt: Instant? {
        guard let chosen, let last = pairs[chosen].lastAnswerAt else { return nil }
        return last + timing.consentExpiry
    }

    package mutating func handleTimeout(now: Instant) {
        guard !isEnded, let chosen, let expiry = consentExpiresAt, now >= expiry else { return }
        let path = pairs[chosen].path
        selectedPath = nil
        end()
        emit(.consentExpired(path))
    }

    package mutating func pollTransmit(into out: inout OutputRawSpan, now: Instant) -> Transmit? {
        guard !isEnded else { return nil }
        guard out.freeCapacity >= ICELimits.messageRoom else {
            counters.noRoom += 1
            return nil
        }
        let start = out.byteCount
        do throws(STUNError) {
            if !responses.isEmpty {
                let response = responses.removeFirst()
                try response.encode(key: localKey, into: &out)
                return Transmit(path: response.path, byteCount: out.byteCount - start)
            }
            guard let remote, let index = nextCheck(now: now) else { return nil }
            try writeCheck(index, to: remote, now: now, into: &out)
            return Transmit(path: pairs[index].path, byteCount: out.byteCount - start)
        } catch {
            // Cannot be: the room was asked for. What was begun is taken back.
            counters.noRoom += 1
            out.removeLast(out.byteCount - start)
            return nil
        }
    }

    /// The pair whose check is due: an urgent one, then pairs never checked by priority with the families taking turns
    /// (RFC 8421 §4), then the one that waits longest.
    private func nextCheck(now: Instant) -> Int? {
        if let chosen {
            let pair = pairs[chosen]
            return pair.isUrgent || (now >= paceAt && now >= pair.nextCheckAt) ? chosen : nil
        }
        if let urgent = pairs.firstIndex(where: { $0.isUrgent }) { return urgent }
        guard now >= paceAt else { return nil }
        var best: Int?
        for index in pairs.indices where pairs[index].nextCheckAt <= now {
            guard let other = best else {
                best = index
                continue
            }
            if isBefore(pairs[index], pairs[other]) { best = index }
        }
        return best
    }

    private func isBefore(_ left: CandidatePair, _ right: CandidatePair) -> Bool {
        if (left.checksSent == 0) != (right.checksSent == 0) { return left.checksSent == 0 }
        if left.checksSent > 0 { return left.nextCheckAt < right.nextCheckAt }
        let leftTurn = left.path.remote.ip.family != lastFirstCheckFamily
        let rightTurn = right.path.remote.ip.family != lastFirstCheckFamily
        if leftTurn != rightTurn { return leftTurn }
        return left.priority > right.priority
    }

    /// Writes a check of the pair at `index` (RFC 8445 §7.2.2) and arms what follows it.
    private mutating func writeCheck(
        _ index: Int, to remote: Remote, now: Instant, into out: inout OutputRawSpan
    ) throws(STUNError) {
        let id = STUNTransactionID.random(using: &randomness)
        let pair = pairs[index]
        let isChosen = chosen == index
        var transaction = CandidatePair.Transaction(id: id, sentAt: now, useCandidate: false)
        if remote.supportsRenomination {
            transaction.useCandidate = true
            transaction.nomination = nominationValue
            transaction.token = pair.token ?? 0
        } else if remote.isLite {
            // A single pair needs no answer to be chosen.
            transaction.useCandidate = isChosen || pairs.count == 1
        } else {
            transaction.useCandidate = isChosen
        }

        let writer = try STUNWriter(.request, transactionID: id, into: &out)
        try writer.append(username: remote.ufrag, localUfrag, into: &out)
        try writer.append(.priority, pair.checkPriority, into: &out)
        try writer.append(.iceControlling, tieBreaker, into: &out)
        if transaction.useCandidate { try writer.append(flag: .useCandidate, into: &out) }
        if let nomination = transaction.nomination { try writer.append(.nomination, nomination, into: &out) }
        if let token = transaction.token { try writer.append(.routabilityToken, token, into: &out) }
        try writer.append(.sha1, key: remote.key, into: &out)
        try writer.appendFingerprint(into: &out)

        let isFirst = pair.checksSent == 0
        pairs[index].remember(transaction)
        pairs[index].isUrgent = false
        pairs[index].checksSent += 1
        pairs[index].nextCheckAt = now + (pair.isSettled ? consentInterval() : retransmission(after: pair.attempts))
        if !pair.isSettled { pairs[index].attempts += 1 }
        paceAt = now + (isFirst ? timing.firstCheckPacing : timing.pacing)
        counters.checksSent += 1
        firstCheckAt = firstCheckAt ?? now
        if isFirst {
            lastFirstCheckFamily = pair.path.remote.ip.family
            emit(.checkSent(pair.path))
        }
    }

    /// The interval after `attempts` unanswered checks: doubling from the base, up to the cap.
    private func retransmission(after attempts: Int) -> Nanoseconds {
        let isAnswered = roundTrip != nil
        let base = roundTrip.map { max(timing.minimumRetransmission, 2 &* $0) } ?? timing.initialRetransmission
        let cap = isAnswered ? timing.retransmissionCap : timing.unansweredRetransmissionCap
        return min(min(base, cap) << Nanoseconds(min(attempts, 8)), cap)
    }

    /// RFC 7675 §5.1: the interval × 0.8…1.2.
    mutating func consentInterval() -> Nanoseconds {
        let tenth = timing.consentInterval / 10
        return 8 * tenth + Nanoseconds.random(in: 0...(4 * tenth), using: &randomness)
    }
}
