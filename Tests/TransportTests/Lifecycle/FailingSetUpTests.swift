import Foundation
import Glibc
import ICELite
import Testing
import Transport
import TransportTestKit

/// Set-ups that fail again and again, on real sockets: nothing of them is left. In a process of its own, as other suites have
/// descriptors open, too.
@Suite("Set-ups that fail", .timeLimit(.minutes(10))) struct FailingSetUpTests {
    private static let attempts = 300
    private static let growthLimit = 5 << 20
    /// What a library may open once, whenever it likes.
    private static let allowance = 2

    /// The points at which a set-up fails: those of the case that sockets show by themselves.
    enum Fault: String, CaseIterable, Sendable {
        case bind
        case refused
        case tls
        case acceptKey
    }

    @Test(
        "LIFE-05: three hundred attempts that fail leave no descriptor, no thread and no memory behind",
        arguments: Fault.allCases)
    func leavesNothing(fault: Fault) async {
        // A closure for a new process captures nothing but what can be written down: one for each fault.
        switch fault {
        case .bind: await #expect(processExitsWith: .success) { try await Self.fail(.bind) }
        case .refused: await #expect(processExitsWith: .success) { try await Self.fail(.refused) }
        case .tls: await #expect(processExitsWith: .success) { try await Self.fail(.tls) }
        case .acceptKey: await #expect(processExitsWith: .success) { try await Self.fail(.acceptKey) }
        }
    }

    private static func fail(_ fault: Fault) async throws {
        let site = try Site(fault)
        defer { site.close() }
        for _ in 0..<20 { try await site.attempt() }
        ProcessFigures.trimHeap()
        let before = ProcessFigures.now()
        for _ in 0..<attempts { try await site.attempt() }
        let isQuiet = await HangUpCase.comes {
            let now = ProcessFigures.now()
            return now.descriptors <= before.descriptors + allowance && now.ownThreads <= before.ownThreads
        }
        let after = ProcessFigures.now()
        #expect(isQuiet, "\(before) before, \(after) after: \(ProcessFigures.descriptorKinds())")
        ProcessFigures.trimHeap()
        #expect(ProcessFigures.now().residentBytes - before.residentBytes <= growthLimit)
    }

    /// Where the attempts go.
    private struct Site {
        let fault: Fault
        var endpoint: AgentEndpoint?
        var liar: LyingServer?
        var url = ""

        init(_ fault: Fault) throws {
            self.fault = fault
            switch fault {
            case .bind, .tls: endpoint = try AgentEndpoint(configuration: EndpointConfiguration()) { _ in }
            case .refused: url = "ws://127.0.0.1:1/call"
            case .acceptKey:
                let liar = try LyingServer()
                self.liar = liar
                url = "ws://127.0.0.1:\(liar.port)/call"
            }
            if let endpoint { url = "wss://\(endpoint.address)/call" }
        }

        func close() {
            endpoint?.stop()
            liar?.close()
        }

        func attempt() async throws {
            if fault == .bind { return try bindTwice() }
            var configuration = TransportConfiguration(url: url)
            configuration.limits.checkPatience = .milliseconds(20)
            switch fault {
            case .tls: configuration.trust = .system
            case .refused, .acceptKey: break
            case .bind: return
            }
            let session = try TransportSession(configuration: configuration)
            try session.start()
            let outcome = await session.outcome()
            guard case .failed = outcome else {
                Issue.record("\(fault): \(outcome)")
                return
            }
        }

        private func bindTwice() throws {
            var configuration = EndpointConfiguration()
            configuration.port = endpoint.flatMap { $0.address.split(separator: ":").last }.flatMap { UInt16($0) } ?? 0
            #expect(throws: TransportError.self) { try AgentEndpoint(configuration: configuration) { _ in } }
        }
    }

    /// Answers each upgrade with a key that is not the answer to the request's.
    private final class LyingServer: Sendable {
        let port: UInt16
        private let listener: Int32

        init() throws {
            let accepting = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isBound = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    bind(accepting, address, length) == 0 && listen(accepting, 64) == 0
                        && getsockname(accepting, address, &length) == 0
                }
            }
            try #require(isBound)
            port = UInt16(bigEndian: address.sin_port)
            listener = accepting
            Thread.detachNewThread { Self.serve(accepting) }
        }

        func close() {
            _ = shutdown(listener, Int32(SHUT_RDWR))
            _ = Glibc.close(listener)
        }

        private static func serve(_ listener: Int32) {
            let answer =
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\nSec-WebSocket-Protocol: graine.call.v1\r\n\r\n"
            var room = [UInt8](repeating: 0, count: 4_096)
            while true {
                let stream = accept(listener, nil, nil)
                guard stream >= 0 else { return }
                _ = recv(stream, &room, room.count, 0)
                _ = send(stream, answer, answer.utf8.count, Int32(MSG_NOSIGNAL))
                _ = recv(stream, &room, room.count, 0)
                _ = Glibc.close(stream)
            }
        }
    }
}
