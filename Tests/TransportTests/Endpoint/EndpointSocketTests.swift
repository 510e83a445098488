import Foundation
import ICELite
import Synchronization
import Testing

@testable import Transport
@testable import TransportRuntime

/// Endpoints on real sockets of every family.
@Suite("Endpoints on loopback sockets", .serialized) struct EndpointSocketTests {
    private func endpoint(_ addresses: [String], port: UInt16 = 0, udpPort: UInt16 = 0) throws -> AgentEndpoint {
        var configuration = EndpointConfiguration()
        configuration.listenAddresses = addresses
        (configuration.port, configuration.udpPort) = (port, udpPort)
        configuration.identity = .none
        return try AgentEndpoint(configuration: configuration) { call in
            for await _ in call.events {}
        }
    }

    /// Hangs up once active; the snapshot then, or that of a call that failed.
    private func call(
        _ url: String, _ change: (inout TransportConfiguration) -> Void = { _ in }
    ) async throws
        -> TransportSnapshot
    {
        var configuration = TransportConfiguration(url: url)
        change(&configuration)
        let session = try TransportSession(configuration: configuration)
        try session.start()
        var snapshot = session.snapshot
        for await event in session.events {
            guard case .stateChanged(.active) = event else { continue }
            snapshot = session.snapshot
            session.end()
        }
        if case .failed = await session.outcome() { return session.snapshot }
        return snapshot
    }

    @Test(
        "An endpoint on any address takes calls by IPv4 and IPv6, and answers from the address that was asked",
        arguments: ["127.0.0.1", "::1", "127.0.0.2"])
    func everyFamily(text: String) async throws {
        let endpoint = try endpoint(["any"])
        defer { endpoint.stop() }
        let port = try #require(endpoint.address.split(separator: ":").last)
        #expect(endpoint.addresses.contains("127.0.0.1:\(port)") && endpoint.addresses.contains("[::1]:\(port)"))
        #expect(!endpoint.addresses.contains { $0.contains("%") })
        let ip = try #require(IPAddress(text))
        let host = ip.family == .v6 ? "[\(text)]" : text
        let snapshot = try await call("ws://\(host):\(port)/") {
            // The other family's pair would do as well: not here.
            $0.addressFamily = ip.family
        }
        #expect(snapshot.transport == .webrtc, "\(String(describing: snapshot.fallback))")
        #expect(snapshot.path?.remoteAddress == SocketAddress(ip: ip, port: endpoint.udpPort))
    }

    @Test("Two concrete addresses have the same ports, and a call by each") func concrete() async throws {
        let endpoint = try endpoint(["127.0.0.1", "::1"])
        defer { endpoint.stop() }
        let ports = Set(endpoint.addresses.compactMap { $0.split(separator: ":").last })
        #expect(endpoint.addresses.count == 2 && ports.count == 1)
        for address in endpoint.addresses {
            #expect(try await call("ws://\(address)/").transport == .webrtc)
        }
    }

    @Test("A port in use is said as such, for either protocol, and leaves nothing open") func busy() throws {
        let first = try endpoint(["127.0.0.1"])
        let port = try #require(first.address.split(separator: ":").last.flatMap { UInt16($0) })
        for (tcp, udp) in [(port, UInt16(0)), (0, first.udpPort)] {
            #expect {
                try endpoint(["any"], port: tcp, udpPort: udp)
            } throws: { error in
                if case .addressInUse? = error as? TransportError { true } else { false }
            }
        }
        first.stop()
        try endpoint(["any"], port: port, udpPort: first.udpPort).stop()
    }

    @Test("A call that may use one family only does not take the other") func family() async throws {
        let endpoint = try endpoint(["any"])
        defer { endpoint.stop() }
        let port = try #require(endpoint.address.split(separator: ":").last)
        let snapshot = try await call("ws://127.0.0.1:\(port)/") { $0.addressFamily = .v6 }
        #expect(snapshot.transport == nil)
        #expect(snapshot.refusal?.message.contains("127.0.0.1 has no IPv6 address") == true)
    }

    @Test("A call bound to a local address uses that for line and path") func bound() async throws {
        let endpoint = try endpoint(["127.0.0.1"])
        defer { endpoint.stop() }
        let snapshot = try await call("ws://\(endpoint.address)/") { $0.localAddress = IPAddress("127.0.0.3") }
        #expect(snapshot.transport == .webrtc)
        #expect(snapshot.path?.localAddress?.ip == IPAddress("127.0.0.3"))
        let port = try #require(endpoint.address.split(separator: ":").last.flatMap { UInt16($0) })
        let local = try await withLoop { loop in
            let done = Happenings<IPAddress?>()
            let stream = await loop.run {
                let stream = ByteStream.connect(
                    host: "127.0.0.1", port: port, tls: nil, from: .init(address: IPAddress("127.0.0.3")),
                    deadline: loop.after(10), loop: loop)
                stream.onEvent = { [unowned stream] _ in done.add(stream.localAddress?.ip) }
                return stream
            }
            let local = await done.next() ?? nil
            await loop.run { stream.abort() }
            return local
        }
        #expect(local == IPAddress("127.0.0.3"))
    }

    @Test("A page's wrong key is told by 4401, one in a header by 401, and neither reaches the agent") func refusedKey()
        async throws
    {
        let calls = Atomic<Int>(0)
        var configuration = EndpointConfiguration()
        configuration.identity = .none
        configuration.keys = ["right"]
        let endpoint = try AgentEndpoint(configuration: configuration) { _ in
            calls.add(1, ordering: .relaxed)
        }
        defer { endpoint.stop() }
        let port = try #require(endpoint.address.split(separator: ":").last.flatMap { UInt16($0) })
        let hello = Array(#"{"type":"transport.hello","version":1,"call_id":"c"}"#.utf8)
        // Masked with zeros, glued to the request.
        let frame = [0x81, 0x80 | UInt8(hello.count), 0, 0, 0, 0] + hello
        let answer = try await exchange(port, LineConnectionTests.pageRequest(key: "wrong") + frame) {
            // The close frame: 4401 and its word.
            $0.suffix(13) == [0x11, 0x31] + Array("invalid_key".utf8)
        }
        #expect(String(decoding: answer, as: UTF8.self).hasPrefix("HTTP/1.1 101 "))
        let header = UpgradeTests.request { $0.append("Authorization: Bearer wrong") }
        let refused = try await exchange(port, Array(header.utf8)) { $0.last == UInt8(ascii: "}") }
        #expect(String(decoding: refused, as: UTF8.self).hasPrefix("HTTP/1.1 401 "))
        #expect(calls.load(ordering: .relaxed) == 0)
    }

    @Test("An id that one key's call has used is free for another key's, and refused for its own") func idsOfKeys()
        async throws
    {
        var configuration = EndpointConfiguration()
        configuration.identity = .none
        configuration.keys = ["one", "two"]
        let endpoint = try AgentEndpoint(configuration: configuration) { call in
            for await _ in call.events {}
        }
        defer { endpoint.stop() }
        var transports: [TransportKind?] = []
        for key in ["one", "two", "one"] {
            let snapshot = try await call("ws://\(endpoint.address)/") {
                $0.key = key
                $0.callID = "same"
                $0.callTransport = .websocket
            }
            transports.append(snapshot.transport)
            for _ in 0..<2_000 where endpoint.connectionCount > 0 { try await Task.sleep(for: .milliseconds(5)) }
        }
        #expect(transports == [.websocket, .websocket, nil])
    }

    @Test("An empty key among the endpoint's is refused") func emptyKey() {
        for keys in [[""], ["right", ""]] {
            var configuration = EndpointConfiguration()
            configuration.identity = .none
            configuration.keys = keys
            #expect {
                try AgentEndpoint(configuration: configuration) { _ in }
            } throws: { error in
                guard case .invalidOptions(let text)? = error as? TransportError else { return false }
                return text.hasPrefix("keys")
            }
        }
    }

    /// Sends `bytes` and returns what came once `isDone`, or at the end of the connection.
    private func exchange(
        _ port: UInt16, _ bytes: [UInt8], _ isDone: @escaping @Sendable ([UInt8]) -> Bool
    ) async throws
        -> [UInt8]
    {
        try await withLoop { loop in
            let came = Happenings<[UInt8]?>()
            let stream = await loop.run {
                let stream = ByteStream.connect(
                    host: "127.0.0.1", port: port, tls: nil, deadline: loop.after(10), loop: loop)
                stream.onEvent = { event in
                    switch event {
                    case .connected: _ = stream.write(bytes.span.bytes)
                    case .writable: break
                    case .closed: came.add(nil)
                    }
                }
                stream.onBytes = { bytes in came.add(bytes.withUnsafeBytes { Array($0) }) }
                return stream
            }
            var all: [UInt8] = []
            while !isDone(all), let piece = await came.next() ?? nil { all += piece }
            #expect(isDone(all), "\(String(decoding: all, as: UTF8.self))")
            await loop.run { stream.abort() }
            return all
        }
    }
}
