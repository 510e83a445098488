internal import Transport

/// One network that calls are set up on: what a row of the table is about.
struct SetupNetwork: Hashable, Sendable {
    /// The round trip in milliseconds, of UDP and of the line.
    var roundTrip: Int
    /// Lost packets each way in percent, on UDP and on the line, where a loss is a retransmission's delay.
    var loss: Double
    /// Whether the offer carries the handshake's first flight.
    var helloInOffer: Bool

    /// All the steps of the handshake, or all but that one.
    var handshake: HandshakeOptions {
        var options = HandshakeOptions()
        options.helloInOffer = helloInOffer
        return options
    }
}

/// What one call's set-up took; milliseconds from the hello handed to the line.
struct SetupSample: Sendable {
    /// The first frame of the agent's that decodes; nil: none came.
    var firstAudio: Double?
    /// The first frame of the client's that decodes at the server; nil: none came, or it cannot be told.
    var heardAtServer: Double?
    /// The call is on the media path; false: on the line although it wanted the path; nil: neither.
    var isOnPath: Bool?
}

/// The calls of one network, counted.
struct SetupCell: Sendable {
    let network: SetupNetwork
    let calls: Int
    /// Ascending.
    let firstAudio: [Double]
    let heardAtServer: [Double]
    /// Calls that went to the line.
    let onLine: Int
    /// Calls that heard nothing.
    let silent: Int

    init(_ network: SetupNetwork, _ samples: [SetupSample]) {
        self.network = network
        calls = samples.count
        firstAudio = samples.compactMap(\.firstAudio).sorted()
        heardAtServer = samples.compactMap(\.heardAtServer).sorted()
        onLine = samples.count { $0.isOnPath == false }
        silent = samples.count { $0.firstAudio == nil }
    }

    /// The nearest-rank percentile of ascending `times`; nil without any.
    static func percentile(_ percent: Int, of times: [Double]) -> Double? {
        times.isEmpty ? nil : times[max(0, (percent * times.count + 99) / 100 - 1)]
    }
}
