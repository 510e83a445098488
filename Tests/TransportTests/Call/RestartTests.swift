import ICELite
import Testing
import TransportLine
import TransportMedia
import TransportTestKit

@testable import Transport

/// ICE restarts and changes of the network in whole calls, in virtual time.
@Suite("Restarts and network changes of a call") struct RestartTests {
    private let newIP = IPAddress(v4: 0xC633_6402)

    private func lossy(_ percent: Double) -> LinkModel {
        LinkModel(delay: .milliseconds(25), loss: .independent(percent: percent))
    }

    private func active(_ run: VirtualCall) {
        _ = run.simulator.run(until: .zero + .seconds(2))
        #expect(run.client.call.state == .active && run.client.call.transport == .webrtc)
    }

    private func perform(_ run: VirtualCall, at seconds: Int64, _ work: @escaping (Instant) -> Void) throws {
        run.network.perform(on: try #require(run.client.hostID), at: .zero + .seconds(seconds), work)
    }

    /// Every packet either end has sent arrives, but for those of the last 100 ms.
    private func expectNothingLost(_ run: VirtualCall) {
        let client = run.client.call.carriages.audioSnapshot
        let server = run.server.call.carriages.audioSnapshot
        #expect(client.packetsLost == 0 && server.packetsLost == 0)
        #expect(client.packetsReceived >= server.packetsSent - 5 && server.packetsReceived >= client.packetsSent - 5)
        #expect(client.packetsReceived > 200 && client.packetsReceivedOnLine == 0)
    }

    @Test("A restart takes both ends to new credentials, and every packet of audio arrives", arguments: 1...3)
    func restart(seed: Int) throws {
        let run = try VirtualCall(seed: UInt64(seed))
        active(run)
        let before = try #require(run.server.call.localUfrags.first)
        let keys = run.client.call.timings.secured
        let path = run.client.call.carriages.readPath { $0.selectedPath }
        var started = false
        try perform(run, at: 3) { now in started = run.client.call.restart(now: now) }
        _ = run.simulator.run(until: .zero + .milliseconds(3_500))
        #expect(started)
        #expect(run.client.call.restarting == nil)
        let ufrags = run.server.call.localUfrags
        #expect(ufrags.count == 2 && ufrags.contains(before))
        _ = run.simulator.run(until: .zero + .seconds(10))
        #expect(run.server.call.localUfrags.count == 1 && !run.server.call.localUfrags.contains(before))
        #expect(run.client.call.state == .active && run.server.call.state == .active)
        #expect(run.client.call.transport == .webrtc)
        #expect(run.client.call.timings.secured == keys)
        #expect(run.client.call.carriages.readPath { $0.selectedPath } == path)
        #expect(run.client.call.ignoredMessages == 0 && run.server.call.ignoredMessages == 0)
        expectNothingLost(run)
    }

    @Test("Loss of 20 % on UDP does not keep a restart from ending, nor the call from going on", arguments: 1...6)
    func restartWithLoss(seed: Int) throws {
        let run = try VirtualCall(seed: UInt64(seed), up: lossy(20), down: lossy(20))
        _ = run.simulator.run(until: .zero + .seconds(6))
        try #require(run.client.call.transport == .webrtc, "seed \(seed)")
        try perform(run, at: 7) { now in run.client.call.restart(now: now) }
        _ = run.simulator.run(until: .zero + .seconds(12))
        #expect(run.client.call.restarting == nil && run.client.call.restartsAbandoned == 0, "seed \(seed)")
        #expect(run.client.call.transport == .webrtc && run.server.call.transport == .webrtc)
    }

    @Test("One restart is outstanding: a second is refused, and a third is welcome after the first")
    func oneOutstanding() throws {
        let run = try VirtualCall(seed: 2)
        active(run)
        var results: [Bool] = []
        try perform(run, at: 3) { now in
            results.append(run.client.call.restart(now: now))
            results.append(run.client.call.restart(now: now))
        }
        try perform(run, at: 5) { now in results.append(run.client.call.restart(now: now)) }
        _ = run.simulator.run(until: .zero + .seconds(8))
        #expect(results == [true, false, true])
        #expect(run.client.call.restarting == nil)
        #expect(run.spy.messages("restart").count == 2)
        expectNothingLost(run)
    }

    @Test("The server may ask for a restart")
    func needed() throws {
        let run = try VirtualCall(seed: 2)
        active(run)
        let server = try #require(run.server.hostID)
        run.network.perform(on: server, at: .zero + .seconds(3)) { _ in run.server.call.send(.restartNeeded) }
        _ = run.simulator.run(until: .zero + .seconds(5))
        #expect(run.spy.messages("restart").count == 1)
        #expect(run.client.call.restarting == nil)
    }

    @Test("A call that ends takes back the restart that is outstanding and the one that is planned")
    func endedWhileWanted() throws {
        let run = try VirtualCall(seed: 2)
        active(run)
        let server = try #require(run.server.hostID)
        run.network.perform(on: server, at: .zero + .seconds(3)) { _ in
            run.server.call.send(.restartNeeded)
            run.server.call.send(.restartNeeded)
        }
        try perform(run, at: 3) { now in _ = run.client.call.restart(now: now) }
        _ = run.simulator.run(until: .zero + .seconds(3))
        try perform(run, at: 3) { now in
            #expect(run.client.call.restarting != nil)
            run.client.call.restartPlan.want(now: now)
            run.client.call.hangUp(now: now)
        }
        _ = run.simulator.run(until: .zero + .seconds(8))
        #expect(run.client.call.state == .ended)
        #expect(run.client.call.restarting == nil)
        #expect(run.client.call.nextDeadline == .never)
    }

    /// An answer to the outstanding restart as `change` would have it.
    private func answer(
        _ run: VirtualCall, fingerprint: String? = nil, isActive: Bool = false, ufrag: String? = nil
    ) throws -> ControlMessage.Restart {
        let restarting = run.client.call.restarting
        let mine = try #require(restarting?.media)
        let theirs = run.server.call.localMedia
        var drawn = Randomness.seeded(77)
        let credentials = ICECredentials.random(using: &drawn)
        var media = try #require(theirs)
        media.ufrag = credentials.ufrag
        media.password = credentials.password
        if let fingerprint { media.fingerprint = fingerprint }
        let offer = try RemoteMedia(offer: SessionDescription.makeOffer(mine))
        var sdp = try SessionDescription.makeAnswer(to: offer, media)
        if isActive {
            let parts = sdp.split(separator: "a=setup:passive", omittingEmptySubsequences: false)
            sdp = parts.joined(separator: "a=setup:active")
        }
        return ControlMessage.Restart(ufrag: ufrag ?? mine.ufrag, sdp: sdp)
    }

    @Test("An answer with another certificate or role, to another restart, or without one, is ignored and counted")
    func foreignAnswers() throws {
        let run = try VirtualCall(seed: 3)
        active(run)
        let client = run.client
        try perform(run, at: 3) { now in client.call.restart(now: now) }
        _ = run.simulator.run(until: .zero + .milliseconds(3_010))
        let other = "sha-256 " + (0..<32).map { _ in "AB" }.joined(separator: ":")
        client.call.handle(restarted: try answer(run, fingerprint: other), now: run.simulator.now)
        client.call.handle(restarted: try answer(run, isActive: true), now: run.simulator.now)
        client.call.handle(restarted: try answer(run, ufrag: "else"), now: run.simulator.now)
        #expect(client.call.ignoredMessages == 3)
        #expect(client.call.carriages.readPath { $0.statistics.restartsRefused } == 2)
        // The right answer still counts.
        _ = run.simulator.run(until: .zero + .seconds(5))
        #expect(client.call.restarting == nil && client.call.restartsAbandoned == 0)
        let late = ControlMessage.Restart(ufrag: "gone", sdp: "")
        client.call.handle(restarted: late, now: run.simulator.now)
        #expect(client.call.ignoredMessages == 4)
        expectNothingLost(run)
    }

    @Test("An offer of a restart with another certificate, or that is none, changes nothing at the server")
    func foreignOffers() throws {
        let run = try VirtualCall(seed: 3)
        active(run)
        let ufrags = run.server.call.localUfrags
        let mine = run.client.call.localMedia
        var media = try #require(mine)
        media.ufrag = "other"
        media.fingerprint = "sha-256 " + (0..<32).map { _ in "AB" }.joined(separator: ":")
        let now = run.simulator.now
        let sdp = SessionDescription.makeOffer(media)
        run.server.call.answer(ControlMessage.Restart(ufrag: "other", sdp: sdp), now: now)
        run.server.call.answer(ControlMessage.Restart(ufrag: "wrong", sdp: sdp), now: now)
        run.server.call.answer(ControlMessage.Restart(ufrag: "other", sdp: "v=0"), now: now)
        #expect(run.server.call.ignoredMessages == 3)
        #expect(run.server.call.localUfrags == ufrags)
    }

    @Test("A restart whose answer never comes is given up; the call goes on where it was, and may restart again")
    func abandoned() throws {
        let run = try VirtualCall(seed: 4)
        active(run)
        // A server without a description answers no restart.
        let media = run.server.call.localMedia
        run.server.call.localMedia = nil
        try perform(run, at: 3) { now in run.client.call.restart(now: now) }
        _ = run.simulator.run(until: .zero + .seconds(12))
        #expect(run.client.call.restarting != nil)
        _ = run.simulator.run(until: .zero + .seconds(14))
        #expect(run.client.call.restarting == nil && run.client.call.restartsAbandoned == 1)
        #expect(run.client.call.state == .active)
        let isPending = run.client.call.carriages.readPath { $0.full?.isRestarting ?? true }
        #expect(isPending == false)
        run.server.call.localMedia = media
        try perform(run, at: 15) { now in run.client.call.restart(now: now) }
        _ = run.simulator.run(until: .zero + .seconds(17))
        #expect(run.client.call.restarting == nil && run.client.call.restartsAbandoned == 1)
        #expect(run.server.call.ignoredMessages == 1)
        expectNothingLost(run)
    }

    @Test("Candidates of both generations, of none and of nonsense, mixed into a restart, do no harm", arguments: 1...3)
    func mixedCandidates(seed: Int) throws {
        let run = try VirtualCall(seed: UInt64(seed))
        active(run)
        let old = try #require(run.server.call.localUfrags.first)
        try perform(run, at: 3) { now in
            run.client.call.restart(now: now)
            Self.mix(run, [old, "unknown", ""], now: now)
        }
        for step in 1...10 as ClosedRange<Int64> {
            let at = Instant.zero + .seconds(3) + .milliseconds(step * 20)
            run.network.perform(on: try #require(run.client.hostID), at: at) { now in
                Self.mix(run, [old, "unknown"] + run.server.call.localUfrags, now: now)
            }
        }
        _ = run.simulator.run(until: .zero + .seconds(8))
        #expect(run.client.call.restarting == nil)
        #expect(run.client.call.carriages.readPath { $0.selectedPath?.remote } == VirtualCall.serverAddress)
        expectNothingLost(run)
    }

    private static func mix(_ run: VirtualCall, _ ufrags: [String], now: Instant) {
        let right = ICECandidate(host: VirtualCall.serverAddress, localPreference: .max).attribute
        let nowhere = ICECandidate(
            host: SocketAddress(ip: IPAddress(v4: 0xCB00_7163), port: 9), localPreference: .max
        ).attribute
        for ufrag in ufrags {
            for text in [right, nowhere, "candidate:garbage", nil] {
                run.client.call.handle(ControlMessage.Candidate(candidate: text, ufrag: ufrag), now: now)
            }
        }
    }

    @Test(
        "A call whose only address is replaced goes on from the new one, with or without a restart",
        arguments: [true, false])
    func networkChange(restarts: Bool) throws {
        let run = try VirtualCall(seed: 5)
        active(run)
        let id = try #require(run.client.hostID)
        let link = LinkModel(delay: .milliseconds(25))
        run.network.addInterface("other", of: id, ip: newIP, up: link, down: link)
        let new = SocketAddress(ip: newIP, port: 6_000)
        try perform(run, at: 3) { now in
            run.network.setInterface("client", isUp: false)
            run.client.call.networkChanged(to: [new], now: now)
            if restarts { run.client.call.restart(now: now) }
        }
        _ = run.simulator.run(until: .zero + .seconds(8))
        #expect(run.client.call.state == .active && run.server.call.state == .active)
        #expect(run.client.call.transport == .webrtc && run.client.call.fallback == nil)
        #expect(run.client.call.carriages.readPath { $0.selectedPath?.local } == new)
        #expect(run.server.call.carriages.readPath { $0.selectedPath?.remote } == new)
        #expect(run.spy.messages("candidate").contains { $0.contains("198.51.100.2 6000") })
        // What was in the air, and a round trip or two until the new pair is there.
        let lost = run.client.call.carriages.audioSnapshot.packetsLost
        #expect(lost <= 10, "\(lost) lost")
        #expect(run.client.call.carriages.audioSnapshot.packetsReceived > 250)
    }

    @Test("An address that comes is signalled at once, one that goes and comes fifty times leaves nothing behind")
    func flapping() throws {
        let run = try VirtualCall(seed: 6)
        active(run)
        let own = SocketAddress(ip: VirtualCall.clientIP, port: 5_000)
        for round in 0..<50 as Range<Int64> {
            let at = Instant.zero + .seconds(3) + .milliseconds(round * 40)
            run.network.perform(on: try #require(run.client.hostID), at: at) { [newIP] now in
                let new = SocketAddress(ip: newIP, port: UInt16(6_000 + round))
                run.client.call.networkChanged(to: round % 2 == 0 ? [own, new] : [own], now: now)
            }
        }
        _ = run.simulator.run(until: .zero + .seconds(8))
        #expect(run.spy.messages("candidate").count { $0.contains("198.51.100.2") } == 25)
        #expect(run.client.call.carriages.readPath { $0.localCandidates.count } == 1)
        #expect(run.client.call.evidence.pairs == 1)
        expectNothingLost(run)
    }

    @Test("End of candidates is said once, when welcome and every STUN server are done with")
    func endOfCandidates() throws {
        let plain = try VirtualCall(seed: 7)
        active(plain)
        #expect(plain.spy.messages("candidate").count == 1)
        #expect(plain.spy.messages("candidate").allSatisfy { $0.contains("end_of_candidates") })
        let server = try #require(STUNServer(url: "stun:192.0.2.77"))
        let asking = try VirtualCall(seed: 7, stunServers: [server])
        _ = asking.simulator.run(until: .zero + .seconds(2))
        #expect(asking.client.call.state == .active)
        #expect(asking.client.wanted == [server])
        #expect(asking.spy.messages("candidate").isEmpty)
        try perform(asking, at: 3) { now in
            let address = SocketAddress(ip: IPAddress(v4: 0xC000_024D), port: 3_478)
            asking.client.call.serverResolved(server, to: [address], now: now)
        }
        _ = asking.simulator.run(until: .zero + .seconds(10))
        #expect(asking.spy.messages("candidate").isEmpty)
        _ = asking.simulator.run(until: .zero + .seconds(40))
        #expect(asking.spy.messages("candidate").count == 1)
        #expect(asking.client.call.carriages.readPath { $0.statistics.reflexiveFailures } == 1)
        expectNothingLost(asking)
    }

    @Test("What a STUN server says becomes a candidate on the line, and the call never waited for it")
    func serverReflexive() throws {
        let server = try #require(STUNServer(url: "stun:192.0.2.77"))
        let run = try VirtualCall(seed: 8, stunServers: [server])
        let host = StunHost()
        let id = run.network.addHost(host)
        host.hostID = id
        let ip = IPAddress(v4: 0xC000_024D)
        // Slower than hello: in the offer it would not be signalled by itself.
        run.network.addInterface("stun", of: id, ip: ip, up: LinkModel(delay: .milliseconds(150)))
        // Events of one instant come in any order: after the start.
        run.network.perform(on: try #require(run.client.hostID), at: .zero + .milliseconds(1)) { now in
            run.client.call.serverResolved(server, to: [SocketAddress(ip: ip, port: 3_478)], now: now)
        }
        _ = run.simulator.run(until: .zero + .seconds(3))
        let candidates = run.spy.messages("candidate")
        #expect(host.requests == 1)
        #expect(run.client.call.gathering.resolving.isEmpty)
        #expect(run.client.call.carriages.readPath { $0.isGathering } == false)
        #expect(
            run.client.call.carriages.pathSnapshot?.reflexiveAddresses
                == [SocketAddress(ip: IPAddress(v4: 0xCB00_7105), port: 41_000)])
        #expect(candidates.count == 2)
        #expect(candidates.first?.contains("203.0.113.5 41000 typ srflx raddr 192.0.2.2 rport 5000") == true)
        #expect(candidates.last?.contains("end_of_candidates") == true)
        #expect(run.client.call.state == .active && run.client.call.transport == .webrtc)
    }
}

/// A STUN server that sees everybody at 203.0.113.5:41000.
private final class StunHost: VirtualHost {
    var hostID: HostID?
    private(set) var requests = 0
    private var answers: [(bytes: [UInt8], path: NetworkPath)] = []
    var nextDeadline: Instant { .never }

    func handleTimeout(now: Instant) {}

    func receive(datagram: [UInt8], path: NetworkPath, now: Instant) {
        guard let message = try? STUNMessage(parsing: datagram.span.bytes), message.messageClass == .request else {
            return
        }
        requests += 1
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 256, alignment: 16)
        defer { room.deallocate() }
        var out = OutputRawSpan(buffer: room, initializedCount: 0)
        let mapped = SocketAddress(ip: IPAddress(v4: 0xCB00_7105), port: 41_000)
        guard let writer = try? STUNWriter(.success, transactionID: message.transactionID, into: &out) else { return }
        try? writer.append(address: mapped, isXORed: true, into: &out)
        let count = out.finalize(for: room)
        answers.append((Array(room[..<count]), path))
    }

    func receive(streamBytes: [UInt8], line: LineID, now: Instant) {}
    func lineClosed(_ line: LineID, by cut: LineCut, now: Instant) {}

    func drain(into network: VirtualNetwork, now: Instant) {
        guard let hostID else { return }
        for answer in answers { network.send(answer.bytes, from: hostID, on: answer.path) }
        answers.removeAll()
    }
}
