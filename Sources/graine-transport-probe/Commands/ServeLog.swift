internal import Foundation
internal import Transport

/// What `serve` says on stderr: a line a call once it is over; with `--verbose` one when it begins and when its carriage
/// is chosen, too; nothing with `--quiet`.
struct ServeLog: Sendable {
    let verbosity: ProbeOptions.Verbosity
    let redactor: Redactor
    let sink: @Sendable (String) -> Void

    /// The call was welcomed.
    func began(_ id: String) { if verbosity == .verbose { write(id, "begins") } }

    /// What carries its audio was chosen or changed.
    func carried(_ id: String, by kind: TransportKind, _ fallback: TransportFallback?) {
        guard verbosity == .verbose else { return }
        write(id, kind.rawValue + (fallback.map { ", \($0.reason)" } ?? ""))
    }

    /// The call is over after `seconds`.
    func ended(_ id: String, _ snapshot: TransportSnapshot, after seconds: Double) {
        guard verbosity != .quiet else { return }
        let how =
            switch snapshot.outcome {
            case .failed(let message): "failed: \(message)"
            case .ended(.local), nil: "ended by this end"
            case .ended(.remote): "ended by the caller"
            case .ended(.failed(let message)): "broke off: \(message)"
            }
        let carriage = snapshot.transport?.rawValue ?? "no carriage"
        let reason = snapshot.fallback.map { " (\($0.reason))" } ?? ""
        let packets = "\(snapshot.audio.packetsReceived) packets in, \(snapshot.audio.packetsSent) out"
        write(id, "\(how) after \(String(format: "%.1f", seconds)) s, \(carriage)\(reason), \(packets)")
    }

    private func write(_ id: String, _ what: String) {
        // The id is the caller's: it must not break the line or the terminal.
        let name = id.prefix(60).map { $0.isASCII && !$0.isWhitespace && $0 > "\u{20}" && $0 < "\u{7F}" ? $0 : "?" }
        let line = what.map { $0.isNewline ? " " : $0 }
        sink("\(Date().formatted(.iso8601)) \(String(name)) \(redactor.text(String(line)))\n")
    }
}
