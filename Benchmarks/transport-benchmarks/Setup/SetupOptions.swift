/// What `transport-benchmarks setup` is asked for.
struct SetupOptions: Equatable {
    enum Kind: String {
        /// The machines of both ends on a modelled network, reproducible by seed.
        case virtual
        /// Sessions and an endpoint on loopback sockets, a relay in between.
        case sockets
    }

    static let usage = """
        transport-benchmarks setup virtual|sockets [--calls N] [--rtt LIST] [--loss LIST] [--hello-in-offer on|off|both]
                                                   [--at-once N] [--seed N] [--quick] [--json FILE]
          virtual | sockets    machines on a modelled network, or real calls on loopback through the relay
          --calls N            calls of each network (default 1000 virtual, 100 on sockets)
          --rtt LIST           round trips in ms, 0 to 2000 (default 20,50,100,200,400 virtual, 0,20,50,100,200 on sockets)
          --loss LIST          percent lost each way, 0 to 90 (default 0,1,5,10)
          --hello-in-offer W   on, off or both (default both)
          --at-once N          calls at one time, 1 to 32 (default: the cores virtual, on sockets 1 to 8, by the round trip)
          --seed N             of the first call; the next ones follow (default 1)
          --quick              few calls on few networks: for CI
          --json FILE          the report as JSON as well; - is standard output, the table then goes to standard error
        """

    var kind = Kind.virtual
    var calls = 1_000
    var roundTrips = [20, 50, 100, 200, 400]
    var losses = [0.0, 1, 5, 10]
    var helloInOffer = [true, false]
    var atOnce: Int?
    var seed: UInt64 = 1
    var json: String?

    init(_ arguments: some Sequence<String>) throws(Options.Failure) {
        var rest = Array(arguments)[...]
        guard let word = rest.popFirst() else { throw .missingValue("setup") }
        guard let kind = Kind(rawValue: word) else { throw .unknown(word) }
        self.kind = kind
        if kind == .sockets {
            calls = 100
            roundTrips = [0, 20, 50, 100, 200]
        }
        while let option = rest.popFirst() {
            if option == "--quick" {
                calls = kind == .virtual ? 50 : 10
                roundTrips = [kind == .virtual ? 20 : 0, 100]
                losses = [0, 5]
                continue
            }
            guard let value = rest.popFirst() else { throw .missingValue(option) }
            let failure = Options.Failure.badValue(option: option, value: value)
            switch option {
            case "--calls": calls = try Self.number(value, in: 1...100_000, failure)
            case "--rtt": roundTrips = try Self.list(value) { Int($0) }.within(0...2_000, failure)
            case "--loss": losses = try Self.list(value) { Double($0) }.within(0...90, failure)
            case "--at-once": atOnce = try Self.number(value, in: 1...32, failure)
            case "--seed":
                guard let number = UInt64(value) else { throw failure }
                seed = number
            case "--hello-in-offer":
                switch value {
                case "on": helloInOffer = [true]
                case "off": helloInOffer = [false]
                case "both": helloInOffer = [true, false]
                default: throw failure
                }
            case "--json": json = value
            default: throw .unknown(option)
            }
        }
    }

    /// The networks, in the order of the table.
    var networks: [SetupNetwork] {
        helloInOffer.flatMap { hello in
            roundTrips.flatMap { roundTrip in
                losses.map { SetupNetwork(roundTrip: roundTrip, loss: $0, helloInOffer: hello) }
            }
        }
    }

    private static func number(
        _ text: String, in range: ClosedRange<Int>, _ failure: Options.Failure
    ) throws(Options.Failure) -> Int {
        guard let number = Int(text), range.contains(number) else { throw failure }
        return number
    }

    private static func list<Value>(_ text: String, _ read: (String) -> Value?) -> [Value?] {
        text.split(separator: ",", omittingEmptySubsequences: false).map { read(String($0)) }
    }
}

extension [Int?] {
    fileprivate func within(_ range: ClosedRange<Int>, _ failure: Options.Failure) throws(Options.Failure) -> [Int] {
        let values = compactMap { $0.flatMap { range.contains($0) ? $0 : nil } }
        guard values.count == count, !values.isEmpty else { throw failure }
        return values
    }
}

extension [Double?] {
    fileprivate func within(
        _ range: ClosedRange<Double>, _ failure: Options.Failure
    ) throws(Options.Failure) -> [Double] {
        let values = compactMap { $0.flatMap { range.contains($0) ? $0 : nil } }
        guard values.count == count, !values.isEmpty else { throw failure }
        return values
    }
}
