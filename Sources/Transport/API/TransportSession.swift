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
    private let life = Mutex(Life.new)

    /// How far the application has come with the call; the driver does the rest.
    private enum Life {
        case new
        /// `start` makes the driver; the end that was asked for meanwhile comes once it is there.
        case starting(end: End?)
        case running(ClientDriver)
        /// Ended before it was placed.
        case over
    }

    /// How the application ends a call: hung up, or as failed with a message.
    private struct End {
        var failure: String?
    }

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
    /// - Throws: `alreadyStarted`, also after `end`; or `system` when this machine has no thread or descriptor left: the
    ///   call has then failed.
    public func start() throws(TransportError) {
        let isFirst = life.withLock { life in
            guard case .new = life else { return false }
            life = .starting(end: nil)
            return true
        }
        guard isFirst else { throw .alreadyStarted }
        let driver: ClientDriver
        do throws(TransportError) {
            driver = try ClientDriver(settings: settings, capture: capture, playout: playout, shared: shared)
        } catch {
            life.withLock { $0 = .over }
            finish(.failed(message: "\(error)"))
            throw error
        }
        driver.start()
        let asked: End? = life.withLock { life in
            defer { life = .running(driver) }
            if case .starting(let end) = life { return end }
            return nil
        }
        if let asked { driver.end(failure: asked.failure) }
    }

    /// Hangs up. Idempotent. A session that was not started is over then, too: it places no call any more.
    public func end() { end(End()) }

    /// Ends the call as failed, with a message for the logs and the peer (the microphone was lost, say).
    public func end(failure message: String) { end(End(failure: message)) }

    private func end(_ end: End) {
        var isNeverPlaced = false
        let driver: ClientDriver? = life.withLock { life in
            switch life {
            case .new:
                life = .over
                isNeverPlaced = true
                return nil
            case .starting(let earlier):
                life = .starting(end: earlier ?? end)
                return nil
            case .running(let driver): return driver
            case .over: return nil
            }
        }
        driver?.end(failure: end.failure)
        if isNeverPlaced { finish(end.failure.map { .failed(message: $0) } ?? .ended(.local)) }
    }

    /// The end of a call that was never placed.
    private func finish(_ outcome: CallOutcome) {
        _ = shared.yield(.stateChanged(.ended))
        shared.finish(outcome)
    }

    /// Sends an application's message: one JSON object whose `type` does not begin with `transport.`.
    ///
    /// Taken in order. Dropped, and counted by the call, before welcome, after the end, and while a mebibyte waits.
    ///
    /// - Parameter message: UTF-8, at most 256 KiB.
    /// - Throws: `invalidMessage`; then nothing was sent.
    public func send(message: [UInt8]) throws(TransportError) {
        try ApplicationMessage.check(message)
        let driver: ClientDriver? = life.withLock { life in
            if case .running(let driver) = life { driver } else { nil }
        }
        driver?.send(message: message)
    }

    /// Tells the call that the network may have changed: addresses are read again, and an active call's media path is looked
    /// at as if it were broken. Costs a few checks and two seconds of audio on both carriages; from any thread, at any time.
    public func networkMayHaveChanged() {
        let driver: ClientDriver? = life.withLock { life in
            if case .running(let driver) = life { driver } else { nil }
        }
        driver?.networkHint()
    }

    /// The call as it stands; at most 100 ms old while it is active.
    public var snapshot: TransportSnapshot { shared.snapshot }

    /// What the call was told and what it decided so far, the newest 64 KiB of it; also after its end. Holds no audio, no
    /// message, no address and no secret. Empty where `recordsFlight` is off, or nothing was decided yet.
    ///
    /// May be called from any thread; the test kit's `FlightReplay` reads it.
    public func flightRecording() -> [UInt8] { settings.call.recorder?.recording() ?? [] }

    /// Waits for the end of the call.
    public func outcome() async -> CallOutcome { await shared.outcome() }
}
