internal import ICELite
package import TransportMedia

/// The server's end of calls: listens for call lines on one TCP port and answers media paths on one UDP port of every
/// address it is given, and hands each call to the agent.
///
/// All of it runs on one thread of its own; the handler of each call runs as a task.
public final class AgentEndpoint: Sendable {
    /// Where the line is reached, `127.0.0.1:8443`, `[::1]:8443`, with the port that was taken: the addresses listened on
    /// in their order, a wildcard as those of the interfaces, loopback last and link-local left out.
    public let addresses: [String]
    /// The first of `addresses`.
    public var address: String { addresses.first ?? "" }
    /// The UDP port of all media paths.
    public let udpPort: UInt16
    /// The certificate as PEM: a client may trust it as its authority. Empty without TLS.
    public let certificatePEM: String

    private let driver: EndpointDriver

    /// Listens at once.
    ///
    /// - Parameter handler: the agent: called for each call as it is welcomed, before it is active. Its return hangs up.
    /// - Throws: `invalidOptions`, `addressInUse`, or `system`.
    public init(
        configuration: EndpointConfiguration, handler: @escaping @Sendable (AgentCall) async -> Void
    ) throws(TransportError) {
        driver = try EndpointDriver(configuration, handler: handler)
        addresses = driver.lineAddresses.map(\.description)
        udpPort = driver.udpPort
        certificatePEM = driver.certificatePEM
    }

    deinit { stop() }

    /// Ends every call, closes every socket and waits for the thread's end. Idempotent.
    ///
    /// Each customer is told at once, on line and path, and hears of it as of a hang-up; to the agent the call has failed.
    /// Blocks for as long as the customers' answers take, at most a quarter of a second.
    public func stop() { driver.stop() }

    /// Calls and connections there are now.
    public var connectionCount: Int { driver.connectionCount }
}

/// One call, as the agent holds it.
public final class AgentCall: Sendable {
    /// The client's id of the call.
    public let id: String
    /// 48 kHz mono Int16 heard from the customer; one thread reads.
    public let received: PCMRing
    /// 48 kHz mono Int16 to be said to the customer; one thread writes. Nothing of it is sent before the call is active.
    public let send: PCMRing
    /// What happens, in order, ending with `ended`. For one reader.
    public let events: AsyncStream<TransportEvent>

    let shared: CallShared
    private let recorder: FlightRecorder?
    private let onEnd: @Sendable () -> Void
    private let onMessage: @Sendable ([UInt8]) -> Void

    init(
        id: String, received: PCMRing, send: PCMRing, shared: CallShared, recorder: FlightRecorder?,
        onEnd: @escaping @Sendable () -> Void, onMessage: @escaping @Sendable ([UInt8]) -> Void
    ) {
        self.id = id
        self.received = received
        self.send = send
        self.shared = shared
        self.recorder = recorder
        self.onEnd = onEnd
        self.onMessage = onMessage
        events = shared.events
    }

    /// Hangs up. Idempotent.
    public func end() { onEnd() }

    /// Sends an application's message: one JSON object whose `type` does not begin with `transport.`.
    ///
    /// - Parameter message: UTF-8, at most 256 KiB.
    /// - Throws: `invalidMessage`; then nothing was sent.
    public func send(message: [UInt8]) throws(TransportError) {
        try ApplicationMessage.check(message)
        onMessage(message)
    }

    /// The call as it stands.
    public var snapshot: TransportSnapshot { shared.snapshot }

    /// What this end of the call was told and what it decided so far: see `TransportSession.flightRecording`.
    public func flightRecording() -> [UInt8] { recorder?.recording() ?? [] }

    /// Waits for the end of the call.
    public func outcome() async -> CallOutcome { await shared.outcome() }
}
