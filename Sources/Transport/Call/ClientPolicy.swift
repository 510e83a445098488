package import ICELite
import TransportLine

/// The client's decisions: which carriage, when, and why; when the call is active; how it ends.
///
/// A value with no I/O. `ClientCall` feeds it what the line and the path saw and carries its effects out. The client
/// decides and the server obeys: a choice that was made is never unmade by a late success.
package struct ClientPolicy: Sendable {
    /// What the call is to do, in order.
    package enum Effect: Sendable, Equatable {
        /// Announce the choice of carriage on the line (also when it is sent once more).
        case select(epoch: Int, transport: TransportKind, fallback: TransportFallback?, isRepeat: Bool)
        /// The media path is not needed any more: let it go.
        case closePath
        /// Both ends hear each other.
        case activated(TransportKind)
        /// After active the carriage changed (`.continueOnWebSocket` only).
        case transportChanged(from: TransportKind, to: TransportKind, TransportFallback)
        /// The call is over. `bye` is what the line is still to say; nil when the line is gone or has said it.
        case ended(CallOutcome, bye: Bye?)
    }

    /// Who a bye is by.
    package enum Bye: Sendable, Equatable {
        case client
        case failure(String)
    }

    /// What welcome said of the media path.
    package enum WelcomePath: Sendable, Equatable {
        case answer
        case none
        case standard
        case declined(word: String, detail: String?)
        /// There is an answer but it cannot be used; the sentence says why.
        case unusable(String)
    }

    enum State: Sendable {
        case idle
        /// Waiting for the welcome.
        case opening
        /// Welcomed, the carriage not chosen yet.
        case negotiating
        /// A carriage is chosen and announced.
        case selected(Selection)
        case active(Selection)
        case ended
    }

    /// The choice in force.
    struct Selection: Sendable {
        var epoch: Int
        var transport: TransportKind
        var fallback: TransportFallback?
        var at: Instant
        var acknowledged = false
        var sentTwice = false
        /// We heard a packet on it.
        var weHeard = false
        /// The server heard ours on it.
        var serverHeard = false
    }

    /// How long the line may still say why the peer closed the path that carries the call; then it was a hang-up.
    package static let closedPathPatience = Nanoseconds.seconds(3)

    let wanted: CallTransport
    let standard: Bool
    let hasMediaPath: Bool
    let recovery: RecoveryPolicy
    let limits: TransportLimits
    var state = State.idle
    var startedAt = Instant.zero
    var helloAt: Instant?
    var lineLostAt: Instant?
    /// When the peer closed the media path that carries the call.
    var pathClosedAt: Instant?
    var effects: [Effect] = []
    /// Where its inputs and their effects are kept.
    var recorder: FlightRecorder?
    /// What was kept of `lineHeardAt`.
    var recordedLineHeardAt = Instant.zero

    /// What the path last showed.
    package internal(set) var evidence = PathEvidence()
    /// When the last frame came on the line.
    package var lineHeardAt = Instant.zero
    /// The epoch of the last select; 0 before the first.
    package internal(set) var epoch = 0

    /// - Parameters:
    ///   - wanted: the application's preference.
    ///   - standard: the agent's call audio is known to be Standard beforehand.
    ///   - hasMediaPath: this build and this machine can try WebRTC.
    package init(
        wanted: CallTransport, standard: Bool, hasMediaPath: Bool, recovery: RecoveryPolicy, limits: TransportLimits
    ) {
        self.wanted = wanted
        self.standard = standard
        self.hasMediaPath = hasMediaPath
        self.recovery = recovery
        self.limits = limits
    }

    // MARK: What it knows

    /// Whether the call offers WebRTC at all: with preference auto only where it can come about.
    package var offersMediaPath: Bool { wanted != .websocket && !standard && hasMediaPath }

    /// The carriage in force; nil while undecided.
    package var transport: TransportKind? { selection?.transport }

    /// The fallback in force; nil for a call on WebRTC or one that wanted the WebSocket.
    package var fallback: TransportFallback? { selection?.fallback }

    /// Where the call is, in the words of the API.
    package var callState: TransportState {
        switch state {
        case .idle: .idle
        case .opening, .negotiating, .selected: .connecting
        case .active: .active
        case .ended: .ended
        }
    }

    var selection: Selection? {
        switch state {
        case .selected(let selection), .active(let selection): selection
        case .idle, .opening, .negotiating, .ended: nil
        }
    }

    // MARK: What its inputs do (`ClientPolicy+Inputs.swift` names them)

    mutating func applyStart(now: Instant) {
        guard case .idle = state else { return }
        startedAt = now
        state = .opening
    }

    mutating func applyHelloSent(now: Instant) { helloAt = now }

    mutating func applyWelcomed(_ path: WelcomePath, now: Instant) {
        guard case .opening = state else { return }
        if now - startedAt >= limits.lineBudget.nanoseconds { return applyTimeout(now: now) }
        state = .negotiating
        guard wanted != .websocket else { return select(.websocket, nil, now: now) }
        switch path {
        case .standard: return fallBack(wanted == .webrtc ? .agentStandard : nil, .answer, "call_audio standard", now)
        case _ where standard:
            return fallBack(wanted == .webrtc ? .agentStandard : nil, .offer, "call audio known as standard", now)
        case _ where !hasMediaPath:
            return fallBack(wanted == .webrtc ? .moduleMissing : nil, .offer, "this build has no media path", now)
        case .none: fallBack(.serverUnsupported, .answer, "welcome has no answer", now)
        case .declined(let word, let detail):
            fallBack(.serverDeclined, .answer, [word, detail].compactMap(\.self).joined(separator: ": "), now)
        case .unusable(let why): fallBack(.answerInvalid, .answer, why, now)
        case .answer: judge(now: now)
        }
    }

    mutating func applyPathChanged(_ evidence: PathEvidence, now: Instant) {
        self.evidence = evidence
        judge(now: now)
    }

    mutating func applyHeard(on transport: TransportKind, now: Instant) {
        updateSelection(on: transport, now: now) { $0.weHeard = true }
    }

    mutating func applyAcknowledged(epoch: Int, heard: Bool, now: Instant) {
        guard epoch == self.epoch, let transport else { return }
        #if MUTANTS
        if Mutant.current == .recoveryFailedOverAnEarlierReason, let fallback, fallback.reason != .recoveryFailed {
            changeCarriage(.recoveryFailed, "", now)
        }
        #endif
        updateSelection(on: transport, now: now) {
            $0.acknowledged = true
            $0.serverHeard = $0.serverHeard || heard
        }
    }

    mutating func applyServerRequestedWebSocket(word: String, now: Instant) {
        switch state {
        case .negotiating: fallBack(.serverRequested, evidence.stage, word, now)
        case .selected(let selection) where selection.transport == .webrtc:
            fallBack(.serverRequested, evidence.stage, word, now)
        case .active(let selection) where selection.transport == .webrtc && recovery == .continueOnWebSocket:
            changeCarriage(.serverRequested, word, now)
        case .idle, .opening, .selected, .active, .ended: break
        }
    }

    mutating func applyHangUp(now: Instant) {
        if case .ended = state { return }
        #if MUTANTS
        let before = state
        defer { if Mutant.current == .budgetTimerOutlivesTheHangUp { state = before } }
        #endif
        end(.ended(.local), bye: .client)
    }

    mutating func applyFail(_ message: String, now: Instant) {
        if case .ended = state { return }
        end(failure(message), bye: .failure(message))
    }

    mutating func applyByeReceived(isFailure: Bool, message: String?, now: Instant) {
        if case .ended = state { return }
        guard isFailure else { return end(.ended(.remote), bye: nil) }
        let message = message ?? "The server ended the call."
        end(failure(message), bye: nil)
    }

    mutating func applyLineRefused(_ message: String) {
        if case .ended = state { return }
        end(failure(message), bye: nil)
    }

    mutating func applyLineClosed(now: Instant) {
        switch state {
        case .ended: break
        case .active(let selection) where selection.transport == .webrtc:
            lineLostAt = lineLostAt ?? now
            if pathClosedAt != nil { end(.ended(.remote), bye: nil) }
        case .active: end(.ended(.failed(message: CallMessage.lineLost)), bye: nil)
        case .idle, .opening, .negotiating, .selected: end(.failed(message: CallMessage.lineClosedEarly), bye: nil)
        }
    }

    mutating func applyPathClosedByPeer(now: Instant) {
        guard case .active(let selection) = state, selection.transport == .webrtc else { return }
        pathClosedAt = pathClosedAt ?? now
        if lineLostAt != nil { end(.ended(.remote), bye: nil) }
    }

    mutating func applyRecoveryWindowEnded(now: Instant) {
        guard case .active(let selection) = state, selection.transport == .webrtc else { return }
        pathLost(now: now)
    }

    mutating func applyTimeout(now: Instant) {
        switch state {
        case .idle, .ended: break
        case .opening:
            let deadline = excuse.extending(startedAt + limits.lineBudget.nanoseconds)
            if now >= deadline, !excuse.covers(deadline, now: now) {
                let message = CallMessage.notOpened(within: limits.lineBudget.components.seconds)
                end(.failed(message: message), bye: .failure(message))
            }
        case .negotiating: judge(now: now)
        case .selected(let selection): selectedTimeout(selection, now: now)
        case .active(let selection): activeTimeout(selection, now: now)
        }
    }

    /// `nextDeadline`, read in place: of a policy that is part of something a property may be read from a copy of it all.
    package mutating func readDeadline() -> Instant { nextDeadline }

    /// When `handleTimeout` wants to be called.
    @inline(__always) package var nextDeadline: Instant {
        switch state {
        case .idle, .ended: .never
        case .opening: excuse.extending(startedAt + limits.lineBudget.nanoseconds)
        case .negotiating: negotiationDeadline
        case .selected(let selection):
            min(
                selection.acknowledged || selection.sentTwice ? .never : selection.at + limits.selectResend.nanoseconds,
                activationDeadline(selection))
        case .active(let selection):
            min(
                lineLostAt.map { $0 + limits.lineLostLimit.nanoseconds } ?? .never,
                pathClosedAt.map { $0 + Self.closedPathPatience } ?? .never,
                selection.acknowledged || selection.sentTwice ? .never : selection.at + limits.selectResend.nanoseconds)
        }
    }

    /// The next effect to carry out; nil when there is none.
    package mutating func pollEffect() -> Effect? { effects.isEmpty ? nil : effects.removeFirst() }

    // MARK: - Private

    var isActive: Bool { if case .active = state { true } else { false } }

    /// How a call that fails now has ended: one that never became active has failed as a whole.
    func failure(_ message: String) -> CallOutcome {
        isActive ? .ended(.failed(message: message)) : .failed(message: message)
    }

    /// When `judge` last found no verdict.
    var judgedAt = Instant.zero
    /// Lets a patience go on that ran out while the process stood still.
    var excuse = StandstillExcuse()

    mutating func end(_ outcome: CallOutcome, bye: Bye?) {
        let last = selection
        state = .ended
        ending = last.map { Ending(transport: $0.transport, fallback: $0.fallback) }
        effects.append(.ended(outcome, bye: lineLostAt == nil ? bye : nil))
    }

    /// What was in force when the call ended, for the snapshot after it.
    package struct Ending: Sendable, Equatable {
        package var transport: TransportKind
        package var fallback: TransportFallback?
    }

    /// Set by the end of a call that had decided.
    package internal(set) var ending: Ending?
}
