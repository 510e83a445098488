package import ICELite

// What is recorded of the client's decisions: the inputs but those that change nothing, and the state.

extension ClientPolicy: RecordedMachine {
    package static var machine: FlightMachine { .clientPolicy }

    /// What it may be told.
    package enum Input: Sendable, Equatable {
        case start
        case helloSent
        case welcomed(WelcomePath)
        case pathChanged(PathEvidence)
        case heard(TransportKind)
        case acknowledged(epoch: Int, heard: Bool)
        case serverRequestedWebSocket(word: String)
        case hangUp
        case fail(String)
        case byeReceived(isFailure: Bool, message: String?)
        case lineRefused(String)
        case lineClosed
        case pathClosedByPeer
        case recoveryWindowEnded
        case timeout
        /// The newest frame on the line came at this instant; told before an input that it may matter to.
        case lineHeard(Instant)
    }

    package mutating func take(_ input: Input, now: Instant) {
        guard let recorder, changesSomething(input) else { return apply(input, now: now) }
        recorder.prepare(self, now: now)
        let before = effects.count
        let excusedBefore = excuse
        apply(input, now: now)
        // Most often nothing is due.
        if input == .timeout, effects.count == before, excuse == excusedBefore { return }
        if recordedLineHeardAt != lineHeardAt {
            recordedLineHeardAt = lineHeardAt
            recorder.note(.lineHeard(lineHeardAt), of: Self.self, effects: [], now: now)
        }
        recorder.note(input, of: Self.self, effects: effects[before...], now: now)
    }

    /// What comes with every packet or check changes something once only.
    private func changesSomething(_ input: Input) -> Bool {
        switch input {
        case .heard(let transport): self.transport == transport && selection?.weHeard == false
        case .acknowledged(let epoch, let heard):
            epoch == self.epoch && selection.map { !$0.acknowledged || heard && !$0.serverHeard } ?? false
        case .pathChanged(let evidence): callState != .active || evidence.failure != nil || evidence.isLost
        default: true
        }
    }

    private mutating func apply(_ input: Input, now: Instant) {
        switch input {
        case .start: applyStart(now: now)
        case .helloSent: applyHelloSent(now: now)
        case .welcomed(let path): applyWelcomed(path, now: now)
        case .pathChanged(let evidence): applyPathChanged(evidence, now: now)
        case .heard(let transport): applyHeard(on: transport, now: now)
        case .acknowledged(let epoch, let heard): applyAcknowledged(epoch: epoch, heard: heard, now: now)
        case .serverRequestedWebSocket(let word): applyServerRequestedWebSocket(word: word, now: now)
        case .hangUp: applyHangUp(now: now)
        case .fail(let message): applyFail(message, now: now)
        case .byeReceived(let isFailure, let message):
            applyByeReceived(isFailure: isFailure, message: message, now: now)
        case .lineRefused(let message): applyLineRefused(message)
        case .lineClosed: applyLineClosed(now: now)
        case .pathClosedByPeer: applyPathClosedByPeer(now: now)
        case .recoveryWindowEnded: applyRecoveryWindowEnded(now: now)
        case .timeout: applyTimeout(now: now)
        case .lineHeard(let at): lineHeardAt = at
        }
    }

    package func record(into writer: inout RecordWriter) {
        writer.word(wanted)
        for flag in [standard, hasMediaPath, recovery == .endCall] { writer.bool(flag) }
        limits.record(into: &writer)
        state.record(into: &writer)
        writer.instant(startedAt)
        for instant in [helloAt, lineLostAt, pathClosedAt] { writer.optional(instant) { $0.instant($1) } }
        writer.instant(judgedAt)
        writer.instant(excuse.until)
        evidence.record(into: &writer)
        writer.instant(lineHeardAt)
        writer.count(epoch)
        writer.optional(ending) { $1.record(into: &$0) }
    }

    package init(recorded reader: inout RecordReader) throws(RecordError) {
        let wanted: CallTransport = try reader.word()
        let standard = try reader.bool()
        let hasMediaPath = try reader.bool()
        let recovery: RecoveryPolicy = try reader.bool() ? .endCall : .continueOnWebSocket
        self.init(
            wanted: wanted, standard: standard, hasMediaPath: hasMediaPath, recovery: recovery,
            limits: try TransportLimits(recorded: &reader))
        state = try State(recorded: &reader)
        startedAt = try reader.instant()
        helloAt = try reader.optionalInstant()
        lineLostAt = try reader.optionalInstant()
        pathClosedAt = try reader.optionalInstant()
        judgedAt = try reader.instant()
        excuse = StandstillExcuse(until: try reader.instant())
        evidence = try PathEvidence(recorded: &reader)
        lineHeardAt = try reader.instant()
        epoch = try reader.count()
        ending = try reader.optional { reader throws(RecordError) in try Ending(recorded: &reader) }
    }
}

extension ClientPolicy.State: Recorded {
    package func record(into writer: inout RecordWriter) {
        switch self {
        case .idle: writer.byte(0)
        case .opening: writer.byte(1)
        case .negotiating: writer.byte(2)
        case .selected(let selection):
            writer.byte(3)
            selection.record(into: &writer)
        case .active(let selection):
            writer.byte(4)
            selection.record(into: &writer)
        case .ended: writer.byte(5)
        }
    }

    package init(recorded reader: inout RecordReader) throws(RecordError) {
        switch try reader.byte() {
        case 0: self = .idle
        case 1: self = .opening
        case 2: self = .negotiating
        case 3: self = .selected(try ClientPolicy.Selection(recorded: &reader))
        case 4: self = .active(try ClientPolicy.Selection(recorded: &reader))
        case 5: self = .ended
        default: throw .malformed
        }
    }
}

extension ClientPolicy.Selection: Recorded {
    package func record(into writer: inout RecordWriter) {
        writer.count(epoch)
        transport.record(into: &writer)
        writer.optional(fallback) { $1.record(into: &$0) }
        writer.instant(at)
        for flag in [acknowledged, sentTwice, weHeard, serverHeard] { writer.bool(flag) }
    }

    package init(recorded reader: inout RecordReader) throws(RecordError) {
        let epoch = try reader.count()
        let transport = try TransportKind(recorded: &reader)
        let fallback = try reader.fallback()
        self.init(epoch: epoch, transport: transport, fallback: fallback, at: try reader.instant())
        acknowledged = try reader.bool()
        sentTwice = try reader.bool()
        weHeard = try reader.bool()
        serverHeard = try reader.bool()
    }
}
