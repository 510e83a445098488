internal import ICELite

/// A script for a full agent: its peer, its signalling, strangers, the network and the clock.
struct FullAgentFuzz {
    /// A check the agent has sent.
    private struct Check {
        var id: STUNTransactionID
        var path: NetworkPath
        var remoteGeneration: Int
    }

    /// Steps of one script at most.
    private static let maximumSteps = 400
    /// Checks that a script can still answer.
    private static let rememberedChecks = 64
    /// What a candidate's text may begin with: the fuzzer need not find out.
    private static let textHeads = [
        "", "candidate:1 1 udp 1 ", "candidate:1 1 udp 9 192.0.2.9 9 typ host ", "a=candidate:",
    ]

    private var agent: ICEFullAgent
    private var script: Script
    private var now = Instant.zero + .seconds(1)
    private var steps = 0
    private var generation = 0
    private var remoteGeneration = 0
    private var checks: [Check] = []

    static func run(_ bytes: [UInt8]) throws(FuzzFinding) {
        guard var fuzz = FullAgentFuzz(bytes) else { return }
        while !fuzz.script.isEnded, fuzz.steps < maximumSteps {
            fuzz.steps += 1
            try fuzz.step()
        }
        try fuzz.finish()
    }

    private init?(_ bytes: [UInt8]) {
        script = Script(bytes)
        let flags = script.flags()
        guard let ours = AgentScript.credentials("L", 0) else { return nil }
        agent = ICEFullAgent(
            role: flags & 1 == 0 ? .controlling : .controlled, credentials: ours, randomness: .seeded(UInt64(flags)))
        for index in 0..<2 { _ = agent.addLocalCandidate(AgentScript.locals[index], now: now) }
    }

    private mutating func step() throws(FuzzFinding) {
        switch script.choice(20) {
        case 0: take(request(), on: AgentScript.path(&script))
        case 1, 2: answer(bent: false)
        case 3: answer(bent: true)
        case 4: refuse()
        case 5: take(AgentScript.bend(request(), &script), on: AgentScript.path(&script))
        case 6: take(script.datagram(), on: AgentScript.path(&script))
        case 7: now = now + script.duration()
        case 8, 9: if agent.nextDeadline != .never { now = max(now, agent.nextDeadline) }
        case 10: _ = agent.addLocalCandidate(AgentScript.locals[script.choice(AgentScript.locals.count)], now: now)
        case 11, 12: addRemote()
        case 13: setRemote()
        case 14: restart()
        case 15: agent.abandonRestart()
        case 16:
            let mask = script.byte()
            agent.networkChanged(
                to: AgentScript.locals.enumerated().filter { mask >> UInt8($0.offset) & 1 == 1 }.map(\.element),
                now: now)
        case 17:
            let path = agent.selectedPath ?? AgentScript.path(&script)
            agent.handleSendFailure(path: path, failure: ICESendFailure(errno: Int32(script.byte())), now: now)
        case 18: other()
        default: agent.handleTimeout(now: now - script.duration())
        }
        try settle()
    }

    private mutating func request() -> [UInt8] {
        guard let ours = AgentScript.credentials("L", max(0, generation - script.choice(3))),
            let theirs = AgentScript.credentials("R", max(0, remoteGeneration - script.choice(3)))
        else { return [] }
        return AgentScript.request(&script, local: ours, remote: theirs, token: 0)
    }

    private mutating func take(_ bytes: [UInt8], on path: NetworkPath) {
        _ = agent.handle(bytes.span.bytes, path: path, now: now)
    }

    /// One of the newest checks.
    private mutating func chooseCheck() -> Check? {
        guard !checks.isEmpty else { return nil }
        return checks[checks.count - 1 - script.choice(checks.count)]
    }

    private mutating func answer(bent: Bool) {
        guard let check = chooseCheck(), let theirs = AgentScript.credentials("R", check.remoteGeneration) else {
            return
        }
        let flags = script.flags()
        let mapped = flags & 1 == 0 ? check.path.local : AgentScript.remote(script.byte())
        var bytes = AgentScript.bytes { (out) throws(STUNError) in
            let writer = try STUNWriter(.success, transactionID: check.id, into: &out)
            if flags & 0x0E != 0x0E { try writer.append(address: mapped, into: &out) }
            if flags & 0x10 != 0 { try writer.append(.routabilityToken, UInt64(script.byte()), into: &out) }
            try writer.append(
                flags & 0x20 == 0 ? .sha1 : .sha256, key: STUNKey(password: theirs.password), into: &out)
            try writer.appendFingerprint(into: &out)
        }
        if bent { bytes = AgentScript.bend(bytes, &script) }
        take(bytes, on: flags & 0xC0 == 0xC0 ? AgentScript.path(&script) : check.path)
    }

    private mutating func refuse() {
        guard let check = chooseCheck(), let theirs = AgentScript.credentials("R", check.remoteGeneration) else {
            return
        }
        let flags = script.flags()
        let codes: [STUNErrorCode] = [.roleConflict, .unauthenticated, .badRequest, .unknownAttribute]
        let bytes = AgentScript.bytes { (out) throws(STUNError) in
            let writer = try STUNWriter(.error, transactionID: check.id, into: &out)
            try writer.append(error: codes[Int(flags & 3)], into: &out)
            if flags & 4 == 0 { try writer.append(.sha1, key: STUNKey(password: theirs.password), into: &out) }
            try writer.appendFingerprint(into: &out)
        }
        take(bytes, on: check.path)
    }

    private mutating func addRemote() {
        let flags = script.flags()
        if flags & 0xC0 == 0xC0 {
            let text = Self.textHeads[Int(flags & 3)] + String(decoding: script.datagram(), as: UTF8.self)
            agent.addRemoteCandidate(attribute: text, now: now)
            return
        }
        let kinds = ICECandidate.Kind.allCases
        let candidate = ICECandidate(
            foundation: "\(flags & 3)", component: flags & 0x0C == 0x0C ? 2 : 1,
            priority: flags & 0x30 == 0x30 ? .max : UInt32(script.byte()) << 23,
            address: AgentScript.remote(script.byte()),
            kind: kinds[script.choice(kinds.count)])
        agent.addRemoteCandidate(candidate, now: now)
    }

    private mutating func setRemote() {
        let flags = script.flags()
        if flags & 4 != 0 { remoteGeneration += 1 }
        guard let theirs = AgentScript.credentials("R", remoteGeneration) else { return }
        agent.setRemote(credentials: theirs, isLite: flags & 1 != 0, supportsRenomination: flags & 2 != 0, now: now)
    }

    private mutating func restart() {
        generation += 1
        guard let ours = AgentScript.credentials("L", generation) else { return }
        agent.restart(credentials: ours, now: now)
    }

    private mutating func other() {
        switch script.choice(4) {
        case 0: agent.checkNow(now)
        case 1: agent.remoteEndOfCandidates(now: now)
        case 2: agent.localEndOfCandidates()
        default:
            _ = agent.addServerReflexiveCandidate(
                mapped: AgentScript.remote(script.byte()),
                base: AgentScript.locals[script.choice(AgentScript.locals.count)], now: now)
        }
    }

    private mutating func settle() throws(FuzzFinding) {
        agent.handleTimeout(now: now)
        var outputs: [(NetworkPath, [UInt8])] = []
        let limit = ICELimits.pendingResponses + ICELimits.pairs
        try AgentScript.drain(&agent, now: now, limit: limit) { (path, bytes) throws(FuzzFinding) in
            outputs.append((path, bytes))
        }
        for (path, bytes) in outputs {
            try expect(agent.localCandidates.contains { $0.address == path.local }, "sent from an address that is gone")
            remember(bytes, on: path)
        }
        let elapsed = now - (Instant.zero + .seconds(1))
        let allowed = elapsed / .milliseconds(20) + Int64(8 * steps + 64)
        try expect(
            agent.counters.checksSent <= UInt64(allowed), "\(agent.counters.checksSent) checks, \(allowed) allowed")
        try expect(agent.localCandidates.count <= ICELimits.localCandidates, "too many local candidates")
        try expect(agent.remoteCandidates.count <= ICELimits.remoteCandidates, "too many remote candidates")
        try expect(agent.reflexiveCandidates.count <= ICELimits.reflexiveCandidates, "too many reflexive candidates")
        try expect(
            agent.serverReflexiveCandidates.count <= ICELimits.serverReflexiveCandidates, "too many from servers")
        try expect(agent.outcome.pairs <= ICELimits.pairs, "\(agent.outcome.pairs) pairs")
        if let selected = agent.selectedPath {
            try expect(agent.hasPair(selected) && agent.isValid(selected), "selected, and no valid pair")
            try expect(
                agent.localCandidates.contains { $0.address == selected.local }, "selected on an address that is gone")
        }
    }

    private mutating func remember(_ bytes: [UInt8], on path: NetworkPath) {
        do throws(STUNError) {
            let message = try STUNMessage(parsing: bytes.span.bytes)
            guard message.messageClass == .request else { return }
            for number in 0..<4 {
                guard let theirs = AgentScript.credentials("R", number),
                    message.isAddressed(to: Array(theirs.ufrag.utf8), from: nil)
                else { continue }
                if checks.count == Self.rememberedChecks { checks.removeFirst() }
                checks.append(Check(id: message.transactionID, path: path, remoteGeneration: number))
            }
        } catch {
            // `drain` has found out already.
        }
    }

    /// Nothing comes after the end.
    private mutating func finish() throws(FuzzFinding) {
        agent.end()
        take(request(), on: NetworkPath(local: AgentScript.locals[0], remote: AgentScript.remote(5)))
        try expect(agent.nextDeadline == .never, "a deadline after the end")
        try AgentScript.drain(&agent, now: now, limit: 0) { (_, _) throws(FuzzFinding) in }
    }
}
