public import ICELite
package import TransportLine

/// When a call reached the stages of its set-up, as time since `start`; nil for those it did not reach.
public struct SetupTimings: Hashable, Sendable {
    /// The server's name is resolved.
    public var resolved: Duration?
    /// TCP is connected.
    public var connected: Duration?
    /// TLS is done.
    public var secured: Duration?
    /// The HTTP upgrade was answered.
    public var upgraded: Duration?
    /// Hello was handed to the line.
    public var hello: Duration?
    /// Welcome came.
    public var welcome: Duration?
    /// The first connectivity check was sent.
    public var firstCheck: Duration?
    /// A connectivity check was answered.
    public var firstAnswer: Duration?
    /// The SRTP keys were final: both Finished verified. Where flights travel on the line, this may be before `firstAnswer`.
    public var keys: Duration?
    /// The first audio packet came that decodes.
    public var firstAudio: Duration?
    /// Both ends heard each other.
    public var active: Duration?

    public init() {}
}

/// What a media path and its handshake became, for reports.
public struct MediaPathSnapshot: Hashable, Sendable {
    /// Our address of the pair that is selected.
    public var localAddress: SocketAddress?
    /// The peer's.
    public var remoteAddress: SocketAddress?
    /// Our addresses as STUN servers told them, which the peer was told as candidates; empty where no NAT is in between.
    public var reflexiveAddresses: [SocketAddress] = []
    /// Connectivity checks sent, retransmissions included.
    public var checksSent = 0
    /// The pair's round trip.
    public var roundTrip: Duration?
    /// `DTLSv1.2`; nil before the handshake is done.
    public var dtlsVersion: String?
    /// The cipher suite's name in OpenSSL's words.
    public var dtlsCipher: String?
    /// Our half of the handshake: `client`, or `server` where the peer's answer was active; nil before the handshake is done.
    public var dtlsRole: String?
    /// Handshake datagrams that our own timer sent again.
    public var dtlsRetransmissions = 0
    /// What each of `HandshakeOptions` did.
    public var shortcuts = HandshakeShortcuts()
    /// `SRTP_AEAD_AES_128_GCM` and the like.
    public var srtpProfile: String?
    /// Datagrams and bytes on the path, headers of UDP and IP not counted.
    public var packetsSent = 0
    public var packetsReceived = 0
    public var bytesSent = 0
    public var bytesReceived = 0

    public init() {}
}

/// What the steps of `HandshakeOptions` did in a call.
public struct HandshakeShortcuts: Hashable, Sendable {
    /// A ClientHello went with our offer; at the endpoint: came with the peer's and was answered.
    public var helloOffered = false
    /// The answer carried the server's flight. Client only.
    public var helloAnswered = false
    /// ClientHellos of an offer that could not be used.
    public var hellosUnusable = 0
    /// Later flights of ours that went on the line, and those of the peer's that came there.
    public var flightsOnLineSent = 0
    public var flightsOnLineReceived = 0
    /// Flights of the peer's that the line brought first, and those that UDP did.
    public var flightsFirstByLine = 0
    public var flightsFirstByUDP = 0
    /// Pairs whose first check our flight followed at once. Client only.
    public var flightsBehindChecks = 0
    /// Media packets sent before the peer's Finished. Client only.
    public var earlyPacketsSent = 0

    public init() {}
}

/// How a call's line was closed: a call on WebRTC may go on without it for a while.
public struct LineClose: Hashable, Sendable {
    /// Codes by which the server says that the call is over.
    static let rejections: ClosedRange<UInt16> = 4_400...4_599

    /// The WebSocket close code; 1005 where the close frame had none, 1006 where there was no close frame.
    public var code: UInt16
    /// The close frame's reason, or what was seen.
    public var reason: String
}

/// Counters of the audio that came in and went out, whatever carried it. Monotonic, in W3C webrtc-stats' sense.
public struct AudioSnapshot: Hashable, Sendable {
    public var packetsSent: Int64 = 0
    public var packetsReceived: Int64 = 0
    public var packetsReceivedOnPath: Int64 = 0
    public var packetsReceivedOnLine: Int64 = 0
    /// Packets that came on neither carriage, before repair; falls when one comes late.
    public var packetsLost: Int64 = 0
    public var packetsDiscarded: Int64 = 0
    public var duplicates: Int64 = 0
    /// RFC 3550 interarrival jitter in seconds.
    public var jitter = 0.0
    public var totalSamplesReceived: Int64 = 0
    public var concealedSamples: Int64 = 0
    public var silentConcealedSamples: Int64 = 0
    public var concealmentEvents: Int64 = 0
    /// The playout delay now, in milliseconds.
    public var playoutDelay = 0.0

    public init() {}
}

/// A call as it stands: state, carriage, reason, timings and counters. A value; taking one stops nothing.
public struct TransportSnapshot: Hashable, Sendable {
    public var state: TransportState = .idle
    /// What carries the audio; nil while it is undecided.
    public var transport: TransportKind?
    /// Why the call runs on the WebSocket although it wanted WebRTC.
    public var fallback: TransportFallback?
    public var outcome: CallOutcome?
    /// Why the line was refused or could not be had; nil where it opened.
    public var refusal: LineRefusal?
    /// How the line was closed; nil while it is there, and where it was refused.
    public var lineClose: LineClose?
    public var setup = SetupTimings()
    /// The outages of the media path, and what was done about them.
    public var recovery = RecoverySnapshot()
    public var path: MediaPathSnapshot?
    public var audio = AudioSnapshot()

    public init() {}
}

/// What happens in a call, in order.
public enum TransportEvent: Hashable, Sendable {
    case stateChanged(TransportState)
    /// The carriage was chosen, or changed, and why it is the WebSocket.
    case transportChanged(TransportKind, TransportFallback?)
    /// The media path is broken and being repaired, or is not any more. The call is active all the while.
    case recoveringChanged(Bool)
    /// An application's message: one JSON object, byte for byte.
    case message([UInt8])
    /// The last event.
    case ended(CallOutcome)
}
