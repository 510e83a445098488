/// What the application asked for (contract: `auto`, `websocket`, `webrtc`).
public enum CallTransport: String, Hashable, Sendable, CaseIterable {
    /// WebRTC where this build and the agent have it.
    case auto
    /// The WebSocket only.
    case websocket
    /// WebRTC; when the agent or this build does not have it, the reason says so.
    case webrtc
}

/// What carries a call's audio.
public enum TransportKind: String, Hashable, Sendable {
    case webrtc
    case websocket
}

/// The agent's setting *In-app call audio*.
public enum CallAudio: String, Hashable, Sendable {
    case auto
    /// Every call stays on the WebSocket, whatever the application asked for.
    case standard
}

/// What happens when an active media path is lost for good.
public enum RecoveryPolicy: String, Hashable, Sendable {
    /// The call continues on the line, with `recovery_failed`.
    case continueOnWebSocket
    /// The published contract: the call ends as failed; transport and reason never change after active.
    case endCall
}

/// Where a call is in its life.
public enum TransportState: String, Hashable, Sendable {
    case idle
    case connecting
    /// The agent and the customer can hear each other.
    case active
    case ended
}

/// How a call ended, once and for all.
public enum CallOutcome: Hashable, Sendable {
    /// It never became active.
    case failed(message: String)
    /// It ended by a hang-up, ours or theirs, or failed after it was active.
    case ended(EndReason)

    /// Whether the call failed, before or after it was active.
    package var isFailure: Bool {
        switch self {
        case .failed, .ended(.failed): true
        case .ended(.local), .ended(.remote): false
        }
    }

    /// Who or what ended a call.
    public enum EndReason: Hashable, Sendable {
        case local
        case remote
        case failed(message: String)
    }
}

/// The messages that contract and logs know, word for word.
package enum CallMessage {
    package static func notOpened(within seconds: Int64) -> String {
        "The conversation did not open within \(seconds) seconds."
    }
    package static func refused(status: Int?) -> String {
        status.map { "The conversation was refused (\($0))." } ?? "The conversation was refused."
    }
    package static let lineClosedEarly = "The line closed before the call connected."
    package static let lineLost = "The line was lost."
    package static let pathLost = "The media path was lost."
    package static let messagesNotTaken = "The application does not take its messages."
    package static let goingAway = "The endpoint is going away."
    /// What closed the line of a welcomed call: its code, the reason's word, and the sentence of `transport.error`.
    package static func lineRejected(code: UInt16, reason: String, detail: String?) -> String {
        let why = [reason, detail ?? ""].filter { !$0.isEmpty }.joined(separator: ": ")
        return "The server closed the call (\(code))" + (why.isEmpty ? "." : ": \(why)")
    }
    package static let notActive = "The call did not become active in time."
}
