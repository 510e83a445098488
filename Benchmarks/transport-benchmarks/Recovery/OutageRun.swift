/// `transport-benchmarks recovery`: how an active call comes out of each kind of outage.
enum OutageRun {
    private static let virtualCalls = 200
    private static let socketCalls = 10

    /// Its arguments.
    static let usage = TrialOptions.usage("recovery", virtualCalls: virtualCalls, socketCalls: socketCalls)

    /// Runs it and returns the exit code: 0 when every call was made and ended as its outage has it.
    static func run(_ arguments: [String]) async -> Int32 {
        let options: TrialOptions
        do throws(Options.Failure) {
            options = try TrialOptions(
                arguments, command: "recovery", virtualCalls: virtualCalls, socketCalls: socketCalls)
        } catch {
            say("error: \(error.text)\n\(usage)", toErrors: true)
            return 64
        }
        let isQuiet = options.json == "-"
        if Report.configuration == "debug" { say("warning: a debug build; build with -c release", toErrors: true) }
        let site: TrialSite?
        do {
            site = options.kind == .sockets ? try TrialSite() : nil
        } catch {
            say("error: \(error)", toErrors: true)
            return 71
        }
        defer { site?.close() }
        say(OutageCell.header, toErrors: isQuiet)
        var cells: [OutageCell] = []
        for outageCase in OutageCase.allCases where options.wants(outageCase.rawValue) {
            let samples = await TrialRun.samples(options) { seed in
                guard let site else { return VirtualOutage(outageCase: outageCase).call(seed: seed) }
                return await SocketOutage(outageCase: outageCase, site: site).call(seed: seed)
            }
            cells.append(OutageCell(outageCase: outageCase, samples: samples))
            say(cells[cells.count - 1].line, toErrors: isQuiet)
        }
        let json = """
            {
              "schema": "graine.benchmarks.recovery/1", "configuration": "\(Report.configuration)",
              "kind": "\(options.kind.rawValue)", "cells": [
            \(cells.map(\.json).joined(separator: ",\n"))
              ]
            }

            """
        if let path = options.json, !write(json, to: path) {
            say("error: cannot write \(path)", toErrors: true)
            return 71
        }
        return cells.allSatisfy { isSound($0, options.calls) } ? 0 : 1
    }

    /// All calls were made, and each is where its outage leaves it.
    private static func isSound(_ cell: OutageCell, _ calls: Int) -> Bool {
        let end =
            switch cell.outageCase {
            case .dead: "websocket"
            case .deadEndCall: "ended failed"
            case .rebind, .interface, .stall, .dead4, .up4, .down4: "webrtc"
            }
        return cell.samples.count == calls && cell.samples.allSatisfy { $0.end == end }
    }
}
