internal import ICELite
import TransportLine
import TransportMedia
import TransportRuntime

/// Drives one `ClientCall` on real sockets: the byte stream of the line, a UDP socket for each local address, one timer.
///
/// `@unchecked Sendable`: everything mutable is confined to `loop`'s thread; other threads only submit work to it.
final class ClientDriver: @unchecked Sendable {
    /// A configuration that was checked.
    struct Settings: Sendable {
        /// Bytes a key has at most: the request's head must hold it.
        static let keyLimit = 4_096

        let call: ClientCallConfiguration
        let trust: TLSContext.Trust
        let pathDetour: (@Sendable (SocketAddress) -> SocketAddress?)?
        let lineDetour: LineDetour?
        let origin: ByteStream.Origin

        init(_ configuration: TransportConfiguration) throws(TransportError) {
            let url: CallLineURL
            do throws(CallLineURLError) {
                url = try CallLineURL(configuration.url)
            } catch {
                throw .invalidOptions("url: \(error)")
            }
            guard (1...256).contains(configuration.callID.utf8.count) else {
                throw .invalidOptions("callID must have 1…256 bytes")
            }
            if let key = configuration.key {
                guard !key.isEmpty, key.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
                    key.utf8.count <= Self.keyLimit
                else { throw .invalidOptions("key must be printable ASCII without spaces") }
            }
            var call = ClientCallConfiguration(url: url, key: configuration.key, callID: configuration.callID)
            call.wanted = configuration.callTransport
            call.isStandard = configuration.callAudio == .standard
            call.recovery = configuration.recoveryPolicy
            call.handshake = configuration.handshake
            if let budget = configuration.limits.overlongBudget {
                throw .invalidOptions("limits.\(budget) is longer than its default")
            }
            call.limits = configuration.limits
            call.recorder = configuration.recordsFlight ? FlightRecorder() : nil
            for url in configuration.stunServers {
                guard let server = STUNServer(url: url) else {
                    throw .invalidOptions("stunServers: \(url) is not stun:host[:port]")
                }
                call.stunServers.append(server)
            }
            self.call = call
            switch configuration.trust {
            case .system: trust = .system
            case .caFile(let path): trust = .file(path)
            case .insecure:
                guard url.literal?.isLoopback == true else {
                    throw .invalidOptions("trust: .insecure is for a literal loopback address only")
                }
                trust = .insecure
            }
            pathDetour = configuration.pathDetour
            lineDetour = configuration.lineDetour
            origin = ByteStream.Origin(address: configuration.localAddress, family: configuration.addressFamily)
            if let local = configuration.localAddress, !origin.allows(local.family) {
                throw .invalidOptions("localAddress is no IP\(origin.family ?? local.family) address")
            }
        }
    }

    /// Packets in hand at most; one call needs a handful.
    private static let poolSize = 128
    /// Room for the line's bytes on their way to the stream.
    private static let lineRoom = 16_384
    /// How often the snapshot is renewed while nothing happens.
    private static let snapshotInterval = Nanoseconds.milliseconds(100)

    let settings: Settings
    private let shared: CallShared
    let loop: EventLoop
    private let tls: TLSContext?
    let pool = PacketPool(size: poolSize)
    var call: ClientCall
    var stream: ByteStream?
    /// One for each interface and family, most preferred first.
    var sockets: [UDPSocket] = []
    /// A second one of some of their addresses, on another port, while an outage is being repaired.
    var freshSockets: [UDPSocket] = []
    /// Those that were opened so far.
    var freshSocketsOpened = 0
    /// `EventLoop.stallCount` that was taken note of.
    var stallsSeen = 0
    var monitor: NetworkMonitor?
    /// The peer is on this machine: loopback addresses are used, and only they.
    var isLoopback = false
    var lookups: [STUNServer: Resolver] = [:]
    /// Addresses that no socket could be opened on.
    var socketFailures = 0
    private var timer: TimerID?
    private var lineBytes: [UInt8] = []
    var detours: [SocketAddress: SocketAddress] = [:]
    private var startedAt = Instant.zero
    private var snapshotAt = Instant.zero
    private(set) var isFinished = false
    private var isDraining = false
    /// The application does not take its messages.
    private var isOverrun = false
    /// The loop's callbacks do not own the driver: it owns itself from start to end.
    private var keepAlive: ClientDriver?

    init(
        settings: Settings, capture: PCMRing, playout: PCMRing, shared: CallShared
    ) throws(TransportError) {
        self.settings = settings
        self.shared = shared
        var randomness = Randomness.system
        let ssrc = SSRC.random(using: &randomness)
        do {
            let media = CallMedia(
                sender: try AudioSender(ssrc: ssrc, payloadType: .defaultOpus, randomness: &randomness),
                receiver: try AudioReceiver(payloadType: .defaultOpus), capture: capture, playout: playout)
            call = ClientCall(
                configuration: settings.call, certificate: DTLSCertificate.shared, media: media, ssrc: ssrc,
                randomness: randomness)
        } catch {
            throw .system("Opus cannot be set up: \(error)")
        }
        do throws(TLSError) {
            tls = settings.call.url.isSecure ? try TLSContext(trust: settings.trust) : nil
        } catch {
            throw .invalidOptions("trust: \(error)")
        }
        do throws(SocketError) {
            loop = try EventLoop(name: "graine-call")
        } catch {
            throw .system("\(error)")
        }
        // For the calls after this one.
        CertificateSupply.process.renewIfDue(now: loop.now)
    }

    // MARK: From any thread

    func start() { loop.submit { self.begin() } }

    func end(failure message: String?) {
        loop.submit {
            if let message { self.call.fail(message, now: self.loop.now) } else { self.call.hangUp(now: self.loop.now) }
            self.drain()
        }
    }

    func send(message: [UInt8]) {
        loop.submit {
            _ = self.call.send(message: message, now: self.loop.now)
            self.drain()
        }
    }

    // MARK: On the loop

    private func begin() {
        let now = loop.now
        keepAlive = self
        startedAt = now
        timer = loop.makeTimer { [unowned self] in
            call.handleTimeout(now: loop.now)
            drain()
        }
        call.start(now: now)
        let url = settings.call.url
        if call.offersMediaPath {
            watchNetwork(isLoopback: (settings.lineDetour?.target.ip ?? url.literal)?.unmapped.isLoopback == true)
        }
        connectLine(now: now)
        drain()
    }

    private func connectLine(now: Instant) {
        let url = settings.call.url
        let stream = ByteStream.connect(
            host: settings.lineDetour?.relay.ip.description ?? url.host,
            port: settings.lineDetour?.relay.port ?? url.port,
            tls: tls.map { ByteStream.Security(context: $0, host: url.host) },
            from: settings.lineDetour == nil ? settings.origin : ByteStream.Origin(),
            deadline: startedAt + settings.call.limits.lineBudget.nanoseconds, loop: loop)
        self.stream = stream
        stream.onEvent = { [unowned self] event in
            switch event {
            case .connected(let timing): connected(timing)
            case .writable: drain()
            case .closed(let error): streamClosed(error)
            }
        }
        stream.onBytes = { [unowned self] bytes in
            call.receiveLine(bytes, now: loop.now)
            drain()
        }
    }

    private func connected(_ timing: ByteStream.Timing) {
        call.timings.resolved = timing.resolved
        call.timings.connected = timing.connected
        call.timings.tlsDone = timing.secured
        setLoopback((settings.lineDetour?.target ?? stream?.remoteAddress)?.ip.unmapped.isLoopback == true)
        call.lineConnected(localAddresses: localAddresses, now: loop.now)
        drain()
    }

    private func streamClosed(_ error: StreamError?) {
        stream = nil
        if let error, call.timings.connected == nil {
            call.lineUnreachable("\(error)", now: loop.now)
        } else {
            call.lineEnded(now: loop.now)
        }
        drain()
    }

    /// Carries out all the call wants, then arms the timer. Not entered twice: what a callback adds is drained by the outer one.
    func drain() {
        guard !isDraining, !isFinished else { return }
        isDraining = true
        noticeStall()
        let now = loop.now
        sendDatagrams(now: now)
        writeLine()
        while let event = call.pollEvent() { handle(event, now: now) }
        // An event that was not taken has ended the call: its goodbye.
        if isOverrun {
            sendDatagrams(now: now)
            writeLine()
        }
        if call.isLineFinished, lineBytes.isEmpty, call.state == .ended { stream?.shutdown() }
        updateSnapshot(now: now)
        isDraining = false
        if call.state == .ended, stream == nil { return finish() }
        if let timer { _ = loop.arm(timer, at: call.nextDeadline) }
    }

    func sendDatagrams(now: Instant) {
        while var packet = pool.take() {
            guard let transmit = call.pollTransmit(into: &packet, now: now) else { return }
            guard let socket = socket(bound: transmit.path.local) else { continue }
            let remote = detour(transmit.path.remote)
            if case .failed(let errno) = socket.send(packet.bytes, to: remote) {
                call.sendFailed(path: transmit.path, failure: ICESendFailure(errno: errno), now: now)
            }
        }
    }

    private func socket(bound local: SocketAddress) -> UDPSocket? {
        sockets.first { $0.localAddress == local } ?? freshSockets.first { $0.localAddress == local }
    }

    private func writeLine() {
        guard let stream, stream.isOpen else { return }
        while true {
            if lineBytes.isEmpty {
                lineBytes = call.lineOutput(atMost: Self.lineRoom)
                if lineBytes.isEmpty { return }
            }
            let accepted = stream.write(lineBytes.span.bytes)
            lineBytes.removeFirst(accepted)
            guard !lineBytes.isEmpty else { continue }
            return lineBytes.removeLast(call.withdrawLineAudio(unwritten: lineBytes.count))
        }
    }

    private func handle(_ event: ClientCall.Event, now: Instant) {
        switch event {
        case .stateChanged(let state):
            if state != .ended { tell(.stateChanged(state), now: now) }
        case .transportChanged(let kind, let fallback): tell(.transportChanged(kind, fallback), now: now)
        case .recoveringChanged(let isOn): tell(.recoveringChanged(isOn), now: now)
        case .socketsWanted: openFreshSockets()
        case .socketsSettled: closeUnusedSockets()
        case .message(let bytes):
            guard !shared.yield(.message(bytes)) else { return }
            isOverrun = true
            call.fail(CallMessage.messagesNotTaken, now: now)
        case .lineWanted:
            lineBytes.removeAll()
            connectLine(now: now)
        case .resolve(let server): resolve(server, now: now)
        case .pathClosed: closeSockets(now: now)
        case .ended(let outcome):
            updateSnapshot(now: now, isForced: true)
            _ = shared.yield(.stateChanged(.ended))
            shared.finish(outcome)
        }
    }

    /// The snapshot is never older than an event that was delivered.
    private func tell(_ event: TransportEvent, now: Instant) {
        updateSnapshot(now: now, isForced: true)
        _ = shared.yield(event)
    }

    private func finish() {
        isFinished = true
        closeSockets(now: loop.now)
        if let timer { loop.cancel(timer) }
        timer = nil
        loop.stop()
        keepAlive = nil
    }

    private func updateSnapshot(now: Instant, isForced: Bool = false) {
        guard isForced || now >= snapshotAt || call.state != .active else { return }
        snapshotAt = now + Self.snapshotInterval
        shared.update(call.snapshot(startedAt: startedAt, now: now))
    }
}
