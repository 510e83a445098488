internal import ICELite
internal import TransportRuntime

/// A full agent with 64 pairs that nobody has answered for two minutes, and its buffers.
final class FullAgentBench {
    /// What somebody sends who knows no password; the worst of them sees our checks.
    enum Junk: String, CaseIterable {
        case randomBytes = "random-bytes"
        case badFingerprint = "bad-fingerprint"
        case attributeOverrun = "attribute-overrun"
        case unknownUfrag = "unknown-ufrag"
        case wrongPassword = "wrong-password"
        case noIntegrity = "no-integrity"
        case unknownSuccess = "unknown-success"
        case forgedSuccess = "forged-success"
        case unknownError = "unknown-error"
        case forgedError = "forged-error"
        case unsignedError = "unsigned-error"
    }

    private var agent: ICEFullAgent
    private let pool = PacketPool(size: 1)
    private var now = Instant.zero
    /// The newest check, which is the last that is looked at.
    private var newest: (id: STUNTransactionID, path: NetworkPath)?

    init(isRestarting: Bool) {
        guard let ours = ICECredentials(ufrag: "LocUfrag", password: ICE.localPassword) else {
            preconditionFailure("the credentials must be ICE's")
        }
        agent = ICEFullAgent(role: .controlling, credentials: ours, randomness: .seeded(1))
        for port in UInt16(1)...2 {
            _ = agent.addLocalCandidate(SocketAddress(ip: IPAddress(v4: 0xC000_0201), port: port), now: now)
        }
        introduce("RemUfrag")
        wait(.seconds(120))
        if isRestarting, let fresh = ICECredentials(ufrag: "NewUfrag", password: ICE.localPassword) {
            agent.restart(credentials: fresh, now: now)
            introduce("NewRemot")
            wait(.seconds(120))
        }
        precondition(agent.outcome.pairs == ICELimits.pairs && newest != nil, "the table must be full")
    }

    private func introduce(_ ufrag: String) {
        guard let theirs = ICECredentials(ufrag: ufrag, password: "peerPasswordpeerPassword") else { return }
        agent.setRemote(credentials: theirs, isLite: false, supportsRenomination: true, now: now)
        for port in 1...UInt16(ICELimits.remoteCandidates) {
            let address = SocketAddress(ip: IPAddress(v4: 0xC633_6401), port: port)
            agent.addRemoteCandidate(ICECandidate(host: address, localPreference: port), now: now)
        }
    }

    private func wait(_ duration: Nanoseconds) {
        let end = now + duration
        while agent.nextDeadline < end {
            now = max(now, agent.nextDeadline)
            agent.handleTimeout(now: now)
            while send() {}
            while agent.pollEvent() != nil {}
        }
    }

    /// One datagram of the agent's, if it has one.
    private func send() -> Bool {
        guard var packet = pool.take(),
            let sent = packet.write({ out in agent.pollTransmit(into: &out, now: now) })
        else { return false }
        if let message = try? STUNMessage(parsing: packet.bytes), message.messageClass == .request {
            newest = (message.transactionID, sent.path)
        }
        return true
    }

    /// What junk must not change: pairs, checks, candidates and answers.
    var footprint: [UInt64] {
        [
            UInt64(agent.outcome.pairs), agent.counters.checksSent, UInt64(agent.remoteCandidates.count),
            agent.counters.requestsAnswered, agent.counters.responsesReceived,
        ]
    }

    /// One datagram handled, its answers drained.
    func handle(_ bytes: [UInt8]) {
        guard let newest else { return }
        _ = agent.handle(bytes.span.bytes, path: newest.path, now: now)
        while send() {}
    }

    /// One candidate as text.
    func add(_ text: String) { agent.addRemoteCandidate(attribute: text, now: now) }

    func bytes(of kind: Junk) -> [UInt8] {
        var random = Randomness.seeded(7)
        let known = newest?.id ?? STUNTransactionID(high: 0, low: 0)
        let unknown = STUNTransactionID.random(using: &random)
        switch kind {
        case .randomBytes: return random.bytes(200)
        case .badFingerprint:
            var bytes = ICE.check()
            bytes[bytes.count - 1] ^= 1
            return bytes
        case .attributeOverrun:
            var bytes = ICE.check()
            bytes[22] = 0xFF
            return bytes
        case .unknownUfrag: return ICE.check(ufrag: "NopeNope")
        case .wrongPassword: return ICE.check(password: "NotThePasswordAtAll12345")
        case .noIntegrity: return ICE.check(isSigned: false)
        case .unknownSuccess: return response(to: unknown, error: nil, isSigned: true)
        case .forgedSuccess: return response(to: known, error: nil, isSigned: true)
        case .unknownError: return response(to: unknown, error: .roleConflict, isSigned: true)
        case .forgedError: return response(to: known, error: .roleConflict, isSigned: true)
        case .unsignedError: return response(to: known, error: .roleConflict, isSigned: false)
        }
    }

    private func response(to id: STUNTransactionID, error: STUNErrorCode?, isSigned: Bool) -> [UInt8] {
        guard var packet = pool.take() else { return [] }
        packet.write { out in
            do throws(STUNError) {
                let writer = try STUNWriter(error == nil ? .success : .error, transactionID: id, into: &out)
                if let error {
                    try writer.append(error: error, into: &out)
                } else {
                    try writer.append(
                        address: SocketAddress(ip: IPAddress(v4: 0xC000_0201), port: 1), into: &out)
                }
                if isSigned {
                    try writer.append(.sha1, key: STUNKey(password: "NotThePasswordAtAll12345"), into: &out)
                }
                try writer.appendFingerprint(into: &out)
            } catch {
                preconditionFailure("the response must fit: \(error)")
            }
        }
        return packet.bytes.withUnsafeBytes { Array($0) }
    }
}
