import CallSimulation
import Testing

/// Whole calls that broke a rule once, as they were found or shrunk.
@Suite("Calls that once broke a rule") struct MendedCallsTests {
    private struct Case: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var text: String
    }

    @Test(arguments: cases) private func breaksNothing(_ mended: Case) throws {
        var judge = Judge()
        #expect(judge.judge(try Simulation().run(try Scenario(parsing: mended.text))).violations == [])
    }

    private static let cases = [
        Case(
            testDescription: "92 % loss behind a hold: the gaps go, not the voice",
            text: """
                seed 728 duration 43.002s
                client preference=auto recovery=continueOnWebSocket messages=14:40..900
                server answer=usable messages=6:40..900
                net wlan0 v6=yes
                net wlan0.udp up=6.055972ms down=6.055972ms jitter=normal:23.238558ms
                net wlan0.tcp up=10.504588ms down=10.504589ms jitter=normal:397.416us
                net lte0 nat=fullCone:10s
                net lte0.udp up=109.04617ms down=109.046171ms
                net lte0.tcp up=26.939058ms down=26.939058ms loss=0.51%:1
                at start+8.579423326s rate all.udp up for 29.631848s 918759bit
                at begin(0)+1us dup wlan0.udp both for 125.708ms 8.451%
                at hello_sent+4.649724902s loss wlan0.udp up for 6.428551s 92.536%
                at start+5.794966497s rebind wlan0
                at select_sent+155.560533ms interface-down wlan0 for 1.128777s
                at start+15.953085488s drop lte0.udp down for 7.092107s
                at begin(2)+1us rate wlan0 up for 498.77ms 106711bit
                at active+4.734588605s hold all both for 1.10473s
                heal 23.002s line
                """),
        Case(
            testDescription: "95 % loss the other way",
            text: """
                seed 9953 duration 44.694s
                client preference=auto recovery=endCall
                server answer=usable stall=12.8ms
                net wlan0 nat=fullCone:60s
                net wlan0.udp up=10.353167ms down=10.353167ms jitter=normal:10.996621ms
                net wlan0.tcp up=2.297634ms down=2.297634ms jitter=normal:549.75us loss=0.187%:1
                at start+24.699787226s address-change wlan0
                at repaired+335.034365ms route-flap wlan0 for 522.458ms
                at active+77.059873ms loss wlan0.udp down for 12.000001s 94.778%
                heal 24.694s line
                """),
        Case(
            testDescription: "A rate below that of the audio, then nothing",
            text: """
                seed 2928 duration 26.424s
                client preference=webrtc recovery=continueOnWebSocket messages=14:40..900
                server answer=usable messages=6:40..900
                net wlan0 nat=portRestricted:120s
                net wlan0.udp up=6.795225ms down=6.795225ms jitter=normal:36.053315ms loss=0.126%:3 reorder=0.192%
                net wlan0.tcp up=1.777397ms down=1.777397ms reorder=0.789%
                net lte0 v6=yes nat=portRestricted:60s
                net lte0.udp up=32.539706ms down=32.539707ms jitter=trace:loss30 loss=29.207%:5
                net lte0.tcp up=7.502998ms down=7.502998ms jitter=uniform:24.625314ms
                at hello_sent+8.084105826s suspend server for 30.000001s
                at deadline(mediaPatience)+1ms address-change lte0
                at start+24.496236075s route-flap wlan0 for 24.999ms
                at dtls_done+1RTT rate wlan0.udp both for 28.507887s 23710bit
                at start+14.553898741s half-open line down
                at begin(2)+0.5RTT drop wlan0.udp both for 4.999999s
                at active+3.543622584s reject wlan0.udp both for 22.348439s
                heal 6.424s path
                """),
        Case(
            testDescription: "A line that takes no more than 8 kbit/s",
            text: """
                seed 994 duration 46.333s
                client preference=auto recovery=continueOnWebSocket
                server answer=usable
                net wlan0 nat=portRestricted:30s
                net wlan0.udp up=176.55085ms down=176.550851ms jitter=normal:650.386us
                net wlan0.tcp up=138.300761ms down=138.300762ms jitter=uniform:20.29828ms
                at deadline(checkPatience)-1RTT slow-reader line down for 13.827014s 8125bit
                at deadline(handshakePatience)+1ms dup wlan0.udp up for 2.1s 31.424%
                at first_audio+3.839961667s route-flap wlan0 for 200ms
                at start+11.972428967s restart-needed
                at start+24.423835859s cut-fin line
                at begin(2) replay-handshake client
                at active+2.630184575s reject wlan0.udp both for 10s
                heal 26.333s path
                """),
        Case(
            testDescription: "The same upwards",
            text: """
                seed 9784 duration 17.148s
                client preference=auto recovery=continueOnWebSocket messages=10:40..900
                server answer=usable messages=5:40..900
                net wlan0 v6=yes nat=portRestricted:30s
                net wlan0.udp up=1.868162ms down=1.868163ms
                net wlan0.tcp up=2.697671ms down=2.697671ms
                net lte0 nat=portRestricted:10s
                net lte0.udp up=22.883724ms down=65.130601ms
                net lte0.tcp up=22.015028ms down=22.015028ms jitter=normal:12.081518ms reorder=3.057%
                at deadline(handshakePatience) server-requested
                at start+6.45960981s slow-reader line up for 4.75s 8340bit
                at active+31.361536ms forge-message client
                at start+2.407581651s hold wlan0.udp both for 3.84225s
                at start+24.961478823s server-requested
                at start+13.41580698s replay-handshake both
                at start+17.942297484s rebind wlan0
                at active+4.486106214s route-flap wlan0 for 28.35s
                """),
        Case(
            testDescription: "A path 754 ms behind the line, then none",
            text: """
                seed 9210 duration 15.872s
                client preference=webrtc recovery=continueOnWebSocket messages=12:40..8000
                server answer=usable
                net wlan0
                net wlan0.udp up=4.899036ms down=4.899036ms jitter=normal:883.146us loss=5.614%:2 rate=718440 queue=81.78861ms
                net wlan0.tcp up=1.463208ms down=1.463209ms loss=0.619%:1
                at selected+0.5RTT drop wlan0.tcp both for 18.007ms
                at start+7.690515184s delay all.udp both for 3.414063s 753.583ms
                at active+9.616754721s drop wlan0.udp both for 19s
                """),
        Case(
            testDescription: "A path 754 ms behind the line for 3 s",
            text: """
                seed 1 duration 11s
                client preference=auto recovery=continueOnWebSocket
                server answer=usable
                net wlan0
                net wlan0.udp up=25ms down=25ms
                net wlan0.tcp up=25ms down=25ms
                at start+8s delay all.udp both for 3s 753.583ms
                """),
        Case(
            testDescription: "97.6 % loss one way, and a slower pair that is good",
            text: """
                seed 1293 duration 6s
                client preference=auto recovery=continueOnWebSocket
                server answer=usable
                net wlan0
                net wlan0.udp up=25ms down=25ms
                net wlan0.tcp up=25ms down=25ms
                net lte0 v6=yes
                net lte0.udp up=190ms down=190ms
                net lte0.tcp up=30ms down=30ms
                at active loss wlan0.udp up for 30s 97.581%
                """),
    ]
}
