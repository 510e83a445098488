import Testing

@testable import ICELite

/// A lite agent with the password that `Request` knows, and peers that are told apart by their port.
final class LiteEnd {
    var agent: ICELiteAgent
    var now = Instant.zero

    init(asksForAdmission: Bool = false, knowsPeer: Bool = true) throws {
        let peer = try credentials("RemU", "peerPasswordpeerPassword")
        agent = ICELiteAgent(
            credentials: try credentials("LocU", "VerySecretLocalPwd123456"), peerCredentials: knowsPeer ? peer : nil,
            randomness: .seeded(4), asksForAdmission: asksForAdmission)
    }

    func path(_ port: UInt16, local: String = "192.0.2.1") throws -> NetworkPath {
        NetworkPath(local: try address(local, 1_000), remote: try address("192.0.2.50", port))
    }

    /// Hands `request` over and returns what leaves.
    func take(_ request: Request, _ port: UInt16) throws -> [Datagram] {
        _ = agent.take(try request.bytes(), try path(port), at: now)
        return drain(&agent, now: now)
    }

    /// Hands `request` over and returns its one answer, which goes back on the path; a check of the agent's own
    /// is passed over.
    @discardableResult
    func ask(_ request: Request, _ port: UInt16) throws -> ReadMessage {
        let answers = try take(request, port).filter { try ReadMessage($0.bytes).messageClass != .request }
        #expect(answers.map(\.path) == [try path(port)])
        return try ReadMessage(try #require(answers.first).bytes)
    }

    /// A check that nominates `value`, then one that echoes the token it was given.
    func nominateAndConfirm(_ value: UInt32, _ port: UInt16) throws {
        let token = try #require(try ask(Request(nomination: value, token: 0), port).routabilityToken)
        try ask(Request(nomination: value, token: token), port)
        #expect(agent.isConfirmed(try path(port)))
    }

    /// Whether a packet of `byteCount` bytes may go to the peer on `port`.
    func send(_ byteCount: Int, _ port: UInt16) throws -> Bool {
        agent.authorizeSend(byteCount: byteCount, to: try path(port))
    }

    func advance(_ milliseconds: Int64) {
        now = now + .milliseconds(milliseconds)
        agent.handleTimeout(now: now)
    }

    func events() -> [ICELiteAgent.Event] {
        var events: [ICELiteAgent.Event] = []
        while let event = agent.pollEvent() { events.append(event) }
        return events
    }

    func destinations(_ first: UInt16, _ second: UInt16? = nil) throws -> ICEDestinations {
        ICEDestinations(first: try path(first), second: try second.map { try path($0) })
    }
}

extension ICELiteAgent {
    /// Everything a datagram could change, but for counters and the bucket of errors.
    struct Footprint: Equatable {
        var tuples: [ICETuple]
        var generations: [ICEGeneration?]
        var retiredUntil: Instant?
        var paths: [NetworkPath?]
        var events: [Event]
        var waitingAnswers: Int
        var outstandingCheck: STUNTransactionID?
        var nextOrder: UInt64
        var nextRandom: UInt64
        var nextDeadline: Instant
    }

    var footprint: Footprint {
        var randomness = randomness
        return Footprint(
            tuples: tuples, generations: [current, pending, retired?.generation], retiredUntil: retired?.until,
            paths: [selectedPath, previousPath], events: events, waitingAnswers: answers.count,
            outstandingCheck: routabilityCheck?.id, nextOrder: nextOrder,
            nextRandom: randomness.next(), nextDeadline: nextDeadline)
    }
}
