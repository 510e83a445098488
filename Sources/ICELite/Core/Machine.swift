/// The contract of every state machine in this package.
///
/// A machine opens no socket, reads no clock and draws no random number that was not handed in. Its owner gives it **one
/// input**, then **drains** `pollTransmit` and `pollEvent` until both return nil, then waits until `nextDeadline` or the
/// next input, whichever comes first. After the drain the deadline lies ahead of `now`.
public protocol Machine: ~Copyable {
    /// What the owner should know.
    associatedtype Event: Sendable

    /// When `handleTimeout` wants to be called; `.never` when the machine waits for nothing.
    var nextDeadline: Instant { get }

    /// Tells the machine that `now` has come. Harmless when it is early.
    mutating func handleTimeout(now: Instant)

    /// Writes the next datagram to send into `out` and says where it goes; nil, with `out` untouched, when there is none.
    mutating func pollTransmit(into out: inout OutputRawSpan, now: Instant) -> Transmit?

    /// The next thing the owner should know, oldest first; nil when there is none.
    mutating func pollEvent() -> Event?
}

/// Where a datagram goes that `pollTransmit` wrote.
public struct Transmit: Hashable, Sendable {
    /// Local address to send from and remote address to send to.
    public var path: NetworkPath
    /// Bytes that were written.
    public var byteCount: Int

    public init(path: NetworkPath, byteCount: Int) {
        self.path = path
        self.byteCount = byteCount
    }
}

/// A local and a remote transport address: what the field calls a 5-tuple, less the protocol, which is UDP.
public struct NetworkPath: Hashable, Sendable {
    /// The address of our socket, as the candidate names it (never the wildcard).
    public var local: SocketAddress
    /// The peer's address.
    public var remote: SocketAddress

    public init(local: SocketAddress, remote: SocketAddress) {
        self.local = local
        self.remote = remote
    }
}
