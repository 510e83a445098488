/// What each reason and check code means, offline.
enum ReasonCatalogue {
    enum Kind: String, CaseIterable, Sendable {
        case fallback = "fallback reasons (transportFallbackReason)"
        case refusal = "refusals"
        case check = "check codes"
        case outageCause = "outage causes (recovery.outages[].cause)"
        case repair = "repairs (recovery.outages[].mechanism)"
        case outageOutcome = "outage outcomes (recovery.outages[].outcome)"
    }

    struct Entry: Equatable, Sendable {
        var code: String
        var kind: Kind
        var meaning: String
        var cause: String
        /// What to do, one sentence.
        var advice: String
        /// Where the threshold or rule comes from.
        var source: String
    }

    static let all: [Entry] = fallbacks + refusals + checks + outages

    static func entry(_ code: String) -> Entry? { all.first { $0.code == code } }

    /// What `explain` prints for `code`, or the list of codes without one.
    ///
    /// - Throws: ``ProbeError/usage(_:)`` for a code that nobody knows, with the nearest one.
    static func explain(_ code: String?) throws(ProbeError) -> String {
        guard let code else { return list }
        guard let entry = entry(code) else {
            let hint = Spelling.nearest(to: code, among: all.map(\.code))
            throw .usage("unknown code \"\(code.prefix(80))\"" + (hint.map { "; did you mean \($0)?" } ?? ""))
        }
        return """
            \(entry.code)
              means   \(entry.meaning)
              cause   \(entry.cause)
              do      \(entry.advice)
              source  \(entry.source)
            """
    }

    private static var list: String {
        Kind.allCases.map { kind in
            let lines = all.filter { $0.kind == kind }.map { "  " + $0.code.padding(to: 26) + " " + $0.meaning }
            return ([kind.rawValue] + lines).joined(separator: "\n")
        }.joined(separator: "\n\n")
    }
}
