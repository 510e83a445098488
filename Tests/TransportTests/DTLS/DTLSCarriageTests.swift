import ICELite
import Testing

@testable import TransportMedia

/// Flights that travel on the call line, over UDP, or on both.
@Suite("DTLS flights on two carriages") struct DTLSCarriageTests {
    /// A line that is ordered and loses nothing, beside UDP that loses, reorders and doubles. Which moves next is random.
    private struct Network {
        let pair: DTLSPair
        var random: Randomness
        var line: [(toServer: Bool, bytes: [UInt8])] = []
        var udp: [(toServer: Bool, bytes: [UInt8])] = []
        var onLine: (client: [[UInt8]], server: [[UInt8]]) = ([], [])
        let usesLine: Bool
        let loss: UInt64

        init(seed: UInt64, usesLine: Bool, loss: UInt64, mtu: Int) throws {
            pair = try DTLSPair(mtu: mtu)
            try pair.describe()
            random = Randomness.seeded(seed)
            self.usesLine = usesLine
            self.loss = loss
        }

        mutating func collect() {
            pair.drainEvents()
            // Each new flight goes on the line once, with the originals' bytes.
            if usesLine, pair.clientFlight != onLine.client {
                onLine.client = pair.clientFlight
                for datagram in onLine.client { line.append((true, datagram)) }
            }
            if usesLine, pair.serverFlight != onLine.server {
                onLine.server = pair.serverFlight
                for datagram in onLine.server { line.append((false, datagram)) }
            }
            while let datagram = pair.takeFromClient() { post(datagram, toServer: true) }
            while let datagram = pair.takeFromServer() { post(datagram, toServer: false) }
        }

        private mutating func post(_ datagram: [UInt8], toServer: Bool) {
            if toServer {
                pair.client.armRetransmission(interval: .milliseconds(80), now: pair.now)
            } else {
                pair.server.armRetransmission(interval: .milliseconds(80), now: pair.now)
            }
            guard random.next() % 100 >= loss else { return }
            for _ in 0...(random.next() % 3 == 0 ? 1 : 0) {
                udp.insert((toServer, datagram), at: Int(random.next() % UInt64(udp.count + 1)))
            }
        }

        /// Moves one message, or the time to the next deadline if there is none. False when nothing is left to happen.
        mutating func step() -> Bool {
            let takesLine = !line.isEmpty && (udp.isEmpty || random.next() % 2 == 0)
            if takesLine || !udp.isEmpty {
                let (toServer, bytes) = takesLine ? line.removeFirst() : udp.removeFirst()
                let carriage: DTLSCarriage = takesLine ? .line : .udp
                if toServer { pair.giveServer(bytes, by: carriage) } else { pair.giveClient(bytes, by: carriage) }
                return true
            }
            let next = min(pair.clientDeadline, pair.serverDeadline)
            guard next != .never else { return false }
            pair.now = max(pair.now, next)
            pair.client.handleTimeout(now: pair.now)
            pair.server.handleTimeout(now: pair.now)
            return true
        }

        mutating func run() {
            pair.client.start(now: pair.now)
            pair.server.start(now: pair.now)
            collect()
            for _ in 0..<4_000 where !pair.done && !pair.failed {
                guard step() else { return }
                collect()
            }
            // What is still under way comes late.
            for _ in 0..<200 where !line.isEmpty || !udp.isEmpty {
                _ = step()
                collect()
            }
        }
    }

    @Test(
        "In any interleaving, lost, doubled and reordered on UDP, they complete with one set of keys",
        arguments: [(true, 0), (true, 30), (true, 100), (false, 0), (false, 30)] as [(Bool, UInt64)], [1_200, 400, 256])
    func interleavings(network: (usesLine: Bool, loss: UInt64), mtu: Int) throws {
        for seed in 0..<UInt64(60) {
            var calls = try Network(seed: seed, usesLine: network.usesLine, loss: network.loss, mtu: mtu)
            calls.run()
            let pair = calls.pair
            #expect(pair.done && pair.agree && !pair.failed, "seed \(seed)")
            #expect(pair.clientEvents.count == 2 && pair.serverEvents.count == 2, "seed \(seed)")
            #expect(pair.clientFacts.lateErrors + pair.serverFacts.lateErrors == 0, "seed \(seed)")
        }
    }

    @Test("By the line alone a handshake takes two round trips and arms no deadline") func lineAlone() throws {
        let pair = try DTLSPair()
        try pair.describe()
        pair.client.start(now: .zero)
        pair.server.start(now: .zero)
        pair.client.discardQueuedDatagrams()
        for datagram in pair.clientFlight { pair.giveServer(datagram, by: .line) }
        #expect(pair.takeFromClient() == nil)
        pair.server.discardQueuedDatagrams()
        for datagram in pair.serverFlight { pair.giveClient(datagram, by: .line) }
        pair.client.discardQueuedDatagrams()
        for datagram in pair.clientFlight { pair.giveServer(datagram, by: .line) }
        for datagram in pair.serverFlight { pair.giveClient(datagram, by: .line) }
        pair.drainEvents()
        #expect(pair.done && pair.agree)
        #expect(pair.clientDeadline == .never && pair.serverDeadline == .never)
        #expect(pair.clientFacts.retransmits + pair.serverFacts.retransmits == 0)
    }

    @Test("A flight that went by the line is repeated over UDP from its first transmission there on") func lineThenUDP()
        throws
    {
        let pair = try DTLSPair()
        try pair.describe()
        pair.client.start(now: .zero)
        pair.client.discardQueuedDatagrams()
        #expect(pair.clientDeadline == .never)
        // The answer brought no flight: the same hello goes over UDP.
        pair.client.requeueFlight()
        let first = try #require(pair.takeFromClient())
        #expect(first == pair.clientFlight[0])
        pair.client.armRetransmission(interval: .milliseconds(100), now: .zero)
        #expect(pair.clientDeadline == Instant(nanoseconds: .milliseconds(100)))
        pair.client.handleTimeout(now: pair.clientDeadline)
        let second = try #require(pair.takeFromClient())
        #expect(second != first && second[13] == 1)
    }

    @Test("Several copies of each flight by another way are harmless") func duplicates() throws {
        let pair = try DTLSPair()
        try pair.describe()
        pair.client.start(now: .zero)
        pair.server.start(now: .zero)
        for _ in 0..<3 {
            for datagram in pair.clientFlight + pair.clientFlight { pair.giveServer(datagram) }
            for datagram in pair.serverFlight + pair.serverFlight { pair.giveClient(datagram) }
        }
        pair.drainEvents()
        #expect(pair.done && pair.agree && !pair.failed)
    }

    @Test("What waits to be polled is bounded, the oldest goes") func bounded() throws {
        let pair = try DTLSPair()
        pair.client.start(now: .zero)
        for _ in 0..<100 { pair.client.requeueFlight() }
        var count = 0
        while pair.takeFromClient() != nil { count += 1 }
        #expect(count == DTLSSession.maximumQueuedDatagrams)
        #expect(pair.clientFacts.datagramsOverflowed == 101 - count)
    }
}
