internal import ICELite

/// Watches how much later packets come than the fastest ones, and says what delay covers 95 % of it.
///
/// offset = arrival − media time; base = its minimum over the last 4 s, per carriage; relative delay = offset − base.
struct DelayTracker: Sendable {
    /// What is held before enough packets came, and on a calm path for good.
    static let minimumTarget: Nanoseconds = .milliseconds(60)
    /// The most that is held on the media path, and on the line.
    static let pathCap: Nanoseconds = .milliseconds(400)
    static let lineCap: Nanoseconds = .milliseconds(800)

    private static let bucketLength: Nanoseconds = .milliseconds(5)
    private static let bucketCount = 401
    private static let forgetting: Float = 0.97
    private static let secondsKept = 4

    /// Minima of one carriage's offset, one for each of the last seconds.
    private struct Base: Sendable {
        var minima = InlineArray<4, Int64>(repeating: .max)
        var second: Int64 = .min

        mutating func add(_ offset: Int64, second now: Int64) {
            advance(to: now)
            let index = Int(now & 3)
            minima[index] = min(minima[index], offset)
        }

        mutating func advance(to now: Int64) {
            guard now > second else { return }
            let steps = second == .min ? 4 : min(4, now - second)
            for step in 0..<steps { minima[Int((now - step) & 3)] = .max }
            second = now
        }

        var minimum: Int64 {
            var least = Int64.max
            for index in 0..<4 { least = min(least, minima[index]) }
            return least
        }
    }

    private var path = Base()
    private var line = Base()
    private var histogram = InlineArray<401, Float>(repeating: 0)
    private var samples = 0
    private var packets = 0
    private var intervalEnd = Instant.zero
    private var intervalMaximum: Nanoseconds = -1
    /// The delay that covers what was seen, between `minimumTarget` and `cap`.
    private(set) var target = DelayTracker.minimumTarget
    /// The last known base, for the time when nothing comes.
    private(set) var base: Int64?

    /// The most that may be held: that of the slower carriage heard in the last 4 s.
    var cap: Nanoseconds { line.minimum != .max ? Self.lineCap : Self.pathCap }

    /// Adds a first copy. `offset` is arrival − media time in nanoseconds. Packets after a pause, and those out of order,
    /// move the base only (`isSteady` false).
    mutating func add(offset: Int64, carriage: AudioCarriage, isSteady: Bool, now: Instant) {
        let second = now.nanoseconds / 1_000_000_000
        path.advance(to: second)
        line.advance(to: second)
        switch carriage {
        case .path: path.add(offset, second: second)
        case .line: line.add(offset, second: second)
        }
        let least = min(path.minimum, line.minimum)
        base = least
        packets += 1
        guard isSteady else { return }
        if now >= intervalEnd {
            if intervalMaximum >= 0 { count(intervalMaximum) }
            intervalEnd = now + .milliseconds(200)
            intervalMaximum = -1
        }
        intervalMaximum = max(intervalMaximum, offset - least)
    }

    private mutating func count(_ delay: Nanoseconds) {
        samples += 1
        let keep = min(Self.forgetting, 1 - 2 / Float(samples + 1))
        for index in 0..<Self.bucketCount { histogram[index] *= keep }
        histogram[Int(min(delay / Self.bucketLength, Int64(Self.bucketCount - 1)))] += 1 - keep
        var sum: Float = 0
        var index = 0
        while index < Self.bucketCount - 1 {
            sum += histogram[index]
            if sum >= 0.95 { break }
            index += 1
        }
        let steady = Int64(index + 2) * Self.bucketLength
        target = packets < 25 ? Self.minimumTarget : min(max(steady, Self.minimumTarget), cap)
    }

    /// Forgets everything: another stream begins.
    mutating func reset() { self = DelayTracker() }
}
