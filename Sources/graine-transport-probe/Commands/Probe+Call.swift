// The glue to the library's call path, written against the sketch of its API before both were in one tree. To switch it
// on, take the condition away and let `LiveCalls` hand out `LiveCallPlacer` and `LiveEchoServer`.
#if GRAINE_LIVE_CALLS
internal import Foundation
internal import Transport

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
        var result = CallResult(name: plan.name, preference: plan.preference)
        result.fill(from: session.snapshot)
        result.fill(from: await session.outcome())
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
            case .ended: speech?.cancel()
            default: break
            }
        }
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
        setup = Setup(
            dns: times.dns?.milliseconds, tcp: times.tcp?.milliseconds, tls: times.tls?.milliseconds,
            upgrade: times.upgrade?.milliseconds, hello: times.hello?.milliseconds,
            welcome: times.welcome?.milliseconds, firstCheck: times.firstCheck?.milliseconds,
            ice: times.ice?.milliseconds, dtls: times.dtls?.milliseconds, firstAudio: times.firstAudio?.milliseconds,
            active: times.active?.milliseconds, offerToFirstAudio: times.offerToFirstAudio?.milliseconds,
            rtt: times.rtt?.milliseconds)
    }

    /// A call that never connected is a failure; the refusal's code, once the API tells it, parts 77 from 69 and 4.
    fileprivate mutating func fill(from outcome: CallOutcome) {
        switch outcome {
        case .failed(let message):
            self.outcome = ["outcome": "failed", "reason": .null, "error": .string(message)]
            failure = .unreachable(message)
            failureCode = "network"
        case .ended(.local): self.outcome = ["outcome": "ended", "reason": "local", "error": .null]
        case .ended(.remote): self.outcome = ["outcome": "ended", "reason": "remote", "error": .null]
        case .ended(.failed(let message)):
            self.outcome = ["outcome": "ended", "reason": "failed", "error": .string(message)]
        }
    }
}

/// Where a call goes: the target, or an echo endpoint in this process; through a relay if something is to be impaired.
final class CallSite {
    /// The URL to dial.
    let url: String
    /// The PEM file to trust; nil: as the options say.
    let caFile: String?
    private let endpoint: AgentEndpoint?

    init(_ plan: CallPlan) throws(ProbeError) {
        guard plan.target == nil else {
            (url, caFile, endpoint) = (plan.target ?? "", plan.caFile, nil)
            return
        }
        let endpoint = try LiveEchoServer.endpoint(bind: "127.0.0.1", port: 0, udpPort: 0, keys: [])
        let file = FileManager.default.temporaryDirectory.appending(path: "graine-probe-\(UUID().uuidString).pem").path
        try OutputFile.write(Array(endpoint.certificatePEM.utf8), path: file)
        // TO DO after the merge: with `plan.impairment` not clear, an ImpairmentRelay (plan.impairment.models,
        // plan.seed) in front, and its ports here and in the endpoint's candidate.
        (url, caFile, self.endpoint) = ("wss://\(endpoint.address)/", file, endpoint)
    }

    func close() {
        endpoint?.stop()
        if let caFile, endpoint != nil { try? FileManager.default.removeItem(atPath: caFile) }
    }
}

/// `serve`: the library's endpoint with the echo as its agent.
struct LiveEchoServer: EchoServing {
    func serve(
        _ options: ProbeOptions, key: String?, ready: @escaping @Sendable (String) -> Void
    ) async throws(ProbeError) {
        let endpoint = try Self.endpoint(
            bind: options.bind ?? "127.0.0.1", port: options.port, udpPort: options.udpPort,
            keys: [key].compactMap { $0 }, certificate: options.certificateFile, privateKey: options.privateKeyFile)
        defer { endpoint.stop() }
        let file =
            options.certificateOutput
            ?? FileManager.default.temporaryDirectory.appending(path: "graine-probe-\(UUID().uuidString).pem").path
        try OutputFile.write(Array(endpoint.certificatePEM.utf8), path: file)
        defer { if options.certificateOutput == nil { try? FileManager.default.removeItem(atPath: file) } }
        ready("READY line=wss://\(endpoint.address)/ udp=\(endpoint.udpPort) ca=\(file)")
        // Until cancelled.
        while (try? await Task.sleep(for: .seconds(3_600))) != nil {}
    }

    static func endpoint(
        bind: String, port: UInt16, udpPort: UInt16, keys: [String], certificate: String? = nil,
        privateKey: String? = nil
    ) throws(ProbeError) -> AgentEndpoint {
        var configuration = EndpointConfiguration()
        (configuration.bind, configuration.port, configuration.udpPort) = (bind, port, udpPort)
        configuration.keys = keys
        if let certificate, let privateKey {
            configuration.identity = .files(certificate: certificate, key: privateKey)
        }
        do throws(TransportError) {
            return try AgentEndpoint(configuration: configuration) { call in
                var echo: Task<Void, Never>?
                for await event in call.events {
                    guard case .stateChanged(.active) = event, echo == nil else { continue }
                    echo = Task {
                        var pump = EchoPump(received: call.received, send: call.send)
                        await pump.run()
                    }
                }
                echo?.cancel()
            }
        } catch {
            throw .resource("\(error)")
        }
    }
}
#endif
