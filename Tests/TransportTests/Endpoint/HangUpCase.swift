import Foundation
import ICELite
import Synchronization
import Testing
import Transport
import TransportTestKit

/// A hang-up at one moment of a call, on real sockets: who hangs up, when, and what both ends are to say of it.
struct HangUpCase: Sendable, CustomTestStringConvertible {
    /// How far the client's call has come when somebody hangs up.
    enum Moment: String, Sendable, CaseIterable {
        /// `start` has just returned.
        case started
        /// TCP and TLS are there, or on their way; the upgrade is not answered.
        case upgrading
        /// Hello is out, welcome is not in.
        case greeted
        /// Welcome is in, nothing is chosen: checks or the handshake are under way.
        case welcomed
        /// The same, with UDP dropped, and the 3 s of patience running.
        case patient
        /// Active on the media path.
        case onWebRTC
        /// Active on the line.
        case onWebSocket
    }

    enum Actor: String, Sendable, CaseIterable {
        case client
        case agent
        /// The application's task that waits for the call is cancelled.
        case cancelledTask
        /// The application lets its session go.
        case lastReference
    }

    let moment: Moment
    let actor: Actor

    var testDescription: String { "\(actor.rawValue) at \(moment.rawValue)" }

    /// Every case there can be: the agent has no call before welcome has been written.
    static let all: [HangUpCase] =
        Moment.allCases.flatMap { moment in Actor.allCases.map { HangUpCase(moment: moment, actor: $0) } }
        .filter { $0.actor != .agent || ![.started, .upgrading].contains($0.moment) }

    /// What both ends said.
    struct Ends: Equatable, Sendable {
        /// Nil where the session was let go.
        var client: CallOutcome?
        /// One for each call the agent was given.
        var agent: [CallOutcome] = []
        /// Connections of the endpoint that are left.
        var connections = 0
    }

    /// What they are to say.
    var expected: Ends {
        let client: CallOutcome? = actor == .lastReference ? nil : .ended(actor == .agent ? .remote : .local)
        switch moment {
        // No hello left the client, so there is no call.
        case .started, .upgrading: return Ends(client: client)
        case .greeted, .welcomed, .patient, .onWebRTC, .onWebSocket:
            return Ends(client: client, agent: [.ended(actor == .agent ? .local : .remote)])
        }
    }

    /// Whether the moment had come, and had not gone, by what the call reached in the end.
    func isSeen(in setup: SetupTimings, transport: TransportKind?) -> Bool {
        switch moment {
        case .started: setup.upgraded == nil
        case .upgrading: setup.connected != nil && setup.upgraded == nil
        case .greeted: setup.hello != nil && (setup.welcome == nil || actor == .agent) && setup.active == nil
        case .welcomed: setup.welcome != nil && setup.active == nil
        case .patient: setup.firstCheck != nil && setup.firstAnswer == nil && transport == nil
        case .onWebRTC: setup.active != nil && transport == .webrtc
        case .onWebSocket: setup.active != nil && transport == .websocket
        }
    }

    /// The call had gone on by the time it was hung up: the machine is busy.
    struct Missed: Error {}

    /// What went wrong before the hang-up.
    struct Fault: Error, CustomStringConvertible {
        var description: String
    }

    /// How long anything is waited for: only a call that hangs takes so long.
    static let patience = Duration.seconds(120)

    static func comes(_ condition: () async -> Bool) async -> Bool {
        let deadline = ContinuousClock.now + patience
        while await !condition() {
            if ContinuousClock.now >= deadline { return false }
            try? await Task.sleep(for: .milliseconds(2))
        }
        return true
    }

    /// The calls an agent was given, and what they ended with.
    final class Agents: Sendable {
        private let calls = Mutex<[AgentCall]>([])
        private let ended = Mutex<[CallOutcome]>([])

        var last: AgentCall? { calls.withLock { $0.last } }
        var count: Int { calls.withLock { $0.count } }
        var outcomes: [CallOutcome] { ended.withLock { $0 } }

        func serve(_ call: AgentCall) async {
            calls.withLock { $0.append(call) }
            let outcome = await call.outcome()
            ended.withLock { $0.append(outcome) }
        }
    }

    /// One way delays that make the states last, each for when the one before was too short on this machine now.
    private static let delays: [Duration] = [.milliseconds(60), .milliseconds(300), .milliseconds(900), .seconds(2)]

    /// Hangs up at the moment, and says what both ends say.
    func run() async throws -> Ends {
        for delay in Self.delays {
            do { return try await run(delay: delay) } catch is Missed { continue }
        }
        throw Fault(description: "the moment cannot be met")
    }

    /// Places the call over a relay that delays, hangs up at the moment, and waits for both ends.
    private func run(delay: Duration) async throws -> Ends {
        let agents = Agents()
        let endpoint = try AgentEndpoint(configuration: EndpointConfiguration()) { await agents.serve($0) }
        defer { endpoint.stop() }
        let line = try lineAddress(of: endpoint)
        let relay = try ImpairmentRelay(relayConfiguration(line, udpPort: endpoint.udpPort, delay))
        defer { relay.stop() }
        let udpPort = endpoint.udpPort
        let detour = relay.udpAddresses[0]
        var configuration = TransportConfiguration(url: "wss://\(endpoint.address)/call")
        configuration.trust = .insecure
        configuration.callTransport = moment == .onWebSocket ? .websocket : .auto
        configuration.lineDetour = relay.tcpAddress.map { LineDetour(relay: $0, target: line) }
        // The patience is a state that is to last, too.
        if moment == .patient { configuration.limits.checkPatience = max(.seconds(3), delay * 5) }
        configuration.pathDetour = { $0.port == udpPort ? detour : nil }

        var session: TransportSession? = try TransportSession(configuration: configuration)
        var ends = Ends()
        let waiting = actor == .cancelledTask ? session.map(Self.wait) : nil
        try session?.start()
        guard await Self.comes({ [session] in isNow(session, agents) }) else {
            throw Fault(description: "the moment does not come: \(String(describing: session?.snapshot))")
        }
        switch actor {
        case .client: session?.end()
        case .agent: agents.last?.end()
        case .cancelledTask: waiting?.cancel()
        case .lastReference: session = nil
        }
        if session != nil {
            guard await Self.comes({ [session] in session?.snapshot.outcome != nil }) else {
                throw Fault(description: "the client does not end: \(String(describing: session?.snapshot))")
            }
            ends.client = session?.snapshot.outcome
            if let waiting, await waiting.value != ends.client { throw Fault(description: "the task heard otherwise") }
            if let session, !isSeen(in: session.snapshot.setup, transport: session.snapshot.transport) {
                throw Missed()
            }
        }
        let isOver = await Self.comes {
            endpoint.connectionCount == 0 && agents.outcomes.count >= max(agents.count, expected.agent.count)
        }
        guard isOver else {
            throw Fault(description: "the agent's end does not end: \(endpoint.connectionCount) connections")
        }
        // Nobody is left to ask how far the session had come.
        if actor == .lastReference, agents.count > expected.agent.count { throw Missed() }
        ends.agent = agents.outcomes
        ends.connections = endpoint.connectionCount
        return ends
    }

    /// How an application's task waits for a call that its cancellation is to end.
    private static func wait(for session: TransportSession) -> Task<CallOutcome, Never> {
        Task {
            await withTaskCancellationHandler {
                await session.outcome()
            } onCancel: {
                session.end()
            }
        }
    }

    private func isNow(_ session: TransportSession?, _ agents: Agents) -> Bool {
        guard let snapshot = session?.snapshot else { return false }
        switch moment {
        case .started: return true
        case .upgrading: return snapshot.setup.connected != nil
        case .greeted: return actor == .agent ? agents.last != nil : snapshot.setup.hello != nil
        case .welcomed: return snapshot.setup.welcome != nil && agents.last != nil
        case .patient: return snapshot.setup.firstCheck != nil && agents.last != nil
        case .onWebRTC, .onWebSocket: return snapshot.state == .active && agents.last?.snapshot.state == .active
        }
    }

    private func lineAddress(of endpoint: AgentEndpoint) throws -> SocketAddress {
        guard let colon = endpoint.address.lastIndex(of: ":"), let ip = IPAddress(endpoint.address[..<colon]),
            let port = UInt16(endpoint.address[colon...].dropFirst())
        else { throw Fault(description: "no address: \(endpoint.address)") }
        return SocketAddress(ip: ip, port: port)
    }

    private func relayConfiguration(
        _ line: SocketAddress, udpPort: UInt16, _ delay: Duration
    ) -> ImpairmentRelay.Configuration {
        var configuration = ImpairmentRelay.Configuration()
        configuration.tcpTarget = line
        configuration.udpTargets = [SocketAddress(ip: line.ip, port: udpPort)]
        configuration.lineUp.delay = delay
        configuration.lineDown.delay = delay
        configuration.udpUp.delay = delay
        configuration.udpDown.delay = delay
        if moment == .patient { configuration.udpUp.reachability = .drop }
        return configuration
    }
}
