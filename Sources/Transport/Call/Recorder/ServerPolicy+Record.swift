package import ICELite

// What is recorded of the server's decisions: the inputs but those that change nothing, and the state.

extension ServerPolicy: RecordedMachine {
    package static var machine: FlightMachine { .serverPolicy }

    /// What it may be told.
    package enum Input: Sendable, Equatable {
        case upgraded
        case welcomed
        case select(epoch: Int, transport: TransportKind, fallback: TransportFallback?)
        case heard(TransportKind)
        case hangUp
        case fail(String)
        case goAway
        case byeReceived(isFailure: Bool, message: String?)
        case reject(CallRejection)
        case lineClosed(isPathLost: Bool)
        case recoveryWindowEnded
        case pathClosedByPeer
        case timeout
    }

    package mutating func take(_ input: Input, now: Instant) {
        guard let recorder, changesSomething(input) else { return apply(input, now: now) }
        recorder.prepare(self, now: now)
        let before = effects.count
        let excusedBefore = excuse
        apply(input, now: now)
        // Most often nothing is due.
        if input == .timeout, effects.count == before, excuse == excusedBefore { return }
        recorder.note(input, of: Self.self, effects: effects[before...], now: now)
    }

    /// What comes with every packet changes something once only.
    private func changesSomething(_ input: Input) -> Bool {
        guard case .heard(let transport) = input else { return true }
        return firstHeardAt == nil || self.transport == transport && selection?.heard == false
    }

    private mutating func apply(_ input: Input, now: Instant) {
        switch input {
        case .upgraded: applyUpgraded(now: now)
        case .welcomed: applyWelcomed(now: now)
        case .select(let epoch, let transport, let fallback):
            applySelect(epoch: epoch, transport: transport, fallback: fallback, now: now)
        case .heard(let transport): applyHeard(on: transport, now: now)
        case .hangUp: applyHangUp(now: now)
        case .fail(let message): applyFail(message, now: now)
        case .goAway: applyGoAway()
        case .byeReceived(let isFailure, let message):
            applyByeReceived(isFailure: isFailure, message: message, now: now)
        case .reject(let rejection): applyReject(rejection)
        case .lineClosed(let isPathLost): applyLineClosed(isPathLost: isPathLost, now: now)
        case .recoveryWindowEnded: applyRecoveryWindowEnded(now: now)
        case .pathClosedByPeer: applyPathClosedByPeer(now: now)
        case .timeout: applyTimeout(now: now)
        }
    }

    package func record(into writer: inout RecordWriter) {
        limits.record(into: &writer)
        writer.instant(openedAt)
        state.record(into: &writer)
        for instant in [lineLostAt, pathClosedAt, welcomedAt, upgradedAt, firstHeardAt] {
            writer.optional(instant) { $0.instant($1) }
        }
        writer.instant(excuse.until)
        writer.count(epoch)
        writer.count(staleSelects)
        writer.optional(ending) { $1.record(into: &$0) }
    }

    package init(recorded reader: inout RecordReader) throws(RecordError) {
        let limits = try TransportLimits(recorded: &reader)
        self.init(limits: limits, now: try reader.instant())
        state = try State(recorded: &reader)
        lineLostAt = try reader.optionalInstant()
        pathClosedAt = try reader.optionalInstant()
        welcomedAt = try reader.optionalInstant()
        upgradedAt = try reader.optionalInstant()
        firstHeardAt = try reader.optionalInstant()
        excuse = StandstillExcuse(until: try reader.instant())
        epoch = try reader.count()
        staleSelects = try reader.count()
        ending = try reader.optional { reader throws(RecordError) in
            try ClientPolicy.Ending(recorded: &reader)
        }
    }
}

extension ServerPolicy.State: Recorded {
    package func record(into writer: inout RecordWriter) {
        switch self {
        case .awaitingHello: writer.byte(0)
        case .welcomed(let at):
            writer.byte(1)
            writer.instant(at)
        case .selected(let selection):
            writer.byte(2)
            selection.record(into: &writer)
        case .active(let selection):
            writer.byte(3)
            selection.record(into: &writer)
        case .ended: writer.byte(4)
        }
    }

    package init(recorded reader: inout RecordReader) throws(RecordError) {
        switch try reader.byte() {
        case 0: self = .awaitingHello
        case 1: self = .welcomed(at: try reader.instant())
        case 2: self = .selected(try ServerPolicy.Selection(recorded: &reader))
        case 3: self = .active(try ServerPolicy.Selection(recorded: &reader))
        case 4: self = .ended
        default: throw .malformed
        }
    }
}

extension ServerPolicy.Selection: Recorded {
    package func record(into writer: inout RecordWriter) {
        transport.record(into: &writer)
        writer.optional(fallback) { $1.record(into: &$0) }
        writer.instant(at)
        writer.bool(heard)
    }

    package init(recorded reader: inout RecordReader) throws(RecordError) {
        let transport = try TransportKind(recorded: &reader)
        let fallback = try reader.fallback()
        self.init(transport: transport, fallback: fallback, at: try reader.instant())
        heard = try reader.bool()
    }
}
