import ICELite
import Testing
import TransportRuntime
import TransportTestKit

@testable import Transport

/// Whole calls that lose exactly one place of their set-up, as often as told, on UDP, on the line, or on both: told by what
/// is in a datagram, so that a test loses what it says it loses, whatever number that has.
@Suite("Every place of the handshake, lost") struct HandshakePositionTests {
    /// The ways a handshake travels.
    enum Ladder: CaseIterable {
        /// Flights 1 and 2 in the descriptions, 3 and 4 on both carriages.
        case bothCarriages
        /// Flights 1 and 2 in the descriptions, 3 and 4 over UDP alone.
        case helloInOffer
        /// All four over UDP alone: a peer that does not know the hello in the offer.
        case classic

        /// What is sent over UDP, in the order of a call that loses nothing.
        var places: [CallDatagram] {
            let last: [CallDatagram] = [.flight(3), .flight(4), .media(byClient: true), .media(byClient: false)]
            return [.check, .answer] + (self == .classic ? [.flight(1), .flight(2)] : []) + last
        }
    }

    /// When the line stands still: nothing that is written to it then arrives until `stall` later.
    enum Line: CaseIterable {
        case moving
        /// Nothing of the client's from its hello on, hello included.
        case beforeHello
        /// Nothing of the server's from the client's hello on: welcome comes late.
        case beforeWelcome
        /// From welcome on, that way: flight 3, flight 4, or neither comes by the line.
        case up, down, bothWays

        /// Whether a flight of the client's, or the server's, behind welcome waits for the line.
        func holds(byClient: Bool) -> Bool {
            self == .bothWays || self == (byClient ? .up : .down)
        }
    }

    private static let stall = Nanoseconds.seconds(2)
    private static let roundTrip = Nanoseconds.milliseconds(50)

    private func call(_ ladder: Ladder, seed: UInt64 = 5, loss: LinkModel.Loss = .none) throws -> VirtualCall {
        let link = LinkModel(delay: .milliseconds(25), loss: loss)
        let line = LinkModel(delay: .milliseconds(25))
        var client = HandshakeOptions()
        var server = HandshakeOptions()
        client.flightsOnLine = ladder == .bothCarriages
        server.flightsOnLine = ladder == .bothCarriages
        server.helloInOffer = ladder != .classic
        return try VirtualCall(seed: seed, up: link, down: link, line: line, handshake: client, answering: server)
    }

    private func runUntilActive(_ run: VirtualCall) {
        let end = Instant.zero + .seconds(9)
        while run.simulator.now < end, run.client.call.state != .active || run.server.call.state != .active {
            _ = run.simulator.run(until: min(end, run.simulator.now + .milliseconds(50)))
        }
    }

    /// When the client hands hello to the line and when welcome is there, where nothing is lost.
    private func times(_ ladder: Ladder) throws -> (hello: Instant, welcome: Instant) {
        let run = try call(ladder)
        runUntilActive(run)
        return (try #require(run.client.call.timings.hello), try #require(run.client.call.timings.welcome))
    }

    private func stall(_ line: Line, of run: VirtualCall, _ times: (hello: Instant, welcome: Instant)) throws {
        guard line != .moving else { return }
        let id = try #require(run.client.line)
        // Ahead of what is written in that very instant.
        let begin = (line == .beforeHello || line == .beforeWelcome ? times.hello : times.welcome) - 1
        run.network.perform(on: try #require(run.client.hostID), at: begin) { _ in
            run.network.changeLine(id) { up, down in
                if line != .down, line != .beforeWelcome { up.heldUntil = begin + Self.stall }
                if line != .up, line != .beforeHello { down.heldUntil = begin + Self.stall }
            }
        }
    }

    /// Loses the first transmissions of each of `places`, and says how many of each went out and were lost.
    private func lost(
        _ places: [CallDatagram], copies: Int, of run: VirtualCall
    ) throws -> [CallDatagram: (sent: Int, lost: Int)] {
        var seen: [CallDatagram: (sent: Int, lost: Int)] = [:]
        func loses(_ bytes: [UInt8], byClient: Bool) -> Bool {
            let place = CallDatagram(bytes, byClient: byClient)
            let isLost = places.contains(place) && seen[place, default: (0, 0)].lost < copies
            seen[place, default: (0, 0)].sent += 1
            if isLost { seen[place, default: (0, 0)].lost += 1 }
            return isLost
        }
        run.client.losesContent = { loses($0, byClient: true) }
        run.server.losesContent = { loses($0, byClient: false) }
        runUntilActive(run)
        // A second of audio behind it: both are heard.
        _ = run.simulator.run(until: run.simulator.now + .milliseconds(200))
        return seen
    }

    private func expectWhole(_ run: VirtualCall, _ label: Comment) {
        #expect(run.client.call.state == .active && run.server.call.state == .active, label)
        #expect(run.client.call.transport == .webrtc && run.server.call.transport == .webrtc, label)
        #expect(run.client.call.fallback == nil, label)
        #expect(run.client.call.timings.firstAudio != nil && run.server.call.firstHeardAt != nil, label)
    }

    @Test(
        "A call that loses nothing sends each place over UDP once, and nothing that is none", arguments: Ladder.allCases
    )
    func shape(ladder: Ladder) throws {
        let run = try call(ladder)
        let seen = try lost([], copies: 0, of: run)
        expectWhole(run, "\(ladder)")
        #expect(Set(seen.keys) == Set(ladder.places))
        for place in ladder.places {
            // The copy of flight 3 that comes second looks like that of a client that lost flight 4.
            let most = ladder == .bothCarriages && place == .flight(4) ? 2 : 1
            if case .flight = place { #expect((1...most).contains(seen[place]?.sent ?? 0), "\(place)") }
        }
    }

    @Test(
        "Each place lost once, twice, three times, with the line moving or standing still: the call is on WebRTC",
        arguments: Ladder.allCases, Line.allCases)
    func each(ladder: Ladder, line: Line) throws {
        let times = try times(ladder)
        for place in ladder.places {
            // A lite endpoint has no round trip but what welcome's answer took: behind a line that stood still, half a second.
            let isSlow = place == .flight(2) && (line == .beforeHello || line == .beforeWelcome)
            for copies in 1...(isSlow ? 2 : 3) {
                let run = try call(ladder)
                try stall(line, of: run, times)
                let seen = try lost([place], copies: copies, of: run)
                let label = Comment(rawValue: "\(place), \(copies) of \(String(describing: seen[place])), \(line)")
                expectWhole(run, label)
                // What the line brought in time is not sent again over UDP.
                let isRepeated = ladder != .bothCarriages || line.holds(byClient: place.isByClient)
                if case .flight = place, !isRepeated {
                    #expect((1...copies).contains(seen[place]?.lost ?? 0), label)
                } else {
                    #expect(seen[place]?.lost == copies, label)
                }
            }
        }
    }

    @Test("Any two places, each lost twice", arguments: Ladder.allCases, [Line.moving, .bothWays])
    func pairs(ladder: Ladder, line: Line) throws {
        let times = try times(ladder)
        let places = ladder.places
        for (index, first) in places.enumerated() {
            for second in places.dropFirst(index + 1) {
                let run = try call(ladder)
                try stall(line, of: run, times)
                let seen = try lost([first, second], copies: 2, of: run)
                let label = Comment(rawValue: "\(first) and \(second), \(line)")
                expectWhole(run, label)
                #expect((seen[first]?.lost ?? 0) > 0 && (seen[second]?.lost ?? 0) > 0, label)
            }
        }
    }

    /// The case's timer is OpenSSL's; ours is our own, 2 round trips and doubling (RFC 6347 §4.2.4.1), and the deadline of the
    /// whole is the call's patience with a handshake that stands still, 3 s: the call then goes on over the line.
    @Test("DTLS-07: no flight comes through: the handshake is given up at its deadline, and few were sent till then")
    func noFlight() throws {
        struct Expect: Decodable { var loss30: String, loss100: String }
        let expect = try DTLSCase.expect("DTLS-07", as: Expect.self)
        #expect(expect.loss100 == "failed at deadline, no busy loop")
        let run = try call(.classic)
        let flights = (1...4).map { CallDatagram.flight($0) }
        let seen = try lost(flights, copies: .max, of: run)
        #expect(run.client.call.fallback?.reason == .dtlsTimeout && run.client.call.fallback?.stage == .dtls)
        let times = run.client.call.timings
        let answered = try #require(times.firstAnswer)
        let elapsed = run.client.call.fallback?.elapsed.nanoseconds
        let hello = try #require(times.hello)
        let gaveUp = hello + (try #require(elapsed))
        #expect(gaveUp >= answered + .seconds(3) && gaveUp <= answered + .milliseconds(3_100))
        #expect(run.client.call.state == .active && run.client.call.transport == .websocket)
        // With the round trip of 50 ms at 0, 100, 300, 700 and 1,500 ms.
        #expect(seen[.flight(1)]?.sent == 5 && seen[.flight(2)] == nil)
    }

    @Test("DTLS-07: 30 % of UDP lost both ways: connected within 10 s, 20 calls", arguments: Ladder.allCases)
    func lossy(ladder: Ladder) throws {
        struct Expect: Decodable { var loss30: String }
        let words = try DTLSCase.expect("DTLS-07", as: Expect.self).loss30.split(separator: " ")
        let seconds = try #require(words.compactMap { Int64($0) }.first)
        var onWebRTC = 0
        for seed in 1...20 {
            let run = try call(ladder, seed: UInt64(seed), loss: .independent(percent: 30))
            runUntilActive(run)
            #expect(run.client.call.state == .active && run.server.call.state == .active, "seed \(seed)")
            let active = try #require(run.client.call.timings.active)
            #expect(active < .zero + .seconds(seconds), "seed \(seed)")
            onWebRTC += run.client.call.transport == .webrtc ? 1 : 0
        }
        // What the line carries beside UDP comes through.
        #expect(onWebRTC >= (ladder == .bothCarriages ? 20 : 17))
    }

    @Test(
        "A flight that UDP never brings comes by the line, when that moves again at the latest",
        arguments: [CallDatagram.flight(3), .flight(4)], Line.allCases)
    func byLineAlone(flight: CallDatagram, line: Line) throws {
        let times = try times(.bothCarriages)
        let run = try call(.bothCarriages)
        try stall(line, of: run, times)
        let seen = try lost([flight], copies: .max, of: run)
        let label = Comment(rawValue: "\(flight), \(line): \(String(describing: seen[flight]))")
        expectWhole(run, label)
        #expect((seen[flight]?.lost ?? 0) > 0 && seen[flight]?.lost == seen[flight]?.sent, label)
        if line.holds(byClient: flight.isByClient) {
            let keys = run.client.call.evidence.keysAt
            #expect(try #require(keys) >= times.welcome - 1 + Self.stall, label)
        }
    }
}
