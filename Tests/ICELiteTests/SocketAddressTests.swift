import Glibc
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

    @Test func `what is read as an address is what the system reads as one`() {
        let texts = [
            "0.0.0.0", "255.255.255.255", "192.0.2.1", "::", "1::", "::1", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::",
            "::2:3:4:5:6:7:8", "1::8", "2001:DB8:0:0:1::9", "::1.2.3.4", "1:2:3:4:5:6:1.2.3.4", "::ffff:192.0.2.1",
            "1:2:3:4:5:6:7:8::", "1:2:3:4:5:6:7:1.2.3.4", "1:2:3:4:5:6:7:8:9", ":1", "1:", "1:::2", "1::2::3",
            "12345::",
            "1.2.3.4::", "::1.2.3", "", ":", ":::", "01.2.3.4", "1.2.3", "1.2.3.4.5", "1..2.3", ".1.2.3", "1.2.3.",
        ]
        let alphabet = Array("0123456789abcdefF:.g".utf8)
        var randomness = Randomness.seeded(4)
        var read = 0
        for round in 0..<40_000 {
            var bytes = Array(texts[round % texts.count].utf8)
            for _ in 0..<(round / texts.count % 4) {
                let byte = alphabet[Int.random(in: 0..<alphabet.count, using: &randomness)]
                let place = Int.random(in: 0...bytes.count, using: &randomness)
                if place < bytes.count, byte & 1 == 0 { bytes[place] = byte } else { bytes.insert(byte, at: place) }
            }
            let text = String(decoding: bytes, as: UTF8.self)
            let ours = IPAddress(text)
            #expect(ours.map(octets) == system(text), "\(text)")
            if ours != nil { read += 1 }
        }
        #expect((4_000..<36_000).contains(read))
    }

    private func octets(_ ip: IPAddress) -> [UInt8] {
        var all: [UInt8] = []
        for half in [ip.high, ip.low] {
            for place in UInt64(0)..<8 { all.append(UInt8(truncatingIfNeeded: half >> (56 - 8 * place))) }
        }
        return ip.family == .v4 ? Array(all.suffix(4)) : all
    }

    private func system(_ text: String) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 16)
        if text.contains(":") { return inet_pton(AF_INET6, text, &bytes) == 1 ? bytes : nil }
        return inet_pton(AF_INET, text, &bytes) == 1 ? Array(bytes.prefix(4)) : nil
    }
}
