extension ICEFullAgent {
    /// The local addresses are these now, most preferred first: one input for all that went and came.
    ///
    /// Candidates and pairs of addresses that are gone are removed, with the answers that wait to leave from them. If
    /// the selected pair was among them, `.selectedPathLost` is told and the best valid pair with consent takes over at
    /// once, else all pairs are checked anew. New addresses are added and paired. Calling it again changes nothing.
    ///
    /// - Returns: the new host candidates, to be signalled.
    @discardableResult
    public mutating func networkChanged(to locals: [SocketAddress], now: Instant) -> [ICECandidate] {
        guard !isEnded else { return [] }
        let locals = locals.map(\.unmapped)
        let gone = localCandidates.map(\.address).filter { !locals.contains($0) }
        if !gone.isEmpty { remove(gone, now: now) }
        let added = locals.filter { address in !localCandidates.contains { $0.address == address } }
        return added.map { addLocalCandidate($0, now: now) }
    }

    private mutating func remove(_ gone: [SocketAddress], now: Instant) {
        let isGone = { (candidate: ICECandidate) in candidate.relatedAddress.map(gone.contains) ?? false }
        localCandidates.removeAll { gone.contains($0.address) }
        serverReflexiveCandidates.removeAll(where: isGone)
        reflexiveCandidates.removeAll(where: isGone)
        responses.removeAll { gone.contains($0.response.path.local) }
        for generation in generations.indices {
            generations[generation].pairs.removeAll { gone.contains($0.path.local) }
            // Peer-reflexive candidates live by their pairs: the peer's addresses seen from here are others now.
            let paired = Set(generations[generation].pairs.map(\.path.remote.unzoned))
            generations[generation].remoteCandidates.removeAll {
                $0.kind == .peerReflexive && !paired.contains($0.address)
            }
            guard generations[generation].chosenID != nil, generations[generation].chosen == nil else { continue }
            generations[generation].chosenID = nil
            if generation > 0 || selectedPath == nil { generations[generation].restartChecks(now: now) }
        }
        isWarmPairStale = true
        retired?.pairs.removeAll { gone.contains($0.path.local) }
        if let lost = selectedPath, gone.contains(lost.local) {
            emit(.selectedPathLost(lost))
            replaceSelected(now: now)
        }
    }

    /// A datagram to `path` was refused, by the system or by ICMP. The pair goes on being checked, less often while it
    /// goes on being refused: ICMP may be transient (RFC 1122 §4.1.3.3), and RFC 8445 §7.2.5.2.2 fails no more than the
    /// transaction.
    public mutating func handleSendFailure(path: NetworkPath, failure: ICESendFailure, now: Instant) {
        counters.sendFailures += 1
        let path = path.unmapped
        for generation in generations.indices {
            for index in generations[generation].pairs.indices
            where generations[generation].pairs[index].path.remote == path.remote {
                var pair = generations[generation].pairs[index]
                // The system does not always know which of our addresses it was.
                guard pair.path.local == path.local || path.local.ip.isUnspecified else { continue }
                pair.failure = failure
                pair.failedAt = now
                // Media is refused fifty times a second: what counts is one refusal a check.
                if pair.checksSent > pair.refusedCheck {
                    pair.refusedCheck = pair.checksSent
                    let backoff = timing.refusalBackoff << Nanoseconds(min(pair.refusals, 8))
                    pair.nextCheckAt = max(pair.nextCheckAt, now + min(backoff, timing.refusalCap))
                    pair.refusals += 1
                }
                generations[generation].pairs[index] = pair
            }
        }
    }
}
