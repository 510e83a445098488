/// What the program does beside the benchmarks by name: its first argument.
enum Command: String, CaseIterable {
    case echo
    case setup
    case handshakes
    case fallback
    case recovery
    case soak
    case allocations

    /// One line of what it measures or checks.
    private var summary: String {
        switch self {
        case .echo: "CPU a packet of an endpoint that relays, beside the same program in C"
        case .setup: "from the hello to the agent's first frame: `virtual` or `sockets`"
        case .handshakes: "handshakes in a row, which must all complete and leave nothing behind"
        case .fallback: "time to audio, and the reason, of calls whose UDP dies on the way: `virtual` or `sockets`"
        case .recovery: "detection, repair and gap of outages in active calls: `virtual` or `sockets`"
        case .soak: "what calls in a row leave behind; exits with 1 when something is"
        case .allocations: "what a packet allocates; exits with 1 when it is more than it may be"
        }
    }

    /// Its arguments.
    private var usage: String {
        switch self {
        case .echo: EchoRun.usage
        case .setup: SetupOptions.usage
        case .handshakes: HandshakeRun.usage
        case .fallback: FallbackRun.usage
        case .recovery: OutageRun.usage
        case .soak: SoakRun.usage
        case .allocations: "transport-benchmarks allocations"
        }
    }

    /// All of them, a line each, for the program's own help.
    static var list: String {
        let lines = allCases.map { command in
            "  \(command.rawValue)" + String(repeating: " ", count: 17 - command.rawValue.count) + command.summary
        }
        return (["transport-benchmarks COMMAND …, with --help for its arguments"] + lines).joined(separator: "\n")
    }

    /// Runs it and returns the exit code.
    func run(_ arguments: [String]) async -> Int32 {
        if arguments.contains("--help") || arguments.contains("-h") {
            say("\(usage)\n\(summary)", toErrors: false)
            return 0
        }
        return switch self {
        case .echo: EchoRun.run(arguments)
        case .setup: await SetupRun.run(arguments)
        case .handshakes: HandshakeRun.run(arguments)
        case .fallback: await FallbackRun.run(arguments)
        case .recovery: await OutageRun.run(arguments)
        case .soak: await SoakRun.run(arguments)
        case .allocations: AllocationCheck.run()
        }
    }
}
