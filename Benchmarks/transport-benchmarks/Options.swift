/// What the command line asks for.
struct Options: Equatable {
    enum Failure: Error, Equatable {
        case unknown(String)
        case missingValue(String)
        case badValue(option: String, value: String)

        var text: String {
            switch self {
            case .unknown(let option): "unknown argument \(option)"
            case .missingValue(let option): "\(option) needs a value"
            case .badValue(let option, let value): "\(value) is no value for \(option)"
            }
        }
    }

    static let usage = """
        transport-benchmarks [--list] [--filter TEXT] [--samples N] [--interleave] [--json FILE] [--check]
          --list           names only
          --filter TEXT    only benchmarks whose name contains TEXT; may be repeated
          --samples N      samples a benchmark, 1 to 100000 (default \(Harness.defaultSamples))
          --interleave     samples of all benchmarks in turns: for ratios between them
          --json FILE      the report as JSON; - is standard output, the table then goes to standard error
          --check          exit with 1 when a row is over its limit at every try, or no row has one
        """

    var list = false
    var help = false
    var filters: [String] = []
    var samples = Harness.defaultSamples
    var interleaves = false
    var json: String?
    var checks = false

    init(_ arguments: some Sequence<String>) throws(Failure) {
        var arguments = Array(arguments)[...]
        while let argument = arguments.popFirst() {
            switch argument {
            case "--list": list = true
            case "--help", "-h": help = true
            case "--filter": filters.append(try Self.value(of: argument, &arguments))
            case "--interleave": interleaves = true
            case "--check": checks = true
            case "--json": json = try Self.value(of: argument, &arguments)
            case "--samples":
                let value = try Self.value(of: argument, &arguments)
                guard let number = Int(value), (1...100_000).contains(number) else {
                    throw .badValue(option: argument, value: value)
                }
                samples = number
            default: throw .unknown(argument)
            }
        }
    }

    func wants(_ name: String) -> Bool { filters.isEmpty || filters.contains { name.contains($0) } }

    private static func value(of option: String, _ rest: inout ArraySlice<String>) throws(Failure) -> String {
        guard let value = rest.popFirst() else { throw .missingValue(option) }
        return value
    }
}
