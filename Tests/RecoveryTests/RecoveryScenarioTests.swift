import ICELite
import Testing
import TransportRuntime
import TransportTestKit

@testable import Transport

/// Whole calls whose path breaks, in virtual time: both ends' machines, the bridge and what becomes of the call.
@Suite("Recovery in virtual time") struct RecoveryScenarioTests {
    /// What a link does to everything.
    private static let dead: LinkModel = {
        var model = alive
        model.reachability = .drop
        return model
    }()
    private static let alive = LinkModel(delay: .milliseconds(25))

    private func active(
        recovery: RecoveryPolicy = .continueOnWebSocket, line: LinkModel = alive
    ) throws -> VirtualCall {
        let run = try VirtualCall(seed: 21, line: line, recovery: recovery)
        _ = run.simulator.run(until: .zero + .seconds(3))
        #expect(run.client.call.state == .active && run.client.call.transport == .webrtc)
        #expect(run.server.call.state == .active)
        return run
    }

    /// Breaks the path in one or both directions from now on.
    private func setPath(_ run: VirtualCall, up: Bool, down: Bool) {
        run.network.changeInterface("client") { upward, downward in
            upward.model = up ? Self.alive : Self.dead
            downward.model = down ? Self.alive : Self.dead
        }
    }

    private func run(_ call: VirtualCall, to milliseconds: Int64) {
        _ = call.simulator.run(until: .zero + .milliseconds(milliseconds))
    }

    private func concealed(_ run: VirtualCall) -> (client: Int64, server: Int64) {
        (
            run.client.call.carriages.audioSnapshot.concealedSamples,
            run.server.call.carriages.audioSnapshot.concealedSamples
        )
    }

    @Test("UDP dead for 4 s: bridged within 700 ms, back on the path, no reason, one outage at each end")
    func bridged() throws {
        let run = try active()
        setPath(run, up: false, down: false)
        self.run(run, to: 3_300)
        #expect(run.client.call.isBridgeAsked == false)
        self.run(run, to: 3_400)
        #expect(run.client.call.isBridgeAsked && run.server.call.isBridgeAsked)
        #expect(run.client.call.isRecovering == false)
        self.run(run, to: 5_000)
        #expect(run.client.call.isRecovering && run.server.call.isRecovering)
        let before = concealed(run)
        self.run(run, to: 6_900)
        let after = concealed(run)
        #expect(after.client - before.client <= 960 && after.server - before.server <= 960, "the line carries it all")
        setPath(run, up: true, down: true)
        self.run(run, to: 10_500)
        #expect(run.client.call.transport == .webrtc && run.client.call.fallback == nil)
        #expect(!run.client.call.isBridgeAsked && !run.server.call.isBridgeAsked)
        #expect(!run.client.call.isRecovering && !run.server.call.isRecovering)
        for outages in [run.client.call.outages, run.server.call.outages] {
            #expect(outages.count == 1)
            let outage = try #require(outages.first)
            #expect(outage.outcome == .recovered)
            #expect(outage.gap <= .milliseconds(700) && outage.gap >= .milliseconds(350))
        }
        let outage = try #require(run.client.call.outages.first)
        #expect(outage.cause == .silence && outage.mechanism == .samePair && outage.checksSent >= 10)
        let lineBefore = run.client.call.carriages.audioSnapshot.packetsReceivedOnLine
        self.run(run, to: 12_000)
        #expect(run.client.call.carriages.audioSnapshot.packetsReceivedOnLine == lineBefore)
        // What came on the line alone is not lost, nor what came there twice.
        #expect(run.client.call.carriages.audioSnapshot.packetsLost <= 25)
    }

    @Test("UDP dead for good: continued on the line 10 s after the suspicion, with recovery_failed, one event")
    func continued() throws {
        let run = try active()
        setPath(run, up: false, down: false)
        self.run(run, to: 13_300)
        #expect(run.client.call.transport == .webrtc)
        self.run(run, to: 13_500)
        #expect(run.client.call.transport == .websocket)
        #expect(run.client.call.fallback?.reason == .recoveryFailed)
        #expect(run.client.call.fallback?.stage == .recovery)
        #expect(run.server.call.transport == .websocket && run.server.call.fallback?.reason == .recoveryFailed)
        #expect(run.client.call.outages.last?.outcome == .continued)
        #expect(run.server.call.outages.last?.outcome == .continued)
        #expect((run.client.call.outages.last?.checksSent ?? 0) > 10)
        #expect((run.client.call.outages.last?.framesLost ?? 0) > 2)
        let before = concealed(run)
        self.run(run, to: 16_000)
        let after = concealed(run)
        #expect(after.client - before.client <= 960 && after.server - before.server <= 960)
        #expect(run.client.call.state == .active && !run.client.call.isRecovering)
        let changes = run.client.events.filter { if case .transportChanged(.websocket, _) = $0 { true } else { false } }
        #expect(changes.count == 1)
    }

    @Test(
        "Under endCall the same outage ends the call as failed at its window's end; transport and reason never change")
    func endCall() throws {
        let run = try active(recovery: .endCall)
        setPath(run, up: false, down: false)
        self.run(run, to: 13_300)
        #expect(run.client.outcome == nil)
        self.run(run, to: 13_500)
        #expect(run.client.outcome == .ended(.failed(message: CallMessage.pathLost)))
        #expect(run.server.outcome == .ended(.failed(message: CallMessage.pathLost)))
        #expect(run.client.call.transport == .webrtc && run.client.call.fallback == nil)
        let outage = try #require(run.client.call.outages.last)
        #expect(outage.outcome == .failed && outage.checksSent > 10)
    }

    @Test("Path and line dead: both ends end as failed about 10 s later", arguments: [0, 4_000] as [Int64])
    func bothDead(lineLater: Int64) throws {
        let run = try active()
        setPath(run, up: false, down: false)
        self.run(run, to: 3_000 + lineLater)
        run.network.cutLine(try #require(run.client.line), with: .silent)
        self.run(run, to: 13_300)
        #expect(run.client.outcome == nil && run.server.outcome == nil)
        self.run(run, to: 13_500)
        #expect(run.client.outcome == .ended(.failed(message: CallMessage.pathLost)))
        #expect(run.server.outcome == .ended(.failed(message: CallMessage.pathLost)))
        #expect(run.client.call.fallback == nil)
    }

    @Test(
        "A one-way outage is bridged as a whole one is, and its end is noticed by both ends",
        arguments: [true, false])
    func oneWay(upIsDead: Bool) throws {
        let run = try active()
        setPath(run, up: !upIsDead, down: upIsDead)
        self.run(run, to: 4_000)
        #expect(upIsDead ? run.server.call.isBridgeAsked : run.client.call.isBridgeAsked)
        let before = concealed(run)
        self.run(run, to: 6_900)
        let after = concealed(run)
        #expect(after.client - before.client <= 960 && after.server - before.server <= 960)
        #expect(run.client.call.isRecovering == true, "the client repairs, whichever way it is")
        setPath(run, up: true, down: true)
        self.run(run, to: 10_500)
        #expect(run.client.call.outages.map(\.outcome) == [.recovered])
        #expect(run.server.call.outages.map(\.outcome) == [.recovered])
        #expect(run.client.call.outages.first?.cause == (upIsDead ? .peer : .silence))
        #expect(!run.client.call.isBridgeAsked && !run.server.call.isBridgeAsked)
    }

    @Test("A stall of 500 ms is a false alarm: no repair, no state, and the next one within 30 s is not even suspected")
    func falseAlarm() throws {
        let run = try active()
        for start in [3_000, 13_000] as [Int64] {
            self.run(run, to: start)
            setPath(run, up: false, down: false)
            self.run(run, to: start + 500)
            setPath(run, up: true, down: true)
        }
        self.run(run, to: 20_000)
        #expect(run.client.call.outages.map(\.outcome) == [.falseAlarm])
        #expect(!run.client.events.contains { if case .recoveringChanged = $0 { true } else { false } })
        #expect(run.client.call.transport == .webrtc)
    }

    @Test("A lost line in an outage leaves the path its window; a path that comes back carries the call for 30 s more")
    func lineLostInOutage() throws {
        let run = try active()
        run.network.cutLine(try #require(run.client.line), with: .rst)
        self.run(run, to: 4_000)
        setPath(run, up: false, down: false)
        self.run(run, to: 10_000)
        #expect(run.client.call.state == .active && run.client.call.isRecovering)
        setPath(run, up: true, down: true)
        self.run(run, to: 12_000)
        #expect(run.client.call.outages.map(\.outcome) == [.recovered])
        #expect(run.client.call.state == .active && run.server.call.state == .active)
        self.run(run, to: 33_100)
        #expect(run.client.outcome == .ended(.failed(message: CallMessage.lineLost)))
    }

    @Test("A bridge the server asked for on a line that dies is over with the line: the path goes on carrying the call")
    func bridgeOnDeadLine() throws {
        let run = try active()
        setPath(run, up: false, down: true)
        self.run(run, to: 3_600)
        #expect(run.server.call.isBridgeAsked == true)
        run.network.cutLine(try #require(run.client.line), with: .silent)
        setPath(run, up: true, down: true)
        self.run(run, to: 25_000)
        #expect(run.client.call.state == .active && run.server.call.state == .active)
        #expect(run.client.call.isRecovering == false)
        #expect(run.client.call.outages.count == 1 && run.client.call.outages.first?.outcome != .failed)
    }

    @Test(
        "A new NAT port: the server sees the audio from a stranger, asks for a check, and the path is back in 2 round trips"
    )
    func rebinding() throws {
        let run = try VirtualCall(seed: 22, nat: VirtualNAT(publicIP: IPAddress(v4: 0xCB00_7109), filters: true))
        _ = run.simulator.run(until: .zero + .seconds(3))
        #expect(run.client.call.state == .active && run.client.call.transport == .webrtc)
        let before = concealed(run)
        run.network.rebind("client")
        self.run(run, to: 6_000)
        let after = concealed(run)
        #expect(after.client - before.client <= (2 * 50 + 100) * 48)
        #expect(after.server == before.server)
        #expect(run.client.call.outages.isEmpty && run.server.call.outages.isEmpty)
    }

    @Test("Consent that ends within an outage: a restart brings the path back inside the window")
    func consentEndsInOutage() throws {
        let run = try active(recovery: .endCall)
        // The answers to the client's checks are lost: the server goes on hearing requests, the client has no consent soon.
        run.server.losesContent = { $0.starts(with: [1, 1]) }
        self.run(run, to: 29_500)
        #expect(run.client.call.outages.isEmpty)
        setPath(run, up: false, down: false)
        self.run(run, to: 34_500)
        #expect(run.client.call.evidence.isLost || run.client.call.isRecovering)
        run.server.losesContent = { _ in false }
        setPath(run, up: true, down: true)
        self.run(run, to: 45_000)
        #expect(run.client.outcome == nil)
        #expect(run.client.call.outages.map(\.outcome) == [.recovered])
        #expect(run.client.call.outages.map(\.mechanism) == [.restart])
    }

    @Test("Whatever wakes a process after 35 s, or before its timer is called: nothing goes where consent is over")
    func nothingBehindConsent() throws {
        for isServer in [false, true] {
            let run = try active()
            let later = Instant.zero + .seconds(38)
            let message = Array(#"{"type":"x"}"#.utf8)
            let pool = PacketPool(size: 1)
            guard var packet = pool.take() else { return }
            if isServer {
                _ = run.server.call.send(message: message, now: later)
                while run.server.call.pollTransmit(into: &packet, now: later) != nil {
                    Issue.record("the server sends \(packet.copiedBytes.prefix(4))")
                    packet.count = 0
                }
            } else {
                _ = run.client.call.send(message: message, now: later)
                while run.client.call.pollTransmit(into: &packet, now: later) != nil {
                    Issue.record("the client sends \(packet.copiedBytes.prefix(4))")
                    packet.count = 0
                }
            }
        }
    }

    @Test("A hint costs a look at the path and two seconds of bridge, and changes nothing")
    func hint() throws {
        let run = try active()
        run.network.perform(on: try #require(run.client.hostID), at: .zero + .milliseconds(3_010)) { now in
            run.client.call.networkHint(now: now)
        }
        self.run(run, to: 8_000)
        #expect(run.client.call.outages.map(\.cause) == [.hint])
        #expect(run.client.call.outages.map(\.outcome) == [.falseAlarm])
        #expect(!run.client.call.isBridgeAsked && !run.server.call.isBridgeAsked)
        #expect(run.client.call.transport == .webrtc)
    }
}
