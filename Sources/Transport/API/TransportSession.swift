internal import ICELite
internal import Synchronization
package import TransportMedia

/// The client's end of one call.
///
/// Write 48 kHz mono PCM into `capture`, read it from `playout`, follow `events`. A session is one call: it is started
/// once, ends once, and the last reference dropped ends it, too. All of it runs on one thread of its own; every method may
/// be called from any thread and none of them blocks.
public final class TransportSession: Sendable {
    /// Samples each ring holds: a second at 48 kHz.
    public static let ringSamples = 48_000

    /// 48 kHz mono Int16 the application captures; one thread writes. What does not fit is dropped and counted.
    public let capture: PCMRing
    /// 48 kHz mono Int16 for the application to play; one thread reads.
    public let playout: PCMRing
    /// What happens, in order, ending with `ended`. For one reader.
    public let events: AsyncStream<TransportEvent>
    /// The id the call has.
    public let callID: String

    /// What costs tens of milliseconds once a process is begun before the first call waits for it.
    private static let libraries: Void = {
        Task.detached {
            SRTPSession.prepareLibrary()
            _ = DTLSCertificate.shared
        }
    }()

    private let shared: CallShared
    private let settings: ClientDriver.Settings
    private let driver = Mutex<ClientDriver?>(nil)
    private let isStarted = Mutex(false)

    /// Checks the configuration; opens nothing yet.
    ///
    /// - Throws: `invalidOptions`, naming the option.
    public init(configuration: TransportConfiguration) throws(TransportError) {
        settings = try ClientDriver.Settings(configuration)
        capture = PCMRing(minimumCapacity: Self.ringSamples)
        playout = PCMRing(minimumCapacity: Self.ringSamples)
        callID = configuration.callID
        _ = Self.libraries
        shared = CallShared(messageLimit: configuration.limits.queuedMessages)
        events = shared.events
    }

    deinit { end() }

    /// Places the call. Its budgets run from here.
    ///
    /// - Throws: `alreadyStarted`, or `system` when this machine has no thread or descriptor left.
    public func start() throws(TransportError) {
        let isFirst = isStarted.withLock { started in
            defer { started = true }
            return !started
        }
        guard isFirst else { throw .alreadyStarted }
        let driver = try ClientDriver(settings: settings, capture: capture, playout: playout, shared: shared)
        self.driver.withLock { $0 = driver }
        driver.start()
    }

    /// Hangs up. Idempotent.
    public func end() { driver.withLock { $0 }?.end(failure: nil) }

    /// Ends the call as failed, with a message for the logs and the peer (the microphone was lost, say).
    public func end(failure message: String) { driver.withLock { $0 }?.end(failure: message) }

    /// Sends an application's message: one JSON object whose `type` does not begin with `transport.`.
    ///
    /// Taken in order. Dropped, and counted by the call, before welcome, after the end, and while a mebibyte waits.
    public func send(message: [UInt8]) { driver.withLock { $0 }?.send(message: message) }

    /// The call as it stands; at most 100 ms old while it is active.
    public var snapshot: TransportSnapshot { shared.snapshot }

    /// Waits for the end of the call.
    public func outcome() async -> CallOutcome { await shared.outcome() }
}
