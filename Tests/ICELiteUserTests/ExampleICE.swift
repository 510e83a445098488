import ICELite

/// A full agent, the lite agent it calls, and a socket for each. What one signals, the other is handed here in memory.
struct ICEExample {
    var client: ICEFullAgent
    var server: ICELiteAgent
    let clientSocket: LoopbackSocket
    let serverSocket: LoopbackSocket
    /// What both had to tell, in order.
    var clientEvents: [ICEFullAgent.Event] = []
    var serverEvents: [ICELiteAgent.Event] = []

    init(now: Instant) throws {
        clientSocket = try LoopbackSocket()
        serverSocket = try LoopbackSocket()
        var random = Randomness.system
        client = ICEFullAgent(role: .controlling, credentials: .random(using: &random), randomness: .system)
        server = ICELiteAgent(
            credentials: .random(using: &random), peerCredentials: client.credentials, randomness: .system)
        _ = client.addLocalCandidate(clientSocket.address, now: now)
        takeAnswer(now: now)
    }

    /// The server's answer: its credentials, and its candidate as it travels in a description.
    private mutating func takeAnswer(now: Instant) {
        client.setRemote(credentials: server.credentials, isLite: true, supportsRenomination: true, now: now)
        let candidate = ICECandidate(host: serverSocket.address, localPreference: .max)
        client.addRemoteCandidate(attribute: candidate.attribute, now: now)
    }

    /// Both ends take new credentials; the pair in use stays in use until the new ones have one.
    mutating func restart(now: Instant) {
        var random = Randomness.system
        let offered = ICECredentials.random(using: &random)
        client.restart(credentials: offered, now: now)
        server.restart(credentials: .random(using: &random), peerCredentials: offered, now: now)
        takeAnswer(now: now)
    }

    /// One round: what has come is handed over, then each agent is drained.
    mutating func turn(now: Instant) {
        while let datagram = clientSocket.receive() {
            _ = client.handle(datagram.bytes.span.bytes, path: datagram.path, now: now)
        }
        while let datagram = serverSocket.receive() {
            _ = server.handle(datagram.bytes.span.bytes, path: datagram.path, now: now)
        }
        clientEvents += drain(&client, now: now, socket: clientSocket)
        serverEvents += drain(&server, now: now, socket: serverSocket)
    }
}

/// Sends what `agent` wants sent and returns what it has to tell: after each input, and when `nextDeadline` has come.
func drain<Agent: Machine>(_ agent: inout Agent, now: Instant, socket: LoopbackSocket) -> [Agent.Event] {
    agent.handleTimeout(now: now)
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: ICELimits.messageRoom, alignment: 1)
    defer { room.deallocate() }
    while true {
        var out = OutputRawSpan(buffer: room, initializedCount: 0)
        guard let transmit = agent.pollTransmit(into: &out, now: now) else { break }
        socket.send(room[..<out.finalize(for: room)], to: transmit.path.remote)
    }
    var events: [Agent.Event] = []
    while let event = agent.pollEvent() { events.append(event) }
    return events
}
