internal import ICELite

// The parts of `PathRecovery` and their state in a recording.

extension PathLiveness: Recorded {
    package func record(into writer: inout RecordWriter) {
        writer.optional(peerInterval) { $0.nanoseconds($1) }
        writer.byte(UInt8(slice))
        writer.instant(sliceEndsAt)
        writer.nanoseconds(jitter)
        writer.optional(lastGap) { $0.nanoseconds($1) }
        writer.nanoseconds(percentile)
        writer.instant(doubledUntil)
        writer.instant(lastHeardAt)
        // Most bins are empty.
        writer.count(bins.count { $0 > 0 })
        var next = 0
        for (place, count) in bins.enumerated() where count > 0 {
            writer.count(place - next)
            writer.varint(UInt64(count))
            next = place + 1
        }
    }

    package init(recorded reader: inout RecordReader) throws(RecordError) {
        let peerInterval = try reader.optional { reader throws(RecordError) in try reader.nanoseconds() }
        self.init(peerInterval: peerInterval, now: .zero)
        slice = Int(try reader.byte())
        guard slice < Self.sliceCount else { throw .malformed }
        sliceEndsAt = try reader.instant()
        jitter = try reader.nanoseconds()
        lastGap = try reader.optional { reader throws(RecordError) in try reader.nanoseconds() }
        percentile = try reader.nanoseconds()
        doubledUntil = try reader.instant()
        lastHeardAt = try reader.instant()
        guard jitter >= 0, percentile >= 0, (lastGap ?? 0) >= 0, sliceEndsAt != .never, lastHeardAt != .never else {
            throw .malformed
        }
        var place = 0
        for _ in 0..<(try reader.count(upTo: bins.count)) {
            place += try reader.count(upTo: bins.count)
            guard place < bins.count else { throw .malformed }
            add(try reader.count(upTo: Int(UInt16.max)), at: place)
            place += 1
        }
    }

    private mutating func add(_ count: Int, at place: Int) {
        bins[place] = UInt16(count)
        totals[place % Self.binCount] += UInt32(count)
        total += UInt32(count)
    }
}

extension PathRecovery.Current: Recorded {
    package func record(into writer: inout RecordWriter) {
        writer.instant(brokenAt)
        writer.nanoseconds(used)
        writer.optional(steadySince) { $0.instant($1) }
        for instant in [repairedAt, answeredAt] { writer.optional(instant) { $0.instant($1) } }
        for flag in [
            isPeers, isOneWay, hasFreshSockets, isWindowOver, isRefused, isAnsweredInVain, isLineAsked, isCertain,
        ] {
            writer.bool(flag)
        }
        writer.count(probes)
        writer.instant(probeAt)
    }

    package init(recorded reader: inout RecordReader) throws(RecordError) {
        let brokenAt = try reader.instant()
        let used = try reader.nanoseconds()
        let steadySince = try reader.optionalInstant()
        let repairedAt = try reader.optionalInstant()
        let answeredAt = try reader.optionalInstant()
        let isPeers = try reader.bool()
        let isOneWay = try reader.bool()
        let hasFreshSockets = try reader.bool()
        let isWindowOver = try reader.bool()
        let isRefused = try reader.bool()
        let isAnsweredInVain = try reader.bool()
        let isLineAsked = try reader.bool()
        self.init(
            brokenAt: brokenAt, used: used, steadySince: steadySince, answeredAt: answeredAt, isPeers: isPeers,
            isOneWay: isOneWay, isCertain: try reader.bool())
        self.hasFreshSockets = hasFreshSockets
        self.isWindowOver = isWindowOver
        self.isRefused = isRefused
        self.isAnsweredInVain = isAnsweredInVain
        self.isLineAsked = isLineAsked
        self.repairedAt = repairedAt
        probes = try reader.count()
        probeAt = try reader.instant()
        guard brokenAt != .never, steadySince != .never, repairedAt != .never, answeredAt != .never, used >= 0 else {
            throw .malformed
        }
    }
}

extension RecoverySnapshot: Recorded {
    package func record(into writer: inout RecordWriter) {
        writer.bool(isRecovering)
        writer.count(outages.count)
        for outage in outages { outage.record(into: &writer) }
        for count in [outageCount, falseAlarms, bridges] { writer.count(count) }
        writer.duration(bridged)
    }

    package init(recorded reader: inout RecordReader) throws(RecordError) {
        self.init()
        isRecovering = try reader.bool()
        for _ in 0..<(try reader.count(upTo: Self.keptOutages)) { outages.append(try Outage(recorded: &reader)) }
        outageCount = try reader.count()
        falseAlarms = try reader.count()
        bridges = try reader.count()
        bridged = try reader.duration()
    }
}

extension Outage: Recorded {
    package func record(into writer: inout RecordWriter) {
        writer.word(cause)
        writer.duration(at)
        writer.duration(detection)
        writer.optional(repair) { $0.duration($1) }
        writer.duration(gap)
        writer.count(framesLost)
        writer.word(mechanism)
        writer.word(outcome)
        writer.count(relapses)
        writer.count(checksSent)
    }

    package init(recorded reader: inout RecordReader) throws(RecordError) {
        let cause: OutageCause = try reader.word()
        let at = try reader.duration()
        self.init(cause: cause, at: at, detection: try reader.duration())
        repair = try reader.optional { reader throws(RecordError) in try reader.duration() }
        gap = try reader.duration()
        framesLost = try reader.count()
        mechanism = try reader.word()
        outcome = try reader.word()
        relapses = try reader.count()
        checksSent = try reader.count()
    }
}

extension PathRecovery.Effect: Recorded {
    package func record(into writer: inout RecordWriter) {
        switch self {
        case .began: writer.byte(0)
        case .askBridge(let isOn): writer.byte(isOn ? 2 : 1)
        case .probe: writer.byte(3)
        case .check: writer.byte(4)
        case .openFreshSockets: writer.byte(5)
        case .recoveringChanged(let isOn): writer.byte(isOn ? 7 : 6)
        case .windowEnded: writer.byte(8)
        case .finished: writer.byte(9)
        case .askLine: writer.byte(10)
        }
    }

    package init(recorded reader: inout RecordReader) throws(RecordError) {
        switch try reader.byte() {
        case 0: self = .began
        case 1: self = .askBridge(false)
        case 2: self = .askBridge(true)
        case 3: self = .probe
        case 4: self = .check
        case 5: self = .openFreshSockets
        case 6: self = .recoveringChanged(false)
        case 7: self = .recoveringChanged(true)
        case 8: self = .windowEnded
        case 9: self = .finished
        case 10: self = .askLine
        default: throw .malformed
        }
    }
}

extension PathRecovery.Input: Recorded {
    package func record(into writer: inout RecordWriter) {
        switch self {
        case .heard: writer.byte(0)
        case .answered(let isSamePair):
            writer.byte(1)
            writer.bool(isSamePair)
        case .restarted: writer.byte(2)
        case .suspect(let cause):
            writer.byte(3)
            writer.word(cause)
        case .peerBridge(let isOn):
            writer.byte(4)
            writer.bool(isOn)
        case .reported(let standstills):
            writer.byte(5)
            writer.count(standstills)
        case .stalled(let pause):
            writer.byte(6)
            writer.nanoseconds(pause)
        case .timeout: writer.byte(7)
        case .moved: writer.byte(8)
        case .stop(let outcome):
            writer.byte(9)
            writer.word(outcome)
        case .behind: writer.byte(10)
        case .lineAnswered: writer.byte(11)
        }
    }

    package init(recorded reader: inout RecordReader) throws(RecordError) {
        switch try reader.byte() {
        case 0: self = .heard
        case 1: self = .answered(isSamePair: try reader.bool())
        case 2: self = .restarted
        case 3: self = .suspect(try reader.word())
        case 4: self = .peerBridge(try reader.bool())
        case 5: self = .reported(standstills: try reader.count())
        case 6: self = .stalled(for: try reader.nanoseconds())
        case 7: self = .timeout
        case 8: self = .moved
        case 9: self = .stop(try reader.word())
        case 10: self = .behind
        case 11: self = .lineAnswered
        default: throw .malformed
        }
    }
}
