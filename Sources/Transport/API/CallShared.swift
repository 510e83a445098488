internal import Synchronization

/// What a call shows to the application's threads: its events, its snapshot, its outcome. Filled by the call's own thread.
final class CallShared: Sendable {
    private struct State {
        var snapshot = TransportSnapshot()
        var waiters: [CheckedContinuation<CallOutcome, Never>] = []
    }

    let events: AsyncStream<TransportEvent>
    /// Events of the call's own that always find room behind the messages: states, carriages, the end.
    private static let eventRoom = 64

    private let continuation: AsyncStream<TransportEvent>.Continuation
    private let state = Mutex(State())

    /// - Parameter messageLimit: messages kept for a reader that does not come.
    init(messageLimit: Int) {
        (events, continuation) = AsyncStream.makeStream(
            bufferingPolicy: .bufferingOldest(messageLimit + Self.eventRoom))
    }

    var snapshot: TransportSnapshot { state.withLock { $0.snapshot } }

    func update(_ snapshot: TransportSnapshot) {
        state.withLock { state in
            let outcome = state.snapshot.outcome
            state.snapshot = snapshot
            state.snapshot.outcome = snapshot.outcome ?? outcome
        }
    }

    /// Hands an event to the reader, in order.
    ///
    /// - Returns: false when as many wait as may: one message more and the call is to end, for none is lost silently.
    func yield(_ event: TransportEvent) -> Bool {
        switch continuation.yield(event) {
        case .enqueued(let remaining): remaining >= Self.eventRoom
        case .dropped: false
        // Nobody reads, and nobody will.
        case .terminated: true
        @unknown default: true
        }
    }

    /// The end: delivered to every waiter now and later, then the events end.
    func finish(_ outcome: CallOutcome) {
        let waiters = state.withLock { state in
            state.snapshot.outcome = outcome
            state.snapshot.state = .ended
            defer { state.waiters = [] }
            return state.waiters
        }
        continuation.yield(.ended(outcome))
        continuation.finish()
        for waiter in waiters { waiter.resume(returning: outcome) }
    }

    func outcome() async -> CallOutcome {
        await withCheckedContinuation { waiter in
            let known: CallOutcome? = state.withLock { state in
                if state.snapshot.outcome == nil { state.waiters.append(waiter) }
                return state.snapshot.outcome
            }
            if let known { waiter.resume(returning: known) }
        }
    }
}
