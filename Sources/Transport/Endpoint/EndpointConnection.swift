internal import ICELite
import TransportLine
import TransportMedia
import TransportRuntime

/// One line of an endpoint with the call on it. Confined to the endpoint's loop; other threads only submit work.
final class EndpointConnection: @unchecked Sendable {
    private static let lineRoom = 16_384
    private static let snapshotInterval = Nanoseconds.milliseconds(100)

    private unowned let driver: EndpointDriver
    private var stream: ByteStream?
    private var call: ServerCall
    private var timer: TimerID?
    private var lineBytes: [UInt8] = []
    /// The key of a caller who had to show one.
    private var key: String?
    private var takenID: CallIDs.Entry?
    private var agent: AgentCall?
    private let recorder: FlightRecorder?
    private let received: PCMRing
    private let outgoing: PCMRing
    private var isDraining = false
    private var isFinished = false
    private var snapshotAt = Instant.zero
    private let openedAt: Instant

    init(_ driver: EndpointDriver, stream: ByteStream, now: Instant) throws(TransportError) {
        self.driver = driver
        self.stream = stream
        openedAt = now
        received = PCMRing(minimumCapacity: TransportSession.ringSamples)
        outgoing = PCMRing(minimumCapacity: TransportSession.ringSamples)
        recorder = driver.configuration.recordsFlights ? FlightRecorder() : nil
        var configuration = ServerCallConfiguration()
        configuration.recorder = recorder
        configuration.limits = driver.configuration.limits
        configuration.isStandard = driver.configuration.callAudio == .standard
        configuration.declineWord = driver.configuration.declineOffersWith
        configuration.asksForAdmission = true
        configuration.handshake = driver.configuration.handshake
        configuration.announced = driver.candidates(lineLocal: stream.localAddress)
        CertificateSupply.process.renewIfDue(now: now)
        var randomness = Randomness.system
        let ssrc = SSRC.random(using: &randomness)
        do {
            let media = CallMedia(
                sender: try AudioSender(ssrc: ssrc, payloadType: .defaultOpus, randomness: &randomness),
                receiver: try AudioReceiver(payloadType: .defaultOpus), capture: outgoing, playout: received)
            call = ServerCall(
                configuration: configuration, certificate: DTLSCertificate.shared, media: media, ssrc: ssrc,
                randomness: randomness, now: now)
        } catch {
            throw .system("Opus cannot be set up: \(error)")
        }
        timer = driver.loop.makeTimer { [unowned self] in
            call.handleTimeout(now: driver.loop.now)
            drain()
        }
        stream.onBytes = { [unowned self] bytes in
            call.receiveLine(bytes, now: driver.loop.now)
            drain()
        }
        stream.onEvent = { [unowned self] event in
            switch event {
            case .connected, .writable: drain()
            case .closed:
                self.stream = nil
                call.lineEnded(now: driver.loop.now)
                drain()
            }
        }
        drain()
    }

    /// Takes a datagram; true when its tuple is the call's.
    func receive(_ packet: inout Packet, _ path: NetworkPath) -> Bool {
        let now = driver.loop.now
        call.receive(&packet, path: path, now: now)
        if let wanted = call.admissionWanted {
            call.settleAdmission(of: wanted, isAdmitted: driver.admits(wanted.remote.ip, now: now))
        }
        drain()
        return !isFinished && call.isAuthenticated(path)
    }

    /// Whether `path` stays this call's, whatever checks another one: its media has just come from there.
    func holds(_ path: NetworkPath) -> Bool { call.holds(path, now: driver.loop.now) }

    /// The endpoint goes away: both carriages say so. The connection is removed when the client has heard it.
    func goAway() {
        call.goAway(now: driver.loop.now)
        drain()
    }

    /// Ends at once what `goAway` did not end in time.
    func abort() {
        guard !isFinished else { return }
        stream?.abort()
        stream = nil
        finish()
    }

    private func drain() {
        guard !isDraining, !isFinished else { return }
        isDraining = true
        let now = driver.loop.now
        var isSettled = false
        while !isSettled {
            isSettled = true
            while let event = call.pollEvent() {
                handle(event, now: now)
                isSettled = false
            }
        }
        while var packet = driver.pool.take() {
            guard let transmit = call.pollTransmit(into: &packet, now: now) else { break }
            driver.send(packet, transmit.path)
        }
        writeLine()
        if call.isLineFinished, lineBytes.isEmpty { stream?.shutdown() }
        if now >= snapshotAt || call.state != .active { updateSnapshot(now: now) }
        isDraining = false
        if call.state == .ended, stream == nil { return finish() }
        if let timer { _ = driver.loop.arm(timer, at: call.nextDeadline) }
    }

    private func writeLine() {
        guard let stream, stream.isOpen else { return }
        while true {
            if lineBytes.isEmpty { lineBytes = call.lineOutput(atMost: Self.lineRoom) }
            if lineBytes.isEmpty { return }
            lineBytes.removeFirst(stream.write(lineBytes.span.bytes))
            guard !lineBytes.isEmpty else { continue }
            return lineBytes.removeLast(call.withdrawLineAudio(unwritten: lineBytes.count))
        }
    }

    private func handle(_ event: ServerCall.Event, now: Instant) {
        switch event {
        case .upgradeRequested(let request): upgrade(request, now: now)
        case .helloReceived(let id): hello(id, now: now)
        case .stateChanged(let state):
            guard state != .ended else { return }
            updateSnapshot(now: now)
            _ = agent?.shared.yield(.stateChanged(state))
        case .transportChanged(let kind, let fallback):
            updateSnapshot(now: now)
            _ = agent?.shared.yield(.transportChanged(kind, fallback))
        case .recoveringChanged(let isOn):
            updateSnapshot(now: now)
            _ = agent?.shared.yield(.recoveringChanged(isOn))
        case .message(let bytes):
            if agent?.shared.yield(.message(bytes)) == false { call.fail(CallMessage.messagesNotTaken, now: now) }
        case .ufragsChanged:
            driver.route(ufrags: call.localUfrags, ssrc: call.remoteSSRC, to: self)
        case .ended(let outcome):
            if let agent {
                agent.shared.update(call.snapshot(startedAt: openedAt, now: now))
                _ = agent.shared.yield(.stateChanged(.ended))
                agent.shared.finish(outcome)
            }
        }
    }

    /// Before an event, too: who reacts to it must not read the call as it was.
    private func updateSnapshot(now: Instant) {
        guard let agent else { return }
        snapshotAt = now + Self.snapshotInterval
        agent.shared.update(call.snapshot(startedAt: openedAt, now: now))
    }

    private func upgrade(_ request: UpgradeRequest, now: Instant) {
        let configuration = driver.configuration
        if driver.isFull {
            return call.refuse(LineRefusal(status: 503, message: "too many calls", retryAfterSeconds: 5), now: now)
        }
        if let origin = request.origin, !configuration.origins.isEmpty, !configuration.origins.contains(origin) {
            return call.refuse(LineRefusal(status: 403, message: "this origin may not call"), now: now)
        }
        if !configuration.keys.isEmpty, !Self.matches(request.key, configuration.keys) {
            return call.refuse(LineRefusal(status: 401, message: "the key is not known"), now: now)
        }
        if !configuration.keys.isEmpty { key = request.key }
        call.accept(now: now)
    }

    /// Compares with every key in time that depends on lengths only.
    private static func matches(_ key: String?, _ keys: [String]) -> Bool {
        guard let key else { return false }
        let given = Array(key.utf8)
        var isKnown = false
        for candidate in keys {
            let expected = Array(candidate.utf8)
            guard !expected.isEmpty else { continue }
            var difference = given.count ^ expected.count
            for index in 0..<given.count { difference |= Int(given[index] ^ expected[index % expected.count]) }
            isKnown = difference == 0 || isKnown
        }
        return isKnown
    }

    private func hello(_ id: String, now: Instant) {
        let entry = CallIDs.Entry(key: key, id: id)
        guard driver.take(entry, now: now) else { return call.reject(.callExists, now: now) }
        takenID = entry
        let shared = CallShared(messageLimit: driver.configuration.limits.queuedMessages)
        let driver = driver
        let agent = AgentCall(
            id: id, received: received, send: outgoing, shared: shared, recorder: recorder,
            onEnd: { [weak self] in
                driver.loop.submit { [weak self] in
                    guard let self, !self.isFinished else { return }
                    self.call.hangUp(now: driver.loop.now)
                    self.drain()
                }
            },
            onMessage: { [weak self] message in
                driver.loop.submit { [weak self] in
                    guard let self, !self.isFinished else { return }
                    _ = self.call.send(message: message, now: driver.loop.now)
                    self.drain()
                }
            })
        self.agent = agent
        call.welcome(session: id, now: now)
        let handler = driver.handler
        Task {
            await handler(agent)
            agent.end()
        }
    }

    private func finish() {
        guard !isFinished else { return }
        isFinished = true
        if let timer { driver.loop.cancel(timer) }
        timer = nil
        driver.remove(self, callID: takenID)
    }
}
