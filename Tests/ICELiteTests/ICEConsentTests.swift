// The names of cases keep their ids.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Testing

@testable import ICELite

/// Consent freshness of the full agent (RFC 7675).
@Suite struct ICEConsentTests {
    private func connected(seed: UInt64 = 1) throws -> VirtualNetwork {
        var network = try VirtualNetwork(seed: seed)
        try network.addClient("192.0.2.10", 5_000)
        try network.addServer("198.51.100.1", 3_478)
        try network.answer()
        network.run(until: .zero + .seconds(2))
        #expect(network.client.selectedPath != nil)
        return network
    }

    @Test func `consent outlives 30 percent of loss in 200 runs of two minutes`() throws {
        for seed in UInt64(1)...200 {
            var network = try connected(seed: seed)
            network.loss = 0.3
            network.run(until: .zero + .seconds(120))
            #expect(network.client.selectedPath != nil, "seed \(seed)")
            #expect(network.server.selectedPath != nil, "seed \(seed)")
        }
    }

    @Test func `ICE_22 consent checks are repeated while unanswered and end 30 s after the last answer`() throws {
        var network = try connected()
        network.run(until: .zero + .seconds(20))
        let path = try #require(network.client.selectedPath)
        let last = try #require(network.client.generations[0].pairs[0].lastAnswerAt)
        network.swallow = { toServer, _, _ in toServer }
        let before = network.sent.count
        network.run(until: last + .milliseconds(29_999))
        #expect(network.client.selectedPath == path)
        let times = network.sent[before...].map { $0.at }
        // 4…6 s after the last request, then 0.5 s, 1 s and each second.
        let first = try #require(times.first)
        #expect(((.milliseconds(3_900))...(.seconds(6))).contains(first - last))
        let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
        #expect(gaps.first == .milliseconds(500))
        #expect(gaps.dropFirst().allSatisfy { $0 == .seconds(1) })
        #expect(times.count >= 24)
        let ids = try network.sent.map { try ReadMessage($0.bytes).transactionID }
        #expect(Set(ids).count == ids.count)
        network.run(until: last + .seconds(30))
        #expect(network.client.selectedPath == nil)
        #expect(network.clientEvents.last == .consentExpired(path))
        let count = network.sent.count
        network.swallow = { _, _, _ in false }
        network.run(for: .seconds(60))
        #expect(network.sent.count == count)
        #expect(network.client.nextDeadline == .never)
        // Stopped, not closed: a restart brings it back.
        #expect(!network.client.isEnded)
    }

    @Test func `ICE_22 a single lost answer costs half a second, and late answers count`() throws {
        var network = try connected()
        var lost = 0
        network.swallow = { toServer, _, _ in
            guard !toServer, lost == 0 else { return false }
            lost += 1
            return true
        }
        let before = network.sent.count
        network.run(until: .zero + .seconds(12))
        let times = network.sent[before...].map { $0.at }
        let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
        #expect(lost == 1)
        #expect(gaps.first == .milliseconds(500))
        #expect(gaps.dropFirst().allSatisfy { ((.seconds(4))...(.seconds(6))).contains($0) })
        #expect(gaps.count >= 2)

        network.swallow = { _, _, _ in false }
        network.delay = .seconds(4)
        network.run(until: .zero + .seconds(120))
        #expect(network.client.selectedPath != nil)
        #expect(network.client.roundTrip ?? 0 > .seconds(7))
    }

    @Test func `a round trip over a quarter second spaces the repeats by two of it`() throws {
        var network = try connected()
        network.delay = .milliseconds(400)
        network.run(until: .zero + .seconds(120))
        let roundTrip = try #require(network.client.roundTrip)
        network.swallow = { toServer, _, _ in toServer }
        let before = network.sent.count
        network.run(for: .seconds(25))
        let times = network.sent[before...].map { $0.at }
        let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
        #expect(roundTrip > .milliseconds(700))
        #expect(gaps.allSatisfy { $0 == max(2 * roundTrip, .seconds(1)) }, "\(gaps)")
    }

    @Test func `a check is sent at once when it is asked for, as far as the pacing lets`() throws {
        var network = try connected()
        let before = network.sent.count
        network.run(until: .zero + .seconds(3))
        #expect(network.sent.count == before)
        network.client.checkNow(network.now)
        network.run(for: .zero)
        #expect(network.sent.count == before + 1)
        #expect(network.sent.last?.at == .zero + .seconds(3))
        // Asked a hundred times in 100 ms: three.
        for _ in 0..<100 {
            network.client.checkNow(network.now)
            network.run(for: .milliseconds(1))
        }
        #expect(network.sent.count == before + 3)
        // Before a pair is selected it does nothing.
        var agent = try vectorAgent(.controlling)
        agent.checkNow(.zero)
        #expect(drain(&agent, now: .zero).isEmpty)
    }
}
