import ICELite
import Testing

@Suite("Socket addresses") struct SocketAddressTests {
    @Test(
        "IPv6 text is read and written canonically",
        arguments: [
            ("::", "::"), ("::1", "::1"), ("1::", "1::"), ("2001:DB8::0:1", "2001:db8::1"),
            ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"), ("fe80::1%3", "fe80::1%3"), ("2001:db8::1%3", "2001:db8::1"),
            ("::ffff:192.0.2.1", "::ffff:192.0.2.1"), ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"),
            ("0:1:0:1:0:1:0:1", "0:1:0:1:0:1:0:1"),
        ])
    func canonical(text: String, expected: String) throws {
        let address = try #require(IPAddress(text))
        #expect(address.description == expected)
    }

    @Test(
        "Text that is no address is refused",
        arguments: [
            "", ":", ":::", "1", "1.2.3", "1.2.3.4.5", "256.0.0.1", "01.2.3.4", "1.2.3.x", "1:2:3:4:5:6:7",
            "1:2:3:4:5:6:7:8:9",
            "1::2::3", "12345::", "::1%", "::1%x", "1:2:3:4:5:6:7:8:", ":1:2:3:4:5:6:7", "::1.2.3",
            "1:2:3:4:5:6:7::8:9", "+1::",
        ])
    func refused(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test("Classes of addresses") func classes() throws {
        #expect(try #require(IPAddress("127.9.9.9")).isLoopback)
        #expect(try #require(IPAddress("fe80::1")).isLinkLocal)
        #expect(try #require(IPAddress("169.254.1.1")).isLinkLocal)
        #expect(!(try #require(IPAddress("2001:db8::1")).isLinkLocal))
        #expect(try #require(IPAddress("::ffff:10.0.0.1")).unmapped == IPAddress(v4: 0x0A00_0001))
        #expect(SocketAddress(ip: .loopbackV6, port: 80).description == "[::1]:80")
    }
}
