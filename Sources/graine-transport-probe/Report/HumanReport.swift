internal import Foundation

/// The report on one screen: a column a call, the stages with their times, what came back, the verdict.
struct HumanReport: Sendable {
    let report: Report
    let useColor: Bool
    let verbose: Bool

    private static let dash = "–"

    var text: String {
        var lines = [title, ""]
        lines += table
        lines.append("")
        lines += findings
        lines.append(verdictLine)
        return lines.joined(separator: "\n") + "\n"
    }

    private var title: String {
        let what =
            report.isSelfTest
            ? "self-test, endpoint in this process" : "call to \(report.target ?? "an endpoint in this process")"
        return
            "\(HelpText.programName) \(HelpText.version) · \(what) · \(number(report.elapsedMilliseconds / 1_000, 1)) s"
    }

    private struct Row {
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
            row("packets sent/received") { call in
                call.media.sent.flatMap { sent in call.media.received.map { "\(sent)/\($0)" } }
            }, row("lost") { $0.media.lossPercent.map { number($0, 2) + " %" } },
            row("jitter") { $0.media.jitter.map { number($0, 1) + " ms" } },
            row("round trip p50") { $0.media.rtt.p50.map { number($0, 1) + " ms" } },
            row("came back: marker") { $0.returned.map { "\($0.marker.heard) of \($0.marker.expected)" } },
            row("      levels") { $0.returned?.levels.correlation.map { "r = " + number($0, 3) } },
            row("      frames") { $0.returned?.levels.presentShare.map { number($0 * 100, 1) + " %" } },
            row("      delay") { $0.returned?.levels.delayMilliseconds.map { number($0) + " ms" } },
        ]
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
            return check?.status == .pass ? "as expected" : "UNEXPECTED"
        }
        return report.verdict.level.rawValue
    }

    /// What needs a sentence: all but what passed.
    private var findings: [String] {
        report.checks.filter { verbose || ($0.status != .pass && $0.status != .skip) }.flatMap { check in
            var line = "\(check.status.rawValue)  \(check.id)"
            if let code = check.code { line += "  \(code)" }
            if let detail = check.detail { line += ": \(detail)" }
            return [line] + (check.advice.map { ["      " + $0] } ?? [])
        }
    }

    private var verdictLine: String {
        var line = "verdict: \(report.verdict.level.rawValue)"
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

    private func milliseconds(_ value: Double?) -> String? { value.map { number($0, $0 < 10 ? 1 : 0) + " ms" } }

    private func number(_ value: Double, _ digits: Int = 0) -> String { String(format: "%.\(digits)f", value) }
}
