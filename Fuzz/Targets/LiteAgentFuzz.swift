internal import ICELite

/// A script for a lite agent: its peer, strangers, its owner and the clock.
struct LiteAgentFuzz {
    /// What went to and came from a path, counted here, from outside the agent.
    private struct Traffic {
        var received = 0
        var sent = 0
        /// Allowances it may have had: one, and one for each time it was authenticated anew.
        var allowances = 1
        var wasConfirmed = false
    }

    /// Steps of one script at most.
    private static let maximumSteps = 400

    private var agent: ICELiteAgent
    private var script: Script
    private var now = Instant.zero + .seconds(1)
    private var generation = 0
    private var traffic: [NetworkPath: Traffic] = [:]
    /// The newest check of the agent's own.
    private var check: (path: NetworkPath, id: STUNTransactionID)?
    /// Tokens the agent has told, newest last.
    private var token: UInt64 = 0

    static func run(_ bytes: [UInt8]) throws(FuzzFinding) {
        guard var fuzz = LiteAgentFuzz(bytes) else { return }
        var steps = 0
        while !fuzz.script.isEnded, steps < maximumSteps {
            steps += 1
            try fuzz.step()
        }
        try fuzz.finish()
    }

    private init?(_ bytes: [UInt8]) {
        script = Script(bytes)
        let flags = script.flags()
        guard let ours = AgentScript.credentials("L", 0) else { return nil }
        agent = ICELiteAgent(
            credentials: ours, peerCredentials: flags & 1 == 0 ? AgentScript.credentials("R", 0) : nil,
            randomness: .seeded(1), asksForAdmission: flags & 2 != 0)
    }

    private mutating func step() throws(FuzzFinding) {
        switch script.choice(13) {
        case 0, 1: try take(request(), on: AgentScript.path(&script))
        case 2: try take(AgentScript.bend(request(), &script), on: AgentScript.path(&script))
        case 3: try take(script.datagram(), on: AgentScript.path(&script))
        case 4: now = now + script.duration()
        case 5: if agent.nextDeadline != .never { now = max(now, agent.nextDeadline) }
        case 6:
            let path = AgentScript.path(&script)
            let count = Int(script.byte())
            agent.noteReceived(count, on: path)
            if agent.isAuthenticated(path) { traffic[path.fuzzUnmapped, default: Traffic()].received += count }
        case 7:
            let path = AgentScript.path(&script)
            let count = Int(script.byte()) * 16
            if agent.authorizeSend(byteCount: count, to: path) { try sent(count, to: path.fuzzUnmapped) }
        case 8:
            switch script.flags() & 3 {
            case 0: agent.confirm(AgentScript.path(&script))
            case 1: try answerCheck(isForged: false)
            case 2: try answerCheck(isForged: true)
            default: break
            }
        case 9:
            if let wanted = agent.admissionWanted {
                agent.settleAdmission(of: wanted, isAdmitted: script.flags() & 1 == 0)
            }
        case 10:
            generation += 1
            guard let ours = AgentScript.credentials("L", generation) else { return }
            agent.restart(
                credentials: ours,
                peerCredentials: script.flags() & 1 == 0 ? AgentScript.credentials("R", generation) : nil, now: now)
        case 11: if let theirs = AgentScript.credentials("R", generation) { agent.setPeer(credentials: theirs) }
        default: agent.handleTimeout(now: now - script.duration())
        }
        try settle()
    }

    /// A request to the generation the script names.
    private mutating func request() -> [UInt8] {
        let number = max(0, generation - script.choice(3))
        guard let ours = AgentScript.credentials("L", number), let theirs = AgentScript.credentials("R", number) else {
            return []
        }
        return AgentScript.request(&script, local: ours, remote: theirs, token: token)
    }

    /// The peer's answer to the agent's check, or one that comes from elsewhere.
    private mutating func answerCheck(isForged: Bool) throws(FuzzFinding) {
        guard let check, let theirs = AgentScript.credentials("R", generation) else { return }
        let bytes = AgentScript.bytes { (out) throws(STUNError) in
            let writer = try STUNWriter(.success, transactionID: check.id, into: &out)
            try writer.append(address: check.path.local, into: &out)
            try writer.append(.sha1, key: STUNKey(password: theirs.password), into: &out)
            try writer.appendFingerprint(into: &out)
        }
        guard isForged else { return try take(bytes, on: check.path) }
        let path = AgentScript.path(&script)
        guard path.fuzzUnmapped != check.path else { return }
        let wasConfirmed = (agent.isConfirmed(path), agent.isConfirmed(check.path))
        try take(bytes, on: path)
        try expect(!agent.isConfirmed(path) || wasConfirmed.0, "confirmed by an answer from elsewhere")
        try expect(!agent.isConfirmed(check.path) || wasConfirmed.1, "confirmed from elsewhere")
    }

    private mutating func take(_ bytes: [UInt8], on path: NetworkPath) throws(FuzzFinding) {
        let key = path.fuzzUnmapped
        let wasAuthenticated = agent.isAuthenticated(path)
        let before = (agent.tupleCount, agent.selectedPath)
        let verdict = agent.handle(bytes.span.bytes, path: path, now: now)
        traffic[key, default: Traffic()].received += bytes.count
        if agent.isAuthenticated(path), !wasAuthenticated { traffic[key, default: Traffic()].allowances += 1 }
        if verdict != .accepted {
            try expect(agent.tupleCount <= before.0, "a tuple from what was dropped")
            try expect(agent.selectedPath == before.1 || agent.tupleCount < before.0, "moved by what was dropped")
        }
    }

    private mutating func sent(_ count: Int, to path: NetworkPath) throws(FuzzFinding) {
        var counted = traffic[path] ?? Traffic()
        counted.sent += count
        if agent.isConfirmed(path) { counted.wasConfirmed = true }
        traffic[path] = counted
        guard !counted.wasConfirmed else { return }
        let bound = 3 * counted.received + counted.allowances * ICELimits.unconfirmedAllowance
        try expect(counted.sent <= bound, "\(counted.sent) bytes to an unconfirmed tuple, \(bound) allowed")
    }

    private mutating func settle() throws(FuzzFinding) {
        agent.handleTimeout(now: now)
        var outputs: [(NetworkPath, [UInt8])] = []
        // All the answers that may wait, and a check.
        try AgentScript.drain(&agent, now: now, limit: ICELimits.pendingResponses + 1) {
            (path, bytes) throws(FuzzFinding) in
            outputs.append((path, bytes))
        }
        for (path, bytes) in outputs {
            try expect(traffic[path] != nil, "an answer to nobody")
            token = toldToken(bytes) ?? token
            if let id = requestID(bytes) {
                try expect(path == agent.selectedPath && !agent.isConfirmed(path), "a check of what needs none")
                try expect(!agent.isRestarting, "a check during a restart")
                check = (path, id)
            }
            try sent(bytes.count, to: path)
        }
        try expect(agent.tupleCount <= ICELimits.tuples, "\(agent.tupleCount) tuples")
        try expect(agent.localUfrags.count <= 2, "\(agent.localUfrags.count) ufrags")
        if let selected = agent.selectedPath { try expect(agent.isAuthenticated(selected), "selected, and no tuple") }
        if let destinations = agent.destinations {
            try expect(agent.mayUse(destinations.first), "a destination that may not be used")
            if let second = destinations.second {
                try expect(agent.isConfirmed(second), "an unconfirmed second destination")
                try expect(!agent.isConfirmed(destinations.first), "two destinations, and the first is confirmed")
            }
        }
        var usable = 0
        for path in traffic.keys where !agent.isConfirmed(path) && agent.mayUse(path) { usable += 1 }
        try expect(usable <= 1, "\(usable) unconfirmed tuples may be sent to")
    }

    private func toldToken(_ bytes: [UInt8]) -> UInt64? {
        do throws(STUNError) { return try STUNMessage(parsing: bytes.span.bytes).routabilityToken } catch { return nil }
    }

    private func requestID(_ bytes: [UInt8]) -> STUNTransactionID? {
        do throws(STUNError) {
            let message = try STUNMessage(parsing: bytes.span.bytes)
            return message.messageClass == .request ? message.transactionID : nil
        } catch {
            return nil
        }
    }

    /// Nothing comes after the end.
    private mutating func finish() throws(FuzzFinding) {
        let path = NetworkPath(local: AgentScript.locals[0], remote: AgentScript.remote(5))
        agent.end()
        _ = agent.handle(request().span.bytes, path: path, now: now)
        try expect(agent.nextDeadline == .never, "a deadline after the end")
        try AgentScript.drain(&agent, now: now, limit: 0) { (_, _) throws(FuzzFinding) in }
    }
}

extension NetworkPath {
    /// The path as the agents know it: IPv4-mapped addresses as IPv4.
    var fuzzUnmapped: NetworkPath {
        NetworkPath(
            local: SocketAddress(ip: local.ip.unmapped, port: local.port),
            remote: SocketAddress(ip: remote.ip.unmapped, port: remote.port))
    }
}
