internal import Foundation

/// The report on one screen: a column a call, the stages with their times, what came back, the verdict.
struct HumanReport: Sendable {
    let report: Report
    let useColor: Bool
    let verbose: Bool

    private static let dash = "–"

    var text: String {
        // A single call that never was has no times to show: its error is said, what to do is the report.
        if !report.isSelfTest, report.abort == nil, !report.calls.contains(where: \.wasActive) {
            return (findings(withDetails: false) + [verdictLine]).joined(separator: "\n") + "\n"
        }
        var lines = [title, ""]
        lines += report.connect.map { ConnectTable(summary: $0, verbose: verbose).lines } ?? table
        lines.append("")
        lines += findings(withDetails: true)
        lines.append(verdictLine)
        return lines.joined(separator: "\n") + "\n"
    }

    private var title: String {
        let target = report.target ?? "an endpoint in this process"
        let asked = report.calls.first?.recovery?.asked.map { "outage \($0.cause.rawValue) in a call to" } ?? "call to"
        let what =
            report.isSelfTest
            ? "self-test, endpoint in this process"
            : report.connect != nil ? "setup timing to \(target)" : "\(asked) \(target)"
        return
            "\(HelpText.programName) \(HelpText.version) · \(what) · \(number(report.elapsedMilliseconds / 1_000, 1)) s"
    }

    struct Row {
        var label: String
        var cells: [String]
    }

    private var table: [String] {
        let calls = report.calls
        guard !calls.isEmpty else { return ["no call was placed"] }
        func row(_ label: String, _ cell: (CallResult) -> String?) -> Row {
            Row(label: label, cells: calls.map { cell($0) ?? Self.dash })
        }
        var rows: [Row] = []
        if calls.count > 1 { rows.append(row("") { $0.name }) }
        rows += [
            row("transport") { $0.transport?.rawValue }, row("fallback reason") { $0.fallback?.reason },
            row("  at stage") { $0.fallback.map { "\($0.stage), \(number($0.elapsedMilliseconds)) ms" } },
            row("line: tcp") { milliseconds($0.setup.tcp) }, row("      tls") { milliseconds($0.setup.tls) },
            row("      hello") { milliseconds($0.setup.hello) },
            row("      welcome") { milliseconds($0.setup.welcome) },
            row("path: first check") { milliseconds($0.setup.firstCheck) },
            row("      ice") { milliseconds($0.setup.ice) },
            row("      dtls") { milliseconds($0.setup.dtls) }, row("first audio") { milliseconds($0.setup.firstAudio) },
            row("active") { milliseconds($0.setup.active) },
            row("packets out/in") { call in
                call.media.sent.flatMap { sent in call.media.received.map { "\(sent)/\($0)" } }
            }, row("lost of those in") { $0.media.lossPercent.map { number($0, 2) + " %" } },
            row("jitter") { $0.media.jitter.map { number($0, 1) + " ms" } },
            row("round trip") { ($0.media.rtt.p50 ?? $0.setup.rtt).map { number($0, 1) + " ms" } },
            row("concealed") { $0.media.concealedPercent.map { number($0, 1) + " %" } },
            row("came back: marker") { $0.returned.map { "\($0.marker.heard) of \($0.marker.expected)" } },
            row("      levels") { $0.returned?.levels.correlation.map { "r = " + number($0, 3) } },
            row("      frames") { $0.returned?.levels.presentShare.map { number($0 * 100, 1) + " %" } },
            row("      longest gap") { $0.media.longestGap.map { number($0) + " ms" } },
            row("      delay") { $0.returned?.levels.delayMilliseconds.map { number($0) + " ms" } },
        ]
        rows += recoveryRows(row)
        rows.append(row("ended early") { Self.ending(of: $0) })
        rows.append(row("verdict") { verdict(of: $0) })
        if !verbose { rows.removeAll { row in row.label != "" && row.cells.allSatisfy { $0 == Self.dash } } }
        let labelWidth = (rows.map(\.label.count).max() ?? 0) + 2
        let widths = calls.indices.map { column in rows.map { $0.cells[column].count }.max() ?? 0 }
        return rows.map { row in
            var line = row.label.padding(to: labelWidth)
            for (column, cell) in row.cells.enumerated() {
                let padded = column == row.cells.count - 1 ? cell : cell.padding(to: widths[column] + 2)
                line += row.label == "verdict" ? colored(padded, good: cell == "as expected" || cell == "good") : padded
            }
            return line
        }
    }

    private func verdict(of call: CallResult) -> String {
        if report.isSelfTest {
            let check = report.checks.first { $0.id == "\(call.name).expected" }
            switch check?.status {
            case .pass: return "as expected"
            case .skip: return "stopped"
            default: return "UNEXPECTED"
            }
        }
        return report.verdict.text
    }

    /// Who ended the call and when, if it was not this end.
    private static func ending(of call: CallResult) -> String? {
        guard let ending = call.ending, ending.by != .local else { return nil }
        let what = ending.by == .remote ? "the far end hung up" : "the call broke off"
        return "\(what) after \(String(format: "%.1f", ending.afterMilliseconds / 1_000)) s"
    }

    /// What needs a sentence: all but what passed or was left out without a code.
    private func findings(withDetails: Bool) -> [String] {
        report.checks.filter { verbose || ($0.status != .pass && ($0.status != .skip || $0.code != nil)) }.flatMap {
            check in
            var line = "\(check.status.rawValue)  \(check.id)"
            if let code = check.code { line += "  \(code)" }
            if withDetails, let detail = check.detail {
                // Of several calls each has a line of its own.
                let calls = check.id == "complete" ? detail.split(separator: "; ").map(String.init) : [detail]
                line += calls.count > 1 ? calls.map { "\n      " + $0 }.joined() : ": \(detail)"
            }
            return [line] + (check.advice.map { ["      " + $0] } ?? [])
        }
    }

    private var verdictLine: String {
        var line = "verdict: \(report.verdict.text)"
        if report.isSelfTest {
            let passed = report.checks.filter { $0.id.hasSuffix(".expected") && $0.status == .pass }.count
            line += " · \(passed) of \(SelfTest.cases.count) calls ended as expected"
        }
        if let abort = report.abort { line += abort == .interrupted ? " · interrupted" : " · timed out" }
        if !report.verdict.codes.isEmpty {
            line += " · explain: " + report.verdict.codes.joined(separator: ", ")
        }
        return colored(line, good: report.verdict.level == .good)
    }

    private func colored(_ text: String, good: Bool) -> String {
        useColor ? "\u{1B}[\(good ? 32 : 33)m\(text)\u{1B}[0m" : text
    }

    func milliseconds(_ value: Double?) -> String? { value.map { number($0, $0 < 10 ? 1 : 0) + " ms" } }

    func number(_ value: Double, _ digits: Int = 0) -> String { String(format: "%.\(digits)f", value) }
}
