import ICELite
import Testing
import TransportRuntime
import TransportTestKit

@testable import Transport

/// How many round trips it takes from hello to the agent's first audio, in virtual time, and that no loss stops it.
@Suite("The ladder of the handshake") struct HandshakeLadderTests {
    private func call(
        seed: UInt64 = 1, roundTrip: Int64, _ handshake: HandshakeOptions = HandshakeOptions(),
        answering: HandshakeOptions = HandshakeOptions()
    ) throws -> VirtualCall {
        let link = LinkModel(delay: .milliseconds(roundTrip) / 2)
        return try VirtualCall(
            seed: seed, up: link, down: link, line: link, handshake: handshake, answering: answering)
    }

    private func options(_ change: (inout HandshakeOptions) -> Void) -> HandshakeOptions {
        var options = HandshakeOptions()
        change(&options)
        return options
    }

    private func path(_ host: ClientHost) throws -> MediaPathSnapshot {
        let path = host.call.snapshot(startedAt: .zero, now: .zero).path
        return try #require(path)
    }

    private func path(_ host: ServerHost) throws -> MediaPathSnapshot {
        let path = host.call.snapshot(startedAt: .zero, now: .zero).path
        return try #require(path)
    }

    /// Runs until the call is active at both ends, or `limit` is over.
    private func runUntilActive(_ run: VirtualCall, limit: Nanoseconds = .seconds(12)) {
        let end = Instant.zero + limit
        while run.simulator.now < end, run.client.call.state != .active || run.server.call.state != .active {
            _ = run.simulator.run(until: min(end, run.simulator.now + .milliseconds(50)))
        }
    }

    /// From hello to the first audio at either end.
    private func firstAudio(_ run: VirtualCall) throws -> (client: Nanoseconds, server: Nanoseconds) {
        runUntilActive(run)
        #expect(run.client.call.transport == .webrtc, "\(String(describing: run.client.call.fallback))")
        let hello = try #require(run.client.call.timings.hello)
        let client = try #require(run.client.call.timings.firstAudio)
        let server = run.server.call.firstHeardAt
        return (client - hello, try #require(server) - hello)
    }

    @Test("The agent is heard 2 round trips after hello, the customer 2.5", arguments: [20, 50, 100, 200, 400])
    func twoRoundTrips(roundTrip: Int64) throws {
        let run = try call(roundTrip: roundTrip)
        let took = try firstAudio(run)
        #expect(took.client >= .milliseconds(2 * roundTrip))
        #expect(took.client <= .milliseconds(2 * roundTrip + 5))
        #expect(took.server <= .milliseconds(5 * roundTrip / 2 + 5))
        let shortcuts = try path(run.client).shortcuts
        #expect(shortcuts.helloOffered && shortcuts.helloAnswered)
        #expect(shortcuts.flightsOnLineSent == 1)
        // The server's first flight with welcome, its last behind the call's.
        #expect(shortcuts.flightsOnLineReceived == 2)
        #expect(shortcuts.flightsBehindChecks == 1)
        let answering = try path(run.server).shortcuts
        #expect(answering.helloOffered)
        #expect(answering.flightsOnLineReceived == 1 && answering.flightsOnLineSent == 1)
        // Nothing was sent twice by a timer.
        #expect(try path(run.client).dtlsRetransmissions == 0)
        #expect(try path(run.server).dtlsRetransmissions == 0)
    }

    @Test(
        "Without the hello in the offer, or where the endpoint ignores it, it takes 3",
        arguments: [20, 50, 100, 200, 400], [true, false])
    func threeRoundTrips(roundTrip: Int64, offers: Bool) throws {
        let off = options { $0.helloInOffer = false }
        let run = try call(roundTrip: roundTrip, offers ? HandshakeOptions() : off, answering: off)
        let took = try firstAudio(run)
        #expect(took.client >= .milliseconds(3 * roundTrip))
        #expect(took.client <= .milliseconds(3 * roundTrip + 5))
        let shortcuts = try path(run.client).shortcuts
        #expect(shortcuts.helloOffered == offers)
        #expect(!shortcuts.helloAnswered)
        #expect(shortcuts.flightsOnLineSent == 0 && shortcuts.flightsOnLineReceived == 0)
        #expect(try path(run.client).dtlsRetransmissions == 0)
        #expect(try path(run.server).dtlsRetransmissions == 0)
    }

    @Test("A flight that waits for an answered check costs one more", arguments: [50, 200])
    func behindTheCheck(roundTrip: Int64) throws {
        let run = try call(
            roundTrip: roundTrip,
            options {
                $0.flightBehindCheck = false
                $0.helloInOffer = false
            }, answering: options { $0.helloInOffer = false })
        let took = try firstAudio(run)
        #expect(took.client >= .milliseconds(4 * roundTrip))
        #expect(took.client <= .milliseconds(4 * roundTrip + 5))
        #expect(try path(run.client).shortcuts.flightsBehindChecks == 0)
    }

    @Test("The line alone carries the handshake where UDP does not carry flights behind checks")
    func lineCarriesFlights() throws {
        let run = try call(roundTrip: 100, options { $0.flightBehindCheck = false })
        let took = try firstAudio(run)
        #expect(took.client <= .milliseconds(205))
        #expect(try path(run.client).shortcuts.flightsFirstByLine == 2)
    }

    @Test("Flights stay off the line where either end has them off", arguments: [true, false])
    func offTheLine(byClient: Bool) throws {
        let off = options { $0.flightsOnLine = false }
        let run = try call(
            roundTrip: 100, byClient ? off : HandshakeOptions(), answering: byClient ? HandshakeOptions() : off)
        let took = try firstAudio(run)
        #expect(took.client <= .milliseconds(205))
        let shortcuts = try path(run.client).shortcuts
        #expect(shortcuts.flightsOnLineSent == (byClient ? 0 : 1))
        #expect(shortcuts.flightsOnLineReceived == (byClient ? 2 : 1))
    }

    @Test(
        "Early media goes out before the endpoint's Finished is there, and not where it is off",
        arguments: [true, false])
    func earlyMedia(isOn: Bool) throws {
        let run = try call(
            roundTrip: 100,
            options {
                $0.earlyMedia = isOn
                $0.flightsOnLine = false
            })
        // The endpoint's last flight is lost: its answer to the check is the first datagram, the flight the second.
        run.server.losesDatagram = { $0 == 1 }
        _ = try firstAudio(run)
        let sent = try path(run.client).shortcuts.earlyPacketsSent
        #expect((sent > 0) == isOn)
    }

    @Test("Early media whose pair is gone with the network waits for the next one, and wants nobody's time until then")
    func earlyMediaWithoutPair() throws {
        let run = try call(roundTrip: 100, options { $0.flightsOnLine = false })
        // The endpoint's last flight never comes.
        run.server.losesDatagram = { $0 >= 1 }
        _ = run.simulator.run(until: .zero + .milliseconds(600))
        #expect(try path(run.client).shortcuts.earlyPacketsSent > 0)
        #expect(run.client.call.transport == nil)
        var now = run.simulator.now
        func drain() {
            while var packet = run.client.pool.take() {
                guard run.client.call.pollTransmit(into: &packet, now: now) != nil else { return }
            }
        }
        run.client.call.networkChanged(to: [], now: now)
        drain()
        for _ in 0..<3 {
            now = now + .milliseconds(25)
            run.client.call.handleTimeout(now: now)
            drain()
            #expect(run.client.call.nextDeadline > now)
        }
    }

    /// Lets the call begin while `stalled` keeps the line from carrying anything from then on, for two seconds.
    private func stallLine(_ run: VirtualCall, at time: Instant) throws {
        let line = try #require(run.client.line)
        run.network.perform(on: try #require(run.client.hostID), at: time) { _ in
            run.network.changeLine(line) { up, down in
                up.heldUntil = time + .seconds(2)
                down.heldUntil = time + .seconds(2)
            }
        }
    }

    @Test(
        "Each datagram lost once, and once more as it is repeated, the line moving or stalled: the call is on WebRTC",
        arguments: 0..<8, [true, false])
    func lostDatagrams(first: Int, isLineStalled: Bool) throws {
        for byClient in [true, false] {
            for again in [0, 1, 3] {
                let run = try call(roundTrip: 50)
                let lose: (Int) -> Bool = { $0 == first || (again > 0 && $0 == first + again) }
                if byClient { run.client.losesDatagram = lose } else { run.server.losesDatagram = lose }
                // The welcome has come; nothing of the handshake that goes by the line has.
                if isLineStalled { try stallLine(run, at: .zero + .milliseconds(126)) }
                runUntilActive(run, limit: .seconds(6))
                let label = Comment(rawValue: "\(first) + \(again), \(byClient ? "client" : "server")")
                #expect(run.client.call.state == .active, label)
                #expect(run.client.call.transport == .webrtc, label)
                #expect(run.server.call.transport == .webrtc, label)
                #expect(run.client.call.fallback == nil, label)
            }
        }
    }

    @Test(
        "The line stalled from any moment on, and none of a run of datagrams of either end through", arguments: 0..<12)
    func lostFlights(step: Int) throws {
        for length in [1, 2, 4] {
            for byClient in [true, false] {
                let run = try call(roundTrip: 50)
                let lose: (Int) -> Bool = { $0 < length }
                if byClient { run.client.losesDatagram = lose } else { run.server.losesDatagram = lose }
                try stallLine(run, at: .zero + .milliseconds(100 + 10 * Int64(step)))
                runUntilActive(run, limit: .seconds(8))
                #expect(run.client.call.state == .active, "\(step), \(length)")
                #expect(run.server.call.state == .active, "\(step), \(length)")
                #expect(run.client.call.transport == .webrtc, "\(step), \(length)")
            }
        }
    }

    @Test("Loss on UDP and on the line, 10 seeds each: all on WebRTC", arguments: [1, 5, 10])
    func lossy(percent: Int) throws {
        let link = LinkModel(delay: .milliseconds(50), loss: .independent(percent: Double(percent)))
        for seed in 1...10 {
            let run = try VirtualCall(seed: UInt64(seed), up: link, down: link, line: link)
            runUntilActive(run, limit: .seconds(10))
            #expect(run.client.call.transport == .webrtc, "seed \(seed)")
            #expect(run.client.call.state == .active, "seed \(seed)")
        }
    }
}
