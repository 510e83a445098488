internal import Transport

/// Runs the echo over an agent call's rings. Driven by what is received, so that its seconds are the call's.
struct EchoPump: Sendable {
    /// How often the rings are looked at.
    static let interval = Duration.milliseconds(10)

    let received: PCMRing
    let send: PCMRing

    /// Echoes until the task is cancelled. Start it when the call is active: the marker's seconds count from here.
    func run() async {
        var processor = EchoProcessor()
        processor.markActive()
        received.discardAll()
        var samples: [Int16] = []
        repeat {
            samples.removeAll(keepingCapacity: true)
            SpeechPump.drain(received, into: &samples)
            guard !samples.isEmpty else { continue }
            processor.process(&samples)
            samples.withUnsafeBufferPointer { _ = send.write($0) }
        } while (try? await Task.sleep(for: Self.interval)) != nil
    }
}
