import Testing

@testable import ICELite

/// Two full agents with a network between them, in virtual time.
struct FullAgentNetwork {
    enum Side: Hashable { case left, right }

    struct Sent {
        var at: Instant
        var from: Side
        var path: NetworkPath
        var bytes: [UInt8]
    }

    private struct InFlight {
        var at: Instant
        var to: Side
        var path: NetworkPath
        var bytes: [UInt8]
    }

    var now = Instant.zero
    var left: ICEFullAgent
    var right: ICEFullAgent
    /// One way.
    var delay = Nanoseconds.milliseconds(20)
    /// Share of datagrams lost, 0…1.
    var loss = 0.0
    /// Drops a datagram; told who sends it, on which path, and the bytes.
    var swallow: (Side, NetworkPath, [UInt8]) -> Bool = { _, _, _ in false }
    /// A socket's address as the other end sees it: a NAT in front of it.
    var mapping: [SocketAddress: SocketAddress] = [:]
    var events: [Side: [ICEFullAgent.Event]] = [.left: [], .right: []]
    var sent: [Sent] = []
    private var flying: [InFlight] = []
    private var randomness: Randomness

    init(seed: UInt64, left leftRole: ICERole = .controlling, right rightRole: ICERole = .controlled) {
        var randomness = Randomness.seeded(seed)
        left = ICEFullAgent(
            role: leftRole, credentials: .random(using: &randomness), randomness: randomness.split("left"))
        right = ICEFullAgent(
            role: rightRole, credentials: .random(using: &randomness), randomness: randomness.split("right"))
        self.randomness = randomness.split("network")
    }

    subscript(side: Side) -> ICEFullAgent {
        get { side == .left ? left : right }
        set { if side == .left { left = newValue } else { right = newValue } }
    }

    /// Opens a socket on one side and names it to the other.
    mutating func add(_ side: Side, _ ip: String, _ port: UInt16, isSignalled: Bool = true) throws {
        let candidate = self[side].addLocalCandidate(try address(ip, port), now: now)
        if isSignalled { self[side == .left ? .right : .left].addRemoteCandidate(candidate, now: now) }
    }

    /// Both ends learn the other's credentials, of the newest generation.
    mutating func introduce(supportsRenomination: Bool = false) {
        let ours = left.generations[left.generations.count - 1].credentials
        let theirs = right.generations[right.generations.count - 1].credentials
        left.setRemote(credentials: theirs, isLite: false, supportsRenomination: supportsRenomination, now: now)
        right.setRemote(credentials: ours, isLite: false, supportsRenomination: supportsRenomination, now: now)
    }

    /// Lets the time pass until `end`.
    mutating func run(until end: Instant) {
        settle()
        var steps = 0
        while steps < 100_000 {
            steps += 1
            let next = min(
                min(left.nextDeadline, right.nextDeadline), flying.reduce(.never) { min($0, $1.at) })
            guard next <= end else { break }
            #expect(next >= now, "a deadline lies in the past after the drain")
            now = max(now, next)
            left.handleTimeout(now: now)
            right.handleTimeout(now: now)
            settle()
            while let index = flying.firstIndex(where: { $0.at <= now }) {
                let datagram = flying.remove(at: index)
                _ = self[datagram.to].take(datagram.bytes, datagram.path, at: now)
                settle()
            }
        }
        #expect(steps < 100_000, "the machines spin")
        now = end
        left.handleTimeout(now: now)
        right.handleTimeout(now: now)
    }

    mutating func run(for length: Nanoseconds) { run(until: now + length) }

    private mutating func settle() {
        for side in [Side.left, .right] {
            for datagram in drain(&self[side], now: now) {
                sent.append(Sent(at: now, from: side, path: datagram.path, bytes: datagram.bytes))
                let isLost = Double(randomness.next() >> 11) / Double(1 << 53) < loss
                if isLost || swallow(side, datagram.path, datagram.bytes) { continue }
                let home = mapping.first { $0.value == datagram.path.remote }?.key ?? datagram.path.remote
                let seen = NetworkPath(local: home, remote: mapping[datagram.path.local] ?? datagram.path.local)
                flying.append(
                    InFlight(
                        at: now + delay, to: side == .left ? .right : .left, path: seen, bytes: datagram.bytes))
            }
            events[side, default: []] += ICELiteTests.events(&self[side])
            #expect(self[side].nextDeadline > now)
        }
    }
}

extension NetworkPath {
    /// The same path as the other end names it.
    var reversed: NetworkPath { NetworkPath(local: remote, remote: local) }
}

/// A Binding response as a peer would send it.
func response(
    to id: STUNTransactionID, password: String? = "peerPasswordpeerPassword", error: STUNErrorCode? = nil,
    mapped: SocketAddress? = nil
) throws -> [UInt8] {
    try written { (out) throws(STUNError) in
        let writer = try STUNWriter(error == nil ? .success : .error, transactionID: id, into: &out)
        if let error { try writer.append(error: error, into: &out) }
        if let mapped { try writer.append(address: mapped, into: &out) }
        if let password { try writer.append(.sha1, key: STUNKey(password: password), into: &out) }
        try writer.appendFingerprint(into: &out)
    }
}

/// A full agent with the credentials of the vectors: LocU of ours, RemU of the peer's.
func vectorAgent(_ role: ICERole, isConnected: Bool = true) throws -> ICEFullAgent {
    var agent = ICEFullAgent(
        role: role, credentials: try credentials("LocU", "VerySecretLocalPwd123456"), randomness: .seeded(9))
    _ = agent.addLocalCandidate(try address("192.0.2.1", 1_000), now: .zero)
    if isConnected {
        agent.setRemote(
            credentials: try credentials("RemU", "peerPasswordpeerPassword"), isLite: false,
            supportsRenomination: false, now: .zero)
    }
    return agent
}

/// The path of `vectorAgent` to 192.0.2.50.
func vectorPath(_ port: UInt16 = 2_000) throws -> NetworkPath {
    NetworkPath(local: try address("192.0.2.1", 1_000), remote: try address("192.0.2.50", port))
}

extension ICEFullAgent {
    /// Sends the checks that are due and answers each as the peer would.
    mutating func answerChecks(at now: Instant, after delay: Nanoseconds = .milliseconds(10)) throws {
        for datagram in drain(&self, now: now) {
            let message = try ReadMessage(datagram.bytes)
            guard message.messageClass == .request else { continue }
            let answer = try response(to: message.transactionID, mapped: datagram.path.local)
            #expect(take(answer, datagram.path, at: now + delay) == .accepted)
        }
    }

    /// Every table that could grow, added up.
    var tableSizes: [Int] {
        [
            localCandidates.count, serverReflexiveCandidates.count, reflexiveCandidates.count, generations.count,
            responses.count,
        ]
            + generations.flatMap { generation in
                [
                    generation.remoteCandidates.count, generation.pairs.count, generation.outstanding.count,
                ]
            }
    }
}
