import Transport

/// Listens and echoes every call until the endpoint is stopped.
func startEcho(bind: String) throws -> AgentEndpoint {
    var configuration = EndpointConfiguration()
    configuration.listenAddresses = [bind]
    return try AgentEndpoint(configuration: configuration) { call in
        var block = [Int16](repeating: 0, count: 960)
        while call.snapshot.state != .ended {
            let count = block.withUnsafeMutableBufferPointer { call.received.read(into: $0) }
            _ = block[..<count].withUnsafeBufferPointer { call.send.write($0) }
            try? await Task.sleep(for: .milliseconds(10))
        }
    }
}
