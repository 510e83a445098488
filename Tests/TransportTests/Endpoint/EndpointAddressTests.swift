import Foundation
import ICELite
import Testing

@testable import Transport
@testable import TransportRuntime

/// What an endpoint listens on and what it tells clients of it: no sockets.
@Suite("An endpoint's addresses") struct EndpointAddressTests {
    private func ip(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }

    @Test(
        "Literals and any are read, each once; a wildcard takes its family's place",
        arguments: [
            (["127.0.0.1"], ["127.0.0.1"]), (["any"], ["0.0.0.0", "::"]),
            (["::1", "127.0.0.1", "::1"], ["::1", "127.0.0.1"]),
            (["10.0.0.1", "0.0.0.0", "2001:db8::1"], ["0.0.0.0", "2001:db8::1"]),
            (["any", "10.0.0.1"], ["0.0.0.0", "::"]),
            (["::ffff:10.0.0.1", "10.0.0.1"], ["10.0.0.1"]),
        ])
    func reads(texts: [String], expected: [String]) throws {
        #expect(try ListenAddresses(texts).ips.map(\.description) == expected)
    }

    @Test("Names, multicast, nothing and too much are refused, by the option's name") func refuses() {
        let many = (0..<17).map { "10.0.0.\($0)" }
        for texts in [["localhost"], ["224.0.0.1"], [""], ["Any"], [], many] {
            #expect {
                try ListenAddresses(texts)
            } throws: { error in
                guard case .invalidOptions(let text)? = error as? TransportError else { return false }
                return text.contains("listenAddresses")
            }
        }
    }

    private let interfaces: [NetworkInterfaces.Address] = [
        ("lo", 1, "127.0.0.1", true), ("lo", 1, "::1", true), ("eth0", 2, "10.0.0.5", false),
        ("eth0", 2, "2001:db8::5", false), ("eth0", 2, "fe80::5%2", false), ("eth1", 3, "192.168.1.5", false),
        ("eth1", 3, "fe80::5%3", false),
    ].compactMap { name, index, text, isLoopback in
        IPAddress(text).map { NetworkInterfaces.Address(interface: name, index: index, ip: $0, isLoopback: isLoopback) }
    }

    private func candidates(
        _ listening: [String], line: String?, _ substitutes: [String: String] = [:]
    ) throws -> [String] {
        let announced = try AnnouncedAddresses(listening: ListenAddresses(listening), substitutes: substitutes)
        return announced.candidates(lineLocal: line.flatMap { IPAddress($0) }, interfaces: interfaces).map(
            \.description)
    }

    @Test("The line's own address comes first, then the families in turn") func order() throws {
        #expect(try candidates(["any"], line: "10.0.0.5") == ["10.0.0.5", "2001:db8::5", "192.168.1.5"])
        #expect(try candidates(["any"], line: "2001:db8::5") == ["2001:db8::5", "10.0.0.5", "192.168.1.5"])
        #expect(try candidates(["0.0.0.0"], line: "192.168.1.5") == ["192.168.1.5", "10.0.0.5"])
        #expect(try candidates(["192.168.1.5", "2001:db8::5"], line: "192.168.1.5") == ["192.168.1.5", "2001:db8::5"])
    }

    @Test("Loopback is told to a line on loopback alone, with the others: a proxy may have brought the line")
    func loopback() throws {
        #expect(
            try candidates(["any"], line: "::1") == ["::1", "2001:db8::5", "10.0.0.5", "192.168.1.5", "127.0.0.1"])
        #expect(try candidates(["127.0.0.1", "10.0.0.5"], line: "10.0.0.5") == ["10.0.0.5"])
        #expect(try candidates(["127.0.0.1", "::1"], line: "127.0.0.1") == ["127.0.0.1", "::1"])
        #expect(try candidates(["any"], line: nil) == ["2001:db8::5", "10.0.0.5", "192.168.1.5"])
    }

    @Test("An address that a wildcard answers for without an interface is announced") func routed() throws {
        #expect(try candidates(["0.0.0.0"], line: "127.0.0.2").first == "127.0.0.2")
        #expect(try candidates(["0.0.0.0"], line: "203.0.113.9").first == "203.0.113.9")
        #expect(try candidates(["10.0.0.5"], line: "203.0.113.9") == ["10.0.0.5"])
    }

    @Test("Link-local is told to a line on the same link alone") func linkLocal() throws {
        #expect(try candidates(["any"], line: "fe80::5%2").filter { $0.hasPrefix("fe80") } == ["fe80::5%2"])
        #expect(try candidates(["::"], line: "fe80::5%3").filter { $0.hasPrefix("fe80") } == ["fe80::5%3"])
        #expect(try candidates(["::"], line: "2001:db8::5").contains { $0.hasPrefix("fe80") } == false)
        #expect(try candidates(["fe80::5%2"], line: "fe80::5%3") == [])
    }

    @Test("Behind a 1:1 NAT the world's address stands in the private one's place") func substitutes() throws {
        #expect(
            try candidates(["any"], line: "10.0.0.5", ["10.0.0.5": "203.0.113.1"])
                == ["203.0.113.1", "2001:db8::5", "192.168.1.5"])
        #expect(
            try candidates(["any"], line: "10.0.0.5", ["0.0.0.0": "203.0.113.1"]) == ["203.0.113.1", "2001:db8::5"])
        #expect(
            try candidates(["0.0.0.0"], line: "10.0.0.5", ["0.0.0.0": "203.0.113.1", "10.0.0.5": "203.0.113.2"])
                == ["203.0.113.2", "203.0.113.1"])
        #expect(try candidates(["0.0.0.0"], line: "127.0.0.1", ["0.0.0.0": "203.0.113.1"]).first == "127.0.0.1")
        for wrong in [["10.0.0.5": "::1"], ["x": "10.0.0.1"], ["10.0.0.5": "0.0.0.0"], ["10.0.0.5": "224.0.0.1"]] {
            #expect(throws: TransportError.self) { try candidates(["any"], line: nil, wrong) }
        }
    }

    @Test("No more candidates than the bound") func bound() throws {
        let many = (1...100).compactMap { IPAddress("10.1.0.\($0)") }.map {
            NetworkInterfaces.Address(interface: "eth0", index: 2, ip: $0, isLoopback: false)
        }
        let announced = try AnnouncedAddresses(listening: ListenAddresses(["any"]), substitutes: [:])
        #expect(announced.candidates(lineLocal: nil, interfaces: many).count == AnnouncedAddresses.limit)
    }

    // MARK: One port for all

    /// Opens nothing: answers as `script` says and keeps what is open.
    private final class FakeSockets {
        var open: [SocketAddress] = []
        var attempts = 0
        let script: (SocketAddress, Int) -> Result<UInt16, SocketError>

        init(_ script: @escaping (SocketAddress, Int) -> Result<UInt16, SocketError>) { self.script = script }

        func run(_ texts: [String], port: UInt16) throws -> [SocketAddress] {
            try EndpointSockets.onePort(ListenAddresses(texts), port: port) { (address) throws(SocketError) in
                attempts += 1
                let taken = SocketAddress(ip: address.ip, port: try script(address, attempts).get())
                open.append(taken)
                return (taken, taken.port)
            } close: { closed in
                open.removeAll { $0 == closed }
            }
        }
    }

    @Test("A free port that is taken on the second address is given up for another") func retries() throws {
        let sockets = FakeSockets { address, attempt in
            if address.port == 0 { return .success(UInt16(5_000 + attempt)) }
            return attempt < 6 ? .failure(.addressInUse(address)) : .success(address.port)
        }
        let opened = try sockets.run(["127.0.0.1", "::1"], port: 0)
        #expect(opened.map(\.description) == ["127.0.0.1:5005", "[::1]:5005"])
        #expect(sockets.open == opened)
    }

    @Test("It gives up after its tries, and a port that was asked for has one; nothing stays open") func givesUp() {
        let taken = FakeSockets { address, _ in address.port == 0 ? .success(5_000) : .failure(.addressInUse(address)) }
        #expect(throws: SocketError.self) { try taken.run(["127.0.0.1", "::1"], port: 0) }
        #expect(taken.attempts == 2 * EndpointSockets.portTries && taken.open.isEmpty)
        let asked = FakeSockets { address, _ in
            address.ip.family == .v4 ? .success(address.port) : .failure(.addressInUse(address))
        }
        #expect(throws: SocketError.self) { try asked.run(["127.0.0.1", "::1"], port: 443) }
        #expect(asked.attempts == 2 && asked.open.isEmpty)
    }

    @Test("A machine without IPv6 serves any on IPv4; an address asked for by name must be there") func oneFamily()
        throws
    {
        let sockets = FakeSockets { address, _ in
            address.ip.family == .v6 ? .failure(.system(call: "socket", errno: EAFNOSUPPORT)) : .success(5_000)
        }
        #expect(try sockets.run(["any"], port: 0).map(\.description) == ["0.0.0.0:5000"])
        #expect(throws: SocketError.self) { try sockets.run(["0.0.0.0", "::"], port: 0) }
        let none = FakeSockets { address, _ in .failure(.addressNotAvailable(address)) }
        #expect(throws: SocketError.self) { try none.run(["any"], port: 0) }
    }
}
