/// The certificate an endpoint shows on its call lines.
public enum EndpointIdentity: Hashable, Sendable {
    /// Made at start for the addresses listened on; `AgentEndpoint.certificatePEM` is its authority, too.
    case selfSigned
    /// PEM files: the certificate with its chain, and its key.
    case files(certificate: String, key: String)
    /// No TLS: only behind something that ends TLS, or on a loopback address.
    case none
}

/// What an endpoint is made with.
public struct EndpointConfiguration: Sendable {
    /// The addresses to listen on, TCP and UDP, at most 16: literals; `0.0.0.0` or `::` for every interface of the family,
    /// `any` for both. IPv6 sockets carry IPv6 only.
    public var listenAddresses = ["127.0.0.1"]
    /// TCP port of the call lines, the same on every address; 0 takes a free one.
    public var port: UInt16 = 0
    /// UDP port of all media paths, the same on every address; 0 takes a free one.
    public var udpPort: UInt16 = 0
    /// The certificate of the call line.
    public var identity = EndpointIdentity.selfSigned
    /// Keys that may call, none of them empty. Without any, every caller is let in.
    public var keys: [String] = []
    /// Origins a browser may call from, such as `https://app.example`. Empty allows every one.
    public var origins: [String] = []
    /// What the answers announce in an address's place, behind a 1:1 NAT: from the address of this machine to the one the
    /// world knows, literals of one family. `0.0.0.0` or `::` stand for every address of the family that has no entry.
    public var announcedAddresses: [String: String] = [:]
    /// The agent's in-app call audio.
    public var callAudio = CallAudio.auto
    /// Declines every offer with this word (`disabled`, `busy`); nil to answer them.
    public var declineOffersWith: String?
    /// Connections at one time, 1…1,000,000; 64 more are answered with 503, and what comes beyond is closed at once.
    public var connectionLimit = 1_000
    /// Whether flights of the handshake travel on the line where the client begins with it. By default they do.
    public var handshake = HandshakeOptions()
    /// Budgets and bounds of each call.
    public var limits = TransportLimits()
    /// Whether each call keeps what it was told and decided, for `AgentCall.flightRecording`: a few KiB, 64 at most.
    public var recordsFlights = true

    public init() {}
}
