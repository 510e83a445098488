import ICELite
import TransportMedia

/// Rule 4: what is heard was said in this call, once, in order, and came on a carriage that was open.
struct InvariantPlayedOnce {
    /// The number of the half that was played last: 2 × frame, and 1 more for its second half.
    private var lastOfServer: UInt64 = 0
    private var lastOfClient: UInt64 = 0

    mutating func take(
        _ played: Played, at end: CallEnd, now: Instant, ledger: JudgeLedger, picture: JudgePicture,
        findings: inout JudgeFindings
    ) {
        guard case .frame(let id, let isFirstHalf, let carriage) = played else { return }
        let half = UInt64(id) * 2 + (isFirstHalf ? 0 : 1)
        let last = end == .client ? lastOfServer : lastOfClient
        if half <= last {
            findings.report(
                .playedOnce, at: now,
                "the \(end) heard \(Self.name(half)) after \(Self.name(last)), both of the \(end.peer)")
        }
        if end == .client { lastOfServer = max(last, half) } else { lastOfClient = max(last, half) }
        guard let frame = ledger.frame(id, of: end.peer) else {
            return findings.report(
                .playedOnce, at: now,
                "the \(end) heard frame \(id), and the \(end.peer) has made \(ledger.count(of: end.peer))")
        }
        guard let carriage else { return }
        let arrival = carriage == .path ? frame.onPathAt : frame.onLineAt
        let closed = carriage == .path ? picture[end].pathClosedAt : picture[end].lineClosedAt
        if let closed, arrival != .never, arrival > closed + JudgeLimits.closedCarriage {
            findings.report(
                .playedOnce, at: now,
                "the \(end) heard frame \(id), which came on the \(carriage) "
                    + "\(JudgeText.milliseconds(arrival - closed)) after that was closed")
        }
    }

    private static func name(_ half: UInt64) -> String {
        half == 0 ? "nothing" : "half \(half % 2 + 1) of frame \(half / 2)"
    }

    /// Each pull puts out 480 samples, always.
    func take(_ figures: CallFigures, of end: CallEnd, at now: Instant, findings: inout JudgeFindings) {
        guard figures.samplesPlayed != figures.pulls * JudgeLimits.pullSamples else { return }
        findings.report(
            .playedOnce, at: now, "the \(end) has put out \(figures.samplesPlayed) samples in \(figures.pulls) pulls")
    }
}
