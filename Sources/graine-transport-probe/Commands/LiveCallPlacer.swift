internal import Foundation
internal import ICELite
internal import Transport
internal import TransportLine
internal import TransportRuntime

/// Places calls with `TransportSession`: the product's own path, with the relay in front when there is an impairment.
struct LiveCallPlacer: CallPlacing {
    func place(
        _ plan: CallPlan, tell: @escaping @Sendable (CallMoment) -> Void
    ) async throws(ProbeError) -> CallResult {
        // Lives as long as the call: an endpoint of our own when there is no target, a relay when something is impaired.
        if plan.target != nil, let bind = plan.bind { try Self.checkOwn(bind) }
        let site = try await CallSite(plan)
        defer { site.close() }

        var configuration = TransportConfiguration(url: site.url)
        configuration.key = plan.key
        configuration.pathDetour = site.pathDetour
        configuration.lineDetour = site.lineDetour
        configuration.addressFamily = plan.family
        if plan.target != nil { configuration.localAddress = plan.bind }
        configuration.stunServers = plan.stun
        configuration.handshake = HandshakeStep.options(without: plan.without)
        configuration.recoveryPolicy = plan.recovery == .endCall ? .endCall : .continueOnWebSocket
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
        let followed = await withTaskCancellationHandler {
            await follow(session, plan, site, tell)
        } onCancel: {
            session.end()
        }
        let outcome = await session.outcome()
        var result = CallResult(name: plan.name, preference: plan.preference)
        result.fill(from: session.snapshot)
        result.fill(from: outcome, session.snapshot.refusal)
        result.nameTheAuthority(plan)
        result.media.rtt = .init(followed.roundTrips)
        if result.wasActive {
            result.ending = Self.ending(outcome, afterMilliseconds: followed.activeMilliseconds)
        }
        let wasOnPath =
            result.transport == .webrtc || session.snapshot.fallback?.reason == .recoveryFailed
            || session.snapshot.recovery.outageCount > 0
        if result.wasActive, plan.outage != nil || wasOnPath {
            result.recovery = CallResult.Recovery(asked: plan.outage, figures: session.snapshot.recovery)
            result.recovery?.causedAt = followed.outage?.at
            result.recovery?.how = followed.outage?.how
        }
        if let speech = followed.speech, plan.outage != nil, result.wasActive {
            result.media.timerLateness = speech.lateness
            result.recovery?.heardGap = followed.outage.flatMap { HeardGap.longest(in: speech.heard, after: $0.at) }
            result.recording = plan.keepsRecording ? speech.heard : nil
        } else if let speech = followed.speech, result.wasActive {
            let heard = speech.heard
            result.media.timerLateness = speech.lateness
            let said = plan.audio.prefix(Int(plan.duration * Double(RecordingResampler.callSampleRate)))
            result.returned = await Self.compare(Array(said), heard)
            result.media.longestGap = result.returned?.levels.longestGapMilliseconds
            result.recording = plan.keepsRecording ? heard : nil
        }
        return result
    }

    private static func ending(_ outcome: CallOutcome, afterMilliseconds: Double) -> CallResult.Ending {
        let party: CallResult.Ending.Party =
            switch outcome {
            case .ended(.local): .local
            case .ended(.remote): .remote
            case .ended(.failed), .failed: .failed
            }
        return CallResult.Ending(by: party, afterMilliseconds: afterMilliseconds)
    }

    /// What was learnt by following a call.
    private struct Followed {
        /// nil if the call never was active, or does not speak.
        var speech: SpeechPump.Outcome?
        /// From active to the end.
        var activeMilliseconds = 0.0
        /// The selected pair's smoothed round trip in milliseconds, at each ``sampleInterval`` of the active call.
        var roundTrips: [Double] = []
        /// When the outage that was asked for began, and how it was made; nil when it was not.
        var outage: (at: Double, how: CallResult.Recovery.Means)?
    }

    /// How often the round trip is looked at.
    private static let sampleInterval = Duration.milliseconds(200)

    /// Follows the call to its end and hangs up when its time is over.
    private func follow(
        _ session: TransportSession, _ plan: CallPlan, _ site: CallSite,
        _ tell: @escaping @Sendable (CallMoment) -> Void
    ) async -> Followed {
        var followed = Followed()
        var speech: Task<SpeechPump.Outcome?, Never>?
        var roundTrips: Task<[Double], Never>?
        var outage: Task<(at: Double, how: CallResult.Recovery.Means)?, Never>?
        var active: ContinuousClock.Instant?
        for await event in session.events {
            switch event {
            case .stateChanged(let state):
                tell(.state(state.rawValue))
                guard state == .active, speech == nil else { continue }
                let pump = SpeechPump(capture: session.capture, playout: session.playout, audio: plan.audio)
                active = .now
                speech = Task {
                    defer { session.end() }
                    if plan.speaks { return await pump.run(for: .seconds(plan.duration)) }
                    try? await Task.sleep(for: .seconds(plan.duration))
                    return nil
                }
                roundTrips = Task { await Self.sampleRoundTrips(of: session) }
                if let wanted = plan.outage {
                    outage = Task { await Self.cause(wanted, in: session, at: site, tell) }
                }
            case .transportChanged(let kind, let fallback):
                tell(.transport(kind.rawValue, reason: fallback?.reason.wire))
            case .ended: speech?.cancel()
            case .recoveringChanged(let isOn): tell(.recovering(isOn))
            case .message: break
            }
        }
        // The events end early when the command is cancelled; the call is being hung up then.
        if Task.isCancelled { speech?.cancel() }
        if let active { followed.activeMilliseconds = (ContinuousClock.now - active).milliseconds }
        roundTrips?.cancel()
        outage?.cancel()
        followed.outage = await outage?.value ?? nil
        followed.speech = await speech?.value ?? nil
        followed.roundTrips = await roundTrips?.value ?? []
        return followed
    }

    /// Waits and causes the outage; nil when the call is over by then, or not where the outage would meet it.
    private static func cause(
        _ outage: OutagePlan, in session: TransportSession, at site: CallSite,
        _ tell: @escaping @Sendable (CallMoment) -> Void
    ) async -> (at: Double, how: CallResult.Recovery.Means)? {
        let active = ContinuousClock.now
        guard (try? await Task.sleep(for: .seconds(OutagePlan.delay))) != nil,
            session.snapshot.transport == .webrtc || outage.cause == .lineDead
        else { return nil }
        let at = (ContinuousClock.now - active).milliseconds
        guard let how = site.cause(outage, of: session.snapshot.path?.localAddress?.ip) else { return nil }
        // The relay is no interface whose loss the system would tell of.
        if outage.cause == .interface, how == .relay { session.networkMayHaveChanged() }
        tell(.outage(outage.cause, how: how))
        return (at, how)
    }

    private static func sampleRoundTrips(of session: TransportSession) async -> [Double] {
        var samples: [Double] = []
        repeat {
            let snapshot = session.snapshot
            guard snapshot.transport == .webrtc, let time = snapshot.path?.roundTrip else { continue }
            samples.append(time.milliseconds)
        } while (try? await Task.sleep(for: sampleInterval)) != nil
        return samples
    }

    /// On a thread of its own: it takes a while, and the calls that still run beside this one pump their audio on the pool.
    private static func compare(_ said: [Int16], _ heard: [Int16]) async -> ReturnedAudio {
        await withCheckedContinuation { done in
            Thread.detachNewThread { done.resume(returning: ReturnedAudio(original: said, returned: heard)) }
        }
    }

    /// - Throws: `resource` when this machine does not have `address`.
    private static func checkOwn(_ address: IPAddress) throws(ProbeError) {
        do throws(SocketError) {
            try UDPSocket.open(bind: SocketAddress(ip: address, port: 0)).close()
        } catch {
            throw .resource("--bind: \(error)")
        }
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
        // A call that was stopped while it connected has no audio to count.
        if wasActive || snapshot.audio.packetsSent + snapshot.audio.packetsReceived > 0 { fillAudio(snapshot.audio) }
        setup.rtt = lineRoundTrip ?? snapshot.path?.roundTrip?.milliseconds
        guard let path = snapshot.path else { return }
        bytesSent = path.bytesSent
        bytesReceived = path.bytesReceived
        ice = ICE()
        ice?.local = path.localAddress?.description
        ice?.remote = path.remoteAddress?.description
        ice?.reflexive = path.reflexiveAddresses.map(\.description)
        ice?.checksSent = path.checksSent
        ice?.firstResponse = snapshot.setup.firstAnswer?.milliseconds
        guard let version = path.dtlsVersion else { return }
        dtls = DTLS()
        dtls?.version = version
        dtls?.cipher = path.dtlsCipher
        dtls?.srtpProfile = path.srtpProfile
        dtls?.role = path.dtlsRole
        dtls?.retransmits = path.dtlsRetransmissions
        dtls?.helloInOffer = path.shortcuts.helloOffered && path.shortcuts.helloAnswered
        dtls?.flightsOnLine = path.shortcuts.flightsOnLineSent + path.shortcuts.flightsOnLineReceived
        dtls?.flightsBehindChecks = path.shortcuts.flightsBehindChecks
        dtls?.earlyPackets = path.shortcuts.earlyPacketsSent
    }

    /// The shortest of the exchanges of set-up that take one round trip of the line: TLS 1.3, the upgrade, the welcome.
    private var lineRoundTrip: Double? {
        [(setup.tcp, setup.tls), (setup.tls ?? setup.tcp, setup.upgrade), (setup.hello, setup.welcome)]
            .compactMap { begin, end in begin.flatMap { begin in end.map { $0 - begin } } }.min()
    }

    private mutating func fillAudio(_ audio: AudioSnapshot) {
        media.sent = Int(audio.packetsSent)
        media.received = Int(audio.packetsReceived)
        media.lost = Int(audio.packetsLost)
        media.duplicate = Int(audio.duplicates)
        media.jitter = audio.jitter * 1_000
        if audio.totalSamplesReceived > 0 {
            let concealed = audio.concealedSamples - audio.silentConcealedSamples
            media.concealedPercent = Double(concealed) * 100 / Double(audio.totalSamplesReceived)
        }
    }

    /// A certificate that is not trusted has a code of its own: `--ca` is what it is about.
    fileprivate mutating func nameTheAuthority(_ plan: CallPlan) {
        guard case .unreachable(let message)? = failure,
            [true, false].contains(where: { message.contains("\(TLSError.unknownAuthority(isSelfSigned: $0))") })
        else { return }
        failureCode = "untrusted_certificate"
        guard let file = plan.caFile else { return }
        failure = .unreachable("the given CA (--ca \(file)) does not vouch for this server: \(message)")
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
