internal import Glibc

/// `transport-benchmarks setup`: how long it takes from the hello to the agent's first word, by network.
enum SetupRun {
    /// Calls at one time on sockets at most, and the milliseconds of round trip that are worth one: where there is little to wait
    /// for, calls side by side would measure each other.
    private static let socketCallsAtOnce = 8
    private static let roundTripOfACall = 25

    /// Runs it and returns the exit code: 0 when every call was heard, 1 when one was not.
    static func run(_ arguments: [String]) async -> Int32 {
        let options: SetupOptions
        do throws(Options.Failure) {
            options = try SetupOptions(arguments)
        } catch {
            say("error: \(error.text)\n\(SetupOptions.usage)", toErrors: true)
            return 64
        }
        let isQuiet = options.json == "-"
        if Report.configuration == "debug" { say("warning: a debug build; build with -c release", toErrors: true) }
        let site: SetupSite?
        do {
            site = options.kind == .sockets ? try SetupSite() : nil
        } catch {
            say("error: \(error)", toErrors: true)
            return 71
        }
        defer { site?.close() }
        say(SetupReport.header, toErrors: isQuiet)
        var cells: [SetupCell] = []
        for network in options.networks {
            let samples = await samples(options, network, site)
            guard samples.count == options.calls else {
                say(
                    "error: \(options.calls - samples.count) of \(options.calls) calls could not be made",
                    toErrors: true)
                return 71
            }
            cells.append(SetupCell(network, samples))
            say(SetupReport.line(cells[cells.count - 1]), toErrors: isQuiet)
        }
        if let path = options.json, !write(SetupReport(kind: options.kind, cells: cells).json, to: path) {
            say("error: cannot write \(path)", toErrors: true)
            return 71
        }
        return cells.allSatisfy { $0.silent == 0 } ? 0 : 1
    }

    /// The calls of one network, several at once.
    private static func samples(
        _ options: SetupOptions, _ network: SetupNetwork, _ site: SetupSite?
    ) async -> [SetupSample] {
        let cores = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        let standard = site == nil ? cores : min(socketCallsAtOnce, network.roundTrip / roundTripOfACall)
        let width = max(1, min(options.atOnce ?? standard, options.calls))
        return await withTaskGroup(of: SetupSample?.self) { group in
            var next = 0
            func begin() {
                let seed = options.seed &+ UInt64(next)
                next += 1
                group.addTask {
                    guard let site else { return VirtualSetup(network: network).call(seed: seed) }
                    return await site.call(on: network, seed: seed)
                }
            }
            for _ in 0..<width { begin() }
            var samples: [SetupSample] = []
            while let sample = await group.next() {
                if let sample { samples.append(sample) }
                if next < options.calls { begin() }
            }
            return samples
        }
    }
}
