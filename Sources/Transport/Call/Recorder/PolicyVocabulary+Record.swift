// The inputs and effects of both policies in a recording.

extension ClientPolicy.WelcomePath: Recorded {
    package func record(into writer: inout RecordWriter) {
        switch self {
        case .answer: writer.byte(0)
        case .none: writer.byte(1)
        case .standard: writer.byte(2)
        case .declined(let word, let detail):
            writer.byte(3)
            writer.text(word)
            writer.optional(detail) { $0.text($1) }
        case .unusable(let why):
            writer.byte(4)
            writer.text(why)
        }
    }

    package init(recorded reader: inout RecordReader) throws(RecordError) {
        switch try reader.byte() {
        case 0: self = .answer
        case 1: self = .none
        case 2: self = .standard
        case 3:
            let word = try reader.text()
            self = .declined(word: word, detail: try reader.optionalText())
        case 4: self = .unusable(try reader.text())
        default: throw .malformed
        }
    }
}

extension ClientPolicy.Input: Recorded {
    package func record(into writer: inout RecordWriter) {
        switch self {
        case .start: writer.byte(0)
        case .helloSent: writer.byte(1)
        case .welcomed(let path):
            writer.byte(2)
            path.record(into: &writer)
        case .pathChanged(let evidence):
            writer.byte(3)
            evidence.record(into: &writer)
        case .heard(let transport):
            writer.byte(4)
            transport.record(into: &writer)
        case .acknowledged(let epoch, let heard):
            writer.byte(5)
            writer.count(epoch)
            writer.bool(heard)
        case .serverRequestedWebSocket(let word):
            writer.byte(6)
            writer.text(word)
        case .hangUp: writer.byte(7)
        case .fail(let message):
            writer.byte(8)
            writer.text(message)
        case .byeReceived(let isFailure, let message):
            writer.byte(9)
            writer.bool(isFailure)
            writer.optional(message) { $0.text($1) }
        case .lineRefused(let message):
            writer.byte(10)
            writer.text(message)
        case .lineClosed: writer.byte(11)
        case .pathClosedByPeer: writer.byte(12)
        case .recoveryWindowEnded: writer.byte(13)
        case .timeout: writer.byte(14)
        case .lineHeard(let at):
            writer.byte(15)
            writer.instant(at)
        }
    }

    package init(recorded reader: inout RecordReader) throws(RecordError) {
        switch try reader.byte() {
        case 0: self = .start
        case 1: self = .helloSent
        case 2: self = .welcomed(try ClientPolicy.WelcomePath(recorded: &reader))
        case 3: self = .pathChanged(try PathEvidence(recorded: &reader))
        case 4: self = .heard(try TransportKind(recorded: &reader))
        case 5:
            let epoch = try reader.count()
            self = .acknowledged(epoch: epoch, heard: try reader.bool())
        case 6: self = .serverRequestedWebSocket(word: try reader.text())
        case 7: self = .hangUp
        case 8: self = .fail(try reader.text())
        case 9:
            let isFailure = try reader.bool()
            self = .byeReceived(isFailure: isFailure, message: try reader.optionalText())
        case 10: self = .lineRefused(try reader.text())
        case 11: self = .lineClosed
        case 12: self = .pathClosedByPeer
        case 13: self = .recoveryWindowEnded
        case 14: self = .timeout
        case 15: self = .lineHeard(try reader.instant())
        default: throw .malformed
        }
    }
}

extension ClientPolicy.Effect: Recorded {
    package func record(into writer: inout RecordWriter) {
        switch self {
        case .select(let epoch, let transport, let fallback, let isRepeat):
            writer.byte(0)
            writer.count(epoch)
            transport.record(into: &writer)
            writer.optional(fallback) { $1.record(into: &$0) }
            writer.bool(isRepeat)
        case .closePath: writer.byte(1)
        case .activated(let transport):
            writer.byte(2)
            transport.record(into: &writer)
        case .transportChanged(let from, let to, let fallback):
            writer.byte(3)
            from.record(into: &writer)
            to.record(into: &writer)
            fallback.record(into: &writer)
        case .ended(let outcome, let bye):
            writer.byte(4)
            outcome.record(into: &writer)
            writer.optional(bye) { $1.record(into: &$0) }
        }
    }

    package init(recorded reader: inout RecordReader) throws(RecordError) {
        switch try reader.byte() {
        case 0:
            let epoch = try reader.count()
            let transport = try TransportKind(recorded: &reader)
            let fallback = try reader.fallback()
            self = .select(epoch: epoch, transport: transport, fallback: fallback, isRepeat: try reader.bool())
        case 1: self = .closePath
        case 2: self = .activated(try TransportKind(recorded: &reader))
        case 3:
            let from = try TransportKind(recorded: &reader)
            let to = try TransportKind(recorded: &reader)
            self = .transportChanged(from: from, to: to, try TransportFallback(recorded: &reader))
        case 4:
            let outcome = try CallOutcome(recorded: &reader)
            self = .ended(
                outcome,
                bye: try reader.optional { reader throws(RecordError) in
                    try ClientPolicy.Bye(recorded: &reader)
                })
        default: throw .malformed
        }
    }
}

extension ClientPolicy.Bye: Recorded {
    package func record(into writer: inout RecordWriter) {
        writer.bool(self == .client)
        if case .failure(let message) = self { writer.text(message) }
    }

    package init(recorded reader: inout RecordReader) throws(RecordError) {
        self = try reader.bool() ? .client : .failure(try reader.text())
    }
}

extension ServerPolicy.Input: Recorded {
    package func record(into writer: inout RecordWriter) {
        switch self {
        case .upgraded: writer.byte(0)
        case .welcomed: writer.byte(1)
        case .select(let epoch, let transport, let fallback):
            writer.byte(2)
            writer.count(epoch)
            transport.record(into: &writer)
            writer.optional(fallback) { $1.record(into: &$0) }
        case .heard(let transport):
            writer.byte(3)
            transport.record(into: &writer)
        case .hangUp: writer.byte(4)
        case .fail(let message):
            writer.byte(5)
            writer.text(message)
        case .goAway: writer.byte(6)
        case .byeReceived(let isFailure, let message):
            writer.byte(7)
            writer.bool(isFailure)
            writer.optional(message) { $0.text($1) }
        case .reject(let rejection):
            writer.byte(8)
            rejection.record(into: &writer)
        case .lineClosed(let isPathLost):
            writer.byte(9)
            writer.bool(isPathLost)
        case .recoveryWindowEnded: writer.byte(10)
        case .pathClosedByPeer: writer.byte(11)
        case .timeout: writer.byte(12)
        }
    }

    package init(recorded reader: inout RecordReader) throws(RecordError) {
        switch try reader.byte() {
        case 0: self = .upgraded
        case 1: self = .welcomed
        case 2:
            let epoch = try reader.count()
            let transport = try TransportKind(recorded: &reader)
            self = .select(epoch: epoch, transport: transport, fallback: try reader.fallback())
        case 3: self = .heard(try TransportKind(recorded: &reader))
        case 4: self = .hangUp
        case 5: self = .fail(try reader.text())
        case 6: self = .goAway
        case 7:
            let isFailure = try reader.bool()
            self = .byeReceived(isFailure: isFailure, message: try reader.optionalText())
        case 8: self = .reject(try CallRejection(recorded: &reader))
        case 9: self = .lineClosed(isPathLost: try reader.bool())
        case 10: self = .recoveryWindowEnded
        case 11: self = .pathClosedByPeer
        case 12: self = .timeout
        default: throw .malformed
        }
    }
}

extension ServerPolicy.Effect: Recorded {
    package func record(into writer: inout RecordWriter) {
        switch self {
        case .selected(let epoch, let heard):
            writer.byte(0)
            writer.count(epoch)
            writer.bool(heard)
        case .closePath: writer.byte(1)
        case .activated(let transport):
            writer.byte(2)
            transport.record(into: &writer)
        case .transportChanged(let from, let to, let fallback):
            writer.byte(3)
            from.record(into: &writer)
            to.record(into: &writer)
            writer.optional(fallback) { $1.record(into: &$0) }
        case .reject(let rejection):
            writer.byte(4)
            rejection.record(into: &writer)
        case .ended(let outcome, let bye):
            writer.byte(5)
            outcome.record(into: &writer)
            writer.optional(bye) { $1.record(into: &$0) }
        }
    }

    package init(recorded reader: inout RecordReader) throws(RecordError) {
        switch try reader.byte() {
        case 0:
            let epoch = try reader.count()
            self = .selected(epoch: epoch, heard: try reader.bool())
        case 1: self = .closePath
        case 2: self = .activated(try TransportKind(recorded: &reader))
        case 3:
            let from = try TransportKind(recorded: &reader)
            let to = try TransportKind(recorded: &reader)
            self = .transportChanged(from: from, to: to, try reader.fallback())
        case 4: self = .reject(try CallRejection(recorded: &reader))
        case 5:
            let outcome = try CallOutcome(recorded: &reader)
            self = .ended(
                outcome,
                bye: try reader.optional { reader throws(RecordError) in
                    try ServerPolicy.Bye(recorded: &reader)
                })
        default: throw .malformed
        }
    }
}

extension ServerPolicy.Bye: Recorded {
    package func record(into writer: inout RecordWriter) {
        switch self {
        case .server: writer.byte(0)
        case .goingAway: writer.byte(1)
        case .failure(let message):
            writer.byte(2)
            writer.text(message)
        }
    }

    package init(recorded reader: inout RecordReader) throws(RecordError) {
        switch try reader.byte() {
        case 0: self = .server
        case 1: self = .goingAway
        case 2: self = .failure(try reader.text())
        default: throw .malformed
        }
    }
}

extension CallRejection: Recorded {
    package func record(into writer: inout RecordWriter) {
        switch self {
        case .badMessage(let what):
            writer.byte(0)
            writer.text(what)
        case .badOrder(let what):
            writer.byte(1)
            writer.text(what)
        case .badVersion: writer.byte(2)
        case .noCommonCodec: writer.byte(3)
        case .helloTimeout: writer.byte(4)
        case .callExists: writer.byte(5)
        case .unavailable: writer.byte(6)
        }
    }

    package init(recorded reader: inout RecordReader) throws(RecordError) {
        switch try reader.byte() {
        case 0: self = .badMessage(try reader.text())
        case 1: self = .badOrder(try reader.text())
        case 2: self = .badVersion
        case 3: self = .noCommonCodec
        case 4: self = .helloTimeout
        case 5: self = .callExists
        case 6: self = .unavailable
        default: throw .malformed
        }
    }
}

extension RecordReader {
    mutating func optionalText() throws(RecordError) -> String? {
        try optional { reader throws(RecordError) in try reader.text() }
    }
}
