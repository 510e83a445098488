/// ICE restart (RFC 8445 §9): two generations of credentials side by side, DTLS and SRTP untouched.
extension ICELiteAgent {
    /// Our credentials that the answer of the newest generation carries.
    public var credentials: ICECredentials { (pending ?? current).credentials }

    /// A restart is outstanding: none of its checks has selected a tuple yet.
    public var isRestarting: Bool { pending != nil }

    /// Our ufrags that requests are answered for, one or two: the one in use, and an outstanding restart's or the one it
    /// has replaced within `ICELimits.retiredGenerationKept` (5 s). The endpoint routes datagrams by them: it takes them
    /// from here after `restart` and drops each that `ufragForgotten` names. Allocates.
    public var localUfrags: [String] {
        [current, pending ?? retired?.generation].compactMap { $0?.credentials.ufrag }
    }

    /// Takes the peer's credentials of the newest generation when they come after ours.
    public mutating func setPeer(credentials: ICECredentials) {
        if pending != nil { pending?.setPeer(credentials) } else { current.setPeer(credentials) }
    }

    /// Begins a restart: from now on both generations are answered, each by its own ufrag and password.
    ///
    /// Tuples, media and nomination stay as they are until the first check with the new credentials selects (any
    /// nomination, on whatever tuple, the selected one included; any check when nothing is selected). That retires the old
    /// credentials: they are answered for 5 s more and select nothing. At most one restart is outstanding: a second one
    /// replaces it, and what a completed one has retired is forgotten at once.
    ///
    /// - Parameters:
    ///   - credentials: new ones of ours, with a ufrag that is in no use.
    ///   - peerCredentials: the offer's; nil while unknown.
    ///   - now: the time of the call.
    public mutating func restart(credentials: ICECredentials, peerCredentials: ICECredentials?, now: Instant) {
        guard !isEnded else { return }
        handleTimeout(now: now)
        forgetRetired()
        let number = (pending ?? current).number &+ 1
        if let replaced = pending {
            // Its tuples have proved to know a password of ours: they stay, as the current generation's.
            for index in tuples.indices { tuples[index].generation = min(tuples[index].generation, current.number) }
            emit(.ufragForgotten(replaced.credentials.ufrag))
        }
        pending = ICEGeneration(number, credentials: credentials, peerCredentials: peerCredentials)
    }

    /// The outstanding restart takes over; the caller makes its generation the current one.
    mutating func retireCurrent(now: Instant) {
        retired = (current, now + ICELimits.retiredGenerationKept)
        pending = nil
        counters.restarts += 1
        emit(.restartCompleted)
    }

    /// Forgets the credentials that a restart has replaced, and the tuples that only they have used.
    mutating func forgetRetired() {
        guard let forgotten = retired?.generation else { return }
        retired = nil
        removeTuples { [selectedPath, previousPath] in
            $0.generation <= forgotten.number && $0.path != selectedPath && $0.path != previousPath
        }
        emit(.ufragForgotten(forgotten.credentials.ufrag))
    }

    /// The generation whose ufrag is the first half of the request's USERNAME.
    func generation(addressedBy message: borrowing STUNMessage) -> ICEGeneration? {
        if message.isAddressed(to: current.localUfrag, from: nil) { return current }
        guard let other = pending ?? retired?.generation, message.isAddressed(to: other.localUfrag, from: nil) else {
            return nil
        }
        return other
    }

    /// Counts a request to `generation` that names no ufrag the peer has signalled, once one is known.
    mutating func noteForeignUsername(_ message: borrowing STUNMessage, to generation: ICEGeneration) {
        for candidate in [current, pending, retired?.generation] {
            guard let candidate else { continue }
            guard let remote = candidate.remoteUfrag else { return }
            if message.isAddressed(to: generation.localUfrag, from: remote) { return }
        }
        counters.foreignUsernames += 1
    }
}
