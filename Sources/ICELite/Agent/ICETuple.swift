/// A tuple whose peer has authenticated, with what is known of its return routability.
struct ICETuple: Hashable {
    /// Whether the owner lets an unconfirmed tuple be sent to.
    enum Admission: Hashable {
        case unasked
        case refused
        case granted
    }

    let path: NetworkPath
    /// Counts up with each new tuple: "newest" compares it.
    let order: UInt64
    /// What a peer of our kind has to echo; never 0.
    let token: UInt64
    /// The newest generation that a request on it belonged to.
    var generation: UInt32
    var lastRequestAt: Instant
    var admission: Admission
    /// Something sent to it alone has come back.
    var isConfirmed = false
    /// A request on it offered to echo a token, or did.
    var offersToken = false
    /// The generation whose ufrags the newest request named, ours and the peer's; nil when it named another of the peer's.
    var namedGeneration: UInt32?
    /// Checks of ours that went there, and when the next may.
    var routabilityChecks = 0
    var routabilityCheckAt = Instant.zero
    var bytesReceived = 0
    var bytesSent = 0

    /// Bytes that may still be sent: any number once confirmed, else 3 × received + 4 KB less what was sent.
    var allowance: Int {
        isConfirmed ? .max : max(0, 3 &* bytesReceived &+ ICELimits.unconfirmedAllowance &- bytesSent)
    }

    /// Counts `byteCount` bytes as sent if the allowance has room for them and `reserve` more.
    mutating func charge(_ byteCount: Int, reserve: Int = 0) -> Bool {
        guard byteCount <= (isConfirmed ? allowance : allowance - reserve) else { return false }
        bytesSent &+= byteCount
        return true
    }
}

/// Where one media packet of a call goes: one path, or two while a move waits for its confirmation.
public struct ICEDestinations: Hashable, Sendable {
    /// The tuple that was nominated last, if it may be used; else a confirmed one.
    public let first: NetworkPath
    /// A confirmed tuple, by rule the one selected before, until `first` is confirmed, too.
    public let second: NetworkPath?
}
