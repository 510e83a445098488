internal import Glibc
internal import Synchronization
package import Transport

/// Many short calls in one process, both ends of each, over loopback sockets: what they leave behind is a leak.
///
/// Calls go by WebRTC and by the WebSocket in turn, and client and agent hang up in turn. Figures are read between rounds,
/// when every call has ended on both ends.
package final class CallSoak: Sendable {
    /// What the calls are to be.
    package struct Plan: Sendable {
        /// Calls that are counted.
        package var calls = 1_000
        /// Calls before those: they fill pools and caches, start threads and load what is loaded once.
        package var warmUp = 100
        /// Calls at one time.
        package var sideBySide = 4
        /// The one carriage of all calls; nil for both in turn.
        package var only: TransportKind?
        /// How long a call stays active.
        package var activeFor = Duration.milliseconds(40)
        /// How long anything is waited for before it counts as hung.
        package var patience = Duration.seconds(20)

        package init() {}
    }

    /// What came of them.
    package struct Result: Sendable {
        /// After the warm-up, and at the end.
        package var before = ProcessFigures()
        package var after = ProcessFigures()
        /// Calls, client's sessions and agent's calls that are still there at the end.
        package var connections = 0
        package var sessions = 0
        package var agentCalls = 0
        /// Calls that did not go as they should, each with what went wrong; the first few.
        package var faults: [String] = []
        /// Calls that were active by either carriage.
        package var onWebRTC = 0
        package var onWebSocket = 0

        /// What is left behind, in sentences; empty when nothing is.
        ///
        /// - Parameters:
        ///   - growthLimit: resident bytes that may have come to those after the warm-up.
        ///   - heapLimit: bytes on the heap that may have.
        package func leaks(growthLimit: Int, heapLimit: Int) -> [String] {
            var found = faults
            if connections != 0 { found.append("\(connections) connections of the endpoint are left") }
            if sessions != 0 { found.append("\(sessions) sessions are left") }
            if agentCalls != 0 { found.append("\(agentCalls) agent's calls are left") }
            if after.descriptors != before.descriptors {
                found.append("descriptors: \(before.descriptors) before, \(after.descriptors) after")
            }
            if after.ownThreads != before.ownThreads {
                found.append("threads of ours: \(before.ownThreads) before, \(after.ownThreads) after")
            }
            let growth = after.residentBytes - before.residentBytes
            if growth > growthLimit { found.append("resident memory has grown by \(growth) bytes") }
            let heap = after.heapBytes - before.heapBytes
            if heap > heapLimit { found.append("\(heap) bytes more are allocated and not freed") }
            return found
        }
    }

    private struct Weak<Object: AnyObject & Sendable>: Sendable {
        weak var object: Object?
    }

    private struct Kept: Sendable {
        var sessions: [Weak<TransportSession>] = []
        var agentCalls: [Weak<AgentCall>] = []
        var faults: [String] = []
        var onWebRTC = 0
        var onWebSocket = 0
    }

    /// Hands out the indices of calls to those who place them.
    private final class Tickets: Sendable {
        private let next = Mutex(0)
        private let granted = Mutex(0)

        /// Allows `count` more; the index after the last of them.
        func grant(_ count: Int) -> Int {
            granted.withLock { granted in
                granted += count
                return granted
            }
        }

        func take(before end: Int) -> Int? {
            next.withLock { next in
                guard next < end else { return nil }
                defer { next += 1 }
                return next
            }
        }
    }

    /// Faults that are told at most.
    private static let faultLimit = 10
    /// The message that asks the agent to hang up.
    private static let hangUp = Array(#"{"type":"soak.hang_up"}"#.utf8)

    private let plan: Plan
    private let kept = Mutex(Kept())
    private let tickets = Tickets()

    package init(_ plan: Plan) { self.plan = plan }

    /// Places the calls.
    ///
    /// - Parameter progress: called after the warm-up and after each tenth of the calls, with the calls done so far.
    /// - Throws: `TransportError` when the endpoint cannot be had, `errno` as `system` when the certificate cannot be
    ///   written.
    package func run(progress: (Int, ProcessFigures) -> Void) async throws(TransportError) -> Result {
        let endpoint = try AgentEndpoint(configuration: EndpointConfiguration()) { [self] call in
            kept.withLock { $0.agentCalls.append(Weak(object: call)) }
            for await event in call.events {
                if case .message(Self.hangUp) = event { return }
            }
        }
        defer { endpoint.stop() }
        let authority = try Self.write(endpoint.certificatePEM)
        defer { unlink(authority) }
        var configuration = TransportConfiguration(url: "wss://\(endpoint.address)/call")
        configuration.trust = .caFile(authority)

        var result = Result()
        await place(plan.warmUp, configuration)
        await settle(endpoint, like: nil)
        result.before = .now()
        progress(0, result.before)
        let step = max(plan.sideBySide, plan.calls / 10)
        var done = 0
        while done < plan.calls {
            let count = min(step, plan.calls - done)
            await place(count, configuration)
            await settle(endpoint, like: result.before)
            done += count
            result.after = .now()
            progress(done, result.after)
        }
        result.connections = endpoint.connectionCount
        kept.withLock { kept in
            result.sessions = kept.sessions.count { $0.object != nil }
            result.agentCalls = kept.agentCalls.count { $0.object != nil }
            result.faults = kept.faults
            result.onWebRTC = kept.onWebRTC
            result.onWebSocket = kept.onWebSocket
        }
        return result
    }

    private func place(_ count: Int, _ configuration: TransportConfiguration) async {
        let end = tickets.grant(count)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<plan.sideBySide {
                group.addTask { [self] in
                    while true {
                        guard let index = tickets.take(before: end) else { return }
                        await call(index, configuration)
                    }
                }
            }
        }
    }

    /// One call: its carriage and who hangs up follow from its index.
    private func call(_ index: Int, _ template: TransportConfiguration) async {
        var configuration = template
        configuration.callID = "soak-\(index)"
        let expected = plan.only ?? (index % 2 == 0 ? TransportKind.webrtc : .websocket)
        configuration.callTransport = expected == .webrtc ? .auto : .websocket
        let clientHangsUp = index / 2 % 2 == 0
        do throws(TransportError) {
            let session = try TransportSession(configuration: configuration)
            kept.withLock { $0.sessions.append(Weak(object: session)) }
            try session.start()
            guard await comes({ session.snapshot.state == .active || session.snapshot.outcome != nil }),
                session.snapshot.state == .active
            else {
                session.end()
                return fault("call \(index) is not active: \(session.snapshot)")
            }
            if session.snapshot.transport != expected {
                fault("call \(index) is on \(String(describing: session.snapshot.transport)): \(session.snapshot)")
            }
            kept.withLock { if expected == .webrtc { $0.onWebRTC += 1 } else { $0.onWebSocket += 1 } }
            try? await Task.sleep(for: plan.activeFor)
            if clientHangsUp { session.end() } else { try session.send(message: Self.hangUp) }
            guard await comes({ session.snapshot.outcome != nil }) else {
                session.end()
                return fault("call \(index) does not end")
            }
            let outcome = session.snapshot.outcome
            if outcome != .ended(clientHangsUp ? .local : .remote) {
                fault("call \(index) ended with \(String(describing: outcome))")
            }
        } catch {
            fault("call \(index): \(error)")
        }
    }

    private func fault(_ text: String) {
        kept.withLock { if $0.faults.count < Self.faultLimit { $0.faults.append(text) } }
    }

    /// Waits until every call has let go of what it holds, or for the plan's patience.
    private func settle(_ endpoint: AgentEndpoint, like before: ProcessFigures?) async {
        _ = await comes { [self] in
            let isQuiet = kept.withLock { kept in
                kept.sessions.removeAll { $0.object == nil }
                kept.agentCalls.removeAll { $0.object == nil }
                return kept.sessions.isEmpty && kept.agentCalls.isEmpty
            }
            guard isQuiet, endpoint.connectionCount == 0 else { return false }
            // The endpoint's own loop is what stays.
            let figures = ProcessFigures.now()
            guard let before else { return figures.ownThreads == 1 }
            return figures.ownThreads == before.ownThreads && figures.descriptors == before.descriptors
        }
    }

    private func comes(_ condition: () -> Bool) async -> Bool {
        let deadline = ContinuousClock.now + plan.patience
        while !condition() {
            if ContinuousClock.now >= deadline { return false }
            try? await Task.sleep(for: .milliseconds(5))
        }
        return true
    }

    /// Writes the certificate into a file of its own; the file's path.
    private static func write(_ certificate: String) throws(TransportError) -> String {
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? P_tmpdir
        var path = Array("\(folder)/graine-soak-XXXXXX".utf8CString)
        let descriptor = mkstemp(&path)
        guard descriptor >= 0 else { throw .system("mkstemp: errno \(errno)") }
        defer { close(descriptor) }
        let bytes = Array(certificate.utf8)
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else { throw .system("write: errno \(errno)") }
        return path.withUnsafeBytes { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
