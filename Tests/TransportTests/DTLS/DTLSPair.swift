import Foundation
import ICELite
import Testing

@testable import TransportMedia

/// A datagram as a session sent it: which one it is.
struct SentDatagram: Hashable, CustomStringConvertible {
    /// Of its flight: who sent it, the how manieth of this end (a server's last has the number of the one before, plus one),
    /// and its place in it.
    struct Place: Hashable {
        var byClient: Bool
        var flight: Int
        var index: Int
    }

    /// Counted over both ends, as sent.
    var number: Int
    var place: Place
    /// 0 is the first time, 1 the first repeat, …
    var transmission: Int

    var description: String {
        "\(place.byClient ? "client" : "server")'s \(place.flight).\(place.index), transmission \(transmission)"
    }
}

/// Two sessions and a network of 20 ms each way on a virtual clock; `lose` sees every datagram as sent.
final class DTLSPair {
    /// From here to there.
    static let delay = Nanoseconds.milliseconds(20)

    var client: DTLSSession
    var server: DTLSSession
    var now = Instant.zero
    var wire: [(at: Instant, toServer: Bool, bytes: [UInt8])] = []
    var sent: [SentDatagram] = []
    var sentBytes: [[UInt8]] = []
    var sizes: [Int] { sentBytes.map(\.count) }
    var clientEvents: [DTLSEvent] = []
    var serverEvents: [DTLSEvent] = []

    /// - Parameter certificate: the client's, if not the one all tests share.
    init(
        certificate: DTLSCertificate? = nil, mtu: Int = 1_200,
        clientProfiles: [SRTPProfile] = [.aeadAES128GCM, .aes128CMHMACSHA1_80],
        serverProfiles: [SRTPProfile] = [.aeadAES128GCM, .aes128CMHMACSHA1_80]
    ) throws {
        let one = try #require(certificate ?? Self.identities.0)
        let two = try #require(Self.identities.1)
        client = try DTLSSession(role: .client, certificate: one, profiles: clientProfiles, maximumDatagram: mtu)
        server = try DTLSSession(role: .server, certificate: two, profiles: serverProfiles, maximumDatagram: mtu)
    }

    static let identities = (try? DTLSCertificate(), try? DTLSCertificate())

    func describe() throws {
        client.setRemoteFingerprints([try #require(Self.identities.1).fingerprint])
        server.setRemoteFingerprints([client.certificate.fingerprint])
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
    @discardableResult func giveClient(_ bytes: [UInt8], by carriage: DTLSCarriage = .udp) -> DTLSVerdict {
        client.handle(bytes.span.bytes, carriage: carriage, now: now)
    }
    @discardableResult func giveServer(_ bytes: [UInt8], by carriage: DTLSCarriage = .udp) -> DTLSVerdict {
        server.handle(bytes.span.bytes, carriage: carriage, now: now)
    }

    var done: Bool { clientEvents.contains { $0.isCompleted } && serverEvents.contains { $0.isCompleted } }
    var failed: Bool { clientEvents.contains { $0.failure != nil } || serverEvents.contains { $0.failure != nil } }
    /// Both have keys, the same ones crosswise.
    var agree: Bool {
        guard let ours = clientEvents.compactMap(\.keys).first, let theirs = serverEvents.compactMap(\.keys).first
        else { return false }
        return ours.localBytes == theirs.remoteBytes && ours.remoteBytes == theirs.localBytes
    }

    func drainEvents() {
        while let event = client.pollEvent() { clientEvents.append(event) }
        while let event = server.pollEvent() { serverEvents.append(event) }
    }

    func drain(lose: (SentDatagram) -> Bool) {
        drainEvents()
        while let bytes = client.nextDatagram(now: now) { send(bytes, toServer: true, lose: lose) }
        while let bytes = server.nextDatagram(now: now) { send(bytes, toServer: false, lose: lose) }
    }

    func send(_ bytes: [UInt8], toServer: Bool, lose: (SentDatagram) -> Bool) {
        if toServer {
            client.armRetransmission(interval: 4 * Self.delay, now: now)
        } else {
            server.armRetransmission(interval: 4 * Self.delay, now: now)
        }
        sentBytes.append(bytes)
        let datagram = label(byClient: toServer)
        sent.append(datagram)
        if !lose(datagram) { wire.append((now + Self.delay, toServer, bytes)) }
    }

    private func label(byClient: Bool) -> SentDatagram {
        let isLast = !byClient && server.phase == .established
        let flight = byClient ? Int(client.flightsSeen) : Int(server.flightsSeen) + (isLast ? 1 : 0)
        let transmission =
            byClient ? client.repeatsSent : isLast ? server.statistics.lastFlightResends : server.repeatsSent
        let index = sent.count {
            $0.place.byClient == byClient && $0.place.flight == flight && $0.transmission == transmission
        }
        return SentDatagram(
            number: sent.count, place: .init(byClient: byClient, flight: flight, index: index),
            transmission: transmission)
    }

    /// Runs until both are done, one failed, nothing is left to wait for, or `limit`.
    func run(until limit: Instant = Instant(nanoseconds: .seconds(30)), lose: (SentDatagram) -> Bool = { _ in false }) {
        client.start(now: now)
        server.start(now: now)
        drain(lose: lose)
        while !done, !failed, now < limit {
            let arrival = wire.first?.at ?? .never
            let next = min(arrival, client.nextDeadline, server.nextDeadline)
            guard next < limit else {
                if next != .never { now = limit }
                return
            }
            now = max(now, next)
            if arrival <= now {
                let datagram = wire.removeFirst()
                if datagram.toServer { giveServer(datagram.bytes) } else { giveClient(datagram.bytes) }
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
