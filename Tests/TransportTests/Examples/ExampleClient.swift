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
            // 48 kHz mono: write what the microphone gives, read what is to be played.
            let silence = [Int16](repeating: 0, count: 48_000)
            _ = silence.withUnsafeBufferPointer { session.capture.write($0) }
            session.end()
        case .transportChanged(.websocket, let fallback?): print("fell back:", fallback.reason, fallback.detail)
        case .stateChanged, .transportChanged, .message, .ended: break
        }
    }
    return await session.outcome()
}
