package import ICELite

/// A clock that moves only when it is told to, so that minutes of a call pass in milliseconds.
public struct VirtualClock: Hashable, Sendable {
    /// The virtual instant, counted from `Instant.zero`.
    package private(set) var now: Instant = .zero

    /// A clock at its beginning.
    public init() {}

    /// Virtual time that has passed since the clock began.
    public var elapsed: Duration { Duration(nanoseconds: now - .zero) }

    /// Moves the clock to `instant`; an instant in the past leaves it where it is.
    package mutating func advance(to instant: Instant) { now = max(now, instant) }
}

/// How a run of the simulator ended.
public enum SimulationEnd: Hashable, Sendable {
    /// The clock stands at the end that was asked for.
    case reached
    /// `stop()` was called; the clock stands where that happened.
    case stopped
    /// More than `Simulator.maximumEventsPerInstant` events ran without the clock moving: something schedules itself
    /// for now, again and again.
    case stuck
}

/// Has events of its own that it knows by numbers.
protocol SimulatorTarget: AnyObject {
    /// The event `number` is due.
    func run(event number: Int)
}

/// Runs scheduled work in virtual time, in an order that a seed decides and nothing else.
///
/// Events run by (time, priority drawn from the seed, insertion): two events of one instant come in either order,
/// depending on the seed, and always in the same order for the same seed. Confined to one thread; no access to its state
/// lasts while an event runs, so that none is checked at run time.
public final class Simulator {
    /// Events that may run at one instant before `run` gives up.
    public static let maximumEventsPerInstant = 100_000

    /// The virtual clock.
    @exclusivity(unchecked) public private(set) var clock = VirtualClock()
    /// The seed that decides everything that is random in this simulation.
    public let seed: UInt64
    /// Events that have run.
    @exclusivity(unchecked) public private(set) var eventCount = 0
    /// A hash (FNV-1a) over the order and times of all events and everything given to `record`. Equal in two runs of
    /// the same scenario with the same seed.
    @exclusivity(unchecked) public private(set) var traceHash: UInt64 = 0xCBF2_9CE4_8422_2325

    /// What an event does.
    private enum Work {
        case closure(() -> Void)
        /// One of a target's own, which keeps what belongs to it: for what happens with every packet, as it costs no
        /// allocation.
        case numbered(target: Int, number: Int)
    }

    /// A target, for as long as it lives: it takes itself out.
    private struct Target {
        unowned(unsafe) var object: (any SimulatorTarget)?
    }

    @exclusivity(unchecked) private var events = EventHeap<Work>()
    @exclusivity(unchecked) private var targets: [Target] = []
    @exclusivity(unchecked) private var priorities: Randomness
    private var root: Randomness
    @exclusivity(unchecked) private var isStopped = false

    /// Makes a simulator whose clock stands at zero.
    public init(seed: UInt64) {
        self.seed = seed
        root = .seeded(seed)
        priorities = root.split("simulator.priorities")
    }

    /// The virtual time.
    package var now: Instant { clock.now }

    /// Events that are scheduled.
    public var pendingCount: Int { events.count }

    /// When the next event is due; `.never` when none is.
    package var nextEvent: Instant { events.nextTime }

    /// A stream of random numbers for the component called `name`: the same for the same seed and name, whatever the
    /// others draw.
    package func randomness(for name: String) -> Randomness { root.split(name) }

    // MARK: - Scheduling

    /// Runs `work` at `time`, or now if that is in the past. Nothing runs for `.never`.
    @discardableResult
    package func schedule(at time: Instant, _ work: @escaping () -> Void) -> EventToken {
        events.push(.closure(work), at: max(time, clock.now), priority: priorities.next())
    }

    /// Calls the target's `run(event:)` with `number` at `time`, or now if that is in the past. Nothing runs for `.never`,
    /// or once the target is gone.
    @discardableResult
    func schedule(at time: Instant, for target: Int, number: Int) -> EventToken {
        events.push(.numbered(target: target, number: number), at: max(time, clock.now), priority: priorities.next())
    }

    /// Adds a target of numbered events and returns what it is scheduled by. It is not kept, and calls `remove(target:)` as
    /// it goes.
    func add(target: any SimulatorTarget) -> Int {
        targets.append(Target(object: target))
        return targets.count - 1
    }

    /// The target is gone.
    func remove(target: Int) { targets[target].object = nil }

    /// Runs `work` when `delay` of virtual time has passed.
    @discardableResult
    public func schedule(after delay: Duration, _ work: @escaping () -> Void) -> EventToken {
        schedule(at: clock.now + max(0, delay.nanoseconds), work)
    }

    /// Takes a scheduled event back. Returns false when it has run already.
    @discardableResult
    public func cancel(_ token: EventToken) -> Bool { events.cancel(token) }

    /// Ends the run after the event that is running now.
    public func stop() { isStopped = true }

    /// Mixes `value` into `traceHash`: what a component did that the order of events does not show.
    public func record(_ value: UInt64) {
        var value = value
        var hash = traceHash
        for _ in 0..<8 {
            hash = (hash ^ (value & 0xFF)) &* 0x100_0000_01B3
            value >>= 8
        }
        traceHash = hash
    }

    // MARK: - Running

    /// Runs every event that is due until `end`, then sets the clock to `end`.
    ///
    /// An `end` of `.never` runs until nothing is scheduled and leaves the clock at the last event.
    @discardableResult
    package func run(until end: Instant) -> SimulationEnd {
        isStopped = false
        var eventsOfInstant = 0
        // An event for `.never` is no event.
        let limit = min(end, Instant(nanoseconds: .max - 1))
        while let event = events.pop(notAfter: limit) {
            if event.time > clock.now {
                eventsOfInstant = 0
                clock.advance(to: event.time)
            }
            eventsOfInstant += 1
            guard eventsOfInstant <= Self.maximumEventsPerInstant else { return .stuck }
            eventCount += 1
            record(UInt64(bitPattern: event.time.nanoseconds) ^ (event.order << 40))
            switch event.payload {
            case .closure(let work): work()
            case .numbered(let target, let number): targets[target].object?.run(event: number)
            }
            if isStopped { return .stopped }
        }
        if end != .never { clock.advance(to: end) }
        return .reached
    }

    /// Runs every event of the next `duration` of virtual time, then sets the clock to its end.
    @discardableResult
    public func run(for duration: Duration) -> SimulationEnd {
        run(until: clock.now + max(0, duration.nanoseconds))
    }
}
