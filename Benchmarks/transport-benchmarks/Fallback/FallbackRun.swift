internal import Transport
internal import TransportTestKit

/// `transport-benchmarks fallback`: how soon a call is heard where UDP does not work, and for what reason it says.
enum FallbackRun {
    private static let virtualCalls = 20
    private static let socketCalls = 20
    private static let roundTrip = 100
    private static let patience = Duration.seconds(30)

    /// Its arguments.
    static let usage = TrialOptions.usage("fallback", virtualCalls: virtualCalls, socketCalls: socketCalls)

    /// Runs it and returns the exit code: 0 when every call was made and heard.
    static func run(_ arguments: [String]) async -> Int32 {
        let options: TrialOptions
        do throws(Options.Failure) {
            options = try TrialOptions(
                arguments, command: "fallback", virtualCalls: virtualCalls, socketCalls: socketCalls)
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
        say(FallbackCell.header, toErrors: isQuiet)
        var cells: [FallbackCell] = []
        for fallbackCase in FallbackCase.allCases where options.wants(fallbackCase.rawValue) {
            let samples = await TrialRun.samples(options) { seed in
                guard let site else { return VirtualFallback(fallbackCase: fallbackCase).call(seed: seed) }
                return await call(fallbackCase, at: site, seed: seed)
            }
            cells.append(FallbackCell(fallbackCase: fallbackCase, samples: samples))
            say(cells[cells.count - 1].line, toErrors: isQuiet)
        }
        let json = """
            {
              "schema": "graine.benchmarks.fallback/1", "configuration": "\(Report.configuration)",
              "kind": "\(options.kind.rawValue)", "cells": [
            \(cells.map(\.json).joined(separator: ",\n"))
              ]
            }

            """
        if let path = options.json, !write(json, to: path) {
            say("error: cannot write \(path)", toErrors: true)
            return 71
        }
        let isSound = cells.allSatisfy { cell in
            cell.samples.count == options.calls && cell.samples.allSatisfy { $0.firstAudio != nil }
        }
        return isSound ? 0 : 1
    }

    /// One call on sockets, hung up once it is active; nil when it cannot be made.
    private static func call(_ fallbackCase: FallbackCase, at site: TrialSite, seed: UInt64) async -> FallbackSample? {
        let placed = site.place(
            seed: seed, roundTrip: roundTrip, udp: fallbackCase.reachability, passes: fallbackCase.passes
        ) { $0.handshake = fallbackCase.handshake }
        guard let placed else { return nil }
        let (session, relay) = (placed.session, placed.relay)
        defer { relay.stop() }
        let deadline = ContinuousClock.now + patience
        while session.snapshot.state != .active, session.snapshot.outcome == nil, ContinuousClock.now < deadline {
            try? await Task.sleep(for: .milliseconds(5))
        }
        let snapshot = session.snapshot
        session.end()
        _ = await session.outcome()
        var sample = FallbackSample()
        guard let hello = snapshot.setup.hello else { return sample }
        sample.firstAudio = snapshot.setup.firstAudio.map { ($0 - hello) / .milliseconds(1) }
        sample.chosen = snapshot.fallback.map { $0.elapsed / .milliseconds(1) }
        sample.end =
            snapshot.fallback.map { "\($0.reason), \($0.stage.rawValue)" } ?? snapshot.transport?.rawValue ?? "nothing"
        return sample
    }
}
