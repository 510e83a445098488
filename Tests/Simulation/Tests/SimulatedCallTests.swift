import CallSimulation
import ICELite
import Testing
import Transport

@Suite("A simulated call") struct SimulatedCallTests {
    private func scenario(_ change: (inout Scenario) -> Void = { _ in }) -> Scenario {
        var scenario = Scenario()
        scenario.seed = 7
        scenario.duration = .seconds(6)
        change(&scenario)
        return scenario
    }

    private func run(_ change: (inout Scenario) -> Void = { _ in }) throws -> ObservedCall {
        try Simulation().run(scenario(change))
    }

    private func fault(
        _ verb: FaultVerb, at anchor: Milestone = .start, after offset: Nanoseconds = 0, for length: Nanoseconds = 0,
        on carriage: FaultTarget.Carriage? = nil
    ) -> Fault {
        var fault = Fault(anchor: .milestone(anchor), offset: .time(offset), verb: verb)
        fault.length = length
        fault.target = FaultTarget(carriage: carriage)
        return fault
    }

    private func reason(_ call: ObservedCall) -> TransportFallbackReason? {
        for (_, what) in call.observations.reversed() {
            if case .choice(.client, _, _, let fallback) = what { return fallback?.reason }
        }
        return nil
    }

    private func outcome(_ call: ObservedCall, _ end: CallEnd) -> CallOutcome? {
        for (_, what) in call.observations {
            if case .outcome(end, let outcome) = what { return outcome }
        }
        return nil
    }

    private func heard(_ call: ObservedCall, by end: CallEnd) -> [UInt32] {
        call.observations.compactMap { _, what in
            if case .played(end, .frame(let id, true, _)) = what { id } else { nil }
        }
    }

    private func instant(_ call: ObservedCall, _ milestone: Milestone) -> Instant? {
        call.observations.first { if case .milestone(milestone) = $0.what { true } else { false } }?.at
    }

    @Test("A good call is on the path, hears nearly all of both ends in order, and is hung up as asked")
    func good() throws {
        let call = try run()
        #expect(reason(call) == nil)
        #expect(outcome(call, .client) == .ended(.local))
        #expect(outcome(call, .server) == .ended(.remote))
        for end in CallEnd.allCases {
            let frames = heard(call, by: end)
            #expect(frames.count > 270)
            #expect(zip(frames, frames.dropFirst()).allSatisfy { $0.1 == $0.0 + 1 })
        }
        #expect(!call.facts.isStuck && !call.facts.clientWaits && !call.facts.serverWaits)
        #expect(call.facts.packetsLeft == 0)
    }

    @Test("Timestamps that begin again at 0 are heard through", arguments: [0, 2_500])
    func wrap(milliseconds: Int64) throws {
        let call = try run {
            $0.client.wrap = .milliseconds(milliseconds)
            $0.server.wrap = .milliseconds(milliseconds + 10)
        }
        for end in CallEnd.allCases {
            let frames = heard(call, by: end)
            #expect(frames.count > 270)
            #expect(zip(frames, frames.dropFirst()).allSatisfy { $0.1 == $0.0 + 1 })
        }
    }

    @Test("A server that refuses the line keeps no call for it") func refused() throws {
        let call = try run { $0.server.refusal = 503 }
        #expect(call.facts.refusedAt != nil)
        #expect(call.facts.refusedCallEndedAt == call.facts.refusedAt)
        #expect(!call.facts.serverWaits && !call.facts.serverKeepsLine)
    }

    @Test("A client that slept reads at once what came: a second of the audio behind the welcome waits for its choice")
    func asleepOverTheWelcome() throws {
        let call = try run {
            $0.client.preference = .websocket
            $0.faults = [fault(.suspend, at: .helloSent, for: .seconds(3))]
        }
        let parked = call.observations.compactMap { one -> Int? in
            guard case .figures(.client, let figures) = one.what else { return nil }
            return figures.packetsParked
        }
        #expect(parked.max() == 50)
        #expect(outcome(call, .client) == .ended(.local))
    }

    @Test("A path whose two directions are good on different interfaces is not good") func goodOnOnePair() throws {
        let text = """
            seed 5 duration 6s
            net wlan0
            net lte0
            at active+1s hold lte0.udp down for 3s
            at begin(0)+500ms hold wlan0.udp up for 1s
            """
        let call = try Simulation().run(Scenario(parsing: text))
        let seen = call.observations.compactMap { one -> [Bool]? in
            guard case .network(let pathUp, let pathDown, _, _) = one.what else { return nil }
            return [pathUp, pathDown]
        }
        #expect(seen.contains([true, false]))
        #expect(!seen.contains([false, false]))
    }

    @Test("The same scenario comes to the same trace, another seed to another") func sameAgain() throws {
        let simulation = try Simulation()
        for seed in [3, 4, 5, 6] as [UInt64] {
            let scenario = ScenarioGenerator.scenario(seed: seed)
            let first = try simulation.run(scenario)
            let second = try Simulation().run(scenario)
            #expect(first.facts.traceHash == second.facts.traceHash, "seed \(seed)")
            #expect(first.observations.count == second.observations.count)
        }
        #expect(try run().facts.traceHash != run { $0.seed = 8 }.facts.traceHash)
    }

    @Test(
        "Whatever the server makes of the offer, the call says why it is on the WebSocket",
        arguments: [
            (Scenario.ServerPart.Answer.actpass, TransportFallbackReason.answerInvalid),
            (.declined, .serverDeclined), (.standard, .agentStandard), (.missing, .serverUnsupported),
            (.wrongCertificate, .dtlsFingerprintMismatch), (.noProfile, .srtpProfileMismatch),
        ])
    func answers(answer: Scenario.ServerPart.Answer, expected: TransportFallbackReason) throws {
        let call = try run {
            $0.client.preference = .webrtc
            $0.server.answer = answer
        }
        #expect(reason(call) == expected)
        #expect(heard(call, by: .client).count > 200)
        #expect(heard(call, by: .server).count > 200)
    }

    @Test("A build without a media path says so; a call that wanted the WebSocket says nothing") func withoutPath()
        throws
    {
        let missing = try run {
            $0.client.preference = .webrtc
            $0.client.hasMediaPath = false
        }
        #expect(reason(missing) == .moduleMissing)
        let wanted = try run { $0.client.preference = .websocket }
        #expect(reason(wanted) == nil)
        #expect(heard(wanted, by: .server).count > 200)
    }

    @Test("Datagrams that are refused are udp_blocked, datagrams that vanish are ice_no_response") func blocked() throws
    {
        let refused = try run { $0.faults = [self.fault(.reject, for: .seconds(20), on: .udp)] }
        #expect(reason(refused) == .udpBlocked)
        #expect(refused.facts.pairsRefused == refused.facts.pairsChecked)
        let silent = try run { $0.faults = [self.fault(.drop, for: .seconds(20), on: .udp)] }
        #expect(reason(silent) == .iceNoResponse)
        #expect(silent.facts.checkAnswersDelivered == 0)
    }

    @Test("What comes to a socket that is closed has not come, and a pair that went with it needs no refusal")
    func closed() throws {
        // The first check is answered after 50 ms: to a port that its interface has taken along.
        let call = try run {
            $0.faults = [
                self.fault(.routeFlap, at: .clientHello, after: .milliseconds(5), for: .milliseconds(10)),
                self.fault(.reject, at: .clientHello, after: .milliseconds(6), for: .seconds(20), on: .udp),
            ]
        }
        #expect(reason(call) == .udpBlocked)
        #expect(call.facts.checkAnswersDelivered == 0)
        #expect(call.facts.pairsRefused > 0)
        #expect(call.facts.pairsRefused + call.facts.pairsGone == call.facts.pairsChecked)
        var judge = Judge()
        #expect(judge.judge(call).violations == [])
    }

    @Test("A refused upgrade fails the call with the status") func refusal() throws {
        let call = try run { $0.server.refusal = 403 }
        #expect(outcome(call, .client) == .failed(message: "The conversation was refused (403)."))
    }

    @Test("A fault happens at its anchor, to the nanosecond, and lasts as long as it says") func anchors() throws {
        let call = try run {
            $0.faults = [self.fault(.drop, at: .active, after: .milliseconds(1_500), for: .milliseconds(300))]
            var follower = self.fault(.rebind)
            follower.anchor = .end(0)
            follower.offset = .halfRoundTrips(1)
            $0.faults.append(follower)
        }
        let active = try #require(instant(call, .active))
        var seen: [(Instant, Int, Bool)] = []
        for (at, what) in call.observations {
            if case .fault(let index, let isBeginning) = what { seen.append((at, index, isBeginning)) }
        }
        #expect(seen.map(\.1) == [0, 0, 1])
        #expect(seen[0].0 == active + .milliseconds(1_500))
        #expect(seen[1].0 == active + .milliseconds(1_800))
        #expect(seen[2].0 == active + .milliseconds(1_825))
        #expect(call.facts.faultsNeverFired == 0)
    }

    @Test("A fault whose anchor never comes is counted") func neverFired() throws {
        let call = try run { $0.faults = [self.fault(.rebind, at: .fallbackSent)] }
        #expect(call.facts.faultsNeverFired == 1)
    }

    @Test("Messages of both applications arrive once and in order") func messages() throws {
        let call = try run {
            $0.duration = .seconds(22)
            $0.client.messages.count = 9
            $0.server.messages.count = 7
        }
        for (end, count) in [(CallEnd.client, 7), (.server, 9)] {
            let delivered = call.observations.compactMap { _, what -> UInt32? in
                if case .delivered(end, let message) = what { message } else { nil }
            }
            #expect(delivered == (1...UInt32(count)).map { $0 })
        }
    }

    @Test("A bye that finds the line given up, or the call ended, was read by nobody") func unreadBye() throws {
        #expect(try run().facts.byeDeliveredToServer)

        let late = try run {
            $0.faults = [self.fault(.drop, at: .active, after: .seconds(1), for: .milliseconds(7_500))]
        }
        let hungUpAt = try #require(late.facts.clientHungUpAt)
        #expect(
            late.observations.contains { at, what in
                if case .arrived(.server, .line, _, _) = what { at > hungUpAt + .seconds(1) } else { false }
            })
        #expect(outcome(late, .server).map { if case .ended(.failed) = $0 { true } else { false } } == true)
        #expect(!late.facts.byeDeliveredToServer)

        // The line takes 25 ms each way.
        var hangUp = fault(.hangUp, after: .milliseconds(6_010))
        hangUp.end = .server
        let crossing = try run { $0.faults = [hangUp] }
        #expect(outcome(crossing, .server) == .ended(.local))
        #expect(!crossing.facts.byeDeliveredToServer && !crossing.facts.byeDeliveredToClient)

        var judge = Judge()
        #expect(judge.judge(late).violations == [])
        #expect(judge.judge(crossing).violations == [])
    }

    @Test("An end that sleeps takes what came meanwhile when it wakes") func suspended() throws {
        var asleep = fault(.suspend, at: .active, after: .seconds(1), for: .seconds(1))
        asleep.end = .client
        let call = try run { $0.faults = [asleep] }
        let active = try #require(instant(call, .active))
        let sent = call.observations.count { at, what in
            guard case .sent(.client, _, _, _) = what else { return false }
            return at > active + .milliseconds(1_001) && at < active + .milliseconds(1_999)
        }
        #expect(sent == 0)
        #expect(outcome(call, .client) == .ended(.local))
    }

    @Test("Who sleeps as its line is reset has closed it when it wakes, whatever it still had to write")
    func resetAsleep() throws {
        var asleep = fault(.suspend, at: .active, after: .seconds(1), for: .seconds(3))
        asleep.end = .server
        var hangUp = fault(.hangUp, at: .active, after: .seconds(2))
        hangUp.end = .client
        let call = try run {
            $0.client.preference = .websocket
            $0.faults = [asleep, hangUp, self.fault(.cutReset, at: .active, after: .milliseconds(3_500))]
        }
        #expect(outcome(call, .server) == .ended(.remote))
        #expect(!call.facts.serverKeepsLine)
    }

    @Test("Forged and replayed datagrams reach the ends and end nothing") func forged() throws {
        let verbs: [FaultVerb] = [
            .forgeCheck, .forgeOldCheck, .forgeMedia, .replayHandshake, .replayMedia, .forgeMessage, .forgeJunk,
        ]
        let call = try run { scenario in
            for (index, verb) in verbs.enumerated() {
                var fault = self.fault(verb, at: .active, after: .milliseconds(Int64(200 * (index + 1))))
                fault.end = .both
                scenario.faults.append(fault)
            }
        }
        #expect(outcome(call, .client) == .ended(.local))
        #expect(reason(call) == nil)
        #expect(heard(call, by: .client).count > 270)
        #expect(heard(call, by: .server).count > 270)
    }
}
