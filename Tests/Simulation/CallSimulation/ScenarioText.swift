internal import ICELite

/// Lengths of time and shares as a scenario writes them: exact, in the unit that reads best.
enum ScenarioText {
    private static let units: [(name: String, nanoseconds: Int64)] = [
        ("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1),
    ]

    /// `12.5ms`; the largest unit that the length reaches, all its digits.
    static func text(_ length: Nanoseconds) -> String {
        guard length != 0 else { return "0s" }
        let sign = length < 0 ? "-" : ""
        let magnitude = Int64(clamping: length.magnitude)
        let unit = units.first { magnitude >= $0.nanoseconds } ?? ("ns", 1)
        return sign + decimal(magnitude, per: unit.nanoseconds) + unit.name
    }

    /// The length that `text` writes; nil when it is none, and when it is negative: the sign of an offset is not of it.
    static func length(_ text: some StringProtocol) -> Nanoseconds? {
        guard let unit = units.filter({ text.hasSuffix($0.name) }).max(by: { $0.name.count < $1.name.count }) else {
            return nil
        }
        return number(text.dropLast(unit.name.count), per: unit.nanoseconds).flatMap { $0 < 0 ? nil : $0 }
    }

    /// Thousandths of a percent as `2.5%`.
    static func percent(_ thousandths: Int) -> String { decimal(Int64(thousandths), per: 1_000) + "%" }

    /// The thousandths of a percent, 0…100,000, that `text` writes.
    static func percent(_ text: some StringProtocol) -> Int? {
        guard text.hasSuffix("%"), let value = number(text.dropLast(), per: 1_000), (0...100_000).contains(value) else {
            return nil
        }
        return Int(value)
    }

    /// `count` parts, of which `unit` make one, as a decimal number.
    private static func decimal(_ count: Int64, per unit: Int64) -> String {
        let (whole, rest) = count.quotientAndRemainder(dividingBy: unit)
        guard rest > 0 else { return String(whole) }
        let digits = String(unit + rest).dropFirst()
        let last = digits.lastIndex { $0 != "0" } ?? digits.startIndex
        return "\(whole).\(digits[...last])"
    }

    private static func number(_ text: some StringProtocol, per unit: Int64) -> Int64? {
        let isNegative = text.hasPrefix("-")
        let parts = (isNegative ? text.dropFirst() : text[...]).split(
            separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, !first.isEmpty, first.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let whole = Int64(first)
        else { return nil }
        var fraction: Int64 = 0
        if parts.count == 2 {
            let digits = parts[1].utf8
            guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            var place = unit
            for digit in digits {
                guard place % 10 == 0 else {
                    if digit == 0x30 { continue }
                    return nil
                }
                place /= 10
                fraction += Int64(digit - 0x30) * place
            }
        }
        let (scaled, overflow) = whole.multipliedReportingOverflow(by: unit)
        guard !overflow, scaled < .max - fraction else { return nil }
        return isNegative ? -(scaled + fraction) : scaled + fraction
    }
}
