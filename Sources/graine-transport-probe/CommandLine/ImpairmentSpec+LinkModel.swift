internal import TransportTestKit

extension ImpairmentSpec.Link {
    /// The test kit's model of this direction; `reachability` is the UDP direction's alone.
    func model(_ reachability: LinkModel.Reachability = .open) -> LinkModel {
        var model = LinkModel()
        if lossPercent > 0 {
            // Gilbert–Elliott cannot lose everything in the long run.
            if let burstPackets, burstPackets > 1, lossPercent < 100 {
                model.loss = .gilbert(percent: lossPercent, meanBurst: burstPackets)
            } else {
                model.loss = .independent(percent: lossPercent)
            }
        }
        model.delay = .seconds(delayMilliseconds / 1_000)
        if jitterMilliseconds > 0 { model.jitter = .normal(sigma: .seconds(jitterMilliseconds / 1_000)) }
        model.reorderPercent = reorderPercent
        model.duplicatePercent = duplicatePercent
        model.bitsPerSecond = bitsPerSecond.map { Int($0) }
        model.blackHoles = blackHoles.flatMap(\.windows)
        model.reachability = reachability
        return model
    }
}

extension ImpairmentSpec.BlackHole {
    /// Times that a repeated one comes at most.
    static let repeatLimit = 1_000

    /// The test kit's windows: one, or those of a repeated one.
    var windows: [LinkModel.BlackHole] {
        (0..<(periodMilliseconds == nil ? 1 : Self.repeatLimit)).map { index in
            let start = startMilliseconds + Double(index) * (periodMilliseconds ?? 0)
            return LinkModel.BlackHole(start: .seconds(start / 1_000), length: .seconds(lengthMilliseconds / 1_000))
        }
    }
}

extension ImpairmentSpec {
    /// The four models of the relay.
    var models: (packetsUp: LinkModel, packetsDown: LinkModel, lineUp: LinkModel, lineDown: LinkModel) {
        let reachability: LinkModel.Reachability =
            switch udp {
            case .pass: .open
            case .drop: .drop
            case .reject: .reject
            }
        return (packetsUp.model(reachability), packetsDown.model(reachability), lineUp.model(), lineDown.model())
    }
}
