import CallSimulation
import Foundation
import ICELite
import Testing
import Transport

@Suite struct TimelineTests {
    private var call: ObservedCall {
        var call = HandMadeCall()
        var drop = Fault(anchor: .milestone(.active), verb: .drop)
        drop.length = .seconds(1)
        call.call.scenario.faults = [drop]
        call.becomeActive(on: .webrtc)
        for frame: UInt32 in 1...48 {
            call.see(
                .captured(.client, frame: frame),
                .sent(.client, .path(HandMadeCall.path), byteCount: 100, frame: frame),
                .arrived(.server, .path(HandMadeCall.path), byteCount: 100, frame: frame), at: .milliseconds(1_100))
        }
        call.see(.fault(index: 0, isBeginning: true), at: .seconds(2))
        call.see(.sent(.server, .path(HandMadeCall.path), byteCount: 100, frame: 1), at: .milliseconds(2_100))
        call.see(.state(.client, .active, isRecovering: true), at: .seconds(3))
        call.see(.network(pathUp: true, pathDown: false, lineUp: true, lineDown: true), at: .seconds(3))
        call.hangUp(at: .seconds(4))
        return call.call
    }

    @Test func packetsAreFoldedAndStatesAreInCapitals() {
        let lines = Timeline.lines(of: call, breaking: [Violation(.heard, at: .zero, "nothing to hear")])
        #expect(lines.contains { $0.contains("48 audio") && $0.contains("▶ path ──▶") })
        #expect(lines.contains { $0.contains("╳── path ◀") && $0.contains("1 audio") })
        #expect(lines.contains { $0.contains("3.000000 s  RECOVERING") })
        #expect(lines.contains { $0.contains("drop begins") })
        #expect(lines.contains { $0.contains("path ╳──▶  line ◀──▶") })
        #expect(lines.last == "▲ invariant 5 (heard if it could be), 0.000000 s: nothing to hear")
        #expect(lines.count < 25)
    }

    @Test func faultsThatNeverBeganAreCountedAndSayWhy() throws {
        let text = """
            seed 7 duration 4s
            at active+1s rebind all
            at active+30s rebind all
            at restart_sent rebind all
            at end(2) rebind all
            """
        var call = try Simulation().run(Scenario(parsing: text))
        #expect(call.missedFaults.map(\.place) == [1, 2, 3])
        #expect(
            Timeline.lines(of: call, breaking: [Violation(.heard, at: .zero, "nothing to hear")]).suffix(5).dropLast()
                == [
                    "△ 3 of 4 faults never began", "△ fault 1, the call was over: at active+30s rebind all",
                    "△ fault 2, its anchor never came: at restart_sent rebind all",
                    "△ fault 3, its anchor never came: at end(2) rebind all",
                ])
        call.scenario.healing = Scenario.Healing(at: .seconds(20), carriage: .path)
        #expect(call.missedFaults.first?.cause == .healed)
        call.scenario.faults = [call.scenario.faults[0]]
        #expect(!Timeline.lines(of: call).contains { $0.contains("△") })
    }

    @Test func theTraceIsOneJSONObjectALine() throws {
        var all = call.observations
        let nasty = TransportFallback(reason: .unknown("\"\\\n"), stage: .checks, elapsed: .zero, detail: "a\u{1}b")
        all.append((.zero, .choice(.client, epoch: 1, .websocket, nasty)))
        all.append((.zero, .outcome(.client, .ended(.failed(message: "lost")))))
        all.append((.zero, .played(.client, .frame(id: 7, isFirstHalf: false, on: .line))))
        all.append((.zero, .sent(.client, .line(2), byteCount: 5, frame: nil)))
        all.append((.zero, .figures(.server, CallFigures())))
        for (at, what) in all {
            let line = TimelineTrace.line(what, at: at)
            #expect(!line.contains("\n"))
            let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            #expect(object["at"] as? Int64 == at.nanoseconds)
            #expect(object["what"] is String)
        }
        let told = try #require(
            try JSONSerialization.jsonObject(with: Data(TimelineTrace.line(all[all.count - 5].what, at: .zero).utf8))
                as? [String: Any])
        #expect(told["reason"] as? String == "\"\\\n")
        #expect(told["detail"] as? String == "a\u{1}b")
    }
}
