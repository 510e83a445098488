package import ICELite

extension VirtualNetwork {
    /// Bytes that travel as one segment.
    package static let segmentSize = 1_460
    /// Bytes a line accepts before they are acknowledged, unless told otherwise.
    package static let defaultSendBuffer = 256 * 1_024
    /// Lines a network opens in its life.
    package static let maximumLines = 4_096

    // MARK: - Opening and closing

    /// Opens a byte stream from `host` to `peer`. `up` is what `host` sends, `down` what it receives.
    ///
    /// `peer` learns of it after one and a half round trips, `host` after one: TCP's handshake. If an `up` or `down`
    /// cannot be reached, nothing happens (`.drop`) or `host` is told `.rst` (`.reject`).
    package func openLine(
        from host: HostID, to peer: HostID, up: LinkModel = LinkModel(), down: LinkModel = LinkModel(),
        sendBuffer: Int = VirtualNetwork.defaultSendBuffer, unsentLimit: Int = .max
    ) -> LineID {
        precondition(lines.count < Self.maximumLines, "too many lines for one network")
        let id = LineID(index: lines.count)
        let direction = { (model: LinkModel, name: String) in
            VirtualLine.Direction(
                state: StreamState(
                    model: model, start: self.now, randomness: self.simulator.randomness(for: "line\(id.index).\(name)")
                ))
        }
        lines.append(
            VirtualLine(
                id: id, ends: (host, peer), directions: (direction(up, "up"), direction(down, "down")),
                sendBuffer: max(1, sendBuffer), unsentLimit: max(1, unsentLimit)))
        handshake(id)
        return id
    }

    private func handshake(_ id: LineID) {
        let roundTrip = lines[id.index].roundTrip
        if up(id).model.reachability == .reject || down(id).model.reachability == .reject {
            tell(id, side: 0, .rst, at: now + roundTrip)
            return
        }
        guard let syn = sendSegment(id, side: 0, byteCount: 0, at: now)?.arrival,
            let answer = sendSegment(id, side: 1, byteCount: 0, at: syn)?.arrival
        else { return }
        later(at: answer, .step { $0.answered(id) })
    }

    /// The answer to the opener is there; its acknowledgement opens the other end.
    private func answered(_ id: LineID) {
        guard lines[id.index].phase == .opening, !lines[id.index].isSilent else { return }
        lines[id.index].phase = .open
        let acknowledged = sendSegment(id, side: 0, byteCount: 0, at: now)?.arrival
        deliver(to: lines[id.index].ends.0) { $0.lineOpened(id, now: now) }
        guard let acknowledged else { return }
        later(
            at: acknowledged,
            .step { network in
                guard network.isLineOpen(id) else { return }
                network.deliver(to: network.lines[id.index].ends.1) { $0.lineOpened(id, now: network.now) }
            })
    }

    private func up(_ id: LineID) -> StreamState { lines[id.index].directions.0.state }
    private func down(_ id: LineID) -> StreamState { lines[id.index].directions.1.state }

    /// Changes the two directions of a line: their models, an outage, a hold.
    package func changeLine(_ id: LineID, _ change: (_ up: inout StreamState, _ down: inout StreamState) -> Void) {
        var (up, down) = (up(id), down(id))
        change(&up, &down)
        (lines[id.index].directions.0.state, lines[id.index].directions.1.state) = (up, down)
    }

    /// When all that was sent in one direction has arrived; nil where nothing arrives any more.
    package func lastArrival(on id: LineID, isUp: Bool) -> Instant? {
        // Each by itself: a direction that is read as a whole is copied.
        if isUp {
            return lines[id.index].directions.0.state.isDead ? nil : lines[id.index].directions.0.state.lastArrival
        }
        return lines[id.index].directions.1.state.isDead ? nil : lines[id.index].directions.1.state.lastArrival
    }

    /// Whether bytes of the line still get through, `up` from who opened it.
    package func isLineOpen(_ id: LineID) -> Bool {
        lines[id.index].phase == .open && !lines[id.index].isSilent
    }

    /// `host` closes its end: with `.fin` the peer gets what was written first, with `.rst` it does not.
    package func close(_ id: LineID, from host: HostID, with cut: LineCut = .fin) {
        guard let side = lines[id.index].side(of: host), lines[id.index].phase != .closed,
            !lines[id.index][side].isEnded
        else { return }
        lines[id.index][side].isEnded = true
        if lines[id.index].isSilent { return }
        switch cut {
        case .fin:
            guard let arrival = sendSegment(id, side: side, byteCount: 0, at: now)?.arrival else { return }
            tell(id, side: 1 - side, .fin, at: arrival)
        case .rst:
            lines[id.index].phase = .closed
            tell(id, side: 1 - side, .rst, at: now + lines[id.index][side].state.delay)
        case .silent: lines[id.index].isSilent = true
        }
    }

    /// Something on the way cuts the line: both ends are told at once, or neither with `.silent`.
    package func cutLine(_ id: LineID, with cut: LineCut) {
        guard lines[id.index].phase != .closed, !lines[id.index].isSilent else { return }
        switch cut {
        case .fin:
            let ends = lines[id.index].ends
            close(id, from: ends.0)
            close(id, from: ends.1)
        case .rst:
            lines[id.index].phase = .closed
            tell(id, side: 0, .rst, at: now)
            tell(id, side: 1, .rst, at: now)
        case .silent: lines[id.index].isSilent = true
        }
    }

    private func tell(_ id: LineID, side: Int, _ cut: LineCut, at time: Instant) {
        later(at: time, .step { $0.told(id, side: side, cut) })
    }

    private func told(_ id: LineID, side: Int, _ cut: LineCut) {
        guard !lines[id.index].isSilent else { return }
        if cut == .fin {
            guard lines[id.index].phase != .closed else { return }
            if lines[id.index][side].isEnded { lines[id.index].phase = .closed }
        } else {
            lines[id.index].phase = .closed
        }
        deliver(to: lines[id.index].peer(of: 1 - side)) { $0.lineClosed(id, by: cut, now: now) }
    }

    // MARK: - Bytes

    /// Writes bytes of `host` to a line and returns how many were accepted: fewer than given when the send buffer is
    /// full, in which case `lineWritable` follows; 0 when the line is not open.
    package func write(_ bytes: [UInt8], to id: LineID, from host: HostID) -> Int {
        guard let side = lines[id.index].side(of: host), lines[id.index].phase == .open,
            !lines[id.index][side].isEnded
        else { return 0 }
        var room = lines[id.index].sendBuffer - lines[id.index][side].unacknowledged
        if lines[id.index].unsentLimit < .max {
            room = min(room, lines[id.index].unsentLimit - backlog(of: id, from: host).unsent)
        }
        let accepted = min(max(0, room), bytes.count)
        if accepted < bytes.count {
            lines[id.index][side].wantsRoom = true
            if lines[id.index].unsentLimit < .max { tellOfDeparture(id, side: side) }
        }
        lines[id.index][side].unacknowledged += accepted
        simulator.record(UInt64(accepted) << 16 | UInt64(truncatingIfNeeded: id.index))
        var begin = 0
        while begin < accepted {
            let end = min(begin + Self.segmentSize, accepted)
            transmit(Array(bytes[begin..<end]), on: id, side: side)
            begin = end
        }
        return accepted
    }

    /// What the kernel of `host` would say of the bytes that it wrote to the line.
    package func backlog(of id: LineID, from host: HostID) -> LineBacklog {
        guard let side = lines[id.index].side(of: host) else { return LineBacklog(unsent: 0, unacknowledged: 0) }
        dropDeparted(id, side: side)
        let direction = lines[id.index][side]
        return LineBacklog(
            unsent: direction.leaving.reduce(0) { $0 + $1.byteCount }, unacknowledged: direction.unacknowledged)
    }

    /// There is room again when what waits for the rate has left, not only when it is acknowledged.
    private func tellOfDeparture(_ id: LineID, side: Int) {
        guard let next = lines[id.index][side].leaving.first else { return }
        later(at: next.departure, .step { $0.giveRoom(id, side: side) })
    }

    private func giveRoom(_ id: LineID, side: Int) {
        guard lines[id.index].phase == .open, !lines[id.index].isSilent, lines[id.index][side].wantsRoom else { return }
        lines[id.index][side].wantsRoom = false
        deliver(to: lines[id.index].peer(of: 1 - side)) { $0.lineWritable(id, now: self.now) }
    }

    private func dropDeparted(_ id: LineID, side: Int) {
        let now = now
        lines[id.index][side].leaving.removeAll { $0.departure <= now }
    }

    private func transmit(_ segment: [UInt8], on id: LineID, side: Int) {
        // On a line that was cut silently the bytes stay in the send buffer for good.
        guard !lines[id.index].isSilent, let sent = sendSegment(id, side: side, byteCount: segment.count, at: now)
        else { return }
        if sent.departure > now {
            dropDeparted(id, side: side)
            lines[id.index][side].leaving.append((sent.departure, segment.count))
        }
        later(at: sent.arrival, .segment(segment, id, side: side))
    }

    /// A segment that `side` has sent is at the other end.
    func arrive(_ segment: [UInt8], on id: LineID, side: Int) {
        guard isLineOpen(id) else { return }
        let back = lines[id.index][1 - side].state.delay
        later(at: now + back, .acknowledgement(segment.count, id, side: side))
        let receiver = lines[id.index].peer(of: side)
        deliver(to: receiver) { $0.receive(streamBytes: segment, line: id, now: now) }
    }

    /// The bytes that `side` has sent are known to have arrived.
    func acknowledge(_ byteCount: Int, on id: LineID, side: Int) {
        guard lines[id.index].phase == .open, !lines[id.index].isSilent else { return }
        lines[id.index][side].unacknowledged -= byteCount
        giveRoom(id, side: side)
    }

    private func sendSegment(
        _ id: LineID, side: Int, byteCount: Int, at time: Instant
    ) -> (departure: Instant, arrival: Instant)? {
        let roundTrip = lines[id.index].roundTrip
        return lines[id.index][side].state.send(byteCount: byteCount, roundTrip: roundTrip, now: time)
    }
}
