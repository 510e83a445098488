import Foundation
import Synchronization
import Testing
import Transport

/// Real calls on loopback sockets, both ends in this process.
@Suite("Calls on loopback", .serialized) struct LoopbackCallTests {
    /// An endpoint whose agent says a tone and keeps what it hears; and the CA file for its clients.
    final class Site: Sendable {
        let endpoint: AgentEndpoint
        let caFile: String

        init(_ change: (inout EndpointConfiguration) -> Void = { _ in }) throws {
            var configuration = EndpointConfiguration()
            change(&configuration)
            endpoint = try AgentEndpoint(configuration: configuration) { call in
                for await event in call.events {
                    switch event {
                    case .message(let bytes): try? call.send(message: bytes)
                    case .stateChanged(.active):
                        Task.detached { await Tone.play(into: call.send, until: call) }
                    default: break
                    }
                }
            }
            caFile = FileManager.default.temporaryDirectory.appending(path: "ca-\(UUID().uuidString).pem").path
            try endpoint.certificatePEM.write(toFile: caFile, atomically: true, encoding: .utf8)
        }

        deinit { try? FileManager.default.removeItem(atPath: caFile) }

        func configuration(_ wanted: CallTransport = .auto) -> TransportConfiguration {
            var configuration = TransportConfiguration(url: "wss://\(endpoint.address)/call")
            configuration.trust = .caFile(caFile)
            configuration.callTransport = wanted
            return configuration
        }
    }

    enum Tone {
        static func samples(_ count: Int, from start: Int) -> [Int16] {
            (start..<(start + count)).map { Int16(8_000 * sin(2 * .pi * 440 * Double($0) / 48_000)) }
        }

        static func play(into ring: PCMRing, until call: AgentCall) async {
            var at = 0
            while call.snapshot.state == .active {
                if ring.availableToRead < 4_800 {
                    at += samples(960, from: at).withUnsafeBufferPointer { ring.write($0) }
                } else {
                    try? await Task.sleep(for: .milliseconds(5))
                }
            }
        }
    }

    private func become(_ state: TransportState, _ session: TransportSession) async -> Bool {
        for _ in 0..<12_000 {
            let now = session.snapshot.state
            if now == state { return true }
            if now == .ended { return false }
            try? await Task.sleep(for: .milliseconds(5))
        }
        return false
    }

    private func hearsTone(_ session: TransportSession) async -> Bool {
        var block = [Int16](repeating: 0, count: 4_800)
        for _ in 0..<6_000 {
            let count = block.withUnsafeMutableBufferPointer { session.playout.read(into: $0) }
            let heard = block[..<count]
            let energy = heard.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(max(1, count))
            if count >= 240, energy.squareRoot() > 2_000 { return true }
            try? await Task.sleep(for: .milliseconds(10))
        }
        return false
    }

    @Test("A call on WebRTC: active both ways, the agent's tone is heard on the media path, the hang-up ends both")
    func webrtc() async throws {
        let site = try Site()
        let session = try TransportSession(configuration: site.configuration())
        try session.start()
        #expect(await become(.active, session), "\(session.snapshot)")
        #expect(session.snapshot.transport == .webrtc, "\(String(describing: session.snapshot.fallback))")
        #expect(session.snapshot.fallback == nil)
        #expect(await hearsTone(session))
        let audio = session.snapshot.audio
        #expect(audio.packetsReceivedOnPath > 0)
        #expect(audio.packetsReceivedOnLine == 0)
        #expect(session.snapshot.path?.dtlsVersion == "DTLSv1.2")
        session.end()
        #expect(await session.outcome() == .ended(.local))
        for _ in 0..<12_000 where site.endpoint.connectionCount > 0 { try await Task.sleep(for: .milliseconds(5)) }
        #expect(site.endpoint.connectionCount == 0)
        site.endpoint.stop()
    }

    @Test("A call that wants the WebSocket: the tone is heard on the line, there is no reason")
    func websocket() async throws {
        let site = try Site()
        let session = try TransportSession(configuration: site.configuration(.websocket))
        try session.start()
        #expect(await become(.active, session), "\(session.snapshot)")
        #expect(session.snapshot.transport == .websocket)
        #expect(session.snapshot.fallback == nil)
        #expect(await hearsTone(session))
        #expect(session.snapshot.audio.packetsReceivedOnLine > 0)
        #expect(session.snapshot.audio.packetsReceivedOnPath == 0)
        session.end()
        #expect(await session.outcome() == .ended(.local))
        site.endpoint.stop()
    }

    @Test("A declined offer: the WebSocket, server_declined with its word")
    func declined() async throws {
        let site = try Site { $0.declineOffersWith = "busy" }
        let session = try TransportSession(configuration: site.configuration())
        try session.start()
        #expect(await become(.active, session), "\(session.snapshot)")
        #expect(session.snapshot.transport == .websocket)
        #expect(session.snapshot.fallback?.reason == .serverDeclined)
        #expect(session.snapshot.fallback?.detail == "busy")
        session.end()
        _ = await session.outcome()
        site.endpoint.stop()
    }

    @Test("A wrong key: failed, refused (401)")
    func wrongKey() async throws {
        let site = try Site { $0.keys = ["right"] }
        var configuration = site.configuration()
        configuration.key = "wrong"
        let session = try TransportSession(configuration: configuration)
        try session.start()
        #expect(await session.outcome() == .failed(message: "The conversation was refused (401)."))
        configuration.key = "right"
        let second = try TransportSession(configuration: configuration)
        try second.start()
        #expect(await become(.active, second))
        second.end()
        _ = await second.outcome()
        site.endpoint.stop()
    }

    @Test("A certificate nobody vouches for: failed before anything is sent")
    func untrusted() async throws {
        let site = try Site()
        var configuration = site.configuration()
        configuration.trust = .system
        let session = try TransportSession(configuration: configuration)
        try session.start()
        guard case .failed = await session.outcome() else {
            Issue.record("the call did not fail")
            return
        }
        site.endpoint.stop()
    }

    @Test("An endpoint that stops tells its customers at once, on either carriage", arguments: CallTransport.allCases)
    func stopped(wanted: CallTransport) async throws {
        let site = try Site()
        let session = try TransportSession(configuration: site.configuration(wanted))
        try session.start()
        #expect(await become(.active, session), "\(session.snapshot)")
        #expect(session.snapshot.transport == (wanted == .websocket ? .websocket : .webrtc))
        site.endpoint.stop()
        #expect(site.endpoint.connectionCount == 0)
        #expect(await session.outcome() == .ended(.remote))
        #expect(session.snapshot.lineClose?.code == 1_001)
        // Idempotent, and harmless after the end.
        site.endpoint.stop()
    }

    @Test("An endpoint that is let go tells its customers, too")
    func letGo() async throws {
        var endpoint: AgentEndpoint? = try AgentEndpoint(configuration: EndpointConfiguration()) { call in
            for await _ in call.events {}
        }
        var configuration = TransportConfiguration(url: "wss://\(endpoint?.address ?? "")/call")
        configuration.trust = .insecure
        let session = try TransportSession(configuration: configuration)
        try session.start()
        #expect(await become(.active, session), "\(session.snapshot)")
        endpoint = nil
        #expect(await session.outcome() == .ended(.remote))
    }

    @Test("A call that is hung up before it is placed is over, and is not placed any more", arguments: [nil, "why"])
    func endedBeforeStart(failure: String?) async throws {
        let site = try Site()
        let session = try TransportSession(configuration: site.configuration())
        if let failure { session.end(failure: failure) } else { session.end() }
        session.end()
        #expect(throws: TransportError.alreadyStarted) { try session.start() }
        #expect(await session.outcome() == failure.map { .failed(message: $0) } ?? .ended(.local))
        #expect(session.snapshot.state == .ended)
        var events: [TransportEvent] = []
        for await event in session.events { events.append(event) }
        #expect(events.count == 2 && events.first == .stateChanged(.ended))
        #expect(site.endpoint.connectionCount == 0)
        site.endpoint.stop()
    }

    @Test("A hang-up beside the start wins, whichever comes first", .timeLimit(.minutes(3)))
    func endedDuringStart() async throws {
        let site = try Site()
        for delay in 0..<120 {
            let session = try TransportSession(configuration: site.configuration())
            let isStarting = Flag()
            // Later each time: before the call is there, while it is made, and behind that.
            let other = Thread {
                while !isStarting.isRaised {}
                for _ in 0..<(delay * 40) { _ = isStarting.isRaised }
                session.end()
            }
            other.start()
            isStarting.raise()
            // Over already where the hang-up was first.
            try? session.start()
            #expect(await session.outcome() == .ended(.local), "\(delay)")
        }
        site.endpoint.stop()
    }

    @Test("A budget longer than the published one is refused by name")
    func budgets() throws {
        var configuration = TransportConfiguration(url: "wss://127.0.0.1:1/")
        configuration.limits.mediaPathBudget = .seconds(13)
        #expect(throws: TransportError.invalidOptions("limits.mediaPathBudget is longer than its default")) {
            try TransportSession(configuration: configuration)
        }
        configuration.limits.mediaPathBudget = .seconds(1)
        _ = try TransportSession(configuration: configuration)
    }

    @Test("A message that no peer would take is refused with a reason, and the call lives")
    func refusedMessages() async throws {
        let site = try Site()
        let session = try TransportSession(configuration: site.configuration())
        try session.start()
        #expect(await become(.active, session))
        let large = Array(#"{"type":"app.note","text":"\#(String(repeating: "x", count: 256 * 1_024))"}"#.utf8)
        let refused: [[UInt8]] = [
            [], Array("no JSON".utf8), Array("[1]".utf8), Array("{}".utf8), Array(#"{"type":1}"#.utf8),
            Array(#"{"type":"app.note"} {}"#.utf8), [0xFF] + Array(#"{"type":"app.note"}"#.utf8),
            Array(#"{"type":"app.note","text":""#.utf8) + [0xC3, 0x28] + Array(#""}"#.utf8),
            Array(#"{"type":"transport.bye","by":"client"}"#.utf8), Array(#"{"type":"transport.new"}"#.utf8),
            Array(#"{"type":"transport.hello"}"#.utf8), large,
        ]
        for message in refused {
            #expect("\(String(decoding: message.prefix(60), as: UTF8.self))") {
                try session.send(message: message)
            } throws: {
                if case .invalidMessage? = $0 as? TransportError { true } else { false }
            }
        }
        let good = Array(#"{"type":"app.last"}"#.utf8)
        try session.send(message: good)
        var echoed: [UInt8]?
        for await event in session.events {
            if case .message(let bytes) = event { echoed = bytes }
            if echoed != nil { break }
        }
        #expect(echoed == good)
        #expect(session.snapshot.state == .active)
        session.end()
        _ = await session.outcome()
        site.endpoint.stop()
    }

    @Test("Application messages go both ways, byte for byte")
    func messages() async throws {
        let site = try Site()
        let session = try TransportSession(configuration: site.configuration())
        try session.start()
        #expect(await become(.active, session))
        let message = Array(#"{ "type":"app.note" , "text":"caffè \u2615" }"#.utf8)
        try session.send(message: message)
        var echoed: [UInt8]?
        for await event in session.events {
            if case .message(let bytes) = event {
                echoed = bytes
                break
            }
        }
        #expect(echoed == message)
        session.end()
        _ = await session.outcome()
        site.endpoint.stop()
    }
}

/// A flag between two threads.
private final class Flag: Sendable {
    private let value = Atomic<Bool>(false)

    var isRaised: Bool { value.load(ordering: .acquiring) }
    func raise() { value.store(true, ordering: .releasing) }
}
