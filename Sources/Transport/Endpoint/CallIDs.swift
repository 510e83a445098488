internal import ICELite

/// The ids of an endpoint's calls, each unique among the calls of its key: those that live, and for a while those that
/// have ended.
struct CallIDs {
    /// Ended ids that are remembered at most, the oldest forgotten first.
    static let endedLimit = 10_000

    /// A call's id together with the key it was placed with.
    struct Entry: Hashable {
        /// The key the client presented; nil where the endpoint asks for none.
        var key: String?
        var id: String
    }

    private let kept: Nanoseconds
    private var live: Set<Entry> = []
    private var ended: Set<Entry> = []
    /// In the order of their end.
    private var order: [(entry: Entry, at: Instant)] = []

    /// - Parameter kept: how long an ended id stays refused.
    init(kept: Nanoseconds) { self.kept = kept }

    /// Ids that are refused now.
    var count: Int { live.count + ended.count }

    /// Takes an id for a new call: false when its key's call of that id lives or has just ended.
    mutating func take(_ entry: Entry, now: Instant) -> Bool {
        forget(order.prefix { now - $0.at >= kept }.count)
        guard !ended.contains(entry) else { return false }
        return live.insert(entry).inserted
    }

    /// The call of an id that was taken is over.
    mutating func end(_ entry: Entry, now: Instant) {
        guard live.remove(entry) != nil else { return }
        if order.count == Self.endedLimit { forget(1) }
        ended.insert(entry)
        order.append((entry, now))
    }

    private mutating func forget(_ count: Int) {
        for old in order.prefix(count) { ended.remove(old.entry) }
        order.removeFirst(count)
    }
}
