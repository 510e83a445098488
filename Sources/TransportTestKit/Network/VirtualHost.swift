package import ICELite

/// Names a host of a `VirtualNetwork`.
package struct HostID: Hashable, Comparable, Sendable {
    let index: Int

    package static func < (left: HostID, right: HostID) -> Bool { left.index < right.index }
}

/// Names a byte stream of a `VirtualNetwork`: both ends know it by this.
package struct LineID: Hashable, Comparable, Sendable {
    let index: Int

    package static func < (left: LineID, right: LineID) -> Bool { left.index < right.index }
}

/// How a byte stream ends.
package enum LineCut: Hashable, Sendable {
    /// Orderly: what was written before arrives first.
    case fin
    /// Aborted: what is under way is lost.
    case rst
    /// Nobody is told: nothing gets through any more, in either direction, and nothing is acknowledged.
    case silent
}

/// One end of a simulated call: what a `VirtualNetwork` needs to know of the machines it drives.
///
/// The network gives a host one input, then calls `drain`, then arms a timer for `nextDeadline`, exactly as the event
/// loop of a real call does. A host keeps its machines and, in `drain`, hands what they want sent to the network.
package protocol VirtualHost: AnyObject {
    /// When `handleTimeout` wants to be called; `.never` when the host waits for nothing.
    var nextDeadline: Instant { get }

    /// `now` has come.
    func handleTimeout(now: Instant)

    /// A datagram has arrived. `path.local` is the address of this host that it came to, `path.remote` where it seems
    /// to come from.
    func receive(datagram: [UInt8], path: NetworkPath, now: Instant)

    /// A datagram that was sent on `path` could not be delivered (ICMP port unreachable). Does nothing unless
    /// implemented.
    func datagramRejected(path: NetworkPath, now: Instant)

    /// A stream is open. Does nothing unless implemented.
    func lineOpened(_ line: LineID, now: Instant)

    /// Bytes of a stream have arrived: everything that was sent, in order.
    func receive(streamBytes: [UInt8], line: LineID, now: Instant)

    /// There is room again in the send buffer of a stream that had refused bytes. Does nothing unless implemented.
    func lineWritable(_ line: LineID, now: Instant)

    /// The other end's stream has ended: with `.fin` (no more bytes come) or `.rst` (the stream is gone).
    func lineClosed(_ line: LineID, by cut: LineCut, now: Instant)

    /// Hands everything that the machines want sent to `network`, until they want nothing more.
    ///
    /// Called after each input. Afterwards `nextDeadline` should lie ahead of `now`.
    func drain(into network: VirtualNetwork, now: Instant)
}

extension VirtualHost {
    package func datagramRejected(path: NetworkPath, now: Instant) {}
    package func lineOpened(_ line: LineID, now: Instant) {}
    package func lineWritable(_ line: LineID, now: Instant) {}
}
