import ICELite
import Testing
import TransportMedia
import TransportRuntime

@testable import Transport

/// Both ends of a media path in virtual time, 10 ms apart; the test may let the client's datagrams seem to come from
/// elsewhere, and see what goes there.
final class PathPair {
    static let clientAddress = SocketAddress(ip: IPAddress(v4: 0xC000_0202), port: 5_000)
    static let serverAddress = SocketAddress(ip: IPAddress(v4: 0xC000_0201), port: 4_000)
    static let elsewhere = SocketAddress(ip: IPAddress(v4: 0xCB00_7109), port: 7_000)
    static let clientSSRC: UInt32 = 0x1111
    static let serverSSRC: UInt32 = 0x2222

    private struct Flying {
        var at: Instant
        var toServer: Bool
        var path: NetworkPath
        var bytes: [UInt8]
    }

    var client: MediaPath
    var server: MediaPath
    var now = Instant.zero
    private(set) var serverEvents: [MediaPath.Event] = []
    private(set) var clientEvents: [MediaPath.Event] = []
    /// Where the server sees the client's datagrams come from.
    var source = PathPair.clientAddress
    /// Whether what goes to `source` reaches the client, where that is not its own address.
    var isReachable = false
    /// The client has left its own address: what goes there is lost.
    var hasLeft = false
    /// Datagrams of the client's still let through; nil for all.
    var budget: Int?
    /// Which of the server's datagrams are lost on their way.
    var swallows: ([UInt8]) -> Bool = { _ in false }
    /// UDP payload to and from `elsewhere`, as the network sees it.
    private(set) var bytesToElsewhere = 0
    private(set) var bytesFromElsewhere = 0
    /// Sequence numbers that reached the client, decrypted.
    private(set) var heard: [UInt16] = []
    private(set) var serverHeard: [UInt16] = []
    /// Sequence numbers the server had sent.
    private(set) var spoken = 0
    var isSpeaking = false
    private let pool = PacketPool(size: 8)
    private var queue: [Flying] = []
    private var speakAt = Instant.never
    /// The server's answers to `admissionWanted`; nil leaves it unanswered.
    var admits: Bool? = true

    init(
        seed: UInt64 = 1, renominates: Bool = true, asksForAdmission: Bool = false, announcesSSRC: Bool = true
    ) throws {
        var randomness = Randomness.seeded(seed)
        var drawn = randomness.split("credentials")
        let mine = ICECredentials.random(using: &drawn)
        let theirs = ICECredentials.random(using: &drawn)
        let certificate = try #require(DTLSCertificate.shared)
        let local = Self.media(mine, isLite: false, certificate, Self.clientSSRC)
        var remote = Self.media(theirs, isLite: true, certificate, Self.serverSSRC)
        remote.candidates = [ICECandidate(host: Self.serverAddress, localPreference: .max).attribute]
        remote.endOfCandidates = true
        let offer = try RemoteMedia(offer: SessionDescription.makeOffer(local))
        let answer = try RemoteMedia(answer: try SessionDescription.makeAnswer(to: offer, remote), to: local)
        client = MediaPath(
            controlling: mine, certificate: certificate, localSSRC: Self.clientSSRC,
            randomness: randomness.split("client"))
        var offered = try RemotePathDescription(offer)
        if !announcesSSRC { offered.ssrc = nil }
        server = try MediaPath(
            lite: theirs, remote: offered, certificate: certificate,
            localSSRC: Self.serverSSRC, randomness: randomness.split("server"),
            asksForAdmission: asksForAdmission, now: now)
        _ = client.networkChanged(to: [Self.clientAddress], now: now)
        var description = try RemotePathDescription(answer)
        description.supportsRenomination = renominates
        if !announcesSSRC { description.ssrc = nil }
        try client.setRemote(description, now: now)
    }

    static func media(
        _ credentials: ICECredentials, isLite: Bool, _ certificate: DTLSCertificate, _ ssrc: UInt32
    ) -> LocalMedia {
        LocalMedia(
            ufrag: credentials.ufrag, password: credentials.password, isLite: isLite,
            fingerprint: certificate.fingerprint.attribute, ssrc: SSRC(ssrc), cname: "c", sessionID: 1)
    }

    // What a macro cannot read of a noncopyable value.
    var isServerSecured: Bool { server.isSecured }
    var isClientSecured: Bool { client.isSecured }
    func isAuthenticated(_ path: NetworkPath) -> Bool { server.isAuthenticated(path) }
    func isConfirmed(_ path: NetworkPath) -> Bool { server.lite?.isConfirmed(path) ?? false }
    func holds(_ path: NetworkPath, at instant: Instant) -> Bool { server.holds(path, now: instant) }

    /// The path as the server sees it when the client's datagrams come from `source`.
    var seen: NetworkPath { NetworkPath(local: Self.serverAddress, remote: source) }

    func run(until end: Instant) {
        while true {
            drain()
            var next = min(client.nextDeadline, server.nextDeadline, speakAt)
            if let first = queue.map(\.at).min() { next = min(next, first) }
            guard next <= end else { break }
            now = max(now, next)
            deliverDue()
            if client.nextDeadline <= now { client.handleTimeout(now: now) }
            if server.nextDeadline <= now { server.handleTimeout(now: now) }
            if now >= speakAt { speak() }
        }
        now = end
    }

    /// Lets the server send a packet of audio every 20 ms, and the client one after each.
    func startSpeaking() { speakAt = now }

    private func speak() {
        speakAt = now + .milliseconds(20)
        if var packet = rtp(Self.serverSSRC, UInt16(truncatingIfNeeded: spoken + 1)) {
            spoken += 1
            if let transmit = server.sendRTP(&packet, now: now) { fly(packet.copiedBytes, transmit, toServer: false) }
        }
    }

    /// One packet of the client's audio, or of the server's.
    func speakOnce(_ number: UInt16, index: UInt64? = nil, payloadType: UInt8 = 111, byServer: Bool = false) {
        if byServer {
            guard var packet = rtp(Self.serverSSRC, number, payloadType),
                let transmit = server.sendRTP(&packet, index: index, now: now)
            else { return }
            return fly(packet.copiedBytes, transmit, toServer: false)
        }
        guard var packet = rtp(Self.clientSSRC, number, payloadType),
            let transmit = client.sendRTP(&packet, index: index, now: now)
        else { return }
        fly(packet.copiedBytes, transmit, toServer: true)
    }

    private func rtp(_ ssrc: UInt32, _ number: UInt16, _ payloadType: UInt8 = 111) -> Packet? {
        guard var packet = pool.take() else { return nil }
        var bytes: [UInt8] = [0x80, payloadType, UInt8(number >> 8), UInt8(number & 0xFF), 0, 0, 0, 0]
        bytes += (0..<4).map { UInt8(truncatingIfNeeded: ssrc >> (24 - 8 * UInt32($0))) }
        bytes += [UInt8](repeating: 7, count: 80)
        packet.assign(bytes.span.bytes)
        return packet
    }

    private func drain() {
        settle()
        while true {
            guard var packet = pool.take() else { return }
            let transmit = packet.write { [self] out in client.pollTransmit(into: &out, now: now) }
            guard let transmit else { break }
            fly(packet.copiedBytes, transmit, toServer: true)
        }
        while true {
            guard var packet = pool.take() else { return }
            let transmit = packet.write { [self] out in server.pollTransmit(into: &out, now: now) }
            guard let transmit else { break }
            fly(packet.copiedBytes, transmit, toServer: false)
        }
        while let event = client.pollEvent() { clientEvents.append(event) }
        while let event = server.pollEvent() { serverEvents.append(event) }
    }

    private func settle() {
        guard let admits, let wanted = server.admissionWanted else { return }
        server.settleAdmission(of: wanted, isAdmitted: admits)
    }

    private func fly(_ bytes: [UInt8], _ transmit: Transmit, toServer: Bool) {
        if toServer {
            if let left = budget {
                guard left > 0 else { return }
                budget = left - 1
            }
            if source == Self.elsewhere { bytesFromElsewhere += bytes.count }
            queue.append(Flying(at: now + .milliseconds(10), toServer: true, path: seen, bytes: bytes))
            return
        }
        let remote = transmit.path.remote
        if remote == Self.elsewhere { bytesToElsewhere += bytes.count }
        if swallows(bytes) { return }
        guard remote == Self.clientAddress && !hasLeft || isReachable && remote == source else { return }
        let path = NetworkPath(local: Self.clientAddress, remote: Self.serverAddress)
        queue.append(Flying(at: now + .milliseconds(10), toServer: false, path: path, bytes: bytes))
    }

    private func deliverDue() {
        let due = queue.filter { $0.at <= now }
        queue.removeAll { $0.at <= now }
        for flying in due { deliver(flying.bytes, flying.path, toServer: flying.toServer) }
    }

    /// Hands the client what it parked until its keys were final.
    func takeParked() {
        guard var packet = pool.take() else { return }
        while let parked = client.nextParkedMedia(into: &packet, now: now) {
            if parked.verdict == .rtp {
                heard.append(UInt16(packet.copiedBytes[2]) << 8 | UInt16(packet.copiedBytes[3]))
            }
        }
    }

    /// Hands one datagram over; the verdict.
    @discardableResult
    func deliver(_ bytes: [UInt8], _ path: NetworkPath, toServer: Bool) -> MediaPath.Verdict? {
        guard var packet = pool.take() else { return nil }
        packet.assign(bytes.span.bytes)
        let verdict =
            toServer
            ? server.handle(&packet, path: path, now: now) : client.handle(&packet, path: path, now: now)
        if verdict == .rtp {
            let number = UInt16(packet.copiedBytes[2]) << 8 | UInt16(packet.copiedBytes[3])
            if toServer { serverHeard.append(number) } else { heard.append(number) }
        }
        drain()
        return verdict
    }
}
