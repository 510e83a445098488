import ICELite
import Testing

@testable import TransportRuntime

struct TLSEngineTests {
    private func connect(
        _ identity: TLSIdentity, trust: TLSContext.Trust? = nil, host: String
    ) throws -> (client: String, server: String) {
        let trusted = try TLSContext(trust: trust ?? .pem(identity.certificatePEM))
        var client = try TLSEngine(context: trusted, host: host)
        var server = try TLSEngine(context: TLSContext(identity: identity))
        var isDone = false
        for _ in 0..<10 where !isDone {
            let left = try client.advanceHandshake()
            client.withPending { bytes in
                server.feed(bytes.bytes)
                return bytes.count
            }
            let right = try server.advanceHandshake()
            server.withPending { bytes in
                client.feed(bytes.bytes)
                return bytes.count
            }
            isDone = left && right
        }
        let hasHTTP = client.hasNegotiatedHTTP
        #expect(hasHTTP)
        let written = try client.write(octets(1, 2, 3).span.bytes)
        #expect(written == .bytes(3))
        client.close()
        client.withPending { bytes in
            for byte in bytes { server.feed(octets(byte).span.bytes) }
            return bytes.count
        }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16, alignment: 1)
        defer { buffer.deallocate() }
        let first = try server.read(into: buffer)
        #expect(first == .bytes(3))
        #expect(Array(buffer[..<3]) == [1, 2, 3])
        let second = try server.read(into: buffer)
        #expect(second == .closed)
        return (client.version, server.version)
    }

    @Test(arguments: ["voice.example", "127.0.0.1", "::1", "[::1]", "voice.example."])
    func aCertificateForTheHostIsAccepted(host: String) throws {
        let identity = try TLSIdentity.selfSigned(for: ["voice.example", "127.0.0.1", "::1"])
        let versions = try connect(identity, host: host)
        #expect(versions.client == "TLSv1.3")
        #expect(versions.server == "TLSv1.3")
    }

    @Test func aCertificateForAnotherHostIsRefusedAndItsNamesAreSaid() throws {
        let identity = try TLSIdentity.selfSigned(for: ["voice.example", "192.0.2.1"])
        let mismatch = TLSError.hostMismatch(host: "other.example", certificateNames: "voice.example, 192.0.2.1")
        #expect(throws: mismatch) { try connect(identity, host: "other.example") }
        #expect(throws: TLSError.hostMismatch(host: "192.0.2.2", certificateNames: "voice.example, 192.0.2.1")) {
            try connect(identity, host: "192.0.2.2")
        }
        #expect(mismatch.description.contains("for voice.example, 192.0.2.1, not for other.example"))
    }

    @Test func anUntrustedCertificateIsRefusedUnlessAskedForByName() throws {
        let identity = try TLSIdentity.selfSigned(for: ["voice.example"])
        #expect(throws: TLSError.unknownAuthority(isSelfSigned: true)) {
            try connect(identity, trust: .system, host: "voice.example")
        }
        _ = try connect(identity, trust: .insecure, host: "other.example")
    }

    @Test func certificatesOutsideTheirTimeAreRefused() throws {
        let old = try TLSIdentity.selfSigned(for: ["voice.example"], validity: -7_200...(-3_600))
        #expect(throws: TLSError.certificateExpired) { try connect(old, host: "voice.example") }
        let new = try TLSIdentity.selfSigned(for: ["voice.example"], validity: 3_600...7_200)
        #expect(throws: TLSError.certificateNotYetValid) { try connect(new, host: "voice.example") }
    }

    @Test func bytesThatAreNoTLSEndTheHandshakeAndNeverTrap() throws {
        let identity = try TLSIdentity.selfSigned(for: ["voice.example"])
        let context = try TLSContext(identity: identity)
        for seed in 0..<200 as Range<UInt64> {
            var random = Randomness.seeded(seed)
            var server = try TLSEngine(context: context)
            server.feed((seed == 0 ? Array("GET / HTTP/1.1\r\n\r\n".utf8) : random.bytes(200)).span.bytes)
            do { _ = try server.advanceHandshake() } catch { #expect(!error.description.isEmpty) }
        }
        #expect(throws: TLSError.self) { try TLSContext(trust: .pem("nothing")) }
        #expect(throws: TLSError.self) { try TLSContext(trust: .file("/nowhere.pem")) }
        #expect(throws: TLSError.self) { try TLSIdentity.selfSigned(for: ["a,DNS:b"]) }
        #expect(throws: TLSError.self) { try TLSIdentity.selfSigned(for: []) }
        #expect(throws: TLSError.self) { try TLSIdentity(certificateChainFile: "/nowhere", keyFile: "/nowhere") }
    }
}
