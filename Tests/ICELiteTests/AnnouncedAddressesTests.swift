import ICELite
import Testing

@Suite struct AnnouncedAddressesTests {
    private func ip(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }

    @Test func `without entries local addresses are announced as they are`() throws {
        let candidates = AnnouncedAddresses().candidates(for: [
            try address("10.0.0.5", 9), try address("2001:db8::5", 9),
        ])
        #expect(candidates.map(\.address) == [try address("10.0.0.5", 9), try address("2001:db8::5", 9)])
        #expect(candidates.allSatisfy { $0.kind == .host && $0.relatedAddress == nil })
        #expect(candidates[0].priority > candidates[1].priority)
    }

    @Test func `an entry replaces its local address and keeps the port`() throws {
        var map = AnnouncedAddresses()
        func add(_ announced: IPAddress, for local: IPAddress? = nil) -> Bool { map.add(announced, for: local) }
        #expect(add(try ip("203.0.113.5"), for: try ip("10.0.0.5")))
        #expect(add(try ip("203.0.113.6"), for: try ip("::ffff:10.0.0.6")))
        let locals = [try address("10.0.0.5", 9), try address("10.0.0.6", 9), try address("10.0.0.7", 8)]
        #expect(
            map.candidates(for: locals).map(\.address) == [
                try address("203.0.113.5", 9), try address("203.0.113.6", 9), try address("10.0.0.7", 8),
            ])
    }

    @Test func `an entry for a family stands for all its addresses, each announced once`() throws {
        var map = AnnouncedAddresses()
        func add(_ announced: IPAddress, for local: IPAddress? = nil) -> Bool { map.add(announced, for: local) }
        #expect(add(try ip("203.0.113.5")))
        #expect(add(try ip("10.0.0.9"), for: try ip("10.0.0.9")))
        #expect(add(try ip("203.0.113.9"), for: try ip("10.0.0.9")))
        let locals = [
            try address("10.0.0.5", 9), try address("10.0.0.6", 9), try address("10.0.0.9", 9),
            try address("2001:db8::5", 9),
        ]
        #expect(
            map.candidates(for: locals).map(\.address) == [
                try address("203.0.113.5", 9), try address("10.0.0.9", 9), try address("203.0.113.9", 9),
                try address("2001:db8::5", 9),
            ])
    }

    @Test func `what nobody can reach, another family and too many are refused`() throws {
        var map = AnnouncedAddresses()
        func add(_ announced: IPAddress, for local: IPAddress? = nil) -> Bool { map.add(announced, for: local) }
        #expect(!add(.anyV4))
        #expect(!add(try ip("224.0.0.1")))
        #expect(!add(try ip("2001:db8::5"), for: try ip("10.0.0.5")))
        #expect(map == AnnouncedAddresses())
        for _ in 0..<ICELimits.announcedAddresses { #expect(add(try ip("203.0.113.5"))) }
        #expect(!add(try ip("203.0.113.5")))
        #expect(map.announced(for: try address("10.0.0.5", 9)).count == ICELimits.announcedAddresses)
    }
}
