package import ICELite

/// What can be written into a flight recording and read from it again.
package protocol Recorded {
    /// Writes all of it that a replay needs.
    func record(into writer: inout RecordWriter)
    /// Reads it again.
    init(recorded reader: inout RecordReader) throws(RecordError)
}

/// A machine that decides and whose decisions a recording keeps.
package protocol RecordedMachine: Recorded {
    associatedtype Input: Recorded & Sendable
    associatedtype Effect: Recorded & Sendable

    /// Which one it is.
    static var machine: FlightMachine { get }
    /// Takes an input, as its own methods do.
    mutating func take(_ input: Input, now: Instant)
    /// The next effect; nil when there is none.
    mutating func pollEffect() -> Effect?
    /// When it wants to be called.
    var nextDeadline: Instant { get }
}

/// The machines of a recording. `rawValue` is their number in it.
package enum FlightMachine: UInt8, Sendable, CaseIterable {
    case clientPolicy
    case serverPolicy
    case recovery
}

extension TransportKind: Recorded {
    package func record(into writer: inout RecordWriter) { writer.bool(self == .webrtc) }

    package init(recorded reader: inout RecordReader) throws(RecordError) {
        self = try reader.bool() ? .webrtc : .websocket
    }
}

extension TransportFallback: Recorded {
    package func record(into writer: inout RecordWriter) {
        let place = TransportFallbackReason.known.firstIndex(of: reason)
        writer.byte(UInt8(clamping: place ?? TransportFallbackReason.known.count))
        if case .unknown(let word) = reason { writer.text(word) }
        writer.word(stage)
        writer.duration(elapsed)
        writer.text(detail)
    }

    package init(recorded reader: inout RecordReader) throws(RecordError) {
        let place = Int(try reader.byte())
        let known = TransportFallbackReason.known
        guard place <= known.count else { throw .malformed }
        let reason: TransportFallbackReason = place < known.count ? known[place] : .unknown(try reader.text())
        self.init(reason: reason, stage: try reader.word(), elapsed: try reader.duration(), detail: try reader.text())
    }
}

extension CallOutcome: Recorded {
    package func record(into writer: inout RecordWriter) {
        switch self {
        case .ended(.local): writer.byte(0)
        case .ended(.remote): writer.byte(1)
        case .ended(.failed(let message)):
            writer.byte(2)
            writer.text(message)
        case .failed(let message):
            writer.byte(3)
            writer.text(message)
        }
    }

    package init(recorded reader: inout RecordReader) throws(RecordError) {
        switch try reader.byte() {
        case 0: self = .ended(.local)
        case 1: self = .ended(.remote)
        case 2: self = .ended(.failed(message: try reader.text()))
        case 3: self = .failed(message: try reader.text())
        default: throw .malformed
        }
    }
}

extension TransportLimits: Recorded {
    /// Those that decide; sizes do not.
    private static var recorded: [WritableKeyPath<TransportLimits, Duration>] {
        [
            \.lineBudget, \.mediaPathBudget, \.connectingBudget, \.webSocketActiveBudget, \.checkPatience,
            \.handshakePatience, \.mediaPatience, \.uplinkPatience, \.lineHealthy, \.upgradeTimeout, \.helloTimeout,
            \.selectTimeout, \.selectResend, \.recoveryWindow, \.lineCarries, \.lineLostLimit, \.closedCarriageGrace,
        ]
    }

    package func record(into writer: inout RecordWriter) {
        for limit in Self.recorded { writer.duration(self[keyPath: limit]) }
        writer.count(handshakePatienceRoundTrips)
    }

    package init(recorded reader: inout RecordReader) throws(RecordError) {
        self.init()
        for limit in Self.recorded { self[keyPath: limit] = try reader.duration() }
        handshakePatienceRoundTrips = try reader.count(upTo: 1_000)
    }
}

extension PathEvidence: Recorded {
    package func record(into writer: inout RecordWriter) {
        writer.count(localCandidates)
        writer.count(pairs)
        for flag in [remoteIsComplete, localIsComplete, onlyErrorResponses, isLost] { writer.bool(flag) }
        writer.count(checksSent)
        for instant in [lastPairAt, firstCheckAt, firstAnswerAt, lastHandshakeProgressAt, keysAt, firstMediaAt] {
            writer.optional(instant) { $0.instant($1) }
        }
        // Names who refused: not kept.
        writer.optional(everyPairRefused) { $0.text($1) }
        writer.optional(roundTrip) { $0.nanoseconds($1) }
        writer.optional(failure) { $1.record(into: &$0) }
    }

    package init(recorded reader: inout RecordReader) throws(RecordError) {
        self.init()
        localCandidates = try reader.count()
        pairs = try reader.count()
        remoteIsComplete = try reader.bool()
        localIsComplete = try reader.bool()
        onlyErrorResponses = try reader.bool()
        isLost = try reader.bool()
        checksSent = try reader.count()
        lastPairAt = try reader.optionalInstant()
        firstCheckAt = try reader.optionalInstant()
        firstAnswerAt = try reader.optionalInstant()
        lastHandshakeProgressAt = try reader.optionalInstant()
        keysAt = try reader.optionalInstant()
        firstMediaAt = try reader.optionalInstant()
        everyPairRefused = try reader.optional { reader throws(RecordError) in try reader.text() }
        roundTrip = try reader.optional { reader throws(RecordError) in try reader.nanoseconds() }
        // Eight of them and more are added up.
        if let roundTrip, !(0...RecordReader.longestTime >> 10).contains(roundTrip) { throw .malformed }
        failure = try reader.optional { reader throws(RecordError) in try Failure(recorded: &reader) }
    }
}

extension PathEvidence.Failure: Recorded {
    package func record(into writer: inout RecordWriter) {
        switch self {
        case .alert(let number):
            writer.byte(0)
            writer.byte(number)
        case .handshake(let words):
            writer.byte(1)
            writer.text(words)
        case .fingerprintMismatch: writer.byte(2)
        case .noSRTPProfile: writer.byte(3)
        case .srtp(let words):
            writer.byte(4)
            writer.text(words)
        }
    }

    package init(recorded reader: inout RecordReader) throws(RecordError) {
        switch try reader.byte() {
        case 0: self = .alert(try reader.byte())
        case 1: self = .handshake(try reader.text())
        case 2: self = .fingerprintMismatch
        case 3: self = .noSRTPProfile
        case 4: self = .srtp(try reader.text())
        default: throw .malformed
        }
    }
}

extension ClientPolicy.Ending: Recorded {
    package func record(into writer: inout RecordWriter) {
        transport.record(into: &writer)
        writer.optional(fallback) { $1.record(into: &$0) }
    }

    package init(recorded reader: inout RecordReader) throws(RecordError) {
        let transport = try TransportKind(recorded: &reader)
        self.init(transport: transport, fallback: try reader.fallback())
    }
}

extension RecordReader {
    mutating func fallback() throws(RecordError) -> TransportFallback? {
        try optional { reader throws(RecordError) in try TransportFallback(recorded: &reader) }
    }

    mutating func optionalInstant() throws(RecordError) -> Instant? {
        try optional { reader throws(RecordError) in try reader.instant() }
    }
}
