import ICELite
import Testing

@testable import TransportRuntime

@Suite("Which addresses get sockets") struct InterfaceSelectionTests {
    private func address(
        _ index: UInt32, _ text: String, loopback: Bool = false, temporary: Bool = false, deprecated: Bool = false
    ) throws -> NetworkInterfaces.Address {
        var address = NetworkInterfaces.Address(
            interface: "if\(index)", index: index, ip: try #require(IPAddress(text)), isLoopback: loopback)
        address.isTemporary = temporary
        address.isDeprecated = deprecated
        return address
    }

    private func chosen(
        _ addresses: [NetworkInterfaces.Address], isLoopback: Bool = false, open: [String] = []
    ) -> [String] {
        let selection = NetworkInterfaces.selection(
            from: addresses, isLoopback: isLoopback, open: Set(open.compactMap { IPAddress($0) }))
        return selection.map { "\($0.ip)" }
    }

    @Test("One address of each interface and family, the families in turn, IPv6 first")
    func interleaved() throws {
        let all = [
            try address(2, "192.0.2.1"), try address(2, "192.0.2.7"), try address(3, "198.51.100.1"),
            try address(2, "2001:db8::1"), try address(3, "2001:db8:1::1"), try address(1, "127.0.0.1", loopback: true),
        ]
        #expect(chosen(all) == ["2001:db8::1", "192.0.2.1", "2001:db8:1::1", "198.51.100.1"])
        #expect(chosen(all, isLoopback: true) == ["127.0.0.1"])
    }

    @Test("Global before unique-local before link-local, temporary before permanent, deprecated never")
    func ranked() throws {
        let permanent = try address(2, "2001:db8::1")
        let temporary = try address(2, "2001:db8::99", temporary: true)
        let old = try address(2, "2001:db8::55", temporary: true, deprecated: true)
        let local = try address(2, "fd00::1")
        let link = try address(2, "fe80::1%2")
        #expect(chosen([link, local, old, permanent, temporary]) == ["2001:db8::99"])
        #expect(chosen([link, local, old, permanent]) == ["2001:db8::1"])
        #expect(chosen([link, local]) == ["fd00::1"])
        #expect(chosen([link]) == ["fe80::1%2"])
        #expect(chosen([old]).isEmpty)
    }

    @Test("A first interface without a global address does not push the next one's behind IPv4")
    func linkLocalLast() throws {
        let all = [
            try address(2, "192.0.2.1"), try address(2, "fe80::1%2"), try address(3, "2001:db8::1"),
            try address(4, "fd00::1"),
        ]
        #expect(chosen(all) == ["2001:db8::1", "192.0.2.1", "fd00::1", "fe80::1%2"])
    }

    @Test("An address with a socket stays as long as it is there")
    func open() throws {
        let old = try address(2, "2001:db8::55", temporary: true, deprecated: true)
        let new = try address(2, "2001:db8::99", temporary: true)
        #expect(chosen([old, new], open: ["2001:db8::55"]) == ["2001:db8::55"])
        #expect(chosen([new], open: ["2001:db8::55"]) == ["2001:db8::99"])
        // A link-local address does not keep a global one away.
        let link = try address(2, "fe80::1%2")
        #expect(chosen([link, new], open: ["fe80::1%2"]) == ["2001:db8::99", "fe80::1%2"])
    }

    @Test("At most eight, those with a socket first")
    func bounded() throws {
        let many = try (1...20).map { try address(UInt32($0), "192.0.2.\($0)") }
        #expect(chosen(many) == (1...8).map { "192.0.2.\($0)" })
        let kept = chosen(many, open: ["192.0.2.20"])
        #expect(kept.count == NetworkInterfaces.selectionLimit && kept.contains("192.0.2.20"))
    }
}
