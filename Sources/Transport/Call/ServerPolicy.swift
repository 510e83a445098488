package import ICELite
import TransportLine

/// The server's half of the call's decisions: it obeys the client's choice of carriage, and watches the clock.
///
/// A value with no I/O; `ServerCall` feeds it and carries its effects out.
package struct ServerPolicy: Sendable {
    /// What the call is to do, in order.
    package enum Effect: Sendable, Equatable {
        /// Acknowledge the choice in force.
        case selected(epoch: Int, heard: Bool)
        case closePath
        /// Both ends hear each other: the application's first word may be played.
        case activated(TransportKind)
        case transportChanged(from: TransportKind, to: TransportKind, TransportFallback?)
        /// The peer broke the protocol or ran out of time: `transport.error`, then the close code.
        case reject(CallRejection)
        /// The call is over. `bye` is the message for the peer, nil when none is to be sent.
        case ended(CallOutcome, bye: Bye?)
    }

    /// Who a bye is by.
    package enum Bye: Sendable, Equatable {
        case server
        /// The endpoint goes away, and all its calls with it.
        case goingAway
        case failure(String)
    }

    enum State: Sendable {
        case awaitingHello
        case welcomed(at: Instant)
        case selected(Selection)
        case active(Selection)
        case ended
    }

    struct Selection: Sendable {
        var transport: TransportKind
        var fallback: TransportFallback?
        var at: Instant
        var heard = false
    }

    let limits: TransportLimits
    let openedAt: Instant
    var state = State.awaitingHello
    var lineLostAt: Instant?
    /// When the peer closed the media path that carries the call.
    var pathClosedAt: Instant?
    var effects: [Effect] = []
    /// Where its inputs and their effects are kept.
    var recorder: FlightRecorder?
    var welcomedAt: Instant?
    var upgradedAt: Instant?

    /// The highest epoch obeyed; 0 before the first select.
    package internal(set) var epoch = 0
    /// Selects that were not above the epoch in force: acknowledged, not obeyed.
    package internal(set) var staleSelects = 0

    /// When the first audio packet of the client's came that decodes, selected or not.
    package internal(set) var firstHeardAt: Instant?

    /// - Parameter now: when the connection was accepted: the upgrade is due by `upgradeTimeout`, then hello.
    package init(limits: TransportLimits, now: Instant) {
        self.limits = limits
        openedAt = now
    }

    // MARK: What it knows

    /// The carriage in force; nil before the first select.
    package var transport: TransportKind? { selection?.transport }
    /// The client's reason for the WebSocket.
    package var fallback: TransportFallback? { selection?.fallback }

    package var callState: TransportState {
        switch state {
        case .awaitingHello, .welcomed, .selected: .connecting
        case .active: .active
        case .ended: .ended
        }
    }

    var selection: Selection? {
        switch state {
        case .selected(let selection), .active(let selection): selection
        case .awaitingHello, .welcomed, .ended: nil
        }
    }

    private var isActive: Bool { if case .active = state { true } else { false } }

    // MARK: What its inputs do (`ServerPolicy+Inputs.swift` names them)

    mutating func applyUpgraded(now: Instant) { upgradedAt = now }

    mutating func applyWelcomed(now: Instant) {
        guard case .awaitingHello = state else { return }
        state = .welcomed(at: now)
        welcomedAt = now
    }

    mutating func applySelect(
        epoch newEpoch: Int, transport: TransportKind, fallback: TransportFallback?, now: Instant
    ) {
        switch state {
        case .ended: return
        case .awaitingHello: return applyReject(.badOrder("select before hello"))
        case .welcomed, .selected, .active: break
        }
        #if MUTANTS
        if Mutant.current == .epochUnchecked { epoch = min(epoch, newEpoch - 1) }
        #endif
        guard newEpoch > epoch else {
            staleSelects += 1
            effects.append(.selected(epoch: epoch, heard: selection?.heard ?? false))
            return
        }
        if let current = selection, current.transport == .websocket, transport == .webrtc {
            return applyReject(.badOrder("select webrtc after select websocket"))
        }
        epoch = newEpoch
        let next = Selection(transport: transport, fallback: fallback, at: now)
        #if MUTANTS
        let closedAt = pathClosedAt
        defer { if Mutant.current == .pathClosedOutlivesTheChange { pathClosedAt = closedAt } }
        #endif
        if transport == .websocket { pathClosedAt = nil }
        if case .active(let current) = state {
            state = .active(next)
            if current.transport != transport {
                effects.append(.transportChanged(from: current.transport, to: transport, fallback))
            }
        } else {
            state = .selected(next)
        }
        effects.append(.selected(epoch: epoch, heard: false))
        if transport == .websocket { effects.append(.closePath) }
    }

    mutating func applyHeard(on transport: TransportKind, now: Instant) {
        if firstHeardAt == nil { firstHeardAt = now }
        switch state {
        case .selected(var selection) where selection.transport == transport:
            selection.heard = true
            state = .active(selection)
            effects.append(.selected(epoch: epoch, heard: true))
            effects.append(.activated(transport))
        case .active(var selection) where selection.transport == transport && !selection.heard:
            selection.heard = true
            state = .active(selection)
            effects.append(.selected(epoch: epoch, heard: true))
        case .awaitingHello, .welcomed, .selected, .active, .ended: break
        }
    }

    mutating func applyHangUp(now: Instant) {
        if case .ended = state { return }
        end(.ended(.local), bye: .server)
    }

    mutating func applyFail(_ message: String, now: Instant) {
        if case .ended = state { return }
        end(failure(message), bye: .failure(message))
    }

    mutating func applyGoAway() {
        switch state {
        case .ended: break
        case .awaitingHello: applyReject(.unavailable)
        case .welcomed, .selected, .active: end(failure(CallMessage.goingAway), bye: .goingAway)
        }
    }

    mutating func applyByeReceived(isFailure: Bool, message: String?, now: Instant) {
        if case .ended = state { return }
        end(isFailure ? failure(message ?? "The client ended the call.") : .ended(.remote), bye: nil)
    }

    mutating func applyReject(_ rejection: CallRejection) {
        if case .ended = state { return }
        effects.append(.reject(rejection))
        end(failure(rejection.message), bye: nil)
    }

    mutating func applyLineClosed(isPathLost: Bool = false, now: Instant) {
        #if MUTANTS
        if Mutant.current == .sessionKeptAfterRefusal, upgradedAt == nil { return }
        #endif
        switch state {
        case .ended: break
        case .active(let selection) where selection.transport == .webrtc:
            lineLostAt = lineLostAt ?? now
            if pathClosedAt != nil { return end(.ended(.remote), bye: nil) }
            if isPathLost { end(failure(CallMessage.pathLost), bye: nil) }
        case .active: end(failure(CallMessage.lineLost), bye: nil)
        case .awaitingHello, .welcomed, .selected: end(.failed(message: CallMessage.lineClosedEarly), bye: nil)
        }
    }

    mutating func applyRecoveryWindowEnded(now: Instant) {
        // With a line the client chooses what comes next; without one nothing carries this call any more.
        if case .active = state, lineLostAt != nil { end(failure(CallMessage.pathLost), bye: nil) }
    }

    mutating func applyPathClosedByPeer(now: Instant) {
        guard case .active(let selection) = state, selection.transport == .webrtc else { return }
        pathClosedAt = pathClosedAt ?? now
        if lineLostAt != nil { end(.ended(.remote), bye: nil) }
    }

    mutating func applyTimeout(now: Instant) {
        guard now >= nextDeadline, isActive || !excuse.covers(nextDeadline, now: now) else { return }
        switch state {
        case .ended: break
        case .awaitingHello: applyReject(.helloTimeout)
        case .welcomed: applyFail("The client chose no carriage in time.", now: now)
        case .selected: applyFail(CallMessage.notActive, now: now)
        case .active:
            if pathClosedAt != nil { return end(.ended(.remote), bye: nil) }
            end(failure(CallMessage.lineLost), bye: nil)
        }
    }

    /// `nextDeadline`, read in place: of a policy that is part of something a property may be read from a copy of it all.
    package mutating func readDeadline() -> Instant { nextDeadline }

    /// When `handleTimeout` wants to be called.
    @inline(__always) package var nextDeadline: Instant {
        switch state {
        case .ended: .never
        case .awaitingHello:
            excuse.extending(
                upgradedAt.map { $0 + limits.helloTimeout.nanoseconds } ?? openedAt + limits.upgradeTimeout.nanoseconds)
        case .welcomed(let at): excuse.extending(at + limits.selectTimeout.nanoseconds)
        case .selected(let selection):
            excuse.extending(
                selection.transport == .websocket
                    ? selection.at + limits.webSocketActiveBudget.nanoseconds
                    : (welcomedAt ?? openedAt) + limits.connectingBudget.nanoseconds)
        case .active:
            min(
                lineLostAt.map { $0 + limits.lineLostLimit.nanoseconds } ?? .never,
                pathClosedAt.map { $0 + ClientPolicy.closedPathPatience } ?? .never)
        }
    }

    package mutating func pollEffect() -> Effect? { effects.isEmpty ? nil : effects.removeFirst() }

    // MARK: - Private

    /// Lets a patience go on that ran out while the process stood still.
    var excuse = StandstillExcuse()

    private func failure(_ message: String) -> CallOutcome {
        isActive ? .ended(.failed(message: message)) : .failed(message: message)
    }

    private mutating func end(_ outcome: CallOutcome, bye: Bye?) {
        let last = selection
        state = .ended
        ending = last.map { ClientPolicy.Ending(transport: $0.transport, fallback: $0.fallback) }
        effects.append(.ended(outcome, bye: lineLostAt == nil ? bye : nil))
    }

    /// What was in force when the call ended.
    package internal(set) var ending: ClientPolicy.Ending?
}

/// A breach of the call line's protocol: its close code, its code word and a sentence.
package enum CallRejection: Sendable, Equatable {
    case badMessage(String)
    case badOrder(String)
    case badVersion
    case noCommonCodec
    case helloTimeout
    case callExists
    case unavailable

    /// The WebSocket close code.
    package var closeCode: UInt16 {
        switch self {
        case .badMessage, .badOrder, .badVersion, .noCommonCodec: 4400
        case .helloTimeout: 4408
        case .callExists: 4409
        case .unavailable: 4503
        }
    }

    /// The code word of `transport.error`, repeated as the close reason.
    package var code: String {
        switch self {
        case .badMessage: "bad_message"
        case .badOrder: "bad_order"
        case .badVersion: "bad_version"
        case .noCommonCodec: "no_common_codec"
        case .helloTimeout: "hello_timeout"
        case .callExists: "call_exists"
        case .unavailable: "unavailable"
        }
    }

    /// What was wrong, for a person.
    package var message: String {
        switch self {
        case .badMessage(let what): "bad message: \(what)"
        case .badOrder(let what): "bad order: \(what)"
        case .badVersion: "this protocol version is not spoken here"
        case .noCommonCodec: "no codec of hello's list is spoken here"
        case .helloTimeout: "no hello came in time"
        case .callExists: "a call with this id is live or has just ended"
        case .unavailable: "the endpoint is going away"
        }
    }
}
