internal import ICELite
internal import Transport

extension FaultDeadline {
    /// What the deadline runs from.
    var base: Milestone {
        switch self {
        case .lineBudget, .connectingBudget: .start
        case .mediaPathBudget: .helloSent
        case .webSocketActiveBudget, .uplinkPatience, .selectResend, .closedCarriageGrace: .selectSent
        case .checkPatience: .firstCheck
        case .handshakePatience: .firstAnswer
        case .mediaPatience: .dtlsDone
        case .selectTimeout: .welcome
        case .recoveryWindow: .suspect
        }
    }

    /// How long it runs.
    var length: Nanoseconds {
        let limits = TransportLimits()
        let length =
            switch self {
            case .lineBudget: limits.lineBudget
            case .mediaPathBudget: limits.mediaPathBudget
            case .connectingBudget: limits.connectingBudget
            case .webSocketActiveBudget: limits.webSocketActiveBudget
            case .checkPatience: limits.checkPatience
            case .handshakePatience: limits.handshakePatience
            case .mediaPatience: limits.mediaPatience
            case .uplinkPatience: limits.uplinkPatience
            case .selectResend: limits.selectResend
            case .selectTimeout: limits.selectTimeout
            case .recoveryWindow: limits.recoveryWindow
            case .closedCarriageGrace: limits.closedCarriageGrace
            }
        return length.nanoseconds
    }
}
