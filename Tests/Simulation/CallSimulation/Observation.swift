package import ICELite
package import Transport
package import TransportMedia

/// One of the two ends of a call.
package enum CallEnd: UInt8, Hashable, Sendable, CaseIterable {
    case client
    case server

    /// The other end.
    package var peer: CallEnd { self == .client ? .server : .client }
}

/// What a packet travels on.
package enum Wire: Hashable, Sendable {
    /// A datagram. As its sender sees it where it is sent, as its receiver sees it where it arrives.
    case path(NetworkPath)
    /// The call line, by its number from 0: a call has several where it is opened again.
    case line(Int)
}

/// What the observer of a call sees, in order.
package enum Observation: Sendable {
    /// An end's state, on change.
    case state(CallEnd, TransportState, isRecovering: Bool)
    /// The choice in force at an end, on change; nil before the first.
    case choice(CallEnd, epoch: Int, TransportKind?, TransportFallback?)
    /// What an end asks its peer to send on the line, on change.
    case bridge(CallEnd, isAsked: Bool)
    /// How the call ended at an end.
    case outcome(CallEnd, CallOutcome)
    /// Handed to the network. `frame` is the audio frame that it carries; nil for everything else.
    case sent(CallEnd, Wire, byteCount: Int, frame: UInt32?)
    /// At the receiver named.
    case arrived(CallEnd, Wire, byteCount: Int, frame: UInt32?)
    /// An end's encoder made a frame: 20 ms, numbered from 1.
    case captured(CallEnd, frame: UInt32)
    /// What an end's application heard in a pull of 10 ms.
    case played(CallEnd, Played)
    /// The silence after which an end suspects the path, as concealment begins at one of the two.
    case suspicion(CallEnd, after: Nanoseconds)
    /// The line's stream has taken all of an audio frame, and its first byte at `begunAt`.
    case handed(CallEnd, frame: UInt32, begunAt: Instant)
    /// An end took an application's message to send; numbered from 1 at each end.
    case accepted(CallEnd, message: UInt32)
    /// The end named got its peer's message of that number; 0 for one that the peer never sent.
    case delivered(CallEnd, message: UInt32)
    /// What is good by the model, on change: the path in some pair of the client's.
    case network(pathUp: Bool, pathDown: Bool, lineUp: Bool, lineDown: Bool)
    /// A fault of the scenario's list begins or ends. One without a length only begins.
    case fault(index: Int, isBeginning: Bool)
    /// The first time that an anchor happened.
    case milestone(Milestone)
    /// An end's figures: each simulated second and at the end.
    indirect case figures(CallEnd, CallFigures)
}

/// The carriage a frame came by first; nil where the observer did not see it come.
package typealias AudioCarriageOrNil = AudioCarriage?

/// What a pull of 10 ms was made of.
package enum Played: Hashable, Sendable {
    /// One half of a frame of 20 ms.
    case frame(id: UInt32, isFirstHalf: Bool, on: AudioCarriageOrNil)
    /// Audio was missing and made up.
    case concealed
    /// Comfort noise in a pause of the talker, or nothing was ever heard.
    case silence
}

/// The instants that faults are anchored at.
package enum Milestone: UInt8, Hashable, Sendable, CaseIterable {
    case start
    case lineOpen
    case helloSent
    case welcome
    case firstCheck
    case firstAnswer
    case clientHello
    case dtlsDone
    case firstAudio
    case selectSent
    case selected
    case active
    case suspect
    case bridgeOn
    case bridgeOff
    case repaired
    case restartSent
    case fallbackSent
    case byeSent

    /// The name in a scenario's text.
    package var text: String {
        switch self {
        case .start: "start"
        case .lineOpen: "line_open"
        case .helloSent: "hello_sent"
        case .welcome: "welcome"
        case .firstCheck: "first_check"
        case .firstAnswer: "first_answer"
        case .clientHello: "client_hello"
        case .dtlsDone: "dtls_done"
        case .firstAudio: "first_audio"
        case .selectSent: "select_sent"
        case .selected: "selected"
        case .active: "active"
        case .suspect: "suspect"
        case .bridgeOn: "bridge_on"
        case .bridgeOff: "bridge_off"
        case .repaired: "repaired"
        case .restartSent: "restart_sent"
        case .fallbackSent: "fallback_sent"
        case .byeSent: "bye_sent"
        }
    }

    /// The milestone that `text` names.
    package init?(text: some StringProtocol) {
        guard let found = Self.allCases.first(where: { $0.text == text }) else { return nil }
        self = found
    }
}

/// What one end can tell of itself at a moment.
package struct CallFigures: Hashable, Sendable {
    /// When the machine wants to be called.
    package var nextDeadline = Instant.never
    /// Bytes that the line has not taken: the machine's own queue and the host's rest.
    package var lineBytesQueued = 0
    /// Bytes that the line's stream holds: not sent, and not acknowledged (which includes them).
    package var lineBytesUnsent = 0
    package var lineBytesUnacknowledged = 0
    /// Packets of the line's that waited for a choice at once, at most.
    package var packetsParked = 0
    /// Packets of the pool that are taken.
    package var poolTaken = 0
    /// Times the pool was empty.
    package var poolExhausted = 0
    /// Events that the machine's owner has not polled after a drain. Always 0.
    package var eventsWaiting = 0
    /// Datagrams sent, and those of them that were checks, handshake, or control of the media.
    package var datagramsSent = 0
    package var checksSent = 0
    /// Answers to checks, errors included.
    package var answersSent = 0
    package var handshakeSent = 0
    package var reportsSent = 0
    /// Messages of the line's that were ignored.
    package var ignoredMessages = 0
    /// Playout delay in milliseconds and packets held by the jitter buffer.
    package var playoutDelay = 0.0
    /// Samples put out since the beginning, and pulls of 480 samples.
    package var samplesPlayed: Int64 = 0
    package var pulls: Int64 = 0
    /// Times a deadline was not ahead after 32 rounds. Always 0.
    package var timesStuck: UInt64 = 0

    package init() {}
}

/// What only the simulator knows of a call: the truth that reasons and outcomes are measured by.
package struct CallFacts: Sendable {
    /// Nothing worse happens than 5 % loss and 40 ms jitter.
    package var isCalm = false
    /// From when on there is no fault any more and `healedCarriage` is good; nil where faults may go on.
    package var healingSince: Instant?
    /// The carriage that is good from then on: `.path` or `.line`.
    package var healedCarriage: AudioCarriage?

    // What the path's set-up met.
    /// Success responses to the client's checks that reached it before its choice, and error responses.
    package var checkAnswersDelivered = 0
    package var checkErrorsDelivered = 0
    /// Pairs on which the client has sent a check, and those of them where a send was refused before the choice.
    package var pairsChecked = 0
    package var pairsRefused = 0
    /// Those that were not refused and went with their socket: nobody checks them any more, and no answer could reach them.
    package var pairsGone = 0
    /// The server has presented another certificate than its description names.
    package var isCertificateSwapped = false
    /// The two ends have no SRTP profile in common.
    package var lacksCommonProfile = false
    /// Handshake datagrams that reached an end before the choice: over UDP and on the line.
    package var handshakeDeliveredUp = 0
    package var handshakeDeliveredDown = 0
    /// Audio datagrams of the other end's that reached the client and the server before the client's choice.
    package var mediaDeliveredUpBeforeChoice = 0
    package var mediaDeliveredDownBeforeChoice = 0
    /// The same, by the second after the choice.
    package var mediaDeliveredUp = 0
    package var mediaDeliveredDown = 0
    /// The server sent `transport.fallback`.
    package var wasFallbackRequested = false
    /// A bye of an end was read by its peer: neither its call had ended nor had it given the line up.
    package var byeDeliveredToServer = false
    package var byeDeliveredToClient = false
    /// Audio datagrams that the server sent to an address that no check of the client's has come from.
    package var mediaSentUnchecked = 0
    /// An end hung up, and when.
    package var clientHungUpAt: Instant?
    package var serverHungUpAt: Instant?
    /// The endpoint went away.
    package var drainedAt: Instant?

    // The line.
    /// Shortest round trip.
    package var lineRoundTrip: Nanoseconds = 0
    /// What the delay of the line's worst direction varies by: p99 − least.
    package var lineJitter: Nanoseconds = 0
    /// Shortest round trip of the path's first interface.
    package var pathRoundTrip: Nanoseconds = 0
    /// What the delay of the path's worst direction varies by on its first interface: p99 − least.
    package var pathJitter: Nanoseconds = 0
    /// A round trip that 99 of 100 packets keep on the path's slowest interface.
    package var slowestRoundTrip: Nanoseconds = 0

    // What is left a minute after the end.
    /// An end's machine still waits for a deadline.
    package var clientWaits = false
    package var serverWaits = false
    /// The line of an end that has ended is not closed, so that its stream is never given back.
    package var clientKeepsLine = false
    package var serverKeepsLine = false
    /// The server refused the line, and when the call it had begun for it was over.
    package var refusedAt: Instant?
    package var refusedCallEndedAt: Instant?
    /// Packets not given back.
    package var packetsLeft = 0
    /// The run was given up because the clock stood still.
    package var isStuck = false
    /// Times a host's deadline was not ahead of now after 32 rounds.
    package var timesStuck: UInt64 = 0
    /// Times one (state, input) pair came twice at one instant with its deadline unmoved.
    package var deadlinesUnmoved = 0
    /// Faults whose anchor never happened.
    package var faultsNeverFired = 0
    /// The hash of the run: equal for equal scenarios.
    package var traceHash: UInt64 = 0
    /// When the run ended.
    package var endedAt = Instant.zero

    package init() {}
}

/// A call that was simulated, as the judge gets it.
package struct ObservedCall: Sendable {
    /// What was asked for.
    package var scenario: Scenario
    /// What was seen, in order.
    package var observations: [(at: Instant, what: Observation)]
    /// What the simulator knows.
    package var facts: CallFacts

    package init(
        scenario: Scenario, observations: [(at: Instant, what: Observation)] = [], facts: CallFacts = CallFacts()
    ) {
        self.scenario = scenario
        self.observations = observations
        self.facts = facts
    }
}
