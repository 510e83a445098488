import CallSimulation
import ICELite
import Testing
import Transport

@Suite struct ShrinkerTests {
    /// A call of `scenario` in which every fault began at the second of its place, and that broke rule 6 if `isBroken`.
    private static func call(_ scenario: Scenario, isBroken: Bool) -> ObservedCall {
        var call = HandMadeCall()
        call.call.scenario = scenario
        call.becomeActive(on: .webrtc)
        for index in scenario.faults.indices {
            call.see(.fault(index: index, isBeginning: true), at: .seconds(2) + .seconds(1) * Int64(index))
        }
        if isBroken { call.see(.delivered(.client, message: 9), at: .seconds(60)) }
        return call.call
    }

    private func shrunk(
        _ scenario: Scenario, limit: Int = Shrinker.replayLimit, isBroken: @escaping (Scenario) -> Bool
    ) -> (scenario: Scenario, replays: Int) {
        var shrinker = Shrinker(scenario, breaking: .messages, limit: limit) { Self.call($0, isBroken: isBroken($0)) }
        return (shrinker.shrink(), shrinker.replays)
    }

    private static var crowded: Scenario {
        var scenario = Scenario()
        scenario.seed = 8_812
        scenario.duration = .milliseconds(41_234)
        scenario.networks.append(Scenario.NetworkPart(name: "lte0"))
        scenario.networks[0].udp.loss = 2_000
        scenario.networks[0].tcp.jitter = .normal(.milliseconds(6))
        scenario.client.messages.count = 12
        for (index, verb) in [FaultVerb.hold, .drop, .rate, .cutReset, .mute, .drop].enumerated() {
            var fault = Fault(anchor: .milestone(.firstAudio), offset: .time(7_310_123_456), verb: verb)
            fault.length = .milliseconds(10_020) + Int64(index)
            scenario.faults.append(fault)
        }
        scenario.faults[4].target.interface = "lte0"
        scenario.faults[5].anchor = .end(2)
        return scenario
    }

    @Test func whatTheRuleDoesNotNeedGoes() {
        let small = shrunk(Self.crowded) { $0.faults.contains { $0.verb == .cutReset } }.scenario
        var expected = Scenario()
        expected.seed = 1
        expected.duration = .seconds(1)
        expected.faults = [Fault(anchor: .milestone(.firstAudio), offset: .time(0), verb: .cutReset)]
        expected.faults[0].length = .seconds(10)
        #expect(small.faults == expected.faults)
        #expect(small.networks == expected.networks)
        #expect(small.duration <= .seconds(1))
        #expect(small.client == expected.client)
    }

    @Test func whatTheRuleNeedsStays() {
        let small = shrunk(Self.crowded) { scenario in
            scenario.networks[0].udp.loss > 0 && scenario.duration >= .seconds(20)
                && scenario.faults.count { $0.verb == .drop } == 2
        }.scenario
        #expect(small.networks[0].udp.loss == 2_000)
        #expect(small.duration == .seconds(20))
        #expect(small.faults.map(\.verb) == [.drop, .drop])
        #expect(small.networks.count == 1)
    }

    @Test func aFaultWhoseAnchorGoesKeepsItsTime() {
        let small = shrunk(Self.crowded) { scenario in
            scenario.faults.contains { $0.verb == .drop && $0.anchor != .milestone(.firstAudio) }
        }.scenario
        #expect(small.faults.count == 1)
        #expect(small.faults[0].anchor == .milestone(.start))
    }

    @Test func onlyTheSameRuleCounts() {
        var shrinker = Shrinker(Self.crowded, breaking: .heard) { Self.call($0, isBroken: true) }
        #expect(shrinker.shrink() == Self.crowded)
        #expect(shrinker.replays == 1)
    }

    @Test func replaysAreLimited() {
        var count = 0
        let result = shrunk(Self.crowded, limit: 5) { _ in
            count += 1
            return true
        }
        #expect(result.replays == 5)
        #expect(count == 5)
    }

    @Test func aScenarioThatCannotBeRunIsNotSmaller() {
        var shrinker = Shrinker(Self.crowded, breaking: .messages) { scenario in
            scenario.faults.count < 6 ? nil : Self.call(scenario, isBroken: true)
        }
        #expect(shrinker.shrink().faults.count == 6)
    }
}
