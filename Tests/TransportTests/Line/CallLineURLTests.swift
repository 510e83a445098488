import ICELite
import Testing

@testable import TransportLine

@Suite struct CallLineURLTests {
    @Test func readsHostPortPathAndQuery() throws {
        let url = try CallLineURL("WSS://Agent.Example:8443/call/x?agent=support&v=1")
        #expect(url.isSecure && url.host == "agent.example" && url.port == 8_443)
        #expect(url.path == "/call/x?agent=support&v=1")
        #expect(url.hostHeader == "agent.example:8443" && url.literal == nil && url.mayCarryKey)
    }

    @Test func fillsInPortAndPath() throws {
        #expect(try CallLineURL("wss://a.example").port == 443)
        #expect(try CallLineURL("wss://a.example").path == "/")
        #expect(try CallLineURL("wss://a.example?q").path == "/?q")
        #expect(try CallLineURL("wss://a.example:443/").hostHeader == "a.example")
        #expect(try CallLineURL("ws://127.0.0.1/").port == 80)
    }

    @Test func readsIPv6Literals() throws {
        let url = try CallLineURL("wss://[2001:DB8::1]:9000/")
        #expect(url.host == "2001:db8::1" && url.port == 9_000 && url.hostHeader == "[2001:db8::1]:9000")
        #expect(url.literal?.family == .v6)
        #expect(try CallLineURL("ws://[::1]:1/").mayCarryKey)
    }

    @Test(arguments: ["ws://agent.example/", "ws://localhost/", "ws://10.0.0.1/", "ws://[2001:db8::1]/"])
    func plainIsOnlyForTheOwnMachine(text: String) throws {
        #expect(throws: CallLineURLError.self) { try CallLineURL(text) }
        let url = try CallLineURL(text, allowInsecure: true)
        #expect(!url.mayCarryKey)
    }

    static let refused: [(String, CallLineURLError)] = [
        ("", .scheme), ("https://a.example/", .scheme), ("wss:/a", .scheme), ("wss//a", .scheme), ("wss://", .host),
        ("wss:///path", .host), ("wss://a b/", .character), ("wss://é.example/", .character),
        ("wss://a.example/\r\nX: y", .character), ("wss://user:pw@a.example/", .userInfo),
        ("wss://a.example/#x", .fragment), ("wss://a.example:0/", .port), ("wss://a.example:65536/", .port),
        ("wss://a.example:/", .port), ("wss://a.example:+1/", .port), ("wss://[::1/", .host), ("wss://[::1]x/", .host),
        ("wss://[127.0.0.1]/", .host), ("wss://127.1/", .host), ("wss://0177.0.0.1/", .host), ("wss://-a/", .host),
        ("wss://a..b/", .host), ("wss://::1/", .host),
    ]

    @Test(arguments: refused) func saysWhatIsWrong(text: String, error: CallLineURLError) {
        #expect(throws: error) { try CallLineURL(text, allowInsecure: true) }
        #expect(!error.description.isEmpty)
    }

    @Test func refusesLongOnes() {
        #expect(throws: CallLineURLError.tooLong) {
            try CallLineURL("wss://a.example/" + String(repeating: "x", count: 2_048))
        }
    }
}
