import Transport

/// Where a call is, as the tables count it: the client's state, and what it is doing there.
package enum CoverageState: Int, Hashable, Sendable, CaseIterable {
    /// No line yet.
    case opening
    /// The line is open, welcome has not come.
    case welcoming
    /// Welcomed, the carriage not chosen.
    case negotiating
    /// Chosen, not active.
    case selected
    case activeOnPath
    case activeOnLine
    /// Active on the path, and an end asks for the bridge.
    case bridged
    case recovering
    case ended

    /// Its column's head.
    package var title: String {
        switch self {
        case .opening: "opening"
        case .welcoming: "welcoming"
        case .negotiating: "negotiating"
        case .selected: "selected"
        case .activeOnPath: "path"
        case .activeOnLine: "line"
        case .bridged: "bridged"
        case .recovering: "recovering"
        case .ended: "ended"
        }
    }
}

extension JudgePicture {
    /// Where the call is.
    var coverageState: CoverageState {
        switch client.state {
        case .ended: .ended
        case .active:
            if client.isRecovering || server.isRecovering {
                .recovering
            } else if client.transport == .websocket {
                .activeOnLine
            } else if client.isBridgeAsked || server.isBridgeAsked {
                .bridged
            } else {
                .activeOnPath
            }
        case .idle, .connecting:
            if client.transport != nil {
                .selected
            } else if isWelcomed {
                .negotiating
            } else if isLineOpen {
                .welcoming
            } else {
                .opening
            }
        }
    }
}
