package import ICELite

/// Whose certificate the call line accepts.
public enum TLSTrust: Hashable, Sendable {
    /// The authorities of the system.
    case system
    /// Only the authorities in this PEM file.
    case caFile(String)
    /// Anybody. Encrypted, but to whom is unknown: for tests against a literal loopback address only.
    case insecure
}

/// A relay in front of the line.
package struct LineDetour: Hashable, Sendable {
    /// The relay.
    package var relay: SocketAddress
    /// The server behind it: what the media path takes its addresses for.
    package var target: SocketAddress

    package init(relay: SocketAddress, target: SocketAddress) {
        self.relay = relay
        self.target = target
    }
}

/// What one call is made with. A session copies it; a change applies to the next call.
public struct TransportConfiguration: Sendable {
    /// The call line's URL, whole: `wss://host[:port]/path`. `ws://` only to a literal loopback address.
    public var url: String
    /// The key that `Authorization: Bearer` carries. Goes only to the host of `url`.
    public var key: String?
    /// The call's id, an opaque string. By default `call_` and a random lowercase UUID.
    public var callID: String
    /// What the application asked for.
    public var callTransport: CallTransport = .auto
    /// The agent's in-app call audio, where it is known beforehand.
    public var callAudio: CallAudio = .auto
    /// Whose certificate is accepted.
    public var trust: TLSTrust = .system
    /// STUN servers that tell the call its addresses behind a NAT, as `stun:host[:port]`; those the server names come on top.
    /// Eight at most are asked, and nothing waits for them.
    public var stunServers: [String] = []
    /// What happens when an active media path is lost for good.
    public var recoveryPolicy: RecoveryPolicy = .continueOnWebSocket
    /// The steps that make the media path ready sooner; all of them by default.
    public var handshake = HandshakeOptions()
    /// Budgets and bounds.
    public var limits = TransportLimits()
    /// Whether the call keeps what it was told and decided, for `TransportSession.flightRecording`: a few KiB, 64 at most.
    public var recordsFlight = true
    /// Where a relay stands in for an address of the peer's, asked once for each: for measuring a call under impairment.
    package var pathDetour: (@Sendable (SocketAddress) -> SocketAddress?)?
    /// A relay that stands in for the line's TCP address. The URL's host is still the one that TLS verifies.
    package var lineDetour: LineDetour?
    /// The only local address that line and media path use; nil leaves it to the system.
    package var localAddress: IPAddress?
    /// The only version of IP that line and media path use; nil for both.
    package var addressFamily: IPAddress.Family?

    /// A configuration with the defaults of the contract.
    public init(url: String, key: String? = nil) {
        self.url = url
        self.key = key
        callID = "call_" + Self.randomUUID()
    }

    /// A random (version 4) UUID, lowercase (RFC 9562 §5.4).
    private static func randomUUID() -> String {
        var randomness = Randomness.system
        var bytes = randomness.bytes(16)
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        return [digits[0..<4], digits[4..<6], digits[6..<8], digits[8..<10], digits[10..<16]]
            .map { $0.joined() }.joined(separator: "-")
    }
}

/// Why a session or an endpoint cannot be made or started.
public enum TransportError: Error, Hashable, Sendable {
    /// An option has a value that cannot be used; the sentence names it.
    case invalidOptions(String)
    /// `start` was called before.
    case alreadyStarted
    /// An application's message that no peer would take: the sentence says why. Nothing of it was sent.
    case invalidMessage(String)
    /// An address of this machine is in use by another socket.
    case addressInUse(String)
    /// This machine cannot give what is needed: threads, descriptors, files.
    case system(String)
}

extension TransportError: CustomStringConvertible {
    /// A sentence without its full stop.
    public var description: String {
        switch self {
        case .invalidOptions(let what), .invalidMessage(let what), .addressInUse(let what), .system(let what): what
        case .alreadyStarted: "the session was started before"
        }
    }
}
