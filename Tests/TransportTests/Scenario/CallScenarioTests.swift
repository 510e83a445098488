import ICELite
import Testing
import Transport
import TransportTestKit

/// Whole calls in virtual time: both ends' machines over a modelled network, reproducible by seed.
@Suite("Calls in virtual time") struct CallScenarioTests {
    private func lossy(_ percent: Double) -> LinkModel {
        LinkModel(delay: .milliseconds(25), loss: .independent(percent: percent))
    }

    @Test("A calm call is active on WebRTC on both ends within a few round trips, and is heard")
    func calm() throws {
        let run = try VirtualCall(seed: 1)
        _ = run.simulator.run(until: .zero + .seconds(3))
        #expect(run.client.call.state == .active)
        #expect(run.server.call.state == .active)
        #expect(run.client.call.transport == .webrtc)
        #expect(run.server.call.transport == .webrtc)
        let timings = run.client.call.timings
        let hello = try #require(timings.hello)
        let audio = try #require(timings.firstAudio)
        #expect(audio - hello <= .milliseconds(105))
        let heard = run.client.playout.availableToRead
        #expect(heard > 48_000)
        #expect(run.client.call.ignoredMessages == 0)
    }

    @Test("10 % loss each way on UDP: every call is active on WebRTC, with no reason", arguments: 1...20)
    func lossy(seed: Int) throws {
        let run = try VirtualCall(seed: UInt64(seed), up: lossy(10), down: lossy(10))
        _ = run.simulator.run(until: .zero + .seconds(8))
        #expect(run.client.call.state == .active, "seed \(seed)")
        #expect(run.client.call.transport == .webrtc, "seed \(seed): \(String(describing: run.client.call.fallback))")
        #expect(run.server.call.transport == .webrtc, "seed \(seed)")
        #expect(run.client.call.fallback == nil)
    }

    @Test(
        "A line that stands still for some seconds before welcome is waited for: its segments are lost again and again")
    func slowLine() throws {
        let lossy = LinkModel(delay: .milliseconds(100), loss: .independent(percent: 10))
        let run = try VirtualCall(seed: 913, up: lossy, down: lossy, line: lossy)
        _ = run.simulator.run(until: .zero + .seconds(14))
        #expect(run.client.call.state == .active, "\(String(describing: run.client.outcome))")
        #expect(run.client.call.lineClose == nil)
    }

    @Test("UDP dropped: ice_no_response 3 s after the last new pair, the WebSocket on both ends")
    func dropped() throws {
        var drop = LinkModel(delay: .milliseconds(25))
        drop.reachability = .drop
        let run = try VirtualCall(seed: 3, up: drop, down: drop)
        _ = run.simulator.run(until: .zero + .seconds(5))
        #expect(run.client.call.state == .active)
        #expect(run.server.call.state == .active)
        #expect(run.client.call.transport == .websocket)
        #expect(run.client.call.fallback?.reason == .iceNoResponse)
        #expect(run.server.call.fallback?.reason == .iceNoResponse)
        let elapsed = try #require(run.client.call.fallback?.elapsed)
        #expect(elapsed >= .seconds(3) && elapsed < .milliseconds(3_200))
    }

    @Test("UDP rejected: udp_blocked at once")
    func rejected() throws {
        var reject = LinkModel(delay: .milliseconds(25))
        reject.reachability = .reject
        let run = try VirtualCall(seed: 4, up: reject)
        _ = run.simulator.run(until: .zero + .seconds(2))
        #expect(run.client.call.fallback?.reason == .udpBlocked)
        #expect(run.client.call.state == .active)
    }

    @Test(
        "A hang-up from either end at any time in the first second ends both within a second",
        arguments: Array(stride(from: 0, to: 1_000, by: 25)), [true, false])
    func hangUp(milliseconds: Int, byClient: Bool) throws {
        let run = try VirtualCall(seed: UInt64(milliseconds) + 7)
        let at = Instant.zero + .milliseconds(Int64(milliseconds))
        if byClient {
            run.network.perform(on: try #require(run.client.hostID), at: at) { now in run.client.call.hangUp(now: now) }
        } else {
            run.network.perform(on: try #require(run.server.hostID), at: at) { now in run.server.call.hangUp(now: now) }
        }
        _ = run.simulator.run(until: at + .seconds(1))
        // A call there is from hello on; a line that closes before it ends nothing but itself.
        let isGreeted = run.server.call.callID != nil
        let remote: CallOutcome = isGreeted ? .ended(.remote) : .failed(message: CallMessage.lineClosedEarly)
        #expect(run.client.outcome == (byClient ? .ended(.local) : remote), "\(milliseconds) ms")
        #expect(run.server.outcome == (byClient ? remote : .ended(.local)), "\(milliseconds) ms")
        if byClient { #expect(isGreeted == (run.client.call.timings.hello != nil), "\(milliseconds) ms") }
        _ = run.simulator.run(until: at + .seconds(3))
        #expect(run.client.call.nextDeadline == .never)
        #expect(run.server.call.nextDeadline == .never)
        #expect(run.client.hasLineEnded && run.server.hasLineEnded, "\(milliseconds) ms")
    }

    @Test("The same seed gives the same call", arguments: 1...3)
    func deterministic(seed: Int) throws {
        let hashes = try (0..<2).map { _ in
            let run = try VirtualCall(seed: UInt64(seed), up: lossy(10), down: lossy(10))
            _ = run.simulator.run(until: .zero + .seconds(2))
            return [
                run.client.call.timings.firstAnswer?.nanoseconds, run.client.call.timings.welcome?.nanoseconds,
            ]
        }
        #expect(hashes[0] == hashes[1])
    }
}
