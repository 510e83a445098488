/// How often the calls of an endpoint may send to tuples whose return routability is not shown, for each destination.
///
/// One value for the endpoint, asked for each call's `ICELiteAgent.admissionWanted`: at most
/// `ICELimits.grantsPerDestination` (4) grants for one destination within `ICELimits.destinationWindow` (10 s). A
/// destination is an IPv4 address or an IPv6 /64: whoever can be flooded at one address of a /64 is flooded by its
/// neighbours as well, and a client may own all of them. IPv4-mapped addresses are IPv4. Ports play no part. Loopback is
/// always admitted and counted nowhere: no network delivers a forged loopback source.
///
/// It remembers `ICELimits.rememberedGrants` (4,096) grants. When they all lie within the window the oldest is forgotten
/// and counted: refusing would let one peer that forges sources shut out all others, and forgetting costs it 4,096
/// authenticated requests for each further 4 KB at the same destination.
public struct UnconfirmedDestinations: Sendable {
    private struct Grant {
        var destination: IPAddress
        var at: Instant
    }

    /// Grants in the order they were made, in a ring.
    private var grants: [Grant] = []
    private var oldest = 0
    private var count = 0
    private var countByDestination: [IPAddress: Int] = [:]

    /// Grants made.
    public private(set) var granted: UInt64 = 0
    /// Times the destination had its grants already.
    public private(set) var refused: UInt64 = 0
    /// Grants forgotten within the window, for want of room.
    public private(set) var forgotten: UInt64 = 0

    /// An empty table; its memory grows with use, up to about 400 KiB.
    public init() {}

    /// Grants that count now or did when `admit` was last called, 0…4,096.
    public var rememberedCount: Int { count }

    /// Whether a call may send media and DTLS to an unconfirmed tuple at `ip`; a yes counts as one of its grants.
    ///
    /// Grants are counted, not calls: a call that moves between ports of one address takes one for each.
    /// - Parameters:
    ///   - ip: the tuple's remote address.
    ///   - now: not earlier than at the call before.
    /// - Complexity: O(1) amortised.
    public mutating func admit(_ ip: IPAddress, now: Instant) -> Bool {
        while count > 0, now - grants[oldest].at >= ICELimits.destinationWindow { removeOldest() }
        let destination = Self.destination(ip)
        guard !ip.unmapped.isLoopback else { return true }
        guard countByDestination[destination, default: 0] < ICELimits.grantsPerDestination else {
            refused += 1
            return false
        }
        if count == ICELimits.rememberedGrants {
            forgotten += 1
            removeOldest()
        }
        append(Grant(destination: destination, at: now))
        granted += 1
        return true
    }

    private mutating func append(_ grant: Grant) {
        let index = (oldest + count) % ICELimits.rememberedGrants
        if index < grants.count { grants[index] = grant } else { grants.append(grant) }
        count += 1
        countByDestination[grant.destination, default: 0] += 1
    }

    private mutating func removeOldest() {
        let destination = grants[oldest].destination
        oldest = (oldest + 1) % ICELimits.rememberedGrants
        count -= 1
        let left = countByDestination[destination, default: 1] - 1
        countByDestination[destination] = left > 0 ? left : nil
    }

    /// What grants are counted by: the address itself, or its /64 with the zone of a link-local one.
    private static func destination(_ ip: IPAddress) -> IPAddress {
        let ip = ip.unmapped
        return ip.family == .v4 ? ip : IPAddress(v6High: ip.high, low: 0, zone: ip.zone)
    }
}
