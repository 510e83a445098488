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
        let (meaning, cause) =
            switch mechanism {
            case .none: ("Audio came again before a check was answered, or never.", "The network came back by itself.")
            case .samePair:
                (
                    "A check on the pair that was in use was answered.",
                    "A new mapping of a NAT, or a network that came back."
                )
            case .otherPair: ("Another pair was selected.", "Another interface, family or port works.")
            case .restart: ("An ICE restart found a pair.", "New credentials and addresses were needed.")
            }
        return Entry(
            code: mechanism.rawValue, kind: .repair, meaning: meaning, cause: cause, advice: "Nothing.",
            source: "RFC 8445, RFC 7675")
    }

    private static func outcome(_ outcome: OutageOutcome) -> Entry {
        let (meaning, cause, advice) =
            switch outcome {
            case .ongoing: ("The outage lasts.", "The report was made in it.", "Look again later.")
            case .falseAlarm:
                (
                    "The path had only been quiet for a moment.", "Jitter, or a short stall.",
                    "Nothing; it costs two seconds of audio on both carriages."
                )
            case .recovered: ("The path carries the call again.", "The network came back.", "Nothing.")
            case .continued:
                (
                    "The path did not come back: the call goes on over the line.", "UDP does not work any more.",
                    "See recovery_failed."
                )
            case .failed:
                (
                    "The path did not come back and the call ended.", "The line was dead, too, or --recovery end-call.",
                    "Look at the network; see the detail."
                )
            case .hungUp: ("The call was ended while the outage lasted.", "Somebody hung up.", "Nothing.")
            }
        return Entry(
            code: outcome.rawValue, kind: .outageOutcome, meaning: meaning, cause: cause, advice: advice,
            source: "10 s from the suspicion (TransportLimits)")
    }
}
