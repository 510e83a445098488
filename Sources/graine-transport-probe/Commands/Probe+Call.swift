internal import Foundation
internal import ICELite
internal import Synchronization
internal import Transport
internal import TransportTestKit

/// Places calls with `TransportSession`: the product's own path, with the relay in front when there is an impairment.
struct LiveCallPlacer: CallPlacing {
    func place(
        _ plan: CallPlan, progress: @escaping @Sendable (String) -> Void
    ) async throws(ProbeError) -> CallResult {
        // Lives as long as the call: an endpoint of our own when there is no target, a relay when something is impaired.
        let site = try CallSite(plan)
        defer { site.close() }

        var configuration = TransportConfiguration(url: site.url)
        configuration.key = plan.key
        configuration.pathDetour = site.pathDetour
        configuration.lineDetour = site.lineDetour
        configuration.callTransport = CallTransport(rawValue: plan.preference.rawValue) ?? .auto
        configuration.trust =
            if let file = site.caFile { .caFile(file) } else if plan.insecure { .insecure } else { .system }
        configuration.callID = "call_" + UUID().uuidString.lowercased()
        let session: TransportSession
        do throws(TransportError) {
            session = try TransportSession(configuration: configuration)
            try session.start()
        } catch {
            throw .usage("\(error)")
        }
        let heard = await withTaskCancellationHandler {
            await follow(session, plan, progress)
        } onCancel: {
            session.end()
        }
        // The end first: an interrupted call is not over yet.
        let outcome = await session.outcome()
        var result = CallResult(name: plan.name, preference: plan.preference)
        result.fill(from: session.snapshot)
        result.fill(from: outcome, session.snapshot.refusal)
        if let heard, result.wasActive {
            let said = plan.audio.prefix(Int(plan.duration * Double(RecordingResampler.callSampleRate)))
            result.returned = ReturnedAudio(original: Array(said), returned: heard)
            result.recording = plan.keepsRecording ? heard : nil
        }
        return result
    }

    /// Follows the call to its end and hangs up when its time is over.
    ///
    /// - Returns: What was heard since active; nil if it never was.
    private func follow(
        _ session: TransportSession, _ plan: CallPlan, _ progress: @escaping @Sendable (String) -> Void
    ) async -> [Int16]? {
        var speech: Task<[Int16], Never>?
        for await event in session.events {
            switch event {
            case .stateChanged(let state):
                progress(state.rawValue)
                guard state == .active, speech == nil else { continue }
                let pump = SpeechPump(capture: session.capture, playout: session.playout, audio: plan.audio)
                speech = Task {
                    let heard = await pump.run(for: .seconds(plan.duration))
                    session.end()
                    return heard
                }
            default: break
            }
        }
        // The call is over, or this task was cancelled: then the events end without an `ended`.
        speech?.cancel()
        return await speech?.value
    }
}

extension CallResult {
    fileprivate mutating func fill(from snapshot: TransportSnapshot) {
        state = snapshot.state.rawValue
        transport = snapshot.transport.flatMap { Transport(rawValue: $0.rawValue) }
        fallback = snapshot.fallback.map {
            Fallback(
                reason: $0.reason.wire, stage: $0.stage.rawValue, elapsedMilliseconds: $0.elapsed.milliseconds,
                detail: $0.detail)
        }
        let times = snapshot.setup
        setup.dns = times.resolved?.milliseconds
        setup.tcp = times.connected?.milliseconds
        setup.tls = times.secured?.milliseconds
        setup.upgrade = times.upgraded?.milliseconds
        setup.hello = times.hello?.milliseconds
        setup.welcome = times.welcome?.milliseconds
        setup.firstCheck = times.firstCheck?.milliseconds
        setup.ice = times.firstAnswer?.milliseconds
        setup.dtls = times.keys?.milliseconds
        setup.firstAudio = times.firstAudio?.milliseconds
        setup.active = times.active?.milliseconds
        if let hello = setup.hello, let audio = setup.firstAudio { setup.offerToFirstAudio = audio - hello }
        fillMedia(from: snapshot)
    }

    private mutating func fillMedia(from snapshot: TransportSnapshot) {
        let audio = snapshot.audio
        media.sent = Int(audio.packetsSent)
        media.received = Int(audio.packetsReceived)
        media.lost = Int(audio.packetsLost)
        media.duplicate = Int(audio.duplicates)
        media.jitter = audio.jitter * 1_000
        if audio.totalSamplesReceived > 0 {
            let concealed = audio.concealedSamples - audio.silentConcealedSamples
            media.concealedPercent = Double(concealed) * 100 / Double(audio.totalSamplesReceived)
        }
        guard let path = snapshot.path else { return }
        bytesSent = path.bytesSent
        bytesReceived = path.bytesReceived
        setup.rtt = path.roundTrip?.milliseconds
        ice = ICE()
        ice?.local = path.localAddress?.description
        ice?.remote = path.remoteAddress?.description
        ice?.checksSent = path.checksSent
        ice?.firstResponse = snapshot.setup.firstAnswer?.milliseconds
        guard let version = path.dtlsVersion else { return }
        dtls = DTLS()
        dtls?.version = version
        dtls?.cipher = path.dtlsCipher
        dtls?.srtpProfile = path.srtpProfile
        dtls?.role = "client"
        dtls?.retransmits = path.dtlsRetransmissions
        dtls?.helloInOffer = false
    }

    /// A call that never connected is a failure: refused, unreachable, or without any path.
    fileprivate mutating func fill(from outcome: CallOutcome, _ refusal: LineRefusal?) {
        switch outcome {
        case .failed(let message):
            self.outcome = ["outcome": "failed", "reason": .null, "error": .string(message)]
            failureCode = refusal?.code.rawValue ?? "no_path"
            failure =
                switch refusal?.code {
                case .network: .unreachable(refusal?.message ?? message)
                case nil: .noPath(message)
                default: .refused(message)
                }
        case .ended(.local): self.outcome = ["outcome": "ended", "reason": "local", "error": .null]
        case .ended(.remote): self.outcome = ["outcome": "ended", "reason": "remote", "error": .null]
        case .ended(.failed(let message)):
            self.outcome = ["outcome": "ended", "reason": "failed", "error": .string(message)]
        }
    }
}

/// Where a call goes: the target, or an echo endpoint in this process; through a relay if something is to be impaired.
final class CallSite: Sendable {
    /// The URL to dial.
    let url: String
    /// The PEM file to trust; nil: as the options say.
    let caFile: String?
    /// Where the relay stands in for an address of the peer's; nil without a relay.
    let pathDetour: (@Sendable (SocketAddress) -> SocketAddress?)?
    /// Where the relay stands in for the line's address.
    let lineDetour: SocketAddress?
    private let endpoint: AgentEndpoint?
    private let relay: ImpairmentRelay?

    init(_ plan: CallPlan) throws(ProbeError) {
        var lineTarget: SocketAddress?
        if let target = plan.target {
            (url, caFile, endpoint) = (target, plan.caFile, nil)
            lineTarget = SocketAddress(lineOf: target)
        } else {
            let endpoint = try LiveEchoServer.endpoint(bind: "127.0.0.1", port: 0, udpPort: 0, keys: [])
            let file = LiveEchoServer.temporaryFile()
            try OutputFile.write(Array(endpoint.certificatePEM.utf8), path: file)
            (url, caFile, self.endpoint) = ("wss://\(endpoint.address)/", file, endpoint)
            lineTarget = SocketAddress(lineOf: "wss://\(endpoint.address)/")
        }
        guard !plan.impairment.isClear else {
            (relay, pathDetour, lineDetour) = (nil, nil, nil)
            return
        }
        let spec = plan.impairment
        let impairsLine = !spec.lineUp.isClear || !spec.lineDown.isClear
        if impairsLine, lineTarget == nil {
            throw .usage("--impair line.…: the target's host must be a literal IP address")
        }
        var configuration = ImpairmentRelay.Configuration()
        configuration.udpTargets = Array(repeating: nil, count: ImpairmentRelay.maximumTargets)
        if impairsLine { configuration.tcpTarget = lineTarget }
        (configuration.udpUp, configuration.udpDown, configuration.lineUp, configuration.lineDown) = spec.models
        configuration.seed = plan.seed
        do throws(RelayError) {
            let relay = try ImpairmentRelay(configuration)
            self.relay = relay
            lineDetour = relay.tcpAddress
            let used = Counter()
            pathDetour = { target in
                let index = used.next()
                guard index < relay.udpAddresses.count else { return nil }
                relay.setUDPTarget(target, at: index)
                return relay.udpAddresses[index]
            }
        } catch {
            throw .resource("the relay for --impair: \(error)")
        }
    }

    /// Hands out 0, 1, 2, …
    private final class Counter: Sendable {
        private let count = Mutex(0)

        func next() -> Int {
            count.withLock { count in
                defer { count += 1 }
                return count
            }
        }
    }

    func close() {
        relay?.stop()
        endpoint?.stop()
        if let caFile, endpoint != nil { try? FileManager.default.removeItem(atPath: caFile) }
    }
}

extension SocketAddress {
    /// The TCP address of a call line's URL whose host is a literal; nil for every other.
    fileprivate init?(lineOf url: String) {
        guard let parsed = try? CallLineURL(url), let ip = parsed.literal else { return nil }
        self.init(ip: ip, port: parsed.port)
    }
}
