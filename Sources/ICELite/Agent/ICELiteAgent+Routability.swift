extension ICELiteAgent {
    // MARK: - Confirmation

    /// Whether something that was sent to `path` alone has come back: return routability is shown.
    public func isConfirmed(_ path: NetworkPath) -> Bool { index(of: path).map { tuples[$0].isConfirmed } ?? false }

    /// Something came back on `path` that only who receives there can know: the tuple is confirmed as by an echoed token.
    ///
    /// For a DTLS flight that answers one which was sent to `path` over UDP, and neither on the line nor to another tuple.
    /// An unknown path is ignored.
    public mutating func confirm(_ path: NetworkPath) {
        guard let index = index(of: path) else { return }
        if tuples[index].path == selectedPath { wasConfirmedByFlight = true }
        confirm(at: index)
    }

    mutating func confirm(at index: Int) {
        guard !tuples[index].isConfirmed else { return }
        tuples[index].isConfirmed = true
        let path = tuples[index].path
        if path == selectedPath {
            previousPath = nil
        } else if previousPath == nil, let selectedPath, !isConfirmed(selectedPath) {
            // Whoever replays a nomination from elsewhere before anything was confirmed must not have the call alone.
            previousPath = path
        }
        emit(.tupleConfirmed(path))
    }

    // MARK: - Sending

    /// Counts bytes of anything but STUN that was received on the tuple; an unknown path is ignored. O(8), does not
    /// allocate.
    public mutating func noteReceived(_ byteCount: Int, on path: NetworkPath) {
        if let index = index(of: path) { tuples[index].bytesReceived &+= byteCount }
    }

    /// Whether media and DTLS may go to `path` at all: to each confirmed tuple, and to one unconfirmed, which is the
    /// selected one once it is admitted. All other unconfirmed tuples get answers to their checks only, and are usable when
    /// they are confirmed or nominated. O(8), does not allocate.
    @inline(__always) public func mayUse(_ path: NetworkPath) -> Bool {
        index(of: path).map { mayUse(tuples[$0]) } ?? false
    }

    @inline(__always) private func mayUse(_ tuple: ICETuple) -> Bool {
        tuple.isConfirmed || tuple.path == selectedPath && tuple.admission == .granted
    }

    /// Decides on one packet of media or DTLS, and charges it to the tuple: call it for each, before it is sent.
    ///
    /// - Parameters:
    ///   - byteCount: bytes of the datagram, 0…65,535.
    ///   - path: where it goes.
    /// - Returns: false when the packet must not be sent, which is counted: `mayUse` says no, or the allowance of an
    ///   unconfirmed tuple (3 × received + 4 KB) has no room for it. O(8), does not allocate.
    public mutating func authorizeSend(byteCount: Int, to path: NetworkPath) -> Bool {
        if let index = index(of: path), mayUse(tuples[index]) {
            let reserve = wantsRoutabilityCheck(tuples[index]) ? ICELimits.routabilityCheckReserve : 0
            if tuples[index].charge(byteCount, reserve: reserve) { return true }
        }
        counters.sendsRefused += 1
        return false
    }

    /// Where media goes now; nil when nothing is selected or it may not be used yet. O(8), does not allocate.
    ///
    /// Both paths get each packet; the peer drops the second copy. `authorizeSend` is asked for each of them.
    @inline(__always) public var destinations: ICEDestinations? {
        guard let selectedPath else { return nil }
        if mayUse(selectedPath) { return ICEDestinations(first: selectedPath, second: previousPath) }
        return previousPath.map { ICEDestinations(first: $0, second: nil) }
    }

    /// `destinations`, read in place, as `readDeadline` is.
    package mutating func readDestinations() -> ICEDestinations? { destinations }

    // MARK: - Admission

    /// The unconfirmed tuple that is selected and waits for `settleAdmission`; nil without one.
    ///
    /// To be read after each `handle`: the owner asks the endpoint's `UnconfirmedDestinations` for its remote address.
    public var admissionWanted: NetworkPath? {
        guard let selectedPath, let index = index(of: selectedPath), !tuples[index].isConfirmed,
            tuples[index].admission == .unasked
        else { return nil }
        return selectedPath
    }

    /// Answers `admissionWanted`. A refused tuple gets answers only; it is asked for again with its next authenticated
    /// request. An unknown path is ignored.
    public mutating func settleAdmission(of path: NetworkPath, isAdmitted: Bool) {
        if let index = index(of: path) { tuples[index].admission = isAdmitted ? .granted : .refused }
    }
}

#if MUTANTS
extension ICELiteAgent {
    /// Sends to `path` from now on, whoever may be there.
    package mutating func moveWithoutCheck(to path: NetworkPath, now: Instant) {
        if index(of: path) == nil {
            tuples.append(
                ICETuple(
                    path: path, order: .max, token: 1, generation: current.number, lastRequestAt: now,
                    admission: .granted, isConfirmed: true))
        }
        selectedPath = path
    }
}
#endif
