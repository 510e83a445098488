import CallSimulation
import Foundation
import ICELite

/// Runs simulated calls and judges them. Exit status 1 when a rule was broken, 2 for wrong arguments, 65 for a file that is
/// no scenario and for one that has nothing to shrink.
@main struct CallSimulationCommand {
    static func main() throws {
        #if MUTANTS
        if CommandLine.arguments.dropFirst().first == "mutants" {
            return try MutantHunt.run(Array(CommandLine.arguments.dropFirst(2)))
        }
        // One call with a fault in it, to be looked at.
        if let name = ProcessInfo.processInfo.environment["GRAINE_MUTANT"] {
            guard let mutant = Mutant(rawValue: name) else { refuse(name, "there is no such mutant") }
            Mutant.current = mutant
        }
        #endif
        guard let arguments = Arguments(Array(CommandLine.arguments.dropFirst())) else {
            try? FileHandle.standardError.write(contentsOf: Data(Arguments.usage.utf8))
            exit(2)
        }
        switch arguments {
        case .run(let seeds, let processes, let isJSON):
            let tally = processes == 1 ? try tally(seeds, part: 0, of: 1) : try runInProcesses(seeds, processes)
            print(isJSON ? String(decoding: try JSONEncoder().encode(tally), as: UTF8.self) : tally.text)
            exit(tally.failures.isEmpty ? 0 : 1)
        case .part(let seeds, let part, let count):
            let tally = try tally(seeds, part: part, of: count)
            try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(tally))
        case .replay(let source): try replay(scenario(source))
        case .trace(let source): try trace(scenario(source))
        case .shrink(let source, let invariant): try shrink(source, breaking: invariant)
        case .text(let seed): print(ScenarioGenerator.scenario(seed: seed).text, terminator: "")
        }
    }

    /// The scenario of a seed or in a file; a message and exit status 65 where there is none.
    private static func scenario(_ source: Arguments.Source) -> Scenario {
        switch source {
        case .seed(let seed): return ScenarioGenerator.scenario(seed: seed)
        case .file(let path):
            guard let data = try? Data(contentsOf: URL(filePath: path)) else {
                refuse(path, "there is no such file to read")
            }
            do throws(ScenarioError) {
                return try Scenario(parsing: String(decoding: data, as: UTF8.self))
            } catch {
                refuse(path, error.description)
            }
        }
    }

    private static func refuse(_ what: String, _ why: String) -> Never {
        try? FileHandle.standardError.write(contentsOf: Data("error: \(what): \(why)\n".utf8))
        exit(65)
    }

    private static func tally(_ seeds: ClosedRange<UInt64>, part: UInt64, of count: UInt64) throws -> Tally {
        let simulation = try Simulation()
        var judge = Judge()
        var tally = Tally()
        var coverage = CoverageTally()
        let start = cpuSeconds()
        for seed in seeds where seed % count == part {
            let call = try simulation.run(ScenarioGenerator.scenario(seed: seed))
            let verdict = judge.judge(call)
            tally.add(call, verdict)
            coverage.add(verdict, of: call)
            simulation.reuse(call)
        }
        tally.coverage = coverage.numbers
        tally.cpuSeconds = cpuSeconds() - start
        return tally
    }

    /// One process a part, nothing shared; their tallies are added.
    private static func runInProcesses(_ seeds: ClosedRange<UInt64>, _ count: Int) throws -> Tally {
        let processes = try (0..<count).map { part in
            let process = Process()
            process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
            process.arguments = [
                "part", "--seeds", "\(seeds.lowerBound)..\(seeds.upperBound)", "--processes", "\(count)", "--part",
                "\(part)",
            ]
            let pipe = Pipe()
            process.standardOutput = pipe
            try process.run()
            return (process, pipe)
        }
        var sum = Tally()
        for (process, pipe) in processes {
            let data = pipe.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            sum.add(try JSONDecoder().decode(Tally.self, from: data))
        }
        return sum
    }

    private static func replay(_ scenario: Scenario) throws {
        let simulation = try Simulation()
        let call = try simulation.run(scenario)
        var judge = Judge()
        let verdict = judge.judge(call)
        print(scenario.text)
        for line in Timeline.lines(of: call, breaking: verdict.violations) { print(line) }
        print("trace hash \(String(call.facts.traceHash, radix: 16)), over at \(seconds(call.facts.endedAt))")
        exit(verdict.violations.isEmpty ? 0 : 1)
    }

    private static func trace(_ scenario: Scenario) throws {
        let simulation = try Simulation()
        let call = try simulation.run(scenario)
        for (at, what) in call.observations { print(TimelineTrace.line(what, at: at)) }
    }

    /// Prints a small scenario that breaks the same rule; the first that is broken unless one is named.
    private static func shrink(_ source: Arguments.Source, breaking named: Invariant?) throws {
        let scenario = scenario(source)
        let simulation = try Simulation()
        var judge = Judge()
        let verdict = judge.judge(try simulation.run(scenario))
        let invariant: Invariant
        do throws(ShrinkRefusal) {
            invariant = try verdict.invariantToShrink(named: named)
        } catch {
            switch source {
            case .seed(let seed): refuse("seed \(seed)", error.description)
            case .file(let path): refuse(path, error.description)
            }
        }
        var shrinker = Shrinker(scenario, breaking: invariant) { try? simulation.run($0) }
        let small = shrinker.shrink()
        print("# \(shrinker.replays) replays, invariant \(invariant.rawValue) (\(invariant.title))")
        try replay(small)
    }

    private static func seconds(_ at: Instant) -> String { String(format: "%.6f s", Double(at.nanoseconds) / 1e9) }

    private static func cpuSeconds() -> Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
            + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
    }
}
