extension ICEFullAgent {
    // MARK: - Ours

    /// Adds the address of an open socket and returns the host candidate to signal. Adding one twice changes nothing.
    ///
    /// The first added is preferred. Over `ICELimits.localCandidates` the candidate is returned but not used.
    public mutating func addLocalCandidate(_ address: SocketAddress, now: Instant) -> ICECandidate {
        let address = address.unmapped
        if let known = localCandidates.first(where: { $0.address == address }) { return known }
        // The lowest rank that is free: an address that goes and comes back takes no new one.
        let taken = localCandidates.map(\.priority)
        var candidate = ICECandidate(host: address, localPreference: .max)
        for rank in 0...UInt16(ICELimits.localCandidates) {
            candidate = ICECandidate(host: address, localPreference: .max - rank)
            if !taken.contains(candidate.priority) { break }
        }
        guard localCandidates.count < ICELimits.localCandidates else {
            counters.candidatesIgnored += 1
            return candidate
        }
        localCandidates.append(candidate)
        for generation in generations.indices {
            for other in generations[generation].remoteCandidates where other.kind != .peerReflexive {
                addPair(candidate, other, in: generation, now: now)
            }
        }
        return candidate
    }

    /// Takes what a STUN server saw of the socket `base`, and returns the candidate to signal with its base as related
    /// address.
    ///
    /// It is never paired: what leaves from `base` is it (RFC 8445 §6.1.2.4).
    /// - Returns: nil when it says nothing new (RFC 8445 §5.1.3) or `base` is none of our sockets.
    public mutating func addServerReflexiveCandidate(
        mapped: SocketAddress, base: SocketAddress, now: Instant
    ) -> ICECandidate? {
        let mapped = mapped.unmapped
        let base = base.unmapped
        guard let host = localCandidates.first(where: { $0.address == base }), mapped != base.unzoned, mapped.port != 0,
            !mapped.ip.isUnspecified, !mapped.ip.isMulticast,
            !localCandidates.contains(where: { $0.address == mapped }),
            !serverReflexiveCandidates.contains(where: { $0.address == mapped && $0.relatedAddress == base }),
            serverReflexiveCandidates.count < ICELimits.serverReflexiveCandidates
        else {
            counters.candidatesIgnored += 1
            return nil
        }
        let candidate = ICECandidate(
            foundation: ICECandidate.foundation(.serverReflexive, base: base.ip),
            priority: ICECandidate.Kind.serverReflexive.preference << 24 | host.priority & 0x00FF_FFFF,
            address: mapped, kind: .serverReflexive, relatedAddress: base)
        serverReflexiveCandidates.append(candidate)
        return candidate
    }

    /// We have no more candidates: every socket is open and every STUN server has answered or been given up.
    ///
    /// With it, `ICEOutcome.hasNoCandidatePair` can be told early.
    public mutating func localEndOfCandidates() { hasLocalEndOfCandidates = true }

    // MARK: - The peer's

    /// Adds a candidate of the peer's, before or after `setRemote`. Only component 1 is used.
    ///
    /// It belongs to the generation its ufrag names (RFC 8838 §8.2), without one to the newest. One that names a
    /// generation we do not know waits for the answer of the newest, and is ignored when that is there already. A
    /// candidate that a check taught us already becomes what it is signalled to be (RFC 8445 §7.3.1.3): its pairs stay,
    /// with a new priority.
    public mutating func addRemoteCandidate(_ candidate: ICECandidate, now: Instant) {
        var candidate = candidate
        // A zone means something only on the host that names it (RFC 4007 §11.2).
        candidate.address = candidate.address.unmapped.unzoned
        guard candidate.component == 1, !candidate.address.ip.isUnspecified, !candidate.address.ip.isMulticast,
            candidate.address.port != 0, let generation = generation(of: candidate.ufrag)
        else {
            counters.candidatesIgnored += 1
            return
        }
        if let known = generations[generation].remoteCandidates.firstIndex(where: { $0.address == candidate.address }) {
            guard generations[generation].remoteCandidates[known].kind == .peerReflexive,
                candidate.kind != .peerReflexive
            else {
                counters.candidatesIgnored += 1
                return
            }
            generations[generation].remoteCandidates[known] = candidate
            for index in generations[generation].pairs.indices
            where generations[generation].pairs[index].path.remote.unzoned == candidate.address {
                generations[generation].pairs[index].prioritise(role: role, remotePriority: candidate.priority)
            }
        } else if generations[generation].remoteCandidates.count < ICELimits.remoteCandidates {
            generations[generation].remoteCandidates.append(candidate)
        } else {
            counters.candidatesIgnored += 1
            return
        }
        for local in localCandidates { addPair(local, candidate, in: generation, now: now) }
    }

    /// Adds a candidate as its attribute, `candidate:…`. What is not for us (`.local` names, TCP, what breaks the
    /// grammar) is counted in `candidateCounters` and nothing else.
    ///
    /// - Parameters:
    ///   - attribute: with or without `a=` and line end.
    ///   - ufrag: of the message it came in; one in the attribute goes first.
    ///   - now: the time of the call.
    public mutating func addRemoteCandidate(attribute: String, ufrag: String? = nil, now: Instant) {
        do throws(ICECandidateError) {
            var candidate = try ICECandidate(parsing: attribute)
            candidate.ufrag = candidate.ufrag ?? ufrag
            addRemoteCandidate(candidate, now: now)
        } catch {
            candidateCounters.count(error)
        }
    }

    /// The peer has no more candidates (RFC 8838 §14) in the generation that `ufrag` names; nil: in the newest.
    public mutating func remoteEndOfCandidates(ufrag: String? = nil, now: Instant) {
        guard let generation = generation(of: ufrag) else { return }
        generations[generation].hasEndOfCandidates = true
    }

    private func generation(of ufrag: String?) -> Int? {
        let newest = generations.count - 1
        guard let ufrag else { return newest }
        if let known = generations.lastIndex(where: { $0.isFrom(ufrag) }) { return known }
        return generations[newest].remote == nil ? newest : nil
    }

    // MARK: - Pairs

    /// Pairs two candidates if a datagram can go from one to the other (RFC 8445 §6.1.2.2).
    mutating func addPair(_ local: ICECandidate, _ other: ICECandidate, in generation: Int, now: Instant) {
        let here = local.address.ip
        var there = other.address.ip
        guard here.family == there.family, here.isLoopback == there.isLoopback, here.isLinkLocal == there.isLinkLocal
        else { return }
        if there.isLinkLocal, there.family == .v6 {
            there = IPAddress(v6High: there.high, low: there.low, zone: here.zone)
        }
        let path = NetworkPath(local: local.address, remote: SocketAddress(ip: there, port: other.address.port))
        guard generations[generation].index(of: path) == nil else { return }
        let pair = CandidatePair(
            id: nextPairID, path: path, localPriority: local.priority, remotePriority: other.priority, role: role,
            now: now)
        guard makeRoom(for: pair, in: generation, now: now) else {
            counters.pairsIgnored += 1
            return
        }
        nextPairID += 1
        generations[generation].pairs.append(pair)
        lastPairAddedAt = now
        isWarmPairStale = true
    }

    /// At the limit a new pair takes the place of the one without consent that was checked most, so that an address that
    /// came later is tried at all; before any check, of one with less priority (RFC 8445 §6.1.2.5).
    private mutating func makeRoom(for pair: CandidatePair, in generation: Int, now: Instant) -> Bool {
        guard generations[generation].pairs.count >= ICELimits.pairs else { return true }
        let pairs = generations[generation].pairs
        let victim = pairs.indices.filter {
            !pairs[$0].hasConsent(now: now, timing: timing) && pairs[$0].id != generations[generation].chosenID
        }.max { (pairs[$0].checksSent, pairs[$1].priority) < (pairs[$1].checksSent, pairs[$0].priority) }
        guard let victim, pairs[victim].checksSent > 0 || pairs[victim].priority < pair.priority else { return false }
        generations[generation].pairs.remove(at: victim)
        counters.pairsIgnored += 1
        return true
    }
}

/// What came as candidate text and was not taken; none ever falls.
public struct ICECandidateCounters: Hashable, Sendable {
    /// `.local` names: mDNS is not resolved (draft-ietf-mmusic-mdns-ice-candidates).
    public internal(set) var mdnsNames: UInt64 = 0
    /// Well-formed and of no use: TCP, other names, unknown types, addresses nothing can be sent to.
    public internal(set) var skipped: UInt64 = 0
    /// Broken grammar.
    public internal(set) var malformed: UInt64 = 0

    public init() {}

    mutating func count(_ error: ICECandidateError) {
        switch error {
        case .skip(.mdnsName): mdnsNames += 1
        case .skip: skipped += 1
        case .malformed: malformed += 1
        }
    }
}

extension IPAddress {
    /// The address without its zone, as it travels.
    var unzoned: IPAddress { zone == 0 ? self : IPAddress(v6High: high, low: low) }
}

extension SocketAddress {
    /// The address with an IPv4-mapped one taken as IPv4 (RFC 8445 §5.1.1.1).
    var unmapped: SocketAddress { SocketAddress(ip: ip.unmapped, port: port) }
    /// The address without its zone, as it travels.
    var unzoned: SocketAddress { SocketAddress(ip: ip.unzoned, port: port) }
}
