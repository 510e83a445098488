internal import ICELite

/// Finds the call that a datagram is for, on a port that all calls share. Confined to the endpoint's loop.
///
/// It keeps its owners alive: who is removed leaves nothing here, however many tuples it had.
struct DatagramRoutes<Owner: AnyObject> {
    /// Tuples of one owner at most, the oldest forgotten first; the lite agent keeps fewer.
    static var pathLimit: Int { 32 }

    /// What leads to one owner.
    private struct Marks {
        var ufrags: [STUNUsernameFragment] = []
        var ssrc: UInt32?
        var paths: [NetworkPath] = []
    }

    private var marks: [ObjectIdentifier: Marks] = [:]
    private var byUfrag: [STUNUsernameFragment: Owner] = [:]
    private var byPath: [NetworkPath: Owner] = [:]
    private var bySSRC: [UInt32: Owner] = [:]

    /// Entries of all owners.
    var count: Int { byUfrag.count + byPath.count + bySSRC.count }

    /// Whose datagrams come on `path`; nil when it is no owner's. Does not allocate.
    func owner(of path: NetworkPath) -> Owner? { byPath[path] }

    /// Whose the datagram is: a check is found by its username fragment, all else by its tuple, and media from a tuple that
    /// is no owner's by its sender. Nothing of it is verified. Does not allocate.
    func owner(of datagram: borrowing RawSpan, from path: NetworkPath) -> Owner? {
        if STUNMessage.isSTUN(datagram), let fragment = stunUsernameFragment(of: datagram) { return byUfrag[fragment] }
        if let owner = byPath[path] { return owner }
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
        let id = ObjectIdentifier(owner)
        byPath[path] = owner
        var paths = marks[id]?.paths ?? []
        guard !paths.contains(path) else { return }
        if paths.count == Self.pathLimit {
            let oldest = paths.removeFirst()
            if byPath[oldest] === owner { byPath[oldest] = nil }
        }
        paths.append(path)
        marks[id, default: Marks()].paths = paths
    }

    /// Forgets all that leads to `owner`, but for what has become another's.
    mutating func remove(_ owner: Owner) {
        guard let known = marks.removeValue(forKey: ObjectIdentifier(owner)) else { return }
        for fragment in known.ufrags where byUfrag[fragment] === owner { byUfrag[fragment] = nil }
        if let ssrc = known.ssrc, bySSRC[ssrc] === owner { bySSRC[ssrc] = nil }
        for path in known.paths where byPath[path] === owner { byPath[path] = nil }
    }
}
