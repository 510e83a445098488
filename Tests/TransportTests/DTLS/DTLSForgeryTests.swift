import ICELite
import Testing

@testable import TransportMedia

/// What somebody who knows the addresses but not the keys can write.
@Suite("DTLS and forged datagrams") struct DTLSForgeryTests {
    /// An alert in the clear.
    private static func alert(_ description: UInt8, level: UInt8 = 2) -> [UInt8] {
        [21, 0xFE, 0xFD, 0, 0, 0, 0, 0, 0, 0, 99, 0, 2, level, description]
    }

    /// A client, or a server that has taken the hello, in the middle of a handshake.
    private static func waiting(_ role: DTLSRole, by carriage: DTLSCarriage = .udp) throws -> DTLSPair {
        let pair = try DTLSPair()
        try pair.describe()
        pair.client.start(now: .zero)
        pair.server.start(now: .zero)
        if role == .server { pair.giveServer(pair.clientFlight[0], by: carriage) }
        return pair
    }

    @Test("A fatal alert in the clear does not kill a handshake that goes on", arguments: [DTLSRole.client, .server])
    func survives(role: DTLSRole) throws {
        let pair = try Self.waiting(role)
        let verdict = role == .client ? pair.giveClient(Self.alert(40)) : pair.giveServer(Self.alert(40))
        #expect(verdict == .dropped(.plaintextAlert))
        #expect((role == .client ? pair.clientFacts : pair.serverFacts).dropped(.plaintextAlert) == 1)
        pair.run()
        #expect(pair.done && pair.agree && !pair.failed)
    }

    @Test(
        "It fails the handshake if nothing valid follows within max(500 ms, 2 round trips), to the nanosecond",
        arguments: [(0, 500), (100, 500), (400, 800), (1_000, 2_000)] as [(Int64, Int64)], [DTLSRole.client, .server])
    func fails(times: (roundTrip: Int64, patience: Int64), role: DTLSRole) throws {
        let pair = try Self.waiting(role)
        let end = Instant(nanoseconds: .milliseconds(times.patience))
        if role == .client {
            pair.client.armRetransmission(interval: .milliseconds(2 * times.roundTrip), now: .zero)
            pair.giveClient(Self.alert(40))
            pair.client.handleTimeout(now: Instant(nanoseconds: end.nanoseconds - 1))
            #expect(pair.pollClient() == nil)
            pair.client.handleTimeout(now: end)
            #expect(pair.pollClient()?.failure == .alert(40))
        } else {
            pair.server.armRetransmission(interval: .milliseconds(2 * times.roundTrip), now: .zero)
            pair.giveServer(Self.alert(40))
            pair.server.handleTimeout(now: Instant(nanoseconds: end.nanoseconds - 1))
            #expect(pair.pollServer() == nil)
            pair.server.handleTimeout(now: end)
            #expect(pair.pollServer()?.failure == .alert(40))
        }
    }

    @Test("What follows within the time saves it, what follows after it does not", arguments: [true, false])
    func inTime(isInTime: Bool) throws {
        let pair = try Self.waiting(.server)
        let answer = pair.serverFlight
        pair.giveClient(Self.alert(80))
        pair.now = Instant(nanoseconds: .milliseconds(500) - (isInTime ? 1 : 0))
        pair.client.handleTimeout(now: pair.now)
        for datagram in answer { pair.giveClient(datagram) }
        pair.client.handleTimeout(now: Instant(nanoseconds: .seconds(5)))
        pair.drainEvents()
        #expect(pair.clientEvents.compactMap(\.failure) == (isInTime ? [] : [.alert(80)]))
        #expect(pair.clientEvents.compactMap(\.keys).count == (isInTime ? 1 : 0))
    }

    @Test("More forged alerts do not push the end away, and junk is no contradiction") func repeatedAlerts() throws {
        let pair = try Self.waiting(.client)
        pair.giveClient(Self.alert(40))
        for milliseconds in stride(from: Int64(50), to: 500, by: 50) {
            pair.now = Instant(nanoseconds: .milliseconds(milliseconds))
            pair.giveClient(Self.alert(20))
            pair.giveClient([22, 0xFE, 0xFD, 0, 0, 0, 0, 0, 0, 0, 1])
            #expect(pair.clientDeadline == Instant(nanoseconds: .milliseconds(500)))
        }
        pair.client.handleTimeout(now: pair.clientDeadline)
        #expect(pair.pollClient()?.failure == .alert(40))
    }

    @Test(
        "A warning in the clear means nothing, close_notify as much as a fatal alert",
        arguments: [(UInt8(112), false), (100, false), (90, false), (0, true)])
    func warnings(description: UInt8, ends: Bool) throws {
        let pair = try Self.waiting(.client)
        #expect(pair.giveClient(Self.alert(description, level: 1)) == .dropped(.plaintextAlert))
        #expect((pair.clientDeadline == .never) == !ends)
    }

    @Test("An alert behind a good record in one datagram: the record is taken, the alert is not") func glued() throws {
        let pair = try Self.waiting(.server)
        let flight = pair.serverFlight
        for datagram in flight.dropLast() { pair.giveClient(datagram) }
        pair.giveClient(flight[flight.count - 1] + Self.alert(40))
        pair.drainEvents()
        #expect(pair.clientEvents.compactMap(\.keys).count == 1)
        #expect(pair.clientFacts.dropped(.plaintextAlert) == 1)
        pair.run()
        #expect(pair.done && !pair.failed)
    }

    @Test(
        "Once a flight came by the line only handshake and ChangeCipherSpec in the clear are taken over UDP",
        arguments: [DTLSRole.client, .server])
    func afterLine(role: DTLSRole) throws {
        let pair = try Self.waiting(.server, by: .line)
        if role == .client {
            // All but the last datagram, so that it still waits: small ones.
            for datagram in pair.serverFlight { pair.giveClient(Array(datagram.prefix(100)), by: .line) }
            let cameByLine = pair.client.flightCameByLine
            #expect(cameByLine)
        }
        let types: [UInt8] = [21, 23, 24, 63]
        for type in types {
            var forged = Self.alert(40)
            forged[0] = type
            let verdict = role == .client ? pair.giveClient(forged) : pair.giveServer(forged)
            #expect(verdict == .dropped(type == 21 ? .plaintextAlert : .plaintextRecord))
            // Not held either: the peer gives up where it speaks.
            #expect((role == .client ? pair.clientDeadline : pair.serverDeadline) == .never)
        }
        let handshake: [UInt8] = [22, 0xFE, 0xFD, 0, 0, 0, 0, 0, 0, 0, 98, 0, 0]
        let change: [UInt8] = [20, 0xFE, 0xFD, 0, 0, 0, 0, 0, 0, 0, 97, 0, 1, 1]
        for taken in [handshake, change] {
            #expect((role == .client ? pair.giveClient(taken) : pair.giveServer(taken)) == .accepted)
        }
        pair.run()
        #expect(pair.done && pair.agree && !pair.failed)
    }

    @Test("An alert by the line counts at once: nobody but the peer wrote it", arguments: [DTLSRole.client, .server])
    func byLine(role: DTLSRole) throws {
        let pair = try Self.waiting(role, by: .line)
        let verdict =
            role == .client ? pair.giveClient(Self.alert(40), by: .line) : pair.giveServer(Self.alert(40), by: .line)
        #expect(verdict == .advanced)
        pair.drainEvents()
        #expect((role == .client ? pair.clientEvents : pair.serverEvents).compactMap(\.failure) == [.alert(40)])
    }

    @Test(
        "Between the client's Finished and the server's no handshake message in the clear over UDP does any harm",
        arguments: [UInt8(0), 1, 2, 4, 11, 14, 16, 20, 24], [DTLSCarriage.udp, .line])
    func forgedMessage(type: UInt8, flightBy carriage: DTLSCarriage) throws {
        let pair = try Self.waiting(.server, by: carriage)
        for datagram in pair.serverFlight { pair.giveClient(datagram, by: carriage) }
        pair.drainEvents()
        #expect(pair.clientEvents.compactMap(\.keys).count == 1)
        // The server's next message is its sixth; and one that would be longer than any.
        for length in [[0, 0, 12], [0xFF, 0xFF, 0xFF]] as [[UInt8]] {
            let forged: [UInt8] =
                [22, 0xFE, 0xFD, 0, 0, 0, 0, 0, 0, 0, 60, 0, 24, type] + length + [0, 5, 0, 0, 0, 0, 0, 12]
                + [UInt8](repeating: 0, count: 12)
            #expect(pair.giveClient(forged) == .dropped(.plaintextRecord))
        }
        pair.run()
        #expect(pair.done && pair.agree && !pair.failed)
    }

    /// An encrypted record that nobody can decrypt.
    private static func encrypted(_ number: Int) -> [UInt8] {
        [22, 0xFE, 0xFD, 0, 1, 0, 0, 0, 0, UInt8(number >> 8), UInt8(number & 255), 0, 40]
            + [UInt8](repeating: 1, count: 40)
    }

    @Test(
        "Encrypted records ahead of their time are bounded, whoever sends them", arguments: [DTLSCarriage.udp, .line])
    func earlyRecords(carriage: DTLSCarriage) throws {
        let pair = try Self.waiting(.server)
        for number in 0..<1_000 {
            // One a datagram, and several.
            let datagram =
                number % 2 == 0 ? Self.encrypted(number) : Self.encrypted(number) + Self.encrypted(number + 2_000)
            let verdict = pair.giveServer(datagram, by: carriage)
            #expect((verdict == .accepted) == (number < 16))
        }
        #expect(pair.serverFacts.dropped(.earlyRecord) == 984)
        #expect(pair.serverFacts.datagramsReceived == 1 + 16)
    }

    @Test("Fewer of them stop no handshake", arguments: [DTLSRole.client, .server])
    func fewEarlyRecords(role: DTLSRole) throws {
        let pair = try Self.waiting(role)
        for number in 100..<(100 + DTLSSession.maximumEarlyRecords - 2) {
            if role == .client {
                pair.giveClient(Self.encrypted(number))
            } else {
                pair.giveServer(Self.encrypted(number))
            }
        }
        pair.run()
        #expect(pair.done && pair.agree && !pair.failed)
    }

    @Test("A HelloRequest in the clear is nothing in a handshake and after it") func helloRequest() throws {
        // Handshake type 0, no body.
        func request(_ number: UInt8) -> [UInt8] {
            [22, 0xFE, 0xFD, 0, 0, 0, 0, 0, 0, 0, number, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        }
        let pair = try Self.waiting(.client)
        pair.giveClient(request(41))
        pair.run()
        #expect(pair.done && pair.agree)
        let counts = (pair.clientEvents.count, pair.serverEvents.count)
        pair.giveClient(request(42))
        pair.giveServer(request(43))
        pair.drainEvents()
        #expect(pair.clientEvents.count == counts.0 && pair.serverEvents.count == counts.1)
        #expect(pair.takeFromClient() == nil)
    }

    @Test("Alerts and records in the clear after completion are dropped, and no answer grows without bound")
    func afterCompletion() throws {
        let pair = try DTLSPair()
        try pair.describe()
        pair.run()
        let counts = (pair.clientEvents.count, pair.serverEvents.count)
        var answers = 0
        // A stranger who repeats handshake records: our last flight goes out 12 times at most.
        for turn in 0..<1_000 {
            pair.now = Instant(nanoseconds: pair.now.nanoseconds + .milliseconds(5))
            pair.giveServer(Self.alert(UInt8(turn % 120)))
            pair.giveServer([22, 0xFE, 0xFD, 0, 0, 0, 0, 0, 0, 0, 98, 0, 0])
            pair.giveClient(Self.alert(UInt8(turn % 120)))
            while pair.takeFromServer() != nil { answers += 1 }
            while pair.takeFromClient() != nil { answers += 1 }
        }
        pair.drainEvents()
        #expect(pair.clientEvents.count == counts.0 && pair.serverEvents.count == counts.1)
        #expect((1...DTLSSession.maximumLastFlightResends).contains(answers))
        #expect(pair.serverFacts.dropped(.plaintextAlert) == 1_000)
    }

    @Test("Datagrams that are too long or no records are dropped", arguments: [0, 1, 12, 4_097, 65_535])
    func sizes(count: Int) throws {
        let pair = try Self.waiting(.client)
        #expect(pair.giveClient([UInt8](repeating: 22, count: count)) == .dropped(.malformed))
        pair.run()
        #expect(pair.done)
    }

    @Test(
        "Any flight cut or damaged, in the middle of a handshake, never traps, and never gives the ends different keys")
    func damaged() throws {
        var random = Randomness.seeded(11)
        for turn in 0..<400 {
            let pair = try Self.waiting(.server)
            let toClient = random.next() % 2 == 0
            if !toClient { for datagram in pair.serverFlight { pair.giveClient(datagram) } }
            var datagram = toClient ? pair.serverFlight[0] : pair.clientFlight[0]
            for _ in 0...(random.next() % 3) {
                datagram[Int(random.next() % UInt64(datagram.count))] = UInt8(truncatingIfNeeded: random.next())
            }
            datagram = Array(datagram.prefix(random.next() % 3 == 0 ? Int(random.next() % 700) : 4_096))
            if toClient { pair.giveClient(datagram) } else { pair.giveServer(datagram) }
            pair.run(until: Instant(nanoseconds: .seconds(20)))
            // A damaged record number may make OpenSSL pass over all that comes: then the repeats go on.
            let isWaiting = min(pair.clientDeadline, pair.serverDeadline) != .never
            #expect(pair.failed || (pair.done && pair.agree) || isWaiting, "turn \(turn)")
            let keys = (pair.clientEvents + pair.serverEvents).compactMap(\.keys)
            #expect(keys.count < 2 || pair.agree, "turn \(turn)")
        }
    }
}
