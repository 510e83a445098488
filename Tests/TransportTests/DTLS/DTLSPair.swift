import Foundation
import ICELite
import Testing

@testable import TransportMedia

/// Two sessions and a network of 20 ms each way on a virtual clock; `lose` sees every datagram, numbered as sent.
final class DTLSPair {
    var client: DTLSSession
    var server: DTLSSession
    var now = Instant.zero
    var wire: [(at: Instant, toServer: Bool, bytes: [UInt8])] = []
    var sent = 0
    var sizes: [Int] = []
    var clientEvents: [DTLSEvent] = []
    var serverEvents: [DTLSEvent] = []

    init(
        mtu: Int = 1_200, clientProfiles: [SRTPProfile] = [.aeadAES128GCM, .aes128CMHMACSHA1_80],
        serverProfiles: [SRTPProfile] = [.aeadAES128GCM, .aes128CMHMACSHA1_80]
    ) throws {
        let one = try #require(Self.identities.0)
        let two = try #require(Self.identities.1)
        client = try DTLSSession(role: .client, certificate: one, profiles: clientProfiles, maximumDatagram: mtu)
        server = try DTLSSession(role: .server, certificate: two, profiles: serverProfiles, maximumDatagram: mtu)
    }

    static let identities = (try? DTLSCertificate(), try? DTLSCertificate())

    func describe() throws {
        client.setRemoteFingerprints([try #require(Self.identities.1).fingerprint])
        server.setRemoteFingerprints([try #require(Self.identities.0).fingerprint])
    }

    // The expectation macros cannot hold a noncopyable value: they ask here.
    var clientFacts: DTLSStatistics { client.statistics }
    var serverFacts: DTLSStatistics { server.statistics }
    var clientFlight: [[UInt8]] { client.flight }
    var serverFlight: [[UInt8]] { server.flight }
    var clientDeadline: Instant { client.nextDeadline }
    var serverDeadline: Instant { server.nextDeadline }
    func pollClient() -> DTLSEvent? { client.pollEvent() }
    func pollServer() -> DTLSEvent? { server.pollEvent() }
    func takeFromClient() -> [UInt8]? { client.nextDatagram(now: now) }
    func takeFromServer() -> [UInt8]? { server.nextDatagram(now: now) }
    @discardableResult func giveClient(_ bytes: [UInt8]) -> DTLSVerdict { client.handle(bytes.span.bytes, now: now) }
    @discardableResult func giveServer(_ bytes: [UInt8]) -> DTLSVerdict { server.handle(bytes.span.bytes, now: now) }

    var done: Bool { clientEvents.contains { $0.isCompleted } && serverEvents.contains { $0.isCompleted } }
    var failed: Bool { clientEvents.contains { $0.failure != nil } || serverEvents.contains { $0.failure != nil } }

    func drain(lose: (Int) -> Bool) {
        while let event = client.pollEvent() { clientEvents.append(event) }
        while let event = server.pollEvent() { serverEvents.append(event) }
        while let bytes = client.nextDatagram(now: now) { send(bytes, toServer: true, lose: lose) }
        while let bytes = server.nextDatagram(now: now) { send(bytes, toServer: false, lose: lose) }
    }

    func send(_ bytes: [UInt8], toServer: Bool, lose: (Int) -> Bool) {
        if toServer {
            client.armRetransmission(interval: .milliseconds(80), now: now)
        } else {
            server.armRetransmission(interval: .milliseconds(80), now: now)
        }
        sizes.append(bytes.count)
        if !lose(sent) { wire.append((now + .milliseconds(20), toServer, bytes)) }
        sent += 1
    }

    /// Runs until both are done, one failed, nothing is left to wait for, or `limit`.
    func run(until limit: Instant = Instant(nanoseconds: .seconds(30)), lose: (Int) -> Bool = { _ in false }) {
        client.start(now: now)
        server.start(now: now)
        drain(lose: lose)
        while !done, !failed, now < limit {
            let arrival = wire.first?.at ?? .never
            let next = min(arrival, client.nextDeadline, server.nextDeadline)
            if next == .never { return }
            now = max(now, next)
            if arrival <= now {
                let datagram = wire.removeFirst()
                if datagram.toServer {
                    _ = server.handle(datagram.bytes.span.bytes, now: now)
                } else {
                    _ = client.handle(datagram.bytes.span.bytes, now: now)
                }
            } else {
                client.handleTimeout(now: now)
                server.handleTimeout(now: now)
            }
            drain(lose: lose)
        }
    }
}

extension DTLSSession {
    mutating func nextDatagram(now: Instant) -> [UInt8]? {
        var storage = [UInt8](repeating: 0, count: 2_048)
        let count = storage.withUnsafeMutableBytes { room -> Int? in
            var out = unsafe OutputRawSpan(buffer: room, initializedCount: 0)
            let count = pollDatagram(into: &out, now: now)
            _ = unsafe out.finalize(for: room)
            return count
        }
        return count.map { Array(storage[..<$0]) }
    }
}

extension DTLSEvent {
    var isCompleted: Bool { if case .completed = self { true } else { false } }
    var isClosed: Bool { if case .closed = self { true } else { false } }
    var failure: DTLSFailure? { if case .failed(let failure) = self { failure } else { nil } }
    var keys: SRTPKeys? { if case .keys(let keys) = self { keys } else { nil } }
}

extension SRTPKeys {
    var localBytes: [UInt8] { withLocal { Array($0) } }
    var remoteBytes: [UInt8] { withRemote { Array($0) } }
}

func vectorFile(_ path: String) throws -> Data {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    return try Data(contentsOf: folder.appendingPathComponent("Vectors").appendingPathComponent(path))
}

func bytes(hex: String) -> [UInt8] {
    let digits = hex.compactMap { $0.hexDigitValue }
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

func datagrams(of file: String) throws -> [[UInt8]] {
    String(decoding: try vectorFile(file), as: UTF8.self).split(separator: "\n")
        .filter { !$0.hasPrefix("#") }.map { bytes(hex: String($0)) }
}
