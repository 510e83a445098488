import ICELite
import Testing
import TransportTestKit

@testable import Transport

/// How calls end when it is not a hang-up: the endpoint goes away, the line is closed, the network comes late.
@Suite("Ends of calls in virtual time") struct CallEndScenarioTests {
    private func active(_ wanted: CallTransport) throws -> VirtualCall {
        let run = try VirtualCall(seed: 11, wanted: wanted)
        _ = run.simulator.run(until: .zero + .seconds(3))
        #expect(run.client.call.state == .active && run.server.call.state == .active)
        #expect(run.client.call.transport == (wanted == .websocket ? .websocket : .webrtc))
        return run
    }

    private func atServer(_ run: VirtualCall, _ work: @escaping (Instant) -> Void) throws {
        run.network.perform(on: try #require(run.server.hostID), at: .zero + .seconds(4), work)
    }

    private func atClient(_ run: VirtualCall, seconds: Int64 = 4, _ work: @escaping (Instant) -> Void) throws {
        run.network.perform(on: try #require(run.client.hostID), at: .zero + .seconds(seconds), work)
    }

    @Test(
        "An endpoint that goes away ends its customer's call at once, by bye and 1001",
        arguments: CallTransport.allCases)
    func goingAway(wanted: CallTransport) throws {
        let run = try active(wanted)
        try atServer(run) { now in run.server.call.goAway(now: now) }
        _ = run.simulator.run(until: .zero + .milliseconds(4_100))
        #expect(run.client.outcome == .ended(.remote))
        #expect(run.server.outcome == .ended(.failed(message: "The endpoint is going away.")))
        _ = run.simulator.run(until: .zero + .seconds(6))
        #expect(run.client.hasLineEnded && run.server.hasLineEnded)
        #expect(run.client.call.lineClose?.code == 1_001)
    }

    @Test("An endpoint that goes away is heard by the path alone when the line is dead")
    func goingAwayWithoutLine() throws {
        let run = try active(.auto)
        run.network.cutLine(try #require(run.client.line), with: .rst)
        try atServer(run) { now in run.server.call.goAway(now: now) }
        _ = run.simulator.run(until: .zero + .milliseconds(4_100))
        #expect(run.client.outcome == .ended(.remote))
        // Half open: the client's own line looks well, and brings nothing.
        let silent = try active(.auto)
        silent.network.cutLine(try #require(silent.client.line), with: .silent)
        try atServer(silent) { now in silent.server.call.goAway(now: now) }
        _ = silent.simulator.run(until: .zero + .seconds(6))
        #expect(silent.client.outcome == nil)
        _ = silent.simulator.run(until: .zero + .milliseconds(7_100))
        #expect(silent.client.outcome == .ended(.remote))
    }

    @Test(
        "A message that breaks the protocol ends both ends at once, with the reason", arguments: CallTransport.allCases)
    func badMessage(wanted: CallTransport) throws {
        let run = try active(wanted)
        try atClient(run) { now in _ = run.client.call.send(message: Array("no JSON".utf8), now: now) }
        _ = run.simulator.run(until: .zero + .milliseconds(4_150))
        guard case .ended(.failed(let message)) = run.client.outcome else {
            Issue.record("\(String(describing: run.client.outcome))")
            return
        }
        #expect(message.hasPrefix("The server closed the call (4400): bad_message: bad message: "))
        #expect(run.client.call.lineClose == LineClose(code: 4_400, reason: "bad_message"))
        guard case .ended(.failed) = run.server.outcome else {
            Issue.record("\(String(describing: run.server.outcome))")
            return
        }
    }

    @Test(
        "Each close code on a call on WebRTC: the server's own end it, others leave it 30 s of audio and say why",
        arguments: [
            1_000, 1_001, 1_002, 1_007, 1_009, 1_011, 1_012, 4_400, 4_401, 4_404, 4_408, 4_409, 4_410, 4_429, 4_503,
            4_599, 4_999,
        ] as [UInt16])
    func closeCodes(code: UInt16) throws {
        let run = try active(.auto)
        try atServer(run) { now in
            run.server.call.carriages.line?.close(code: CloseCode(rawValue: code), reason: "word", now: now)
        }
        _ = run.simulator.run(until: .zero + .milliseconds(4_100))
        #expect(run.client.call.lineClose == LineClose(code: code, reason: "word"))
        if (4_400...4_599).contains(code) {
            #expect(run.client.outcome == .ended(.failed(message: "The server closed the call (\(code)): word")))
        } else {
            #expect(run.client.outcome == nil)
            let before = run.client.call.carriages.audioSnapshot.packetsReceivedOnPath
            _ = run.simulator.run(until: .zero + .seconds(20))
            #expect(run.client.call.carriages.audioSnapshot.packetsReceivedOnPath > before + 500)
            // A hang-up still reaches the other end.
            try atClient(run, seconds: 21) { now in run.client.call.hangUp(now: now) }
        }
        _ = run.simulator.run(until: .zero + .milliseconds(21_100))
        #expect(run.server.outcome == .ended(.remote))
    }

    @Test("A client that has no address yet gets one after welcome and is active on WebRTC")
    func lateAddress() throws {
        let run = try VirtualCall(seed: 12)
        run.client.addresses = []
        try atClient(run, seconds: 1) { now in
            run.client.call.networkChanged(
                to: [SocketAddress(ip: VirtualCall.clientIP, port: 5_000)], now: now)
        }
        _ = run.simulator.run(until: .zero + .milliseconds(900))
        #expect(run.client.call.timings.welcome != nil && run.client.call.transport == nil)
        _ = run.simulator.run(until: .zero + .seconds(4))
        #expect(run.client.call.state == .active)
        #expect(run.client.call.transport == .webrtc, "\(String(describing: run.client.call.fallback))")
        let never = try VirtualCall(seed: 12)
        never.client.addresses = []
        _ = never.simulator.run(until: .zero + .seconds(5))
        #expect(never.client.call.state == .active)
        #expect(never.client.call.fallback?.reason == .noCandidates)
        #expect(
            never.client.call.fallback.map { $0.elapsed >= .seconds(3) && $0.elapsed < .milliseconds(3_100) } == true)
    }
}
