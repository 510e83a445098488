import ICELite
import Testing
import TransportMedia
import TransportRuntime

@testable import Transport

/// The hello in the offer with a peer that means ill, or whose handshake fails: both ends by hand, no network between.
@Suite("The hello in the offer, and trouble") struct HelloInOfferTroubleTests {
    private static let bound = 4_096

    /// Two ends of which the client has the server's answer.
    private final class Ends {
        var client: MediaPath
        var server: MediaPath
        let pool = PacketPool(size: 4)
        /// The client's first datagrams, its check ahead.
        private(set) var datagrams: [[UInt8]] = []

        /// - Parameters:
        ///   - trusts: the fingerprint by which the server is to know the client.
        ///   - flight: what becomes of the server's flight in its answer.
        ///   - handshake: the client's options.
        init(
            trusts: CertificateFingerprint? = nil, handshake: HandshakeOptions = HandshakeOptions(),
            flight change: ([[UInt8]]) -> [[UInt8]] = { $0 }
        ) throws {
            var randomness = Randomness.seeded(8)
            let certificate = try #require(DTLSCertificate.shared)
            let mine = ICECredentials.random(using: &randomness)
            let theirs = ICECredentials.random(using: &randomness)
            let local = PathPair.media(mine, isLite: false, certificate, PathPair.clientSSRC)
            let offer = try RemoteMedia(offer: SessionDescription.makeOffer(local))
            client = MediaPath(
                controlling: mine, certificate: certificate, localSSRC: PathPair.clientSSRC,
                options: handshake, randomness: .seeded(1))
            var offered = try RemotePathDescription(offer)
            if let trusts { offered.fingerprints = [trusts] }
            server = try MediaPath(
                lite: theirs, remote: offered, certificate: certificate, localSSRC: PathPair.serverSSRC,
                randomness: .seeded(2), now: .zero)
            let flight = change(try server.answerHello(client.offerHello(now: .zero), now: .zero))
            var remote = PathPair.media(theirs, isLite: true, certificate, PathPair.serverSSRC)
            remote.candidates = [ICECandidate(host: PathPair.serverAddress, localPreference: .max).attribute]
            remote.endOfCandidates = true
            let answer = try RemoteMedia(answer: try SessionDescription.makeAnswer(to: offer, remote), to: local)
            _ = client.networkChanged(to: [PathPair.clientAddress], now: .zero)
            try client.setRemote(try RemotePathDescription(answer), flight: flight, now: .zero)
            datagrams = clientSends(now: .zero).map(\.bytes)
        }

        func clientSends(now: Instant) -> [(bytes: [UInt8], path: NetworkPath)] {
            var sent: [(bytes: [UInt8], path: NetworkPath)] = []
            while var packet = pool.take() {
                let transmit = packet.write { [self] out in client.pollTransmit(into: &out, now: now) }
                guard let transmit else { break }
                sent.append((packet.copiedBytes, transmit.path))
            }
            return sent
        }

        func serverSends(now: Instant) -> [(bytes: [UInt8], path: NetworkPath)] {
            var sent: [(bytes: [UInt8], path: NetworkPath)] = []
            while var packet = pool.take() {
                let transmit = packet.write { [self] out in server.pollTransmit(into: &out, now: now) }
                guard let transmit else { break }
                sent.append((packet.copiedBytes, transmit.path))
            }
            return sent
        }

        func giveServer(_ bytes: [UInt8], from path: NetworkPath, now: Instant) -> MediaPath.Verdict? {
            guard var packet = pool.take() else { return nil }
            packet.assign(bytes.span.bytes)
            return server.handle(&packet, path: path, now: now)
        }

        func giveClient(_ bytes: [UInt8], from path: NetworkPath, now: Instant) {
            guard var packet = pool.take() else { return }
            packet.assign(bytes.span.bytes)
            _ = client.handle(&packet, path: path, now: now)
        }

        func takeParkedAtServer(now: Instant) -> [MediaPath.Verdict] {
            guard var packet = pool.take() else { return [] }
            var verdicts: [MediaPath.Verdict] = []
            while let parked = server.nextParkedMedia(into: &packet, now: now) { verdicts.append(parked.verdict) }
            return verdicts
        }

        /// A packet of the server's audio; the bytes that may go to where it sends.
        func serverSpeaks(_ number: Int, now: Instant) -> Int {
            guard var packet = pool.take() else { return 0 }
            var bytes: [UInt8] = [0x80, 111, UInt8(number >> 8), UInt8(number & 0xFF), 0, 0, 0, 0]
            bytes += (0..<4).map { UInt8(truncatingIfNeeded: PathPair.serverSSRC >> (24 - 8 * UInt32($0))) }
            packet.assign((bytes + [UInt8](repeating: 7, count: 160)).span.bytes)
            return server.sendRTP(&packet, now: now)?.byteCount ?? 0
        }
    }

    @Test("A server that refuses the client's certificate says so on the line, for UDP is not believed there")
    func alertOnLine() throws {
        let other = try CertificateFingerprint(hash: .sha256, bytes: [UInt8](repeating: 7, count: 32))
        let ends = try Ends(trusts: other)
        let flight = ends.client.pollLineFlight()
        ends.server.takeLineFlight(try #require(flight), now: .zero)
        let failure = ends.server.evidence.failure
        #expect(failure == .fingerprintMismatch)
        let lastWords = ends.server.pollLineFlight()
        ends.client.takeLineFlight(try #require(lastWords), now: .zero)
        let seen = ends.client.evidence.failure
        guard case .alert? = seen else {
            Issue.record("the client has seen \(String(describing: seen))")
            return
        }
        let again = ends.server.pollLineFlight()
        #expect(again == nil)
    }

    @Test(
        "Whoever forges the source of check and flight, and of much that is parked, gets 3 times what came and 4 KB there",
        arguments: [0, 5, 50])
    func spoofedAndParked(junk: Int) throws {
        let ends = try Ends()
        let path = NetworkPath(local: PathPair.serverAddress, remote: PathPair.elsewhere)
        var came = 0
        func give(_ bytes: [UInt8]) {
            came += bytes.count
            _ = ends.giveServer(bytes, from: path, now: .zero)
        }
        give(ends.datagrams[0])
        for number in 0..<junk {
            give([0x80, 111, 0, UInt8(number)] + [UInt8](repeating: 0x11, count: 1_200))
        }
        for bytes in ends.datagrams.dropFirst() { give(bytes) }
        let isSecured = ends.server.isSecured
        #expect(isSecured)
        #expect(ends.takeParkedAtServer(now: .zero) == Array(repeating: .dropped, count: junk))
        let received = (ends.server.statistics.packetsReceived, ends.server.statistics.bytesReceived)
        #expect(received == (junk + ends.datagrams.count, came))
        var went = ends.serverSends(now: .zero).filter { $0.path == path }.reduce(0) { $0 + $1.bytes.count }
        for number in 1...3_000 { went += ends.serverSpeaks(number, now: .zero) }
        // Something went there at all: else the bound says nothing.
        #expect(went > 4_000)
        #expect(went <= 3 * came + Self.bound)
        // The flight went by the line: that it was answered shows nothing.
        let isConfirmed = ends.server.lite?.isConfirmed(path)
        #expect(isConfirmed == false)
    }

    @Test("What is parked too long makes room for what comes")
    func parkedTooLong() throws {
        let ends = try Ends()
        let path = NetworkPath(local: PathPair.serverAddress, remote: PathPair.clientAddress)
        _ = ends.giveServer(ends.datagrams[0], from: path, now: .zero)
        let junk: [UInt8] = [0x80, 111] + [UInt8](repeating: 0x11, count: 60)
        for _ in 0..<MediaPath.parkedMediaLimit { _ = ends.giveServer(junk, from: path, now: .zero) }
        let full = ends.giveServer(junk, from: path, now: .zero + MediaPath.parkedFor)
        #expect(full == .dropped)
        let later = Instant.zero + MediaPath.parkedFor + 1
        let taken = ends.giveServer(junk, from: path, now: later)
        #expect(taken == .consumed)
        for bytes in ends.datagrams.dropFirst() { _ = ends.giveServer(bytes, from: path, now: later) }
        #expect(ends.takeParkedAtServer(now: later).count == 1)
    }

    @Test(
        "An answer whose flight is none leaves the handshake to UDP: the same ClientHello goes behind the check",
        arguments: [[[22, 254, 253]], [[UInt8](repeating: 22, count: 100)], [[0]]] as [[[UInt8]]])
    func answeredWithJunk(flight: [[UInt8]]) throws {
        let ends = try Ends { _ in flight }
        #expect(ends.datagrams.contains { $0[0] < 2 })
        #expect(ends.datagrams.contains { $0[0] == 22 })
        let deadline = ends.client.dtls?.nextDeadline ?? .never
        #expect(deadline < Instant.zero + .seconds(2))
    }

    @Test(
        "So it does where no flight goes behind a check: the same ClientHello waits for the pair's answer",
        arguments: [[[22, 254, 253]], [[UInt8](repeating: 22, count: 100)], [[0]]] as [[[UInt8]]])
    func answeredWithJunkBehindNoCheck(flight: [[UInt8]]) throws {
        var options = HandshakeOptions()
        options.flightBehindCheck = false
        let ends = try Ends(handshake: options) { _ in flight }
        let hello = ends.client.dtls?.flight
        #expect(hello?.isEmpty == false)
        #expect(ends.datagrams.count == 1 && ends.datagrams[0][0] < 2)
        let up = NetworkPath(local: PathPair.serverAddress, remote: PathPair.clientAddress)
        let down = NetworkPath(local: PathPair.clientAddress, remote: PathPair.serverAddress)
        _ = ends.giveServer(ends.datagrams[0], from: up, now: .zero)
        let now = Instant.zero + .milliseconds(50)
        for answer in ends.serverSends(now: now) { ends.giveClient(answer.bytes, from: down, now: now) }
        #expect(ends.clientSends(now: now).map(\.bytes).filter { $0[0] == 22 } == hello)
    }

    @Test("A flight follows the first check from a new socket at once, although it had gone from the one before")
    func newSocketMidHandshake() throws {
        let ends = try Ends()
        #expect(ends.datagrams.count(where: { $0[0] == 22 }) > 0)
        let other = SocketAddress(ip: IPAddress(v4: 0xC000_0203), port: 5_001)
        let now = Instant.zero + .milliseconds(5)
        _ = ends.client.networkChanged(to: [other], now: now)
        var sent: [(bytes: [UInt8], path: NetworkPath)] = []
        var time = now
        // Well before the flight would be repeated.
        while time <= Instant.zero + .milliseconds(60) {
            sent += ends.clientSends(now: time)
            time = max(time + 1, ends.client.nextDeadline)
            ends.client.handleTimeout(now: time)
        }
        let fromThere = sent.filter { $0.path.local == other }.map(\.bytes)
        #expect(fromThere.contains { $0[0] < 2 })
        #expect(fromThere.contains { $0[0] == 22 })
    }
}
