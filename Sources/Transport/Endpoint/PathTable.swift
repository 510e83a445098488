package import ICELite

/// Finds a number by a tuple, on the way of every packet: open addressing with linear probing, a power of two of entries that
/// are half full at most. A tuple's hash depends on a random seed: who chooses addresses does not choose where they fall.
package struct PathTable: Sendable {
    /// A tuple in six words, so that comparing two is comparing words.
    private struct Key: Equatable, Sendable {
        var remoteHigh: UInt64
        var remoteLow: UInt64
        var localHigh: UInt64
        var localLow: UInt64
        var zones: UInt64
        /// Ports and families; never 0, so that an empty entry matches nothing.
        var ports: UInt64

        static let none = Key(remoteHigh: 0, remoteLow: 0, localHigh: 0, localLow: 0, zones: 0, ports: 0)

        init(remoteHigh: UInt64, remoteLow: UInt64, localHigh: UInt64, localLow: UInt64, zones: UInt64, ports: UInt64) {
            (self.remoteHigh, self.remoteLow) = (remoteHigh, remoteLow)
            (self.localHigh, self.localLow) = (localHigh, localLow)
            (self.zones, self.ports) = (zones, ports)
        }

        init(_ path: NetworkPath) {
            (remoteHigh, remoteLow) = (path.remote.ip.high, path.remote.ip.low)
            (localHigh, localLow) = (path.local.ip.high, path.local.ip.low)
            zones = UInt64(path.remote.ip.zone) << 32 | UInt64(path.local.ip.zone)
            let families = UInt64(path.remote.ip.family.rawValue) << 8 | UInt64(path.local.ip.family.rawValue)
            ports = families << 32 | UInt64(path.remote.port) << 16 | UInt64(path.local.port)
        }
    }

    private struct Entry: Sendable {
        var key = Key.none
        var value = 0
    }

    private static let leastCapacity = 16

    private var entries: ContiguousArray<Entry>
    private let seed: UInt64
    /// Tuples there are.
    package private(set) var count = 0

    /// An empty table.
    ///
    /// - Parameter seed: a random number that nobody outside knows.
    package init(seed: UInt64) {
        self.seed = seed
        entries = ContiguousArray(repeating: Entry(), count: Self.leastCapacity)
    }

    /// The number of `path`; nil when there is none. Does not allocate.
    package subscript(path: NetworkPath) -> Int? {
        get {
            let key = Key(path)
            let entry = entries[index(of: key)]
            return entry.key == key ? entry.value : nil
        }
        set {
            guard let newValue else { return remove(Key(path)) }
            if 2 * (count + 1) > entries.count { grow() }
            insert(Entry(key: Key(path), value: newValue))
        }
    }

    private mutating func insert(_ entry: Entry) {
        let index = index(of: entry.key)
        if entries[index].key == .none { count += 1 }
        entries[index] = entry
    }

    private mutating func grow() {
        let old = entries
        entries = ContiguousArray(repeating: Entry(), count: 2 * old.count)
        count = 0
        for entry in old where entry.key != .none { insert(entry) }
    }

    /// Takes `key` out and moves up what its place had pushed on, so that no entry is lost to a search.
    private mutating func remove(_ key: Key) {
        var hole = index(of: key)
        guard entries[hole].key == key else { return }
        count -= 1
        let mask = entries.count - 1
        var next = (hole + 1) & mask
        while entries[next].key != .none {
            let home = place(of: entries[next].key)
            // It may move when its own place is not between the hole and where it is.
            if (next &- home) & mask >= (next &- hole) & mask {
                entries[hole] = entries[next]
                hole = next
            }
            next = (next + 1) & mask
        }
        entries[hole] = Entry()
    }

    /// Where `key` is, or the empty entry where it would go.
    private func index(of key: Key) -> Int {
        let mask = entries.count - 1
        var index = place(of: key)
        while entries[index].key != key, entries[index].key != .none { index = (index + 1) & mask }
        return index
    }

    private func place(of key: Key) -> Int {
        var hash = Self.mixed(seed ^ key.remoteLow)
        hash = Self.mixed(hash ^ key.ports ^ key.remoteHigh)
        hash = Self.mixed(hash ^ key.localLow ^ key.localHigh ^ key.zones)
        return Int(truncatingIfNeeded: hash) & (entries.count - 1)
    }

    /// A step of MurmurHash3's finaliser: every bit depends on every other.
    private static func mixed(_ word: UInt64) -> UInt64 {
        var word = word
        word = (word ^ word >> 33) &* 0xFF51_AFD7_ED55_8CCD
        word = (word ^ word >> 33) &* 0xC4CE_B9FE_1A85_EC53
        return word ^ word >> 33
    }
}
