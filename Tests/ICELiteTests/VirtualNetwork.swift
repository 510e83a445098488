import Testing

@testable import ICELite

/// A client and a lite agent with a network between them, in virtual time.
struct VirtualNetwork {
    private struct InFlight {
        var at: Instant
        var toServer: Bool
        var path: NetworkPath
        var bytes: [UInt8]
    }

    var now = Instant.zero
    var client: ICEFullAgent
    var server: ICELiteAgent
    /// One way.
    var delay = Nanoseconds.milliseconds(20)
    /// Share of datagrams lost, 0…1.
    var loss = 0.0
    var randomness: Randomness
    /// Drops a datagram; told whether it goes to the server, the sender's path and the bytes.
    var swallow: (Bool, NetworkPath, [UInt8]) -> Bool = { _, _, _ in false }
    /// The client's address as the server sees it.
    var mapping: [SocketAddress: SocketAddress] = [:]
    /// Remote addresses whose sends are refused.
    var refused: Set<SocketAddress> = []

    var clientEvents: [ICEFullAgent.Event] = []
    var serverEvents: [ICELiteAgent.Event] = []
    /// Times and bytes of what the client sent.
    var sent: [(at: Instant, path: NetworkPath, bytes: [UInt8])] = []
    private var flying: [InFlight] = []

    init(seed: UInt64, clientPassword: String? = nil) throws {
        var randomness = Randomness.seeded(seed)
        let ours = ICECredentials.random(using: &randomness)
        let theirs = ICECredentials.random(using: &randomness)
        client = ICEFullAgent(role: .controlling, credentials: ours, randomness: randomness.split("client"))
        server = ICELiteAgent(credentials: theirs, peerCredentials: ours, randomness: randomness.split("server"))
        self.randomness = randomness.split("network")
        serverCredentials = theirs
    }

    let serverCredentials: ICECredentials

    mutating func addClient(_ ip: String, _ port: UInt16) throws {
        _ = client.addLocalCandidate(try address(ip, port), now: now)
    }

    mutating func addServer(_ ip: String, _ port: UInt16) throws {
        client.addRemoteCandidate(ICECandidate(host: try address(ip, port), localPreference: 65_535), now: now)
    }

    mutating func answer(isLite: Bool = true, isOurKind: Bool = true, password: String? = nil) throws {
        let remote = try #require(
            ICECredentials(ufrag: serverCredentials.ufrag, password: password ?? serverCredentials.password))
        client.setRemote(credentials: remote, isLite: isLite, supportsRenomination: isOurKind, now: now)
    }

    /// Lets the time pass until `end`.
    mutating func run(until end: Instant) {
        settle()
        var steps = 0
        while steps < 100_000 {
            steps += 1
            let next = min(
                min(client.nextDeadline, server.nextDeadline), flying.reduce(.never) { min($0, $1.at) })
            guard next <= end else { break }
            #expect(next >= now, "a deadline lies in the past after the drain")
            now = max(now, next)
            client.handleTimeout(now: now)
            server.handleTimeout(now: now)
            settle()
            while let index = flying.firstIndex(where: { $0.at <= now }) {
                let datagram = flying.remove(at: index)
                if datagram.toServer {
                    _ = server.handle(datagram.bytes.span.bytes, path: datagram.path, now: now)
                } else {
                    _ = client.handle(datagram.bytes.span.bytes, path: datagram.path, now: now)
                }
                settle()
            }
        }
        #expect(steps < 100_000, "the machines spin")
        now = end
    }

    mutating func run(for length: Nanoseconds) { run(until: now + length) }

    private mutating func settle() {
        for datagram in drain(&client, now: now) {
            sent.append((now, datagram.path, datagram.bytes))
            if refused.contains(datagram.path.remote) {
                client.handleSendFailure(path: datagram.path, failure: ICESendFailure(errno: 111), now: now)
                continue
            }
            let seen = mapping[datagram.path.local] ?? datagram.path.local
            fly(datagram, as: NetworkPath(local: datagram.path.remote, remote: seen), toServer: true)
        }
        for datagram in drain(&server, now: now) {
            let home = mapping.first { $0.value == datagram.path.remote }?.key ?? datagram.path.remote
            fly(datagram, as: NetworkPath(local: home, remote: datagram.path.local), toServer: false)
        }
        clientEvents += events(&client)
        serverEvents += events(&server)
        #expect(client.nextDeadline > now)
        #expect(server.nextDeadline > now)
    }

    private mutating func fly(_ datagram: Datagram, as path: NetworkPath, toServer: Bool) {
        let isLost = Double(randomness.next() >> 11) / Double(1 << 53) < loss
        if isLost || swallow(toServer, datagram.path, datagram.bytes) { return }
        flying.append(InFlight(at: now + delay, toServer: toServer, path: path, bytes: datagram.bytes))
    }
}
