import Glibc
import ICELite
import Synchronization
import Testing
import Transport

/// Calls used from many threads at once.
@Suite("Calls used by many threads", .timeLimit(.minutes(10))) struct ManyThreadsTests {
    private static let tasks = 8
    /// Calls in a row; `GRAINE_STRESS_SECONDS` repeats them for as long as it says.
    private static let calls = 12

    @Test("LIFE-12: sound, figures, messages, hints and hang-ups from eight tasks at random: no call is left undecided")
    func stress() async throws {
        let site = try LoopbackCallTests.Site()
        defer { site.endpoint.stop() }
        let seconds = Int(ProcessEnvironment.value("GRAINE_STRESS_SECONDS") ?? "") ?? 0
        let end = ContinuousClock.now + .seconds(seconds)
        var round: UInt64 = 0
        repeat {
            for _ in 0..<Self.calls {
                round += 1
                try await Self.use(site.configuration(round % 3 == 0 ? .websocket : .auto), seed: round)
            }
        } while ContinuousClock.now < end
        #expect(round >= UInt64(Self.calls))
    }

    /// Counts from several tasks.
    private final class Count: Sendable {
        let value = Atomic<Int>(0)
    }

    private static func use(_ configuration: TransportConfiguration, seed: UInt64) async throws {
        let session = try TransportSession(configuration: configuration)
        try session.start()
        let ended = Count()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await event in session.events {
                    if case .ended = event { ended.value.add(1, ordering: .relaxed) }
                }
            }
            // One thread writes and one reads sound: the rings know no more.
            group.addTask {
                let tone = [Int16](repeating: 900, count: 480)
                for _ in 0..<200 {
                    _ = tone.withUnsafeBufferPointer { session.capture.write($0) }
                    await Task.yield()
                }
            }
            group.addTask {
                var room = [Int16](repeating: 0, count: 480)
                for _ in 0..<200 {
                    _ = room.withUnsafeMutableBufferPointer { session.playout.read(into: $0) }
                    await Task.yield()
                }
            }
            for task in 0..<UInt64(tasks - 3) {
                group.addTask {
                    var randomness = Randomness.seeded(seed << 8 | task)
                    for _ in 0..<120 {
                        switch Int.random(in: 0..<8, using: &randomness) {
                        case 0...2: _ = session.snapshot
                        case 3: try? session.send(message: Array(#"{"type":"x"}"#.utf8))
                        case 4: session.networkMayHaveChanged()
                        case 5: _ = session.flightRecording()
                        case 6: try? await Task.sleep(for: .milliseconds(Int.random(in: 0...3, using: &randomness)))
                        default: await Task.yield()
                        }
                    }
                    session.end()
                }
            }
        }
        #expect(ended.value.load(ordering: .relaxed) == 1)
        #expect(await session.outcome() == .ended(.local))
    }
}

/// The environment of this process.
private enum ProcessEnvironment {
    static func value(_ name: String) -> String? {
        guard let value = getenv(name) else { return nil }
        return String(cString: value)
    }
}
