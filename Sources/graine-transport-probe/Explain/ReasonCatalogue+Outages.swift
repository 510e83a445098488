internal import Transport

extension ReasonCatalogue {
    /// One for each cause, mechanism and outcome of `recovery.outages[]`.
    static let outages: [Entry] =
        OutageCause.allCases.map(cause) + RepairMechanism.allCases.map(mechanism) + OutageOutcome.allCases.map(outcome)

    private static func cause(_ cause: OutageCause) -> Entry {
        let text: (meaning: String, cause: String, advice: String, source: String) =
            switch cause {
            case .silence:
                (
                    "Nothing authenticated came on the media path for longer than its own rhythm explains.",
                    "The network stands still, or a NAT lost the call's mapping.", "Look at the network at that time.",
                    "max(300 ms, 3.5 × the peer's liveness, 95th-percentile gap + 4 × jitter), at most 1 s"
                )
            case .networkChange:
                (
                    "The address or route that the call used is gone.",
                    "An interface went down or changed its address.",
                    "Expected when somebody moves between networks.", "the kernel's routing messages"
                )
            case .sendRefused:
                (
                    "This machine refused to send on the call's path.", "A firewall here, or no route any more.",
                    "Look at this machine's filters and routes.", "errno of the send: EPERM, ENETUNREACH and the like"
                )
            case .peer:
                (
                    "The other end asked for the bridge: it does not hear this one.",
                    "The way from here to there is broken, perhaps that one alone.", "Look at the uplink.",
                    "call line, version 1: the bridge"
                )
            case .oneWay:
                (
                    "The other end's reports show that nothing of ours arrives.",
                    "The way from here to there is broken.",
                    "Look at the uplink.", "three reports whose highest sequence number stands still, RFC 3550 §6.4.1"
                )
            case .consent:
                (
                    "Consent to send has expired, or the server asked for an ICE restart.",
                    "Checks were not answered for 30 s while audio came.", "Look at the server's log.", "RFC 7675 §5.1"
                )
            case .hint:
                (
                    "The application said that the network may have changed.", "Its own view of the network.",
                    "Nothing: a hint costs a look at the path.", "the application"
                )
            case .stall:
                (
                    "This process did not run for a while.", "It was stopped, or the machine slept or was overloaded.",
                    "The network is not to blame.", "timers that come more than 1 s late"
                )
            }
        return Entry(
            code: cause.rawValue, kind: .outageCause, meaning: text.meaning, cause: text.cause, advice: text.advice,
            source: text.source)
    }

    private static func mechanism(_ mechanism: RepairMechanism) -> Entry {
        let text: (meaning: String, cause: String, advice: String, source: String) =
            switch mechanism {
            case .none:
                (
                    "Audio came again before a check was answered, or never.", "The network came back by itself.",
                    "Nothing; with outcome continued or failed, see checks_sent: above 0, nothing came back over UDP.",
                    "no answer to any check of this outage"
                )
            case .samePair:
                (
                    "A check on the pair that was in use was answered.",
                    "A new mapping of a NAT, or a network that came back.", "Nothing.",
                    "a valid answer on the selected pair, RFC 8445 §7.2.5"
                )
            case .otherPair:
                (
                    "Another pair was selected.", "Another interface, family or port works.", "Nothing.",
                    "a valid answer on another pair, which is nominated, RFC 8445 §8"
                )
            case .restart:
                (
                    "An ICE restart found a pair.", "New credentials and addresses were needed.", "Nothing.",
                    "the pair of new credentials, RFC 8445 §9"
                )
            }
        return Entry(
            code: mechanism.rawValue, kind: .repair, meaning: text.meaning, cause: text.cause, advice: text.advice,
            source: text.source)
    }

    private static func outcome(_ outcome: OutageOutcome) -> Entry {
        let text: (meaning: String, cause: String, advice: String, source: String) =
            switch outcome {
            case .ongoing:
                (
                    "The outage lasts.", "The report was made in it.", "Look again later.",
                    "the path is suspected and has not carried audio for 500 ms since (PathRecovery)"
                )
            case .falseAlarm:
                (
                    "The path had only been quiet for a moment.", "Jitter, or a short stall.",
                    "Nothing; it costs two seconds of audio on both carriages.",
                    "audio on the pair of before within 1 s of the suspicion (PathRecovery)"
                )
            case .recovered:
                (
                    "The path carries the call again.", "The network came back.", "Nothing.",
                    "audio on the path for 500 ms, and the other end asks for no bridge (PathRecovery)"
                )
            case .continued:
                (
                    "The path did not come back: the call goes on over the line.",
                    "UDP does not work any more, or the server asked for the WebSocket meanwhile.",
                    "See recovery_failed or server_requested, whichever the call's fallback names.",
                    "10 s from the suspicion, the line heard within 2 s (TransportLimits); or transport.fallback"
                )
            case .failed:
                (
                    "The path did not come back and the call ended.", "The line was dead, too, or --recovery end-call.",
                    "Look at the network; see the detail.",
                    "10 s from the suspicion and no line heard within 2 s, or none allowed (TransportLimits)"
                )
            case .hungUp:
                (
                    "The call was ended while the outage lasted.", "Somebody hung up.", "Nothing.",
                    "a hang-up here or the other end's bye before the window was over"
                )
            }
        return Entry(
            code: outcome.rawValue, kind: .outageOutcome, meaning: text.meaning, cause: text.cause, advice: text.advice,
            source: text.source)
    }
}
