import CallSimulation
import ICELite
import Testing
import Transport

@Suite("A scenario as text") struct ScenarioTextTests {
    @Test("What is written is read as the same scenario, whatever the generator writes")
    func roundTrip() throws {
        for seed in 0..<500 {
            let scenario = ScenarioGenerator.scenario(seed: UInt64(seed))
            #expect(try Scenario(parsing: scenario.text) == scenario, "seed \(seed): \(scenario.text)")
        }
    }

    @Test("A scenario written by hand") func byHand() throws {
        let text = """
            # A path that goes for longer than its window, and the line is cut as the call goes over to it.
            seed 8812 duration 41s
            client preference=webrtc recovery=endCall wrap=7.5s messages=12:40..900
            server answer=usable
            net wlan0 v6=yes nat=portRestricted:30s
            net wlan0.udp up=38ms down=38.5ms jitter=normal:6ms loss=2%:2 rate=300000
            at first_audio+7.31s drop wlan0.udp both for 10.02s
            at bridge_on+1RTT cut-rst line
            at selected hangup client
            at deadline(recoveryWindow)-1us delay all.tcp down for 1s 40ms
            at end(0)+0.5RTT forge-check
            heal 20s line
            """
        let scenario = try Scenario(parsing: text)
        #expect(scenario.seed == 8812)
        #expect(scenario.duration == .seconds(41))
        #expect(scenario.client.recovery == .endCall)
        #expect(scenario.client.wrap == .milliseconds(7_500) && scenario.server.wrap == nil)
        #expect(scenario.networks.map(\.name) == ["wlan0"])
        #expect(scenario.networks[0].udp.down == .microseconds(38_500))
        #expect(scenario.networks[0].udp.loss == 2_000)
        #expect(scenario.faults.count == 5)
        #expect(scenario.faults[0].offset == .time(.milliseconds(7_310)))
        #expect(scenario.faults[0].length == .milliseconds(10_020))
        #expect(scenario.faults[1].offset == .halfRoundTrips(2))
        #expect(scenario.faults[3].anchor == .deadline(.recoveryWindow))
        #expect(scenario.faults[3].offset == .time(-1_000))
        #expect(scenario.faults[4].anchor == .end(0))
        #expect(scenario.healing == Scenario.Healing(at: .seconds(20), carriage: .line))
        #expect(try Scenario(parsing: scenario.text) == scenario)
    }

    @Test(
        "A line that is none is named by its number",
        arguments: [
            "nonsense", "seed x duration 1s", "seed 1 duration 1", "client preference=maybe", "server refuse=200",
            "net wlan0.udp loss=120%:1", "at nowhere drop all both for 1s", "at start drop all sideways for 1s",
            "at start drop all both for 1.0000000001s", "at start rate all up for 1s", "at start drop all both 3",
            "heal 1s everything", "at end(x) rebind all", "net a.b.c v6=yes", "seed 1 duration -1s", "heal -1s path",
            "net wlan0.udp up=-3ms", "client stall=-1ms", "at active+-1s rebind all", "at active drop all both for -1s",
            "at active delay all both for 1s -3ms", "server wrap=-1s",
        ])
    func badLine(line: String) {
        #expect(throws: ScenarioError.badLine(2, line)) { try Scenario(parsing: "# first\n" + line) }
    }

    @Test("The message has the line's number and form") func badLineMessage() {
        #expect {
            try Scenario(parsing: "seed 1 duration 5s\n\nheal soon path")
        } throws: {
            "\($0)" == "line 3: \"heal soon path\" is not: heal LENGTH path|line"
        }
    }

    @Test(
        "A line that names what there is not is refused with its number and with what would be right",
        arguments: [
            ("at active rebind wlan1", "there is no network \"wlan1\"; there are wlan0, lte0, all"),
            ("at active drop eth0.udp both for 1s", "there is no network \"eth0\""),
            ("at end(3) rebind all", "there is no fault 3; places count from 0, the last is 2"),
            ("at begin(2) rebind all", "fault 2 waits for itself"),
            ("at active-1s rebind all", "a negative offset needs an anchor deadline"),
            ("at end(0)-1RTT rebind all", "a negative offset needs an anchor deadline"),
            ("at deadline(selectResend)-3s rebind all", "goes back -2s at most"),
            ("net wlan0.udp jitter=trace:moon", "there is no trace \"moon\"; there are"),
        ])
    func impossible(line: String, sentence: String) {
        let text = "net wlan0\nat active rebind wlan0\nat begin(0)+1s mute client\n\(line)\nnet lte0\n"
        #expect {
            try Scenario(parsing: text)
        } throws: { error in
            guard case .impossible(4, let why)? = error as? ScenarioError else { return false }
            return why.contains(sentence) && "\(error)" == "line 4: \(why)"
        }
    }

    @Test("Faults that wait for each other are refused; one that waits for a later one is not") func order() throws {
        #expect(throws: ScenarioError.self) { try Scenario(parsing: "at begin(1) rebind all\nat end(0) rebind all") }
        let later = try Scenario(parsing: "at end(1) rebind all\nat active drop all both for 1s")
        #expect(later.faults[0].anchor == .end(1))
    }

    @Test("A text of too many lines is not read") func tooLong() {
        #expect(throws: ScenarioError.tooLong) {
            try Scenario(parsing: String(repeating: "\n", count: Scenario.lineLimit + 1))
        }
    }
}

@Suite("The generator") struct ScenarioGeneratorTests {
    @Test("A seed always writes the same scenario") func sameAgain() {
        for seed in 0..<50 {
            let first = ScenarioGenerator.scenario(seed: UInt64(seed))
            #expect(first == ScenarioGenerator.scenario(seed: UInt64(seed)))
            #expect(first.text != ScenarioGenerator.scenario(seed: UInt64(seed) + 1).text)
        }
    }

    @Test("A calm scenario has no fault, little loss and little jitter; about one in seven is calm") func calm() {
        let scenarios = (0..<2_000).map { ScenarioGenerator.scenario(seed: $0) }
        let calm = scenarios.filter(\.isCalm)
        #expect((200...400).contains(calm.count))
        for scenario in calm {
            #expect(scenario.faults.isEmpty && scenario.healing == nil)
            for network in scenario.networks {
                #expect(network.udp.loss <= 5_000 && network.tcp.loss <= 5_000, "\(scenario.text)")
                #expect(network.udp.rate == nil)
            }
        }
    }

    @Test("Every verb, every anchor and every kind of server is drawn") func coverage() {
        let scenarios = (0..<5_000).map { ScenarioGenerator.scenario(seed: $0) }
        let faults = scenarios.flatMap(\.faults)
        for verb in FaultVerb.allCases { #expect(faults.contains { $0.verb == verb }, "\(verb)") }
        for milestone in Milestone.allCases {
            #expect(faults.contains { $0.anchor == .milestone(milestone) }, "\(milestone)")
        }
        for deadline in FaultDeadline.allCases {
            #expect(faults.contains { $0.anchor == .deadline(deadline) }, "\(deadline)")
        }
        for answer in Scenario.ServerPart.Answer.allCases {
            #expect(scenarios.contains { $0.server.answer == answer }, "\(answer)")
        }
        #expect(scenarios.allSatisfy { $0.faults.count <= 8 })
        let healing = scenarios.count { $0.healing != nil }
        #expect((1_500...2_800).contains(healing))
        // A healing call lives long enough to be judged.
        #expect(scenarios.allSatisfy { ($0.healing?.at ?? .min) <= $0.duration - .seconds(20) })
    }

    @Test("What other draws hardly ever come to is drawn: timestamps that begin again, one pair refused…")
    func rarities() {
        let scenarios = (0..<5_000).map { ScenarioGenerator.scenario(seed: $0) }
        let wrapping = scenarios.filter { $0.client.wrap != nil || $0.server.wrap != nil }
        #expect((1_200...1_600).contains(wrapping.count))
        #expect(wrapping.allSatisfy { max($0.client.wrap ?? 0, $0.server.wrap ?? 0) < .seconds(20) })
        let oneRefused = scenarios.count { scenario in
            scenario.faults.contains {
                $0.verb == .reject && $0.anchor == .milestone(.start) && $0.length == .seconds(20)
                    && ($0.target.interface != nil || $0.target.family != nil)
            }
        }
        #expect(oneRefused >= 20)
        let asleep = scenarios.count { scenario in
            scenario.client.preference == .websocket
                && scenario.faults.contains {
                    $0.verb == .suspend && $0.anchor == .milestone(.helloSent) && $0.length >= .seconds(1)
                }
        }
        #expect(asleep >= 20)
        let moved = scenarios.count { scenario in
            scenario.networks.count == 2 && scenario.faults.count == 7 && scenario.faults[4].verb == .restartNeeded
                && scenario.faults[5].anchor == .beginning(4) && scenario.faults[5].target.interface != nil
        }
        #expect(moved >= 20)
    }

    @Test("Calls last 5 to 40 s, 20 on average") func durations() {
        let durations = (0..<2_000).map { ScenarioGenerator.scenario(seed: $0) }.filter { $0.healing == nil }
            .map(\.duration)
        #expect(durations.allSatisfy { (Nanoseconds.seconds(5)...Nanoseconds.seconds(40)).contains($0) })
        let mean = durations.reduce(0, +) / Int64(durations.count)
        #expect((Nanoseconds.seconds(17)...Nanoseconds.seconds(23)).contains(mean))
    }
}
