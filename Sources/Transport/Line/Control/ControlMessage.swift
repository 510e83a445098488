/// A message of the call line itself: a text whose `type` begins with `transport.`.
///
/// Words (transports, reasons, stages, codes) stay strings here: an unknown one is kept, never an error.
package enum ControlMessage: Hashable, Sendable {
    case hello(Hello)
    case welcome(Welcome)
    case candidate(Candidate)
    case dtls(DTLSFlights)
    case select(Select)
    case selected(Selected)
    case bridge(Bridge)
    case restart(Restart)
    case restarted(Restart)
    case restartNeeded
    case fallback(Fallback)
    case check
    case flush(Flush)
    case flushed(Flushed)
    case mark(Mark)
    case marked(Marked)
    case ack(Ack)
    case bye(Bye)
    case error(LineError)

    /// What a text turned out to be.
    package enum Decoded: Hashable, Sendable {
        /// A message of this layer.
        case transport(ControlMessage)
        /// A `transport.` type of a newer version: ignored.
        case unknownTransport(type: String)
        /// The application's: its bytes pass on untouched.
        case application(type: String)
    }

    /// What begins the types of this layer.
    package static let prefix = "transport."
    /// Most datagrams in hello's or welcome's `webrtc.dtls`.
    package static let maximumFirstDatagrams = 2
    /// Most datagrams in one `transport.dtls`.
    package static let maximumDatagrams = 8
    /// Longest datagram, in bytes.
    package static let maximumDatagramBytes = 1_500
    /// Longest SDP, in bytes.
    package static let maximumSDPBytes = 64 * 1_024
    /// Longest id, token, word or candidate, in bytes.
    package static let maximumWordBytes = 1_024
    /// Longest message or detail for people, in bytes.
    package static let maximumDetailBytes = 4_096
    /// Most entries in any list of words.
    package static let maximumListCount = 64
    /// Most ICE servers in welcome.
    package static let maximumICEServers = 4

    /// The value of `type`.
    package var type: String {
        switch self {
        case .hello: "transport.hello"
        case .welcome: "transport.welcome"
        case .candidate: "transport.candidate"
        case .dtls: "transport.dtls"
        case .select: "transport.select"
        case .selected: "transport.selected"
        case .bridge: "transport.bridge"
        case .restart: "transport.restart"
        case .restarted: "transport.restarted"
        case .restartNeeded: "transport.restart_needed"
        case .fallback: "transport.fallback"
        case .check: "transport.check"
        case .flush: "transport.flush"
        case .flushed: "transport.flushed"
        case .mark: "transport.mark"
        case .marked: "transport.marked"
        case .ack: "transport.ack"
        case .bye: "transport.bye"
        case .error: "transport.error"
        }
    }
}
