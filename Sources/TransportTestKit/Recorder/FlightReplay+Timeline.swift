internal import ICELite
internal import Transport

extension FlightReplay {
    /// A recording as a person reads it: a line a step, equal ones folded, and where the replay goes another way than the
    /// call did. For bytes that are no recording, a sentence that says so.
    package static func timeline(of bytes: [UInt8]) -> String {
        do throws(RecordError) {
            return try FlightReplay(bytes).timeline
        } catch {
            return "This flight recording cannot be read: \(error)."
        }
    }

    /// The steps as lines.
    package var timeline: String {
        var lines: [String] = []
        var index = 0
        while index < steps.count {
            let step = steps[index]
            var end = index + 1
            while end < steps.count, steps[end].isRepeat(of: step) { end += 1 }
            lines.append(step.line(repeats: end - index, until: steps[end - 1].at))
            index = end
        }
        let divergent = divergences.count
        lines.append(
            divergent == 0
                ? "Replayed \(steps.count) entries: every decision is the one that was recorded."
                : "Replayed \(steps.count) entries: \(divergent) went another way than the call.")
        if dropped > 0 { lines.append("\(dropped) entries found no room in the recording.") }
        if largestLateness >= .milliseconds(50) {
            lines.append("A decision on the path came \(largestLateness.words) after its time.")
        }
        return lines.joined(separator: "\n")
    }
}

extension FlightReplay.Step {
    func isRepeat(of other: FlightReplay.Step) -> Bool {
        var same = self
        same.at = other.at
        return same == other && !isDivergent
    }

    func line(repeats: Int, until last: Instant) -> String {
        let name =
            switch machine {
            case .clientPolicy: "client"
            case .serverPolicy: "server"
            case .recovery: "path  "
            }
        var line = "\(at.words)  \(name)  \(what)"
        if !effects.isEmpty { line += " → " + effects.joined(separator: ", ") }
        if repeats > 1 { line += " (\(repeats) times, until \(last.words))" }
        if let recorded {
            line += "\n            !! recorded: " + (recorded.isEmpty ? "nothing" : recorded.joined(separator: ", "))
        }
        if let doubt { line += "\n            !! \(doubt)" }
        return line
    }
}

extension Instant {
    /// Seconds since the beginning, in a column.
    var words: String {
        // A damaged recording may hold any instant: the magnitude has room for the rounding.
        let milliseconds = (nanoseconds.magnitude + 500_000) / 1_000_000
        let fraction = String(milliseconds % 1_000)
        let whole = (nanoseconds < 0 && milliseconds > 0 ? "-" : "") + String(milliseconds / 1_000)
        return String(repeating: " ", count: max(0, 5 - whole.count)) + whole + "."
            + String(repeating: "0", count: 3 - fraction.count) + fraction
    }
}

extension Nanoseconds {
    /// For a person: milliseconds up to two seconds, then seconds.
    var words: String {
        magnitude < 2_000_000_000
            ? "\((self + 500_000) / 1_000_000) ms" : "\(Double(self / 100_000_000) / 10) s"
    }
}

extension Duration {
    var words: String { nanoseconds.words }
}
