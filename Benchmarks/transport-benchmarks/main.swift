internal import Glibc

/// Writes a line to standard output, or to standard error when that is the report's.
func say(_ text: String, toErrors: Bool) {
    _ = writeAll(text + "\n", to: toErrors ? STDERR_FILENO : STDOUT_FILENO)
}

/// Runs what the command line asks for and returns the exit code.
func run(_ arguments: some Sequence<String>) -> Int32 {
    let options: Options
    do throws(Options.Failure) {
        options = try Options(arguments)
    } catch {
        say("error: \(error.text)\n\(Options.usage)", toErrors: true)
        return 64
    }
    if options.help {
        say("\(Options.usage)\n\(Command.list)", toErrors: false)
        return 0
    }
    let chosen = (Micro.benchmarks + ICE.benchmarks + Handshakes.benchmarks).filter { options.wants($0.name) }
    if options.list {
        for benchmark in chosen { say(benchmark.name, toErrors: false) }
        return 0
    }
    guard !chosen.isEmpty else {
        say("error: no benchmark's name contains \(options.filters.joined(separator: " or "))", toErrors: true)
        return 64
    }
    let isQuiet = options.json == "-"
    if Report.configuration == "debug" { say("warning: a debug build; build with -c release", toErrors: true) }
    say(Report.header, toErrors: isQuiet)
    let harness = Harness(samples: options.samples)
    var measurements: [Measurement] = []
    // One after the other, or all at once in turns: then what disturbs the machine disturbs all of them.
    let groups = options.interleaves ? [chosen] : chosen.map { [$0] }
    for group in groups {
        for measurement in harness.measure(group) {
            measurements.append(measurement)
            say(Report.line(measurement), toErrors: isQuiet)
        }
    }
    if let path = options.json,
        !Report(measurements: measurements, samples: options.samples).write(to: path)
    {
        say("error: cannot write \(path)", toErrors: true)
        return 71
    }
    return options.checks ? check(measurements, of: chosen, harness: harness) : 0
}

/// Says which rows are over their limit; the exit code. What was over is measured again a few times: a neighbour on the
/// machine goes away, a slow operation stays slow.
func check(_ measurements: [Measurement], of benchmarks: [Benchmark], harness: Harness) -> Int32 {
    guard measurements.contains(where: { $0.limit != nil }) else {
        say("error: no row that was measured has a limit", toErrors: true)
        return 1
    }
    var over = measurements.filter(\.isOverLimit)
    for _ in 0..<5 where !over.isEmpty {
        let names = over.map(\.name)
        over = harness.measure(benchmarks.filter { names.contains($0.name) }).filter(\.isOverLimit)
    }
    for row in over {
        say("error: \(row.name) took \(row.minimum) ns at best, \(row.limit ?? 0) are allowed", toErrors: true)
    }
    return over.isEmpty ? 0 : 1
}

let arguments = CommandLine.arguments.dropFirst()
if let command = arguments.first.flatMap(Command.init) { exit(await command.run(Array(arguments.dropFirst()))) }
exit(run(arguments))
