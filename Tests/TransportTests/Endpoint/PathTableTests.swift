import ICELite
import Testing

@testable import Transport

/// The table of tuples that every media packet asks.
@Suite("The table of tuples") struct PathTableTests {
    /// 0 … 4,095: ports, addresses of both families, zones and local addresses all differ somewhere.
    private func path(_ number: UInt64) -> NetworkPath {
        let port = UInt16(1 + number % 16)
        let local = number / 16 % 4
        let ip: IPAddress =
            switch number / 64 % 4 {
            case 0: IPAddress(v4: UInt32(number / 256))
            case 1: IPAddress(v6High: 0, low: 1 + number / 256)
            case 2: IPAddress(v6High: 1 + number / 256, low: 0)
            default: IPAddress(v6High: 0xFE80 << 48, low: 1, zone: UInt32(number / 256))
            }
        return NetworkPath(
            local: SocketAddress(ip: IPAddress(v4: UInt32(local)), port: 4_000),
            remote: SocketAddress(ip: ip, port: port))
    }

    @Test("Tuples that differ in one part only are told apart")
    func distinct() {
        var table = PathTable(seed: 1)
        for number in 0..<4_096 as Range<UInt64> { table[path(number)] = Int(number) }
        #expect(table.count == 4_096)
        #expect((0..<4_096 as Range<UInt64>).allSatisfy { table[path($0)] == Int($0) })
        let other = NetworkPath(
            local: SocketAddress(ip: .anyV4, port: 4_001), remote: path(0).remote)
        #expect(table[other] == nil)
    }

    @Test("Whatever comes and goes, it answers as a dictionary does", arguments: 1...20 as ClosedRange<UInt64>)
    func asADictionary(seed: UInt64) {
        var random = Randomness.seeded(seed)
        var table = PathTable(seed: random.next())
        var expected: [NetworkPath: Int] = [:]
        // Few tuples in a small table: they push each other on, and what goes leaves holes.
        let tuples = 1 + random.next() % 300
        var differences = 0
        for step in 0..<3_000 {
            let path = path(random.next() % tuples)
            let value = random.next() % 3 == 0 ? nil : step
            table[path] = value
            expected[path] = value
            differences += table.count == expected.count ? 0 : 1
            let other = self.path(random.next() % tuples)
            differences += table[other] == expected[other] ? 0 : 1
        }
        for number in 0..<tuples { differences += table[path(number)] == expected[path(number)] ? 0 : 1 }
        #expect(differences == 0, "seed \(seed)")
    }

    @Test("An empty table has nothing, not even the tuple of zeros")
    func empty() {
        var table = PathTable(seed: 0)
        let zeros = NetworkPath(
            local: SocketAddress(ip: .anyV4, port: 0), remote: SocketAddress(ip: .anyV4, port: 0))
        #expect(table[zeros] == nil && table.count == 0)
        table[zeros] = nil
        #expect(table.count == 0)
        table[zeros] = 0
        #expect(table[zeros] == 0 && table.count == 1)
    }
}
