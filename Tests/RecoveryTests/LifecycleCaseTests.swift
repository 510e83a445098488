import ICELite
import Testing
import TransportTestKit

@testable import Transport

/// The cases of the group *lifecycle* that need no socket.
@Suite("Cases: the life of a call in virtual time") struct LifecycleCaseTests {
    private func at(_ milliseconds: Int64) -> Instant { Instant.zero + .milliseconds(milliseconds) }

    private func run(_ call: VirtualCall, to milliseconds: Int64) { _ = call.simulator.run(until: at(milliseconds)) }

    private func count(_ events: [ClientCall.Event], _ isIt: (ClientCall.Event) -> Bool) -> Int {
        events.count { isIt($0) }
    }

    private static func isEnd(_ event: ClientCall.Event) -> Bool { if case .ended = event { true } else { false } }
    private static func isActive(_ event: ClientCall.Event) -> Bool {
        if case .stateChanged(.active) = event { true } else { false }
    }

    @Test(
        "LIFE-01: a hang-up in any phase of the set-up is one end, and nothing is due after it",
        arguments: Array(stride(from: 0 as Int64, through: 400, by: 5)))
    func cancelled(milliseconds: Int64) throws {
        let expected = try LifecycleCase.load("LIFE-01").expectation()
        let call = try VirtualCall(seed: UInt64(milliseconds) + 1)
        call.network.perform(on: try #require(call.client.hostID), at: at(milliseconds)) { now in
            call.client.call.hangUp(now: now)
        }
        run(call, to: milliseconds + 3_000)
        #expect(count(call.client.events, Self.isEnd) == expected.terminalEvents)
        #expect(call.client.outcome == .ended(.local))
        #expect(call.client.call.nextDeadline == .never && call.server.call.nextDeadline == .never)
        let events = call.client.events.count
        run(call, to: milliseconds + 60_000)
        #expect(call.client.events.count == events, "nothing is told after the end")
        #expect(call.client.events.last.map(Self.isEnd) ?? false || call.client.events.contains(where: Self.isEnd))
    }

    @Test("LIFE-03: the deadline and the first packet at one instant: whichever is handled first wins, once")
    func race() throws {
        let expected = try LifecycleCase.load("LIFE-03")
        let runs = try #require(expected.runs).dropLast()
        #expect(runs.count == 5)
        for run in runs {
            for round in 0..<100 as Range<Int64> {
                var limits = TransportLimits()
                limits.checkPatience = .seconds(12)
                limits.handshakePatience = .seconds(12)
                limits.mediaPatience = .seconds(12)
                var policy = ClientPolicy(
                    wanted: .auto, standard: false, hasMediaPath: true, recovery: .continueOnWebSocket, limits: limits)
                let hello = at(round * 7)
                policy.start(now: hello)
                policy.helloSent(now: hello)
                policy.lineHeardAt = hello
                policy.welcomed(.answer, now: hello + .milliseconds(20))
                var evidence = PathEvidence()
                evidence.pairs = 1
                evidence.remoteIsComplete = true
                evidence.lastPairAt = hello
                policy.pathChanged(evidence, now: hello + .milliseconds(20))
                let deadline = hello + .seconds(12)
                policy.lineHeardAt = deadline - .milliseconds(1)
                let succeed = { (policy: inout ClientPolicy, now: Instant) in
                    evidence.firstAnswerAt = now
                    evidence.keysAt = now
                    evidence.firstMediaAt = now
                    policy.pathChanged(evidence, now: now)
                    policy.heard(on: .webrtc, now: now)
                    policy.acknowledged(epoch: 1, heard: true, now: now)
                }
                let connected = run.webrtc.map { hello + Nanoseconds($0 * 1_000) * .milliseconds(1) }
                if let connected, connected < deadline || run.order == "connected-first" {
                    succeed(&policy, connected)
                    policy.handleTimeout(now: deadline)
                } else {
                    policy.handleTimeout(now: deadline)
                    if let connected { succeed(&policy, connected) }
                }
                #expect(policy.transport == (run.winner == "webrtc" ? .webrtc : .websocket), "\(run)")
                #expect((policy.fallback == nil) == (run.winner == "webrtc"))
                // Whoever lost is heard of no more.
                policy.acknowledged(epoch: policy.epoch, heard: true, now: deadline + .milliseconds(300))
                if let transport = policy.transport { policy.heard(on: transport, now: deadline + .milliseconds(301)) }
                var selects = 0
                var ready = 0
                while let effect = policy.pollEffect() {
                    if case .select = effect { selects += 1 }
                    if case .activated = effect { ready += 1 }
                }
                #expect(selects == 1 && ready == expected.expect?.readyEvents)
            }
        }
        // Neither of the two: the call has failed, and nothing is said of UDP.
        let dead = try VirtualCall(seed: 31, up: Self.dropping, down: Self.dropping)
        run(dead, to: 100)
        dead.network.cutLine(try #require(dead.client.line), with: .silent)
        run(dead, to: 40_000)
        guard case .failed = dead.client.outcome else {
            Issue.record("\(String(describing: dead.client.outcome))")
            return
        }
        #expect(dead.client.call.fallback == nil)
    }

    private static let dropping: LinkModel = {
        var model = LinkModel(delay: .milliseconds(25))
        model.reachability = .drop
        return model
    }()

    @Test(
        "LIFE-04: a path that would succeed after the fallback is closed, with close_notify once it has an association")
    func lateSuccess() throws {
        let expected = try LifecycleCase.load("LIFE-04").expectation()
        let late = try VirtualCall(seed: 32, up: Self.dropping, down: Self.dropping)
        run(late, to: 5_000)
        #expect(late.client.call.transport == .websocket && late.client.call.state == .active)
        late.network.changeInterface("client") { up, down in
            up.model = LinkModel(delay: .milliseconds(25))
            down.model = LinkModel(delay: .milliseconds(25))
        }
        let sent = late.client.sent
        run(late, to: 20_000)
        let reported = late.client.events.contains { event in
            if case .transportChanged(.webrtc, _) = event { true } else { false }
        }
        #expect(reported == expected.lateReported)
        #expect(late.client.sent == sent, "the path that was given up sends nothing")
        #expect(count(late.client.events, Self.isActive) == 1)
        // One whose handshake is done says goodbye: the audio of the server is lost, so the call goes to the line.
        let secured = try VirtualCall(seed: 33)
        // SRTP and SRTCP begin with 128…191.
        secured.server.losesContent = { bytes in (128...191).contains(bytes.first ?? 0) }
        var goodbyes = 0
        secured.client.losesContent = { bytes in
            if bytes.first == 21 { goodbyes += 1 }
            return false
        }
        run(secured, to: 6_000)
        #expect(secured.client.call.transport == .websocket && secured.client.call.state == .active)
        #expect(secured.client.call.fallback?.reason == .mediaTimeout)
        #expect((goodbyes == 1) == expected.closeNotifySent)
    }

    @Test("LIFE-07: an interface more interrupts nothing; the active one lost or renumbered is replaced, in one outage")
    func interfaces() throws {
        let events = try #require(try LifecycleCase.load("LIFE-07").events)
        let other = SocketAddress(ip: IPAddress(v4: 0xC000_0263), port: 5_001)
        let first = SocketAddress(ip: VirtualCall.clientIP, port: 5_000)
        let call = try VirtualCall(seed: 34)
        let host = try #require(call.client.hostID)
        call.network.addInterface(
            "usb0", of: host, ip: other.ip, up: LinkModel(delay: .milliseconds(25)),
            down: LinkModel(delay: .milliseconds(25)))
        run(call, to: 3_000)
        let concealed = call.client.call.carriages.audioSnapshot.concealedSamples
        call.network.perform(on: host, at: at(3_001)) { now in
            call.client.call.networkChanged(to: [first, other], now: now)
        }
        run(call, to: 8_000)
        let gap = (call.client.call.carriages.audioSnapshot.concealedSamples - concealed) / 48
        #expect(gap == events[0].gapMsMax && call.client.call.outages.isEmpty)
        // The active one goes: line and the other interface are there.
        call.network.setInterface("client", isUp: false)
        call.network.perform(on: host, at: at(8_001)) { now in
            call.client.call.networkChanged(to: [other], now: now)
        }
        run(call, to: 14_000)
        let lost = try #require(call.client.call.outages.first)
        #expect(lost.cause == .networkChange && lost.outcome == .recovered && lost.mechanism == .otherPair)
        #expect(lost.gap <= .milliseconds(700))
        #expect(call.client.call.transport == .webrtc && call.client.call.carriages.path?.selectedPath?.local == other)
        // And is renumbered.
        let renumbered = SocketAddress(ip: IPAddress(v4: 0xC000_0277), port: 5_002)
        call.network.setInterface("usb0", isUp: true, ip: renumbered.ip)
        call.network.perform(on: host, at: at(20_001)) { now in
            call.client.call.networkChanged(to: [renumbered], now: now)
        }
        run(call, to: 26_000)
        #expect(call.client.call.outages.map(\.outcome) == [.recovered, .recovered])
        #expect(call.client.call.carriages.path?.selectedPath?.local == renumbered)
    }

    @Test("LIFE-10: a STUN server whose name never resolves, and a .local candidate, delay nothing")
    func slowHelpers() throws {
        let expected = try LifecycleCase.load("LIFE-10").expectation()
        let never = try #require(STUNServer(url: "stun:never.example"))
        let call = try VirtualCall(seed: 35, stunServers: [never])
        call.network.perform(on: try #require(call.server.hostID), at: at(150)) { now in
            let candidate = "candidate:1 1 udp 2122260223 1f4712db-ea17-4bcf-a596-105139dfd8bf.local 54596 typ host"
            let ufrag = call.server.call.localUfrags.first ?? ""
            call.server.call.send(.candidate(ControlMessage.Candidate(candidate: candidate, ufrag: ufrag)))
        }
        run(call, to: try #require(expected.hostCandidatesMsMax))
        #expect(call.client.wanted == [never])
        #expect(call.spy.messages("hello").first?.contains("typ host") == true)
        run(call, to: 400)
        #expect(call.client.call.state == .active && call.client.call.transport == .webrtc)
        // The driver's own deadline for a name is 5 s: it answers with nothing.
        call.network.perform(on: try #require(call.client.hostID), at: at(5_000)) { now in
            call.client.call.serverResolved(never, to: [], now: now)
        }
        run(call, to: try #require(expected.gatheringDoneMsMax))
        #expect(call.client.call.gathering.isOver)
        #expect(call.spy.messages("candidate").contains { $0.contains("end_of_candidates") })
    }

    @Test("LIFE-13: a hundred set-ups that failed leave no timer and nothing to send")
    func idle() throws {
        let expected = try LifecycleCase.load("LIFE-13")
        for seed in 0..<UInt64(try #require(expected.iterations)) {
            let call = try VirtualCall(seed: seed, up: Self.dropping, down: Self.dropping)
            run(call, to: 120)
            call.network.cutLine(try #require(call.client.line), with: seed % 2 == 0 ? .rst : .silent)
            run(call, to: 30_000)
            guard case .failed = call.client.outcome else {
                Issue.record("seed \(seed): \(String(describing: call.client.outcome))")
                continue
            }
            let timers = [call.client.call.nextDeadline, call.server.call.nextDeadline].count { $0 != .never }
            #expect(timers == expected.expect?.activeTimers, "seed \(seed)")
        }
    }
}
