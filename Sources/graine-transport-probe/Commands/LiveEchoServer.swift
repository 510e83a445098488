internal import Foundation
internal import Synchronization
internal import Transport

/// `serve`: the library's endpoint with the echo as its agent.
struct LiveEchoServer: EchoServing {
    func serve(
        _ options: ProbeOptions, key: String?, log: ServeLog, ready: @escaping @Sendable (String) -> Void
    ) async throws(ProbeError) {
        let calls = EchoCalls()
        let endpoint = try Self.endpoint(
            bind: options.bind.isEmpty ? ["127.0.0.1"] : options.bind, port: options.port, udpPort: options.udpPort,
            keys: [key].compactMap { $0 }, certificate: options.certificateFile, privateKey: options.privateKeyFile,
            calls: calls, log: log)
        defer { endpoint.stop() }
        let file = options.certificateOutput ?? Self.temporaryFile()
        try OutputFile.write(Array(endpoint.certificatePEM.utf8), path: file)
        defer { if options.certificateOutput == nil { try? FileManager.default.removeItem(atPath: file) } }
        let lines = endpoint.addresses.map { "wss://\($0)/" }
        let also = lines.count > 1 ? " also=" + lines.dropFirst().joined(separator: ",") : ""
        ready("READY line=\(lines.first ?? "") udp=\(endpoint.udpPort)\(also) ca=\(file)")
        // Until cancelled.
        while (try? await Task.sleep(for: .seconds(3_600))) != nil {}
        calls.hangUp()
        // In a task of its own, for this one sleeps no more.
        await Task {
            let limit = ContinuousClock.now + Self.hangUpTime
            while endpoint.connectionCount > 0, ContinuousClock.now < limit {
                try? await Task.sleep(for: .milliseconds(10))
            }
        }.value
    }

    /// What the customers' ends get to take the hang-up in before their connections are closed.
    static let hangUpTime = Duration.milliseconds(500)

    /// A name nothing has yet, for a certificate.
    static func temporaryFile() -> String {
        FileManager.default.temporaryDirectory.appending(path: "graine-probe-\(UUID().uuidString).pem").path
    }

    static func endpoint(
        bind: [String], port: UInt16, udpPort: UInt16, keys: [String], certificate: String? = nil,
        privateKey: String? = nil, calls: EchoCalls = EchoCalls(), log: ServeLog? = nil
    ) throws(ProbeError) -> AgentEndpoint {
        var configuration = EndpointConfiguration()
        (configuration.listenAddresses, configuration.port, configuration.udpPort) = (bind, port, udpPort)
        configuration.keys = keys
        if let certificate, let privateKey {
            configuration.identity = .files(certificate: certificate, key: privateKey)
        }
        do throws(TransportError) {
            return try AgentEndpoint(configuration: configuration) { call in
                calls.add(call)
                defer { calls.remove(call) }
                let began = ContinuousClock.now
                log?.began(call.id)
                var echo: Task<Void, Never>?
                for await event in call.events {
                    if case .transportChanged(let kind, let fallback) = event {
                        log?.carried(call.id, by: kind, fallback)
                    }
                    guard case .stateChanged(.active) = event, echo == nil else { continue }
                    echo = Task {
                        var pump = EchoPump(received: call.received, send: call.send)
                        await pump.run()
                    }
                }
                echo?.cancel()
                log?.ended(call.id, call.snapshot, after: (ContinuousClock.now - began).milliseconds / 1_000)
            }
        } catch {
            throw .resource("\(error)")
        }
    }
}

/// The calls an endpoint has, so that its end can hang up.
final class EchoCalls: Sendable {
    private let calls = Mutex<[AgentCall]>([])

    func add(_ call: AgentCall) { calls.withLock { $0.append(call) } }

    func remove(_ call: AgentCall) { calls.withLock { $0.removeAll { $0 === call } } }

    func hangUp() { for call in calls.withLock({ $0 }) { call.end() } }
}
