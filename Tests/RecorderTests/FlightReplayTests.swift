import ICELite
import Testing
import TransportTestKit

@testable import Transport

/// Whole calls in virtual time, both ends recorded and replayed.
@Suite("Replays of whole calls") struct FlightReplayTests {
    private static let alive = LinkModel(delay: .milliseconds(25), jitter: .normal(sigma: .milliseconds(4)))
    private static let dead: LinkModel = {
        var model = alive
        model.reachability = .drop
        return model
    }()

    private func setPath(_ run: VirtualCall, up: Bool, down: Bool) {
        run.network.changeInterface("client") { upward, downward in
            upward.model = up ? Self.alive : Self.dead
            downward.model = down ? Self.alive : Self.dead
        }
    }

    private func run(_ call: VirtualCall, to milliseconds: Int64) {
        _ = call.simulator.run(until: .zero + .milliseconds(milliseconds))
    }

    /// Replays both ends and returns the client's.
    @discardableResult
    private func replayed(_ run: VirtualCall, seed: UInt64) throws -> FlightReplay {
        let client = try FlightReplay(run.client.recorder.recording())
        let server = try FlightReplay(run.server.recorder.recording())
        for replay in [client, server] {
            #expect(replay.divergences.isEmpty, "seed \(seed): \(String(describing: replay.divergences.first))")
            #expect(replay.largestLateness == 0, "seed \(seed)")
            #expect(replay.dropped == 0)
        }
        return client
    }

    @Test("Calls whose path breaks at random, in one or both directions, for a moment or for good", arguments: 0..<4)
    func outages(part: UInt64) throws {
        for seed in (part * 4)..<(part * 4 + 4) {
            var randomness = Randomness.seeded(seed)
            let run = try VirtualCall(
                seed: seed, up: seed % 7 == 0 ? Self.dead : Self.alive, down: Self.alive, line: Self.alive,
                recovery: seed % 4 == 0 ? .endCall : .continueOnWebSocket)
            self.run(run, to: 2_000 + Int64(randomness.next() % 500))
            var at: Int64 = 2_500
            for _ in 0..<2 {
                let direction = randomness.next() % 3
                setPath(run, up: direction == 0, down: direction == 1)
                at += Int64(randomness.next() % 3_000)
                self.run(run, to: at)
                if randomness.next() % 10 == 0, let line = run.client.line { run.network.cutLine(line, with: .rst) }
                if randomness.next() % 4 > 0 { setPath(run, up: true, down: true) }
                at += 500 + Int64(randomness.next() % 2_000)
                self.run(run, to: at)
            }
            try replayed(run, seed: seed)
        }
    }

    @Test("The timeline of a call continued on the line says what was seen, what was decided and why")
    func timeline() throws {
        let run = try VirtualCall(seed: 3, up: Self.alive, down: Self.alive, line: Self.alive)
        self.run(run, to: 5_000)
        setPath(run, up: false, down: false)
        self.run(run, to: 16_000)
        let replay = try replayed(run, seed: 3)
        let timeline = replay.timeline
        for words in [
            "select webrtc (1)", "active on webrtc", "packets since", "→ outage, ask for the bridge, check the pairs",
            "recovering", "open fresh ports", "the window is over", "recovery_failed at recovery",
            "outage (silence): continued", "every decision is the one that was recorded",
        ] { #expect(timeline.contains(words), "\(words) in\n\(timeline)") }
        #expect(run.client.recorder.recording().count < 4_096)
        let server = FlightReplay.timeline(of: run.server.recorder.recording())
        #expect(server.contains("select websocket (2)") && server.contains("server  "))
    }

    @Test("Half a calm minute with jitter keeps under 50 bytes at each end")
    func calm() throws {
        let run = try VirtualCall(seed: 5, up: Self.alive, down: Self.alive, line: Self.alive)
        self.run(run, to: 5_000)
        #expect(run.client.call.state == .active && run.client.call.transport == .webrtc)
        let before = (run.client.recorder.recording().count, run.server.recorder.recording().count)
        self.run(run, to: 35_000)
        #expect(run.client.recorder.recording().count - before.0 < 50)
        #expect(run.server.recorder.recording().count - before.1 < 50)
        #expect(before.0 < 3_000 && before.1 < 3_000)
        try replayed(run, seed: 5)
    }
}
