package import ICELite

/// Follows the kernel's routing messages and tells the whole set of usable addresses, and that routes may have changed, once
/// for each burst of changes.
///
/// No I/O: datagrams and the time go in; requests for dumps and sets of addresses come out. A set that is told is always
/// that of a whole dump and the news since, never half of one.
package struct NetworkWatch: Sendable {
    /// How long the kernel must be silent before a change is told: a link that goes takes its addresses one message
    /// after the other, within a millisecond or two. Short against the 20 ms between audio packets that it adds to.
    package static let settleTime = Nanoseconds.milliseconds(20)
    /// A change is told after this time at the latest, however much more happens: a flapping interface hides no other.
    package static let longestSettle = Nanoseconds.milliseconds(100)
    /// How long a dump may take before it is asked for again.
    package static let dumpPatience = Nanoseconds.seconds(1)
    /// Dumps asked for in a row, without one that came whole, before the watch gives up.
    package static let dumpAttempts = 4

    /// What has happened so far. Monotonic.
    package struct Counters: Hashable, Sendable {
        /// Dumps asked for.
        package var dumps = 0
        /// Times the kernel dropped messages because we were slow.
        package var overruns = 0
        /// Datagrams with something malformed.
        package var malformed = 0
        /// Sets told.
        package var changes = 0
        /// Default routes that came, changed or went.
        package var routes = 0
    }

    private enum Phase: Hashable {
        case idle
        case dumping(NetlinkRequest)
        /// What is known has holes; a new dump is due at `dumpAt`.
        case stale
        case following
        case failed
    }

    package private(set) var counters = Counters()
    package private(set) var table = InterfaceTable()
    private var phase = Phase.idle
    private var sequence: UInt32 = 0
    private var attempts = 0
    private var isInterrupted = false
    private var request: NetlinkRequest?
    private var told: [NetworkInterfaces.Address]?
    private var change: [NetworkInterfaces.Address]?
    private var mayRouteDiffer = false
    private var unsettled: (first: Instant, last: Instant)?
    private var dumpAt = Instant.never

    package init() {}

    /// The kernel does not answer, or refuses: addresses must be had in another way.
    package var hasFailed: Bool { phase == .failed }

    // MARK: Inputs

    /// Begins: the first set is told as soon as it is whole.
    package mutating func start(now: Instant) {
        guard phase == .idle else { return }
        dump(.links, now: now)
    }

    /// A datagram of the kernel's.
    package mutating func receive(_ bytes: borrowing RawSpan, now: Instant) {
        guard phase != .idle, phase != .failed else { return }
        let version = table.version
        let routes = counters.routes
        let isWhole = NetlinkMessage.read(bytes) { handle($0, now: now) }
        if !isWhole { counters.malformed += 1 }
        if table.version != version || counters.routes != routes { unsettled = (unsettled?.first ?? now, now) }
        if phase == .following, told == nil { tell() }
    }

    /// The kernel dropped messages (`ENOBUFS`): everything is asked for anew, once what still waits has been read.
    package mutating func overrun(now: Instant) {
        guard phase != .idle, phase != .failed else { return }
        counters.overruns += 1
        expectDump(now: now)
    }

    /// Something may have been missed: everything is asked for anew, once the kernel has been silent for a moment.
    package mutating func rescan(now: Instant) {
        guard phase == .following else { return }
        expectDump(now: now)
    }

    package mutating func handleTimeout(now: Instant) {
        if now >= dumpAt { dump(.links, now: now) }
        if now >= settledAt { tell() }
    }

    // MARK: Outputs

    /// When `handleTimeout` wants to be called.
    package var nextDeadline: Instant { min(dumpAt, settledAt) }

    /// The next dump to ask the kernel for.
    package mutating func pollRequest() -> NetlinkRequest? {
        defer { request = nil }
        return request
    }

    /// The usable addresses, whole, when they are not those told before.
    package mutating func pollChange() -> [NetworkInterfaces.Address]? {
        defer { change = nil }
        return change
    }

    /// Whether default routes may be other ones than when this was asked before: after each burst of changes.
    package mutating func pollRouteChange() -> Bool {
        defer { mayRouteDiffer = false }
        return mayRouteDiffer
    }

    // MARK: - Private

    private var settledAt: Instant {
        guard phase == .following, let unsettled else { return .never }
        return min(unsettled.last + Self.settleTime, unsettled.first + Self.longestSettle)
    }

    private mutating func dump(_ kind: NetlinkRequest.Kind, now: Instant) {
        if kind == .links {
            attempts += 1
            guard attempts <= Self.dumpAttempts else {
                phase = .failed
                dumpAt = .never
                return
            }
            table.removeAll()
            isInterrupted = false
        }
        // 0 is the number of news.
        sequence = max(1, sequence &+ 1)
        let wanted = NetlinkRequest(kind: kind, sequence: sequence)
        request = wanted
        phase = .dumping(wanted)
        dumpAt = now + Self.dumpPatience
        counters.dumps += 1
    }

    private mutating func expectDump(now: Instant) {
        if phase != .stale { dumpAt = now + Self.settleTime }
        phase = .stale
    }

    private mutating func handle(_ message: NetlinkMessage, now: Instant) {
        table.apply(message.content)
        if case .defaultRoute = message.content { counters.routes += 1 }
        guard case .dumping(let asked) = phase, message.sequence == asked.sequence else { return }
        if message.isInterrupted { isInterrupted = true }
        switch message.content {
        case .failed: expectDump(now: now)
        case .done where asked.kind == .links: dump(.addresses, now: now)
        case .done where isInterrupted: expectDump(now: now)
        case .done:
            phase = .following
            attempts = 0
            dumpAt = .never
        case .link, .linkGone, .address, .addressGone, .defaultRoute, .other: break
        }
    }

    private mutating func tell() {
        unsettled = nil
        // A link that goes down takes its routes along without a word about them.
        mayRouteDiffer = true
        let usable = table.usable
        guard usable != told else { return }
        told = usable
        change = usable
        counters.changes += 1
    }
}
