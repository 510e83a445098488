/// The values above which a call counts as poor; from two thirds of one it counts as degraded.
struct Thresholds: Equatable, Sendable {
    /// Median round-trip time, milliseconds.
    var rttMilliseconds = 150.0
    /// RFC 3550 interarrival jitter, milliseconds.
    var jitterMilliseconds = 30.0
    /// Lost packets, percent.
    var lossPercent = 1.0

    /// Reads `rtt=150,jitter=30,loss=1`; what is not named keeps its default.
    static func parse(_ text: String) throws(ProbeError) -> Thresholds {
        var thresholds = Thresholds()
        for item in text.split(separator: ",", omittingEmptySubsequences: false) {
            let (name, value) = try KeyedItem.split(item, option: "--threshold")
            let number = try KeyedItem.number(value, name: name, option: "--threshold", in: 0...100_000)
            switch name {
            case "rtt": thresholds.rttMilliseconds = number
            case "jitter": thresholds.jitterMilliseconds = number
            case "loss": thresholds.lossPercent = number
            default: throw .usage("--threshold: \(name) is not one of rtt, jitter, loss")
            }
        }
        return thresholds
    }
}

/// The `name=value` items that `--threshold` and `--impair` are made of.
enum KeyedItem {
    static func split(_ item: Substring, option: String) throws(ProbeError) -> (name: String, value: String) {
        guard let equals = item.firstIndex(of: "="), equals != item.startIndex else {
            throw .usage("\(option): \"\(item)\" is not name=value")
        }
        let value = item[item.index(after: equals)...]
        guard !value.isEmpty else { throw .usage("\(option): \(item[..<equals]) has no value") }
        return (String(item[..<equals]), String(value))
    }

    /// A finite decimal number within `range`.
    static func number(
        _ text: String, name: String, option: String, in range: ClosedRange<Double>
    ) throws(ProbeError) -> Double {
        let isDecimal = text.allSatisfy { ("0"..."9").contains($0) || $0 == "." }
        guard isDecimal, let number = Double(text), range.contains(number) else {
            let subject = name == option ? option : "\(option): \(name)"
            throw .usage("\(subject) must be a number from \(brief(range.lowerBound)) to \(brief(range.upperBound))")
        }
        return number
    }

    static func brief(_ number: Double) -> String {
        Int(exactly: number).map(String.init) ?? String(number)
    }
}
