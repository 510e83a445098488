/// The cells as a table (Markdown, so that it can stand in a document as it is) and as JSON.
struct SetupReport {
    let kind: SetupOptions.Kind
    let cells: [SetupCell]

    static let header = """
        | RTT ms | loss % | hello in offer | p50 ms (RTT) | p95 ms (RTT) | worst ms | at the server: p50 | p95 | worst \
        | on the line | silent | calls |
        |---|---|---|---|---|---|---|---|---|---|---|---|
        """

    static func line(_ cell: SetupCell) -> String {
        func time(_ percent: Int, _ times: [Double], inRoundTrips: Bool = false) -> String {
            guard let time = SetupCell.percentile(percent, of: times) else { return "–" }
            let text = fixed(time, time < 100 ? 1 : 0)
            guard inRoundTrips, cell.network.roundTrip > 0 else { return text }
            return "\(text) (\(fixed(time / Double(cell.network.roundTrip), 2)))"
        }
        let network = cell.network
        let columns =
            [
                "\(network.roundTrip)", fixed(network.loss, network.loss == network.loss.rounded() ? 0 : 1),
                network.helloInOffer ? "yes" : "no", time(50, cell.firstAudio, inRoundTrips: true),
                time(95, cell.firstAudio, inRoundTrips: true), time(100, cell.firstAudio),
            ] + [50, 95, 100].map { time($0, cell.heardAtServer) } + [
                "\(cell.onLine)", "\(cell.silent)", "\(cell.calls)",
            ]
        return "| " + columns.joined(separator: " | ") + " |"
    }

    /// Schema `graine.benchmarks.setup/1`: additive changes only.
    var json: String {
        func times(_ times: [Double]) -> String {
            let values = [50, 95, 100].map { SetupCell.percentile($0, of: times).map { fixed($0, 3) } ?? "null" }
            return #"{"p50": \#(values[0]), "p95": \#(values[1]), "worst": \#(values[2]), "count": \#(times.count)}"#
        }
        let rows = cells.map { cell in
            let network = cell.network
            return """
                    {"rtt_ms": \(network.roundTrip), "loss_pct": \(fixed(network.loss, 3)), \
                "hello_in_offer": \(network.helloInOffer), "calls": \(cell.calls), "on_line": \(cell.onLine), \
                "silent": \(cell.silent), "first_audio_ms": \(times(cell.firstAudio)), \
                "heard_at_server_ms": \(times(cell.heardAtServer))}
                """
        }
        return """
            {
              "schema": "graine.benchmarks.setup/1",
              "configuration": "\(Report.configuration)",
              "kind": "\(kind.rawValue)",
              "cells": [
            \(rows.joined(separator: ",\n"))
              ]
            }

            """
    }
}
