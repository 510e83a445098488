import ICELite
import Testing

@testable import Transport

@Suite("Handshake records that come before the check") struct EarlyFlightsTests {
    private func at(_ milliseconds: Int64) -> Instant { .zero + .milliseconds(milliseconds) }

    /// Behind a class: the macros cannot call what changes a value, or takes a span.
    private final class Held {
        var flights = EarlyFlights()

        @discardableResult
        func park(_ datagram: [UInt8], from path: NetworkPath, now: Instant) -> Bool {
            flights.park(datagram.span.bytes, from: path, now: now)
        }
        func claim(_ path: NetworkPath, now: Instant) -> [[UInt8]] { flights.claim(path, now: now) }
        var byteCount: Int { flights.byteCount }
        var claimed: Int { flights.claimed }
        var dropped: Int { flights.dropped }
    }

    private func path(_ number: Int) -> NetworkPath {
        NetworkPath(
            local: SocketAddress(ip: .loopbackV4, port: 4_000),
            remote: SocketAddress(ip: IPAddress(v4: 0x0A00_0000 + UInt32(number)), port: 1))
    }

    private func record(_ number: UInt8, count: Int = 100) -> [UInt8] {
        [22] + [UInt8](repeating: number, count: count)
    }

    @Test("A tuple's datagrams are claimed once, in order, and no other's") func claimed() {
        let flights = Held()
        for number in 1...3 as ClosedRange<UInt8> { flights.park(record(number), from: path(1), now: at(0)) }
        flights.park(record(9), from: path(2), now: at(0))
        #expect(flights.claim(path(3), now: at(1)).isEmpty)
        #expect(flights.claim(path(1), now: at(999)) == [record(1), record(2), record(3)])
        #expect(flights.claim(path(1), now: at(999)).isEmpty)
        #expect(flights.claimed == 3 && flights.dropped == 0)
        #expect(flights.byteCount == record(9).count + EarlyFlights.overhead)
    }

    @Test("A tuple has four, and a second from its first") func perTuple() {
        let flights = Held()
        for number in 1...9 as ClosedRange<UInt8> {
            let isKept = flights.park(record(number), from: path(1), now: at(Int64(number) * 100))
            #expect(isKept == (number <= 4))
        }
        #expect(flights.dropped == 5)
        #expect(flights.claim(path(1), now: at(1_100)).isEmpty)
        #expect(flights.dropped == 9 && flights.byteCount == 0)
        #expect(flights.park(record(1), from: path(1), now: at(1_100)))
        #expect(flights.claim(path(1), now: at(2_000)) == [record(1)])
    }

    @Test("Strays fill it for a second, never for good, and never beyond its bytes", arguments: [13, 1_200])
    func bounded(count: Int) {
        let flights = Held()
        var parked = 0
        for number in 0..<30_000 where flights.park(record(0, count: count), from: path(number), now: at(0)) {
            parked += 1
            #expect(flights.byteCount <= EarlyFlights.byteLimit)
        }
        #expect(parked == EarlyFlights.byteLimit / (count + 1 + EarlyFlights.overhead))
        let late = record(7, count: count)
        #expect(!flights.park(late, from: path(40_000), now: at(999)))
        #expect(flights.park(late, from: path(40_000), now: at(1_000)))
        #expect(flights.claim(path(40_000), now: at(1_001)) == [late])
        #expect(flights.byteCount == 0)
    }
}
