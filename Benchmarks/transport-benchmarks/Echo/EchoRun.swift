internal import Glibc
internal import TransportMedia

/// `transport-benchmarks echo`: CPU a packet of the endpoint's own parts relaying SRTP, beside the same program in C, in turns.
enum EchoRun {
    static let usage = """
        transport-benchmarks echo [--profile gcm|sha1] [--rounds N] [--bursts N] [--size N] [--pairs N] [--least PERCENT]
                                  [--json FILE]
          --rounds N       turns of each program, 3 to 1000 (default 30)
          --bursts N       bursts a turn, 1 to 100000 (default 100)
          --size N         packets of each peer in a burst, 1 to 64 (default 16)
          --pairs N        calls of two peers, 1 to 16 (default 2)
          --least PERCENT  fail below this share of C, 1 to 200 (default: measure only)
          --json FILE      the report as JSON as well; - is standard output, the table then goes to standard error
        """

    private static let programs = ["echo-relay-c", "echo-relay"]

    private struct Plan {
        var profile = "gcm"
        var rounds = 30
        var bursts = 100
        var size = 16
        var pairs = 2
        var least: Int?
        var json: String?
    }

    /// Runs it and returns the exit code.
    static func run(_ arguments: [String]) -> Int32 {
        guard let plan = plan(arguments) else {
            say(usage, toErrors: true)
            return 64
        }
        let isQuiet = plan.json == "-"
        if Report.configuration == "debug" { say("warning: a debug build; build with -c release", toErrors: true) }
        let profile = plan.profile == "gcm" ? SRTPProfile.aeadAES128GCM : .aes128CMHMACSHA1_80
        var sides: [(load: EchoLoad, relay: EchoProcess)] = []
        for program in programs {
            guard let load = EchoLoad(profile: profile, pairs: plan.pairs),
                let relay = EchoProcess(program, profile: plan.profile, peers: load.ports)
            else {
                say("error: \(program) cannot be had; Scripts/bench.sh builds it", toErrors: true)
                return 71
            }
            sides.append((load, relay))
        }
        var times = [[Double]](repeating: [], count: sides.count)
        let perTurn = plan.bursts * plan.size * plan.pairs * 2
        // The first turns warm up. Then who goes first changes from round to round.
        for round in 0...plan.rounds {
            for step in sides.indices {
                let side = round % 2 == 0 ? step : sides.count - 1 - step
                let (load, relay) = sides[side]
                let before = relay.cpuTime
                let returned = load.run(bursts: plan.bursts, size: plan.size, to: relay.port)
                let used = relay.cpuTime - before
                guard returned == perTurn, load.broken == 0 else {
                    say(
                        "error: \(relay.name): \(returned) of \(perTurn) packets came back, \(load.broken) broken",
                        toErrors: true)
                    return 1
                }
                if round > 0 { times[side].append(Double(used) / Double(returned)) }
            }
        }
        let report = EchoReport(
            profile: plan.profile, packets: plan.rounds * perTurn, verified: sides.map(\.load.verified), c: times[0],
            swift: times[1])
        say(report.text, toErrors: isQuiet)
        if let path = plan.json, !write(report.json, to: path) {
            say("error: cannot write \(path)", toErrors: true)
            return 71
        }
        if let least = plan.least, report.share * 100 < Double(least) {
            say("error: \(fixed(report.share * 100, 1)) % of C is below \(least) %", toErrors: true)
            return 1
        }
        return 0
    }

    private static func plan(_ arguments: [String]) -> Plan? {
        var plan = Plan()
        var rest = arguments[...]
        while let option = rest.popFirst() {
            guard let value = rest.popFirst() else { return nil }
            switch (option, Int(value)) {
            case ("--json", _): plan.json = value
            case ("--profile", _) where value == "gcm" || value == "sha1": plan.profile = value
            case ("--rounds", let number?) where (3...1_000).contains(number): plan.rounds = number
            case ("--bursts", let number?) where (1...100_000).contains(number): plan.bursts = number
            case ("--size", let number?) where (1...64).contains(number): plan.size = number
            case ("--pairs", let number?) where (1...16).contains(number): plan.pairs = number
            case ("--least", let number?) where (1...200).contains(number): plan.least = number
            default: return nil
            }
        }
        return plan
    }
}
