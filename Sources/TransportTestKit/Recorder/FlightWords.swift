internal import ICELite
import Transport

/// What a person reads of an input, an effect or a machine.
protocol Described {
    var words: String { get }
}

/// A machine that says where it stands, in words that change when its decisions would.
protocol DescribedMachine {
    var words: String { get }
}

extension ClientPolicy: DescribedMachine {
    var words: String {
        "\(callState.rawValue)" + (transport.map { " on \($0.rawValue), epoch \(epoch)" } ?? "")
            + (fallback.map { ", \($0.words)" } ?? "")
    }
}

extension ServerPolicy: DescribedMachine {
    var words: String {
        "\(callState.rawValue)" + (transport.map { " on \($0.rawValue), epoch \(epoch)" } ?? "")
            + (fallback.map { ", \($0.words)" } ?? "")
    }
}

extension PathRecovery: DescribedMachine {
    var words: String {
        var words = [hasOutage ? (isBroken ? "broken" : "coming back") : "calm"]
        if isBridgeAsked { words.append("bridge asked for") }
        if isPeerBridgeOn { words.append("bridge wanted by the peer") }
        if isRecovering { words.append("shown as recovering") }
        if isWindowOver { words.append("window over") }
        return words.joined(separator: ", ")
    }
}

extension QuietPackets {
    func words(threshold: Nanoseconds) -> String {
        "\(count) packets since \(first.words.drop { $0 == " " }), the last \(last.words.drop { $0 == " " }), "
            + "longest gap \(largestGap.words), suspected after \(threshold.words)"
    }
}

extension Outage {
    var words: String {
        var words = "outage (\(cause.rawValue)): \(outcome.rawValue), seen after \(detection.words)"
        if let repair { words += ", repaired after \(repair.words) by \(mechanism.rawValue)" }
        words += ", longest silence \(gap.words)"
        return relapses > 0 ? words + ", broke again \(relapses) times" : words
    }
}

extension TransportFallback {
    var words: String { "\(reason.wire) at \(stage.rawValue) after \(elapsed.words): \(detail)" }
}

extension PathRecovery.Input: Described {
    var words: String {
        switch self {
        case .heard: "a packet"
        case .answered(let isSamePair): isSamePair ? "a check was answered" : "a check was answered on another pair"
        case .restarted: "the restart has its pair"
        case .lineAnswered: "the line has told all that the peer had said"
        case .suspect(let cause): "suspected: \(cause.rawValue)"
        case .peerBridge(let isOn): isOn ? "the peer wants the bridge" : "the peer wants no bridge any more"
        case .behind: "audio comes on the path much later than on the line"
        case .reported(let standstills): "a report, \(standstills) in a row show nothing arriving"
        case .stalled(let pause): "this process did not run for \(Duration(nanoseconds: pause))"
        case .timeout: "time"
        case .moved: "another pair is in use"
        case .stop(let outcome): "stopped: \(outcome.rawValue)"
        }
    }
}

extension PathRecovery.Effect: Described {
    var words: String {
        switch self {
        case .began: "outage"
        case .askBridge(let isOn): isOn ? "ask for the bridge" : "end the bridge"
        case .probe: "check the pairs"
        case .check: "check the pair"
        case .askLine: "ask for a sign on the line"
        case .openFreshSockets: "open fresh ports"
        case .recoveringChanged(let isOn): isOn ? "recovering" : "not recovering any more"
        case .windowEnded: "the window is over"
        case .finished: "outage over"
        }
    }
}

extension PathEvidence {
    var words: String {
        var words = ["\(localCandidates) candidates", "\(pairs) pairs", "\(checksSent) checks"]
        if remoteIsComplete { words.append("the peer's complete") }
        if firstAnswerAt != nil { words.append("answered") }
        if onlyErrorResponses { words.append("errors only") }
        if let roundTrip { words.append("round trip \(roundTrip.words)") }
        if keysAt != nil { words.append("keys") }
        if firstMediaAt != nil { words.append("audio") }
        if everyPairRefused != nil { words.append("every pair refused") }
        switch failure {
        case .none: break
        case .alert(let number): words.append("DTLS alert \(number)")
        case .handshake: words.append("the handshake failed")
        case .fingerprintMismatch: words.append("another fingerprint")
        case .noSRTPProfile: words.append("no SRTP profile")
        case .srtp: words.append("SRTP failed")
        }
        if isLost { words.append("lost") }
        return words.joined(separator: ", ")
    }
}

extension ClientPolicy.Input: Described {
    var words: String {
        switch self {
        case .start: "start"
        case .helloSent: "hello sent"
        case .welcomed(.answer): "welcome with an answer"
        case .welcomed(.none): "welcome without an answer"
        case .welcomed(.standard): "welcome: call audio is standard"
        case .welcomed(.declined(let word, _)): "welcome declines: \(word)"
        case .welcomed(.unusable): "welcome with an answer that cannot be used"
        case .pathChanged(let evidence): "path: \(evidence.words)"
        case .heard(let transport): "audio on \(transport.rawValue)"
        case .acknowledged(let epoch, let heard): "the server acknowledges \(epoch)" + (heard ? " and hears us" : "")
        case .serverRequestedWebSocket: "the server asks for the WebSocket"
        case .hangUp: "hang up"
        case .fail: "the application ends it as failed"
        case .byeReceived(let isFailure, _): isFailure ? "bye, as failed" : "bye"
        case .lineRefused: "the line is refused"
        case .lineClosed: "the line is closed"
        case .pathClosedByPeer: "the peer closed the path"
        case .recoveryWindowEnded: "the recovery window is over"
        case .timeout: "time"
        case .lineHeard(let at): "the line was heard last at \(at.words.drop { $0 == " " })"
        }
    }
}

extension CallOutcome {
    var words: String {
        switch self {
        case .ended(.local): "ended by us"
        case .ended(.remote): "ended by the peer"
        case .ended(.failed(let message)): "ended as failed (\(message))"
        case .failed(let message): "failed (\(message))"
        }
    }
}

extension ClientPolicy.Effect: Described {
    var words: String {
        switch self {
        case .select(let epoch, let transport, let fallback, let isRepeat):
            (isRepeat ? "again " : "") + "select \(transport.rawValue) (\(epoch))"
                + (fallback.map { ", \($0.words)" } ?? "")
        case .closePath: "close the path"
        case .activated(let transport): "active on \(transport.rawValue)"
        case .transportChanged(let from, let to, _): "\(from.rawValue) → \(to.rawValue)"
        case .ended(let outcome, let bye): outcome.words + (bye == nil ? ", no bye" : ", bye")
        }
    }
}

extension ServerPolicy.Input: Described {
    var words: String {
        switch self {
        case .upgraded: "upgraded"
        case .welcomed: "welcome sent"
        case .select(let epoch, let transport, let fallback):
            "select \(transport.rawValue) (\(epoch))" + (fallback.map { ", \($0.words)" } ?? "")
        case .heard(let transport): "audio on \(transport.rawValue)"
        case .hangUp: "hang up"
        case .fail: "the agent ends it as failed"
        case .goAway: "the endpoint goes away"
        case .byeReceived(let isFailure, _): isFailure ? "bye, as failed" : "bye"
        case .reject(let rejection): "breach: \(rejection.code)"
        case .lineClosed: "the line is closed"
        case .recoveryWindowEnded: "the recovery window is over"
        case .pathClosedByPeer: "the peer closed the path"
        case .timeout: "time"
        }
    }
}

extension ServerPolicy.Effect: Described {
    var words: String {
        switch self {
        case .selected(let epoch, let heard): "acknowledge \(epoch)" + (heard ? ", heard" : "")
        case .closePath: "close the path"
        case .activated(let transport): "active on \(transport.rawValue)"
        case .transportChanged(let from, let to, _): "\(from.rawValue) → \(to.rawValue)"
        case .reject(let rejection): "reject: \(rejection.code)"
        case .ended(let outcome, let bye): outcome.words + (bye == nil ? ", no bye" : ", bye")
        }
    }
}
