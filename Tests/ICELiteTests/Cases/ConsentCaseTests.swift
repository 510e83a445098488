// The names of cases keep their ids.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Testing

@testable import ICELite

/// Consent (ICE-22), at both ends.
///
/// Where the case has each check sent once, 4…6 s apart, the full agent follows an *unanswered* one sooner by another,
/// which is a transaction of its own: the interval of the case is held while checks are answered.
@Suite struct ConsentCaseTests {
    private let timing = ICETiming()

    private func connected(seed: UInt64 = 22) throws -> VirtualNetwork {
        var network = try VirtualNetwork(seed: seed)
        try network.addClient("192.0.2.10", 5_000)
        try network.addServer("198.51.100.1", 3_478)
        try network.answer()
        network.run(until: .zero + .seconds(1))
        #expect(network.client.selectedPath != nil)
        return network
    }

    private func lastAnswer(_ network: VirtualNetwork) throws -> Instant {
        try #require(network.client.generations[0].pairs.first?.lastAnswerAt)
    }

    /// Runs until the pair has been answered once more.
    private func runToAnswer(_ network: inout VirtualNetwork) throws -> Instant {
        let before = try lastAnswer(network)
        for _ in 0..<100_000 where try lastAnswer(network) == before { network.run(for: .milliseconds(1)) }
        #expect(try lastAnswer(network) > before)
        return try lastAnswer(network)
    }

    @Test func `ICE_22 a lost check leaves the scheduler alive, and 30 s after the last answer all sending ends`()
        throws
    {
        let steps = try PublicCase.scenario("ICE-22")["steps"].list
        #expect(steps.count == 7)
        let first = try #require(steps[1]["t"].range)
        let second = try #require(steps[2]["t"].range)
        let answered = try steps[3]["t"].integer
        let expiry = Nanoseconds.seconds(Int64(try steps[3]["expiry"].integer - answered))
        #expect(expiry == timing.consentExpiry)
        let sending = steps[5...6].map { step in
            Nanoseconds(((step["t"].number ?? 0) - Double(answered)) * 1_000_000_000)
        }
        #expect(sending[0] < expiry && expiry < sending[1])

        var network = try connected()
        let start = try runToAnswer(&network)
        // Request 1 is lost.
        var lost = 0
        network.swallow = { toServer, _, _ in
            guard toServer, lost == 0 else { return false }
            lost += 1
            return true
        }
        let before = network.sent.count
        let next = try runToAnswer(&network)
        let checks = network.sent[before...].map(\.at)
        #expect(checks.count == 2)
        let seconds = { (instant: Instant) in Double(instant - start) / 1_000_000_000 }
        // Measured from the request, which left a round trip before its answer.
        #expect(first.contains(seconds(checks[0]) + Double(2 * network.delay) / 1_000_000_000))
        // Alive: sooner than the case has it, and not later.
        #expect(checks[1] - checks[0] == timing.consentRepeat)
        #expect(seconds(checks[1]) < second.upperBound)
        #expect(network.client.selectedPath != nil)

        // From the answer to 2 on all is lost.
        let path = try #require(network.client.selectedPath)
        network.swallow = { _, _, _ in true }
        network.run(until: next + sending[0])
        #expect(steps[5]["sending"].flag == true && steps[6]["sending"].flag == false)
        #expect(network.client.selectedPath == path)
        let lastSent = try #require(network.sent.last?.at)
        #expect(next + sending[0] - lastSent <= timing.consentRepeatCap)
        let answer = try ReadMessage(try #require(network.sent.last).bytes).transactionID
        network.run(until: next + expiry - 1)
        #expect(network.client.selectedPath == path)
        network.run(until: next + expiry)
        #expect(network.client.selectedPath == nil)
        #expect(network.clientEvents.last == .consentExpired(path))
        let count = network.sent.count
        // Nothing leaves any more: no checks, not when asked for, and no answers.
        network.client.checkNow(network.now)
        network.client.probe(now: network.now)
        let request = try Request().bytes()
        #expect(network.client.take(request, path, at: network.now) == .dropped(.ended))
        let late = try response(to: answer, password: network.serverCredentials.password, mapped: path.local)
        #expect(network.client.take(late, path, at: network.now) != .accepted)
        network.run(for: .seconds(120))
        #expect(network.sent.count == count)
        #expect(network.client.selectedPath == nil && network.client.nextDeadline == .never)
        // Every id was another.
        let ids = try network.sent.map { try ReadMessage($0.bytes).transactionID }
        #expect(Set(ids).count == ids.count)
        // Failed and not closed: a restart may follow.
        #expect(steps[6]["not_state"].text == "closed")
        #expect(!network.client.isEnded)
        var randomness = Randomness.seeded(5)
        network.client.restart(credentials: .random(using: &randomness), now: network.now)
        #expect(network.client.isRestarting)
    }

    @Test func `ICE_22 while answered, checks leave 4 to 6 s after the one before, spread over all of it`() throws {
        for delay in [Nanoseconds.milliseconds(1), .milliseconds(20), .milliseconds(700)] {
            var network = try connected()
            network.run(for: .seconds(20))
            network.delay = delay
            network.run(for: .seconds(60))
            let before = network.sent.count
            network.run(for: .seconds(2_000))
            let times = network.sent[before...].map(\.at)
            let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
            let tenth = timing.consentInterval / 10
            #expect(gaps.count > 300)
            if 2 * delay < timing.consentRepeat {
                // From request to request: the round trip is not added.
                #expect(gaps.allSatisfy { ((8 * tenth)...(12 * tenth)).contains($0) }, "\(delay)")
                #expect(gaps.contains { $0 < 9 * tenth } && gaps.contains { $0 > 11 * tenth }, "\(delay)")
                #expect(Set(gaps).count > 200, "\(delay)")
            }
            let ids = try network.sent.map { try ReadMessage($0.bytes).transactionID }
            #expect(Set(ids).count == ids.count)
            #expect(network.client.selectedPath != nil)
        }
    }

    @Test func `ICE_22 an answer as late as 30 s still counts, from when it comes`() throws {
        var network = try connected()
        let start = try runToAnswer(&network)
        network.swallow = { _, _, _ in true }
        let before = network.sent.count
        network.run(until: start + timing.consentExpiry - 1)
        let check = try #require(network.sent.dropFirst(before).first)
        let late = try response(
            to: try ReadMessage(check.bytes).transactionID, password: network.serverCredentials.password,
            mapped: check.path.local)
        // A forged one does not.
        let forged = try response(
            to: try ReadMessage(check.bytes).transactionID, password: "somebodyElse'sPassword", mapped: check.path.local
        )
        #expect(network.client.take(forged, check.path, at: network.now) == .dropped(.unauthenticated))
        #expect(network.client.take(late, check.path, at: network.now) == .accepted)
        let renewed = network.now
        network.run(until: renewed + timing.consentExpiry - 1)
        #expect(network.client.selectedPath != nil)
        network.run(until: renewed + timing.consentExpiry)
        #expect(network.client.selectedPath == nil)
    }

    @Test func `ICE_22 the lite end lasts 30 s from the last authentic request, on the instant`() throws {
        let end = try LiteEnd()
        try end.nominateAndConfirm(2, 1)
        end.advance(20_000)
        try end.ask(Request(nomination: 2), 1)
        let last = end.now
        _ = end.events()
        // What does not authenticate gives no consent, and neither does media.
        end.advance(20_000)
        _ = try end.take(Request(password: "someone else's password"), 1)
        end.agent.noteReceived(160, on: try end.path(1))
        end.now = last + timing.consentExpiry - 1
        end.agent.handleTimeout(now: end.now)
        #expect(try end.send(160, 1))
        #expect(end.agent.nextDeadline == last + timing.consentExpiry)
        end.now = last + timing.consentExpiry
        end.agent.handleTimeout(now: end.now)
        #expect(try !end.send(160, 1))
        #expect(end.agent.destinations == nil && end.agent.selectedPath == nil)
        #expect(end.events() == [.tupleRemoved(try end.path(1)), .consentExpired(try end.path(1))])
        // Not closed: the next request begins anew.
        #expect(try end.ask(Request(nomination: 1), 1).messageClass == .success)
        #expect(end.agent.selectedPath == (try end.path(1)))
    }
}
