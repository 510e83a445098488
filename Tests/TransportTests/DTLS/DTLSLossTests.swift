import ICELite
import Testing

@testable import TransportMedia

@Suite("DTLS handshakes on a network that loses") struct DTLSLossTests {
    /// Which datagrams there are when none is lost.
    private static func places(mtu: Int) throws -> [SentDatagram.Place] {
        let pair = try DTLSPair(mtu: mtu)
        try pair.describe()
        pair.run()
        try #require(pair.done && pair.agree)
        return pair.sent.map(\.place)
    }

    private static func run(mtu: Int, _ what: String, lose: (SentDatagram) -> Bool) throws {
        let pair = try DTLSPair(mtu: mtu)
        try pair.describe()
        pair.run(lose: lose)
        #expect(pair.done && pair.agree, "\(what) at \(mtu): \(pair.clientEvents) \(pair.serverEvents)")
        #expect(pair.clientFacts.repeatsMissing + pair.serverFacts.repeatsMissing == 0, "\(what)")
        #expect(pair.sizes.allSatisfy { $0 <= mtu }, "\(what)")
    }

    @Test(
        "There are four flights, in more datagrams the smaller these are", arguments: [(1_200, 4), (400, 6), (256, 8)])
    func shape(mtu: Int, least: Int) throws {
        let places = try Self.places(mtu: mtu)
        #expect(places.count >= least)
        #expect(Set(places.map { "\($0.byClient) \($0.flight)" }).count == 4)
        #expect(places.filter(\.byClient).contains { $0.index > 0 } == (mtu < 1_200))
    }

    @Test("Each datagram lost the first one to four times it is sent", arguments: [1_200, 400, 256])
    func each(mtu: Int) throws {
        for place in try Self.places(mtu: mtu) {
            for times in 1...4 {
                try Self.run(mtu: mtu, "\(place) \(times) times") { $0.place == place && $0.transmission < times }
            }
        }
    }

    @Test("Each datagram's repeat lost with all of another's first transmissions", arguments: [1_200, 400, 256])
    func pairs(mtu: Int) throws {
        let places = try Self.places(mtu: mtu)
        for first in places {
            for second in places where first != second {
                // Both once; and one of them twice: its first repeat, too.
                for times in [1, 2] {
                    try Self.run(mtu: mtu, "\(first) \(times) times and \(second)") {
                        ($0.place == first && $0.transmission < times) || ($0.place == second && $0.transmission == 0)
                    }
                }
            }
        }
    }

    @Test("Any two datagrams by the order they are sent in, repeats and answers to these among them")
    func byOrder() throws {
        for first in 0..<12 {
            for second in first..<12 {
                try Self.run(mtu: 1_200, "\(first) and \(second)") { $0.number == first || $0.number == second }
            }
        }
    }

    @Test("A whole flight lost one to eleven times after the peer received the one before", arguments: [1_200, 400])
    func flights(mtu: Int) throws {
        let flights = Set(try Self.places(mtu: mtu).map { [$0.byClient ? 1 : 0, $0.flight] })
        for flight in flights {
            for times in 1...11 {
                try Self.run(mtu: mtu, "flight \(flight) \(times) times") {
                    [$0.place.byClient ? 1 : 0, $0.place.flight] == flight && $0.transmission < times
                }
            }
        }
    }

    @Test(
        "All calls finish, the same seed in the same time: a thousand, and 200 with flights in several datagrams",
        arguments: [1, 5, 10, 30], [(mtu: 1_200, calls: 1_000), (mtu: 400, calls: 200)])
    func seeds(percent: UInt64, size: (mtu: Int, calls: UInt64)) throws {
        let mtu = size.mtu
        func time(_ seed: UInt64) throws -> Instant? {
            var random = Randomness.seeded(seed)
            let pair = try DTLSPair(mtu: mtu)
            try pair.describe()
            pair.run(until: Instant(nanoseconds: .seconds(60))) { _ in random.next() % 100 < percent }
            return pair.done && pair.agree ? pair.now : nil
        }
        var unfinished: [UInt64] = []
        var slowest = Instant.zero
        for seed in 0..<size.calls {
            let first = try time(seed)
            if first == nil { unfinished.append(seed) }
            slowest = max(slowest, first ?? slowest)
            if seed % 50 == 0 { #expect(try time(seed) == first, "seed \(seed)") }
        }
        #expect(unfinished.isEmpty, "at \(percent) %, datagrams of \(mtu)")
        // Seen: 0.16 s, 0.4 s, 0.8 s and 10.6 s; round trip and first interval are 40 and 80 ms.
        let limit: [UInt64: Nanoseconds] = [1: .milliseconds(400), 5: .seconds(1), 10: .seconds(2), 30: .seconds(12)]
        #expect(slowest <= Instant(nanoseconds: try #require(limit[percent])), "at \(percent) %")
    }

    @Test("With everything lost the repeats slow down to one in 1.6 s: eight are fresh, then the eighth again")
    func allLost() throws {
        let pair = try DTLSPair()
        pair.run(until: Instant(nanoseconds: .seconds(15))) { _ in true }
        #expect((10...16).contains(pair.sent.count))
        #expect(!pair.done && !pair.failed)
        #expect(pair.clientFacts.repeatsMissing == 0)
    }

    @Test("Each repeat has record numbers that no transmission before it had")
    func fresh() throws {
        let pair = try DTLSPair()
        pair.client.start(now: .zero)
        var seen: Set<[UInt8]> = []
        var now = Instant.zero
        for transmission in 0...8 {
            let datagram = try #require(pair.takeFromClient())
            for record in records(of: datagram) {
                // Epoch and sequence number.
                #expect(seen.insert(Array(record[3..<11])).inserted, "transmission \(transmission)")
            }
            pair.client.armRetransmission(interval: .milliseconds(50), now: now)
            now = pair.clientDeadline
            pair.client.handleTimeout(now: now)
        }
        #expect(seen.count == 9)
    }
}
