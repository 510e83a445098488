import Testing

@testable import ICELite

/// An agent with the credentials of the vectors that the datagrams of a case are handed to.
struct CaseEnd {
    enum Kind: CaseIterable { case lite, full }

    /// What became of one datagram.
    struct Outcome {
        var verdict: ICEVerdict
        /// Answers only; a full agent's own checks are left out.
        var answers: [ReadMessage]
        var answerPaths: [NetworkPath]
        /// A tuple, pair or candidate came of it, or a path is selected.
        var hasChangedState: Bool
        /// The request's tuple is selected, or its pair remembered as nominated.
        var isNominated: Bool
        var drops: [ICEDropReason]
    }

    private enum Agent {
        case lite(ICELiteAgent)
        case full(ICEFullAgent)
    }

    static let localKey = STUNKey(password: "VerySecretLocalPwd123456")

    private var agent: Agent

    init(_ kind: Kind) throws {
        let ours = try credentials("LocU", "VerySecretLocalPwd123456")
        let theirs = try credentials("RemU", "peerPasswordpeerPassword")
        switch kind {
        case .lite:
            agent = .lite(ICELiteAgent(credentials: ours, peerCredentials: theirs, randomness: .seeded(4)))
        case .full:
            var full = ICEFullAgent(role: .controlled, credentials: ours, randomness: .seeded(4))
            _ = full.addLocalCandidate(try Self.path().local, now: .zero)
            full.setRemote(credentials: theirs, isLite: false, supportsRenomination: false, now: .zero)
            agent = .full(full)
        }
    }

    static func path() throws -> NetworkPath {
        NetworkPath(local: try address("192.0.2.1", 1_000), remote: try address("192.0.2.50", 2_000))
    }

    /// Hands `bytes` to a fresh agent.
    static func hand(_ bytes: [UInt8], to kind: Kind, on path: NetworkPath? = nil) throws -> Outcome {
        var end = try CaseEnd(kind)
        return try end.take(bytes, on: path)
    }

    mutating func take(_ bytes: [UInt8], on path: NetworkPath? = nil) throws -> Outcome {
        let path = try path ?? Self.path()
        switch agent {
        case .lite(var lite):
            let verdict = lite.take(bytes, path)
            let counters = lite.counters
            let sent = drain(&lite, now: .zero)
            agent = .lite(lite)
            return try Self.outcome(
                verdict, sent, counters, hasChangedState: lite.tupleCount > 0 || lite.selectedPath != nil,
                isNominated: lite.selectedPath == path.unmapped)
        case .full(var full):
            let verdict = full.take(bytes, path)
            let counters = full.counters
            let sent = drain(&full, now: .zero)
            agent = .full(full)
            let pair = full.generations[0].pairs.first { $0.path == path.unmapped }
            return try Self.outcome(
                verdict, sent, counters,
                hasChangedState: full.outcome.pairs > 0 || !full.remoteCandidates.isEmpty
                    || !full.reflexiveCandidates.isEmpty || full.selectedPath != nil || full.role != .controlled,
                isNominated: pair?.nomination != nil)
        }
    }

    private static func outcome(
        _ verdict: ICEVerdict, _ sent: [Datagram], _ counters: ICECounters, hasChangedState: Bool, isNominated: Bool
    ) throws -> Outcome {
        var answers: [ReadMessage] = []
        var paths: [NetworkPath] = []
        for datagram in sent {
            let message = try ReadMessage(datagram.bytes)
            guard message.messageClass != .request else { continue }
            answers.append(message)
            paths.append(datagram.path)
        }
        return Outcome(
            verdict: verdict, answers: answers, answerPaths: paths, hasChangedState: hasChangedState,
            isNominated: isNominated, drops: ICEDropReason.allCases.filter { counters[$0] > 0 })
    }
}

extension CaseEnd.Outcome {
    /// The answer to `request` is a success, signed, to where it came from.
    func expectSuccess(to request: [UInt8], _ note: String) throws {
        #expect(verdict == .accepted, "\(note)")
        let answer = try #require(answers.first, "\(note)")
        #expect(answerPaths == [try CaseEnd.path()], "\(note)")
        #expect(answer.messageClass == .success, "\(note)")
        #expect(answer.transactionID == (try ReadMessage(request).transactionID), "\(note)")
        #expect(answer.xorMappedAddress == (try CaseEnd.path().remote), "\(note)")
        #expect(answer.verifies(with: CaseEnd.localKey), "\(note)")
        #expect(answer.hasFingerprint && answer.hasValidFingerprint, "\(note)")
    }

    /// Nothing but the counter of `reason` has changed, and nothing was sent.
    func expectSilence(_ reason: ICEDropReason, _ note: String) {
        #expect(verdict == .dropped(reason), "\(note)")
        #expect(drops == [reason], "\(note)")
        #expect(answers.isEmpty && !hasChangedState, "\(note)")
    }

    /// What the case's `expected` says of `request`: an action with its details, or any of several.
    func expect(_ expected: JSONValue, to request: [UInt8], _ note: String) throws {
        let choices = expected["any_of"].list
        guard choices.isEmpty else {
            let action = answers.isEmpty ? "discard" : "respond_error"
            let choice = try #require(choices.first { $0["action"].text == action }, "\(note)")
            return try expect(choice, to: request, note)
        }
        if let nominated = expected["nominated"].flag { #expect(isNominated == nominated, "\(note)") }
        switch expected["action"].text {
        case "respond_success":
            try expectSuccess(to: request, note)
        case "discard":
            #expect(verdict != .accepted && answers.isEmpty && !hasChangedState, "\(note)")
            if let reason = expected["reason"].text {
                #expect(reason == "fingerprint" && verdict == .dropped(.badFingerprint), "\(note)")
            }
        case "respond_error":
            #expect(verdict != .accepted && !hasChangedState, "\(note)")
            let answer = try #require(answers.first, "\(note)")
            #expect(answerPaths == [try CaseEnd.path()], "\(note)")
            #expect(Array(answer.bytes.prefix(2)) == [0x01, 0x11], "\(note)")
            #expect(answer.errorCode == (try UInt16(expected["code"].integer)), "\(note)")
            #expect(answer.transactionID == (try ReadMessage(request).transactionID), "\(note)")
            #expect(answer.hasFingerprint && answer.hasValidFingerprint, "\(note)")
            if expected["mi"].flag == true { #expect(answer.verifies(with: CaseEnd.localKey), "\(note)") }
            if let unknown = expected["unknown"].list.first?.text {
                #expect(answer.unknownAttributes == Vector.unhex(unknown), "\(note)")
            }
        default:
            Issue.record("\(note): an action that no test knows")
        }
    }
}
