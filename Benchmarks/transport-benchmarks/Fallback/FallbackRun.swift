internal import Transport
internal import TransportTestKit

/// `transport-benchmarks fallback`: how soon a call is heard where UDP does not work, and for what reason it says.
enum FallbackRun {
    private static let roundTrip = 100
    private static let patience = Duration.seconds(30)
    private static let command = TrialCommand<FallbackCase, FallbackCell>(
        name: "fallback", virtualCalls: 20, socketCalls: 20)

    /// Its arguments.
    static var usage: String { command.usage }

    /// Runs it and returns the exit code: 0 when every call was made and heard.
    static func run(_ arguments: [String]) async -> Int32 {
        await command.run(
            arguments,
            cell: { fallbackCase, options, site in
                let samples = await TrialRun.samples(options) { seed in
                    guard let site else { return VirtualFallback(fallbackCase: fallbackCase).call(seed: seed) }
                    return await call(fallbackCase, at: site, seed: seed)
                }
                return FallbackCell(fallbackCase: fallbackCase, samples: samples)
            }
        ) { cell, calls in
            cell.samples.count == calls && cell.samples.allSatisfy { $0.firstAudio != nil }
        }
    }

    /// One call on sockets, hung up once it is active; nil when it cannot be made.
    private static func call(_ fallbackCase: FallbackCase, at site: TrialSite, seed: UInt64) async -> FallbackSample? {
        let placed = site.place(
            seed: seed, roundTrip: roundTrip, udp: fallbackCase.reachability, passes: fallbackCase.passes
        ) { $0.handshake = fallbackCase.handshake }
        guard let placed else { return nil }
        let (session, relay) = (placed.session, placed.relay)
        defer { relay.stop() }
        let deadline = ContinuousClock.now + patience
        while session.snapshot.state != .active, session.snapshot.outcome == nil, ContinuousClock.now < deadline {
            try? await Task.sleep(for: .milliseconds(5))
        }
        let snapshot = session.snapshot
        session.end()
        _ = await session.outcome()
        var sample = FallbackSample()
        guard let hello = snapshot.setup.hello else { return sample }
        sample.firstAudio = snapshot.setup.firstAudio.map { ($0 - hello) / .milliseconds(1) }
        sample.chosen = snapshot.fallback.map { $0.elapsed / .milliseconds(1) }
        sample.end =
            snapshot.fallback.map { "\($0.reason), \($0.stage.rawValue)" } ?? snapshot.transport?.rawValue ?? "nothing"
        return sample
    }
}
