import Testing

@testable import ICELite

/// The table of checks that may still be answered.
@Suite struct OutstandingChecksTests {
    private func check(_ high: UInt64, _ low: UInt32, pair: UInt64 = 1) -> OutstandingChecks.Check {
        OutstandingChecks.Check(
            id: STUNTransactionID(high: high, low: low), pairID: pair, sentAt: .zero, role: .controlling)
    }

    @Test func `a check is found by its whole id and taken once`() {
        var table = OutstandingChecks()
        table.remember(check(1, 7, pair: 10))
        table.remember(check(2, 7, pair: 20))
        table.remember(check(2, 8, pair: 30))
        #expect(table.pairID(of: STUNTransactionID(high: 2, low: 7)) == 20)
        #expect(table.pairID(of: STUNTransactionID(high: 3, low: 7)) == nil)
        #expect(table.pairID(of: STUNTransactionID(high: 1, low: 8)) == nil)
        #expect(table.take(STUNTransactionID(high: 2, low: 7))?.pairID == 20)
        #expect(table.take(STUNTransactionID(high: 2, low: 7)) == nil)
        #expect(table.pairID(of: STUNTransactionID(high: 1, low: 7)) == 10)
        #expect(table.pairID(of: STUNTransactionID(high: 2, low: 8)) == 30)
        #expect(table.count == 2)
    }

    @Test func `at the limit the oldest is forgotten`() {
        var table = OutstandingChecks()
        let limit = UInt64(ICELimits.outstandingChecks)
        for number in 0..<(limit + 3) { table.remember(check(number, 1)) }
        #expect(table.count == ICELimits.outstandingChecks)
        for number in 0..<(limit + 3) {
            let id = STUNTransactionID(high: number, low: 1)
            #expect((table.pairID(of: id) == nil) == (number < 3), "\(number)")
        }
    }

    @Test func `an answer to a pair that is gone is nobody's, and the agent's table stays bounded for hours`() throws {
        var agent = try vectorAgent(.controlling)
        agent.addRemoteCandidate(ICECandidate(host: try vectorPath().remote, localPreference: 1), now: .zero)
        let sent = try #require(drain(&agent, now: .zero).first)
        let id = try ReadMessage(sent.bytes).transactionID
        let locals = agent.localCandidates.map(\.address)
        agent.networkChanged(to: [], now: .zero)
        agent.networkChanged(to: locals, now: .zero)
        #expect(agent.hasPair(sent.path))
        #expect(agent.take(try response(to: id, mapped: sent.path.local), sent.path) == .dropped(.unknownTransaction))
        var now = Instant.zero
        while now < .zero + .seconds(3_600), agent.nextDeadline != .never {
            now = max(now + 1, agent.nextDeadline)
            agent.handleTimeout(now: now)
            _ = drain(&agent, now: now)
            _ = events(&agent)
        }
        #expect(agent.counters.checksSent > UInt64(ICELimits.outstandingChecks))
        #expect(agent.generations[0].outstanding.count == ICELimits.outstandingChecks)
    }
}
