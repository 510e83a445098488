internal import Foundation

/// The table of `connect`: a row a stage, a column a percentile.
struct ConnectTable: Sendable {
    let summary: ConnectSummary
    /// Also stages that no call reached.
    let verbose: Bool

    private static let columnWidth = 11

    var lines: [String] {
        let stages = summary.stages.filter { verbose || $0.count > 0 }
        let width = (stages.map(\.label.count).max() ?? 0) + 2
        var lines = [counts, ""]
        lines.append("".padding(to: width) + ["p50", "p95", "worst", "calls"].map(column).joined())
        for stage in stages {
            let unit = stage.key.hasSuffix("_ms") ? " ms" : "   "
            let times = [stage.times.p50, stage.times.p95, stage.times.maximum].map { time in
                time.map { number($0) + unit } ?? "–" + "   "
            }
            lines.append(stage.label.padding(to: width) + (times + ["\(stage.count)"]).map(column).joined())
        }
        return lines
    }

    /// `100 calls: 97 on WebRTC, 3 on the WebSocket (3 of 100: ice_no_response ×3)`.
    private var counts: String {
        var parts: [String] = []
        if summary.onWebRTC > 0 { parts.append("\(summary.onWebRTC) on WebRTC") }
        if summary.onWebSocket > 0 {
            let why = summary.fallbacks.isEmpty ? "" : " (\(summary.fallbackText))"
            parts.append("\(summary.onWebSocket) on the WebSocket" + why)
        }
        if summary.failed > 0 { parts.append("\(summary.failed) failed") }
        if summary.stopped > 0 { parts.append("\(summary.stopped) stopped") }
        let missing = summary.asked - summary.placed
        if missing > 0 { parts.append("\(missing) not placed") }
        return "\(summary.asked) call\(summary.asked == 1 ? "" : "s"): " + parts.joined(separator: ", ")
    }

    private func column(_ text: String) -> String {
        String(repeating: " ", count: max(1, Self.columnWidth - text.count)) + text
    }

    private func number(_ value: Double) -> String {
        String(format: "%.\(value < 10 ? 2 : value < 100 ? 1 : 0)f", value)
    }
}
