import Transport

/// Places a call, says a second of silence, prints what carries it, and hangs up.
func placeCall(url: String, key: String?, caFile: String) async throws -> CallOutcome {
    var configuration = TransportConfiguration(url: url, key: key)
    configuration.trust = .caFile(caFile)
    let session = try TransportSession(configuration: configuration)
    try session.start()
    for await event in session.events {
        switch event {
        case .stateChanged(.active):
            print("active on", session.snapshot.transport?.rawValue ?? "nothing")
            // 48 kHz mono: write what the microphone gives to `capture`, play what `playout` gives. Each ring holds a
            // second; what does not fit is dropped, so write() says how much it took.
            let prompt = [Int16](repeating: 0, count: TransportSession.ringSamples)
            _ = prompt.withUnsafeBufferPointer { session.capture.write($0) }
            // The call takes a frame of 960 samples out each 20 ms; hung up before, the rest would never be said.
            while session.capture.availableToRead >= 960, session.snapshot.state == .active {
                try await Task.sleep(for: .milliseconds(20))
            }
            session.end()
        case .transportChanged(.websocket, let fallback?): print("fell back:", fallback.reason, fallback.detail)
        case .stateChanged, .transportChanged, .recoveringChanged, .message, .ended: break
        }
    }
    return await session.outcome()
}
