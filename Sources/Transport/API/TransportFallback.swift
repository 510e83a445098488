/// Why a call that wanted WebRTC runs on the WebSocket. The raw words are those of the wire and of the reports.
public enum TransportFallbackReason: Hashable, Sendable {
    /// `.webrtc` was asked for and this build has no media path.
    case moduleMissing
    /// `.webrtc` was asked for and the agent's in-app call audio is Standard.
    case agentStandard
    /// The welcome has no answer: an older server.
    case serverUnsupported
    /// The server said no, with its word in the detail.
    case serverDeclined
    /// The answer cannot be used.
    case answerInvalid
    /// There was nothing to pair.
    case noCandidates
    /// On every pair a send was refused, locally or by ICMP, and nothing came back.
    case udpBlocked
    /// No check was answered.
    case iceNoResponse
    /// Checks were answered by errors only.
    case iceRejected
    /// The DTLS handshake made no progress.
    case dtlsTimeout
    /// The DTLS handshake ended with an alert or found no common suite.
    case dtlsFailed
    /// The peer's certificate is not the one that was signalled. A security event.
    case dtlsFingerprintMismatch
    /// No common SRTP profile.
    case srtpProfileMismatch
    /// Secured, but no audio came (stage downlink) or ours was not heard (uplink).
    case mediaTimeout
    /// The budget ended at a stage that no other reason names.
    case setupTimeout
    /// In the middle of the call the path did not come back and the call continues on the line.
    case recoveryFailed
    /// The server asked for the WebSocket.
    case serverRequested
    /// A fault of ours, said in the detail.
    case internalError
    /// A newer peer's word.
    case unknown(String)

    /// Every reason this version knows, in the order of the protocol's table.
    public static let known: [TransportFallbackReason] = [
        .moduleMissing, .agentStandard, .serverUnsupported, .serverDeclined, .answerInvalid, .noCandidates, .udpBlocked,
        .iceNoResponse, .iceRejected, .dtlsTimeout, .dtlsFailed, .dtlsFingerprintMismatch, .srtpProfileMismatch,
        .mediaTimeout, .setupTimeout, .recoveryFailed, .serverRequested, .internalError,
    ]

    /// The word on the wire, such as `ice_no_response`.
    public var wire: String {
        switch self {
        case .moduleMissing: "module_missing"
        case .agentStandard: "agent_standard"
        case .serverUnsupported: "server_unsupported"
        case .serverDeclined: "server_declined"
        case .answerInvalid: "answer_invalid"
        case .noCandidates: "no_candidates"
        case .udpBlocked: "udp_blocked"
        case .iceNoResponse: "ice_no_response"
        case .iceRejected: "ice_rejected"
        case .dtlsTimeout: "dtls_timeout"
        case .dtlsFailed: "dtls_failed"
        case .dtlsFingerprintMismatch: "dtls_fingerprint_mismatch"
        case .srtpProfileMismatch: "srtp_profile_mismatch"
        case .mediaTimeout: "media_timeout"
        case .setupTimeout: "setup_timeout"
        case .recoveryFailed: "recovery_failed"
        case .serverRequested: "server_requested"
        case .internalError: "internal_error"
        case .unknown(let word): word
        }
    }

    /// The reason a wire word stands for; `unknown` with the word for one this version does not know.
    public init(wire word: String) {
        self = Self.known.first { $0.wire == word } ?? .unknown(word)
    }
}

extension TransportFallbackReason: CustomStringConvertible {
    public var description: String { wire }
}

/// How far the media path had come when it was given up.
public enum FallbackStage: String, Hashable, Sendable, CaseIterable {
    case offer, answer, candidates, checks, dtls, keys, downlink, uplink, recovery
}

/// A fallback with its evidence.
public struct TransportFallback: Hashable, Sendable {
    /// Why.
    public var reason: TransportFallbackReason
    /// How far the media path had come.
    public var stage: FallbackStage
    /// Time from hello to the decision.
    public var elapsed: Duration
    /// What was seen, for a person: counts, errno, ICMP type and sender, alert numbers. Holds no secret.
    public var detail: String

    public init(reason: TransportFallbackReason, stage: FallbackStage, elapsed: Duration, detail: String) {
        self.reason = reason
        self.stage = stage
        self.elapsed = elapsed
        self.detail = detail
    }
}
