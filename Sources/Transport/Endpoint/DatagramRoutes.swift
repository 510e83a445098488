internal import ICELite

/// Finds the call that a datagram is for, on a port that all calls share. Confined to the endpoint's loop.
///
/// It keeps its owners alive: who is removed leaves nothing here, however many tuples it had.
struct DatagramRoutes<Owner: AnyObject> {
    /// Tuples of one owner at most, the oldest forgotten first; the lite agent keeps fewer.
    static var pathLimit: Int { 32 }

    /// What leads to one owner.
    private struct Marks {
        /// Where `owners` has it; nil before its first tuple.
        var slot: Int?
        var ufrags: [STUNUsernameFragment] = []
        var ssrc: UInt32?
        var paths: [NetworkPath] = []
    }

    private var marks: [ObjectIdentifier: Marks] = [:]
    private var byUfrag: [STUNUsernameFragment: Owner] = [:]
    private var bySSRC: [UInt32: Owner] = [:]
    /// The place in `owners` of whom the datagrams of a tuple are for: every media packet asks.
    private var byPath: PathTable
    private var owners: [Owner?] = []
    private var freeSlots: [Int] = []

    /// Routes of nobody.
    ///
    /// - Parameter seed: makes the places of tuples unguessable.
    init(seed: UInt64 = .random(in: .min ... .max)) { byPath = PathTable(seed: seed) }

    /// Entries of all owners.
    var count: Int { byUfrag.count + byPath.count + bySSRC.count }

    /// Whose datagrams come on `path`; nil when it is no owner's. Does not allocate.
    func owner(of path: NetworkPath) -> Owner? { byPath[path].flatMap { owners[$0] } }

    /// Whose the datagram is: a check is found by its username fragment, all else by its tuple, and media from a tuple that
    /// is no owner's by its sender. Nothing of it is verified. Does not allocate.
    func owner(of datagram: borrowing RawSpan, from path: NetworkPath) -> Owner? {
        if STUNMessage.isSTUN(datagram), let fragment = stunUsernameFragment(of: datagram) { return byUfrag[fragment] }
        if let slot = byPath[path] { return owners[slot] }
        return MediaPath.senderSSRC(of: datagram).flatMap { bySSRC[$0] }
    }

    /// Checks come for `ufrags` now, and for none of before.
    mutating func setUfrags(_ ufrags: [String], of owner: Owner) {
        let id = ObjectIdentifier(owner)
        for old in marks[id]?.ufrags ?? [] where byUfrag[old] === owner { byUfrag[old] = nil }
        let fragments = ufrags.compactMap { STUNUsernameFragment($0) }
        for fragment in fragments { byUfrag[fragment] = owner }
        marks[id, default: Marks()].ufrags = fragments
    }

    /// Media of this sender, from a tuple that is no owner's, is tried with `owner`. Who has it first keeps it.
    mutating func setSSRC(_ ssrc: UInt32, of owner: Owner) {
        let id = ObjectIdentifier(owner)
        if let old = marks[id]?.ssrc, old != ssrc, bySSRC[old] === owner { bySSRC[old] = nil }
        if bySSRC[ssrc] == nil { bySSRC[ssrc] = owner }
        marks[id, default: Marks()].ssrc = ssrc
    }

    /// Datagrams on `path` are `owner`'s from now on.
    mutating func bind(_ path: NetworkPath, to owner: Owner) {
        let slot = slot(of: owner)
        byPath[path] = slot
        var paths = marks[ObjectIdentifier(owner)]?.paths ?? []
        guard !paths.contains(path) else { return }
        if paths.count == Self.pathLimit {
            let oldest = paths.removeFirst()
            if byPath[oldest] == slot { byPath[oldest] = nil }
        }
        paths.append(path)
        marks[ObjectIdentifier(owner), default: Marks()].paths = paths
    }

    /// Forgets all that leads to `owner`, but for what has become another's.
    mutating func remove(_ owner: Owner) {
        guard let known = marks.removeValue(forKey: ObjectIdentifier(owner)) else { return }
        for fragment in known.ufrags where byUfrag[fragment] === owner { byUfrag[fragment] = nil }
        if let ssrc = known.ssrc, bySSRC[ssrc] === owner { bySSRC[ssrc] = nil }
        guard let slot = known.slot else { return }
        for path in known.paths where byPath[path] == slot { byPath[path] = nil }
        owners[slot] = nil
        freeSlots.append(slot)
    }

    private mutating func slot(of owner: Owner) -> Int {
        let id = ObjectIdentifier(owner)
        if let slot = marks[id]?.slot { return slot }
        let slot = freeSlots.popLast() ?? owners.count
        if slot == owners.count { owners.append(owner) } else { owners[slot] = owner }
        marks[id, default: Marks()].slot = slot
        return slot
    }
}
