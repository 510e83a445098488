package import ICELite

/// Every limit of a call in one place: budgets, patiences, sizes. The defaults are the published ones.
///
/// A limit may be made shorter for a test or a benchmark. The budgets are promises to the application: no session is made
/// with one that is longer than its default.
public struct TransportLimits: Sendable, Hashable {
    // MARK: Budgets

    /// From `start` to the server's welcome; then the call failed.
    public var lineBudget: Duration = .seconds(15)
    /// From hello to a decided carriage; then the WebSocket carries the call.
    public var mediaPathBudget: Duration = .seconds(12)
    /// From `start` to active; then the call failed.
    public var connectingBudget: Duration = .seconds(27)
    /// From a select of the WebSocket to active; then the call failed.
    public var webSocketActiveBudget: Duration = .seconds(15)

    // MARK: Patiences (each may be raised up to the media path's budget)

    /// No answer to any check this long after the last new pair: `ice_no_response`.
    public var checkPatience: Duration = .seconds(3)
    /// The least wait, from the first answer, for the handshake to move: `dtls_timeout`.
    public var handshakePatience: Duration = .seconds(3)
    /// The same wait in round trips; the longer of the two holds.
    public var handshakePatienceRoundTrips = 8
    /// The least wait for a packet after the keys: `media_timeout`, stage downlink.
    public var mediaPatience: Duration = .seconds(3)
    /// From the select until the server heard us: `media_timeout`, stage uplink.
    public var uplinkPatience: Duration = .seconds(2)
    /// The line counts as healthy while its last frame is no older than this.
    public var lineHealthy: Duration = .seconds(1)

    // MARK: Server

    /// From the accepted connection to its HTTP upgrade request, TLS included.
    public var upgradeTimeout: Duration = .seconds(5)
    /// From the upgrade to hello; then 4408.
    public var helloTimeout: Duration = .seconds(5)
    /// From welcome to the first select; then the server ends the call.
    public var selectTimeout: Duration = .seconds(20)
    /// An unanswered select is sent again once after this long.
    public var selectResend: Duration = .seconds(2)
    /// An ended call id stays refused for this long.
    public var endedCallIDKept: Duration = .seconds(60)

    // MARK: An active call

    /// How long a broken media path may take to come back, from its suspicion: the recovery window.
    public var recoveryWindow: Duration = .seconds(10)
    /// The line carries a call on whose path did not come back only if its last frame is no older than this.
    public var lineCarries: Duration = .seconds(2)
    /// A call on the media path lives this long without its line.
    public var lineLostLimit: Duration = .seconds(30)
    /// Audio on the carriage that a select closed is still welcome for this long.
    public var closedCarriageGrace: Duration = .seconds(1)

    // MARK: Sizes

    /// Audio packets the client parks that came on the line before its select.
    public var parkedLinePackets = 50
    /// Application messages waiting for the application; the call ends as failed beyond.
    public var queuedMessages = 256
    /// Bytes waiting to be written to the line; an application's message is dropped and counted beyond.
    public var queuedLineBytes = 1 << 20

    public init() {}
}

extension TransportLimits {
    /// The name of a budget that is longer than its default: a promise that would not be kept.
    var overlongBudget: String? {
        let published = TransportLimits()
        let budgets: [(String, KeyPath<TransportLimits, Duration>)] = [
            ("lineBudget", \.lineBudget), ("mediaPathBudget", \.mediaPathBudget),
            ("connectingBudget", \.connectingBudget), ("webSocketActiveBudget", \.webSocketActiveBudget),
        ]
        return budgets.first { self[keyPath: $0.1] > published[keyPath: $0.1] }?.0
    }

    /// How long an end waits for a frame after the keys or the first answer: the patience, or its round trips if longer.
    package func handshakePatience(roundTrip: Nanoseconds?) -> Nanoseconds {
        max(handshakePatience.nanoseconds, Int64(handshakePatienceRoundTrips) &* (roundTrip ?? 0))
    }
}
