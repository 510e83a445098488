import CallSimulation

/// What the command was asked to do.
enum Arguments: Equatable {
    /// Where a scenario comes from.
    enum Source: Equatable {
        case seed(UInt64)
        case file(String)

        /// A number is a seed, everything else a path.
        init(_ word: String) { self = UInt64(word).map(Source.seed) ?? .file(word) }
    }

    case run(seeds: ClosedRange<UInt64>, processes: Int, isJSON: Bool)
    /// A child's part of a run: the seeds whose remainder by `of` is `part`.
    case part(seeds: ClosedRange<UInt64>, part: UInt64, of: UInt64)
    case replay(Source)
    case trace(Source)
    case shrink(Source, breaking: Invariant?)
    /// The scenario of a seed, not run.
    case text(seed: UInt64)

    static let usage = """
        usage: call-simulation run --seeds A..B [--processes N] [--json]
               call-simulation replay|trace SEED|FILE
               call-simulation shrink SEED|FILE [RULE]
               call-simulation text SEED
               call-simulation scenario FILE
        RULE is a number from 1 to 13; a file whose name is a number is ./NUMBER. In a build with GRAINE_MUTANTS=1 also
               call-simulation mutants [LIMIT] [NAME…]

        """

    /// Nil when the words make no sense.
    init?(_ words: [String]) {
        guard let verb = words.first else { return nil }
        let rest = Array(words.dropFirst())
        switch verb {
        case "run", "part":
            guard let arguments = Self.run(rest, isPart: verb == "part") else { return nil }
            self = arguments
        case "replay", "trace":
            guard rest.count == 1 else { return nil }
            self = verb == "replay" ? .replay(Source(rest[0])) : .trace(Source(rest[0]))
        case "text":
            guard rest.count == 1, let seed = UInt64(rest[0]) else { return nil }
            self = .text(seed: seed)
        case "shrink":
            guard (1...2).contains(rest.count) else { return nil }
            let invariant = rest.dropFirst().first.map { Int($0).flatMap { Invariant(rawValue: $0) } }
            if case .some(.none) = invariant { return nil }
            self = .shrink(Source(rest[0]), breaking: invariant ?? nil)
        case "scenario":
            guard rest.count == 1 else { return nil }
            self = .replay(.file(rest[0]))
        default: return nil
        }
    }

    private static func run(_ words: [String], isPart: Bool) -> Arguments? {
        var seeds: ClosedRange<UInt64>?
        var processes = 1
        var part: UInt64 = 0
        var isJSON = false
        var words = words[...]
        while let word = words.popFirst() {
            switch word {
            case "--json": isJSON = true
            case "--seeds":
                guard let range = words.popFirst().flatMap(range) else { return nil }
                seeds = range
            case "--processes":
                guard let count = words.popFirst().flatMap({ Int($0) }), (1...64).contains(count) else { return nil }
                processes = count
            case "--part" where isPart:
                guard let number = words.popFirst().flatMap({ UInt64($0) }) else { return nil }
                part = number
            default: return nil
            }
        }
        guard let seeds else { return nil }
        return isPart
            ? .part(seeds: seeds, part: part, of: UInt64(processes))
            : .run(seeds: seeds, processes: processes, isJSON: isJSON)
    }

    private static func range(_ text: String) -> ClosedRange<UInt64>? {
        let ends = text.replacing("..", with: " ").split(separator: " ").compactMap { UInt64($0) }
        guard ends.count == 2, ends[0] <= ends[1] else { return nil }
        return ends[0]...ends[1]
    }
}
