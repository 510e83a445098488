/// What `transport-benchmarks recovery` and `fallback` are asked for.
struct TrialOptions: Equatable {
    enum Kind: String {
        /// The machines of both ends on a modelled network, reproducible by seed.
        case virtual
        /// Sessions and an endpoint on loopback sockets, a relay in between.
        case sockets
    }

    static func usage(_ command: String, virtualCalls: Int, socketCalls: Int) -> String {
        """
        transport-benchmarks \(command) virtual|sockets [--calls N] [--case TEXT] [--at-once N] [--seed N] [--quick]
                                                        [--json FILE]
          virtual | sockets    machines on a modelled network, or real calls on loopback through the relay
          --calls N            calls of each case (default \(virtualCalls) virtual, \(socketCalls) on sockets)
          --case TEXT          only cases whose name contains TEXT; may be repeated
          --at-once N          calls at one time, 1 to 32 (default: the cores virtual, 4 on sockets)
          --seed N             of the first call; the next ones follow (default 1)
          --quick              few calls: for CI
          --json FILE          the report as JSON as well; - is standard output, the table then goes to standard error
        """
    }

    var kind = Kind.virtual
    var calls: Int
    var cases: [String] = []
    var atOnce: Int?
    var seed: UInt64 = 1
    var json: String?

    init(
        _ arguments: some Sequence<String>, command: String, virtualCalls: Int, socketCalls: Int
    ) throws(Options.Failure) {
        var rest = Array(arguments)[...]
        guard let word = rest.popFirst() else { throw .missingValue(command) }
        guard let kind = Kind(rawValue: word) else { throw .unknown(word) }
        self.kind = kind
        calls = kind == .virtual ? virtualCalls : socketCalls
        while let option = rest.popFirst() {
            if option == "--quick" {
                calls = kind == .virtual ? 4 : 1
                continue
            }
            guard let value = rest.popFirst() else { throw .missingValue(option) }
            let failure = Options.Failure.badValue(option: option, value: value)
            switch option {
            case "--calls":
                guard let number = Int(value), (1...100_000).contains(number) else { throw failure }
                calls = number
            case "--at-once":
                guard let number = Int(value), (1...32).contains(number) else { throw failure }
                atOnce = number
            case "--seed":
                guard let number = UInt64(value) else { throw failure }
                seed = number
            case "--case": cases.append(value)
            case "--json": json = value
            default: throw .unknown(option)
            }
        }
    }

    func wants(_ name: String) -> Bool { cases.isEmpty || cases.contains { name.contains($0) } }
}
