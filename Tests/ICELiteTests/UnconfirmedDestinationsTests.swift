import ICELite
import Testing

@Suite struct UnconfirmedDestinationsTests {
    private func at(_ milliseconds: Int64) -> Instant { .zero + .milliseconds(milliseconds) }

    @Test func `a destination gets four grants within ten seconds, each for itself`() throws {
        var table = UnconfirmedDestinations()
        func admit(_ ip: IPAddress, _ now: Instant) -> Bool { table.admit(ip, now: now) }
        let ip = try address("192.0.2.1", 0).ip
        var admitted: [Bool] = []
        for second in 0..<6 { admitted.append(table.admit(ip, now: at(Int64(second) * 1_000))) }
        #expect(admitted == [true, true, true, true, false, false])
        #expect(admit(try address("192.0.2.2", 0).ip, at(5_000)))
        #expect(!admit(ip, at(9_999)))
        // The first has left the window, the second not yet.
        #expect(admit(ip, at(10_000)))
        #expect(!admit(ip, at(10_001)))
        #expect(admit(ip, at(11_000)))
        #expect(table.granted == 7)
        #expect(table.refused == 4)
    }

    @Test func `IPv6 counts by its 64, mapped IPv4 by its address, link-local by its zone`() throws {
        var table = UnconfirmedDestinations()
        func admit(_ ip: IPAddress) -> Bool { table.admit(ip, now: .zero) }
        for low in UInt64(1)...4 { #expect(admit(IPAddress(v6High: 0x2001_0DB8_0000_0001, low: low))) }
        #expect(!admit(IPAddress(v6High: 0x2001_0DB8_0000_0001, low: 99)))
        #expect(admit(IPAddress(v6High: 0x2001_0DB8_0000_0002, low: 1)))
        for _ in 0..<2 { #expect(admit(try address("192.0.2.1", 0).ip)) }
        for _ in 0..<2 { #expect(admit(try address("::ffff:192.0.2.1", 0).ip)) }
        #expect(!admit(try address("192.0.2.1", 0).ip))
        for _ in 0..<4 { #expect(admit(try address("fe80::1%1", 0).ip)) }
        #expect(!admit(try address("fe80::2%1", 0).ip))
        #expect(admit(try address("fe80::1%2", 0).ip))
    }

    @Test func `loopback is always admitted`() throws {
        var table = UnconfirmedDestinations()
        let addresses = try ["127.0.0.1", "::1", "::ffff:127.0.0.2"].map { try address($0, 0).ip }
        for ip in addresses { #expect((0..<10).allSatisfy { _ in table.admit(ip, now: .zero) }) }
        #expect(table.rememberedCount == 0)
        #expect((0..<5).map { _ in table.admit(IPAddress(v6High: 0, low: 2), now: .zero) }.last == false)
    }

    @Test func `100,000 forged sources fill a bounded table, and it empties`() {
        var table = UnconfirmedDestinations()
        for value in UInt32(0)..<100_000 {
            let admitted = table.admit(IPAddress(v4: 0x0A00_0000 + value), now: at(Int64(value / 20)))
            #expect(admitted)
            if table.rememberedCount > ICELimits.rememberedGrants { Issue.record("\(table.rememberedCount)") }
        }
        #expect(table.rememberedCount == ICELimits.rememberedGrants)
        #expect(table.forgotten == 100_000 - UInt64(ICELimits.rememberedGrants))
        // What is remembered still counts: the newest has one grant.
        let newest = IPAddress(v4: 0x0A00_0000 + 99_999)
        let more = [5_000, 5_000, 5_000, 5_000, 15_000].map { table.admit(newest, now: at($0)) }
        #expect(more == [true, true, true, false, true])
        #expect(table.rememberedCount == 1)
    }

    @Test(arguments: 1...20)
    func `it agrees with a list of all grants`(seed: UInt64) {
        var table = UnconfirmedDestinations()
        var randomness = Randomness.seeded(seed)
        var grants: [(ip: IPAddress, at: Instant)] = []
        var now = Instant.zero
        for _ in 0..<2_000 {
            now = now + .milliseconds(Int64(randomness.next() % 200))
            let ip = IPAddress(v4: UInt32(randomness.next() % 40))
            let expected = grants.count { $0.ip == ip && now - $0.at < .seconds(10) } < 4
            let admitted = table.admit(ip, now: now)
            #expect(admitted == expected, "seed \(seed)")
            if admitted { grants.append((ip, now)) }
        }
        #expect(table.forgotten == 0)
        #expect(table.refused > 0)
    }
}
