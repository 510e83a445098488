/// The preferred date format of HTTP (RFC 9110 §5.6.7): `Wed, 21 Oct 2026 07:28:00 GMT`.
package enum HTTPDate {
    /// Seconds since 1970; nil for anything that is no IMF-fixdate between 1970 and 9999.
    package static func seconds(_ text: String) -> Int? {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 6, words[0].utf8.count == 4, words[5] == "GMT",
            let day = number(words[1], 2, 1...31), let month = months.firstIndex(of: String(words[2])),
            let year = number(words[3], 4, 1_970...9_999)
        else { return nil }
        let time = words[4].split(separator: ":", omittingEmptySubsequences: false)
        guard time.count == 3, let hour = number(time[0], 2, 0...23), let minute = number(time[1], 2, 0...59),
            let second = number(time[2], 2, 0...60)
        else { return nil }
        // Days from the civil calendar, with years that begin in March so that leap days come last.
        let marchYear = month < 2 ? year - 1 : year
        let marchMonth = (month + 10) % 12
        let dayOfYear = (153 * marchMonth + 2) / 5 + day - 1
        let days = marchYear * 365 + marchYear / 4 - marchYear / 100 + marchYear / 400 + dayOfYear - 719_468
        return ((days * 24 + hour) * 60 + minute) * 60 + second
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static func number(_ text: Substring, _ digits: Int, _ range: ClosedRange<Int>) -> Int? {
        guard text.utf8.count == digits, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let value = Int(text),
            range.contains(value)
        else { return nil }
        return value
    }
}
