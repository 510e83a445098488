internal import Glibc

/// Runs a case's calls, several at once, and prints its row.
enum TrialRun {
    /// Calls at one time on sockets: each speaks and listens, and they must not measure each other.
    private static let socketCallsAtOnce = 4

    /// - Returns: the samples in no order; fewer than `calls` when one could not be made.
    static func samples<Sample: Sendable>(
        _ options: TrialOptions, _ call: @escaping @Sendable (_ seed: UInt64) async -> Sample?
    ) async -> [Sample] {
        let cores = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        let standard = options.kind == .virtual ? cores : socketCallsAtOnce
        let width = max(1, min(options.atOnce ?? standard, options.calls))
        return await withTaskGroup(of: Sample?.self) { group in
            var next = 0
            func begin() {
                let seed = options.seed &+ UInt64(next)
                next += 1
                group.addTask { await call(seed) }
            }
            for _ in 0..<width { begin() }
            var samples: [Sample] = []
            while let sample = await group.next() {
                if let sample { samples.append(sample) }
                if next < options.calls { begin() }
            }
            return samples
        }
    }

    /// `320 / 340 / 410`: p50, p95 and worst in milliseconds; a dash without any.
    static func spread(_ values: [Double]) -> String {
        guard !values.isEmpty else { return "–" }
        let sorted = values.sorted()
        return [50, 95, 100].compactMap { SetupCell.percentile($0, of: sorted) }.map { fixed($0, $0 < 100 ? 1 : 0) }
            .joined(separator: " / ")
    }

    /// `recovered 9, failed 1`: how often each word, the most frequent first.
    static func counts(_ words: [String]) -> String {
        let counted = Dictionary(grouping: words) { $0 }.mapValues(\.count)
        let sorted = counted.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        if sorted.count == 1, let only = sorted.first { return only.key }
        return sorted.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    }

    /// The three figures of ``spread(_:)`` as JSON.
    static func json(_ values: [Double]) -> String {
        let sorted = values.sorted()
        let figures = [50, 95, 100].map { SetupCell.percentile($0, of: sorted).map { fixed($0, 3) } ?? "null" }
        return #"{"p50": \#(figures[0]), "p95": \#(figures[1]), "worst": \#(figures[2]), "count": \#(values.count)}"#
    }

    /// The words' counts as JSON.
    static func json(_ words: [String]) -> String {
        let counted = Dictionary(grouping: words) { $0 }.mapValues(\.count).sorted { $0.key < $1.key }
        return "{" + counted.map { "\"\($0.key)\": \($0.value)" }.joined(separator: ", ") + "}"
    }
}
