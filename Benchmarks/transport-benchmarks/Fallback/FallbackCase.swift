internal import Transport
internal import TransportTestKit

/// One way in which UDP does not work: what a row of the table is about.
enum FallbackCase: String, CaseIterable, Sendable {
    case works = "nothing is wrong"
    case dropped = "dropped"
    case rejected = "rejected"
    case afterICE = "dropped after ICE"
    case afterICEClassic = "dropped after ICE, flights over UDP alone"
    case afterDTLS = "dropped after DTLS"

    var reachability: LinkModel.Reachability {
        switch self {
        case .dropped: .drop
        case .rejected: .reject
        case .works, .afterICE, .afterICEClassic, .afterDTLS: .open
        }
    }

    /// By the classes of RFC 7983, whether a datagram passes.
    var passes: @Sendable ([UInt8]) -> Bool {
        switch self {
        case .works, .dropped, .rejected: { _ in true }
        case .afterICE, .afterICEClassic: { ($0.first ?? 0) < 4 }
        case .afterDTLS: { ($0.first ?? 0) < 64 }
        }
    }

    var handshake: HandshakeOptions {
        var options = HandshakeOptions()
        if self == .afterICEClassic {
            options.helloInOffer = false
            options.flightsOnLine = false
        }
        return options
    }
}

/// What one call took, milliseconds from the hello.
struct FallbackSample: Sendable {
    /// The first frame of the agent's that decodes; nil: none came.
    var firstAudio: Double?
    /// To the choice of the line.
    var chosen: Double?
    /// `webrtc`, or the reason with its stage.
    var end = "nothing"
}

/// The calls of one case, counted.
struct FallbackCell: TrialCell {
    let fallbackCase: FallbackCase
    let samples: [FallbackSample]

    static let header = """
        | UDP is | reason, stage | line chosen: p50 / p95 / worst ms | first audio | calls |
        |---|---|---|---|---|
        """

    var line: String {
        let columns = [
            fallbackCase.rawValue, TrialRun.counts(samples.map(\.end)),
            TrialRun.spread(samples.compactMap(\.chosen)), TrialRun.spread(samples.compactMap(\.firstAudio)),
            "\(samples.count)",
        ]
        return "| " + columns.joined(separator: " | ") + " |"
    }

    var json: String {
        """
            {"case": "\(fallbackCase.rawValue)", "calls": \(samples.count), \
        "ends": \(TrialRun.json(samples.map(\.end))), "chosen_ms": \(TrialRun.json(samples.compactMap(\.chosen))), \
        "first_audio_ms": \(TrialRun.json(samples.compactMap(\.firstAudio)))}
        """
    }
}
