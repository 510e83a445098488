import ICELite
import Testing
import Transport

@Suite("Line: URL and base64") struct CallLineURLTests {
    private func read(_ text: String, allowInsecure: Bool = false) throws -> String {
        let url = try CallLineURL(text, allowInsecure: allowInsecure)
        return "\(url.isSecure ? "wss" : "ws") \(url.host) \(url.port) \(url.path) \(url.hostHeader)"
    }

    @Test(
        "URLs that are taken",
        arguments: [
            ("wss://voice.example/call?x=1", "wss voice.example 443 /call?x=1 voice.example"),
            ("WSS://Voice.Example", "wss voice.example 443 / voice.example"),
            ("wss://voice.example?x=/", "wss voice.example 443 /?x=/ voice.example"),
            ("wss://voice.example:8443/", "wss voice.example 8443 / voice.example:8443"),
            ("wss://voice.example:443/", "wss voice.example 443 / voice.example"),
            ("wss://voice.example:80/", "wss voice.example 80 / voice.example:80"),
            ("wss://voice.example./", "wss voice.example. 443 / voice.example."),
            ("wss://[2001:db8::1]:9/a", "wss 2001:db8::1 9 /a [2001:db8::1]:9"),
            ("ws://127.0.0.1", "ws 127.0.0.1 80 / 127.0.0.1"), ("ws://127.9.9.9:1/", "ws 127.9.9.9 1 / 127.9.9.9:1"),
            ("ws://[::1]:8080/", "ws ::1 8080 / [::1]:8080"),
            ("wss://xn--bcher-kva.example", "wss xn--bcher-kva.example 443 / xn--bcher-kva.example"),
            ("wss://a_b.example/%20", "wss a_b.example 443 /%20 a_b.example"),
        ])
    func taken(text: String, expected: String) throws { #expect(try read(text) == expected) }

    @Test(
        "URLs that are refused, and why",
        arguments: [
            ("", CallLineURLError.scheme), ("https://a/", .scheme), ("wss:/a", .scheme), ("wss:a", .scheme),
            ("://a", .scheme), ("voice.example", .scheme), ("ws://voice.example/", .insecure(host: "voice.example")),
            ("ws://localhost/", .insecure(host: "localhost")), ("ws://10.0.0.1/", .insecure(host: "10.0.0.1")),
            ("ws://0x7f000001/", .insecure(host: "0x7f000001")), ("ws://[::2]/", .insecure(host: "::2")),
            ("ws://127.0.0.1.evil.example/", .insecure(host: "127.0.0.1.evil.example")),
            ("wss://user@a/", .userInfo), ("wss://user:pw@a/", .userInfo), ("ws://127.0.0.1@evil.example/", .userInfo),
            ("wss:///a", .host), ("wss://", .host), ("wss://a..b/", .host), ("wss://-a/", .host), ("wss://a-/", .host),
            ("wss://127.1/", .host), ("wss://1/", .host), ("wss://256.0.0.1/", .host), ("wss://0x7f.1/", .host),
            ("wss://[::1/", .host), ("wss://[::1]x/", .host), ("wss://[]/", .host), ("wss://[1.2.3.4]/", .host),
            ("wss://[fe80::1%25eth0]/", .host), ("wss://./", .host), ("wss://a,b/", .host),
            ("wss://a:/", .port), ("wss://a:0/", .port), ("wss://a:65536/", .port), ("wss://a:+1/", .port),
            ("wss://a:1:2/", .port), ("wss://a:x/", .port), ("wss://a:000001/", .port), ("wss://a/#f", .fragment),
            ("wss://a#", .fragment), ("wss://a/ b", .character), ("wss://a/\r\nX: y", .character),
            ("wss://ü/", .character), (#"wss://a\@b/"#, .character), ("wss://a/\u{7F}", .character),
            ("wss://a/" + String(repeating: "p", count: 2_048), .tooLong),
            ("wss://" + String(repeating: "a", count: 64) + "/", .host),
        ])
    func refused(text: String, error: CallLineURLError) {
        #expect(throws: error) { try read(text) }
        #expect(!error.description.isEmpty)
    }

    @Test("The key travels over TLS or to a literal loopback only")
    func key() throws {
        #expect(try CallLineURL("wss://a").mayCarryKey)
        #expect(try CallLineURL("ws://127.0.0.1").mayCarryKey)
        #expect(try CallLineURL("ws://[::1]").mayCarryKey)
        #expect(try !CallLineURL("ws://a", allowInsecure: true).mayCarryKey)
        #expect(try !CallLineURL("ws://10.0.0.1", allowInsecure: true).mayCarryKey)
    }

    @Test("Changed URLs never trap", arguments: 0..<10)
    func mutations(seed: UInt64) {
        var randomness = Randomness.seeded(seed)
        for text in ["wss://[2001:db8::1]:443/a?b", "ws://127.0.0.1:80/", "wss://voice.example:8443/call"] {
            for _ in 0..<200 {
                _ = try? CallLineURL(String(decoding: mutated(Array(text.utf8), &randomness), as: UTF8.self))
            }
        }
    }

    @Test("base64: the vectors of RFC 4648 section 10, both alphabets, every length")
    func base64() {
        let vectors = [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ]
        for (plain, text) in vectors {
            #expect(Base64.encode(Array(plain.utf8)) == text)
            #expect(Base64.decode(text) == Array(plain.utf8))
        }
        #expect(Base64.encode([0xFB, 0xFF]) == "+/8=")
        #expect(Base64.encodeURL([0xFB, 0xFF]) == "-_8")
        #expect(Base64.decodeURL("-_8") == [0xFB, 0xFF])
        var randomness = Randomness.seeded(1)
        for length in 0...100 {
            let bytes = randomness.bytes(length)
            #expect(Base64.decode(Base64.encode(bytes)) == bytes)
            #expect(Base64.decodeURL(Base64.encodeURL(bytes)) == bytes)
        }
    }

    @Test("base64 that is not canonical is refused")
    func notBase64() {
        for text in [
            "Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "=", "====", "A===", "Zg==Zg==", "Z g=", "Zg==\n", "-_8=", "Zm9v=",
            "Zm9vYg=a", "ü===", "Zm9v====",
        ] { #expect(Base64.decode(text) == nil, "\(text)") }
        for text in ["A", "Zg==", "Zh", "+/8", "Z\u{0}"] { #expect(Base64.decodeURL(text) == nil, "\(text)") }
    }
}
