internal import Transport

/// Runs the echo over an agent call's rings. Driven by what is received, so that its seconds are the call's.
struct EchoPump: Sendable {
    /// How often the rings are looked at.
    static let interval = Duration.milliseconds(10)

    private let received: PCMRing
    private let send: PCMRing
    private var processor = EchoProcessor()
    private var samples: [Int16] = []

    /// An echo of `received` into `send`. Make it when the call is active: the marker's seconds count from here, and
    /// what was received before is thrown away.
    init(received: PCMRing, send: PCMRing) {
        self.received = received
        self.send = send
        processor.markActive()
        received.discardAll()
    }

    /// Echoes what has been received by now.
    mutating func step() {
        samples.removeAll(keepingCapacity: true)
        SpeechPump.drain(received, into: &samples)
        guard !samples.isEmpty else { return }
        processor.process(&samples)
        samples.withUnsafeBufferPointer { _ = send.write($0) }
    }

    /// Echoes until the task is cancelled.
    mutating func run() async {
        repeat { step() } while (try? await Task.sleep(for: Self.interval)) != nil
    }
}
