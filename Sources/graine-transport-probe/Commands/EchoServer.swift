internal import Foundation
internal import Transport

/// `serve`: the library's endpoint with the echo as its agent.
struct LiveEchoServer: EchoServing {
    func serve(
        _ options: ProbeOptions, key: String?, ready: @escaping @Sendable (String) -> Void
    ) async throws(ProbeError) {
        let endpoint = try Self.endpoint(
            bind: options.bind.isEmpty ? ["127.0.0.1"] : options.bind, port: options.port, udpPort: options.udpPort,
            keys: [key].compactMap { $0 }, certificate: options.certificateFile, privateKey: options.privateKeyFile)
        defer { endpoint.stop() }
        let file = options.certificateOutput ?? Self.temporaryFile()
        try OutputFile.write(Array(endpoint.certificatePEM.utf8), path: file)
        defer { if options.certificateOutput == nil { try? FileManager.default.removeItem(atPath: file) } }
        let lines = endpoint.addresses.map { "wss://\($0)/" }
        let also = lines.count > 1 ? " also=" + lines.dropFirst().joined(separator: ",") : ""
        ready("READY line=\(lines.first ?? "") udp=\(endpoint.udpPort)\(also) ca=\(file)")
        // Until cancelled.
        while (try? await Task.sleep(for: .seconds(3_600))) != nil {}
    }

    /// A name nothing has yet, for a certificate.
    static func temporaryFile() -> String {
        FileManager.default.temporaryDirectory.appending(path: "graine-probe-\(UUID().uuidString).pem").path
    }

    static func endpoint(
        bind: [String], port: UInt16, udpPort: UInt16, keys: [String], certificate: String? = nil,
        privateKey: String? = nil
    ) throws(ProbeError) -> AgentEndpoint {
        var configuration = EndpointConfiguration()
        (configuration.listenAddresses, configuration.port, configuration.udpPort) = (bind, port, udpPort)
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
