import ICELite
import Transport

/// Notices the situations of the sometimes-list as a call goes by.
struct SometimesWatch {
    private(set) var seen = SometimesSet()
    /// An end was suspicious of the path at some time.
    private(set) var hadOutage = false

    private var roundTrip: Nanoseconds = 0
    private var firstLocal: IPAddress?
    private var startedAt: Instant?
    private var isSelected = false
    /// The last audio that came to the client, and the last choice that time alone made.
    private var arrivedAt: Instant?
    private var timedChoiceAt: Instant?
    private var fellBackAt: Instant?

    // The outage that goes on, or went on last.
    private var bridgeAt: Instant?
    private var bridgedBy: CallEnd?
    private var recoversSince: Instant?
    private var outages = 0
    private var outageEndedAt: Instant?
    private var client: CallOutcome?
    private var server: CallOutcome?

    mutating func begin(_ call: ObservedCall) {
        self = SometimesWatch()
        roundTrip = call.facts.lineRoundTrip
    }

    /// - Parameter picture: the call as it stood before.
    mutating func take(_ what: Observation, at now: Instant, picture: JudgePicture, scenario: Scenario) {
        switch what {
        case .arrived(.client, let wire, _, let frame): arrive(frame, on: wire, at: now, picture: picture)
        case .sent(.client, .path(let path), _, let frame):
            guard frame != nil else { return }
            if path.local.ip.family == .v6 { seen.insert(.pathOverIPv6) }
            if path.local.ip.family == .v4 {
                if firstLocal == nil { firstLocal = path.local.ip }
                if scenario.networks.count > 1, firstLocal != path.local.ip { seen.insert(.pathOverTheSecondNetwork) }
            }
        case .choice(.client, let epoch, let transport, let fallback):
            choose(epoch, transport, fallback, at: now, picture: picture)
        case .bridge(let end, let isAsked): bridge(end, isAsked: isAsked, at: now, picture: picture)
        case .state(let end, let state, let isRecovering):
            change(end, state, isRecovering: isRecovering, at: now, picture: picture)
        case .outcome(let end, let outcome): close(end, by: outcome, at: now, picture: picture)
        case .delivered: if picture.coverageState == .recovering { seen.insert(.messagesWhileRecovering) }
        case .milestone(let milestone): reach(milestone, at: now, picture: picture)
        case .fault(let index, let isBeginning):
            guard isBeginning, scenario.faults.indices.contains(index) else { return }
            meet(scenario.faults[index], picture: picture)
        case .sent, .arrived, .choice, .captured, .played, .suspicion, .handed, .accepted, .network, .figures: break
        }
    }

    private mutating func arrive(_ frame: UInt32?, on wire: Wire, at now: Instant, picture: JudgePicture) {
        if timedChoiceAt == now { seen.insert(.deadlineThenPacketAtOneInstant) }
        arrivedAt = now
        guard frame != nil else { return }
        switch wire {
        case .path: if let fellBackAt, now > fellBackAt { seen.insert(.lateSuccessAfterSelect) }
        case .line: if picture.client.transport == nil { seen.insert(.lineAudioBeforeTheChoice) }
        }
    }

    private mutating func choose(
        _ epoch: Int, _ transport: TransportKind?, _ fallback: TransportFallback?, at now: Instant,
        picture: JudgePicture
    ) {
        if epoch == 2 { seen.insert(.epochTwo) }
        guard transport == .websocket, let fallback else { return }
        fellBackAt = fellBackAt ?? now
        switch fallback.reason {
        case .iceNoResponse, .dtlsTimeout, .mediaTimeout, .setupTimeout, .recoveryFailed:
            timedChoiceAt = now
            if arrivedAt == now { seen.insert(.packetThenDeadlineAtOneInstant) }
        case .serverRequested:
            seen.insert(picture.client.state == .active ? .serverRequestedWhileActive : .serverRequestedBeforeActive)
        default: break
        }
        if fallback.reason == .mediaTimeout, fallback.stage == .uplink { seen.insert(.uplinkGivenUpAfterSelect) }
        if fallback.reason == .recoveryFailed { seen.insert(.continuedOnTheLine) }
        if fallback.reason != .recoveryFailed, fallback.elapsed.nanoseconds == JudgeLimits.choice {
            seen.insert(.choiceAtTheBudgetsEnd)
        }
    }

    // MARK: - Outages

    private mutating func bridge(_ end: CallEnd, isAsked: Bool, at now: Instant, picture: JudgePicture) {
        let other = picture[end.peer].isBridgeAsked
        guard isAsked else {
            guard !other else { return }
            if picture.faultsInEffect == 0, now - picture.faultAt > JudgeLimits.sameOutage, recoversSince == nil {
                seen.insert(.falseAlarm)
            }
            if let bridgedBy {
                seen.insert(bridgedBy == .client ? .bridgeAskedByTheClientAlone : .bridgeAskedByTheServerAlone)
            }
            endOutage(at: now)
            return
        }
        guard !other else {
            seen.insert(.bridgeAskedByBoth)
            if let bridgeAt, now - bridgeAt < roundTrip { seen.insert(.bridgeAskedByBothWithinARoundTrip) }
            bridgedBy = nil
            return
        }
        bridgeAt = now
        bridgedBy = end
        beginOutage(at: now, picture: picture)
    }

    private mutating func beginOutage(at now: Instant, picture: JudgePicture) {
        guard outageEndedAt != nil || outages == 0 else { return }
        hadOutage = true
        outages += 1
        if outages == 2 { seen.insert(.twoOutages) }
        if let outageEndedAt, now - outageEndedAt < JudgeLimits.sameOutage {
            seen.insert(.secondOutageWithinFiveSeconds)
        }
        outageEndedAt = nil
        for verb in picture.verbsInEffect {
            switch verb {
            case .drop: seen.insert(.outageByDrop)
            case .reject: seen.insert(.outageByReject)
            case .hold: seen.insert(.outageByHold)
            case .addressChange, .interfaceDown, .routeFlap: seen.insert(.outageByAnAddressThatGoes)
            case .suspend, .stall: seen.insert(.outageBySuspension)
            default: break
            }
        }
        if let rebindAt = picture.rebindAt, now - rebindAt < .seconds(2) { seen.insert(.outageByRebinding) }
        if (picture.path.upSince == nil) != (picture.path.downSince == nil) { seen.insert(.outageOfOneDirection) }
        if picture.path.bothSince == nil, picture.line.bothSince == nil { seen.insert(.outageOfBothCarriages) }
        if picture.lineGoneAt != nil { seen.insert(.outageWhileTheLineIsGone) }
    }

    private mutating func endOutage(at now: Instant) {
        guard hadOutage, outageEndedAt == nil else { return }
        outageEndedAt = now
    }

    private mutating func change(
        _ end: CallEnd, _ state: TransportState, isRecovering: Bool, at now: Instant, picture: JudgePicture
    ) {
        guard end == .client else { return }
        if isRecovering, recoversSince == nil {
            recoversSince = now
            if !picture.client.isBridgeAsked, !picture.server.isBridgeAsked { beginOutage(at: now, picture: picture) }
        } else if !isRecovering, let since = recoversSince {
            recoversSince = nil
            if state == .active, picture.client.transport == .webrtc {
                seen.insert(.recovered)
                let suspected = min(since, picture.client.suspectSince ?? since)
                if now - suspected >= JudgeLimits.recovering - .milliseconds(100) {
                    seen.insert(.recoveredInItsLast100Milliseconds)
                }
            }
            if !picture.client.isBridgeAsked, !picture.server.isBridgeAsked { endOutage(at: now) }
        }
    }

    // MARK: - Set-up and faults

    private mutating func reach(_ milestone: Milestone, at now: Instant, picture: JudgePicture) {
        switch milestone {
        case .start: startedAt = now
        case .welcome:
            if let startedAt, now - startedAt >= JudgeLimits.welcome - .milliseconds(100) {
                seen.insert(.welcomeInItsLast100Milliseconds)
            }
        case .selected: isSelected = true
        case .restartSent:
            if picture.client.isBridgeAsked || picture.server.isBridgeAsked { seen.insert(.restartSentWhileBridged) }
        default: break
        }
    }

    private mutating func meet(_ fault: Fault, picture: JudgePicture) {
        let state = picture.coverageState
        switch fault.verb {
        case .rebind: if state == .bridged { seen.insert(.natMovesWithBothCarriagesOn) }
        case .mute: if state == .recovering { seen.insert(.mutedWhileRecovering) }
        case .forgeCheck, .forgeOldCheck, .forgeMedia, .forgeMessage, .forgeJunk, .replayHandshake, .replayMedia:
            if state == .recovering || state == .bridged { seen.insert(.forgedWhileRecovering) }
        case .cutFin, .cutReset, .cutSilent, .halfOpen:
            switch state {
            case .activeOnPath: seen.insert(.lineCutWhileOnThePath)
            case .bridged, .recovering: seen.insert(.lineCutWhileRecovering)
            case .activeOnLine: seen.insert(.lineCutOnTheWebSocket)
            case .opening, .welcoming, .negotiating, .selected: seen.insert(.lineCutWhileConnecting)
            case .ended: break
            }
        case .drain:
            if picture.client.state == .active { seen.insert(.endpointGoesAwayWhileActive) }
            if picture.client.state == .connecting { seen.insert(.endpointGoesAwayWhileConnecting) }
        default: break
        }
    }

    // MARK: - Ends

    private mutating func close(_ end: CallEnd, by outcome: CallOutcome, at now: Instant, picture: JudgePicture) {
        if end == .client { client = outcome } else { server = outcome }
        if client == .ended(.local), server == .ended(.local) { seen.insert(.bothHangUp) }
        if let client, let server, Self.hasFailed(client) != Self.hasFailed(server) { seen.insert(.oneEndAloneFails) }
        let state = stateAtTheEnd ?? picture.coverageState
        if end == .client, case .failed = outcome, !picture.isWelcomed { seen.insert(.welcomeNeverCame) }
        if case .ended(.failed) = outcome, state == .recovering || state == .bridged { seen.insert(.endedByAnOutage) }
        guard outcome == .ended(.local) else { return }
        end == .client ? hangUpClient(in: state) : hangUpServer(in: state)
    }

    private static func hasFailed(_ outcome: CallOutcome) -> Bool {
        switch outcome {
        case .failed, .ended(.failed): true
        case .ended(.local), .ended(.remote): false
        }
    }

    private mutating func hangUpServer(in state: CoverageState) {
        switch state {
        case .recovering, .bridged: seen.insert(.serverHangsUpWhileRecovering)
        case .activeOnPath, .activeOnLine: seen.insert(.serverHangsUpWhileActive)
        default: break
        }
    }

    private mutating func hangUpClient(in state: CoverageState) {
        switch state {
        case .opening: seen.insert(.hangUpWhileOpening)
        case .welcoming: seen.insert(.hangUpWhileWelcoming)
        case .negotiating: seen.insert(.hangUpWhileNegotiating)
        case .selected: if !isSelected { seen.insert(.hangUpBetweenSelectAndSelected) }
        case .activeOnPath: seen.insert(.hangUpOnThePath)
        case .activeOnLine: seen.insert(.hangUpOnTheLine)
        case .bridged: seen.insert(.hangUpWhileBridged)
        case .recovering: seen.insert(.hangUpWhileRecovering)
        case .ended: break
        }
    }

    /// Where the call was as its client ended: the state may be told ahead of the outcome.
    private var stateAtTheEnd: CoverageState?

    mutating func noteState(before what: Observation, picture: JudgePicture) {
        guard case .state(.client, .ended, _) = what, stateAtTheEnd == nil else { return }
        stateAtTheEnd = picture.coverageState
    }
}
